//! What the values of a column are, for files whose columns have types.

use base64ct::{Base64, Encoding};

use crate::archive::{Json, hex, milliseconds};

/// Whole numbers up to here are exact in JavaScript.
const SAFE_INTEGER_MAX: f64 = 9_007_199_254_740_991.0;

/// A type that all values of a column have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// `true`, `false`.
    Boolean,
    /// Whole numbers between ±(2^53 - 1), none of them -0.
    Integer,
    /// Numbers.
    Double,
    /// Strings; those with lone surrogates as they are in JSON.
    String,
    /// Dates that are valid.
    Date,
    /// BigInts of 64 bits.
    BigInt,
    /// Bytes of buffers, or of views of one class, of which this is the name.
    Bytes(String),
    /// Bytes that are keys.
    Binary,
    /// What a table of text has, of values of several types or of a type without a column's.
    Text,
}

impl Kind {
    /// The type of a value that is neither null nor undefined.
    pub(super) fn of(value: &Json) -> Self {
        if let Some(number) = number(value) {
            return match safe_integer(number) {
                Some(_) => Self::Integer,
                None => Self::Double,
            };
        }
        if let Some(Bytes { class, .. }) = Bytes::of(value) {
            return class.map_or(Self::Binary, |class| Self::Bytes(class.to_owned()));
        }
        match value {
            Json::Bool(_) => Self::Boolean,
            Json::Text(_) => Self::String,
            _ if tagged(value, "$utf16").is_some() => Self::String,
            _ if date(value).is_some() => Self::Date,
            _ if bigint(value).is_some() => Self::BigInt,
            _ => Self::Text,
        }
    }

    /// The type of values of either.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (one, two) if one == two => one,
            (Self::Integer, Self::Double) | (Self::Double, Self::Integer) => Self::Double,
            _ => Self::Text,
        }
    }

    /// Its name, in the file's notes about columns.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Double => "double",
            Self::String => "string",
            Self::Date => "date",
            Self::BigInt => "bigint",
            Self::Bytes(class) => class,
            Self::Binary => "binary",
            Self::Text => "text",
        }
    }
}

/// The value of an object with one member of this name.
fn tagged<'v>(value: &'v Json, tag: &str) -> Option<&'v Json> {
    match value {
        Json::Object(members) => match &members[..] {
            [(name, inner)] if name == tag => Some(inner),
            _ => None,
        },
        _ => None,
    }
}

/// A number, also one that JSON has no word for.
pub(super) fn number(value: &Json) -> Option<f64> {
    match value {
        Json::Number(number) => Some(*number),
        _ => {
            tagged(value, "$number")?;
            value.number().ok()
        }
    }
}

/// A whole number that is exact, and not -0.
pub(super) fn safe_integer(number: f64) -> Option<i64> {
    let is_safe = number.trunc() == number && number.abs() <= SAFE_INTEGER_MAX;
    let is_minus_zero = number == 0.0 && number.is_sign_negative();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole, and within the range"
    )]
    (is_safe && !is_minus_zero).then_some(number as i64)
}

/// The milliseconds of a date that is valid.
pub(super) fn date(value: &Json) -> Option<i64> {
    let Json::Text(text) = tagged(value, "$date")? else {
        return None;
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole, and within ±8.64e15"
    )]
    milliseconds(text).map(|milliseconds| milliseconds as i64)
}

/// A BigInt of 64 bits.
pub(super) fn bigint(value: &Json) -> Option<i64> {
    let Json::Text(digits) = tagged(value, "$bigint")? else {
        return None;
    };
    digits.parse().ok()
}

/// Bytes of a value: those of a buffer that is neither resizable nor immutable, those that a view shows of such a buffer, or a key's.
pub(super) struct Bytes<'v> {
    /// The name of the view's class, or `ArrayBuffer`; none of a key.
    pub(super) class: Option<&'v str>,
    text: &'v str,
    shown: Option<(u64, u64)>,
}

impl<'v> Bytes<'v> {
    pub(super) fn of(value: &'v Json) -> Option<Self> {
        if let Some(Json::Text(hex)) = tagged(value, "$binary") {
            return Some(Self {
                class: None,
                text: hex,
                shown: None,
            });
        }
        if let Some(Json::Text(base64)) = tagged(value, "$arraybuffer") {
            return Some(Self {
                class: Some("ArrayBuffer"),
                text: base64,
                shown: None,
            });
        }
        let Json::Object(members) = value else {
            return None;
        };
        let [(tag, class), (offset, at), (length, len), (buffer, inner)] = &members[..] else {
            return None;
        };
        let names = [tag, offset, length, buffer].map(String::as_str);
        let Some(Json::Text(base64)) = tagged(inner, "$arraybuffer") else {
            return None;
        };
        (names == ["$view", "byteOffset", "byteLength", "buffer"]).then_some(Self {
            class: Some(class.text().ok()?),
            text: base64,
            shown: Some((at.whole().ok()?, len.whole().ok()?)),
        })
    }

    /// The bytes.
    pub(super) fn decode(&self) -> Option<Vec<u8>> {
        if self.class.is_none() {
            return hex(self.text).ok();
        }
        let mut bytes = Base64::decode_vec(self.text).ok()?;
        if let Some((at, len)) = self.shown {
            let (at, len) = (usize::try_from(at).ok()?, usize::try_from(len).ok()?);
            if at.checked_add(len)? > bytes.len() {
                return None;
            }
            bytes.truncate(at + len);
            bytes.drain(..at);
        }
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn each_value_has_the_type_that_holds_it_exactly() {
        for (text, kind) in [
            ("true", "boolean"),
            ("0", "integer"),
            ("9007199254740991", "integer"),
            ("-9007199254740991", "integer"),
            ("9007199254740992", "double"),
            ("1e300", "double"),
            ("0.5", "double"),
            (r#"{"$number":"-0"}"#, "double"),
            (r#"{"$number":"NaN"}"#, "double"),
            (r#""x""#, "string"),
            (r#"{"$utf16":"d800"}"#, "string"),
            (r#"{"$date":"-271821-04-20T00:00:00.000Z"}"#, "date"),
            (r#"{"$date":null}"#, "text"),
            (r#"{"$bigint":"-9223372036854775808"}"#, "bigint"),
            (r#"{"$bigint":"9223372036854775808"}"#, "text"),
            (r#"{"$binary":"00ff"}"#, "binary"),
            (r#"{"$arraybuffer":"AA=="}"#, "ArrayBuffer"),
            (r#"{"$arraybuffer":"AA==","maxByteLength":2}"#, "text"),
            (
                r#"{"$view":"Int8Array","byteOffset":0,"byteLength":1,"buffer":{"$arraybuffer":"AA=="}}"#,
                "Int8Array",
            ),
            (
                r#"{"$view":"Int8Array","byteOffset":0,"byteLength":1,"buffer":{"$ref":0}}"#,
                "text",
            ),
            ("[1]", "text"),
            ("{}", "text"),
        ] {
            assert_eq!(Kind::of(&json(text)).name(), kind, "{text}");
        }
    }

    #[test]
    fn a_view_has_the_bytes_that_it_shows_and_none_beyond_its_buffer() {
        let view = |at: u64, len: u64| {
            let text = format!(
                r#"{{"$view":"Uint8Array","byteOffset":{at},"byteLength":{len},"buffer":{{"$arraybuffer":"AAECAw=="}}}}"#
            );
            Bytes::of(&json(&text)).unwrap().decode()
        };
        assert_eq!(view(1, 2), Some(vec![1, 2]));
        assert_eq!(view(0, 4), Some(vec![0, 1, 2, 3]));
        assert_eq!(view(4, 0), Some(vec![]));
        assert_eq!(view(3, 2), None);
        assert_eq!(view(9_007_199_254_740_992, 1), None);
    }

    #[test]
    fn types_of_several_values_are_one_if_it_holds_them_all() {
        let of = |texts: &[&str]| {
            let kinds = texts.iter().map(|text| Kind::of(&json(text)));
            kinds.reduce(Kind::or).unwrap().name().to_owned()
        };
        assert_eq!(of(&["1", "2"]), "integer");
        assert_eq!(of(&["1", "2.5", "3"]), "double");
        assert_eq!(of(&["1", "true"]), "text");
        assert_eq!(of(&["1", r#"{"$bigint":"1"}"#]), "text");
        assert_eq!(of(&["true", "1", "true"]), "text");
    }
}
