//! The change feed's object stores: their names, and the keys of what they keep (`docs/format/feed.md`).
//!
//! The values of revisions are [`RevisionsRow`](crate::value::RevisionsRow).

use crate::error::Result;
use crate::idb_key::{Key, RawKey, TAG_ARRAY};
use crate::ids::{ObjectStoreId, RecordVersion};
use crate::primitive::var_int;
use crate::reader::{Reader, decode_exact_with};
use crate::value::{
    ArrayBuffer, BufferKind, Builder, Decoder, Needs, Object, Payload, PropertyName, Value,
};
use crate::{ErrorKind, JsString, KeyPath};

/// What the names of the feed's object stores begin with, and no other's do.
pub const RESERVED_PREFIX: &str = "larder.feed.";
/// The revisions by number.
pub const REVISIONS: &str = "larder.feed.revisions";
/// The index of the revisions by object store and version.
pub const BY_VERSION: &str = "by version";
/// What records were before they were overwritten or removed.
pub const HISTORY: &str = "larder.feed.history";
/// The consumers by name.
pub const CONSUMERS: &str = "larder.feed.consumers";

/// The version of a record of the history whose value is not known. All others have a lesser one.
pub const LOST_VERSION: i64 = 3;
/// Among the consumers, the key of how far clean-up has come: two numbers.
pub const CLEANED_KEY: f64 = 0.0;
/// Among the consumers, the key of the store's last sequence number when this was written: one number.
pub const SEQUENCE_KEY: f64 = 1.0;

/// Whether it is the key of that number among the consumers. Every LevelDB counts by itself, so a copy of the rows is without it.
#[must_use]
pub fn is_sequence_key(key: RawKey<'_>) -> bool {
    key.as_bytes() == Key::encode_number(SEQUENCE_KEY)
}

/// Appends an array of numbers, as the consumers' values are.
pub fn build_numbers(numbers: &[u64], out: &mut Vec<u8>) -> Needs {
    let mut builder = Builder::begin(out);
    builder.begin_array(u32::try_from(numbers.len()).unwrap_or(u32::MAX));
    for number in numbers {
        builder.number(*number as f64);
    }
    builder.close();
    builder.end()
}

/// Appends an array of numbers as [`build_numbers`] does, and behind them bytes of the consumer's own.
pub fn build_noted(numbers: &[u64], note: &[u8], out: &mut Vec<u8>) -> Needs {
    let mut builder = Builder::begin(out);
    builder.begin_array(u32::try_from(numbers.len() + 1).unwrap_or(u32::MAX));
    for number in numbers {
        builder.number(*number as f64);
    }
    let kind = BufferKind::Fixed;
    builder.leaf(&Object::ArrayBuffer(ArrayBuffer { bytes: note, kind }));
    builder.close();
    builder.end()
}

/// Reads the bytes that stand behind so many numbers; `None` if there are none.
///
/// # Errors
/// If the bytes are no value.
pub fn read_note(bytes: &[u8], numbers: u32) -> Result<Option<Vec<u8>>> {
    let tree = Decoder::new().decode(&Payload::read(bytes)?)?;
    let Value::Object(array) = tree.root() else {
        return Ok(None);
    };
    Ok(match tree.get(array, &PropertyName::Index(numbers)) {
        Some(Value::Object(buffer)) => tree.array_buffer(buffer).map(|found| found.bytes.to_vec()),
        _ => None,
    })
}

/// Reads such an array; what is no number in it is 0.
///
/// # Errors
/// If the bytes are no value.
pub fn read_numbers<const N: usize>(bytes: &[u8]) -> Result<[u64; N]> {
    let tree = Decoder::new().decode(&Payload::read(bytes)?)?;
    let number = |index| match tree.root() {
        Value::Object(array) => match tree.get(array, &PropertyName::Index(index)) {
            Some(Value::Number(number)) => number as u64,
            _ => 0,
        },
        _ => 0,
    };
    Ok(std::array::from_fn(|index| number(index as u32)))
}

/// Whether a name is the feed's.
#[must_use]
pub fn is_reserved(name: &JsString) -> bool {
    let mut units = name.units().iter().copied();
    RESERVED_PREFIX
        .encode_utf16()
        .all(|unit| units.next() == Some(unit))
}

/// Whether it is the name of the history, whose records have no exists rows: all else that has records has them.
#[must_use]
pub fn is_history(name: &JsString) -> bool {
    name.units().iter().copied().eq(HISTORY.encode_utf16())
}

/// The key path of the index of the revisions, which is multi-entry.
#[must_use]
pub fn by_version_path() -> KeyPath {
    KeyPath::String("ends".into())
}

/// Appends the head of an array key of so many elements, of which the first is an object store's number.
fn encode_head(len: i64, object_store_id: ObjectStoreId, out: &mut Vec<u8>) {
    out.push(TAG_ARRAY);
    var_int::encode(len, out);
    out.extend_from_slice(&Key::encode_number(object_store_id.get() as f64));
}

/// Appends the key that the index of the revisions has for the last of an object store's in a record of them.
pub fn encode_version(object_store_id: ObjectStoreId, version: RecordVersion, out: &mut Vec<u8>) {
    encode_head(2, object_store_id, out);
    out.extend_from_slice(&Key::encode_number(version.get() as f64));
}

/// What such a key says.
#[must_use]
pub fn decode_version(key: RawKey<'_>) -> Option<(ObjectStoreId, RecordVersion)> {
    let Key::Array(elements) = key.to_key() else {
        return None;
    };
    match &*elements {
        [Key::Number(id), Key::Number(version)] => Some((
            ObjectStoreId::new(integer(*id)?)?,
            RecordVersion::new(integer(*version)?)?,
        )),
        _ => None,
    }
}

fn integer(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
}

/// The key of what a record was: an array of the object store's number, the record's key, the version that it had, and the version
/// of the change that ended that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HistoryKey<'a> {
    /// The record's object store.
    pub object_store_id: ObjectStoreId,
    /// The record's key.
    pub key: RawKey<'a>,
    /// The version that the record had.
    pub since: RecordVersion,
    /// The version of the revision that overwrote or removed it.
    pub until: RecordVersion,
}

impl<'a> HistoryKey<'a> {
    /// Appends the key.
    pub fn encode(&self, out: &mut Vec<u8>) {
        encode_head(4, self.object_store_id, out);
        self.key.encode(out);
        for version in [self.since, self.until] {
            out.extend_from_slice(&Key::encode_number(version.get() as f64));
        }
    }

    /// The key that is the whole of `input`.
    ///
    /// # Errors
    /// If it is another key.
    pub fn decode_exact(input: &'a [u8]) -> Result<Self> {
        decode_exact_with(input, "key of the history", Self::read)
    }

    fn read(reader: &mut Reader<'a>) -> Result<Self> {
        let at_start = *reader;
        let invalid =
            |found: u64| at_start.error(ErrorKind::Invalid { found }, "key of the history");
        let tag = reader.byte("key of the history")?;
        if tag != TAG_ARRAY {
            return Err(invalid(u64::from(tag)));
        }
        let len = var_int::read_length(reader, "key of the history")?;
        if len != 4 {
            return Err(invalid(len));
        }
        let number = |reader: &mut Reader<'a>| -> Result<i64> {
            match RawKey::read(reader)?.to_key() {
                Key::Number(number) => integer(number).ok_or_else(|| invalid(0)),
                _ => Err(invalid(0)),
            }
        };
        let object_store_id = number(reader)?;
        let key = RawKey::read(reader)?;
        let (since, until) = (number(reader)?, number(reader)?);
        let all = (
            ObjectStoreId::new(object_store_id),
            RecordVersion::new(since),
            RecordVersion::new(until),
        );
        match all {
            (Some(object_store_id), Some(since), Some(until)) => Ok(Self {
                object_store_id,
                key,
                since,
                until,
            }),
            _ => Err(invalid(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use quickcheck::quickcheck;

    use super::*;

    fn history_key(store: u16, key: &Key, since: u32, lasted: u16) -> Vec<u8> {
        let mut raw = Vec::new();
        key.encode(&mut raw);
        let mut bytes = Vec::new();
        HistoryKey {
            object_store_id: ObjectStoreId::new(i64::from(store) + 1).unwrap(),
            key: RawKey::decode_exact(&raw).unwrap(),
            since: RecordVersion::new(i64::from(since) + 1).unwrap(),
            until: RecordVersion::new(i64::from(since) + i64::from(lasted) + 2).unwrap(),
        }
        .encode(&mut bytes);
        bytes
    }

    quickcheck! {
        fn keys_of_the_history_are_keys_in_the_order_of_their_parts(a: (u16, Key, u32), b: (u16, Key, u32)) -> bool {
            let (one, other) = (history_key(a.0, &a.1, a.2, 1), history_key(b.0, &b.1, b.2, 7));
            let read = HistoryKey::decode_exact(&one).unwrap();
            let again = history_key(a.0, &read.key.to_key(), a.2, 1);
            let (one_key, other_key) = (Key::decode_exact(&one).unwrap(), Key::decode_exact(&other).unwrap());
            let by_parts = a.0.cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2));
            again == one && (by_parts.is_eq() || one_key.cmp(&other_key) == by_parts)
        }

        fn any_bytes_are_a_key_of_the_history_or_refused(bytes: Vec<u8>) -> bool {
            HistoryKey::decode_exact(&bytes).is_err() || Key::decode_exact(&bytes).is_ok()
        }
    }

    #[test]
    fn only_the_feeds_names_are_reserved() {
        for name in [REVISIONS, HISTORY, CONSUMERS, RESERVED_PREFIX] {
            assert!(is_reserved(&name.into()), "{name}");
        }
        for name in ["", "larder", "larder.feed", "Larder.feed.revisions", "x"] {
            assert!(!is_reserved(&name.into()), "{name}");
        }
    }
}
