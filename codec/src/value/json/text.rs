//! Strings, numbers and bytes of the JSON form.

use std::fmt;

use serde::ser::{Serialize, Serializer};

use super::{Context, tagged};
use crate::value::js_str::JsStr;

/// A string: as JSON if it is well formed, else `{"$utf16":"…"}`.
pub(super) struct Str<'c, 't, 'a> {
    pub(super) context: &'c Context<'t, 'a>,
    pub(super) string: JsStr<'a>,
}

impl Serialize for Str<'_, '_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(text) = self.string.as_ascii() {
            return serializer.serialize_str(text);
        }
        let mut buffer = self.context.buffer.borrow_mut();
        buffer.clear();
        if self.string.push_utf8(&mut buffer) {
            return serializer.serialize_str(&buffer);
        }
        drop(buffer);
        tagged(serializer, "$utf16", &Display(Hex(self.string)))
    }
}

/// Four hexadecimal digits per unit.
struct Hex<'a>(JsStr<'a>);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0.units()).try_for_each(|unit| write!(f, "{unit:04x}"))
    }
}

/// Anything that displays, as a JSON string.
pub(super) struct Display<T>(pub(super) T);

impl<T: fmt::Display> Serialize for Display<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// A number: as JSON if JSON has it, else `{"$number":"…"}`.
pub(super) struct Number(pub(super) f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const SAFE_INTEGER_END: f64 = 9_007_199_254_740_992.0;
        let number = self.0;
        let special = if number.is_nan() {
            "NaN"
        } else if number == f64::INFINITY {
            "Infinity"
        } else if number == f64::NEG_INFINITY {
            "-Infinity"
        } else if number == 0.0 && number.is_sign_negative() {
            "-0"
        } else if number.trunc() == number && number.abs() < SAFE_INTEGER_END {
            #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
            return serializer.serialize_i64(number as i64);
        } else {
            return serializer.serialize_f64(number);
        };
        tagged(serializer, "$number", &special)
    }
}

/// Bytes as a JSON string in base64 (RFC 4648, section 4, with padding).
pub(super) struct Base64<'c, 't, 'a> {
    pub(super) context: &'c Context<'t, 'a>,
    pub(super) bytes: &'a [u8],
}

impl Serialize for Base64<'_, '_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut buffer = self.context.buffer.borrow_mut();
        buffer.clear();
        push_base64(self.bytes, &mut buffer);
        serializer.serialize_str(&buffer)
    }
}

fn push_base64(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32, shift: u32| char::from(DIGITS[(bits >> shift & 63) as usize]);
    out.reserve(bytes.len().div_ceil(3) * 4);
    let (triples, rest) = bytes.as_chunks::<3>();
    for &[a, b, c] in triples {
        let bits = u32::from_be_bytes([0, a, b, c]);
        out.extend([
            digit(bits, 18),
            digit(bits, 12),
            digit(bits, 6),
            digit(bits, 0),
        ]);
    }
    match *rest {
        [a] => {
            let bits = u32::from_be_bytes([0, a, 0, 0]);
            out.extend([digit(bits, 18), digit(bits, 12), '=', '=']);
        }
        [a, b] => {
            let bits = u32::from_be_bytes([0, a, b, 0]);
            out.extend([digit(bits, 18), digit(bits, 12), digit(bits, 6), '=']);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        // RFC 4648, section 10.
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut out = String::new();
            push_base64(bytes.as_bytes(), &mut out);
            assert_eq!(out, text);
        }
        let mut out = String::new();
        push_base64(&[0xfb, 0xff, 0xbf], &mut out);
        assert_eq!(out, "+/+/");
    }
}
