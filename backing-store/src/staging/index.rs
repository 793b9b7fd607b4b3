//! Entries in order, in blocks of bounded length: a lookup is two binary searches, an insertion moves part of one block.

use std::cmp::Ordering;

/// A full block is split. 256 entries are 4 KiB: cheap to move, and few blocks.
const BLOCK_LEN_MAX: usize = 256;

/// Marks an entry without a value.
const DELETED: u32 = u32::MAX;

/// Where key and value stand in the batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    key_at: u32,
    key_len: u32,
    value_at: u32,
    value_len: u32,
}

/// The caller keeps batches below 2^32 bytes.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a batch and a row have fewer bytes than 2^32; see ROW_LEN_MAX"
)]
const fn narrow(number: usize) -> u32 {
    debug_assert!(number < u32::MAX as usize);
    number as u32
}

impl Entry {
    pub(super) fn put(key_at: usize, key_len: usize, value_at: usize, value_len: usize) -> Self {
        Self {
            key_at: narrow(key_at),
            key_len: narrow(key_len),
            value_at: narrow(value_at),
            value_len: narrow(value_len),
        }
    }

    pub(super) fn delete(key_at: usize, key_len: usize) -> Self {
        Self {
            key_at: narrow(key_at),
            key_len: narrow(key_len),
            value_at: 0,
            value_len: DELETED,
        }
    }

    pub(super) fn key_range(&self) -> (usize, usize) {
        (self.key_at as usize, self.key_len as usize)
    }

    pub(super) fn value_range(&self) -> Option<(usize, usize)> {
        (self.value_len != DELETED).then_some((self.value_at as usize, self.value_len as usize))
    }
}

/// A place in the index; holds until the next insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    block: usize,
    at: usize,
}

/// The index. No block is empty.
#[derive(Debug, Default)]
pub(super) struct Index {
    blocks: Vec<Vec<Entry>>,
    len: usize,
}

impl Index {
    /// Where the entry that `order` calls equal is, or the first behind it, and whether there is one.
    pub(super) fn lookup(&self, order: impl Fn(&Entry) -> Ordering) -> (Place, bool) {
        let (block, found) = self.search(&order);
        match found {
            Ok(at) => (Place { block, at }, true),
            Err(at) if at == self.blocks.get(block).map_or(0, Vec::len) => {
                let block = if self.blocks.is_empty() { 0 } else { block + 1 };
                (Place { block, at: 0 }, false)
            }
            Err(at) => (Place { block, at }, false),
        }
    }

    /// The block that it belongs to, and where in it.
    fn search(&self, order: impl Fn(&Entry) -> Ordering) -> (usize, Result<usize, usize>) {
        let after = self
            .blocks
            .partition_point(|block| order(&block[0]) != Ordering::Greater);
        let at = after.saturating_sub(1);
        match self.blocks.get(at) {
            Some(block) => (at, block.binary_search_by(order)),
            None => (at, Err(0)),
        }
    }

    /// Puts `entry` where `order` says; it takes the place of an equal one.
    pub(super) fn insert(&mut self, entry: Entry, order: impl Fn(&Entry) -> Ordering) {
        let (block_at, found) = self.search(order);
        let is_last = block_at + 1 >= self.blocks.len();
        let Some(block) = self.blocks.get_mut(block_at) else {
            self.blocks.push(vec![entry]);
            self.len = 1;
            return;
        };
        let at = match found {
            Ok(at) => {
                block[at] = entry;
                return;
            }
            Err(at) => at,
        };
        self.len += 1;
        if block.len() < BLOCK_LEN_MAX {
            block.insert(at, entry);
        } else if is_last && at == block.len() {
            // Ascending writes fill their blocks.
            self.blocks.push(vec![entry]);
        } else {
            let mut upper = block.split_off(BLOCK_LEN_MAX / 2);
            if at <= block.len() {
                block.insert(at, entry);
            } else {
                upper.insert(at - block.len(), entry);
            }
            self.blocks.insert(block_at + 1, upper);
        }
    }

    pub(super) fn get(&self, place: Place) -> Option<&Entry> {
        self.blocks.get(place.block)?.get(place.at)
    }

    pub(super) fn next(&self, place: Place) -> Option<Place> {
        let Place { block, at } = place;
        let here = self.blocks.get(block)?;
        if at + 1 < here.len() {
            return Some(Place { block, at: at + 1 });
        }
        let next = Place {
            block: block + 1,
            at: 0,
        };
        self.get(next).map(|_| next)
    }

    pub(super) fn prev(&self, place: Place) -> Option<Place> {
        let Place { block, at } = place;
        if let Some(at) = at.checked_sub(1) {
            return Some(Place { block, at });
        }
        let block = block.checked_sub(1)?;
        let at = self.blocks.get(block)?.len().checked_sub(1)?;
        Some(Place { block, at })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.blocks.iter().flatten()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn len_bytes(&self) -> usize {
        // Blocks are at least half full, but for the last.
        self.len * size_of::<Entry>()
    }

    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.len = 0;
    }
}
