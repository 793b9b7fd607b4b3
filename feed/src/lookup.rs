//! Values of records as they were at a revision: in the record itself, if it has not changed since, and in the history otherwise.

use larder_idb::codec::RecordVersion;
use larder_idb::codec::feed::{self, HistoryKey};
use larder_idb::codec::value::{Evaluator, ParsedKeyPath, Payload, RevisionKind, Value};
use larder_idb::{Key, KeyPath, KeyRange, ObjectStore, Transaction};

use crate::error::Result;
use crate::revision::{Revision, revision_of_version};
use crate::value::{Changes, RevisionValue};

/// The key that the history has for what a record was from one version on, until another.
fn history_key(revision: &Revision, since: RecordVersion, until: RecordVersion) -> Result<Key> {
    let mut bytes = Vec::new();
    HistoryKey {
        object_store_id: revision.row.object_store_id,
        key: revision.raw_key(),
        since,
        until,
    }
    .encode(&mut bytes);
    Ok(Key::decode_exact(&bytes)?)
}

/// The record's value at a revision; `None` for a removal, and if the value is not there any more.
pub(crate) async fn value_at(
    transaction: &Transaction,
    revision: &Revision,
) -> Result<Option<RevisionValue>> {
    if revision.kind() == RevisionKind::Removal {
        return Ok(None);
    }
    let since = revision.version();
    let lower = history_key(revision, since, RecordVersion::MIN)?;
    let upper = history_key(revision, since, RecordVersion::MAX)?;
    let range = KeyRange::bound(lower, upper, false, false)?;
    match in_history(transaction, range).await? {
        InHistory::Value(value) => return with_key(transaction, revision, value).map(Some),
        InHistory::Lost => return Ok(None),
        InHistory::Nothing => {}
    }
    // It is the record's own value if nothing has changed since.
    let Some(object_store) = current_object_store(transaction, revision) else {
        return Ok(None);
    };
    let key = revision.key();
    if object_store.record_version(key.clone())?.await? != Some(since.get()) {
        return Ok(None);
    }
    let found = object_store.get(key)?.await?;
    Ok(found.as_ref().map(RevisionValue::of))
}

/// The record's value before a revision.
pub(crate) async fn value_before(
    transaction: &Transaction,
    revision: &Revision,
) -> Result<Option<RevisionValue>> {
    let Some(before) = revision.before() else {
        return Ok(None);
    };
    let key = history_key(revision, before, revision.version())?;
    match in_history(transaction, KeyRange::only(key)).await? {
        InHistory::Value(value) => with_key(transaction, revision, value).map(Some),
        InHistory::Lost | InHistory::Nothing => Ok(None),
    }
}

/// What a revision has changed in its record; `None` if what that was before or since is not there any more.
pub(crate) async fn changes_at(
    transaction: &Transaction,
    revision: &Revision,
) -> Result<Option<Changes>> {
    if revision.kind() == RevisionKind::Removal {
        return Ok(Some(Changes::Properties(Vec::new())));
    }
    let before = value_before(transaction, revision).await?;
    if before.is_none() && revision.kind() == RevisionKind::Modification {
        return Ok(None);
    }
    match value_at(transaction, revision).await? {
        Some(after) => Changes::between(before.as_ref(), &after).map(Some),
        None => Ok(None),
    }
}

/// The number of the revision that ended what a record was from another one on; that one's if none did.
pub(crate) async fn revision_after(transaction: &Transaction, revision: &Revision) -> Result<u64> {
    let history = transaction.object_store(feed::HISTORY)?;
    let lower = history_key(revision, revision.version(), RecordVersion::MIN)?;
    let upper = history_key(revision, revision.version(), RecordVersion::MAX)?;
    let range = KeyRange::bound(lower, upper, false, false)?;
    let Some(key) = history.get_key(range)?.await? else {
        return Ok(revision.number());
    };
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    let until = HistoryKey::decode_exact(&bytes)?.until.get();
    let after = revision_of_version(transaction, revision.object_store_id(), until).await?;
    Ok(after.map_or_else(|| revision.number(), |after| after.number()))
}

/// What the history has under a key.
enum InHistory {
    Nothing,
    Value(RevisionValue),
    /// Others have overwritten or removed it.
    Lost,
}

async fn in_history(transaction: &Transaction, range: KeyRange) -> Result<InHistory> {
    let history = transaction.object_store(feed::HISTORY)?;
    let Some(found) = history.get(range.clone())?.await? else {
        return Ok(InHistory::Nothing);
    };
    let value = RevisionValue::of(&found);
    // Only by its version what is lost differs from a value that is undefined.
    if matches!(value.tree()?.root(), Value::Undefined)
        && let Some(key) = history.get_key(range)?.await?
        && history.record_version(key)?.await? == Some(feed::LOST_VERSION)
    {
        return Ok(InHistory::Lost);
    }
    Ok(InHistory::Value(value))
}

/// The revision's object store as it is named now. One that was deleted and made anew under its name is another.
fn current_object_store(transaction: &Transaction, revision: &Revision) -> Option<ObjectStore> {
    let connection = transaction.connection();
    let name = connection.object_store_name_of(revision.object_store_id())?;
    transaction.known_object_store(&name)
}

/// Chromium keeps generated keys out of values, and so does the history.
fn with_key(
    transaction: &Transaction,
    revision: &Revision,
    mut value: RevisionValue,
) -> Result<RevisionValue> {
    let Some(object_store) = current_object_store(transaction, revision) else {
        return Ok(value);
    };
    let KeyPath::String(_) = object_store.key_path() else {
        return Ok(value);
    };
    let path = ParsedKeyPath::new(object_store.key_path());
    if let Some(path) = path.filter(|_| object_store.auto_increment()) {
        let payload = Payload::read(&value.bytes)?;
        let mut injected = Vec::new();
        if Evaluator::new().inject(&path, &revision.key(), &payload, &mut injected)? {
            value.bytes = injected;
        }
    }
    Ok(value)
}
