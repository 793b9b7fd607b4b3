//! [`RevisionsRow`]: the value of a record that Larder itself writes, one for some changes of a transaction in a tracked database
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

/// What revisions of one transaction have in common that are in one record. `S` is how strings are kept: [`JsString`] to write,
/// [`JsStr`] as read.
#[derive(Debug, Clone, PartialEq)]
pub struct RevisionsRow<S> {
    /// The object stores of the records that changed.
    pub object_stores: Vec<ChangedObjectStore<S>>,
    /// The changes came from a source that the database is a copy of.
    pub is_from_source: bool,
    /// If the last of them is the transaction's last: when that was committed, in milliseconds since 1970 UTC.
    pub committed_at_ms: Option<f64>,
}

/// An object store that revisions are of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangedObjectStore<S> {
    /// Its id.
    pub id: ObjectStoreId,
    /// Its name when the records changed.
    pub name: S,
    /// The greatest version among the revisions. Revisions of one object store have versions in their own order.
    pub version: RecordVersion,
}

/// One revision of a [`RevisionsRow`]. `K` is how its record's key is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RevisionRow<K> {
    /// How far its number is before that of the last revision, which is the record's key.
    pub back: u32,
    /// What happened.
    pub kind: RevisionKind,
    /// The record's object store.
    pub object_store_id: ObjectStoreId,
    /// The version that the record has since then, or would have if it were not removed.
    pub version: RecordVersion,
    /// The version that it had before, if there was one.
    pub before: Option<RecordVersion>,
    /// The record's key.
    pub key: K,
}

impl<K> RevisionRow<K> {
    /// This revision, with its key kept in another way.
    #[must_use]
    pub fn with_key<L>(&self, key: L) -> RevisionRow<L> {
        RevisionRow {
            back: self.back,
            kind: self.kind,
            object_store_id: self.object_store_id,
            version: self.version,
            before: self.before,
            key,
        }
    }
}

/// Names of the properties, in their order.
const ENDS: &[u8] = b"ends";
const NAMES: &[u8] = b"names";
const FROM_SOURCE: &[u8] = b"fromSource";
const COMMITTED: &[u8] = b"committed";
const CHANGES: &[u8] = b"changes";

/// The elements of a change.
const CHANGE_LEN: u32 = 6;

impl RevisionsRow<&JsString> {
    /// Appends the value with these revisions, for a store of this data version.
    pub fn encode<'a>(
        &self,
        revisions: impl ExactSizeIterator<Item = RevisionRow<RawKey<'a>>>,
        version: DataVersion,
        out: &mut Vec<u8>,
    ) {
        let mut writer = Writer::begin_in(version, out);
        let mut count = 3_u32;
        writer.byte(tag::BEGIN_OBJECT);
        writer.string(JsStr::Latin1(ENDS));
        let len = begin_array(&mut writer, self.object_stores.len());
        for object_store in &self.object_stores {
            begin_array(&mut writer, 2);
            writer.number(object_store.id.get() as f64);
            writer.number(object_store.version.get() as f64);
            end_array(&mut writer, 2);
        }
        end_array(&mut writer, len);
        writer.string(JsStr::Latin1(NAMES));
        begin_array(&mut writer, self.object_stores.len());
        for object_store in &self.object_stores {
            write_units(&mut writer, || object_store.name.units().iter().copied());
        }
        end_array(&mut writer, len);
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
        writer.string(JsStr::Latin1(CHANGES));
        let len = begin_array(&mut writer, revisions.len());
        for revision in revisions {
            begin_array(&mut writer, CHANGE_LEN as usize);
            writer.number(f64::from(revision.back));
            writer.number(f64::from(revision.kind.number()));
            writer.number(revision.object_store_id.get() as f64);
            writer.number(revision.version.get() as f64);
            let before = revision.before.map_or(0, RecordVersion::get);
            writer.number(before as f64);
            write_key(&mut writer, revision.key);
            end_array(&mut writer, CHANGE_LEN);
        }
        end_array(&mut writer, len);
        writer.byte(tag::END_OBJECT);
        writer.varint(count);
        writer.end();
    }
}

fn begin_array(writer: &mut Writer<'_>, len: usize) -> u32 {
    // No transaction is as long: its rows would not fit a batch.
    let len = u32::try_from(len).unwrap_or(u32::MAX);
    writer.byte(tag::BEGIN_DENSE_ARRAY);
    writer.varint(len);
    len
}

fn end_array(writer: &mut Writer<'_>, len: u32) {
    writer.byte(tag::END_DENSE_ARRAY);
    writer.varint(0_u32);
    writer.varint(len);
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
            end_array(writer, u32::try_from(*len).unwrap_or(u32::MAX));
            open.pop();
        }
    }
}

/// Reads a [`RevisionsRow`], and its revisions one by one.
#[derive(Debug, Clone)]
pub struct RevisionsReader<'a> {
    row: RevisionsRow<JsStr<'a>>,
    reader: Reader<'a>,
    len: u32,
    left: u32,
}

impl<'a> RevisionsReader<'a> {
    /// Reads what the revisions have in common.
    ///
    /// # Errors
    /// If it is not what [`encode`](RevisionsRow::encode) writes, whatever the data version.
    pub fn new(payload: &Payload<'a>) -> Result<Self> {
        let (wire, start) = payload.wire();
        let mut reader = Reader::starting_at(wire, start);
        let input = &mut reader;
        expect_tag(input, tag::BEGIN_OBJECT)?;
        expect_name(input, ENDS)?;
        let len = read_array(input)?;
        let mut ends = Vec::new();
        for _ in 0..len {
            expect_array(input, 2)?;
            ends.push((object_store_id(input)?, record_version(input)?));
            expect_end_of_array(input, 2)?;
        }
        expect_end_of_array(input, len)?;
        expect_name(input, NAMES)?;
        expect_array(input, len)?;
        let mut object_stores = Vec::with_capacity(ends.len());
        for (id, version) in ends {
            let name = string(input)?;
            object_stores.push(ChangedObjectStore { id, name, version });
        }
        expect_end_of_array(input, len)?;
        let mut row = RevisionsRow {
            object_stores,
            is_from_source: false,
            committed_at_ms: None,
        };
        if has_name(input, FROM_SOURCE) {
            expect_tag(input, tag::TRUE)?;
            row.is_from_source = true;
        }
        if has_name(input, COMMITTED) {
            expect_tag(input, tag::DOUBLE)?;
            row.committed_at_ms = Some(input.f64("time of a commit")?);
        }
        expect_name(input, CHANGES)?;
        let len = read_array(input)?;
        let mut this = Self {
            row,
            reader,
            len,
            left: len,
        };
        if len == 0 {
            this.end()?;
        }
        Ok(this)
    }

    /// What the revisions have in common.
    #[must_use]
    pub const fn row(&self) -> &RevisionsRow<JsStr<'a>> {
        &self.row
    }

    /// The next revision. Its key goes into `key`, encoded, in place of what is there.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn next<'k>(&mut self, key: &'k mut Vec<u8>) -> Result<Option<RevisionRow<RawKey<'k>>>> {
        if self.left == 0 {
            return Ok(None);
        }
        let reader = &mut self.reader;
        expect_array(reader, CHANGE_LEN)?;
        let at = reader.offset();
        let back = integer(reader)?;
        let Ok(back) = u32::try_from(back) else {
            return invalid(back.unsigned_abs(), at, "number of a revision");
        };
        let at = reader.offset();
        let kind = match integer(reader)? {
            1 => RevisionKind::Creation,
            2 => RevisionKind::Modification,
            3 => RevisionKind::Removal,
            other => return invalid(other.unsigned_abs(), at, "operation of a revision"),
        };
        let object_store_id = object_store_id(reader)?;
        let version = record_version(reader)?;
        let before = RecordVersion::new(integer(reader)?);
        key.clear();
        read_key(reader, key)?;
        expect_end_of_array(reader, CHANGE_LEN)?;
        self.left -= 1;
        if self.left == 0 {
            self.end()?;
        }
        Ok(Some(RevisionRow {
            back,
            kind,
            object_store_id,
            version,
            before,
            key: RawKey::decode_exact(key)?,
        }))
    }

    fn end(&mut self) -> Result<()> {
        let reader = &mut self.reader;
        expect_end_of_array(reader, self.len)?;
        expect_tag(reader, tag::END_OBJECT)?;
        reader.varint_u32("count of properties")?;
        reader.expect_end("revisions")
    }
}

fn read_array(reader: &mut Reader<'_>) -> Result<u32> {
    expect_tag(reader, tag::BEGIN_DENSE_ARRAY)?;
    reader.varint_u32("array of revisions")
}

fn expect_array(reader: &mut Reader<'_>, expected: u32) -> Result<()> {
    let at = reader.offset();
    match read_array(reader)? {
        len if len == expected => Ok(()),
        len => invalid(u64::from(len), at, "array of revisions"),
    }
}

fn expect_end_of_array(reader: &mut Reader<'_>, expected: u32) -> Result<()> {
    let what = "array of revisions";
    expect_tag(reader, tag::END_DENSE_ARRAY)?;
    let at = reader.offset();
    let told = (reader.varint_u32(what)?, reader.varint_u32(what)?);
    match told == (0, expected) {
        true => Ok(()),
        false => invalid(u64::from(told.1), at, what),
    }
}

fn object_store_id(reader: &mut Reader<'_>) -> Result<ObjectStoreId> {
    let at = reader.offset();
    let id = integer(reader)?;
    match ObjectStoreId::new(id) {
        Some(id) => Ok(id),
        None => invalid(id.unsigned_abs(), at, "object store id"),
    }
}

fn record_version(reader: &mut Reader<'_>) -> Result<RecordVersion> {
    let at = reader.offset();
    let version = integer(reader)?;
    match RecordVersion::new(version) {
        Some(version) => Ok(version),
        None => invalid(version.unsigned_abs(), at, "record version"),
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
            expect_end_of_array(reader, u32::try_from(*len).unwrap_or(u32::MAX))?;
            open.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use quickcheck::quickcheck;

    use super::*;
    use crate::KeyPath;
    use crate::value::{Decoder, Evaluated, Evaluator, ParsedKeyPath};

    const NOW: DataVersion = DataVersion { v8: 15, blink: 21 };

    fn row(name: &JsString, committed_at_ms: Option<f64>) -> RevisionsRow<&JsString> {
        RevisionsRow {
            object_stores: vec![ChangedObjectStore {
                id: ObjectStoreId::new(300).unwrap(),
                name,
                version: RecordVersion::new(1 << 40).unwrap(),
            }],
            is_from_source: committed_at_ms.is_none(),
            committed_at_ms,
        }
    }

    fn revision(key: RawKey<'_>, back: u32) -> RevisionRow<RawKey<'_>> {
        RevisionRow {
            back,
            kind: RevisionKind::Modification,
            object_store_id: ObjectStoreId::new(300).unwrap(),
            version: RecordVersion::new((1 << 40) - i64::from(back)).unwrap(),
            before: RecordVersion::new(i64::from(back % 3)),
            key,
        }
    }

    fn raw(key: &Key) -> Vec<u8> {
        let mut bytes = Vec::new();
        key.encode(&mut bytes);
        bytes
    }

    fn encoded(row: &RevisionsRow<&JsString>, keys: &[Key], version: DataVersion) -> Vec<u8> {
        let keys: Vec<Vec<u8>> = keys.iter().map(raw).collect();
        let mut out = Vec::new();
        let revisions = keys.iter().enumerate().map(|(at, key)| {
            let back = (keys.len() - 1 - at) as u32;
            revision(RawKey::decode_exact(key).unwrap(), back)
        });
        row.encode(revisions, version, &mut out);
        out
    }

    #[test]
    fn its_bytes_are_those_of_the_documented_object() {
        let name = JsString::from("books");
        let bytes = encoded(&row(&name, Some(1.5)), &["a".into()], NOW);
        let wire = b"o\"\x04endsA\x01A\x02I\xd8\x04N\0\0\0\0\0\0\x70\x42$\0\x02$\0\x01\"\x05namesA\x01\"\x05books$\0\x01\
            \"\x09committedN\0\0\0\0\0\0\xf8\x3f\"\x07changesA\x01A\x06I\0I\x04I\xd8\x04N\0\0\0\0\0\0\x70\x42I\0\"\x01a$\0\x06$\0\x01{\x04";
        assert_eq!(bytes[17..], *wire);
    }

    quickcheck! {
        fn they_are_read_as_they_were_written_and_a_page_finds_the_ends(keys: Vec<Key>, name: JsString, ended: bool, old: bool) -> bool {
            let version = if old { DataVersion { v8: 13, blink: 17 } } else { NOW };
            let row = row(&name, ended.then_some(2.0));
            let bytes = encoded(&row, &keys, version);
            let payload = Payload::read(&bytes).unwrap();
            let mut reader = RevisionsReader::new(&payload).unwrap();
            let found = reader.row().clone();
            let units: Vec<u16> = found.object_stores[0].name.units().collect();
            let mut buffer = Vec::new();
            for (at, key) in keys.iter().enumerate() {
                let key = raw(key);
                let expected = revision(RawKey::decode_exact(&key).unwrap(), (keys.len() - 1 - at) as u32);
                if reader.next(&mut buffer).unwrap() != Some(expected) {
                    return false;
                }
            }
            Decoder::new().decode(&payload).unwrap();
            let path = ParsedKeyPath::new(&KeyPath::String("ends".into())).unwrap();
            let end = |number| Key::Number(number);
            let ends = Key::array(vec![Key::array(vec![end(300.0), end((1_i64 << 40) as f64)]).unwrap()]).unwrap();
            reader.next(&mut buffer).unwrap().is_none()
                && units == name.units()
                && (found.is_from_source, found.committed_at_ms) == (!ended, ended.then_some(2.0))
                && Evaluator::new().evaluate(&path, &payload, &[]).unwrap() == Evaluated::Key(ends)
        }

        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, at: usize, byte: u8) -> bool {
            let read = |bytes: &[u8]| {
                let mut reader = RevisionsReader::new(&Payload::read(bytes).ok()?).ok()?;
                while reader.next(&mut Vec::new()).ok()?.is_some() {}
                Some(())
            };
            let mut harmed = encoded(&row(&JsString::from("s"), None), &[1.into(), "x".into()], NOW);
            let at = at % harmed.len();
            harmed[at] = byte;
            let _ = (read(&bytes), read(&harmed), read(&harmed[..at]));
            true
        }
    }
}
