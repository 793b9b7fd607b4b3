//! [`Key::brief`]: a key as a message names it.

use std::fmt::{self, Write as _};

use super::Key;

/// The number of characters of a string, and of elements of an array, that are shown.
const CHARACTERS_MAX: usize = 40;
const ELEMENTS_MAX: usize = 4;

impl Key {
    /// The key in a few words, for messages: what is long or nested is cut short.
    ///
    /// ```
    /// use larder_codec::Key;
    ///
    /// let key = Key::array(vec![1.5.into(), "a".into(), Key::Binary(vec![1, 2])])?;
    /// assert_eq!(key.brief().to_string(), r#"[1.5, "a", 2 bytes]"#);
    /// # Ok::<(), larder_codec::Error>(())
    /// ```
    #[must_use]
    pub const fn brief(&self) -> impl fmt::Display + '_ {
        Brief(self)
    }
}

struct Brief<'k>(&'k Key);

impl fmt::Display for Brief<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Key::Array(elements) = self.0 else {
            return write_scalar(self.0, f);
        };
        f.write_char('[')?;
        for (at, element) in elements.iter().take(ELEMENTS_MAX).enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            write_scalar(element, f)?;
        }
        match elements.len().checked_sub(ELEMENTS_MAX) {
            None | Some(0) => f.write_char(']'),
            Some(more) => write!(f, ", and {more} more]"),
        }
    }
}

/// Arrays by their size alone.
fn write_scalar(key: &Key, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match key {
        Key::Number(number) => write!(f, "{number}"),
        Key::Date(milliseconds) => write!(f, "Date({milliseconds})"),
        Key::Binary(bytes) => write!(f, "{} bytes", bytes.len()),
        Key::Array(elements) => write!(f, "[{} keys]", elements.len()),
        Key::String(string) => {
            let units = string.units().iter().copied();
            let mut characters = char::decode_utf16(units)
                .map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER));
            f.write_char('"')?;
            for character in characters.by_ref().take(CHARACTERS_MAX) {
                write!(f, "{}", character.escape_debug())?;
            }
            f.write_str(if characters.next().is_some() {
                "…\""
            } else {
                "\""
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_a_key_shortly_whatever_it_is() {
        let array = |elements| Key::array(elements).unwrap();
        let deep = (0..1999).fold(array(vec![]), |key, _| array(vec![key]));
        let cases = [
            (Key::Number(-0.5), "-0.5"),
            (Key::Number(100_001.0), "100001"),
            (Key::Date(7.0), "Date(7)"),
            (Key::from("a\n\""), r#""a\n\"""#),
            (
                Key::from("x".repeat(41).as_str()),
                &format!("\"{}…\"", "x".repeat(40)),
            ),
            (Key::Binary(vec![0; 9]), "9 bytes"),
            (array(vec![]), "[]"),
            (array(vec![1.0.into(); 4]), "[1, 1, 1, 1]"),
            (array(vec![1.0.into(); 9]), "[1, 1, 1, 1, and 5 more]"),
            (deep, "[[1 keys]]"),
        ];
        for (key, text) in cases {
            assert_eq!(key.brief().to_string(), text);
        }
        let alone = Key::String(crate::JsString::from_units(vec![0xd800]));
        assert_eq!(alone.brief().to_string(), "\"\u{fffd}\"");
    }
}
