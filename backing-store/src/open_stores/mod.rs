//! The state of the object stores that a transaction has written to, so that a put reads no metadata; and a cache of it
//! that committed transactions leave for the next ones.
//!
//! Operations read and change it (`operation/state.rs`).

mod tracking;

pub(crate) use tracking::{LOOKUPS_MAX, State, Tracking};

use std::collections::BTreeMap;

use larder_codec::row_key::{RecordKey, RecordTable};
use larder_codec::{DatabaseId, IndexId, JsString, ObjectStoreId, RawKey};

use crate::reads::EntryLookup;
use crate::view::AscendingLookups;

/// One object store, as far as writing needs it. Holds what its rows hold, as the transaction sees them.
#[derive(Debug)]
pub(crate) struct OpenStore {
    pub(crate) id: ObjectStoreId,
    pub(crate) name: JsString,
    /// Its name is one of the change feed's.
    pub(crate) is_reserved: bool,
    pub(crate) auto_increment: bool,
    pub(crate) indexes: Vec<OpenIndex>,
    pub(crate) data_prefix: Vec<u8>,
    pub(crate) exists_prefix: Vec<u8>,
    pub(crate) version_key: Vec<u8>,
    pub(crate) last_version: i64,
    pub(crate) generator_key: Vec<u8>,
    /// Read when it is needed.
    pub(crate) generator: Option<i64>,
    /// Whether any record has external objects; if none has, none is looked for.
    pub(crate) has_external_objects: bool,
    pub(crate) tracking: Tracking,
    /// For the look-ups of what is replaced, if the database has a change feed.
    pub(crate) old_rows: AscendingLookups,
    pub(crate) buffers: Buffers,
}

/// One of its indexes.
#[derive(Debug)]
pub(crate) struct OpenIndex {
    pub(crate) id: IndexId,
    pub(crate) prefix: Vec<u8>,
    pub(crate) is_unique: bool,
    /// For the look-ups of a unique one, as the transaction sees it; made when it is needed.
    pub(crate) lookup: Option<EntryLookup>,
}

/// Memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    pub(crate) primary_key: Vec<u8>,
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
    /// The data row of a record that is replaced or deleted.
    pub(crate) old: Vec<u8>,
}

/// The object stores that a transaction has opened.
#[derive(Debug, Default)]
#[expect(
    clippy::vec_box,
    reason = "they are taken out and put back for every operation"
)]
pub(crate) struct OpenStores {
    pub(crate) stores: Vec<Box<OpenStore>>,
}

/// Longer buffers are not kept for the next transaction.
const KEPT_LEN_MAX: usize = 4 << 10;

/// So many object stores are cached at once.
const CACHED_MAX: usize = 256;

/// The state of object stores that committed transactions had cached at their end. It always equals what the rows say:
/// a transaction that writes to an object store takes the entry out, and the object store's lock keeps others from
/// writing to that store meanwhile.
#[derive(Debug, Default)]
pub(crate) struct StoreCache {
    stores: BTreeMap<(DatabaseId, ObjectStoreId), Box<OpenStore>>,
}

impl StoreCache {
    /// Takes over what a committed transaction has opened.
    pub(crate) fn keep(&mut self, database_id: DatabaseId, open: OpenStores) {
        for mut store in open.stores {
            store
                .indexes
                .iter_mut()
                .for_each(|index| index.lookup = None);
            store.old_rows = AscendingLookups::default();
            store.tracking.end_of_transaction();
            if store.buffers.is_large() {
                store.buffers = Buffers::default();
            }
            if self.stores.len() >= CACHED_MAX {
                // Any store can be read again.
                self.stores.clear();
            }
            self.stores.insert((database_id, store.id), store);
        }
    }

    /// The database's metadata may change.
    pub(crate) fn forget(&mut self, database_id: DatabaseId) {
        self.stores.retain(|(of, _), _| *of != database_id);
    }

    pub(crate) fn take(
        &mut self,
        database_id: DatabaseId,
        id: ObjectStoreId,
    ) -> Option<Box<OpenStore>> {
        self.stores.remove(&(database_id, id))
    }
}

impl Buffers {
    fn is_large(&self) -> bool {
        let all = [&self.primary_key, &self.key, &self.value, &self.old];
        all.iter().any(|buffer| buffer.capacity() > KEPT_LEN_MAX)
    }
}

impl OpenStores {
    pub(crate) fn take(&mut self, id: ObjectStoreId) -> Option<Box<OpenStore>> {
        let at = self.stores.iter().position(|store| store.id == id)?;
        Some(self.stores.swap_remove(at))
    }
}

impl OpenStore {
    /// The row of a table that belongs to a record.
    pub(crate) fn record_row(
        &self,
        database_id: DatabaseId,
        table: RecordTable,
        primary_key: RawKey<'_>,
        row: &mut Vec<u8>,
    ) {
        row.clear();
        RecordKey {
            database_id,
            object_store_id: self.id,
            table,
            key: primary_key,
        }
        .encode(row);
    }
}
