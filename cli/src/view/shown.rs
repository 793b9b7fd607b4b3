//! Keys on their way to the page.

use larder_codec::RawKey;
use serde_json::{Value, json};

use crate::canonical::write_key;
use crate::display::ShownKey;

/// Longer keys are cut.
const KEY_SHOWN_MAX: usize = 4096;
/// So many characters of them are shown.
const KEY_TEXT_MAX: usize = 200;

/// A key in canonical form; of a long one the beginning, in words.
pub(super) fn key(key: RawKey<'_>) -> Value {
    let bytes = key.as_bytes().len();
    if bytes <= KEY_SHOWN_MAX {
        let mut text = Vec::new();
        write_key(&mut text, key);
        return serde_json::from_slice(&text).unwrap_or_default();
    }
    json!({"t": kind(key), "cut": true, "text": limited(ShownKey(key), KEY_TEXT_MAX), "bytes": bytes})
}

fn kind(key: RawKey<'_>) -> &'static str {
    use larder_codec::idb_key::KeyPart;
    match key.parts().next() {
        Some(KeyPart::Number(_)) => "number",
        Some(KeyPart::Date(_)) => "date",
        Some(KeyPart::String(_)) => "string",
        Some(KeyPart::Binary(_)) => "binary",
        Some(KeyPart::Array { .. }) | None => "array",
    }
}

/// The beginning of a text, of at most so many characters; the rest of it is never made.
pub(super) fn limited(text: impl std::fmt::Display, most: usize) -> String {
    let mut out = Limited {
        text: String::new(),
        left: most,
    };
    let is_whole = std::fmt::Write::write_fmt(&mut out, format_args!("{text}")).is_ok();
    if !is_whole {
        out.text.push('…');
    }
    out.text
}

struct Limited {
    text: String,
    left: usize,
}

impl std::fmt::Write for Limited {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for c in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(std::fmt::Error)?;
            self.text.push(c);
        }
        Ok(())
    }
}
