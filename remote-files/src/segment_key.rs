//! Keys of segments, for engines that keep them as rows: namespace, zero, blob, offset. Their order is that of blobs and offsets.

use crate::error::{Error, Result};
use crate::namespace::Namespace;

pub(crate) fn segment_key(namespace: &Namespace, blob: u64, offset: u64) -> Vec<u8> {
    let name = namespace.as_str().as_bytes();
    [name, &[0], &blob.to_be_bytes(), &offset.to_be_bytes()].concat()
}

/// Blob and offset of a key, whatever is before them.
pub(crate) fn numbers_of(key: &[u8]) -> Result<(u64, u64)> {
    let wrong = || Error::corruption(format!("{key:02x?} is no key of a segment"));
    let (rest, offset) = key.split_last_chunk().ok_or_else(wrong)?;
    let (_, blob) = rest.split_last_chunk().ok_or_else(wrong)?;
    Ok((u64::from_be_bytes(*blob), u64::from_be_bytes(*offset)))
}
