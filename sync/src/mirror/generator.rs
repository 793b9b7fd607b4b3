//! Key generators of several devices: each has a range of numbers.

use larder_idb::{CursorDirection, GetAllOptions, Key, KeyRange, ObjectStore};

use super::error::Result;

/// So many numbers are in a range.
const RANGE_LEN: u64 = 1 << 32;

/// The numbers of a device's range: the first, and the one behind the last.
const fn range_of(range: u32) -> (u64, u64) {
    let first = range as u64 * RANGE_LEN + 1;
    (first, first + RANGE_LEN)
}

/// The number behind a key of another device's, if that lies in this device's range: there the generator must not give it again.
pub(super) fn behind(key: &Key, range: u32) -> Option<u64> {
    let (first, end) = range_of(range);
    match key {
        Key::Number(number) if (first as f64..end as f64).contains(number) => {
            Some(*number as u64 + 1)
        }
        _ => None,
    }
}

/// The number that the generator of an object store is to give next on this device, if that is another than it is.
///
/// The generator leaves the range when a record of another device is put again here, whose key is greater: IndexedDB has it go on from
/// there. Then it goes back, behind the last key of the range that is there.
pub(super) async fn next_in_range(object_store: &ObjectStore, range: u32) -> Result<Option<u64>> {
    let next = object_store.key_generator()?.await?;
    let (first, end) = range_of(range);
    if (first..=end).contains(&next) {
        return Ok(None);
    }
    let keys = KeyRange::bound(first as f64, end as f64, false, true)?;
    let options = GetAllOptions::new()
        .count(1)
        .direction(CursorDirection::Prev);
    let found = object_store.get_all_keys(keys, options)?.await?;
    let last = found.get(0).map(|entry| entry.primary_key());
    let wanted = match last {
        Some(Key::Number(last)) => last as u64 + 1,
        _ => first,
    };
    Ok((wanted != next).then_some(wanted))
}
