//! JSON that keeps the order of members, and what lines of an archive have of it: names, keys, bytes.

use std::fmt;

use base64ct::{Base64, Encoding};
use larder_codec::{JsString, Key, KeyPath};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// A value of JSON. Members of objects stay in their order, which is that of a script's properties.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// What is wrong with a line, in words.
pub(crate) type Wrong = String;

impl Json {
    /// The value of a member.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => {
                let mut members = members.iter();
                members.find(|(own, _)| own == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// The value of a member that has to be there.
    pub(super) fn need(&self, name: &str) -> Result<&Self, Wrong> {
        self.get(name)
            .ok_or_else(|| format!("the member {name:?} is missing"))
    }

    pub(crate) fn text(&self) -> Result<&str, Wrong> {
        match self {
            Self::Text(text) => Ok(text),
            other => Err(format!("{other} is no text")),
        }
    }

    pub(crate) fn bool(&self) -> Result<bool, Wrong> {
        match self {
            Self::Bool(bool) => Ok(*bool),
            other => Err(format!("{other} is neither true nor false")),
        }
    }

    pub(crate) fn items(&self) -> Result<&[Self], Wrong> {
        match self {
            Self::Array(items) => Ok(items),
            other => Err(format!("{other} is no list")),
        }
    }

    /// A whole number, not below zero and not above 2^53.
    pub(crate) fn whole(&self) -> Result<u64, Wrong> {
        const MAX: f64 = 9_007_199_254_740_992.0;
        match self {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole, and within the range"
            )]
            Self::Number(number) if number.trunc() == *number && (0.0..=MAX).contains(number) => {
                Ok(*number as u64)
            }
            other => Err(format!("{other} is no whole number from 0 to 2^53")),
        }
    }

    /// A whole number that 32 bits hold.
    pub(super) fn whole_u32(&self) -> Result<u32, Wrong> {
        let whole = self.whole()?;
        u32::try_from(whole).map_err(|_| format!("{whole} is too large"))
    }

    /// Text in base64.
    pub(super) fn base64(&self) -> Result<Vec<u8>, Wrong> {
        Base64::decode_vec(self.text()?).map_err(|_| "this is no base64".to_owned())
    }

    /// A name: text, or `{"utf16": "…"}`.
    pub(super) fn name(&self) -> Result<JsString, Wrong> {
        match self.get("utf16") {
            Some(units) => utf16(units.text()?).map(JsString::from_units),
            None => Ok(JsString::from(self.text()?)),
        }
    }

    /// A key path: null, text, or a list.
    pub(super) fn key_path(&self) -> Result<KeyPath, Wrong> {
        Ok(match self {
            Self::Null => KeyPath::Null,
            Self::Array(items) => {
                KeyPath::Array(items.iter().map(Self::name).collect::<Result<_, _>>()?)
            }
            one => KeyPath::String(one.name()?),
        })
    }

    /// A key, as `docs/format/jsonl.md` writes it.
    pub(super) fn key(&self) -> Result<Key, Wrong> {
        let no_key = || format!("{self} is no key");
        match self {
            Self::Number(number) => Ok(Key::Number(*number)),
            Self::Text(text) => Ok(Key::from(text.as_str())),
            Self::Array(items) => {
                let keys = items.iter().map(Self::key).collect::<Result<_, _>>()?;
                Key::array(keys).map_err(|_| no_key())
            }
            Self::Object(members) => match &members[..] {
                [(tag, value)] => match tag.as_str() {
                    "$number" => Ok(Key::Number(self.number()?)),
                    "$date" => match value {
                        Self::Text(text) => {
                            let date = super::date::milliseconds(text);
                            date.map(Key::Date).ok_or_else(no_key)
                        }
                        other => other.number().map(Key::Date),
                    },
                    "$utf16" => {
                        let units = utf16(value.text()?)?;
                        Ok(Key::String(JsString::from_units(units)))
                    }
                    "$binary" => Ok(Key::Binary(hex(value.text()?)?)),
                    _ => Err(no_key()),
                },
                _ => Err(no_key()),
            },
            Self::Null | Self::Bool(_) => Err(no_key()),
        }
    }

    /// A number, also one that JSON has no word for: `{"$number": "NaN"}`.
    pub(crate) fn number(&self) -> Result<f64, Wrong> {
        if let Self::Number(number) = self {
            return Ok(*number);
        }
        let text = self.get("$number").and_then(|text| text.text().ok());
        match text {
            Some("NaN") => Ok(f64::NAN),
            Some("Infinity") => Ok(f64::INFINITY),
            Some("-Infinity") => Ok(f64::NEG_INFINITY),
            Some(text) => text.parse().map_err(|_| format!("{self} is no number")),
            None => Err(format!("{self} is no number")),
        }
    }
}

/// Units of UTF-16, four hexadecimal digits each.
pub(super) fn utf16(text: &str) -> Result<Vec<u16>, Wrong> {
    let bytes = hex(text)?;
    let (pairs, rest) = bytes.as_chunks::<2>();
    match rest {
        [] => Ok(pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect()),
        _ => Err("a unit of UTF-16 has four hexadecimal digits".to_owned()),
    }
}

pub(crate) fn hex(text: &str) -> Result<Vec<u8>, Wrong> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8; 2]| {
        let value = digit(pair[0])? * 16 + digit(pair[1])?;
        u8::try_from(value).ok()
    };
    let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    bytes
        .filter(|_| rest.is_empty())
        .ok_or_else(|| "this is not hexadecimal".to_owned())
}

/// The beginning of it, for a message.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN_MAX: usize = 40;
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(bool) => write!(f, "{bool}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => {
                let shown: String = text.chars().take(SHOWN_MAX).collect();
                let more = if shown.len() < text.len() { "…" } else { "" };
                write!(f, "\"{}{more}\"", shown.escape_debug())
            }
            Self::Array(items) => write!(f, "a list of {}", items.len()),
            Self::Object(members) => match members.first() {
                Some((name, _)) => {
                    write!(f, "the object with the member {}", Self::Text(name.clone()))
                }
                None => f.write_str("{}"),
            },
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(bool) => serializer.serialize_bool(*bool),
            Self::Number(number) => match self.whole() {
                Ok(whole) => serializer.serialize_u64(whole),
                Err(_) => serializer.serialize_f64(*number),
            },
            Self::Text(text) => serializer.serialize_str(text),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(members) => {
                serializer.collect_map(members.iter().map(|(name, value)| (name, value)))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyJson)
    }
}

struct AnyJson;

impl<'de> Visitor<'de> for AnyJson {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "JavaScript has no other numbers"
    )]
    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value as f64))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "JavaScript has no other numbers"
    )]
    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(member) = members.next_entry()? {
            list.push(member);
        }
        Ok(Json::Object(list))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn members_stay_in_order_and_numbers_are_exact() {
        let found =
            json(r#"{"b":1,"a":[0.1,5e-324,1.7976931348623157e308,9007199254740993,-0.0]}"#);
        let Json::Object(members) = &found else {
            unreachable!("it is an object")
        };
        let names: Vec<&str> = members.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["b", "a"]);
        let numbers = found.get("a").unwrap().items().unwrap();
        let bits = |number: &Json| number.number().unwrap().to_bits();
        let expected = [0.1, 5e-324, f64::MAX, 9_007_199_254_740_992.0, -0.0_f64];
        assert_eq!(
            numbers.iter().map(bits).collect::<Vec<_>>(),
            expected.map(f64::to_bits)
        );
    }

    #[test]
    fn keys_of_every_type_are_read_and_what_is_none_is_refused() {
        let encoded = |text: &str| {
            let mut bytes = Vec::new();
            json(text).key().unwrap().encode(&mut bytes);
            bytes
        };
        assert_eq!(encoded(r#"{"$binary":"00fF"}"#), [6, 2, 0, 0xff]);
        assert_eq!(encoded(r#"{"$utf16":"d800"}"#), [1, 1, 0xd8, 0]);
        assert_eq!(encoded(r#"{"$number":"-0"}"#), Key::encode_number(-0.0));
        assert_eq!(
            encoded(r#"{"$date":"2020-01-01T00:00:00.000Z"}"#),
            encoded(r#"{"$date":{"$number":"1577836800000"}}"#)
        );
        for text in [
            "null",
            "true",
            "{}",
            r#"{"$binary":"0"}"#,
            r#"{"$binary":"é0"}"#,
            r#"{"$date":"yesterday"}"#,
            r#"[null]"#,
            r#"{"$number":"x"}"#,
            r#"{"$utf16":"d8"}"#,
        ] {
            assert!(json(text).key().is_err(), "{text}");
        }
    }
}
