//! Records by index keys, many one after the other.

use larder_codec::{DatabaseId, IndexId, ObjectStoreId, RawKey};

use super::{EntryLookup, Reads};
use crate::cursor::{Direction, Movement, OnStale};
use crate::error::Result;
use crate::key_range::KeyRange;
use crate::record::Record;

/// Reads records through one index, any number of them: what is needed to find the first is kept for the next. Made by
/// [`Reads::index_lookup`].
///
/// Made by a transaction that writes, it sees what that has written up to each read.
#[derive(Debug)]
pub struct IndexLookup {
    reads: Reads,
    place: (DatabaseId, ObjectStoreId, IndexId),
    entries: EntryLookup,
    /// Of a range of many keys, the first that there is.
    first: Vec<u8>,
}

impl IndexLookup {
    pub(super) fn new(reads: &Reads, place: (DatabaseId, ObjectStoreId, IndexId)) -> Self {
        let (database_id, object_store_id, index_id) = place;
        Self {
            reads: reads.clone(),
            place,
            entries: EntryLookup::new(reads.view(), database_id, object_store_id, index_id),
            first: Vec::new(),
        }
    }

    /// Reads the first record that the index has under a key in the range; whether there is one.
    ///
    /// # Errors
    /// If a row in the way cannot be read.
    pub fn get(&mut self, range: &KeyRange<'_>, record: &mut Record) -> Result<bool> {
        self.get_with(range, record, &mut |_| Ok(()))
    }

    /// The same; stale rows in the way are handed on.
    pub(crate) fn get_with(
        &mut self,
        range: &KeyRange<'_>,
        record: &mut Record,
        on_stale: OnStale<'_>,
    ) -> Result<bool> {
        record.clear();
        let (database_id, object_store_id, index_id) = self.place;
        let index_key = if let Some(key) = range.single() {
            key
        } else {
            let direction = Direction::Next;
            let reads = &self.reads;
            let mut cursor =
                reads.index_entries_in(database_id, object_store_id, index_id, range, direction);
            if !cursor.go_with(Movement::Next, Some(&mut *on_stale))? {
                return Ok(false);
            }
            let index_key = cursor.index_key()?;
            self.first.clear();
            self.first.extend_from_slice(index_key.as_bytes());
            RawKey::decode_exact(&self.first)
                .map_err(|error| crate::Error::row(&[], "index entry", error))?
        };
        match self.entries.find(index_key, on_stale)? {
            Some(primary_key) => self
                .reads
                .get(database_id, object_store_id, primary_key, record),
            None => Ok(false),
        }
    }
}
