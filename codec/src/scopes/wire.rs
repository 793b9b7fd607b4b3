//! The part of the protocol buffers wire format that the scopes messages use (`docs/FORMAT.md`, 7.1).
//!
//! Varint and length-delimited fields are read and written; fixed-width fields can be passed over; groups are refused.
//! There is no schema here: each message reads its own fields.

use crate::error::{ErrorKind, Result};
use crate::primitive::{binary, var_int};
use crate::reader::Reader;

const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH_DELIMITED: u64 = 2;
const FIXED_32: u64 = 5;

/// A field's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Varint(i64),
    Bytes(&'a [u8]),
    /// A fixed-width number, which no scopes message has.
    Skipped,
}

/// Reads one field: its number and contents.
pub(super) fn read_field<'a>(reader: &mut Reader<'a>) -> Result<(u64, Field<'a>)> {
    let at_start = *reader;
    let head = var_int::read_length(reader, "protobuf field")?;
    let number = head >> 3;
    let field = match head & 7 {
        VARINT => Field::Varint(var_int::read(reader, "protobuf number")?),
        LENGTH_DELIMITED => Field::Bytes(binary::read(reader, "protobuf bytes")?),
        FIXED_64 => {
            reader.take(8, "protobuf fixed64")?;
            Field::Skipped
        }
        FIXED_32 => {
            reader.take(4, "protobuf fixed32")?;
            Field::Skipped
        }
        found => return Err(at_start.error(ErrorKind::Invalid { found }, "protobuf wire type")),
    };
    if number == 0 {
        return Err(at_start.error(ErrorKind::Invalid { found: 0 }, "protobuf field number"));
    }
    Ok((number, field))
}

/// Appends a number, unless it is 0, which is left out.
pub(super) fn write_number(field: u8, value: i64, out: &mut Vec<u8>) {
    if value != 0 {
        out.push(field << 3);
        var_int::encode(value, out);
    }
}

/// Appends bytes, even if there are none.
pub(super) fn write_bytes(field: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(field << 3 | LENGTH_DELIMITED as u8);
    binary::encode(bytes, out);
}

/// Appends bytes, unless there are none.
pub(super) fn write_bytes_unless_empty(field: u8, bytes: &[u8], out: &mut Vec<u8>) {
    if !bytes.is_empty() {
        write_bytes(field, bytes, out);
    }
}

/// Appends a message as a field.
pub(super) fn write_message(field: u8, write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    let mut message = Vec::new();
    write(&mut message);
    write_bytes(field, &message, out);
}

/// Keeps a field that may stand once only.
pub(super) fn set_once<T>(
    place: &mut Option<T>,
    value: T,
    at_field: Reader<'_>,
    what: &'static str,
) -> Result<()> {
    if place.replace(value).is_some() {
        return Err(at_field.error(ErrorKind::Invalid { found: 2 }, what));
    }
    Ok(())
}

/// Fields 1 and 2 of a message that has byte fields only.
pub(super) type TwoFields<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

/// Reads a message made of two byte fields, 1 and 2; a missing one is `None`.
pub(super) fn read_two_bytes_fields<'a>(
    message: &'a [u8],
    what: &'static str,
) -> Result<TwoFields<'a>> {
    let mut reader = Reader::new(message);
    let (mut first, mut second) = (None, None);
    while !reader.is_empty() {
        let at_field = reader;
        match read_field(&mut reader)? {
            (1, Field::Bytes(bytes)) => set_once(&mut first, bytes, at_field, what)?,
            (2, Field::Bytes(bytes)) => set_once(&mut second, bytes, at_field, what)?,
            (found @ 1..=2, _) => return Err(at_field.error(ErrorKind::Invalid { found }, what)),
            _ => {}
        }
    }
    Ok((first, second))
}
