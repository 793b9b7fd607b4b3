//! Records that are about to be read, several at a time.

use larder_codec::row_key::RecordTable;
use larder_codec::versioned::IndexRow;
use larder_codec::{DatabaseId, IdbKey, IndexId, KeyPrefix, ObjectStoreId};
use larder_leveldb::{LookAhead, Snapshot};

use super::{Reads, record_row_prefix};

impl Reads {
    /// As many keys as [`look_ahead`](Self::look_ahead) looks at.
    pub const AHEAD_MAX: usize = LookAhead::KEYS_MAX;

    /// Brings the records with these primary keys nearer, as far as they are committed and lie in memory: reading them one after
    /// the other does not wait for memory each time then. They are read the same without. Gives how many seem to be there.
    pub fn look_ahead<'a>(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        primary_keys: impl IntoIterator<Item = &'a IdbKey>,
    ) -> usize {
        let look = |snapshot: &Snapshot| {
            let mut ahead = snapshot.look_ahead()?;
            let mut row_key = record_row_prefix(database_id, object_store_id, RecordTable::Data);
            let key_start = row_key.len();
            for primary_key in primary_keys.into_iter().take(Self::AHEAD_MAX) {
                row_key.truncate(key_start);
                primary_key.encode(&mut row_key);
                ahead.note(&row_key);
            }
            Some(ahead.touch())
        };
        self.view.with_snapshot(look).flatten().unwrap_or_default()
    }

    /// As many index keys as [`look_ahead_in_index`](Self::look_ahead_in_index) looks at: to each belong two rows of a record.
    pub const AHEAD_IN_INDEX_MAX: usize = LookAhead::KEYS_MAX / 2;

    /// As [`look_ahead`](Self::look_ahead), for the first record that an index has under each of these keys. Gives how many rows
    /// of such records seem to be there, the index's own not counted.
    pub fn look_ahead_in_index<'a>(
        &self,
        (database_id, object_store_id, index_id): (DatabaseId, ObjectStoreId, IndexId),
        index_keys: impl IntoIterator<Item = &'a IdbKey>,
    ) -> usize {
        let look = |snapshot: &Snapshot| {
            let mut ahead = snapshot.look_ahead()?;
            let mut row_key = Vec::new();
            KeyPrefix::of_index(database_id, object_store_id, index_id).encode(&mut row_key);
            let key_start = row_key.len();
            for index_key in index_keys.into_iter().take(Self::AHEAD_IN_INDEX_MAX) {
                row_key.truncate(key_start);
                index_key.encode(&mut row_key);
                ahead.note_group(&row_key);
            }
            let tables = [RecordTable::Exists, RecordTable::Data]
                .map(|table| record_row_prefix(database_id, object_store_id, table));
            ahead.touch_groups(|value, ahead| {
                // Anything else is another row, which has the same hash.
                let Ok(row) = IndexRow::decode_exact(value) else {
                    return;
                };
                for prefix in &tables {
                    row_key.clear();
                    row_key.extend_from_slice(prefix);
                    row.primary_key.encode(&mut row_key);
                    ahead.note(&row_key);
                }
            });
            Some(ahead.touch())
        };
        self.view.with_snapshot(look).flatten().unwrap_or_default()
    }
}
