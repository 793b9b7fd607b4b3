//! The change feed of a database: each change of a record is a revision, with a number (`docs/format/feed.md`, decision 66).
//!
//! What a transaction has changed is noted as it changes it ([`Changes`]), and what records were before is staged with the rest. Numbers
//! are given when the batch of the commit is written, one commit of the database after the other ([`Numbering`]): so they have no gaps, and
//! their order is that of the commits. A database without the feed's object stores has nothing of this.

mod changes;
mod known;
mod numbering;
mod records;
mod versions;

pub(crate) use changes::{Change, Changes};
pub(crate) use known::{Known, KnownStore, read_known};
pub(crate) use numbering::Numbering;
pub(crate) use records::{Place, RECORD, entry_at, number_at, read_record};
pub(crate) use versions::Versions;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use larder_codec::feed::{BY_VERSION, CONSUMERS, HISTORY, REVISIONS, by_version_path};
use larder_codec::primitive::int;
use larder_codec::row_key::{ObjectStoreField, ObjectStoreMetadataKey, RecordTable};
use larder_codec::{DatabaseId, JsString, KeyPrefix, ObjectStoreId, RecordVersion, range};

use crate::error::{Error, Result};
use crate::metadata::{IndexMetadata, object_store_named, read_object_store};
use crate::reads::record_row_prefix;
use crate::sync::locked;
use crate::view::View;

/// The feed of one database, as long as that keeps it: what all its transactions share.
#[derive(Debug)]
pub(crate) struct Feed {
    pub(crate) revisions: ObjectStoreId,
    pub(crate) history: ObjectStoreId,
    pub(crate) consumers: ObjectStoreId,
    /// The beginnings of the rows' keys.
    pub(crate) revision_data: Vec<u8>,
    pub(crate) revision_exists: Vec<u8>,
    pub(crate) by_version: Vec<u8>,
    pub(crate) history_data: Vec<u8>,
    /// Only records of before these were left out have them, and what a page puts.
    pub(crate) history_exists: Vec<u8>,
    pub(crate) has_history_exists: bool,
    pub(crate) history_objects: Vec<u8>,
    /// The row with the version of the last revision.
    version_key: Vec<u8>,
    /// The number of the last revision. A commit that gives numbers holds it until they are written.
    last: Mutex<i64>,
}

/// The version of a record of the feed's history. No index needs another for each.
pub(crate) const HISTORY_VERSION: RecordVersion = RecordVersion::new(2).unwrap();

/// That of a record of the history whose value is not known, because others have overwritten or removed it.
pub(crate) const LOST_VERSION: RecordVersion =
    RecordVersion::new(larder_codec::feed::LOST_VERSION).unwrap();

impl Feed {
    /// The number of the last revision.
    pub(crate) fn last(&self) -> u64 {
        locked(&self.last).unsigned_abs()
    }

    /// The feed of a database, if that has one.
    pub(crate) fn read(view: &View, database_id: DatabaseId) -> Result<Option<Self>> {
        let Some(revisions) = object_store_named(view, database_id, REVISIONS)? else {
            return Ok(None);
        };
        let Some(history) = object_store_named(view, database_id, HISTORY)? else {
            return Ok(None);
        };
        let Some(consumers) = object_store_named(view, database_id, CONSUMERS)? else {
            return Ok(None);
        };
        let metadata = read_object_store(view, database_id, revisions, &mut Vec::new())?;
        let indexes = metadata
            .map(|metadata| metadata.indexes)
            .unwrap_or_default();
        let name = JsString::from(BY_VERSION);
        let is_it = |index: &&IndexMetadata| {
            index.name == name && index.multi_entry && index.key_path == by_version_path()
        };
        let Some(index) = indexes.iter().find(is_it) else {
            return Ok(None);
        };
        let mut version_key = Vec::new();
        ObjectStoreMetadataKey {
            database_id,
            object_store_id: revisions,
            field: ObjectStoreField::LastVersion,
        }
        .encode(&mut version_key);
        let version = match view.get(&version_key)? {
            None => 1,
            Some(value) => int::decode_exact(&value)
                .map_err(|error| Error::row(&version_key, "last version", error))?,
        };
        let mut by_version = Vec::new();
        KeyPrefix::of_index(database_id, revisions, index.id).encode(&mut by_version);
        let prefix =
            |object_store_id, table| record_row_prefix(database_id, object_store_id, table);
        let history_exists = prefix(history, RecordTable::Exists);
        let end = range::table_high(database_id, history, RecordTable::Exists);
        let mut iter = view.iter_before(&end);
        iter.seek(&history_exists)?;
        let has_history_exists = iter.valid() && iter.key().starts_with(&history_exists);
        drop(iter);
        Ok(Some(Self {
            revisions,
            history,
            consumers,
            revision_data: prefix(revisions, RecordTable::Data),
            revision_exists: prefix(revisions, RecordTable::Exists),
            by_version,
            history_data: prefix(history, RecordTable::Data),
            history_exists,
            has_history_exists,
            history_objects: prefix(history, RecordTable::ExternalObject),
            version_key,
            // The version before the first record's is 1.
            last: Mutex::new((version - 1).max(0)),
        }))
    }

    /// The key of a row of the index, of an object store's last version in a record.
    pub(crate) fn by_version_row(&self, end: &[u8], primary_key: &[u8], key: &mut Vec<u8>) {
        key.clear();
        key.extend_from_slice(&self.by_version);
        key.extend_from_slice(end);
        // The sequence number.
        key.push(0);
        key.extend_from_slice(primary_key);
    }

    /// Whether a row is one of the history's.
    pub(crate) fn has_history_row(&self, key: &[u8]) -> bool {
        let all = [
            &self.history_data,
            &self.history_exists,
            &self.history_objects,
        ];
        all.iter().any(|prefix| key.starts_with(prefix))
    }

    /// Whether an object store is written by commits alone.
    pub(crate) fn keeps(&self, id: ObjectStoreId) -> bool {
        id == self.revisions || id == self.history
    }
}

/// The feeds of a store's databases, as far as they have been asked for.
#[derive(Debug, Default)]
pub(crate) struct Feeds(Mutex<BTreeMap<DatabaseId, Option<Arc<Feed>>>>);

impl Feeds {
    /// The one of a database; what is committed says whether there is one.
    pub(crate) fn of(
        &self,
        database_id: DatabaseId,
        committed: impl FnOnce() -> View,
    ) -> Result<Option<Arc<Feed>>> {
        let mut feeds = locked(&self.0);
        if let Some(known) = feeds.get(&database_id) {
            return Ok(known.clone());
        }
        // With the lock: the last number is read before any commit can give another.
        let feed = Feed::read(&committed(), database_id)?.map(Arc::new);
        feeds.insert(database_id, feed.clone());
        Ok(feed)
    }

    /// A version change may have made or removed it.
    pub(crate) fn forget(&self, database_id: DatabaseId) {
        locked(&self.0).remove(&database_id);
    }
}
