//! Keys as a person writes them on a command line: JSON, with objects for what JSON has no word for.

use larder_codec::{Key, RawKey};
use serde_json::Value;

use super::iso_date;

/// The bytes of a key: `7`, `"a text"`, `["a", 1]`, `{"date": 0}` (milliseconds since 1970) or `{"date": "2026-01-31T12:00"}`,
/// `{"binary": "00ff"}`. What is no JSON is a text itself.
///
/// # Errors
/// In words, if JSON is no key.
pub(crate) fn parse(text: &str) -> Result<Vec<u8>, String> {
    let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    let key = key(&value, 0)?;
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    // What could not be read back is none.
    RawKey::decode_exact(&bytes).map_err(|error| format!("{text} is no key: {error}"))?;
    Ok(bytes)
}

/// Deeper arrays are written by no person.
const DEPTH_MAX: usize = 100;

fn key(value: &Value, depth: usize) -> Result<Key, String> {
    let no_key = || {
        format!(
            "{value} is no key: write a number, a text, an array, {{\"date\": \"2026-01-31T12:00\"}} (UTC, or milliseconds) or {{\"binary\": \"hex\"}}"
        )
    };
    if depth > DEPTH_MAX {
        return Err(no_key());
    }
    match value {
        Value::Number(number) => Ok(Key::Number(number.as_f64().ok_or_else(no_key)?)),
        Value::String(text) => Ok(Key::from(text.as_str())),
        Value::Array(items) => {
            let keys = items.iter().map(|item| key(item, depth + 1));
            Key::array(keys.collect::<Result<_, _>>()?).map_err(|_| no_key())
        }
        Value::Object(members) => match (members.len(), members.get("date"), members.get("binary"))
        {
            (1, Some(Value::String(date)), None) => {
                Ok(Key::Date(iso_date::parse(date).ok_or_else(no_key)?))
            }
            (1, Some(date), None) => Ok(Key::Date(date.as_f64().ok_or_else(no_key)?)),
            (1, None, Some(Value::String(hex))) => {
                Ok(Key::Binary(from_hex(hex).ok_or_else(no_key)?))
            }
            _ => Err(no_key()),
        },
        Value::Null | Value::Bool(_) => Err(no_key()),
    }
}

/// The bytes that hex digits stand for, if they do.
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    let byte = |pair: &[u32]| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    };
    digits.chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_written_as_json_and_text_stands_for_itself() {
        let shown = |text: &str| {
            let bytes = parse(text).unwrap();
            crate::display::ShownKey(RawKey::decode_exact(&bytes).unwrap()).to_string()
        };
        let same = |a: &str, b: &str| assert_eq!(parse(a).unwrap(), parse(b).unwrap());
        assert_eq!(shown("7"), "7");
        assert_eq!(shown("[1,\"a\"]"), "[1, \"a\"]");
        same("plain", "\"plain\"");
        same("7.0", "7");
        assert_ne!(parse("\"7\"").unwrap(), parse("7").unwrap());
        assert_ne!(parse("{\"date\":0}").unwrap(), parse("0").unwrap());
        assert_eq!(parse("{\"binary\":\"00fF\"}").unwrap(), [6, 2, 0, 0xff]);
        for text in [
            "true",
            "null",
            "{}",
            "{\"binary\":\"0\"}",
            "{\"binary\":\"xx\"}",
            "[null]",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
