//! [`Revision`]: the value of a record that Larder itself writes, one for each change of a tracked database
//! (`docs/format/feed.md`).
//!
//! It is an ordinary object of JavaScript's, so that a page can read its own feed, with its properties in one order, so that it is
//! read without a tree.

use super::envelope::Payload;
use super::js_str::JsStr;
use super::reader::{Reader, error, invalid};
use super::tag::v8 as tag;
use super::writer::Writer;
use crate::idb_key::{Key, KeyPart, LEVEL_MAX, RawKey, TAG_ARRAY, TAG_BINARY, TAG_STRING};
use crate::ids::{ObjectStoreId, RecordVersion};
use crate::js_string::JsString;
use crate::primitive::{binary, var_int};
use crate::{DataVersion, ErrorKind, Result};

/// What a revision did to its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RevisionKind {
    /// There was no such record before.
    Creation,
    /// There was, with another value or the same.
    Modification,
    /// It is gone.
    Removal,
}

impl RevisionKind {
    const fn number(self) -> i32 {
        match self {
            Self::Creation => 1,
            Self::Modification => 2,
            Self::Removal => 3,
        }
    }
}

/// One revision, but for its number, which is its key. `S` is how strings are kept: [`JsString`] to write, [`JsStr`] as read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Revision<S> {
    /// The record's object store.
    pub object_store_id: ObjectStoreId,
    /// Its name when the record changed.
    pub object_store_name: S,
    /// What happened.
    pub kind: RevisionKind,
    /// The version that the record has since then, or would have if it were not removed. Among the revisions of one object store it
    /// ascends.
    pub version: RecordVersion,
    /// The change came from a source that the database is a copy of.
    pub is_from_source: bool,
    /// In the last revision of a transaction: when it was committed, in milliseconds since 1970 UTC.
    pub committed_at_ms: Option<f64>,
}

/// Names of the properties, in their order.
const STORE: &[u8] = b"store";
const NAME: &[u8] = b"name";
const KEY: &[u8] = b"key";
const KIND: &[u8] = b"operation";
const VERSION: &[u8] = b"version";
const FROM_SOURCE: &[u8] = b"fromSource";
const COMMITTED: &[u8] = b"committed";

impl Revision<&JsString> {
    /// Appends the value, for a store of this data version. `key` is the record's.
    pub fn encode(&self, key: RawKey<'_>, version: DataVersion, out: &mut Vec<u8>) {
        let mut writer = Writer::begin_in(version, out);
        let mut count = 5_u32;
        writer.byte(tag::BEGIN_OBJECT);
        writer.string(JsStr::Latin1(STORE));
        writer.number(self.object_store_id.get() as f64);
        writer.string(JsStr::Latin1(NAME));
        write_units(&mut writer, || {
            self.object_store_name.units().iter().copied()
        });
        writer.string(JsStr::Latin1(KEY));
        write_key(&mut writer, key);
        writer.string(JsStr::Latin1(KIND));
        writer.number(f64::from(self.kind.number()));
        writer.string(JsStr::Latin1(VERSION));
        writer.number(self.version.get() as f64);
        if self.is_from_source {
            count += 1;
            writer.string(JsStr::Latin1(FROM_SOURCE));
            writer.byte(tag::TRUE);
        }
        if let Some(committed_at_ms) = self.committed_at_ms {
            count += 1;
            writer.string(JsStr::Latin1(COMMITTED));
            writer.double(committed_at_ms);
        }
        writer.byte(tag::END_OBJECT);
        writer.varint(count);
        writer.end();
    }
}

fn write_units<I: Iterator<Item = u16>>(writer: &mut Writer<'_>, units: impl Fn() -> I) {
    let mut bytes = Vec::new();
    if units().all(|unit| unit <= 0xff) {
        bytes.extend(units().map(|unit| unit.to_le_bytes()[0]));
        writer.string(JsStr::Latin1(&bytes));
    } else {
        bytes.extend(units().flat_map(u16::to_le_bytes));
        writer.string(JsStr::Utf16Le(&bytes));
    }
}

/// Writes a key as the value that JavaScript shows.
fn write_key(writer: &mut Writer<'_>, key: RawKey<'_>) {
    // The arrays that are open: elements to come, and length.
    let mut open: Vec<(u64, u64)> = Vec::new();
    for part in key.parts() {
        match part {
            KeyPart::Number(number) => writer.number(number),
            KeyPart::Date(time_ms) => {
                writer.byte(tag::DATE);
                writer.f64(time_ms);
            }
            KeyPart::String(string) => write_units(writer, || string.units()),
            KeyPart::Binary(bytes) => {
                writer.byte(tag::ARRAY_BUFFER);
                writer.len(bytes.len());
                writer.bytes(bytes);
            }
            KeyPart::Array { len } => {
                writer.byte(tag::BEGIN_DENSE_ARRAY);
                writer.varint(len);
                open.push((len + 1, len));
            }
        }
        while let Some((left, len)) = open.last_mut() {
            *left -= 1;
            if *left > 0 {
                break;
            }
            writer.byte(tag::END_DENSE_ARRAY);
            writer.varint(0_u32);
            writer.varint(*len);
            open.pop();
        }
    }
}

impl<'a> Revision<JsStr<'a>> {
    /// Reads a revision; the record's key goes into `key`, encoded, in place of what is there.
    ///
    /// # Errors
    /// If it is not what [`encode`](Revision::encode) writes, whatever the data version.
    pub fn decode(payload: &Payload<'a>, key: &mut Vec<u8>) -> Result<Self> {
        let (wire, start) = payload.wire();
        let reader = &mut Reader::starting_at(wire, start);
        expect_tag(reader, tag::BEGIN_OBJECT)?;
        expect_name(reader, STORE)?;
        let at = reader.offset();
        let id = integer(reader)?;
        let Some(object_store_id) = ObjectStoreId::new(id) else {
            return invalid(id.unsigned_abs(), at, "object store id");
        };
        expect_name(reader, NAME)?;
        let object_store_name = string(reader)?;
        expect_name(reader, KEY)?;
        key.clear();
        read_key(reader, key)?;
        expect_name(reader, KIND)?;
        let at = reader.offset();
        let kind = match integer(reader)? {
            1 => RevisionKind::Creation,
            2 => RevisionKind::Modification,
            3 => RevisionKind::Removal,
            other => return invalid(other.unsigned_abs(), at, "operation of a revision"),
        };
        expect_name(reader, VERSION)?;
        let at = reader.offset();
        let version = integer(reader)?;
        let Some(version) = RecordVersion::new(version) else {
            return invalid(version.unsigned_abs(), at, "record version");
        };
        let mut revision = Self {
            object_store_id,
            object_store_name,
            kind,
            version,
            is_from_source: false,
            committed_at_ms: None,
        };
        if has_name(reader, FROM_SOURCE) {
            expect_tag(reader, tag::TRUE)?;
            revision.is_from_source = true;
        }
        if has_name(reader, COMMITTED) {
            expect_tag(reader, tag::DOUBLE)?;
            revision.committed_at_ms = Some(reader.f64("time of a commit")?);
        }
        expect_tag(reader, tag::END_OBJECT)?;
        reader.varint_u32("count of properties")?;
        reader.expect_end("revision")?;
        Ok(revision)
    }
}

fn expect_tag(reader: &mut Reader<'_>, expected: u8) -> Result<()> {
    let at = reader.offset();
    match reader.byte("revision")? {
        found if found == expected => Ok(()),
        tag => error(ErrorKind::UnknownTag { tag }, at, "revision"),
    }
}

fn has_name(reader: &mut Reader<'_>, name: &[u8]) -> bool {
    let before = *reader;
    let head = [tag::ONE_BYTE_STRING, name.len().to_le_bytes()[0]];
    let is_it = reader.bytes(2, "name").is_ok_and(|found| found == head)
        && reader
            .bytes(name.len(), "name")
            .is_ok_and(|found| found == name);
    if !is_it {
        *reader = before;
    }
    is_it
}

fn expect_name(reader: &mut Reader<'_>, name: &[u8]) -> Result<()> {
    match has_name(reader, name) {
        true => Ok(()),
        false => invalid(0, reader.offset(), "property of a revision"),
    }
}

/// A number without a fraction that a double has exactly.
fn integer(reader: &mut Reader<'_>) -> Result<i64> {
    let at = reader.offset();
    match reader.byte("number of a revision")? {
        tag::INT32 => reader.zigzag("number of a revision").map(i64::from),
        tag::DOUBLE => {
            let number = reader.f64("number of a revision")?;
            let integer = number as i64;
            match integer as f64 == number && integer.unsigned_abs() < 1 << 53 {
                true => Ok(integer),
                false => invalid(number.to_bits(), at, "number of a revision"),
            }
        }
        tag => error(ErrorKind::UnknownTag { tag }, at, "number of a revision"),
    }
}

/// V8 pads before strings of two-byte units.
fn skip_padding(reader: &mut Reader<'_>) {
    while reader.byte_at(reader.offset()) == Some(tag::PADDING) {
        let _ = reader.byte("padding");
    }
}

fn string<'a>(reader: &mut Reader<'a>) -> Result<JsStr<'a>> {
    skip_padding(reader);
    let at = reader.offset();
    let tag = reader.byte("string of a revision")?;
    string_behind(reader, tag, at)
}

fn string_behind<'a>(reader: &mut Reader<'a>, tag: u8, at: usize) -> Result<JsStr<'a>> {
    let what = "string of a revision";
    match tag {
        tag::ONE_BYTE_STRING => {
            let len = reader.varint_u32(what)?;
            reader.bytes(len as usize, what).map(JsStr::Latin1)
        }
        tag::TWO_BYTE_STRING => {
            let len = reader.varint_u32(what)?;
            let bytes = reader.bytes(len as usize, what)?;
            match JsStr::from_utf16_le(bytes) {
                Some(string) => Ok(string),
                None => invalid(u64::from(len), at, what),
            }
        }
        tag => error(ErrorKind::UnknownTag { tag }, at, what),
    }
}

/// Reads a key's value and appends the key's bytes.
fn read_key(reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
    let what = "key of a revision";
    let mut open: Vec<(u64, u64)> = Vec::new();
    loop {
        skip_padding(reader);
        let at = reader.offset();
        match reader.byte(what)? {
            tag::INT32 => {
                let number = f64::from(reader.zigzag(what)?);
                Key::Number(number).encode(out);
            }
            tag::DOUBLE => {
                let number = reader.f64(what)?;
                if number.is_nan() {
                    return invalid(number.to_bits(), at, what);
                }
                Key::Number(number).encode(out);
            }
            tag::DATE => {
                let time_ms = reader.f64(what)?;
                if time_ms.is_nan() {
                    return invalid(time_ms.to_bits(), at, what);
                }
                Key::Date(time_ms).encode(out);
            }
            tag::ARRAY_BUFFER => {
                let len = reader.varint_u32(what)?;
                out.push(TAG_BINARY);
                binary::encode(reader.bytes(len as usize, what)?, out);
            }
            tag::BEGIN_DENSE_ARRAY => {
                let len = u64::from(reader.varint_u32(what)?);
                if open.len() >= LEVEL_MAX {
                    let limit = LEVEL_MAX as u64;
                    return error(ErrorKind::LimitExceeded { limit }, at, what);
                }
                out.push(TAG_ARRAY);
                var_int::encode(i64::try_from(len).unwrap_or(i64::MAX), out);
                open.push((len + 1, len));
            }
            tag => {
                let string = string_behind(reader, tag, at)?;
                out.push(TAG_STRING);
                let len = string.len_units();
                var_int::encode(i64::try_from(len).unwrap_or(i64::MAX), out);
                out.extend(string.units().flat_map(u16::to_be_bytes));
            }
        }
        loop {
            let Some((left, len)) = open.last_mut() else {
                return Ok(());
            };
            *left -= 1;
            if *left > 0 {
                break;
            }
            expect_tag(reader, tag::END_DENSE_ARRAY)?;
            let at = reader.offset();
            let told = (reader.varint_u32(what)?, reader.varint_u32(what)?);
            if told != (0, u32::try_from(*len).unwrap_or(u32::MAX)) {
                return invalid(u64::from(told.1), at, what);
            }
            open.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use quickcheck::quickcheck;

    use super::*;
    use crate::KeyPath;
    use crate::value::{Decoder, Evaluator, ParsedKeyPath};

    fn sample(name: &JsString, committed_at_ms: Option<f64>) -> Revision<&JsString> {
        Revision {
            object_store_id: ObjectStoreId::new(300).unwrap(),
            object_store_name: name,
            kind: RevisionKind::Modification,
            version: RecordVersion::new(1 << 40).unwrap(),
            is_from_source: committed_at_ms.is_none(),
            committed_at_ms,
        }
    }

    fn encoded(revision: &Revision<&JsString>, key: &Key, version: DataVersion) -> Vec<u8> {
        let (mut key_bytes, mut out) = (Vec::new(), Vec::new());
        key.encode(&mut key_bytes);
        let raw = RawKey::decode_exact(&key_bytes).unwrap();
        revision.encode(raw, version, &mut out);
        out
    }

    const NOW: DataVersion = DataVersion { v8: 15, blink: 21 };

    #[test]
    fn its_bytes_are_those_of_the_documented_object() {
        let name = JsString::from("books");
        let bytes = encoded(&sample(&name, Some(1.5)), &Key::from("a"), NOW);
        let wire = b"o\"\x05storeI\xd8\x04\"\x04name\"\x05books\"\x03key\"\x01a\"\x09operationI\x04\"\x07versionN\0\0\0\0\0\0\x70\x42\
            \"\x09committedN\0\0\0\0\0\0\xf8\x3f{\x06";
        assert_eq!(bytes[17..], *wire);
    }

    quickcheck! {
        fn it_is_read_as_it_was_written_and_a_page_finds_its_key(key: Key, name: JsString, ended: bool, old: bool) -> bool {
            let version = if old { DataVersion { v8: 13, blink: 17 } } else { NOW };
            let revision = sample(&name, ended.then_some(2.0));
            let bytes = encoded(&revision, &key, version);
            let payload = Payload::read(&bytes).unwrap();
            let mut found = Vec::new();
            let read = Revision::decode(&payload, &mut found).unwrap();
            let path = ParsedKeyPath::new(&KeyPath::String("key".into())).unwrap();
            let evaluated = Evaluator::new().evaluate(&path, &payload, &[]).unwrap().key();
            Decoder::new().decode(&payload).unwrap();
            let mut expected = Vec::new();
            key.encode(&mut expected);
            // No page has a date that JavaScript has not.
            let is_a_pages = RawKey::decode_exact(&expected).unwrap().parts().all(
                |part| !matches!(part, KeyPart::Date(time_ms) if crate::value::time_clip(time_ms).is_nan() || time_ms.fract() != 0.0));
            let units: Vec<u16> = read.object_store_name.units().collect();
            units == name.units()
                && found == expected
                && (!is_a_pages || evaluated == Some(key))
                && (read.object_store_id, read.kind, read.version) == (revision.object_store_id, revision.kind, revision.version)
                && (read.is_from_source, read.committed_at_ms) == (!ended, ended.then_some(2.0))
        }

        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, at: usize, byte: u8) -> bool {
            let read = |bytes: &[u8]| Payload::read(bytes).map(|payload| Revision::decode(&payload, &mut Vec::new()).is_ok());
            let mut harmed = encoded(&sample(&JsString::from("s"), None), &Key::from(1), NOW);
            let at = at % harmed.len();
            harmed[at] = byte;
            let _ = (read(&bytes), read(&harmed), read(&harmed[..at]));
            true
        }
    }
}
