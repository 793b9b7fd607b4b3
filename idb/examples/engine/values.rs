//! The engine's values: a made-up serialisation, and what its key paths find in it.

use larder_idb::{Key, KeyPath};

/// What a page of this engine stores. Serialised, names and values stand behind their lengths.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Book(Vec<(String, String)>);

impl Book {
    pub(crate) fn new(title: &str, author: &str) -> Self {
        let properties = [("title", title), ("author", author)];
        Self(
            properties
                .map(|(name, value)| (name.into(), value.into()))
                .into(),
        )
    }

    pub(crate) fn serialize(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for text in self.0.iter().flat_map(|(name, value)| [name, value]) {
            bytes.extend(u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes());
            bytes.extend(text.as_bytes());
        }
        bytes
    }

    /// The value that was serialised, if it was one.
    pub(crate) fn deserialize(mut bytes: &[u8]) -> Option<Self> {
        let mut texts = Vec::new();
        while let Some((len, rest)) = bytes.split_first_chunk() {
            let len = usize::try_from(u32::from_be_bytes(*len)).ok()?;
            let (text, rest) = rest.split_at_checked(len)?;
            texts.push(String::from_utf8(text.to_vec()).ok()?);
            bytes = rest;
        }
        let (pairs, odd) = texts.as_chunks::<2>();
        let properties = pairs
            .iter()
            .map(|[name, value]| (name.clone(), value.clone()));
        (odd.is_empty() && bytes.is_empty()).then(|| Self(properties.collect()))
    }
}

/// The keys that a key path finds: none, one, or for `multi_entry` each word.
pub(crate) fn keys_at(bytes: &[u8], path: &KeyPath, multi_entry: bool) -> Vec<Key> {
    let KeyPath::String(name) = path else {
        return Vec::new();
    };
    let Some(Book(properties)) = Book::deserialize(bytes) else {
        return Vec::new();
    };
    let found = properties.iter().find(|(property, _)| *name == **property);
    let text = found.map(|(_, value)| value.as_str());
    match multi_entry {
        true => text
            .into_iter()
            .flat_map(str::split_whitespace)
            .map(Key::from)
            .collect(),
        false => text.map(Key::from).into_iter().collect(),
    }
}

pub(crate) fn path(name: &str) -> KeyPath {
    KeyPath::String(name.into())
}
