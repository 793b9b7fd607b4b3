//! Values without values inside: primitives, wrappers, dates, buffers with their views, references.
//!
//! [`Run::tagged`] is the one place that lists every tag of V8; containers are only opened here and read in
//! [`containers`](super::containers).

use super::super::bigint::BigInt;
use super::super::buffer::{ArrayBuffer, View};
use super::super::date::time_clip;
use super::super::host::HostObject;
use super::super::js_str::JsStr;
use super::super::node::{Array, Object, ObjectId, Span, Value};
use super::super::number::as_smi;
use super::super::reader::{error, invalid};
use super::super::regexp::RegExpFlags;
use super::super::tag::v8 as tag;
use super::{FrameKind, Read, Run};
use crate::{ErrorKind, Result};

/// Since this version strings in regular expressions and string objects have a tag.
const TAGGED_STRINGS_VERSION_MIN: u32 = 12;
/// Since this version host objects have a tag in front.
const HOST_TAG_VERSION_MIN: u32 = 13;

impl<'a> Run<'a> {
    /// Reads on behind `tag`, which stands at `at`.
    pub(super) fn tagged(&mut self, tag: u8, at: usize) -> Result<Read<'a>> {
        let value = match tag {
            tag::ONE_BYTE_STRING | tag::TWO_BYTE_STRING | tag::UTF8_STRING => {
                Value::String(self.string(tag, at)?)
            }
            tag::INT32 | tag::UINT32 | tag::DOUBLE => self.number_value(tag)?,
            tag::NULL => Value::Null,
            tag::TRUE => Value::Bool(true),
            tag::FALSE => Value::Bool(false),
            tag::UNDEFINED => Value::Undefined,
            tag::BIGINT => Value::BigInt(BigInt::read(&mut self.reader)?),
            tag::BEGIN_OBJECT => {
                return Ok(self.open(FrameKind::Plain, 0, Object::Plain(Span::default())));
            }
            tag::BEGIN_DENSE_ARRAY | tag::BEGIN_SPARSE_ARRAY => return self.open_array(tag, at),
            tag::BEGIN_MAP => {
                return Ok(self.open(FrameKind::Map, 0, Object::Map(Span::default())));
            }
            tag::BEGIN_SET => {
                return Ok(self.open(FrameKind::Set, 0, Object::Set(Span::default())));
            }
            tag::ERROR => {
                return Ok(self.open(FrameKind::Error, 0, Object::Error(Box::default())));
            }
            tag::OBJECT_REFERENCE => self.reference(at)?,
            tag::VERIFY_OBJECT_COUNT => return self.behind_object_count(),
            _ => self.object(tag, at)?,
        };
        Ok(Read::Value(value))
    }

    /// An old sanity check, which V8 reads and ignores; the value follows.
    fn behind_object_count(&mut self) -> Result<Read<'a>> {
        loop {
            self.reader.varint_u32("number of objects")?;
            let (tag, at) = self.next_tag()?;
            if tag != tag::VERIFY_OBJECT_COUNT {
                return self.tagged(tag, at);
            }
        }
    }

    /// Objects without values inside.
    fn object(&mut self, tag: u8, at: usize) -> Result<Value<'a>> {
        let object = match tag {
            tag::DATE => Object::Date(time_clip(self.reader.f64("date")?)),
            tag::TRUE_OBJECT => Object::BooleanObject(true),
            tag::FALSE_OBJECT => Object::BooleanObject(false),
            tag::NUMBER_OBJECT => Object::NumberObject(self.reader.f64("Number object")?),
            tag::BIGINT_OBJECT => Object::BigIntObject(BigInt::read(&mut self.reader)?),
            tag::STRING_OBJECT => Object::StringObject(self.tagged_string()?),
            tag::REGEXP => self.regexp()?,
            tag::ARRAY_BUFFER | tag::RESIZABLE_ARRAY_BUFFER | tag::IMMUTABLE_ARRAY_BUFFER => {
                let buffer = ArrayBuffer::read(&mut self.reader, tag)?;
                let value = self.push(Object::ArrayBuffer(buffer));
                return self.view_behind(value);
            }
            tag::HOST_OBJECT if self.versions.v8 >= HOST_TAG_VERSION_MIN => self.host(None)?,
            _ if self.versions.v8 < HOST_TAG_VERSION_MIN => self.host(Some(at))?,
            _ => return unknown(tag, at),
        };
        Ok(self.push(object))
    }

    fn push(&mut self, object: Object<'a>) -> Value<'a> {
        // Objects are fewer than input bytes, which 32 bits can count.
        let id = u32::try_from(self.store.objects.len()).unwrap_or(u32::MAX);
        self.store.objects.push(object);
        Value::Object(ObjectId(id))
    }

    /// A host object, whose own tag comes next or, in old versions, stands at `at`.
    fn host(&mut self, at: Option<usize>) -> Result<Object<'a>> {
        if let Some(at) = at {
            self.reader.go_back_to(at);
        }
        let host = HostObject::read(&mut self.reader, self.versions.blink)?;
        Ok(Object::Host(Box::new(host)))
    }

    fn open_array(&mut self, tag: u8, at: usize) -> Result<Read<'a>> {
        let length = self.reader.varint_u32("array length")?;
        let object = Object::Array(Array {
            length,
            sparse: tag == tag::BEGIN_SPARSE_ARRAY,
            ..Array::default()
        });
        if tag == tag::BEGIN_SPARSE_ARRAY {
            return Ok(self.open(FrameKind::SparseArray, length, object));
        }
        // Every element takes at least a byte.
        if length as usize > self.reader.remaining() {
            return invalid(u64::from(length), at, "dense array length");
        }
        Ok(self.open(FrameKind::DenseElements, length, object))
    }

    /// A reference to an object that was introduced before (and may still be open).
    fn reference(&mut self, at: usize) -> Result<Value<'a>> {
        let id = self.reader.varint_u32("object reference")?;
        if id as usize >= self.store.objects.len() {
            return invalid(u64::from(id), at, "object reference");
        }
        self.store.shared.insert(id);
        self.view_behind(Value::Object(ObjectId(id)))
    }

    /// An array buffer followed by a view counts as that view.
    fn view_behind(&mut self, value: Value<'a>) -> Result<Value<'a>> {
        let Value::Object(id) = value else {
            return Ok(value);
        };
        let Object::ArrayBuffer(buffer) = self.store.objects[id.index()] else {
            return Ok(value);
        };
        let rest = self.reader.rest();
        let padding = rest.iter().take_while(|&&b| b == tag::PADDING).count();
        if rest.get(padding) != Some(&tag::ARRAY_BUFFER_VIEW) {
            return Ok(value);
        }
        self.next_tag()?;
        let view = View::read(&mut self.reader, id, &buffer, self.view_flags)?;
        Ok(self.push(Object::View(view)))
    }

    fn regexp(&mut self) -> Result<Object<'a>> {
        let source = self.tagged_string()?;
        let at = self.reader.offset();
        let bits = self.reader.varint_u32("regular expression flags")?;
        match RegExpFlags::from_bits(bits) {
            Some(flags) => Ok(Object::RegExp { source, flags }),
            None => invalid(u64::from(bits), at, "regular expression flags"),
        }
    }

    /// What follows the tag of a number that is a value. Small integers that stand there as doubles
    /// are noted for the encoder.
    #[inline]
    pub(super) fn number_value(&mut self, tag: u8) -> Result<Value<'a>> {
        let number = self.number(tag)?;
        if tag == tag::DOUBLE && as_smi(number).is_some() {
            self.store.doubles.push(self.numbers);
        }
        self.numbers += 1;
        Ok(Value::Number(number))
    }

    /// What follows the tag of a number.
    #[inline]
    pub(super) fn number(&mut self, tag: u8) -> Result<f64> {
        match tag {
            tag::INT32 => Ok(f64::from(self.reader.zigzag("integer")?)),
            tag::UINT32 => Ok(f64::from(self.reader.varint_u32("integer")?)),
            _ => self.reader.f64("number"),
        }
    }

    /// What follows the tag of a string: length in bytes, bytes.
    #[inline]
    pub(super) fn string(&mut self, tag: u8, at: usize) -> Result<JsStr<'a>> {
        self.reader.string(tag, at)
    }

    /// A string inside an object: with a tag, or in old versions UTF-8 without.
    pub(super) fn tagged_string(&mut self) -> Result<JsStr<'a>> {
        if self.versions.v8 < TAGGED_STRINGS_VERSION_MIN {
            return self.string(tag::UTF8_STRING, self.reader.offset());
        }
        let (tag, at) = self.next_tag()?;
        match tag {
            tag::ONE_BYTE_STRING | tag::TWO_BYTE_STRING | tag::UTF8_STRING => self.string(tag, at),
            tag => error(ErrorKind::UnknownTag { tag }, at, "string"),
        }
    }
}

fn unknown<T>(tag: u8, at: usize) -> Result<T> {
    let what = tag::TRANSFERS
        .iter()
        .find(|(transfer, _)| *transfer == tag)
        .map_or("tag", |(_, what)| what);
    error(ErrorKind::UnknownTag { tag }, at, what)
}
