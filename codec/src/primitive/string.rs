//! String: UTF-16 code units, big-endian, without a length (`docs/FORMAT.md`, 1.5).
//!
//! The tail of whatever holds it. Unpaired surrogates are kept; the empty string is no bytes.

use crate::error::{Error, ErrorKind, Result};
use crate::js_string::{JsString, Utf16Be};

/// Appends two bytes per unit.
pub fn encode(value: &JsString, out: &mut Vec<u8>) {
    out.reserve(value.units().len().saturating_mul(2));
    for unit in value.units() {
        out.extend_from_slice(&unit.to_be_bytes());
    }
}

/// The String that is the whole of `input`.
///
/// # Errors
/// On an odd number of bytes (old Chromiums would leave one over; none wrote such a thing).
pub fn decode_exact(input: &[u8]) -> Result<JsString> {
    Utf16Be::new(input)
        .map(Utf16Be::to_js_string)
        .ok_or_else(|| {
            Error::new(
                ErrorKind::Truncated { missing: 1 },
                input.len(),
                "UTF-16 string",
            )
        })
}

#[cfg(test)]
mod tests {
    use crate::testing::properties;

    use super::*;

    #[test]
    fn units_are_big_endian_and_the_empty_string_is_no_bytes() {
        let mut out = Vec::new();
        encode(&JsString::default(), &mut out);
        assert!(out.is_empty());
        encode(&JsString::from("aß字"), &mut out);
        assert_eq!(out, [0, 0x61, 0, 0xdf, 0x5b, 0x57]);
        assert_eq!(decode_exact(&out).unwrap(), JsString::from("aß字"));
        assert!(decode_exact(&[0x61]).is_err());
    }

    properties! {
        fn any_units_round_trip(units: Vec<u16>) -> bool {
            let value = JsString::from_units(units);
            let mut bytes = Vec::new();
            encode(&value, &mut bytes);
            decode_exact(&bytes) == Ok(value)
        }

        fn even_input_decodes_to_the_one_value_with_that_encoding(input: Vec<u8>) -> bool {
            match decode_exact(&input) {
                Ok(value) => {
                    let mut bytes = Vec::new();
                    encode(&value, &mut bytes);
                    bytes == input
                }
                Err(_) => input.len() % 2 == 1,
            }
        }
    }
}
