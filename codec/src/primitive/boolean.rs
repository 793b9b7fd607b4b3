//! Bool: one byte, 0 or 1 (`docs/FORMAT.md`, 1.2).
//!
//! The one primitive with more than one encoding: Chromium reads any non-zero byte as true, and so
//! does this module; it writes 1.

use crate::error::Result;
use crate::reader::{Reader, decode_exact_with, decode_with};

/// Appends `00` or `01`.
pub fn encode(value: bool, out: &mut Vec<u8>) {
    out.push(u8::from(value));
}

/// Takes one byte; any but zero is true.
///
/// # Errors
/// On empty input.
pub fn decode(input: &[u8]) -> Result<(bool, &[u8])> {
    decode_with(input, read)
}

/// The Bool that is the whole of `input`.
///
/// # Errors
/// Unless `input` is one byte long.
pub fn decode_exact(input: &[u8]) -> Result<bool> {
    decode_exact_with(input, "bool", read)
}

fn read(reader: &mut Reader<'_>) -> Result<bool> {
    Ok(reader.byte("bool")? != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn false_is_0_true_is_1_and_any_other_byte_reads_as_true() {
        let mut out = Vec::new();
        encode(false, &mut out);
        encode(true, &mut out);
        assert_eq!(out, [0, 1]);
        assert_eq!(decode(&[0, 7]), Ok((false, &[7][..])));
        for byte in 1..=255 {
            assert_eq!(decode_exact(&[byte]), Ok(true));
        }
        assert!(decode(&[]).is_err());
        assert!(decode_exact(&[0, 0]).is_err());
    }
}
