//! StringWithLength: a VarInt count of UTF-16 code units, then the String (`docs/FORMAT.md`, 1.6).

use crate::error::{ErrorKind, Result};
use crate::js_string::{JsString, Utf16Be};
use crate::primitive::{binary, string, var_int};
use crate::reader::{Reader, decode_exact_with, decode_with};

/// Appends the count and the units; the empty string is `00`.
pub fn encode(value: &JsString, out: &mut Vec<u8>) {
    var_int::encode(value.units().len() as i64, out);
    string::encode(value, out);
}

/// Takes one StringWithLength.
///
/// # Errors
/// On a bad or negative count, or if the input is shorter than the count says.
pub fn decode(input: &[u8]) -> Result<(JsString, &[u8])> {
    decode_with(input, |reader| read_owned(reader, "string"))
}

/// The StringWithLength that is the whole of `input`.
///
/// # Errors
/// As [`decode`], and on left-over bytes.
pub fn decode_exact(input: &[u8]) -> Result<JsString> {
    decode_exact_with(input, "string", |reader| read_owned(reader, "string"))
}

pub(crate) fn read_owned(reader: &mut Reader<'_>, what: &'static str) -> Result<JsString> {
    Ok(read(reader, what)?.to_js_string())
}

pub(crate) fn read<'a>(reader: &mut Reader<'a>, what: &'static str) -> Result<Utf16Be<'a>> {
    let at_start = *reader;
    let len_units = var_int::read_length(reader, what)?;
    let len_bytes = len_units.checked_mul(2);
    let bytes = match len_bytes {
        Some(len_bytes) => binary::take_u64(reader, len_bytes, what)?,
        None => return Err(at_start.error(ErrorKind::Invalid { found: len_units }, what)),
    };
    // Twice the count is even, so this always holds a string.
    Ok(Utf16Be::new(bytes).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use crate::testing::properties;

    use super::*;

    fn encoded(value: &JsString) -> Vec<u8> {
        let mut out = Vec::new();
        encode(value, &mut out);
        out
    }

    #[test]
    fn consecutive_strings_decode_in_turn() {
        let bytes = [
            encoded(&"a".into()),
            encoded(&"".into()),
            encoded(&"bc".into()),
        ]
        .concat();
        assert_eq!(bytes, [1, 0, 0x61, 0, 2, 0, 0x62, 0, 0x63]);
        let (first, rest) = decode(&bytes).unwrap();
        let (second, rest) = decode(rest).unwrap();
        let (third, rest) = decode(rest).unwrap();
        assert_eq!([first, second, third], ["a", "", "bc"].map(JsString::from));
        assert!(rest.is_empty());
    }

    #[test]
    fn counts_that_overflow_or_are_negative_fail() {
        for count in [i64::MAX, i64::MAX / 2 + 1, -1, i64::MIN, 3] {
            let mut bytes = Vec::new();
            var_int::encode(count, &mut bytes);
            bytes.extend([0; 5]);
            assert!(decode(&bytes).is_err(), "{count}");
        }
        assert!(decode(&[]).is_err());
    }

    properties! {
        fn any_units_round_trip_and_every_cut_fails(units: Vec<u16>) -> bool {
            let value = JsString::from_units(units);
            let bytes = encoded(&value);
            decode_exact(&bytes) == Ok(value)
                && (0..bytes.len()).all(|len| decode(&bytes[..len]).is_err())
        }

        fn any_input_decodes_to_the_one_value_with_that_encoding_or_errs(input: Vec<u8>) -> bool {
            match decode(&input) {
                Ok((value, rest)) => [&encoded(&value), rest].concat() == input,
                Err(error) => error.offset() <= input.len(),
            }
        }
    }
}
