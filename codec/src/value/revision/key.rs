//! A record's key inside a revision: the value that JavaScript shows of it.
//!
//! A value with a key in it is read by [`Evaluator`](crate::value::Evaluator), whatever its form, into a [`Key`]. Here the form is known,
//! and a key goes from bytes to bytes.

use super::super::buffer::{ArrayBuffer, BufferKind};
use super::super::reader::{Reader, error, invalid};
use super::super::tag::v8 as tag;
use super::super::writer::Writer;
use super::read::expect_end_of_array;
use super::write::end_array;
use crate::idb_key::{Key, KeyPart, LEVEL_MAX, RawKey, TAG_ARRAY, TAG_BINARY, TAG_STRING};
use crate::primitive::{binary, var_int};
use crate::{ErrorKind, Result};

/// Writes a key as the value that JavaScript shows.
pub(super) fn write_key(writer: &mut Writer<'_>, key: RawKey<'_>) {
    // The arrays that are open: elements to come, and length.
    let mut open: Vec<(u64, u64)> = Vec::new();
    for part in key.parts() {
        match part {
            KeyPart::Number(number) => writer.number(number),
            KeyPart::Date(time_ms) => {
                writer.byte(tag::DATE);
                writer.f64(time_ms);
            }
            KeyPart::String(string) => writer.units(|| string.units()),
            KeyPart::Binary(bytes) => {
                let kind = BufferKind::Fixed;
                ArrayBuffer { bytes, kind }.write(writer);
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

/// Reads a key's value and appends the key's bytes.
pub(super) fn read_key(reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
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
            tag @ tag::ARRAY_BUFFER => {
                out.push(TAG_BINARY);
                binary::encode(ArrayBuffer::read(reader, tag)?.bytes, out);
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
                let string = reader.string(tag, at)?;
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

/// V8 pads before strings of two-byte units.
pub(super) fn skip_padding(reader: &mut Reader<'_>) {
    while reader.byte_at(reader.offset()) == Some(tag::PADDING) {
        let _ = reader.byte("padding");
    }
}
