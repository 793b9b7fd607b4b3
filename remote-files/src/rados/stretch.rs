//! Objects of a blob: one for each stretch of its offsets.
//!
//! The object's bytes are segments, one behind the other in the order in which they were written. Its `omap` says where each lies, and how many bytes
//! the object has. Every write requires that number and replaces it: a late one, or the second of two, is refused.

use crate::blobs::SEGMENT_LEN_MAX;
use crate::error::{Error, Result};
use crate::namespace::Namespace;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Offsets of a stretch. A part of the format.
pub(super) const LEN: u64 = 4 << 20;
/// Bytes that an object may have: less than what a cluster takes (`osd_max_object_size`, 128 MiB).
pub(super) const OBJECT_LEN_MAX: u64 = 64 << 20;
/// How many stretches are remembered.
const SIZES_MAX: usize = 4096;

/// The key of the object's length.
pub(super) const SIZE: &[u8] = b"size";
/// What is there in place of the length when the blob was deleted before it was made.
pub(super) const DELETED: &[u8] = b"deleted";
/// What keys of segments begin with. They are before the length's.
pub(super) const SEGMENTS: &std::ffi::CStr = c"o";

/// A stretch of a blob.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stretch {
    pub(super) namespace: Namespace,
    pub(super) blob: u64,
    pub(super) number: u64,
}

fn name(text: String) -> Result<CString> {
    // No namespace has control characters.
    CString::new(text).map_err(|_| Error::corruption("a name has a zero"))
}

impl Stretch {
    /// The object's name.
    pub(super) fn object(&self) -> Result<CString> {
        name(format!(
            "blob {:016x} {:x} {}",
            self.blob, self.number, self.namespace
        ))
    }

    /// The stretch in the namespace's directory.
    pub(super) fn entry(&self) -> String {
        format!("{:016x} {:x}", self.blob, self.number)
    }
}

/// The name of the object whose `omap` has the stretches of a namespace.
pub(super) fn directory(namespace: &Namespace) -> Result<CString> {
    name(format!("blobs {namespace}"))
}

/// What entries of a blob begin with.
pub(super) fn entries_of(blob: u64) -> Result<CString> {
    name(format!("{blob:016x} "))
}

/// What is behind all entries of a blob, and before those of the next one.
pub(super) fn behind_entries_of(blob: u64) -> Result<CString> {
    name(format!("{blob:016x}~"))
}

/// Blob and stretch of an entry.
pub(super) fn numbers_of(entry: &[u8]) -> Result<(u64, u64)> {
    let text = std::str::from_utf8(entry).ok();
    let parts = text.and_then(|text| text.split_once(' '));
    let numbers = parts.and_then(|(blob, number)| {
        let blob = u64::from_str_radix(blob, 16).ok()?;
        Some((blob, u64::from_str_radix(number, 16).ok()?))
    });
    numbers.ok_or_else(|| Error::corruption(format!("{entry:02x?} is no entry of a blob")))
}

/// The key of a segment.
pub(super) fn segment(offset: u64) -> String {
    format!("o{offset:016x}")
}

/// What the keys of an offset and of all behind it are greater than.
pub(super) fn before_segment(offset: u64) -> Result<CString> {
    match offset.checked_sub(1) {
        Some(before) => name(segment(before)),
        None => Ok(SEGMENTS.to_owned()),
    }
}

/// The offset of a segment's key.
pub(super) fn offset_of(key: &[u8]) -> Result<u64> {
    let digits = key
        .strip_prefix(SEGMENTS.to_bytes())
        .and_then(|digits| std::str::from_utf8(digits).ok());
    let offset = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    offset.ok_or_else(|| Error::corruption(format!("{key:02x?} is no key of a segment")))
}

/// Where a segment lies in its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) position: u64,
    pub(super) len: u32,
}

impl Extent {
    pub(super) fn encode(self) -> [u8; 12] {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&self.position.to_be_bytes());
        bytes[8..].copy_from_slice(&self.len.to_be_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Extent> {
        let wrong = || Error::corruption(format!("{bytes:02x?} is no place of a segment"));
        let (position, len) = bytes.split_first_chunk().ok_or_else(wrong)?;
        let extent = Extent {
            position: u64::from_be_bytes(*position),
            len: u32::from_be_bytes(len.try_into().map_err(|_| wrong())?),
        };
        match extent.end() <= OBJECT_LEN_MAX && extent.len as usize <= SEGMENT_LEN_MAX {
            true => Ok(extent),
            false => Err(wrong()),
        }
    }

    pub(super) fn end(self) -> u64 {
        self.position.saturating_add(self.len.into())
    }
}

/// How many bytes the objects have that this client has written last. What is not here is asked for.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    known: Mutex<HashMap<Stretch, u64>>,
}

impl Sizes {
    fn known(&self) -> MutexGuard<'_, HashMap<Stretch, u64>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes it out: whatever becomes of the write, it is not so afterwards.
    pub(super) fn take(&self, stretch: &Stretch) -> Option<u64> {
        self.known().remove(stretch)
    }

    pub(super) fn note(&self, stretch: Stretch, size: u64) {
        let mut known = self.known();
        if known.len() >= SIZES_MAX {
            known.clear();
        }
        known.insert(stretch, size);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buffers are as long as an extent says, and there are a thousand of them in a reply.
    #[test]
    fn an_extent_is_not_longer_than_a_segment_and_lies_in_its_object() {
        let decoded = |position, len| Extent::decode(&Extent { position, len }.encode());
        let longest = SEGMENT_LEN_MAX as u32;
        let last = OBJECT_LEN_MAX - u64::from(longest);
        assert_eq!(decoded(last, longest).unwrap().end(), OBJECT_LEN_MAX);
        for (position, len) in [(0, longest + 1), (last + 1, longest), (u64::MAX, 1)] {
            assert!(decoded(position, len).is_err(), "{position} {len}");
        }
        assert!(Extent::decode(&[0; 11]).is_err() && Extent::decode(&[0; 13]).is_err());
    }
}
