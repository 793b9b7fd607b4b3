//! Names and keys for people's eyes. Nothing here is meant to be read back by a program.

mod key_text;

pub use key_text::{Piece, walk};

use std::fmt::{self, Write};

use crate::idb_key::{KeyPart, RawKey};
use crate::{JsString, KeyPath};

/// A JavaScript string in double quotes: control characters and lone surrogates escaped, so that stored text can do
/// nothing to a terminal.
#[derive(Debug, Clone, Copy)]
pub struct Quoted<'a>(pub &'a JsString);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(f, self.0.units().iter().copied())
    }
}

/// Writes UTF-16 units in double quotes, escaped.
///
/// # Errors
/// Only the formatter's.
pub fn write_quoted(out: &mut impl Write, units: impl Iterator<Item = u16>) -> fmt::Result {
    out.write_char('"')?;
    for unit in char::decode_utf16(units) {
        match unit {
            Ok(c @ ('"' | '\\')) => {
                out.write_char('\\')?;
                out.write_char(c)?;
            }
            Ok(c) if is_harmless(c) => out.write_char(c)?,
            Ok(c) => write!(out, "\\u{{{:x}}}", u32::from(c))?,
            Err(lone) => write!(out, "\\u{{{:x}}}", lone.unpaired_surrogate())?,
        }
    }
    out.write_char('"')
}

/// Not a control character, and none that turns the direction of the text around it.
#[must_use]
pub fn is_harmless(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A key as JavaScript would show it: `1.5`, `"text"`, `Date(0)`, `0x00ff`, `[1, "a"]`.
#[derive(Debug, Clone, Copy)]
pub struct ShownKey<'a>(pub RawKey<'a>);

impl fmt::Display for ShownKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        walk(self.0, |piece| match piece {
            Piece::ArrayStart => f.write_char('['),
            Piece::Separator => f.write_str(", "),
            Piece::ArrayEnd => f.write_char(']'),
            Piece::Scalar(KeyPart::Number(number)) => write!(f, "{}", js_number(number)),
            Piece::Scalar(KeyPart::Date(milliseconds)) => {
                write!(f, "Date({})", js_number(milliseconds))
            }
            Piece::Scalar(KeyPart::String(string)) => write_quoted(f, string.units()),
            Piece::Scalar(KeyPart::Binary(bytes)) => write!(f, "0x{}", Hex(bytes)),
            Piece::Scalar(KeyPart::Array { .. }) => Ok(()),
        })
    }
}

/// A number as JavaScript's consoles show it: its own conversion to text has no -0, which is another value.
#[must_use]
pub fn js_number(number: f64) -> impl fmt::Display {
    struct Shown(f64);
    impl fmt::Display for Shown {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(if self.0 == 0.0 && self.0.is_sign_negative() {
                "-"
            } else {
                ""
            })?;
            crate::value::JsNumber(self.0).fmt(f)
        }
    }
    Shown(number)
}

/// A key path: `null`, `"a.b"` or `["a", "b"]`.
#[derive(Debug, Clone, Copy)]
pub struct ShownKeyPath<'a>(pub &'a KeyPath);

impl fmt::Display for ShownKeyPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            KeyPath::Null => f.write_str("null"),
            KeyPath::String(path) => Quoted(path).fmt(f),
            KeyPath::Array(paths) => {
                for (n, path) in paths.iter().enumerate() {
                    f.write_str(if n == 0 { "[" } else { ", " })?;
                    Quoted(path).fmt(f)?;
                }
                f.write_str(if paths.is_empty() { "[]" } else { "]" })
            }
        }
    }
}

/// Bytes as lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy)]
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use crate::Key;

    use super::*;

    fn shown(key: &Key) -> String {
        let mut bytes = Vec::new();
        key.encode(&mut bytes);
        ShownKey(RawKey::decode_exact(&bytes).unwrap()).to_string()
    }

    #[test]
    fn keys_are_shown_as_javascript_would() {
        let inner = Key::array(vec![]).unwrap();
        let key = Key::array(vec![
            Key::Number(1.5),
            Key::array(vec!["a\"".into(), inner]).unwrap(),
            Key::Number(-0.0),
            Key::Date(0.0),
            Key::Binary(vec![0, 255]),
        ]);
        assert_eq!(
            shown(&key.unwrap()),
            r#"[1.5, ["a\"", []], -0, Date(0), 0x00ff]"#
        );
    }

    #[test]
    fn stored_text_cannot_drive_a_terminal() {
        let evil = JsString::from_units(
            "a\u{1b}[2J\u{202e}b\n"
                .encode_utf16()
                .chain([0xd800])
                .collect(),
        );
        assert_eq!(
            Quoted(&evil).to_string(),
            r#""a\u{1b}[2J\u{202e}b\u{a}\u{d800}""#
        );
    }
}
