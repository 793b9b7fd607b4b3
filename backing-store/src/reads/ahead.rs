//! Records that are about to be read, several at a time.

use larder_codec::row_key::RecordTable;
use larder_codec::versioned::IndexRow;
use larder_codec::{DatabaseId, IdbKey, IndexId, KeyPrefix, ObjectStoreId};
use larder_leveldb::{LookAhead, Snapshot};

use super::{Reads, record_row_prefix};
use crate::error::Result;
use crate::record::Record;

/// Records that will be read one after the other, and what is known of where they lie ([`Reads::look_ahead`]). It keeps its memory.
#[derive(Debug, Default)]
pub struct RecordsAhead {
    /// Of the last look: that nobody writes where it looked.
    lookups: Option<LookAhead>,
    /// The keys of the records' rows, and where each ends.
    row_keys: Vec<u8>,
    row_key_ends: Vec<usize>,
    /// Where primary keys start in them.
    key_start: usize,
}

impl RecordsAhead {
    fn row_key(&self, n: usize) -> Option<&[u8]> {
        let start = match n.checked_sub(1) {
            None => 0,
            Some(before) => *self.row_key_ends.get(before)?,
        };
        self.row_keys.get(start..*self.row_key_ends.get(n)?)
    }
}

impl Reads {
    /// As many keys as [`look_ahead`](Self::look_ahead) looks at.
    pub const AHEAD_MAX: usize = LookAhead::KEYS_MAX;

    /// Brings the records with these primary keys nearer, as far as they are committed and lie in memory: reading them one after
    /// the other does not wait for memory each time then. Of a view that nobody writes to it is kept in `ahead` where they lie,
    /// for [`get_ahead`](Self::get_ahead). They are read the same without. Gives how many seem to be there.
    pub fn look_ahead<'a>(
        &self,
        ahead: &mut RecordsAhead,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        primary_keys: impl IntoIterator<Item = &'a IdbKey>,
    ) -> usize {
        ahead.row_keys.clear();
        ahead.row_key_ends.clear();
        let look = |snapshot: &Snapshot| {
            let lookups = match &mut ahead.lookups {
                Some(lookups) if lookups.snapshot().is_same(snapshot) => lookups,
                others => others.insert(snapshot.look_ahead()?),
            };
            lookups.clear();
            let prefix = record_row_prefix(database_id, object_store_id, RecordTable::Data);
            ahead.key_start = prefix.len();
            for primary_key in primary_keys.into_iter().take(Self::AHEAD_MAX) {
                let start = ahead.row_keys.len();
                ahead.row_keys.extend_from_slice(&prefix);
                primary_key.encode(&mut ahead.row_keys);
                ahead.row_key_ends.push(ahead.row_keys.len());
                match primary_key {
                    // The row's key is its bytes then, and numbers are many.
                    IdbKey::Number(number) if *number != 0.0 && !number.is_nan() => {
                        lookups.note_bytes(&ahead.row_keys[start..]);
                    }
                    _ => lookups.note(&ahead.row_keys[start..]),
                }
            }
            Some(lookups.touch())
        };
        self.view.with_snapshot(look).flatten().unwrap_or_default()
    }

    /// Reads the record with the `n`th primary key, from 0, that [`look_ahead`](Self::look_ahead) looked at last: whether there is one.
    /// `None` if that is not known, and it is to be read as any other.
    ///
    /// # Errors
    /// If its row cannot be read.
    pub fn get_ahead(
        &self,
        ahead: &RecordsAhead,
        n: usize,
        record: &mut Record,
    ) -> Result<Option<bool>> {
        let known = || {
            let lookups = ahead.lookups.as_ref()?;
            let snapshot = self.view.committed_snapshot()?;
            let is_known = lookups.snapshot().is_same(snapshot) && !self.surroundings.lost_writes;
            is_known.then_some((lookups, ahead.row_key(n)?))
        };
        let Some((lookups, row_key)) = known() else {
            return Ok(None);
        };
        record.clear();
        let found = lookups.get_into(n, row_key, &mut record.row);
        if found == Some(true) {
            record.row_key.clear();
            record.row_key.extend_from_slice(row_key);
            record.key_start = ahead.key_start;
            record.decode()?;
        }
        Ok(found)
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
