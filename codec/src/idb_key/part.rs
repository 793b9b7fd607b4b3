//! A key piece by piece: scalars and array heads in the order of their bytes.

use crate::error::{ErrorKind, Result};
use crate::idb_key::{LEVEL_MAX, TAG_ARRAY, TAG_BINARY, TAG_DATE, TAG_NUMBER, TAG_STRING};
use crate::js_string::Utf16Be;
use crate::primitive::{binary, double, string_with_length, var_int};
use crate::reader::Reader;

/// One piece of a key, borrowing from its bytes: a whole scalar, or the head of an array.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum KeyPart<'a> {
    /// A number, not NaN.
    Number(f64),
    /// Milliseconds since 1970 UTC, not NaN.
    Date(f64),
    /// A string.
    String(Utf16Be<'a>),
    /// Bytes.
    Binary(&'a [u8]),
    /// The head of an array; the next `len` keys are its elements.
    Array {
        /// Number of elements.
        len: u64,
    },
}

/// Reads one piece that stands at `level`.
pub(crate) fn read<'a>(reader: &mut Reader<'a>, level: usize) -> Result<KeyPart<'a>> {
    let at_start = *reader;
    if level > LEVEL_MAX {
        let limit = LEVEL_MAX as u64;
        return Err(reader.error(ErrorKind::LimitExceeded { limit }, "key nesting"));
    }
    match reader.byte("key type")? {
        TAG_NUMBER => read_double(reader, "number key").map(KeyPart::Number),
        TAG_DATE => read_double(reader, "date key").map(KeyPart::Date),
        TAG_STRING => string_with_length::read(reader, "string key").map(KeyPart::String),
        TAG_BINARY => binary::read(reader, "binary key").map(KeyPart::Binary),
        TAG_ARRAY => {
            let len = var_int::read_length(reader, "array key length")?;
            Ok(KeyPart::Array { len })
        }
        tag => Err(at_start.error(ErrorKind::UnknownTag { tag }, "key type")),
    }
}

fn read_double(reader: &mut Reader<'_>, what: &'static str) -> Result<f64> {
    let at_start = *reader;
    let value = double::read(reader)?;
    if value.is_nan() {
        let found = value.to_bits();
        return Err(at_start.error(ErrorKind::Invalid { found }, what));
    }
    Ok(value)
}

/// The pieces of one key, in the order of their bytes. Made by [`super::RawKey::parts`].
#[derive(Debug, Clone)]
pub struct KeyParts<'a> {
    reader: Reader<'a>,
}

impl<'a> KeyParts<'a> {
    pub(super) const fn new(key: &'a [u8]) -> Self {
        Self {
            reader: Reader::new(key),
        }
    }
}

impl<'a> Iterator for KeyParts<'a> {
    type Item = KeyPart<'a>;

    fn next(&mut self) -> Option<KeyPart<'a>> {
        // The key was checked when it was taken from its input: the only error is its end.
        read(&mut self.reader, 0).ok()
    }
}
