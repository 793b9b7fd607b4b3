//! VarInt: a 64-bit number in groups of seven bits, lowest first (`docs/FORMAT.md`, 1.4).
//!
//! Unsigned LEB128 of the two's complement: 1 to 9 bytes for numbers from 0 on, ten for negative
//! ones, which no writer means (lengths and ids test for them). Padded forms (a last byte of zero
//! that is not the only byte) are refused, as by Chromium's newest decoder; no Chromium wrote them.

use crate::error::{ErrorKind, Result};
use crate::reader::{Reader, decode_exact_with, decode_with};

/// The longest form in bytes.
pub const LEN_BYTES_MAX: usize = 10;

/// Appends the shortest form.
pub fn encode(value: i64, out: &mut Vec<u8>) {
    let mut left = value.cast_unsigned();
    while left > 0x7f {
        out.push(0x80 | (left & 0x7f) as u8);
        left >>= 7;
    }
    out.push(left as u8);
}

/// Takes one VarInt.
///
/// # Errors
/// At the end of the input, on a padded form, and on more than 64 bits.
pub fn decode(input: &[u8]) -> Result<(i64, &[u8])> {
    decode_with(input, |reader| read(reader, "VarInt"))
}

/// The VarInt that is the whole of `input`.
///
/// # Errors
/// As [`decode`], and on left-over bytes.
pub fn decode_exact(input: &[u8]) -> Result<i64> {
    decode_exact_with(input, "VarInt", |reader| read(reader, "VarInt"))
}

#[inline]
pub(crate) fn read(reader: &mut Reader<'_>, what: &'static str) -> Result<i64> {
    let at_start = *reader;
    let first = reader.byte(what)?;
    if first < 0x80 {
        return Ok(i64::from(first));
    }
    let mut value = u64::from(first & 0x7f);
    for shift in (7..64).step_by(7) {
        let byte = reader.byte(what)?;
        let group = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit only.
        if byte == 0 || (shift == 63 && byte > 1) {
            let found = u64::from(byte);
            return Err(at_start.error(ErrorKind::Invalid { found }, what));
        }
        value |= group << shift;
        if byte < 0x80 {
            return Ok(value.cast_signed());
        }
    }
    let limit = LEN_BYTES_MAX as u64;
    Err(at_start.error(ErrorKind::LimitExceeded { limit }, what))
}

/// A VarInt that counts something still to come: not negative.
pub(crate) fn read_length(reader: &mut Reader<'_>, what: &'static str) -> Result<u64> {
    let at_start = *reader;
    let value = read(reader, what)?;
    u64::try_from(value).map_err(|_| {
        let found = value.cast_unsigned();
        at_start.error(ErrorKind::Invalid { found }, what)
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::properties;

    use super::*;

    fn encoded(value: i64) -> Vec<u8> {
        let mut out = Vec::new();
        encode(value, &mut out);
        out
    }

    #[test]
    fn sizes_grow_at_powers_of_128() {
        for groups in 1..9_u32 {
            let limit = 1_i64 << (7 * groups);
            assert_eq!(encoded(limit - 1).len(), groups as usize);
            assert_eq!(encoded(limit).len(), groups as usize + 1);
        }
        assert_eq!(encoded(i64::MAX).len(), 9);
        assert_eq!(encoded(-1).len(), 10);
    }

    #[test]
    fn zero_to_127_are_one_byte_equal_to_the_value() {
        for value in 0..=127_u8 {
            assert_eq!(encoded(i64::from(value)), [value]);
            assert_eq!(decode_exact(&[value]), Ok(i64::from(value)));
        }
        assert_eq!(encoded(300), [0xac, 0x02]);
        assert_eq!(encoded(0x0201), [0x81, 0x04]);
    }

    #[test]
    fn a_padded_form_is_refused() {
        assert!(decode(&[0x80, 0x00]).is_err());
        assert!(decode(&[0xff, 0x80, 0x00]).is_err());
        assert_eq!(decode(&[0x00, 0x00]), Ok((0, &[0][..])));
    }

    #[test]
    fn more_than_64_bits_are_refused() {
        let mut ten = [0xff_u8; 10];
        ten[9] = 1;
        assert_eq!(decode_exact(&ten), Ok(-1));
        ten[9] = 2;
        assert!(decode_exact(&ten).is_err());
        ten[9] = 0x81;
        assert!(decode_exact(&ten).is_err());
        assert!(decode(&[0xff; 40]).is_err());
    }

    properties! {
        fn every_number_round_trips_and_every_cut_fails(value: i64, shift: u8) -> bool {
            let value = value >> (shift % 64);
            let bytes = encoded(value);
            decode_exact(&bytes) == Ok(value)
                && (0..bytes.len()).all(|len| decode(&bytes[..len]).is_err())
        }

        fn any_input_decodes_to_the_one_value_with_that_encoding_or_errs(input: Vec<u8>) -> bool {
            match decode(&input) {
                Ok((value, rest)) => [encoded(value), rest.to_vec()].concat() == input,
                Err(error) => error.offset() <= input.len(),
            }
        }
    }
}
