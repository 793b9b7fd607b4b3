//! Byte: itself (`docs/FORMAT.md`, 1.1).

use crate::error::Result;
use crate::reader::{Reader, decode_exact_with, decode_with};

/// Appends the byte.
pub fn encode(value: u8, out: &mut Vec<u8>) {
    out.push(value);
}

/// Takes one byte.
///
/// # Errors
/// On empty input.
pub fn decode(input: &[u8]) -> Result<(u8, &[u8])> {
    decode_with(input, read)
}

/// The one byte of `input`.
///
/// # Errors
/// On any other length.
pub fn decode_exact(input: &[u8]) -> Result<u8> {
    decode_exact_with(input, "byte", read)
}

fn read(reader: &mut Reader<'_>) -> Result<u8> {
    reader.byte("byte")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_itself_and_empty_input_fails() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut out = Vec::new();
            encode(value, &mut out);
            assert_eq!(out, [value]);
            assert_eq!(decode(&[value, 9]), Ok((value, &[9][..])));
            assert_eq!(decode_exact(&out), Ok(value));
        }
        assert_eq!(decode(&[]).unwrap_err().offset(), 0);
        assert!(decode_exact(&[1, 2]).is_err());
    }
}
