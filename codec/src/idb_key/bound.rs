//! A key or one of the two sentinels around all keys (`docs/FORMAT.md`, 2.3).
//!
//! The sentinels stand in the ends of ranges that are looked up, never in stored rows.

use super::{Key, TAG_MAX, TAG_MIN};
use crate::error::Result;
use crate::reader::{Reader, decode_exact_with, decode_with};

/// A place in the order of all keys.
///
/// ```
/// use larder_codec::{Key, KeyBound};
/// let key = KeyBound::Key(Key::from("a"));
/// assert!(KeyBound::Min < key && key < KeyBound::Max);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyBound {
    /// Below all keys: the single byte `05`.
    Min,
    /// A key.
    Key(Key),
    /// Above all keys: the single byte `00`.
    Max,
}

impl KeyBound {
    /// Appends the sentinel's byte or the key.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Min => out.push(TAG_MIN),
            Self::Key(key) => key.encode(out),
            Self::Max => out.push(TAG_MAX),
        }
    }

    /// Takes a sentinel or a key.
    ///
    /// # Errors
    /// As [`Key::decode`], but for the sentinels.
    pub fn decode(input: &[u8]) -> Result<(Self, &[u8])> {
        decode_with(input, Self::read)
    }

    /// The sentinel or key that is the whole of `input`.
    ///
    /// # Errors
    /// As [`KeyBound::decode`], and on left-over bytes.
    pub fn decode_exact(input: &[u8]) -> Result<Self> {
        decode_exact_with(input, "key", Self::read)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let sentinel = match reader.rest().first() {
            Some(&TAG_MIN) => Self::Min,
            Some(&TAG_MAX) => Self::Max,
            _ => return Key::read(reader).map(Self::Key),
        };
        reader.byte("key type")?;
        Ok(sentinel)
    }
}

impl From<Key> for KeyBound {
    fn from(key: Key) -> Self {
        Self::Key(key)
    }
}
