//! Variable-length and fixed-width integers as LevelDB writes them.
//!
//! A varint is unsigned LEB128: seven bits a byte, lowest first, the top bit set on all bytes but the last. Documented in
//! LevelDB's `doc/table_format.md` and `util/coding.h`. Decoding refuses padded forms (a last byte of zero after the first)
//! and values that do not fit, so that one value has one encoding.

/// The longest varint of a `u64`, in bytes.
pub const VARINT64_LEN_MAX: usize = 10;

/// Appends `value` as a varint (1 to 10 bytes).
pub fn encode_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8 & 0x7f) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads a varint of at most 64 bits: the value and how many bytes it took. `None` when the input ends first, the value
/// does not fit, or the form is padded.
///
/// ```
/// use larder_leveldb::varint::{decode_varint, encode_varint};
/// let mut bytes = Vec::new();
/// encode_varint(&mut bytes, 300);
/// assert_eq!(bytes, [0xac, 0x02]);
/// assert_eq!(decode_varint(&bytes), Some((300, 2)));
/// assert_eq!(decode_varint(&[0x80, 0x00]), None);
/// ```
#[inline]
pub fn decode_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    match bytes.first() {
        Some(&first) if first < 0x80 => Some((u64::from(first), 1)),
        _ => decode_long(bytes),
    }
}

fn decode_long(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().take(VARINT64_LEN_MAX).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if i == 9 && byte > 1 {
            return None;
        }
        value |= bits << (7 * i);
        if byte < 0x80 {
            return if byte == 0 && i > 0 {
                None
            } else {
                Some((value, i + 1))
            };
        }
    }
    None
}

/// Reads a varint that must fit 32 bits (block entry lengths, counts, tags).
#[inline]
pub fn decode_varint32(bytes: &[u8]) -> Option<(u32, usize)> {
    let (value, len) = decode_varint(bytes)?;
    Some((u32::try_from(value).ok()?, len))
}

/// Appends a varint byte count and the bytes.
pub fn encode_slice(out: &mut Vec<u8>, bytes: &[u8]) {
    encode_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads a varint byte count and that many bytes: the bytes and the rest.
pub fn decode_slice(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, used) = decode_varint32(bytes)?;
    let rest = bytes.get(used..)?;
    rest.split_at_checked(len as usize)
}

/// The little-endian `u32` at `at`, if there are four bytes.
#[inline]
pub fn fixed32(bytes: &[u8], at: usize) -> Option<u32> {
    let end = at.checked_add(4)?;
    bytes.get(at..end)?.try_into().ok().map(u32::from_le_bytes)
}

/// The little-endian `u64` at `at`, if there are eight bytes.
#[inline]
pub fn fixed64(bytes: &[u8], at: usize) -> Option<u64> {
    let end = at.checked_add(8)?;
    bytes.get(at..end)?.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    quickcheck! {
        fn a_varint_reads_back_with_its_length(value: u64, tail: Vec<u8>) -> bool {
            let value = value >> (tail.len() % 64);
            let mut bytes = Vec::new();
            encode_varint(&mut bytes, value);
            let len = bytes.len();
            bytes.extend_from_slice(&tail);
            decode_varint(&bytes) == Some((value, len))
        }

        fn any_bytes_decode_to_what_encodes_the_same_or_are_refused(bytes: Vec<u8>) -> bool {
            match decode_varint(&bytes) {
                None => true,
                Some((value, len)) => {
                    let mut again = Vec::new();
                    encode_varint(&mut again, value);
                    again == bytes[..len]
                }
            }
        }
    }

    #[test]
    fn the_greatest_value_takes_ten_bytes_and_one_more_bit_is_refused() {
        let mut bytes = Vec::new();
        encode_varint(&mut bytes, u64::MAX);
        assert_eq!(bytes.len(), VARINT64_LEN_MAX);
        assert_eq!(decode_varint(&bytes), Some((u64::MAX, 10)));
        bytes[9] = 2;
        assert_eq!(decode_varint(&bytes), None);
        assert_eq!(decode_varint(&[0xff; 11]), None);
        assert_eq!(decode_varint(&[]), None);
        assert_eq!(decode_varint(&[0x80]), None);
    }

    #[test]
    fn a_slice_longer_than_the_input_is_refused() {
        assert_eq!(decode_slice(&[3, 1, 2]), None);
        assert_eq!(decode_slice(&[2, 1, 2, 9]), Some((&[1, 2][..], &[9][..])));
        assert_eq!(decode_slice(&[0xff, 0xff, 0xff, 0xff, 0x0f]), None);
    }
}
