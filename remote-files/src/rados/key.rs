//! Keys of rows in an `omap`.
//!
//! librados takes where a page begins as text that ends with a zero, and begins it *behind* that text. So no key here has a byte 00, and each
//! ends with a byte that its own beginning is smaller without: `r`, the key with 00 as 01 01 and 01 as 01 02, and 01. Their order is that of the
//! keys they stand for.
//!
//! An `omap` has no versions. The rows are divided among [`BUCKETS`] by the beginning of their keys, and each commit sets a row of the buckets that it
//! changes to a value that is never used twice: what was read of a bucket is still there as long as that row is the same.

use crate::error::{Error, Result};
use std::ffi::CString;
use std::ops::Range;

/// How many buckets there are. A part of the format.
pub(super) const BUCKETS: u8 = 64;
/// What the keys of rows begin with, and those of buckets' versions.
const ROW: u8 = b'r';
const VERSION: u8 = b'v';
/// Where the versions begin, as text and behind which they are.
pub(super) const VERSIONS: &std::ffi::CStr = c"v";

const ESCAPE: u8 = 1;

/// A key, or the beginning of one, without its end.
fn begin(key: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(key.len() + key.len() / 8 + 4);
    bytes.push(ROW);
    for &byte in key {
        match byte {
            0 | ESCAPE => bytes.extend([ESCAPE, byte + 1]),
            _ => bytes.push(byte),
        }
    }
    bytes
}

/// The key of a row.
pub(super) fn row(key: &[u8]) -> Vec<u8> {
    let mut bytes = begin(key);
    bytes.push(ESCAPE);
    bytes
}

/// Keys of the rows of a range, of which the first is greater than what it begins with.
pub(super) fn range(range: &Range<Vec<u8>>) -> Range<Vec<u8>> {
    begin(&range.start)..begin(&range.end)
}

/// For reading a range: what its keys are greater than, and what they all begin with.
pub(super) fn bounds(range: &Range<Vec<u8>>) -> Result<(CString, CString)> {
    let (start, end) = (begin(&range.start), begin(&range.end));
    let common = start
        .iter()
        .zip(&end)
        .take_while(|(one, other)| one == other);
    let prefix = end.get(..common.count()).unwrap_or_default().to_vec();
    Ok((text(start)?, text(prefix)?))
}

fn text(bytes: Vec<u8>) -> Result<CString> {
    CString::new(bytes).map_err(|_| Error::corruption("a key has a zero"))
}

/// The key that a row's key stands for.
pub(super) fn decode(row: &[u8]) -> Result<Vec<u8>> {
    let wrong = || Error::corruption(format!("{row:02x?} is no key of a row"));
    let rest = row.strip_prefix(&[ROW]).ok_or_else(wrong)?;
    let mut rest = rest.strip_suffix(&[ESCAPE]).ok_or_else(wrong)?.iter();
    let mut key = Vec::with_capacity(rest.len());
    while let Some(&byte) = rest.next() {
        match byte {
            ESCAPE => match rest.next() {
                Some(&escaped @ (1 | 2)) => key.push(escaped - 1),
                _ => return Err(wrong()),
            },
            _ => key.push(byte),
        }
    }
    Ok(key)
}

/// The bucket of a key: of what is before its first 00.
pub(super) fn bucket(key: &[u8]) -> u8 {
    let end = key.iter().position(|&byte| byte == 0);
    let beginning = key.get(..end.unwrap_or(key.len())).unwrap_or(key);
    (crc32c::crc32c(beginning) % u32::from(BUCKETS)) as u8
}

/// The buckets that keys of a range can be in: one if all have the same beginning, or else all.
pub(super) fn buckets(range: &Range<Vec<u8>>) -> Range<u8> {
    let end = range.start.iter().position(|&byte| byte == 0);
    let beginning = end.and_then(|end| range.start.get(..end));
    let is_one = beginning.is_some_and(|beginning| {
        // Whatever is before this begins with the beginning and 00, or is before the range.
        let next = [beginning, &[1]].concat();
        range.end <= next
    });
    match is_one {
        true => {
            let bucket = bucket(&range.start);
            bucket..bucket + 1
        }
        false => 0..BUCKETS,
    }
}

/// The key of a bucket's version.
pub(super) fn version(bucket: u8) -> [u8; 2] {
    [VERSION, b'0' + bucket]
}

/// The bucket that a key is the version of.
pub(super) fn bucket_of_version(key: &[u8]) -> Option<u8> {
    match key {
        [VERSION, byte] => byte.checked_sub(b'0').filter(|bucket| *bucket < BUCKETS),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_keys() -> Vec<Vec<u8>> {
        // All of up to four bytes, of those bytes that are treated differently.
        let mut keys: Vec<Vec<u8>> = vec![Vec::new()];
        for len in 0..4 {
            let longest: Vec<Vec<u8>> = keys
                .iter()
                .filter(|key| key.len() == len)
                .cloned()
                .collect();
            for key in longest {
                keys.extend([0, 1, 2, 0xff].map(|byte| [&key[..], &[byte]].concat()));
            }
        }
        keys.sort();
        keys
    }

    #[test]
    fn rows_are_in_the_order_of_keys_and_begin_behind_their_beginnings() {
        let keys = some_keys();
        for (at, key) in keys.iter().enumerate() {
            let row = row(key);
            assert_eq!(&decode(&row).unwrap(), key);
            assert!(!row.contains(&0));
            for (other_at, other) in keys.iter().enumerate() {
                let other_row = super::row(other);
                assert_eq!(at.cmp(&other_at), row.cmp(&other_row), "{key:?} {other:?}");
                assert_eq!(at <= other_at, other_row > begin(key), "{key:?} {other:?}");
            }
        }
    }

    #[test]
    fn a_range_has_the_prefix_and_the_bucket_of_its_keys() {
        let keys = some_keys();
        for (from, start) in keys.iter().enumerate() {
            for end in &keys[from + 1..] {
                let range = start.clone()..end.clone();
                let (_, prefix) = bounds(&range).unwrap();
                let buckets = buckets(&range);
                for key in keys.iter().filter(|key| range.contains(*key)) {
                    assert!(row(key).starts_with(prefix.as_bytes()), "{range:?} {key:?}");
                    assert!(buckets.contains(&bucket(key)), "{range:?} {key:?}");
                }
            }
        }
        // That of a namespace has one.
        let namespace = b"\x02name\0".to_vec()..b"\x02name\x01".to_vec();
        assert_eq!(buckets(&namespace).len(), 1);
    }

    /// Those of `docs/format/remote-files.md`.
    #[test]
    fn a_row_is_under_the_key_that_the_format_says() {
        let lock = b"\x02n\x00\x04";
        assert_eq!(row(lock), b"r\x02n\x01\x01\x04\x01");
        assert_eq!((bucket(lock), version(57)), (57, *b"vi"));
        assert_eq!(bucket_of_version(b"vi"), Some(57));
        assert_eq!((version(0)[1], version(BUCKETS - 1)[1]), (0x30, 0x6f));
    }

    #[test]
    fn what_is_no_key_of_a_row_is_damage() {
        for wrong in [&b""[..], b"r", b"x\x01", b"r\x01\x03\x01", b"ra"] {
            assert!(decode(wrong).is_err(), "{wrong:02x?}");
        }
    }
}
