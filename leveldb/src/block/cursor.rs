//! Moves over a block in both directions.
//!
//! Going backwards, the entries between two restart points are decoded once and kept ([`Interval`]), not again for every
//! step. What is kept is bounded: in a block with few restart points only the last entries are.

use crate::pinned::PinnedBytes;
use crate::varint::{decode_varint32, fixed32};
use std::cmp::Ordering;

/// Where in the block something does not fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockFault {
    pub(crate) what: &'static str,
}

pub(super) type Step<T = ()> = Result<T, BlockFault>;

fn fault<T>(what: &'static str) -> Step<T> {
    Err(BlockFault { what })
}

/// How many bytes of keys are kept for going backwards.
const INTERVAL_KEYS_LEN_MAX: usize = 256 << 10;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    at: usize,
    pub(super) next_at: usize,
    pub(super) value: (usize, usize),
}

#[derive(Clone, Debug, Default)]
struct Interval {
    entries: Vec<(Entry, usize, usize)>,
    keys: Vec<u8>,
    /// The current entry, if the cursor stands in the interval.
    position: Option<usize>,
}

/// A position in a block: on an entry, or on none (before the first and after the last are the same).
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockCursor {
    block: PinnedBytes,
    restarts_at: usize,
    restart_count: usize,
    valid: bool,
    entry: Entry,
    key: Vec<u8>,
    interval: Interval,
}

struct Header {
    shared: usize,
    added: usize,
    value_len: usize,
    len: usize,
}

#[inline]
fn header(bytes: &[u8]) -> Option<Header> {
    if let [shared, added, value_len, ..] = *bytes
        && (shared | added | value_len) < 0x80
    {
        return Some(Header {
            shared: shared.into(),
            added: added.into(),
            value_len: value_len.into(),
            len: 3,
        });
    }
    let (shared, a) = decode_varint32(bytes)?;
    let (added, b) = decode_varint32(bytes.get(a..)?)?;
    let (value_len, c) = decode_varint32(bytes.get(a + b..)?)?;
    Some(Header {
        shared: shared as usize,
        added: added as usize,
        value_len: value_len as usize,
        len: a + b + c,
    })
}

/// Where the restart points are, and how many.
pub(in crate::block) fn layout(block: &[u8]) -> Step<(usize, usize)> {
    let Some(array_end) = block.len().checked_sub(4) else {
        return fault("block is shorter than four bytes");
    };
    let count = fixed32(block, array_end).unwrap_or(0) as usize;
    let Some(restarts_at) = count
        .checked_mul(4)
        .and_then(|len| array_end.checked_sub(len))
    else {
        return fault("restart array is longer than its block");
    };
    if count == 0 && restarts_at > 0 {
        return fault("block has entries and no restart point");
    }
    if count > 0 && fixed32(block, restarts_at) != Some(0) {
        return fault("first restart point is not the block's start");
    }
    Ok((restarts_at, count))
}

/// Where a restart point leads.
#[inline]
pub(super) fn restart_of(block: &[u8], restarts_at: usize, i: usize) -> Step<usize> {
    let at = fixed32(block, restarts_at + 4 * i).unwrap_or(u32::MAX) as usize;
    if at < restarts_at || (at == 0 && restarts_at == 0) {
        Ok(at)
    } else {
        fault("restart point is outside of the entries")
    }
}

/// Whether the restart points are the places of entries with whole keys, as far as the entries fit together: searches begin there, walks
/// pass them by.
pub(crate) fn has_true_restarts(block: &[u8]) -> bool {
    let Ok((restarts_at, count)) = layout(block) else {
        return true;
    };
    let restart = |i: usize| fixed32(block, restarts_at + 4 * i).map(|at| at as usize);
    let (mut at, mut i) = (0, 0);
    while at < restarts_at {
        let Some(header) = block.get(at..restarts_at).and_then(header) else {
            return true;
        };
        if i < count && restart(i) == Some(at) {
            if header.shared > 0 {
                return false;
            }
            i += 1;
        }
        at = at.saturating_add(header.len + header.added + header.value_len);
    }
    // An empty block may have one.
    at > restarts_at || i == count || restarts_at == 0
}

/// The whole key at a restart point.
#[inline]
pub(super) fn restart_key_at(block: &[u8], restarts_at: usize, at: usize) -> Step<&[u8]> {
    let bytes = block.get(at..restarts_at).unwrap_or_default();
    match header(bytes) {
        Some(Header {
            shared: 0,
            added,
            len,
            ..
        }) => match bytes.get(len..).and_then(|rest| rest.get(..added)) {
            Some(key) => Ok(key),
            None => fault("key is longer than its block"),
        },
        _ => fault("restart point is not where a whole key starts"),
    }
}

impl BlockCursor {
    /// Takes another block, on no entry. Gives back the one before.
    pub(crate) fn set_block(&mut self, block: PinnedBytes) -> Step<PinnedBytes> {
        self.valid = false;
        self.interval.position = None;
        (self.restarts_at, self.restart_count) = layout(&block)?;
        Ok(std::mem::replace(&mut self.block, block))
    }

    /// From now on it searches the block by walking. Whether the restart points are such that it must.
    pub(crate) fn pass_by_false_restarts(&mut self) -> bool {
        let is_false = !has_true_restarts(&self.block);
        if is_false {
            self.restart_count = 1;
        }
        is_false
    }

    /// Leaves the block and gives it back.
    pub(crate) fn take_block(&mut self) -> PinnedBytes {
        self.valid = false;
        self.interval.position = None;
        self.restarts_at = 0;
        self.restart_count = 0;
        std::mem::take(&mut self.block)
    }

    /// Whether it has a block, on whose entries it may stand.
    #[inline]
    pub(crate) fn has_block(&self) -> bool {
        !self.block.is_empty()
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.valid
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        match self.interval.position {
            None => &self.key,
            Some(i) => {
                let (_, start, end) = self.interval.entries[i];
                &self.interval.keys[start..end]
            }
        }
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        let (start, end) = match self.interval.position {
            None => self.entry.value,
            Some(i) => self.interval.entries[i].0.value,
        };
        &self.block[start..end]
    }

    /// The value, where it lies in the block.
    pub(crate) fn pinned_value(&self) -> PinnedBytes {
        let (start, end) = match self.interval.position {
            None => self.entry.value,
            Some(i) => self.interval.entries[i].0.value,
        };
        self.block.part(start, end)
    }

    fn restart(&self, i: usize) -> Step<usize> {
        restart_of(&self.block, self.restarts_at, i)
    }

    /// Decodes the entry at `at` onto `key`, which holds the key before it.
    #[inline]
    pub(super) fn decode(
        block: &[u8],
        restarts_at: usize,
        at: usize,
        key: &mut Vec<u8>,
    ) -> Step<Entry> {
        let Some(bytes) = block.get(at..restarts_at) else {
            return fault("entry is outside of the block");
        };
        let Some(header) = header(bytes) else {
            return fault("entry has bad lengths");
        };
        if header.shared > key.len() {
            return fault("entry shares more than the key before it has");
        }
        let Some(rest) = bytes.get(header.len..) else {
            return fault("entry has bad lengths");
        };
        let Some(added) = rest.get(..header.added) else {
            return fault("key is longer than its block");
        };
        if header.value_len > rest.len() - header.added {
            return fault("value is longer than its block");
        }
        key.truncate(header.shared);
        key.extend_from_slice(added);
        let value_at = at + header.len + header.added;
        let next_at = value_at + header.value_len;
        Ok(Entry {
            at,
            next_at,
            value: (value_at, next_at),
        })
    }

    /// To the entry at `at`, with the key before it in `self.key`.
    #[inline]
    fn step_to(&mut self, at: usize) -> Step {
        self.interval.position = None;
        if at >= self.restarts_at {
            self.valid = false;
            return Ok(());
        }
        match Self::decode(&self.block, self.restarts_at, at, &mut self.key) {
            Ok(entry) => {
                self.entry = entry;
                self.valid = true;
                Ok(())
            }
            Err(fault) => {
                self.valid = false;
                Err(fault)
            }
        }
    }

    pub(crate) fn seek_to_first(&mut self) -> Step {
        self.key.clear();
        self.step_to(0)
    }

    pub(crate) fn seek_to_last(&mut self) -> Step {
        self.valid = false;
        if self.restarts_at == 0 {
            return Ok(());
        }
        self.load_interval_before(self.restarts_at)
    }

    /// To the entry after the current one.
    #[inline]
    pub(crate) fn next(&mut self) -> Step {
        let next_at = match self.interval.position {
            None => self.entry.next_at,
            Some(i) if i + 1 < self.interval.entries.len() => {
                self.interval.position = Some(i + 1);
                return Ok(());
            }
            Some(i) => {
                let (entry, start, end) = self.interval.entries[i];
                self.key.clear();
                self.key.extend_from_slice(&self.interval.keys[start..end]);
                entry.next_at
            }
        };
        self.step_to(next_at)
    }

    /// To the entry before the current one.
    pub(crate) fn prev(&mut self) -> Step {
        let at = match self.interval.position {
            None => self.entry.at,
            Some(0) => self.interval.entries[0].0.at,
            Some(i) => {
                self.interval.position = Some(i - 1);
                return Ok(());
            }
        };
        self.valid = false;
        if at == 0 {
            return Ok(());
        }
        self.load_interval_before(at)
    }

    /// Decodes from the last restart point before `end_at` up to there, and stands on the last of those entries.
    fn load_interval_before(&mut self, end_at: usize) -> Step {
        let (mut low, mut high) = (0, self.restart_count);
        // Invariant: restart `low` is before `end_at`, restart `high` is not.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.restart(middle)? < end_at {
                low = middle
            } else {
                high = middle
            }
        }
        let mut at = self.restart(low)?;
        self.valid = false;
        self.interval.position = None;
        self.interval.entries.clear();
        self.interval.keys.clear();
        self.key.clear();
        while at < end_at {
            let entry = Self::decode(&self.block, self.restarts_at, at, &mut self.key)?;
            if self.interval.keys.len() + self.key.len() > INTERVAL_KEYS_LEN_MAX {
                self.interval.entries.clear();
                self.interval.keys.clear();
            }
            let start = self.interval.keys.len();
            self.interval.keys.extend_from_slice(&self.key);
            self.interval
                .entries
                .push((entry, start, start + self.key.len()));
            at = entry.next_at;
        }
        if at != end_at || self.interval.entries.is_empty() {
            return fault("restart point is not where an entry starts");
        }
        self.interval.position = Some(self.interval.entries.len() - 1);
        self.valid = true;
        Ok(())
    }

    /// The last restart point whose key is less than a target, or the first restart point.
    fn restart_before(&self, compare: &mut impl FnMut(&[u8]) -> Ordering) -> Step<usize> {
        let (mut low, mut high) = (0, self.restart_count);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let at = self.restart(middle)?;
            if compare(self.restart_key(at)?) == Ordering::Less {
                low = middle
            } else {
                high = middle
            }
        }
        Ok(low)
    }

    fn restart_key(&self, at: usize) -> Step<&[u8]> {
        restart_key_at(&self.block, self.restarts_at, at)
    }

    /// To the entry at a restart point; to none if there are not so many.
    pub(crate) fn seek_to_restart(&mut self, restart: usize) -> Step {
        self.valid = false;
        self.interval.position = None;
        if restart >= self.restart_count || self.restarts_at == 0 {
            return Ok(());
        }
        self.key.clear();
        let at = self.restart(restart)?;
        self.step_to(at)
    }

    /// To the first entry that is not less than the target: `compare` gives the order of a key against it.
    pub(crate) fn seek(&mut self, mut compare: impl FnMut(&[u8]) -> Ordering) -> Step {
        self.valid = false;
        if self.restarts_at == 0 {
            return Ok(());
        }
        let restart = self.restart_before(&mut compare)?;
        self.key.clear();
        let at = self.restart(restart)?;
        self.step_to(at)?;
        while self.valid && compare(&self.key) == Ordering::Less {
            self.step_to(self.entry.next_at)?;
        }
        Ok(())
    }

    /// To the last entry that is less than the target.
    pub(crate) fn seek_before(&mut self, mut compare: impl FnMut(&[u8]) -> Ordering) -> Step {
        self.seek(&mut compare)?;
        if self.valid {
            self.prev()
        } else {
            self.seek_to_last()
        }
    }
}
