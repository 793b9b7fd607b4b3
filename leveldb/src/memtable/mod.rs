//! What logs hold, sorted in memory.
//!
//! Keys and small values are copied. When the values have used up their budget, further ones above
//! [`LOG_VALUE_LEN_MIN`] stay in their log and are read, and verified again, when asked for: memory then grows with the number
//! of keys, not with the values. Filled once, then only read.

mod course;
mod ending;
mod replay;

pub(crate) use course::{Course, CourseFinder, whole_batch};
pub(crate) use replay::{KnownLogs, Replay, Replayed};

use crate::error::{Error, Result};
use crate::internal_key::{self, EntryKind, InternalOrder};
use crate::log::read_span;
use crate::sort::sort_by;
use crate::storage::RandomFile;
use crate::table::Withheld;
use std::cell::OnceCell;
use std::cmp::Ordering;
use std::sync::Arc;

/// Values shorter than this are always copied, in bytes.
const LOG_VALUE_LEN_MIN: usize = 65;

const CHUNK_LEN: usize = 1 << 20;

/// A piece of a chunk.
#[derive(Clone, Copy, Debug)]
struct Slice {
    chunk: u32,
    at: u32,
    len: u32,
}

/// Where a value is.
#[derive(Clone, Copy, Debug)]
enum Place {
    Copied(Slice),
    /// `skip` bytes into the payload of the fragment whose header is at `offset`, and in the fragments after it.
    InLog {
        offset: u64,
        skip: u16,
        len: u32,
    },
    /// Lost by the damage with this number.
    Lost(u32),
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Slice,
    log: u32,
    place: Place,
}

#[derive(Clone, Debug)]
struct Log {
    name: String,
    file: Arc<dyn RandomFile>,
}

/// A log's name, and the log.
pub(crate) type OpenLog = (String, Arc<dyn RandomFile>);

/// Sorted entries.
#[derive(Debug, Default)]
pub(crate) struct MemTable {
    chunks: Vec<Vec<u8>>,
    entries: Vec<Entry>,
    logs: Vec<Log>,
    lost: Vec<Withheld>,
}

impl MemTable {
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The names of the logs that were replayed.
    pub(crate) fn log_names(&self) -> impl Iterator<Item = String> {
        self.logs.iter().map(|log| log.name.clone())
    }

    /// The logs that were replayed, in the order of their numbers.
    pub(crate) fn logs(&self) -> impl Iterator<Item = (&str, &Arc<dyn RandomFile>)> {
        self.logs.iter().map(|log| (&*log.name, &log.file))
    }

    fn slice(&self, slice: Slice) -> &[u8] {
        let chunk = self
            .chunks
            .get(slice.chunk as usize)
            .map_or(&[][..], |chunk| chunk);
        chunk
            .get(slice.at as usize..(slice.at + slice.len) as usize)
            .unwrap_or_default()
    }

    fn key(&self, i: usize) -> &[u8] {
        self.entries
            .get(i)
            .map_or(&[], |entry| self.slice(entry.key))
    }

    /// The first entry that is not less than an internal key.
    fn first_at_least(&self, order: &InternalOrder, target: &[u8]) -> usize {
        self.entries
            .partition_point(|entry| order.compare(self.slice(entry.key), target) == Ordering::Less)
    }
}

/// A value of a memtable.
#[derive(Debug)]
pub(crate) enum MemValue<'a> {
    /// In memory.
    Bytes(&'a [u8]),
    /// To be read from its log.
    InLog(LogValue<'a>),
}

impl<'a> MemValue<'a> {
    /// Its bytes. One that stayed in its log is read into `read_value`, once.
    ///
    /// # Errors
    /// If the log cannot be read there.
    #[inline]
    pub(crate) fn bytes(self, read_value: &'a OnceCell<Vec<u8>>) -> Result<&'a [u8]> {
        match (self, read_value.get()) {
            (MemValue::Bytes(bytes), _) => Ok(bytes),
            (MemValue::InLog(_), Some(bytes)) => Ok(bytes),
            (MemValue::InLog(value), None) => {
                let bytes = value.read()?;
                Ok(read_value.get_or_init(|| bytes))
            }
        }
    }
}

/// A value that stayed in its log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogValue<'a> {
    log: &'a Log,
    offset: u64,
    skip: u16,
    len: u32,
}

impl LogValue<'_> {
    /// Reads and verifies the value.
    pub(crate) fn read(&self) -> Result<Vec<u8>> {
        read_span(
            &*self.log.file,
            self.offset,
            self.skip.into(),
            self.len as usize,
        )
        .map_err(|error| {
            if error.kind() == std::io::ErrorKind::InvalidData {
                Error::corruption(&*self.log.name, Some(self.offset), error.to_string())
            } else {
                Error::io(&*self.log.name, "cannot read a value", error)
            }
        })
    }
}

/// Collects entries in any order.
#[derive(Debug)]
struct MemTableBuilder {
    table: MemTable,
    values_left: usize,
}

impl MemTableBuilder {
    fn new(value_budget: usize) -> MemTableBuilder {
        MemTableBuilder {
            table: MemTable::default(),
            values_left: value_budget,
        }
    }

    fn copy(&mut self, a: &[u8], b: &[u8]) -> Slice {
        let len = a.len() + b.len();
        let chunks = &mut self.table.chunks;
        if chunks
            .last()
            .is_none_or(|chunk| chunk.capacity() - chunk.len() < len)
        {
            chunks.push(Vec::with_capacity(len.max(CHUNK_LEN)));
        }
        let number = chunks.len() - 1;
        let chunk = &mut chunks[number];
        let at = chunk.len();
        chunk.extend_from_slice(a);
        chunk.extend_from_slice(b);
        Slice {
            chunk: number as u32,
            at: at as u32,
            len: len as u32,
        }
    }

    fn copy_key(&mut self, user_key: &[u8], sequence: u64, kind: EntryKind) -> Slice {
        let tag = (sequence << 8) | u64::from(kind.to_byte());
        self.copy(user_key, &tag.to_le_bytes())
    }

    fn add(&mut self, user_key: &[u8], sequence: u64, kind: EntryKind, place: Place) {
        let key = self.copy_key(user_key, sequence, kind);
        let log = self.table.logs.len().saturating_sub(1) as u32;
        self.table.entries.push(Entry { key, log, place });
    }

    fn finish(mut self, order: &InternalOrder) -> MemTable {
        let mut entries = std::mem::take(&mut self.table.entries);
        let table = &self.table;
        sort_by(&mut entries, |a, b| {
            order.compare(table.slice(a.key), table.slice(b.key))
        });
        self.table.entries = entries;
        self.table
    }
}

/// A position in a memtable: on an entry, or on none.
#[derive(Clone, Debug)]
pub(crate) struct MemCursor {
    table: Arc<MemTable>,
    order: InternalOrder,
    at: Option<usize>,
}

impl MemCursor {
    pub(crate) fn new(table: Arc<MemTable>, order: InternalOrder) -> MemCursor {
        MemCursor {
            table,
            order,
            at: None,
        }
    }

    fn stand(&mut self, at: Option<usize>) {
        self.at = at.filter(|&at| at < self.table.entries.len());
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.at.is_some()
    }

    pub(crate) fn seek_to_first(&mut self) {
        self.stand(Some(0));
    }

    pub(crate) fn seek_to_last(&mut self) {
        self.stand(self.table.entries.len().checked_sub(1));
    }

    pub(crate) fn seek(&mut self, target: &[u8]) {
        self.stand(Some(self.table.first_at_least(&self.order, target)));
    }

    pub(crate) fn seek_before(&mut self, target: &[u8]) {
        self.stand(
            self.table
                .first_at_least(&self.order, target)
                .checked_sub(1),
        );
    }

    pub(crate) fn next(&mut self) {
        self.stand(self.at.map(|at| at + 1));
    }

    pub(crate) fn prev(&mut self) {
        self.stand(self.at.and_then(|at| at.checked_sub(1)));
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.at.map_or(&[], |at| self.table.key(at))
    }

    fn entry(&self) -> Option<&Entry> {
        self.table.entries.get(self.at?)
    }

    pub(crate) fn value(&self) -> MemValue<'_> {
        match self.entry() {
            Some(&Entry {
                place: Place::Copied(slice),
                ..
            }) => MemValue::Bytes(self.table.slice(slice)),
            Some(&Entry {
                place: Place::InLog { offset, skip, len },
                log,
                ..
            }) => match self.table.logs.get(log as usize) {
                Some(log) => MemValue::InLog(LogValue {
                    log,
                    offset,
                    skip,
                    len,
                }),
                None => MemValue::Bytes(&[]),
            },
            _ => MemValue::Bytes(&[]),
        }
    }

    /// Counts rows withheld for a lost entry.
    pub(crate) fn lost(&self) -> Option<&Withheld> {
        match self.entry()?.place {
            Place::Lost(i) => self.table.lost.get(i as usize),
            _ => None,
        }
    }

    /// The log that the entry comes from.
    pub(crate) fn log_name(&self) -> &str {
        self.entry()
            .and_then(|entry| self.table.logs.get(entry.log as usize))
            .map_or("", |log| &log.name)
    }
}

/// The newest entry of a user key that a snapshot may see: cursor on it.
pub(crate) fn find(cursor: &mut MemCursor, target: &[u8]) -> bool {
    cursor.seek(target);
    let order = cursor.order.user();
    cursor.valid()
        && order.compare(
            internal_key::user_key(cursor.key()),
            internal_key::user_key(target),
        ) == Ordering::Equal
}
