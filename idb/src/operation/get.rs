//! Single records: by key or range, through an index, for many ranges one after the other (7.4, 7.5).

use larder_backing_store::{Direction, Reads, Record, RecordsAhead};

use super::Source;
use super::scan::{Fill, Scan, Wanted};
use super::unwrap::Shape;
use crate::error::Result;
use crate::key_range::KeyRange;
use crate::records::{Buffer, Records};
use crate::statistics::Statistics;
use crate::transaction::execution::{Backing, Execution, Reading};
use crate::value::StoredValue;
use larder_codec::{IdbKey, RawKey};

/// The value of the first record in the range.
pub(crate) fn get(
    execution: &mut Execution,
    source: &Source,
    range: &KeyRange,
) -> Result<Option<StoredValue>> {
    match find(execution, source, range)? {
        Some(shape) => take(execution, &shape).map(Some),
        None => Ok(None),
    }
}

/// The value of the record with a key, by the transaction's `number`th operation, for which it may have been
/// [looked ahead](look_ahead).
pub(crate) fn get_one(
    execution: &mut Execution,
    source: &Source,
    key: IdbKey,
    number: u64,
) -> Result<Option<StoredValue>> {
    match find_ahead(execution, source, number)? {
        Some(Some(shape)) => take(execution, &shape).map(Some),
        Some(None) => Ok(None),
        None => get(execution, source, &KeyRange::only(key)),
    }
}

/// The value of the record that was found.
fn take(execution: &mut Execution, shape: &Shape<'_>) -> Result<StoredValue> {
    let Execution {
        backing, reading, ..
    } = execution;
    let Reading {
        record, unwrapping, ..
    } = &mut **reading.get_or_insert_default();
    if shape.is_plain(record.value()) {
        let (bytes, start) = record.take_value();
        return Ok(StoredValue::new(bytes, start, Vec::new()));
    }
    let mut bytes = Vec::new();
    let primary_key = record.primary_key()?;
    let objects = unwrapping.unwrap(backing, shape, primary_key, record.value(), &mut bytes)?;
    Ok(StoredValue::new(bytes, 0, objects))
}

/// Gets of one key each that follow one another, and the records that were looked ahead for.
#[derive(Debug, Default)]
pub(crate) struct GetsAhead {
    records: RecordsAhead,
    /// The number of the first of the operations.
    first: u64,
    /// So many know where their records lie, perhaps.
    count: u64,
}

/// So many gets from a source are looked at at once.
pub(crate) const fn ahead_max(source: &Source) -> usize {
    match source.index {
        Some(_) => Reads::AHEAD_IN_INDEX_MAX,
        None => Reads::AHEAD_MAX,
    }
}

/// Gets of these keys come next, the first as the transaction's `number`th operation: brings their records nearer, as far as that is
/// known to be of use.
pub(crate) fn look_ahead<'a>(
    execution: &mut Execution,
    source: &Source,
    number: u64,
    keys: impl Iterator<Item = &'a IdbKey>,
) {
    let Execution {
        backing,
        reading,
        database_id,
        ..
    } = execution;
    let (reads, database_id) = (backing.reads(), *database_id);
    let ahead = &mut reading.get_or_insert_default().ahead;
    (ahead.first, ahead.count) = (number, 0);
    match source.ids() {
        Ok((store_id, None)) => {
            ahead.count = Reads::AHEAD_MAX as u64;
            reads.look_ahead(&mut ahead.records, database_id, store_id, keys)
        }
        Ok((store_id, Some(index_id))) => {
            reads.look_ahead_in_index((database_id, store_id, index_id), keys)
        }
        // The gets' own to tell.
        Err(_) => 0,
    };
}

/// The primary key of the first record in the range.
pub(crate) fn get_key(
    execution: &mut Execution,
    source: &Source,
    range: &KeyRange,
) -> Result<Option<IdbKey>> {
    let mut scan = Scan::open(execution, source, range, Direction::Next, Wanted::Keys)?;
    if !scan.next(&mut execution.backing)? {
        return Ok(None);
    }
    let (_, primary_key) = scan.key_bytes()?;
    execution.statistics.records_read += 1;
    execution.statistics.key_bytes_read += primary_key.len() as u64;
    Ok(Some(RawKey::decode_exact(primary_key)?.to_key()))
}

/// The first record in each of the ranges; none for a range without any.
pub(crate) fn get_many(
    execution: &mut Execution,
    source: &Source,
    ranges: &[KeyRange],
) -> Result<Records> {
    let mut buffer = Buffer::default();
    for (request, range) in ranges.iter().enumerate() {
        execution.check_cancelled()?;
        if source.index.is_none() {
            if let Some(shape) = find(execution, source, range)? {
                push(execution, &shape, request, &mut buffer)?;
            }
            continue;
        }
        // The index key is told, too.
        let mut scan = Scan::open(execution, source, range, Direction::Next, Wanted::Values)?;
        let fill = Fill {
            request,
            wanted: Wanted::Values,
            may_pin: false,
            entries_max: buffer.len() + 1,
            bytes_max: usize::MAX,
        };
        scan.fill(execution, source, fill, false, &mut buffer)?;
    }
    Ok(Records::new(buffer))
}

/// Adds the record that was found.
fn push(
    execution: &mut Execution,
    shape: &Shape<'_>,
    request: usize,
    buffer: &mut Buffer,
) -> Result<()> {
    let Execution {
        backing, reading, ..
    } = execution;
    let Reading {
        record, unwrapping, ..
    } = &mut **reading.get_or_insert_default();
    let primary_key = record.primary_key()?;
    let keys = (&[][..], primary_key.as_bytes());
    buffer.push(request, keys, record.value().len(), |out| {
        unwrapping.unwrap(backing, shape, primary_key, record.value(), out)
    })
}

/// Reads the first record in the range into the memory that is used again; tells what its value may need done, if there is one.
fn find<'a>(
    execution: &mut Execution,
    source: &'a Source,
    range: &KeyRange,
) -> Result<Option<Shape<'a>>> {
    let (store_id, index_id) = source.ids()?;
    let has_objects = execution.known(store_id)?.has_objects;
    let Execution {
        backing,
        reading,
        database_id,
        statistics,
        ..
    } = execution;
    let database_id = *database_id;
    let Reading {
        range: buffer,
        record,
        lookups,
        ..
    } = &mut **reading.get_or_insert_default();
    let found = range.with_bytes(buffer, |range| {
        let Some(index_id) = index_id else {
            let reads = backing.reads();
            return Ok(reads.get_in(database_id, store_id, range, record)?);
        };
        let lookup = lookups.of((store_id, index_id), || {
            let reads = backing.reads();
            reads.index_lookup(database_id, store_id, index_id)
        });
        Ok(match backing {
            Backing::Read(_) => lookup.get(range, record)?,
            Backing::Write(transaction) => transaction.get_with(lookup, range, record)?,
        })
    })?;
    if !found {
        return Ok(None);
    }
    note_found(statistics, record);
    Ok(Some(Shape {
        database_id,
        store_id,
        store: &source.store,
        has_objects,
    }))
}

/// As [`find`], of a record that was looked ahead for; `None` if it is to be found like any other.
fn find_ahead<'a>(
    execution: &mut Execution,
    source: &'a Source,
    number: u64,
) -> Result<Option<Option<Shape<'a>>>> {
    let Execution {
        backing,
        reading: Some(reading),
        database_id,
        statistics,
        known,
        ..
    } = execution
    else {
        return Ok(None);
    };
    let Reading { record, ahead, .. } = &mut **reading;
    let n = match number.checked_sub(ahead.first) {
        Some(n) if n < ahead.count => n as usize,
        _ => return Ok(None),
    };
    let Some(found) = backing.reads().get_ahead(&ahead.records, n, record)? else {
        return Ok(None);
    };
    if !found {
        return Ok(Some(None));
    }
    note_found(statistics, record);
    let (store_id, _) = source.ids()?;
    Ok(Some(Some(Shape {
        database_id: *database_id,
        store_id,
        store: &source.store,
        has_objects: known.of(backing, *database_id, store_id)?.has_objects,
    })))
}

fn note_found(statistics: &mut Statistics, record: &Record) {
    statistics.records_read += 1;
    statistics.key_bytes_read += record.primary_key_bytes().len() as u64;
    statistics.value_bytes_read += record.value().len() as u64;
}
