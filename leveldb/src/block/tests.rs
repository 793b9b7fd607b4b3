//! Blocks against sorted lists.

use super::*;
use crate::pinned::PinnedBytes;
use quickcheck::quickcheck;
use std::collections::BTreeMap;
use std::sync::Arc;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

fn block(rows: &Rows, restart_interval: usize) -> Vec<u8> {
    let mut builder = BlockBuilder::new(restart_interval);
    for (key, value) in rows {
        builder.add(key, value);
    }
    assert_eq!(builder.is_empty(), rows.is_empty());
    let len = builder.len_bytes();
    let bytes = builder.finish().to_vec();
    assert_eq!(bytes.len(), len);
    bytes
}

fn cursor(bytes: Vec<u8>) -> Result<BlockCursor, BlockFault> {
    let mut cursor = BlockCursor::default();
    cursor.set_block(PinnedBytes::whole(Arc::new(bytes)))?;
    Ok(cursor)
}

fn current(cursor: &BlockCursor) -> Option<(&[u8], &[u8])> {
    cursor.valid().then(|| (cursor.key(), cursor.value()))
}

quickcheck! {
    fn a_random_walk_agrees_with_a_sorted_list(rows: Rows, interval: u8, walk: Vec<(u8, Vec<u8>)>) -> bool {
        let list: Vec<_> = rows.iter().map(|(k, v)| (&k[..], &v[..])).collect();
        let mut cursor = cursor(block(&rows, usize::from(interval % 20))).unwrap();
        let mut at: Option<usize> = None;
        for (step, target) in walk {
            match (step % 6, at) {
                (0, _) => { cursor.seek_to_first().unwrap(); at = Some(0) }
                (1, _) => { cursor.seek_to_last().unwrap(); at = list.len().checked_sub(1) }
                (2, _) => {
                    cursor.seek(|key| key.cmp(&target)).unwrap();
                    at = Some(list.partition_point(|(key, _)| *key < &target[..]));
                }
                (3, _) => {
                    cursor.seek_before(|key| key.cmp(&target)).unwrap();
                    at = list.partition_point(|(key, _)| *key < &target[..]).checked_sub(1);
                }
                (4, Some(i)) => { cursor.next().unwrap(); at = Some(i + 1) }
                (5, Some(i)) => { cursor.prev().unwrap(); at = i.checked_sub(1) }
                _ => continue,
            }
            at = at.filter(|&i| i < list.len());
            if current(&cursor) != at.map(|i| list[i]) {
                return false;
            }
        }
        true
    }

    fn finding_without_a_cursor_finds_what_a_cursor_finds(rows: Rows, flips: Vec<(usize, u8)>, target: Vec<u8>) -> bool {
        let whole = block(&rows, 3);
        let mut damaged = whole.clone();
        for (at, bits) in flips {
            let at = at % damaged.len();
            damaged[at] ^= bits;
        }
        let targets: Vec<&Vec<u8>> = rows.keys().chain([&target]).collect();
        [whole, damaged].into_iter().all(|bytes| targets.iter().all(|target| {
            let mut key = Vec::new();
            let found = find(&bytes, &mut key, |key| key.cmp(target));
            let Ok(mut cursor) = cursor(bytes.clone()) else { return found.is_err() };
            match (cursor.seek(|key| key.cmp(target)), found) {
                (Ok(()), Ok(found)) => current(&cursor) == found.map(|value| (&key[..], value)),
                (sought, found) => sought.is_err() && found.is_err(),
            }
        }))
    }

    fn whole_entries_are_all_entries_or_none(rows: Rows, interval: u8) -> bool {
        let bytes = block(&rows, usize::from(interval % 3));
        let Some(entries) = whole_entries(&bytes).unwrap() else {
            return rows.len() > 1 && interval % 3 > 1;
        };
        let mut cursor = cursor(bytes.clone()).unwrap();
        entries.iter().zip(&rows).enumerate().all(|(i, (entry, (key, value)))| {
            cursor.seek_to_restart(i).unwrap();
            current(&cursor) == Some((key, value))
                && (entry.key, entry.value) == (key, value)
                && whole_key(&bytes, entry.at) == Ok(key)
        }) && entries.len() == rows.len() && {
            cursor.seek_to_restart(entries.len()).unwrap();
            !cursor.valid()
        }
    }

    fn damaged_blocks_never_panic(rows: Rows, flips: Vec<(usize, u8)>, target: Vec<u8>) -> bool {
        let mut bytes = block(&rows, 3);
        for (at, bits) in flips {
            let at = at % bytes.len();
            bytes[at] ^= bits;
        }
        let (len, whole) = (bytes.len(), bytes.clone());
        let Ok(mut cursor) = cursor(bytes) else { return true };
        let mut steps = 0;
        let mut go = cursor.seek_to_first();
        while go.is_ok() && cursor.valid() {
            steps += cursor.key().len().min(1) + cursor.value().len().min(1);
            go = cursor.next();
        }
        let mut go = cursor.seek_to_last();
        while go.is_ok() && cursor.valid() {
            go = cursor.prev();
        }
        let _ = (cursor.seek(|key| key.cmp(&target)), cursor.seek_before(|key| key.cmp(&target)));
        let _ = (whole_entries(&whole), cursor.seek_to_restart(target.len()));
        steps <= 2 * len
    }
}

#[test]
#[cfg_attr(miri, ignore = "much work for an interpreter")]
fn going_back_through_a_block_without_restart_points_keeps_little() {
    let rows: Rows = (0..400u32)
        .map(|i| {
            let mut key = vec![b'k'; 4000];
            key.extend_from_slice(&i.to_be_bytes());
            (key, vec![1])
        })
        .collect();
    let mut cursor = cursor(block(&rows, 1 << 20)).unwrap();
    cursor.seek_to_last().unwrap();
    for (key, value) in rows.iter().rev() {
        assert_eq!(current(&cursor), Some((&key[..], &value[..])));
        cursor.prev().unwrap();
    }
    assert!(!cursor.valid());
}

#[test]
fn blocks_that_do_not_fit_together_are_refused() {
    for bytes in [
        &[][..],
        &[0; 3],
        &[1, 0, 0, 0],
        &[5, 5, 5, 5, 0, 0, 0, 0],
        &[1, 0, 0, 0, 1, 0, 0, 0],
    ] {
        assert!(cursor(bytes.to_vec()).is_err(), "{bytes:?}");
    }
    assert!(cursor(vec![0, 0, 0, 0]).is_ok());
}

#[test]
fn restart_points_of_every_block_are_true_and_any_that_is_moved_is_not() {
    for interval in [1, 3, 16] {
        for count in [0, 1, 2, 50] {
            let rows: Rows = (0..count).map(|i| (vec![b'k', i], vec![i; 40])).collect();
            let bytes = block(&rows, interval);
            assert!(has_true_restarts(&bytes), "{count} rows, {interval}");
            let (restarts_at, restarts) = cursor::layout(&bytes).unwrap();
            for i in 1..restarts {
                for by in [1, 5, 43] {
                    let mut moved = bytes.clone();
                    let place = &mut moved[restarts_at + 4 * i..][..4];
                    let at = u32::from_le_bytes(place.try_into().unwrap()) + by;
                    place.copy_from_slice(&at.to_le_bytes());
                    assert!(!has_true_restarts(&moved), "{i} of {restarts} by {by}");
                }
            }
        }
    }
}
