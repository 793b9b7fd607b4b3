//! Rows that a transaction has written and the engine does not have yet: a write batch, and an index that puts it in
//! the rows' order.
//!
//! Writes that come in no order are only noted, and put in order by the first read ([`settle`](Staging::settle)). So a
//! transaction that writes 100,000 index rows and reads nothing sorts once.
//!
//! The batch is what the engine will write, in the order of the writes, so that a commit passes it on as it is. For
//! each key the index has only the last write. Nothing is copied: its entries are places in the batch's bytes.

mod index;
mod sort;

use std::cmp::Ordering;
use std::hint::black_box;

use larder_codec::{compare, row_head};
use larder_leveldb::write_batch::BatchWriter;

pub(crate) use index::Place;
use index::{Entry, Index, Slot, Sought, merged};

/// Longest key and value together, in bytes: places in the batch are numbers of 32 bits.
pub(crate) const ROW_LEN_MAX: usize = 1 << 30;

/// No more than this is staged before a row is added, whatever a caller allows: with the row it fits the engine's batch.
pub(crate) const STAGED_LEN_MAX: usize = 1 << 30;

/// So many rows are sorted before the engine gets them.
const SORTED_LEN_MIN: usize = 256;

/// So many rows are loaded at once.
const LOADED: usize = 64;

/// So many unplaced entries, as a part of those in the index, are merged with it; fewer are placed one by one.
const MERGED_SHARE: usize = 8;

/// The last word on a key: its value, or `None` for deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StagedRow<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) value: Option<&'a [u8]>,
}

/// The upper half of a row's head decides nearly all comparisons.
fn head(key: &[u8]) -> u64 {
    (row_head(key) >> 64) as u64
}

/// The staged rows.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    batch: BatchWriter,
    index: Index,
    /// The latest writes to some tables, in their order; the index does not have them yet.
    unplaced: Vec<Entry>,
    /// Which tables these are: one bit for each. The others' rows are all in the index.
    unplaced_tables: u64,
    edits: u64,
}

impl Staging {
    /// Where the value stands that this one can be written over, if the row is that of metadata which was written last, as every put
    /// writes the last version: found without a search.
    fn written_last(&self, key: &[u8], value: &[u8]) -> Option<usize> {
        if table_of(key) != 0 || self.is_unplaced(key) {
            return None;
        }
        let entry = self.index.set_last(0)?;
        let (value_at, len) = entry.value_range()?;
        (len == value.len() && entry.key(self.batch.as_bytes()) == key).then_some(value_at)
    }

    /// Gives `key` a value. Key and value together have at most [`ROW_LEN_MAX`] bytes.
    pub(crate) fn put(&mut self, key: &[u8], value: &[u8]) {
        if let Some(value_at) = self.written_last(key, value) {
            self.edits += 1;
            self.batch.overwrite_value(value_at, value);
            return;
        }
        let head = head(key);
        let slot = self.slot_for(head, key);
        self.edits += 1;
        if let Some(value_at) = self.replaceable(slot, key, value) {
            // Within a batch only the last word counts. Rows that every put writes anew, versions and generators, would
            // else be most of the batch, and the engine would keep all their values.
            self.batch.overwrite_value(value_at, value);
            return;
        }
        self.batch.put(key, value);
        let value_at = self.batch.len_bytes() - value.len();
        let key_at = value_at - varint_len(value.len()) - key.len();
        let entry = Entry::put(head, (key_at, key.len()), (value_at, value.len()));
        self.set(slot, key, entry);
    }

    /// Takes `key`'s value away, whether or not there is one.
    pub(crate) fn delete(&mut self, key: &[u8]) {
        let head = head(key);
        let slot = self.slot_for(head, key);
        self.edits += 1;
        self.batch.delete(key);
        let key_at = self.batch.len_bytes() - key.len();
        let entry = Entry::delete(head, key_at, key.len());
        self.set(slot, key, entry);
    }

    /// Where the entry of a key that is written belongs, unless it is to be placed later: as all of its table are from the
    /// first on that does not come in order. Rows of metadata are few, and are written again and again.
    fn slot_for(&mut self, head: u64, key: &[u8]) -> Option<Slot> {
        let Some(bit) = table_bit(key) else {
            self.settle();
            return Some(self.index.slot_near(table_of(key), &self.sought(head, key)));
        };
        if self.unplaced_tables & bit != 0 {
            return None;
        }
        let (table, sought) = (table_of(key), self.sought(head, key));
        match self.index.slot_by_hint(table, &sought) {
            None if table == 0 || !self.index.has_hint(table) => Some(self.index.slot(&sought)),
            slot => slot,
        }
    }

    fn set(&mut self, slot: Option<Slot>, key: &[u8], entry: Entry) {
        match slot {
            Some(slot) => self.index.set(slot, entry, table_of(key)),
            None => {
                self.unplaced.push(entry);
                self.unplaced_tables |= table_bit(key).unwrap_or_default();
            }
        }
    }

    fn is_unplaced(&self, key: &[u8]) -> bool {
        match table_bit(key) {
            Some(bit) => self.unplaced_tables & bit != 0,
            None => !self.unplaced.is_empty(),
        }
    }

    /// Puts everything in its place: before anything is looked at.
    pub(crate) fn settle(&mut self) {
        if self.unplaced.is_empty() {
            return;
        }
        let mut unplaced = self.take_unplaced();
        let bytes = self.batch.as_bytes();
        let order = order_in(bytes);
        if unplaced.len() >= self.index.len() / MERGED_SHARE {
            self.index.merge(&unplaced, order);
        } else {
            for entry in &unplaced {
                let key = entry.key(bytes);
                let table = table_of(key);
                let slot = self.index.slot_near(table, &self.sought(entry.head(), key));
                self.index.set(slot, *entry, table);
            }
        }
        unplaced.clear();
        self.unplaced = unplaced;
    }

    /// The entries that are not in the index, in order and each key once.
    fn take_unplaced(&mut self) -> Vec<Entry> {
        let mut unplaced = std::mem::take(&mut self.unplaced);
        self.unplaced_tables = 0;
        // The comparator is a total order on all byte strings, which the sort relies on.
        sort::sort_last_words(&mut unplaced, order_in(self.batch.as_bytes()));
        unplaced
    }

    fn sought(&self, head: u64, key: &[u8]) -> Sought<impl Fn(&Entry) -> Ordering> {
        let bytes = self.batch.as_bytes();
        let order = move |entry: &Entry| compare(entry.key(bytes), key);
        Sought { head, order }
    }

    /// Where the value stands that this one can be written over: one of the same length, under the same bytes of the key.
    fn replaceable(&self, slot: Option<Slot>, key: &[u8], value: &[u8]) -> Option<usize> {
        let entry = self.index.get(slot?.found()?)?;
        let (value_at, len) = entry.value_range()?;
        (len == value.len() && entry.key(self.batch.as_bytes()) == key).then_some(value_at)
    }

    /// The last word on `key`; `None` if nothing was said.
    pub(crate) fn get(&mut self, key: &[u8]) -> Option<Option<&[u8]>> {
        if self.is_unplaced(key) {
            self.settle();
        }
        let (place, is_found) = self.lookup(key);
        is_found.then(|| self.row(place)?.value)
    }

    fn lookup(&self, key: &[u8]) -> (Place, bool) {
        debug_assert!(!self.is_unplaced(key), "looked at before it was settled");
        self.index.lookup(&self.sought(head(key), key))
    }

    /// The row at a place.
    pub(crate) fn row(&self, place: Place) -> Option<StagedRow<'_>> {
        Some(self.index.get(place)?.row(self.batch.as_bytes()))
    }

    /// All rows in order, once [settled](Self::settle).
    pub(crate) fn rows(&self) -> impl Iterator<Item = StagedRow<'_>> {
        debug_assert!(self.unplaced.is_empty(), "looked at before it was settled");
        let bytes = self.batch.as_bytes();
        self.index.iter().map(|entry| entry.row(bytes))
    }

    /// The first place behind `key`, or at it if that is `included`; once [settled](Self::settle).
    pub(crate) fn first_behind(&self, key: &[u8], included: bool) -> Option<Place> {
        let (place, is_found) = self.lookup(key);
        if is_found && !included {
            return self.index.next(place);
        }
        self.index.get(place).map(|_| place)
    }

    /// The last place before `key`, or at it if that is `included`; once [settled](Self::settle).
    pub(crate) fn last_before(&self, key: &[u8], included: bool) -> Option<Place> {
        let (place, is_found) = self.lookup(key);
        if is_found && included {
            return Some(place);
        }
        self.index.prev(place)
    }

    /// The next place in a direction. Places hold until the next edit.
    pub(crate) fn beyond(&self, place: Place, forward: bool) -> Option<Place> {
        if forward {
            self.index.next(place)
        } else {
            self.index.prev(place)
        }
    }

    /// Counts the writes: what was learnt at another count may be out of date.
    pub(crate) fn edits(&self) -> u64 {
        self.edits
    }

    /// So many rows at most.
    pub(crate) fn len(&self) -> usize {
        self.index.len() + self.unplaced.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.index.is_empty() && self.unplaced.is_empty()
    }

    /// Memory in use, in bytes.
    pub(crate) fn len_bytes(&self) -> usize {
        self.batch.len_bytes() + self.index.len_bytes() + self.unplaced.len() * size_of::<Entry>()
    }

    /// Bytes of the batch, in which rows may stand several times that the engine gets once.
    pub(crate) fn batch_len_bytes(&self) -> usize {
        self.batch.len_bytes()
    }

    /// All that was written, for the engine. It comes back empty, and then [`clear`](Self::clear) is due.
    ///
    /// Many rows are put in their order first: copying them costs a fraction of what the engine's memtable saves when
    /// they come one behind the other.
    pub(crate) fn batch(&mut self) -> &mut BatchWriter {
        if self.index.len() + self.unplaced.len() >= SORTED_LEN_MIN {
            let unplaced = self.take_unplaced();
            self.batch = self.sorted_batch(&unplaced);
            self.index.clear();
        }
        &mut self.batch
    }

    /// The batch in the order of the rows. `unplaced` are those that are not in the index.
    fn sorted_batch(&self, unplaced: &[Entry]) -> BatchWriter {
        let bytes = self.batch.as_bytes();
        let mut sorted = BatchWriter::with_capacity(bytes.len());
        let mut entries = merged(self.index.iter(), unplaced, order_in(bytes));
        let mut loaded = Vec::with_capacity(LOADED);
        loop {
            loaded.clear();
            loaded.extend(entries.by_ref().take(LOADED));
            if loaded.is_empty() {
                return sorted;
            }
            // Rows were written far apart: loads of several, none dependent on another, are waited for together.
            for entry in &loaded {
                let (at, len) = entry.key_range();
                black_box(bytes.get(at).copied());
                black_box(bytes.get(at + len).copied());
            }
            for entry in &loaded {
                let row = entry.row(bytes);
                match row.value {
                    Some(value) => sorted.put(row.key, value),
                    None => sorted.delete(row.key),
                }
            }
        }
    }

    /// Removes all rows and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.batch.clear();
        self.index.clear();
        self.unplaced.clear();
        self.unplaced_tables = 0;
        self.edits += 1;
    }
}

impl Entry {
    fn key<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let (at, len) = self.key_range();
        bytes.get(at..at + len).unwrap_or_default()
    }

    fn row<'a>(&self, bytes: &'a [u8]) -> StagedRow<'a> {
        StagedRow {
            key: self.key(bytes),
            value: self
                .value_range()
                .map(|(at, len)| bytes.get(at..at + len).unwrap_or_default()),
        }
    }
}

/// The order of entries whose keys stand in `bytes`.
fn order_in(bytes: &[u8]) -> impl Fn(&Entry, &Entry) -> Ordering {
    |a, b| match a.head().cmp(&b.head()) {
        Ordering::Equal => compare(a.key(bytes), b.key(bytes)),
        decided => decided,
    }
}

/// Separates tables well enough: with small ids the fourth byte is the table's number or the index's id.
fn table_of(key: &[u8]) -> usize {
    usize::from(key.get(3).copied().unwrap_or_default())
}

/// A table's bit, which is the same for all forms of a key; `None` where a key may have another form with another bit: if
/// its ids are not of a byte each.
fn table_bit(key: &[u8]) -> Option<u64> {
    let has_short_ids = key.first() == Some(&0);
    has_short_ids.then(|| 1 << table_of(key).min(63))
}

/// Bytes of the varint that the batch writes before a value.
fn varint_len(number: usize) -> usize {
    let bits = (usize::BITS - number.leading_zeros()).max(1);
    bits.div_ceil(7) as usize
}

#[cfg(test)]
mod tests;
