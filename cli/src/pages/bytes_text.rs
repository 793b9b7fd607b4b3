//! Keys, names and short values as text.

use std::fmt;

use crate::copy::key_text;
use crate::display::{Hex, is_harmless, write_quoted};

/// What a text on the command line begins with if hexadecimal digits follow.
const BYTES: &str = "bytes:";
/// What a text begins with that would be taken for something else.
const TEXT: &str = "text:";

/// Whether a character can be in a text that is shown as one: it does nothing to a terminal, or it is a tab or the end of a line, which are escaped.
pub(super) fn is_shown(c: char) -> bool {
    is_harmless(c) || matches!(c, '\n' | '\r' | '\t')
}

/// The bytes as text, if they are printable UTF-8.
#[must_use]
pub fn as_text(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    text.chars().all(is_shown).then_some(text)
}

/// Bytes for people: `"text"` if they are printable UTF-8, else `bytes:00ff`.
///
/// ```
/// use larder::pages::ShownBytes;
///
/// assert_eq!(ShownBytes(b"ada").to_string(), "\"ada\"");
/// assert_eq!(ShownBytes(b"\x1b[2J").to_string(), "bytes:1b5b324a");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct ShownBytes<'a>(pub &'a [u8]);

impl fmt::Display for ShownBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match as_text(self.0) {
            Some(text) => write_quoted(f, text.encode_utf16()),
            None => write!(f, "{BYTES}{}", Hex(self.0)),
        }
    }
}

impl ShownBytes<'_> {
    /// For programs: a string, or `{"bytes": "00ff"}`.
    #[must_use]
    pub fn to_json(self) -> serde_json::Value {
        match as_text(self.0) {
            Some(text) => text.into(),
            None => serde_json::json!({ "bytes": Hex(self.0).to_string() }),
        }
    }
}

/// The bytes that a person means: `bytes:00ff`, a text, or `text:` and a text that begins with one of these.
///
/// ```
/// use larder::pages::parse_bytes;
///
/// assert_eq!(parse_bytes("ada").unwrap(), b"ada");
/// assert_eq!(parse_bytes("bytes:00FF").unwrap(), [0, 255]);
/// assert_eq!(parse_bytes("text:bytes:").unwrap(), b"bytes:");
/// assert!(parse_bytes("bytes:0").is_err());
/// ```
///
/// # Errors
/// In words, if what follows `bytes:` is not hexadecimal.
pub fn parse_bytes(text: &str) -> Result<Vec<u8>, String> {
    if let Some(text) = text.strip_prefix(TEXT) {
        return Ok(text.as_bytes().to_vec());
    }
    let Some(digits) = text.strip_prefix(BYTES) else {
        return Ok(text.as_bytes().to_vec());
    };
    let no_bytes = || {
        format!(
            "{text:?}: behind {BYTES} there are two hexadecimal digits a byte; text:{BYTES}… is a text"
        )
    };
    key_text::from_hex(digits).ok_or_else(no_bytes)
}
