//! Reads revisions: what [`encode`](RevisionsRow::encode) writes, and nothing else.

use super::super::envelope::Payload;
use super::super::js_str::JsStr;
use super::super::reader::{Reader, error, invalid};
use super::super::tag::v8 as tag;
use super::key::{read_key, skip_padding};
use super::{
    CHANGE_LEN, CHANGES, COMMITTED, ChangedObjectStore, ENDS, FROM_SOURCE, NAMES, RevisionKind,
    RevisionRow, RevisionsRow,
};
use crate::idb_key::RawKey;
use crate::ids::{ObjectStoreId, RecordVersion};
use crate::{ErrorKind, Result};

/// Reads a [`RevisionsRow`], and its revisions one by one.
#[derive(Debug, Clone)]
pub struct RevisionsReader<'a> {
    row: RevisionsRow<'a>,
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
    pub const fn row(&self) -> &RevisionsRow<'a> {
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
        let number = integer(reader)?;
        let mut kinds = RevisionKind::ALL.into_iter();
        let Some(kind) = kinds.find(|kind| i64::from(kind.number()) == number) else {
            return invalid(number.unsigned_abs(), at, "operation of a revision");
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
        let at = reader.offset();
        let count = reader.varint_u32("count of properties")?;
        if count != self.row.property_count() {
            return invalid(u64::from(count), at, "count of properties");
        }
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

pub(super) fn expect_end_of_array(reader: &mut Reader<'_>, expected: u32) -> Result<()> {
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

fn string<'a>(reader: &mut Reader<'a>) -> Result<JsStr<'a>> {
    skip_padding(reader);
    let at = reader.offset();
    let tag = reader.byte("string of a revision")?;
    reader.string(tag, at)
}
