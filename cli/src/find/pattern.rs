//! What is looked for.

use std::borrow::Cow;

use regex_lite::Regex;

use crate::leaves::Leaf;

/// So many bytes before and after what fits in bytes are shown.
const AROUND: usize = 24;

/// What is looked for.
#[derive(Debug, Clone)]
pub enum Pattern {
    /// A text, within texts, and in bytes as UTF-8 and as UTF-16.
    Text(Needle),
    /// A regular expression, within texts.
    Regex(Regex),
    /// A key, in its bytes: of records and of index entries.
    Key(Vec<u8>),
    /// The name of an object's type, such as `Blob` or `Date`, in any case.
    Type(String),
}

/// A text that is looked for.
#[derive(Debug, Clone)]
pub struct Needle {
    text: String,
    ignores_case: bool,
    utf16: Vec<u8>,
}

impl Pattern {
    /// A text; with `ignores_case` in upper or lower case.
    #[must_use]
    pub fn text(text: &str, ignores_case: bool) -> Self {
        Self::Text(Needle {
            text: match ignores_case {
                true => text.to_lowercase(),
                false => text.to_owned(),
            },
            ignores_case,
            utf16: text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        })
    }

    /// What of a leaf fits.
    pub(crate) fn find<'l>(&self, leaf: &'l Leaf<'_>) -> Option<Cow<'l, str>> {
        match (self, leaf) {
            (Self::Text(needle), Leaf::Text(_, text)) => {
                needle.is_in(text).then(|| Cow::Borrowed(&**text))
            }
            (Self::Text(needle), Leaf::Bytes(bytes)) => needle.find_in_bytes(bytes),
            (Self::Regex(regex), Leaf::Text(_, text)) => {
                regex.is_match(text).then(|| Cow::Borrowed(&**text))
            }
            (Self::Type(name), Leaf::Object(kind)) => kind
                .eq_ignore_ascii_case(name)
                .then_some(Cow::Borrowed(*kind)),
            _ => None,
        }
    }
}

impl Needle {
    fn is_in(&self, text: &str) -> bool {
        match self.ignores_case {
            true => text.to_lowercase().contains(&self.text),
            false => text.contains(&self.text),
        }
    }

    fn find_in_bytes(&self, bytes: &[u8]) -> Option<Cow<'static, str>> {
        let at = find(bytes, self.text.as_bytes()).or_else(|| find(bytes, &self.utf16))?;
        let end = at + self.text.len() + AROUND;
        let around = bytes.get(at.saturating_sub(AROUND)..end.min(bytes.len()))?;
        Some(String::from_utf8_lossy(around).into_owned().into())
    }
}

/// Where a byte string begins in another.
fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    match needle {
        [] => None,
        needle => bytes.windows(needle.len()).position(|part| part == needle),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_in_texts_and_in_bytes_of_two_codings() {
        let text = |text: &'static str| Leaf::Text("string", text.into());
        let lower = Pattern::text("Straße", true);
        assert!(lower.find(&text("eine STRAßE")).is_some());
        assert!(
            Pattern::text("Straße", false)
                .find(&text("STRAßE"))
                .is_none()
        );
        let bytes: Vec<u8> = "xx\u{e9}yy"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let pattern = Pattern::text("\u{e9}y", false);
        assert!(pattern.find(&Leaf::Bytes(&bytes)).is_some());
        assert!(pattern.find(&Leaf::Bytes("a\u{e9}y".as_bytes())).is_some());
        assert!(pattern.find(&Leaf::Bytes(b"eyy")).is_none());
        let kind = Pattern::Type("blob".into());
        assert!(kind.find(&Leaf::Object("Blob")).is_some());
        assert!(kind.find(&text("Blob")).is_none());
    }
}
