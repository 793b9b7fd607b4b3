//! [`Direct`]: a serialiser that writes a value's bytes as they come, without a tree in between.
//!
//! It takes what most values are made of. Whatever needs a look at more than has come so far it
//! refuses ([`Stop`]): names that may be indices, which stand first; many or equal names; sequences
//! of unknown length, and of integers and other numbers mixed, which V8 writes as doubles
//! throughout; BigInts. Then [`Draft`](super::ser::Draft), the naive twin, does all of it again.

use std::fmt;

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::super::buffer::{ArrayBuffer, BufferKind, View, ViewKind};
use super::super::js_str::JsStr;
use super::super::needs::Needs;
use super::super::node::ObjectId;
use super::super::number::as_smi;
use super::super::tag::v8 as tag;
use super::super::writer::Writer;
use super::DEPTH_MAX;
use super::key::KeyText;
use super::names::NamesSeen;
use super::ser::NUMBER_MAX;

/// Appends a value's bytes; `None` if it has to be done in the other way: then nothing is appended.
pub(super) fn write<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) -> Option<Needs> {
    let start = out.len();
    let mut direct = Direct {
        writer: Writer::begin(out),
        depth: 0,
    };
    let done = value.serialize(&mut direct);
    let needs = direct.writer.end();
    if done.is_err() {
        out.truncate(start);
        return None;
    }
    Some(needs)
}

/// Not in this way, or not at all.
#[derive(Debug)]
pub(super) struct Stop;

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not without a tree")
    }
}

impl std::error::Error for Stop {}

impl serde::ser::Error for Stop {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// What was written, as far as the sequence around it depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    SmallInteger,
    Double,
    Other,
}

/// The serialiser.
#[derive(Debug)]
pub(super) struct Direct<'o> {
    writer: Writer<'o>,
    /// Containers that are open.
    depth: usize,
}

impl Direct<'_> {
    fn tag(&mut self, tag: u8) -> Written {
        self.writer.byte(tag);
        Written::Other
    }

    fn number(&mut self, number: f64) -> Written {
        self.writer.number(number);
        match as_smi(number) {
            Some(_) => Written::SmallInteger,
            None => Written::Double,
        }
    }

    fn integer(&mut self, negative: bool, magnitude: u128) -> Result<Written, Stop> {
        if magnitude > NUMBER_MAX {
            return Err(Stop);
        }
        let number = magnitude as f64;
        Ok(self.number(if negative { -number } else { number }))
    }

    fn text(&mut self, text: &str) -> Written {
        self.writer.string(JsStr::Utf8(text.as_bytes()));
        Written::Other
    }

    /// An object begins, a container or not.
    fn check_depth(&self) -> Result<(), Stop> {
        match self.depth < DEPTH_MAX {
            true => Ok(()),
            false => Err(Stop),
        }
    }

    fn enter(&mut self) -> Result<(), Stop> {
        self.check_depth()?;
        self.depth += 1;
        self.writer.note_depth(self.depth);
        Ok(())
    }

    /// The beginning of the object that stands for a variant with something in it.
    fn begin_variant(&mut self, variant: &str) -> Result<(), Stop> {
        self.enter()?;
        self.writer.byte(tag::BEGIN_OBJECT);
        NamesSeen::new().note(variant.as_bytes()).ok_or(Stop)?;
        self.text(variant);
        Ok(())
    }

    fn end_variant(&mut self) -> Written {
        self.writer.byte(tag::END_OBJECT);
        self.writer.len(1);
        self.depth -= 1;
        Written::Other
    }
}

impl<'d, 'o> Direct<'o> {
    fn begin_array(&'d mut self, len: usize, is_variant: bool) -> Result<Array<'d, 'o>, Stop> {
        let len = u32::try_from(len).map_err(|_| Stop)?;
        self.enter()?;
        self.writer.byte(tag::BEGIN_DENSE_ARRAY);
        self.writer.varint(len);
        Ok(Array {
            direct: self,
            len,
            count: 0,
            kinds: Kinds::default(),
            is_variant,
        })
    }

    fn begin_object(&'d mut self, is_variant: bool) -> Result<Object<'d, 'o>, Stop> {
        self.enter()?;
        self.writer.byte(tag::BEGIN_OBJECT);
        Ok(Object {
            direct: self,
            names: NamesSeen::new(),
            count: 0,
            is_variant,
        })
    }
}

impl<'d, 'o> Serializer for &'d mut Direct<'o> {
    type Ok = Written;
    type Error = Stop;
    type SerializeSeq = Array<'d, 'o>;
    type SerializeTuple = Array<'d, 'o>;
    type SerializeTupleStruct = Array<'d, 'o>;
    type SerializeTupleVariant = Array<'d, 'o>;
    type SerializeMap = Object<'d, 'o>;
    type SerializeStruct = Object<'d, 'o>;
    type SerializeStructVariant = Object<'d, 'o>;

    fn serialize_bool(self, value: bool) -> Result<Written, Stop> {
        Ok(self.tag(if value { tag::TRUE } else { tag::FALSE }))
    }

    fn serialize_i8(self, value: i8) -> Result<Written, Stop> {
        Ok(self.number(f64::from(value)))
    }

    fn serialize_i16(self, value: i16) -> Result<Written, Stop> {
        Ok(self.number(f64::from(value)))
    }

    fn serialize_i32(self, value: i32) -> Result<Written, Stop> {
        Ok(self.number(f64::from(value)))
    }

    fn serialize_i64(self, value: i64) -> Result<Written, Stop> {
        self.serialize_i128(i128::from(value))
    }

    fn serialize_i128(self, value: i128) -> Result<Written, Stop> {
        self.integer(value < 0, value.unsigned_abs())
    }

    fn serialize_u8(self, value: u8) -> Result<Written, Stop> {
        Ok(self.number(f64::from(value)))
    }

    fn serialize_u16(self, value: u16) -> Result<Written, Stop> {
        Ok(self.number(f64::from(value)))
    }

    fn serialize_u32(self, value: u32) -> Result<Written, Stop> {
        Ok(self.number(f64::from(value)))
    }

    fn serialize_u64(self, value: u64) -> Result<Written, Stop> {
        self.integer(false, u128::from(value))
    }

    fn serialize_u128(self, value: u128) -> Result<Written, Stop> {
        self.integer(false, value)
    }

    fn serialize_f32(self, value: f32) -> Result<Written, Stop> {
        Ok(self.number(f64::from(value)))
    }

    fn serialize_f64(self, value: f64) -> Result<Written, Stop> {
        Ok(self.number(value))
    }

    fn serialize_char(self, value: char) -> Result<Written, Stop> {
        Ok(self.text(value.encode_utf8(&mut [0; 4])))
    }

    fn serialize_str(self, value: &str) -> Result<Written, Stop> {
        Ok(self.text(value))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Written, Stop> {
        self.check_depth()?;
        let buffer = ArrayBuffer {
            bytes: value,
            kind: BufferKind::Fixed,
        };
        buffer.write(&mut self.writer);
        let view = View {
            kind: ViewKind::Uint8Array,
            // Not written: it is the one in front.
            buffer: ObjectId(0),
            byte_offset: 0,
            byte_length: value.len(),
            length_tracking: false,
        };
        view.write(&mut self.writer, &buffer);
        Ok(Written::Other)
    }

    fn serialize_none(self) -> Result<Written, Stop> {
        Ok(self.tag(tag::NULL))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Written, Stop> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Written, Stop> {
        Ok(self.tag(tag::NULL))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Written, Stop> {
        Ok(self.tag(tag::NULL))
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Written, Stop> {
        Ok(self.text(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Written, Stop> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Written, Stop> {
        self.begin_variant(variant)?;
        value.serialize(&mut *self)?;
        Ok(self.end_variant())
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Array<'d, 'o>, Stop> {
        self.begin_array(len.ok_or(Stop)?, false)
    }

    fn serialize_tuple(self, len: usize) -> Result<Array<'d, 'o>, Stop> {
        self.begin_array(len, false)
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<Array<'d, 'o>, Stop> {
        self.begin_array(len, false)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<Array<'d, 'o>, Stop> {
        self.begin_variant(variant)?;
        self.begin_array(len, true)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Object<'d, 'o>, Stop> {
        self.begin_object(false)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Object<'d, 'o>, Stop> {
        self.begin_object(false)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Object<'d, 'o>, Stop> {
        self.begin_variant(variant)?;
        self.begin_object(true)
    }
}

/// Which kinds of elements a sequence has.
#[derive(Debug, Default)]
struct Kinds {
    small_integers: bool,
    doubles: bool,
    others: bool,
}

impl Kinds {
    fn note(&mut self, written: Written) {
        match written {
            Written::SmallInteger => self.small_integers = true,
            Written::Double => self.doubles = true,
            Written::Other => self.others = true,
        }
    }

    /// Whether V8 keeps all elements as doubles, and integers were written.
    const fn are_wrong(&self) -> bool {
        self.small_integers && self.doubles && !self.others
    }
}

/// An array that is being written.
#[derive(Debug)]
pub(super) struct Array<'d, 'o> {
    direct: &'d mut Direct<'o>,
    len: u32,
    count: u32,
    kinds: Kinds,
    is_variant: bool,
}

impl Array<'_, '_> {
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        let written = value.serialize(&mut *self.direct)?;
        self.kinds.note(written);
        self.count = self.count.checked_add(1).ok_or(Stop)?;
        Ok(())
    }

    fn finish(self) -> Result<Written, Stop> {
        if self.count != self.len || self.kinds.are_wrong() {
            return Err(Stop);
        }
        let writer = &mut self.direct.writer;
        writer.byte(tag::END_DENSE_ARRAY);
        writer.len(0);
        writer.varint(self.len);
        self.direct.depth -= 1;
        if self.is_variant {
            self.direct.end_variant();
        }
        Ok(Written::Other)
    }
}

/// An object that is being written.
#[derive(Debug)]
pub(super) struct Object<'d, 'o> {
    direct: &'d mut Direct<'o>,
    names: NamesSeen,
    count: usize,
    is_variant: bool,
}

impl Object<'_, '_> {
    fn name(&mut self, name: &str) -> Result<(), Stop> {
        self.names.note(name.as_bytes()).ok_or(Stop)?;
        self.count += 1;
        self.direct.text(name);
        Ok(())
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        value.serialize(&mut *self.direct).map(drop)
    }

    fn finish(self) -> Result<Written, Stop> {
        let writer = &mut self.direct.writer;
        writer.byte(tag::END_OBJECT);
        writer.len(self.count);
        self.direct.depth -= 1;
        if self.is_variant {
            self.direct.end_variant();
        }
        Ok(Written::Other)
    }
}

macro_rules! array {
    ($($compound:ident $element:ident),* $(,)?) => {
        $(impl $compound for Array<'_, '_> {
            type Ok = Written;
            type Error = Stop;

            fn $element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
                self.element(value)
            }

            fn end(self) -> Result<Written, Stop> {
                self.finish()
            }
        })*
    };
}

array! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field,
}

macro_rules! object {
    ($($compound:ident),* $(,)?) => {
        $(impl $compound for Object<'_, '_> {
            type Ok = Written;
            type Error = Stop;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), Stop> {
                self.name(name)?;
                self.value(value)
            }

            fn end(self) -> Result<Written, Stop> {
                self.finish()
            }
        })*
    };
}

object! { SerializeStruct, SerializeStructVariant }

impl SerializeMap for Object<'_, '_> {
    type Ok = Written;
    type Error = Stop;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Stop> {
        let text = key.serialize(KeyText).map_err(|_| Stop)?;
        self.name(&text)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Stop> {
        self.value(value)
    }

    fn end(self) -> Result<Written, Stop> {
        self.finish()
    }
}
