//! A walk of the backing store's cursors over a source, and what it fills with what it meets.

use std::ops::ControlFlow;

use larder_backing_store::{CursorDirection, IndexCursor, Movement, PinnedBytes, RecordCursor};
use larder_codec::RawKey;

use super::Source;
use super::unwrap::Shape;
use crate::error::{Error, Result};
use crate::key_range::KeyRange;
use crate::operation::{Backing, Execution};
use crate::value::records::Buffer;

/// What is wanted of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Keys,
    Values,
}

/// A cursor over an object store or an index.
#[derive(Debug)]
pub(crate) enum Scan {
    Records(Box<RecordCursor>),
    Index(Box<IndexCursor>),
}

/// How much is taken at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fill {
    /// The number of the range that the entries answer, if there are many.
    pub(crate) request: usize,
    pub(crate) wanted: Wanted,
    /// Whether long values may stay where the engine has them.
    pub(crate) may_pin: bool,
    pub(crate) entries_max: usize,
    /// The last entry may exceed it.
    pub(crate) bytes_max: usize,
}

/// Values that may stay where they are and are shorter than this are copied all the same, in bytes: that costs no more.
const PINNED_LEN_MIN: usize = 256;
/// And those in less memory than this, such as a table's block: the next one is unpacked into the same memory then.
const PINNED_MEMORY_MIN: usize = 64 << 10;

/// Entries between two checks whether the transaction has been aborted.
const ENTRIES: usize = 256;

impl Scan {
    pub(crate) fn open(
        execution: &mut Execution,
        source: &Source,
        range: &KeyRange,
        direction: CursorDirection,
        wanted: Wanted,
    ) -> Result<Self> {
        let (store_id, index_id) = source.ids()?;
        let Execution {
            backing,
            reading,
            database_id,
            ..
        } = execution;
        let (id, reads) = (*database_id, backing.reads());
        let buffer = &mut reading.get_or_insert_default().range;
        range.with_bytes(buffer, |range| {
            Ok(match (index_id, wanted) {
                (None, Wanted::Values) => {
                    let cursor = reads.records_in(id, store_id, range, direction);
                    Self::Records(Box::new(cursor))
                }
                (None, Wanted::Keys) => {
                    let (table, place) = (source.store.keys_table, (id, store_id));
                    let cursor = reads.keys_in_table(table, place, range, direction);
                    Self::Records(Box::new(cursor))
                }
                (Some(index_id), Wanted::Values) => {
                    let cursor = reads.index_entries_in(id, store_id, index_id, range, direction);
                    Self::Index(Box::new(cursor))
                }
                (Some(index_id), Wanted::Keys) => {
                    let cursor = reads.index_keys_in(id, store_id, index_id, range, direction);
                    Self::Index(Box::new(cursor))
                }
            })
        })
    }

    /// From the first entry of the range on.
    pub(crate) fn forward(
        execution: &mut Execution,
        source: &Source,
        range: &KeyRange,
        wanted: Wanted,
    ) -> Result<Self> {
        Self::open(execution, source, range, CursorDirection::Next, wanted)
    }

    /// To the next entry; `false` at the end.
    #[inline]
    pub(crate) fn next(&mut self, backing: &mut Backing) -> Result<bool> {
        self.next_of(backing, 1)
    }

    /// To the next of so many entries that are wanted; `false` at the end.
    #[inline]
    fn next_of(&mut self, backing: &mut Backing, count: usize) -> Result<bool> {
        match self {
            Self::Records(cursor) => Ok(cursor.next()?),
            Self::Index(cursor) => backing.next_of(cursor, count),
        }
    }

    /// Over so many entries, or to the end: how many there were.
    pub(crate) fn pass(&mut self, backing: &mut Backing, count_max: u64) -> Result<u64> {
        if let Self::Records(cursor) = self {
            return Ok(cursor.pass(count_max)?);
        }
        for count in 0..count_max {
            let left = usize::try_from(count_max - count).unwrap_or(usize::MAX);
            if !self.next_of(backing, left)? {
                return Ok(count);
            }
        }
        Ok(count_max)
    }

    /// Moves; `false` at the end.
    pub(crate) fn go(&mut self, backing: &mut Backing, movement: Movement<'_>) -> Result<bool> {
        match self {
            Self::Records(cursor) => Ok(cursor.go(movement)?),
            Self::Index(cursor) => backing.go(cursor, movement),
        }
    }

    /// The bytes of the index key (empty if there is no index) and of the primary key.
    #[inline]
    pub(crate) fn key_bytes(&self) -> Result<(&[u8], &[u8])> {
        match self {
            Self::Records(cursor) => Ok((&[], cursor.primary_key_bytes())),
            Self::Index(cursor) => Ok(cursor.key_bytes()?),
        }
    }

    #[inline]
    fn value(&self) -> Result<&[u8]> {
        match self {
            Self::Records(cursor) => Ok(cursor.value()?),
            Self::Index(cursor) => Ok(cursor.value()),
        }
    }

    fn pinned_value(&self) -> Option<PinnedBytes> {
        match self {
            Self::Records(cursor) => cursor.pinned_value(),
            Self::Index(_) => None,
        }
    }

    /// Adds entries to `buffer` until one of the limits is reached; `false` if the end was. If it `stands` on an entry
    /// already, that is the first.
    pub(crate) fn fill(
        &mut self,
        execution: &mut Execution,
        source: &Source,
        fill: Fill,
        mut stands: bool,
        buffer: &mut Buffer,
    ) -> Result<bool> {
        let shape = Shape::of_source(execution, source)?;
        while buffer.len() < fill.entries_max && buffer.len_bytes() < fill.bytes_max {
            let left = fill.entries_max - buffer.len();
            if let (false, Wanted::Keys, Self::Index(cursor), Backing::Read(_)) =
                (stands, fill.wanted, &mut *self, &execution.backing)
            {
                let statistics = &mut execution.statistics;
                let mut pushed = Ok(());
                let is_more =
                    cursor.visit_keys(left.min(ENTRIES), |index_key, primary_key| {
                        statistics.count_read(index_key.len() + primary_key.len(), 0);
                        pushed = buffer.push(fill.request, (index_key, primary_key), 0, |_| {
                            Ok(Vec::new())
                        });
                        match pushed.is_ok() && buffer.len_bytes() < fill.bytes_max {
                            true => ControlFlow::Continue(()),
                            false => ControlFlow::Break(()),
                        }
                    })?;
                pushed?;
                if !is_more {
                    return Ok(false);
                }
                execution.check_cancelled()?;
                continue;
            }
            if !stands && !self.next_of(&mut execution.backing, left)? {
                return Ok(false);
            }
            stands = false;
            if (buffer.len() + 1).is_multiple_of(ENTRIES) {
                execution.check_cancelled()?;
            }
            self.push(execution, &shape, fill, buffer)?;
        }
        Ok(true)
    }

    /// Adds the entry where it stands.
    #[inline]
    fn push(
        &self,
        execution: &mut Execution,
        shape: &Shape<'_>,
        fill: Fill,
        buffer: &mut Buffer,
    ) -> Result<()> {
        let keys = self.key_bytes()?;
        let (index_key, primary_key) = keys;
        let key_bytes = index_key.len() + primary_key.len();
        if fill.wanted == Wanted::Keys {
            execution.statistics.count_read(key_bytes, 0);
            return buffer.push(fill.request, keys, 0, |_| Ok(Vec::new()));
        }
        let value = self.value()?;
        execution.statistics.count_read(key_bytes, value.len());
        if fill.may_pin
            && buffer.may_pin()
            && value.len() >= PINNED_LEN_MIN
            && shape.is_plain(value)
            && let Some(value) = self.pinned_value()
            && value.held_len() >= PINNED_MEMORY_MIN
        {
            return buffer.push_pinned(fill.request, keys, value);
        }
        let backing = &execution.backing;
        let reading = &mut execution.reading;
        buffer.push(fill.request, keys, value.len(), |out| {
            if shape.is_plain(value) {
                out.extend_from_slice(value);
                return Ok(Vec::new());
            }
            let primary_key = RawKey::decode_exact(primary_key)?;
            let unwrapping = &mut reading.get_or_insert_default().unwrapping;
            unwrapping
                .unwrap(backing, shape, primary_key, value, out)
                .map_err(|error| of_key(&error, primary_key))
        })
    }
}

/// Says of which of several records an error is.
pub(crate) fn of_key(error: &Error, primary_key: RawKey<'_>) -> Error {
    let key = primary_key.to_key();
    error.with_message(format!(
        "the record with key {}: {}",
        key.brief(),
        error.message()
    ))
}
