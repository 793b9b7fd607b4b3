//! Double: IEEE 754 binary64, little-endian (`docs/FORMAT.md`, 1.8).
//!
//! Chromium writes host order, and every platform it ships on is little-endian. All bit patterns
//! are kept, -0 and NaN included; keys refuse NaN one level higher.

use byteorder::{ByteOrder, LittleEndian};

use crate::error::Result;
use crate::reader::{Reader, decode_exact_with, decode_with};

/// Length in bytes.
pub const LEN_BYTES: usize = 8;

/// Its eight bytes.
#[must_use]
pub fn to_bytes(value: f64) -> [u8; LEN_BYTES] {
    let mut bytes = [0; LEN_BYTES];
    LittleEndian::write_f64(&mut bytes, value);
    bytes
}

/// Appends eight bytes.
pub fn encode(value: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(&to_bytes(value));
}

/// Takes eight bytes.
///
/// # Errors
/// On fewer than eight bytes.
pub fn decode(input: &[u8]) -> Result<(f64, &[u8])> {
    decode_with(input, read)
}

/// The Double that is the whole of `input`.
///
/// # Errors
/// Unless `input` is eight bytes long.
pub fn decode_exact(input: &[u8]) -> Result<f64> {
    decode_exact_with(input, "double", read)
}

pub(crate) fn read(reader: &mut Reader<'_>) -> Result<f64> {
    Ok(LittleEndian::read_f64(reader.take(LEN_BYTES, "double")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_pattern_round_trips_and_short_input_fails() {
        let values = [
            0.0,
            -0.0,
            1.0,
            2.5,
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
            f64::from_bits(1),
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            f64::from_bits(0xfff8_dead_beef_0001),
        ];
        for value in values {
            let mut out = Vec::new();
            encode(value, &mut out);
            assert_eq!(out, value.to_bits().to_le_bytes());
            assert_eq!(decode_exact(&out).unwrap().to_bits(), value.to_bits());
            for len in 0..8 {
                assert!(decode(&out[..len]).is_err());
            }
        }
        assert!(decode_exact(&[0; 9]).is_err());
    }
}
