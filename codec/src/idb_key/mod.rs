//! IDBKey: an IndexedDB key, as an owned tree (`docs/FORMAT.md`, section 2).
//!
//! [`Key`] is the key itself, [`RawKey`] the same key still in its bytes, for scans.
//! [`KeyBound`] adds the two sentinels that only range ends have. The order is IndexedDB's:
//! number < date < string < binary < array; -0 equals 0.
//!
//! Keys nest up to [`LEVEL_MAX`] levels, new ones up to [`ARRAYS_MAX`] arrays. Nothing here recurses along that nesting beyond
//! a few levels, so no stack is too small.

mod array;
mod bound;
mod brief;
mod from;
pub(crate) mod order;
mod part;
mod raw;

#[cfg(test)]
pub(crate) mod tests;

pub use array::KeyArray;
pub use bound::KeyBound;
pub use from::KeyScalar;
pub use part::{KeyPart, KeyParts};
pub use raw::{KeyElements, RawKey};

use std::cmp::Ordering;

use crate::error::Result;
use crate::js_string::JsString;
use crate::primitive::{binary, double, string_with_length, var_int};
use crate::reader::{Reader, decode_exact_with, decode_with};

/// The deepest level at which a key may stand inside arrays, in bytes; the outermost key is at level 0.
pub const LEVEL_MAX: usize = 2000;

/// So many arrays may be one inside the other in a new key. In bytes there may be one more, the inmost
/// empty: Chromium 156 writes that where a key path is a list, and no page can name such a key.
pub const ARRAYS_MAX: usize = LEVEL_MAX;

/// Type byte of the sentinel above all keys.
pub(crate) const TAG_MAX: u8 = 0;
pub(crate) const TAG_STRING: u8 = 1;
pub(crate) const TAG_DATE: u8 = 2;
pub(crate) const TAG_NUMBER: u8 = 3;
pub(crate) const TAG_ARRAY: u8 = 4;
/// Type byte of the sentinel below all keys.
pub(crate) const TAG_MIN: u8 = 5;
pub(crate) const TAG_BINARY: u8 = 6;

/// An IndexedDB key.
///
/// Equality and order are those of keys: `Number(-0.0) == Number(0.0)`, although their bytes
/// differ. NaN is not a key: IndexedDB refuses it, and so does every decoder here; a NaN put in by
/// hand is written as it is and sorts after all other numbers.
///
/// ```
/// use larder_codec::Key;
/// let key = Key::from("a");
/// let mut bytes = Vec::new();
/// key.encode(&mut bytes);
/// assert_eq!(bytes, [1, 1, 0, 0x61]);
/// assert_eq!(Key::decode_exact(&bytes), Ok(key));
/// assert!(Key::Date(0.0) > Key::Number(f64::INFINITY));
/// ```
#[derive(Debug, Clone)]
pub enum Key {
    /// A number, not NaN.
    Number(f64),
    /// A date: milliseconds since 1970 UTC, not NaN.
    Date(f64),
    /// A string.
    String(JsString),
    /// Bytes: an ArrayBuffer or a view of one.
    Binary(Vec<u8>),
    /// An array of keys.
    Array(KeyArray),
}

impl Key {
    /// An array key.
    ///
    /// # Errors
    /// If more than [`ARRAYS_MAX`] arrays would be one inside the other.
    pub fn array(elements: Vec<Self>) -> Result<Self> {
        KeyArray::new(elements).map(Self::Array)
    }

    /// Levels of keys below this one: 0, or for an array with elements 1 + that of its deepest.
    #[must_use]
    pub fn height(&self) -> usize {
        match self {
            Self::Array(array) => array.height(),
            Self::Number(_) | Self::Date(_) | Self::String(_) | Self::Binary(_) => 0,
        }
    }

    /// Bytes of an encoded number: the type byte and a double.
    pub const NUMBER_LEN_BYTES: usize = 1 + double::LEN_BYTES;

    /// The type byte and the key, of a number: what [`encode`](Self::encode) appends.
    ///
    /// ```
    /// use larder_codec::Key;
    ///
    /// let mut bytes = Vec::new();
    /// Key::Number(1.5).encode(&mut bytes);
    /// assert_eq!(bytes, Key::encode_number(1.5));
    /// ```
    #[must_use]
    pub fn encode_number(number: f64) -> [u8; Self::NUMBER_LEN_BYTES] {
        let mut bytes = [TAG_NUMBER; Self::NUMBER_LEN_BYTES];
        bytes[1..].copy_from_slice(&double::to_bytes(number));
        bytes
    }

    /// Appends the type byte and the key.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Array(array) => encode_array(array, out),
            scalar => scalar.encode_scalar(out),
        }
    }

    fn encode_scalar(&self, out: &mut Vec<u8>) {
        match self {
            Self::Number(number) => out.extend_from_slice(&Self::encode_number(*number)),
            Self::Date(milliseconds) => {
                out.push(TAG_DATE);
                double::encode(*milliseconds, out);
            }
            Self::String(string) => {
                out.push(TAG_STRING);
                string_with_length::encode(string, out);
            }
            Self::Binary(bytes) => {
                out.push(TAG_BINARY);
                binary::encode(bytes, out);
            }
            Self::Array(_) => {}
        }
    }

    /// Takes one key.
    ///
    /// # Errors
    /// On short input, an unknown type byte, a sentinel (`00` or `05`), NaN, and an element deeper
    /// than [`LEVEL_MAX`].
    pub fn decode(input: &[u8]) -> Result<(Self, &[u8])> {
        decode_with(input, Self::read)
    }

    /// The key that is the whole of `input`.
    ///
    /// # Errors
    /// As [`Key::decode`], and on left-over bytes.
    pub fn decode_exact(input: &[u8]) -> Result<Self> {
        decode_exact_with(input, "key", Self::read)
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        // Elements read and number of elements missing, one entry per open array.
        let mut open: Vec<(Vec<Self>, u64)> = Vec::new();
        loop {
            let mut done = match part::read(reader, open.len())? {
                KeyPart::Number(number) => Self::Number(number),
                KeyPart::Date(milliseconds) => Self::Date(milliseconds),
                KeyPart::String(string) => Self::String(string.to_js_string()),
                KeyPart::Binary(bytes) => Self::Binary(bytes.to_vec()),
                KeyPart::Array { len: 0 } => Self::Array(KeyArray::default()),
                KeyPart::Array { len } => {
                    // The length is the disk's word: memory grows with what is really there.
                    open.push((Vec::new(), len));
                    continue;
                }
            };
            // Put the key into the innermost open array; if that is now full it is a key, too.
            loop {
                let Some((mut elements, missing)) = open.pop() else {
                    return Ok(done);
                };
                elements.push(done);
                if missing > 1 {
                    open.push((elements, missing - 1));
                    break;
                }
                done = Self::Array(KeyArray::from_bytes(elements)?);
            }
        }
    }
}

fn encode_array(array: &KeyArray, out: &mut Vec<u8>) {
    // Iterators over the elements still to be written, one per open array.
    let mut open = Vec::new();
    let mut begun = Some(array);
    loop {
        if let Some(array) = begun {
            out.push(TAG_ARRAY);
            var_int::encode(array.len() as i64, out);
            open.push(array.iter());
        }
        let Some(elements) = open.last_mut() else {
            return;
        };
        begun = match elements.next() {
            Some(Key::Array(array)) => Some(array),
            Some(scalar) => {
                scalar.encode_scalar(out);
                None
            }
            None => {
                open.pop();
                None
            }
        };
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) | (Self::Date(a), Self::Date(b)) => {
                compare_doubles(*a, *b)
            }
            (Self::String(a), Self::String(b)) => a.cmp(b),
            (Self::Binary(a), Self::Binary(b)) => a.cmp(b),
            (Self::Array(a), Self::Array(b)) => a.cmp(b),
            _ => self.type_rank().cmp(&other.type_rank()),
        }
    }
}

impl Key {
    const fn type_rank(&self) -> u8 {
        match self {
            Self::Number(_) => 0,
            Self::Date(_) => 1,
            Self::String(_) => 2,
            Self::Binary(_) => 3,
            Self::Array(_) => 4,
        }
    }
}

/// By value, so that -0 equals 0; NaN, which is no key, after everything.
fn compare_doubles(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b)
        .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}
