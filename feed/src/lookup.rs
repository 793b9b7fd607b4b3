//! Values of records as they were at a revision: in the record itself, if it has not changed since, and in the history otherwise.

use larder_idb::codec::RecordVersion;
use larder_idb::codec::feed::{self, HistoryKey};
use larder_idb::codec::value::{Evaluator, ParsedKeyPath, Payload, RevisionKind};
use larder_idb::{CursorDirection, GetAllOptions, JsString, Key, KeyPath, KeyRange, Transaction};

use crate::error::Result;
use crate::revision::Revision;
use crate::value::RevisionValue;

/// The keys that the history has for a record, from one version on up to and with another.
fn history_range(
    revision: &Revision,
    since: RecordVersion,
    up_to: Option<RecordVersion>,
) -> Result<KeyRange> {
    let raw = revision.raw_key()?;
    let bound = |since, until| -> Result<Key> {
        let mut bytes = Vec::new();
        HistoryKey {
            object_store_id: revision.row.object_store_id,
            key: raw,
            since,
            until,
        }
        .encode(&mut bytes);
        Ok(Key::decode_exact(&bytes)?)
    };
    let lower = bound(since, RecordVersion::MIN)?;
    let upper = bound(up_to.unwrap_or(since), RecordVersion::MAX)?;
    Ok(KeyRange::bound(lower, upper, false, false)?)
}

/// The keys that the history has for what a record was before a revision.
pub(crate) fn older_range(revision: &Revision) -> Result<KeyRange> {
    let before = RecordVersion::new(revision.version().get() - 1).unwrap_or(RecordVersion::MIN);
    history_range(revision, RecordVersion::MIN, Some(before))
}

/// The key of a record in the index of the revisions.
pub(crate) fn record_key(revision: &Revision) -> Result<Key> {
    let mut bytes = Vec::new();
    feed::encode_record(
        revision.row.object_store_id,
        revision.raw_key()?,
        &mut bytes,
    );
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
    let range = history_range(revision, revision.version(), None)?;
    if let Some(found) = history.get(range)?.await? {
        let value = RevisionValue::of(&found);
        return with_key(transaction, revision, value).map(Some);
    }
    // It is the record's own value if nothing has changed since.
    let revisions = transaction.object_store(feed::REVISIONS)?;
    let last = GetAllOptions::new()
        .count(1)
        .direction(CursorDirection::Prev);
    let of_record = revisions.index(feed::BY_RECORD)?;
    let last = of_record.get_all_keys(record_key(revision)?, last)?.await?;
    let is_last =
        last.get(0).map(|entry| entry.primary_key()) == Some(Key::Number(revision.number() as f64));
    let Some(object_store) = current_name(transaction, revision)
        .filter(|_| is_last)
        .and_then(|name| transaction.known_object_store(&name))
    else {
        return Ok(None);
    };
    let found = object_store.get(revision.key())?.await?;
    Ok(found.as_ref().map(RevisionValue::of))
}

/// The record's value before a revision.
pub(crate) async fn value_before(
    transaction: &Transaction,
    revision: &Revision,
) -> Result<Option<RevisionValue>> {
    let history = transaction.object_store(feed::HISTORY)?;
    let range = older_range(revision)?;
    let options = GetAllOptions::new()
        .count(1)
        .direction(CursorDirection::Prev);
    let found = history.get_all(range, options)?.await?;
    let Some(found) = found.get(0) else {
        return Ok(None);
    };
    let key = found.raw_primary_key();
    if HistoryKey::decode_exact(key.as_bytes())?.until != revision.version() {
        return Ok(None);
    }
    let value = RevisionValue::of(&found.stored_value());
    with_key(transaction, revision, value).map(Some)
}

/// The name that the revision's object store has now. A store that was deleted and made anew under its name is another.
fn current_name(transaction: &Transaction, revision: &Revision) -> Option<JsString> {
    transaction
        .connection()
        .object_store_name_of(revision.object_store_id())
}

/// Chromium keeps generated keys out of values, and so does the history.
fn with_key(
    transaction: &Transaction,
    revision: &Revision,
    mut value: RevisionValue,
) -> Result<RevisionValue> {
    let name = current_name(transaction, revision);
    let Some(object_store) = name.and_then(|name| transaction.known_object_store(&name)) else {
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
