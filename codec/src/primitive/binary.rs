//! Binary: a VarInt byte count, then the bytes (`docs/FORMAT.md`, 1.7).

use crate::error::{ErrorKind, Result};
use crate::primitive::var_int;
use crate::reader::{Reader, decode_exact_with, decode_with};

/// Appends the count and the bytes.
pub fn encode(value: &[u8], out: &mut Vec<u8>) {
    // A slice is never longer than isize::MAX bytes.
    var_int::encode(value.len() as i64, out);
    out.extend_from_slice(value);
}

/// Takes one Binary, borrowed.
///
/// # Errors
/// On a bad or negative count, or if the input is shorter than the count says.
pub fn decode(input: &[u8]) -> Result<(&[u8], &[u8])> {
    decode_with(input, |reader| read(reader, "binary"))
}

/// The Binary that is the whole of `input`.
///
/// # Errors
/// As [`decode`], and on left-over bytes.
pub fn decode_exact(input: &[u8]) -> Result<&[u8]> {
    decode_exact_with(input, "binary", |reader| read(reader, "binary"))
}

pub(crate) fn read<'a>(reader: &mut Reader<'a>, what: &'static str) -> Result<&'a [u8]> {
    let len_bytes = var_int::read_length(reader, what)?;
    take_u64(reader, len_bytes, what)
}

/// `take` for a length from disk, which may be more than a `usize` holds.
pub(crate) fn take_u64<'a>(
    reader: &mut Reader<'a>,
    len_bytes: u64,
    what: &'static str,
) -> Result<&'a [u8]> {
    match usize::try_from(len_bytes) {
        Ok(len) => reader.take(len, what),
        Err(_) => {
            let missing = len_bytes - reader.len_bytes() as u64;
            Err(reader.error(ErrorKind::Truncated { missing }, what))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::properties;

    use super::*;

    #[test]
    fn a_count_beyond_the_input_fails_whatever_its_size() {
        assert!(decode(&[]).is_err());
        assert!(decode(&[2, 0]).is_err());
        let mut huge = Vec::new();
        var_int::encode(i64::MAX, &mut huge);
        assert!(decode(&huge).is_err());
        let mut negative = Vec::new();
        var_int::encode(-1, &mut negative);
        assert!(decode(&negative).is_err());
    }

    properties! {
        fn every_value_round_trips_and_every_cut_fails(value: Vec<u8>) -> bool {
            let mut bytes = Vec::new();
            encode(&value, &mut bytes);
            decode_exact(&bytes) == Ok(&value[..])
                && (0..bytes.len()).all(|len| decode(&bytes[..len]).is_err())
        }

        fn any_input_decodes_to_the_one_value_with_that_encoding_or_errs(input: Vec<u8>) -> bool {
            match decode(&input) {
                Ok((value, rest)) => {
                    let mut bytes = Vec::new();
                    encode(value, &mut bytes);
                    [&bytes, rest].concat() == input
                }
                Err(error) => error.offset() <= input.len(),
            }
        }
    }
}
