//! A piece of content as it is stored: its bytes, then their CRC-32C, big-endian.

use crate::error::{Error, Result};

/// How many bytes a stored piece has beside its own.
pub(crate) const FRAME_LEN: usize = 4;

/// The stored form of a piece.
pub(crate) fn seal(piece: &[u8]) -> Vec<u8> {
    let mut stored = Vec::with_capacity(piece.len() + FRAME_LEN);
    stored.extend_from_slice(piece);
    stored.extend(crc32c::crc32c(piece).to_be_bytes());
    stored
}

/// The piece in its stored form.
pub(crate) fn open(stored: &[u8], blob: u64, offset: u64) -> Result<&[u8]> {
    let wrong = |what: &str| {
        Err(Error::corruption(format!(
            "blob {blob:#x} at offset {offset}: {what}"
        )))
    };
    let Some((piece, sum)) = stored.split_last_chunk() else {
        return wrong("the piece has no room for a checksum");
    };
    match u32::from_be_bytes(*sum) == crc32c::crc32c(piece) {
        true => Ok(piece),
        false => wrong("the piece has a wrong checksum"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3720, B.4.
    #[test]
    fn the_checksum_is_the_castagnoli_one() {
        let stored = seal(&[0; 32]);
        assert_eq!(stored[32..], [0x8a, 0x91, 0x36, 0xaa]);
        assert_eq!(open(&stored, 1, 0).unwrap(), [0; 32]);
    }

    #[test]
    fn a_changed_or_missing_byte_is_damage() {
        let stored = seal(b"piece");
        for at in 0..stored.len() {
            let mut wrong = stored.clone();
            wrong[at] ^= 1;
            assert!(open(&wrong, 1, 0).is_err(), "{at}");
            assert!(open(&stored[..at], 1, 0).is_err(), "{at}");
        }
    }
}
