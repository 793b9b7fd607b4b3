//! Int: a 64-bit number, little-endian, as few bytes as hold it (`docs/FORMAT.md`, 1.3).
//!
//! No length is stored, so an Int is the tail of its key or value, or has its length from outside
//! (key prefix). Chromium uses it for numbers from 0 on; its release builds write a negative one as
//! the eight bytes of its two's complement, which this module does too.

use crate::error::{Error, ErrorKind, Result};

/// The longest form in bytes.
pub const LEN_BYTES_MAX: usize = 8;

/// Appends the shortest form: 0 is `00`, 300 is `2c 01`, a negative number takes eight bytes.
pub fn encode(value: i64, out: &mut Vec<u8>) {
    encode_unsigned(value.cast_unsigned(), out);
}

/// The number of bytes of the shortest form, 1 to 8.
pub(crate) const fn encoded_len_bytes(value: u64) -> usize {
    let bits = u64::BITS - value.leading_zeros();
    if bits == 0 {
        1
    } else {
        bits.div_ceil(8) as usize
    }
}

pub(crate) fn encode_unsigned(value: u64, out: &mut Vec<u8>) {
    out.extend(
        value
            .to_le_bytes()
            .into_iter()
            .take(encoded_len_bytes(value)),
    );
}

/// The Int that is the whole of `input`.
///
/// Longer forms than needed are read, as Chromium reads them (the published scheme calls Int eight
/// bytes long, and others write it so); [`encode`] never makes them.
///
/// # Errors
/// On empty input and on more than eight bytes.
pub fn decode_exact(input: &[u8]) -> Result<i64> {
    decode_unsigned(input).map(u64::cast_signed)
}

pub(crate) fn decode_unsigned(input: &[u8]) -> Result<u64> {
    match input.len() {
        0 => Err(Error::new(ErrorKind::Truncated { missing: 1 }, 0, "int")),
        // So few bytes are not worth the call of a copy.
        1..=LEN_BYTES_MAX => Ok(input
            .iter()
            .rev()
            .fold(0, |number, byte| number << 8 | u64::from(*byte))),
        len => {
            let extra = (len - LEN_BYTES_MAX) as u64;
            Err(Error::new(
                ErrorKind::Trailing { extra },
                LEN_BYTES_MAX,
                "int",
            ))
        }
    }
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
    fn sizes_grow_at_powers_of_256() {
        assert_eq!(encoded(0), [0]);
        assert_eq!(encoded(1), [1]);
        assert_eq!(encoded(300), [0x2c, 0x01]);
        for len in 1..8_u32 {
            let limit = 1_i64 << (8 * len);
            assert_eq!(encoded(limit - 1).len(), len as usize);
            assert_eq!(encoded(limit).len(), len as usize + 1);
        }
        assert_eq!(encoded(i64::MAX).len(), 8);
        assert_eq!(encoded(-1), [0xff; 8]);
    }

    #[test]
    fn empty_and_over_long_input_fail_and_padding_is_read() {
        assert!(decode_exact(&[]).is_err());
        assert_eq!(decode_exact(&[0; 9]).unwrap_err().offset(), 8);
        assert_eq!(decode_exact(&[5, 0, 0, 0, 0, 0, 0, 0]), Ok(5));
    }

    properties! {
        fn every_number_round_trips(value: i64, shift: u8) -> bool {
            let value = value >> (shift % 64);
            decode_exact(&encoded(value)) == Ok(value)
        }

        fn any_input_decodes_or_errs_and_the_shortest_form_is_the_only_one_written(input: Vec<u8>) -> bool {
            match decode_exact(&input) {
                Ok(value) => encoded(value).len() <= input.len() && input.starts_with(&encoded(value)),
                Err(_) => input.is_empty() || input.len() > 8,
            }
        }
    }
}
