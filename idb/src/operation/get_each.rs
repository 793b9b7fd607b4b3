//! Gets of one key each that follow one another: what they wait for in memory is loaded at once, and of records that are found so
//! the values come to lie in one piece of memory.
//!
//! Whatever is not simply there in what was committed, each get reads for itself, as if it were alone.

use std::ops::Range;
use std::sync::Arc;

use larder_backing_store::{Ahead, Reads, RecordsAhead};
use larder_codec::IdbKey;

use super::unwrap::Shape;
use super::{Source, get};
use crate::error::{Result, attempt};
use crate::key_range::KeyRange;
use crate::transaction::execution::Execution;
use crate::value::StoredValue;

/// Who keeps one of the values keeps all of them in memory: so longer ones are read for themselves, in bytes,
const LEN_MAX: usize = 2 << 10;
/// and those from where so many bytes lie there.
const SHARED_LEN_MAX: usize = 16 << 10;

/// Memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct GetsMemory {
    ahead: RecordsAhead,
    found: Vec<Found>,
    /// How many bytes the last values had.
    len_bytes: usize,
}

/// What a get has found.
#[derive(Debug, Clone)]
enum Found {
    /// This part of what was read at once, which has a primary key of so many bytes.
    Part(Range<usize>, usize),
    Nothing,
    /// It reads for itself.
    Unknown,
}

/// What [`get`] tells of each of the keys, in their order, each told to `tell`, which says whether to go on.
pub(crate) fn get_each(
    execution: &mut Execution,
    source: &Source,
    keys: Vec<IdbKey>,
    tell: &mut impl FnMut(Result<Option<StoredValue>>) -> bool,
) {
    let mut keys = keys.into_iter();
    let mut memory = std::mem::take(&mut execution.reading().gets);
    let mut goes_on = true;
    while goes_on && !keys.as_slice().is_empty() {
        let bytes = look_ahead(execution, source, keys.as_slice(), &mut memory);
        let bytes = Arc::new(bytes);
        goes_on = memory
            .found
            .drain(..)
            .zip(keys.by_ref())
            .all(|(found, key)| {
                tell(match found {
                    Found::Part(place, key_len) => {
                        execution.statistics.records_read += 1;
                        execution.statistics.key_bytes_read += key_len as u64;
                        execution.statistics.value_bytes_read += place.len() as u64;
                        Ok(Some(StoredValue::part_of(Arc::clone(&bytes), place)))
                    }
                    Found::Nothing => Ok(None),
                    Found::Unknown => attempt(|| get(execution, source, &KeyRange::only(key))),
                })
            });
    }
    execution.reading().gets = memory;
}

/// Looks ahead for the first of the keys, as many as are of use at once, and reads what is known of them then.
fn look_ahead(
    execution: &mut Execution,
    source: &Source,
    keys: &[IdbKey],
    memory: &mut GetsMemory,
) -> Vec<u8> {
    let GetsMemory {
        ahead,
        found,
        len_bytes,
    } = memory;
    found.clear();
    let mut bytes = Vec::new();
    let database_id = execution.database_id;
    let Ok((store_id, index_id)) = source.ids() else {
        // The gets' own to tell.
        found.resize(keys.len(), Found::Unknown);
        return bytes;
    };
    let count_max = match index_id {
        None => Reads::AHEAD_MAX,
        Some(_) => Reads::AHEAD_IN_INDEX_MAX,
    };
    let keys = &keys[..keys.len().min(count_max)];
    let reads = execution.backing.reads();
    match index_id {
        None => reads.look_ahead(ahead, database_id, store_id, keys),
        Some(index_id) => reads.look_ahead_in_index(ahead, (database_id, store_id, index_id), keys),
    };
    let Ok(has_objects) = execution.known(store_id).map(|known| known.has_objects) else {
        found.resize(keys.len(), Found::Unknown);
        return bytes;
    };
    let shape = Shape {
        database_id,
        store_id,
        store: &source.store,
        has_objects,
    };
    let reads = execution.backing.reads();
    bytes.reserve(*len_bytes);
    for n in 0..keys.len() {
        let start = bytes.len();
        let known = match start < SHARED_LEN_MAX {
            true => reads.append_ahead(ahead, n, LEN_MAX, &mut bytes),
            false => None,
        };
        found.push(match known {
            Some(Ahead::Value(at)) if shape.is_plain(&bytes[at..]) => {
                Found::Part(at..bytes.len(), ahead.primary_key_len(n))
            }
            Some(Ahead::Value(_)) => {
                bytes.truncate(start);
                Found::Unknown
            }
            Some(Ahead::Absent) => Found::Nothing,
            None => Found::Unknown,
        });
    }
    *len_bytes = bytes.len();
    bytes
}
