//! Values of records as they were at a revision: in the record itself, if it has not changed since, and in the history otherwise.

use larder_idb::codec::RecordVersion;
use larder_idb::codec::feed::{self, HistoryKey};
use larder_idb::codec::value::{Evaluator, ParsedKeyPath, Payload, RevisionKind};
use larder_idb::{Key, KeyPath, KeyRange, ObjectStore, Transaction};

use crate::error::Result;
use crate::revision::Revision;
use crate::value::RevisionValue;

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
    let history = transaction.object_store(feed::HISTORY)?;
    let since = revision.version();
    let lower = history_key(revision, since, RecordVersion::MIN)?;
    let upper = history_key(revision, since, RecordVersion::MAX)?;
    let range = KeyRange::bound(lower, upper, false, false)?;
    if let Some(found) = history.get(range)?.await? {
        let value = RevisionValue::of(&found);
        return with_key(transaction, revision, value).map(Some);
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
    let history = transaction.object_store(feed::HISTORY)?;
    let key = history_key(revision, before, revision.version())?;
    let Some(found) = history.get(key)?.await? else {
        return Ok(None);
    };
    let value = RevisionValue::of(&found);
    with_key(transaction, revision, value).map(Some)
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
