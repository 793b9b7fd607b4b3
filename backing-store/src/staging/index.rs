//! Entries in order, in blocks of bounded length: a lookup is two binary searches, an insertion moves part of one block.

use std::cmp::Ordering;

/// A full block is split. 256 entries are 4 KiB: cheap to move, and few blocks.
const BLOCK_LEN_MAX: usize = 256;

/// How many places are remembered.
const HINTS: usize = 8;

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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    block: usize,
    at: usize,
}

/// Where an entry is or belongs; holds until the next insertion.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    block: usize,
    at: usize,
    is_taken: bool,
}

impl Slot {
    /// The entry that is there.
    pub(super) fn found(self) -> Option<Place> {
        let Self {
            block,
            at,
            is_taken,
        } = self;
        is_taken.then_some(Place { block, at })
    }
}

/// The index. No block is empty.
#[derive(Debug, Default)]
pub(super) struct Index {
    blocks: Vec<Vec<Entry>>,
    len: usize,
    /// Where entries were set last. Any place will do: it is looked at before it is believed.
    hints: [Place; HINTS],
}

impl Index {
    /// Where the entry that `order` calls equal is, or the first behind it, and whether there is one.
    pub(super) fn lookup(&self, order: impl Fn(&Entry) -> Ordering) -> (Place, bool) {
        let slot = self.slot(order);
        let Slot { block, at, .. } = slot;
        if at == self.blocks.get(block).map_or(0, Vec::len) && !self.blocks.is_empty() {
            let block = block + 1;
            return (Place { block, at: 0 }, false);
        }
        (Place { block, at }, slot.is_taken)
    }

    /// Where the entry that `order` calls equal is, or belongs.
    pub(super) fn slot(&self, order: impl Fn(&Entry) -> Ordering) -> Slot {
        let after = self
            .blocks
            .partition_point(|block| order(&block[0]) != Ordering::Greater);
        let block = after.saturating_sub(1);
        let found = match self.blocks.get(block) {
            Some(entries) => entries.binary_search_by(order),
            None => Err(0),
        };
        let (Ok(at) | Err(at)) = found;
        Slot {
            block,
            at,
            is_taken: found.is_ok(),
        }
    }

    /// As [`slot`](Self::slot), first looking behind the last entry that was set with the same hint: rows of one table
    /// come in order more often than not, and those of several tables by turns.
    pub(super) fn slot_near(&self, hint: usize, order: impl Fn(&Entry) -> Ordering) -> Slot {
        let place = self.hints[hint % HINTS];
        let Place { block, at } = place;
        match self.get(place).map(&order) {
            Some(Ordering::Equal) => Slot {
                block,
                at,
                is_taken: true,
            },
            Some(Ordering::Less) => {
                let next = self.next(place).and_then(|next| self.get(next));
                if next.is_some_and(|next| order(next) != Ordering::Greater) {
                    return self.slot(order);
                }
                Slot {
                    block,
                    at: at + 1,
                    is_taken: false,
                }
            }
            _ => self.slot(order),
        }
    }

    /// Puts an entry into a slot; if it is taken, in place of what is there.
    pub(super) fn set(&mut self, slot: Slot, entry: Entry, hint: usize) {
        self.hints[hint % HINTS] = self.place(slot, entry);
    }

    fn place(&mut self, slot: Slot, entry: Entry) -> Place {
        let Slot {
            block: block_at,
            at,
            is_taken,
        } = slot;
        let here = Place {
            block: block_at,
            at,
        };
        let next_block = Place {
            block: block_at + 1,
            at: 0,
        };
        let is_last = block_at + 1 >= self.blocks.len();
        let Some(block) = self.blocks.get_mut(block_at) else {
            self.blocks.push(vec![entry]);
            self.len = 1;
            return here;
        };
        if is_taken {
            block[at] = entry;
            return here;
        }
        self.len += 1;
        if block.len() < BLOCK_LEN_MAX {
            block.insert(at, entry);
            return here;
        }
        if is_last && at == block.len() {
            // Ascending writes fill their blocks.
            self.blocks.push(vec![entry]);
            return next_block;
        }
        let mut upper = block.split_off(BLOCK_LEN_MAX / 2);
        let place = match at.checked_sub(block.len() + 1) {
            None => {
                block.insert(at, entry);
                here
            }
            Some(before) => {
                let at = before + 1;
                upper.insert(at, entry);
                Place { at, ..next_block }
            }
        };
        self.blocks.insert(block_at + 1, upper);
        place
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

    pub(super) fn len(&self) -> usize {
        self.len
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
