//! Single records: by key or range, through an index, for many ranges one after the other (7.4, 7.5).

use super::Source;
use super::execution::{Backing, Execution, Reading};
use super::scan::{Fill, Scan, Wanted, of_key};
use super::unwrap::Shape;
use crate::error::Result;
use crate::key_range::KeyRange;
use crate::value::StoredValue;
use crate::value::records::{Buffer, Records};
use larder_codec::{Key, RawKey};

/// The value of the first record in the range.
pub(crate) fn get(
    execution: &mut Execution,
    source: &Source,
    range: &KeyRange,
) -> Result<Option<StoredValue>> {
    let Some(shape) = find(execution, source, range)? else {
        return Ok(None);
    };
    let Execution {
        backing, reading, ..
    } = execution;
    let Reading {
        record, unwrapping, ..
    } = &mut **reading.get_or_insert_default();
    if shape.is_plain(record.value()) {
        let (bytes, start) = record.take_value();
        return Ok(Some(StoredValue::new(bytes, start, Vec::new())));
    }
    let mut bytes = Vec::new();
    let primary_key = record.primary_key()?;
    let objects = unwrapping.unwrap(backing, &shape, primary_key, record.value(), &mut bytes)?;
    Ok(Some(StoredValue::new(bytes, 0, objects)))
}

/// The primary key of the first record in the range.
pub(crate) fn get_key(
    execution: &mut Execution,
    source: &Source,
    range: &KeyRange,
) -> Result<Option<Key>> {
    let mut scan = Scan::forward(execution, source, range, Wanted::Keys)?;
    if !scan.next(&mut execution.backing)? {
        return Ok(None);
    }
    let (_, primary_key) = scan.key_bytes()?;
    execution.statistics.count_read(primary_key.len(), 0);
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
        // The index key is part of the result, too.
        let mut scan = Scan::forward(execution, source, range, Wanted::Values)?;
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
        unwrapping
            .unwrap(backing, shape, primary_key, record.value(), out)
            .map_err(|error| of_key(&error, primary_key))
    })
}

/// Reads the first record in the range into the memory that is used again, and returns what its value may need done, if there is one.
fn find<'a>(
    execution: &mut Execution,
    source: &'a Source,
    range: &KeyRange,
) -> Result<Option<Shape<'a>>> {
    let (store_id, index_id) = source.ids()?;
    let shape = Shape::of_source(execution, source)?;
    let Execution {
        backing,
        reading,
        database_id,
        statistics,
        ..
    } = execution;
    let Reading {
        range: buffer,
        record,
        lookups,
        ..
    } = &mut **reading.get_or_insert_default();
    let found = range.with_bytes(buffer, |range| {
        let Some(index_id) = index_id else {
            let reads = backing.reads();
            return Ok(reads.get_in(*database_id, store_id, range, record)?);
        };
        let lookup = lookups.of(backing.reads(), *database_id, (store_id, index_id));
        Ok(match backing {
            Backing::Read(_) => lookup.get(range, record)?,
            Backing::Write(transaction) => transaction.get_with(lookup, range, record)?,
        })
    })?;
    if !found {
        return Ok(None);
    }
    let primary_key = record.primary_key()?.as_bytes();
    statistics.count_read(primary_key.len(), record.value().len());
    Ok(Some(shape))
}
