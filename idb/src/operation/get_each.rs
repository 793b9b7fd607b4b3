//! Gets of one key each that follow one another: one look at the backing store for all of them, and short values come to lie in one
//! piece of memory.
//!
//! In a large store a record that lies anywhere is a block to be read and unpacked. Of very many gets several lead into each block, so those
//! of many runs are read together, before the first of these runs is executed (decision 56).

use std::borrow::Borrow;
use std::ops::Range;
use std::sync::Arc;

use larder_backing_store::FoundRecord;
use larder_codec::Key;

use super::unwrap::Shape;
use super::{Source, get};
use crate::error::{Result, attempt};
use crate::key_range::KeyRange;
use crate::operation::{Backing, Execution};
use crate::value::StoredValue;

/// One value that is kept keeps all values that share its piece of memory: longer ones have memory of their own,
const LEN_MAX: usize = 2 << 10;
/// and so have those that come when so many bytes lie there.
const SHARED_LEN_MAX: usize = 16 << 10;
/// Values that are read ahead have together so many bytes at most, short ones and long ones each.
const AHEAD_LEN_MAX: usize = 16 << 20;
/// So many gets are read together at first.
const AHEAD_FIRST: usize = 64;
/// And then so many times as many as the last time: a result never waits for much more than has been executed before it.
const AHEAD_GROWTH: usize = 4;

/// What a get has found.
#[derive(Debug, Clone)]
enum Found {
    /// This part of the memory that values share.
    Part(Range<usize>),
    Alone(Vec<u8>),
    Nothing,
    /// It was not looked for.
    Unread,
    /// Its value is not what the row has, or it fails: it reads for itself.
    Special,
}

/// What is kept from one run to the next.
#[derive(Debug, Default)]
pub(crate) struct GetsMemory {
    found: Vec<Found>,
    /// How many bytes the last values had.
    len_bytes: usize,
    ahead: Ahead,
}

/// What was read for gets that are still in the queue.
#[derive(Debug, Default)]
struct Ahead {
    /// In their order.
    found: std::vec::IntoIter<Found>,
    /// Behind how many operations of the transaction the last of them will have been executed.
    end: u64,
    values: Vec<u8>,
    /// How many are read the next time.
    next_count: usize,
}

/// Comes before a run of so many gets, behind so many operations, is executed: reads for this run and those behind it, if there are some
/// and it takes less time than run by run. `runs` has the keys of each.
pub(crate) fn read_ahead<'k>(
    execution: &mut Execution,
    source: &Source,
    (count, executed): (usize, u64),
    runs: impl Iterator<Item = &'k [Key]>,
) {
    let ahead = &mut execution.reading().gets.ahead;
    if ahead.is_of_operations_behind(executed) {
        return;
    }
    ahead.found = Vec::new().into_iter();
    let together = execution.backing.reads().lookups_together();
    if together <= count {
        return;
    }
    let ahead = &mut execution.reading().gets.ahead;
    let next_count = match ahead.next_count {
        0 => AHEAD_FIRST,
        next_count => next_count.min(together),
    };
    let mut keys: Vec<&Key> = Vec::new();
    for run in runs {
        keys.extend(run);
        if keys.len() >= next_count {
            break;
        }
    }
    if keys.len() <= count {
        if next_count > count {
            ahead.next_count = 0;
        }
        return;
    }
    let mut found = Vec::new();
    let limits = Limits {
        len_bytes: 0,
        shared_len_max: AHEAD_LEN_MAX,
        alone_len_max: AHEAD_LEN_MAX,
    };
    let read = attempt(|| read(execution, source, &keys, limits, &mut found));
    let ahead = &mut execution.reading().gets.ahead;
    // An error comes again where runs are read one by one.
    if let Ok(values) = read {
        let lens = found.iter().map(|found| match found {
            Found::Alone(bytes) => bytes.len(),
            _ => 0,
        });
        let len_each = (values.len() + lens.sum::<usize>()) / keys.len();
        let fit = AHEAD_LEN_MAX.checked_div(len_each).unwrap_or(usize::MAX);
        ahead.next_count = (keys.len() * AHEAD_GROWTH).min(fit).max(1);
        ahead.values = values;
        ahead.end = executed + keys.len() as u64;
        ahead.found = found.into_iter();
    }
}

/// Whether something was read ahead.
pub(crate) fn has_read_ahead(execution: &Execution) -> bool {
    let reading = execution.reading.as_ref();
    reading.is_some_and(|reading| reading.gets.ahead.found.len() > 0)
}

impl Ahead {
    fn is_of_operations_behind(&self, executed: u64) -> bool {
        let left = self.found.len();
        left > 0 && self.end == executed + left as u64
    }
}

/// How many bytes values may have.
struct Limits {
    /// Those that share memory, about.
    len_bytes: usize,
    shared_len_max: usize,
    /// The others. When there are more, each is read again when it is its turn.
    alone_len_max: usize,
}

impl GetsMemory {
    /// What was read ahead for the next gets, so many, if something was: the memory that short values share.
    fn take_ahead(&mut self, count: usize) -> Option<Vec<u8>> {
        self.found.clear();
        self.found.extend(self.ahead.found.by_ref().take(count));
        if self.found.len() < count {
            return None;
        }
        let mut bytes = Vec::with_capacity(self.len_bytes);
        for found in &mut self.found {
            let Found::Part(place) = found else { continue };
            let value = self.ahead.values.get(place.clone()).unwrap_or_default();
            *found = Found::of(value, &mut bytes, SHARED_LEN_MAX);
        }
        if self.ahead.found.len() == 0 {
            self.ahead.values = Vec::new();
        }
        self.len_bytes = bytes.len();
        Some(bytes)
    }
}

impl Found {
    /// A value, which comes to lie behind others if there is room for short ones.
    fn of(value: &[u8], others: &mut Vec<u8>, shared_len_max: usize) -> Self {
        let start = others.len();
        match value.len() <= LEN_MAX && start < shared_len_max {
            true => {
                others.extend_from_slice(value);
                Self::Part(start..others.len())
            }
            false => Self::Alone(value.to_vec()),
        }
    }
}

/// What [`get`] gives of each of the keys, in their order, each passed to `give`, which returns whether to go on.
pub(crate) fn get_each(
    execution: &mut Execution,
    source: &Source,
    keys: Vec<Key>,
    give: &mut impl FnMut(Result<Option<StoredValue>>) -> bool,
) {
    let mut memory = std::mem::take(&mut execution.reading().gets);
    let bytes = memory.take_ahead(keys.len()).unwrap_or_else(|| {
        let (len_bytes, found) = (memory.len_bytes, &mut memory.found);
        let limits = Limits {
            len_bytes,
            shared_len_max: SHARED_LEN_MAX,
            alone_len_max: usize::MAX,
        };
        let bytes = attempt(|| read(execution, source, &keys, limits, found));
        let bytes = bytes.unwrap_or_else(|_| {
            // Each fails by itself, with what it fails with.
            found.clear();
            found.resize(keys.len(), Found::Special);
            Vec::new()
        });
        memory.len_bytes = bytes.len();
        bytes
    });
    let bytes = Arc::new(bytes);
    let _ = memory.found.drain(..).zip(keys).all(|(found, key)| {
        give(match found {
            Found::Part(place) => Ok(Some(StoredValue::part_of(Arc::clone(&bytes), place))),
            Found::Alone(bytes) => Ok(Some(StoredValue::new(bytes, 0, Vec::new()))),
            Found::Nothing => Ok(None),
            Found::Special | Found::Unread => {
                attempt(|| get(execution, source, &KeyRange::only(key)))
            }
        })
    });
    execution.reading().gets = memory;
}

/// Reads the records: the memory that short values share.
fn read<K: Borrow<Key>>(
    execution: &mut Execution,
    source: &Source,
    keys: &[K],
    limits: Limits,
    all: &mut Vec<Found>,
) -> Result<Vec<u8>> {
    let (store_id, index_id) = source.ids()?;
    let shape = Shape::of_source(execution, source)?;
    let Execution {
        backing,
        reading,
        database_id,
        statistics,
        ..
    } = execution;
    let database_id = *database_id;
    let mut bytes = Vec::with_capacity(limits.len_bytes);
    let mut alone_len = 0;
    all.clear();
    all.resize(keys.len(), Found::Special);
    let take = |n: usize, record: larder_backing_store::Result<Option<FoundRecord<'_>>>| {
        let found = match record {
            _ if alone_len >= limits.alone_len_max => Found::Unread,
            Ok(Some(FoundRecord { value, .. })) if !shape.is_plain(value) => Found::Special,
            Ok(Some(FoundRecord { primary_key, value })) => {
                statistics.count_read(primary_key.len(), value.len());
                let found = Found::of(value, &mut bytes, limits.shared_len_max);
                if let Found::Alone(bytes) = &found {
                    alone_len += bytes.len();
                }
                found
            }
            Ok(None) => Found::Nothing,
            Err(_) => Found::Special,
        };
        if let Some(place) = all.get_mut(n) {
            *place = found;
        }
    };
    match index_id {
        None => backing.reads().multi_get(database_id, store_id, keys, take),
        Some(index_id) => {
            let lookups = &mut reading.get_or_insert_default().lookups;
            let lookup = lookups.of(backing.reads(), database_id, (store_id, index_id));
            match backing {
                Backing::Read(_) => lookup.multi_get(keys, take),
                Backing::Write(transaction) => transaction.multi_get_with(lookup, keys, take),
            }
        }
    }
    Ok(bytes)
}
