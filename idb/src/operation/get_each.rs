//! Gets of one key each that follow one another: one look at the backing store for all of them, and short values come to lie in one
//! piece of memory.

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

/// What a get has found.
#[derive(Debug, Clone)]
enum Found {
    /// This part of the memory that values share.
    Part(Range<usize>),
    Alone(Vec<u8>),
    Nothing,
    /// Its value is not what the row has, or it fails: it reads for itself.
    Special,
}

/// Memory that is used again.
#[derive(Debug, Default)]
pub(crate) struct GetsMemory {
    found: Vec<Found>,
    /// How many bytes the last values had.
    len_bytes: usize,
}

/// What [`get`] gives of each of the keys, in their order, each passed to `give`, which returns whether to go on.
pub(crate) fn get_each(
    execution: &mut Execution,
    source: &Source,
    keys: Vec<Key>,
    give: &mut impl FnMut(Result<Option<StoredValue>>) -> bool,
) {
    let mut memory = std::mem::take(&mut execution.reading().gets);
    let bytes = attempt(|| read(execution, source, &keys, &mut memory)).unwrap_or_else(|_| {
        // Each fails by itself, with what it fails with.
        memory.found.clear();
        memory.found.resize(keys.len(), Found::Special);
        Vec::new()
    });
    let bytes = Arc::new(bytes);
    let _ = memory.found.drain(..).zip(keys).all(|(found, key)| {
        give(match found {
            Found::Part(place) => Ok(Some(StoredValue::part_of(Arc::clone(&bytes), place))),
            Found::Alone(bytes) => Ok(Some(StoredValue::new(bytes, 0, Vec::new()))),
            Found::Nothing => Ok(None),
            Found::Special => attempt(|| get(execution, source, &KeyRange::only(key))),
        })
    });
    execution.reading().gets = memory;
}

/// Reads the records: the memory that short values share.
fn read(
    execution: &mut Execution,
    source: &Source,
    keys: &[Key],
    memory: &mut GetsMemory,
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
    let mut bytes = Vec::with_capacity(memory.len_bytes);
    memory.found.clear();
    memory.found.resize(keys.len(), Found::Special);
    let take = |n: usize, record: larder_backing_store::Result<Option<FoundRecord<'_>>>| {
        let found = match record {
            Ok(Some(FoundRecord { value, .. })) if !shape.is_plain(value) => Found::Special,
            Ok(Some(FoundRecord { primary_key, value })) => {
                statistics.count_read(primary_key.len(), value.len());
                let start = bytes.len();
                match value.len() <= LEN_MAX && start < SHARED_LEN_MAX {
                    true => {
                        bytes.extend_from_slice(value);
                        Found::Part(start..bytes.len())
                    }
                    false => Found::Alone(value.to_vec()),
                }
            }
            Ok(None) => Found::Nothing,
            Err(_) => Found::Special,
        };
        if let Some(place) = memory.found.get_mut(n) {
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
    memory.len_bytes = bytes.len();
    Ok(bytes)
}
