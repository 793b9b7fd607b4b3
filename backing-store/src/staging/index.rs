//! Entries in order, in blocks of bounded length: a lookup is two binary searches, an insertion moves part of one
//! block.
//!
//! A lookup compares heads, and asks the caller's order only about entries with an equal head.

use std::cmp::Ordering;

/// A full block is split. 128 entries are 3 KiB: cheap to move, and few blocks.
const BLOCK_LEN_MAX: usize = 128;

/// How many places are remembered.
const HINTS: usize = 8;

/// Marks an entry without a value.
const DELETED: u32 = u32::MAX;

/// Where key and value stand in the batch, and the key's [head](super::head).
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    head: u64,
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
    pub(super) fn put(
        head: u64,
        (key_at, key_len): (usize, usize),
        (value_at, value_len): (usize, usize),
    ) -> Self {
        Self {
            head,
            key_at: narrow(key_at),
            key_len: narrow(key_len),
            value_at: narrow(value_at),
            value_len: narrow(value_len),
        }
    }

    pub(super) fn delete(head: u64, key_at: usize, key_len: usize) -> Self {
        Self {
            head,
            key_at: narrow(key_at),
            key_len: narrow(key_len),
            value_at: 0,
            value_len: DELETED,
        }
    }

    pub(super) const fn head(&self) -> u64 {
        self.head
    }

    /// Later writes stand further back in the batch.
    pub(super) const fn written_at(&self) -> u32 {
        self.key_at
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

/// What is looked for: where the entry is that `order` calls equal, which is asked only about entries with this head.
#[derive(Clone, Copy)]
pub(super) struct Sought<F> {
    pub(super) head: u64,
    pub(super) order: F,
}

impl<F: Fn(&Entry) -> Ordering> Sought<F> {
    #[inline]
    fn compare(&self, entry: &Entry) -> Ordering {
        match entry.head.cmp(&self.head) {
            Ordering::Equal => (self.order)(entry),
            decided => decided,
        }
    }

    /// The range of `items` with this head. Among numbers alone, a search never has to guess which way it goes on.
    #[inline]
    fn alike<T>(&self, items: &[T], head: impl Fn(&T) -> u64) -> (usize, usize) {
        let start = items.partition_point(|item| head(item) < self.head);
        let behind = items.get(start..).unwrap_or_default();
        match behind.first() {
            Some(first) if head(first) == self.head => {
                let len = behind.partition_point(|item| head(item) == self.head);
                (start, start + len)
            }
            _ => (start, start),
        }
    }
}

/// The index. No block is empty.
#[derive(Debug, Default)]
pub(super) struct Index {
    blocks: Vec<Vec<Entry>>,
    /// The head of each block's first entry, in one piece of memory.
    heads: Vec<u64>,
    len: usize,
    /// Where entries were set last. Any place will do: it is looked at before it is believed.
    hints: [Place; HINTS],
    /// Which hints there are, a bit for each.
    hinted: u8,
}

impl Index {
    /// Where the entry is, or the first behind it, and whether there is one.
    pub(super) fn lookup(&self, sought: &Sought<impl Fn(&Entry) -> Ordering>) -> (Place, bool) {
        let slot = self.slot(sought);
        let Slot { block, at, .. } = slot;
        let len = self.blocks.get(block).map_or(0, Vec::len);
        if at == len && !self.blocks.is_empty() {
            let block = block + 1;
            return (Place { block, at: 0 }, false);
        }
        (Place { block, at }, slot.is_taken)
    }

    /// Where the entry is, or belongs.
    pub(super) fn slot(&self, sought: &Sought<impl Fn(&Entry) -> Ordering>) -> Slot {
        let (start, end) = sought.alike(&self.heads, |head| *head);
        let alike = self.blocks.get(start..end).unwrap_or_default();
        let is_before = |entries: &Vec<Entry>| {
            let first = entries.first().map(|entry| (sought.order)(entry));
            first.is_some_and(|order| order != Ordering::Greater)
        };
        let block = (start + alike.partition_point(is_before)).saturating_sub(1);
        let found = match self.blocks.get(block) {
            Some(entries) => {
                let (start, end) = sought.alike(entries, |entry| entry.head);
                let alike = entries.get(start..end).unwrap_or_default();
                let found = alike.binary_search_by(|entry| (sought.order)(entry));
                found.map(|at| start + at).map_err(|at| start + at)
            }
            None => Err(0),
        };
        let (Ok(at) | Err(at)) = found;
        Slot {
            block,
            at,
            is_taken: found.is_ok(),
        }
    }

    /// Finds an entry's place like [`slot`](Self::slot), but looks first behind the last entry that was set with this
    /// hint: rows of one table come in order more often than not, and those of several tables by turns.
    pub(super) fn slot_near(
        &self,
        hint: usize,
        sought: &Sought<impl Fn(&Entry) -> Ordering>,
    ) -> Slot {
        match self.slot_by_hint(hint, sought) {
            Some(slot) => slot,
            None => self.slot(sought),
        }
    }

    /// Whether an entry was set with this hint, or one that shares its place, since the index was empty.
    pub(super) fn has_hint(&self, hint: usize) -> bool {
        self.hinted & 1 << (hint % HINTS) != 0
    }

    /// An entry, perhaps that which was set last with a hint.
    pub(super) fn set_last(&self, hint: usize) -> Option<&Entry> {
        self.get(self.hints[hint % HINTS])
    }

    /// The answer of [`slot_near`](Self::slot_near) where that needs no search.
    pub(super) fn slot_by_hint(
        &self,
        hint: usize,
        sought: &Sought<impl Fn(&Entry) -> Ordering>,
    ) -> Option<Slot> {
        let place = self.hints[hint % HINTS];
        let Place { block, at } = place;
        let here = |at, is_taken| Slot {
            block,
            at,
            is_taken,
        };
        match sought.compare(self.get(place)?) {
            Ordering::Equal => return Some(here(at, true)),
            Ordering::Greater => return None,
            Ordering::Less => {}
        }
        let Some(next) = self.next(place) else {
            return Some(here(at + 1, false));
        };
        match sought.compare(self.get(next)?) {
            Ordering::Greater => Some(here(at + 1, false)),
            Ordering::Equal => Some(Slot {
                block: next.block,
                at: next.at,
                is_taken: true,
            }),
            Ordering::Less => None,
        }
    }

    /// Takes many entries over at once. They are in order, each key once, and come in place of those that `order` calls
    /// equal.
    pub(super) fn merge(&mut self, new: &[Entry], order: impl Fn(&Entry, &Entry) -> Ordering) {
        let old = std::mem::take(&mut self.blocks);
        self.clear();
        for entry in merged(old.iter().flatten(), new, order) {
            self.push(entry);
        }
    }

    /// Behind all others.
    fn push(&mut self, entry: Entry) {
        // Some room is left for entries that come between.
        const LEN: usize = BLOCK_LEN_MAX / 4 * 3;
        self.len += 1;
        match self.blocks.last_mut() {
            Some(block) if block.len() < LEN => block.push(entry),
            _ => {
                let mut block = Vec::with_capacity(BLOCK_LEN_MAX);
                block.push(entry);
                self.blocks.push(block);
                self.heads.push(entry.head);
            }
        }
    }

    /// Puts an entry into a slot; if it is taken, in place of what is there.
    pub(super) fn set(&mut self, slot: Slot, entry: Entry, hint: usize) {
        self.hints[hint % HINTS] = self.place(slot, entry);
        self.hinted |= 1 << (hint % HINTS);
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
            self.heads.push(entry.head);
            self.len = 1;
            return here;
        };
        if is_taken {
            block[at] = entry;
            return here;
        }
        self.len += 1;
        if is_last && at == BLOCK_LEN_MAX {
            // Ascending writes fill their blocks.
            let mut entries = Vec::with_capacity(BLOCK_LEN_MAX);
            entries.push(entry);
            self.blocks.push(entries);
            self.heads.push(entry.head);
            return next_block;
        }
        if block.len() < BLOCK_LEN_MAX {
            block.insert(at, entry);
            self.see_first(block_at);
            return here;
        }
        let mut upper = Vec::with_capacity(BLOCK_LEN_MAX);
        upper.extend(block.drain(BLOCK_LEN_MAX / 2..));
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
        self.heads.insert(block_at + 1, upper[0].head);
        self.blocks.insert(block_at + 1, upper);
        self.see_first(block_at);
        place
    }

    /// The block may have another first entry than before.
    fn see_first(&mut self, block: usize) {
        let first = self.blocks.get(block).and_then(|entries| entries.first());
        if let (Some(head), Some(first)) = (self.heads.get_mut(block), first) {
            *head = first.head;
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
        self.heads.clear();
        self.len = 0;
        self.hinted = 0;
    }
}

/// Both in order. New entries come in place of old ones that `order` calls equal.
pub(super) fn merged<'a>(
    old: impl Iterator<Item = &'a Entry>,
    new: &'a [Entry],
    order: impl Fn(&Entry, &Entry) -> Ordering,
) -> impl Iterator<Item = Entry> {
    let mut old = old.peekable();
    let mut new = new.iter().peekable();
    std::iter::from_fn(move || {
        let sides = match (old.peek(), new.peek()) {
            (Some(old), Some(new)) => order(old, new),
            (Some(_), None) => Ordering::Less,
            (None, _) => Ordering::Greater,
        };
        if sides == Ordering::Equal {
            old.next();
        }
        let next = match sides {
            Ordering::Less => old.next(),
            Ordering::Equal | Ordering::Greater => new.next(),
        };
        next.copied()
    })
}
