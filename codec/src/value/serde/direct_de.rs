//! [`Direct`]: a deserialiser that reads a value's bytes as they come, without a tree in between.
//!
//! It takes what most values are made of, as V8 has written it since version 13. It refuses whatever needs a look at
//! more than has come so far: references, holes, names that may be indices, many or equal names, every object but plain
//! ones and dense arrays. It also refuses bytes that are wrong, and bytes that do not fit the type that is read. Then
//! the tree, the naive twin, does all of it again, and returns the error.
//!
//! The type that is read may swallow an error and go on, in the midst of a container. Therefore a refusal is noted,
//! too, and nothing that comes behind it counts.

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, IgnoredAny, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};

use super::super::envelope::Payload;
use super::super::js_str::JsStr;
use super::super::reader::Reader;
use super::super::tag::v8 as tag;
use super::de::{text, visit_number, visit_text};
use super::key::{Key, UnitVariant};
use super::names::NamesSeen;
use super::{DEPTH_MAX, SerdeError};

/// Since this version every tag that is taken here means what it means today.
const V8_VERSION_MIN: u32 = 13;

/// Reads a value; `None` if it has to be done in the other way.
pub(super) fn read<'de, T: Deserialize<'de>>(payload: &Payload<'de>) -> Option<T> {
    let (bytes, start) = payload.wire();
    if payload.versions().v8 < V8_VERSION_MIN || u32::try_from(bytes.len()).is_err() {
        return None;
    }
    let mut direct = Direct {
        reader: Reader::starting_at(bytes, start),
        depth: 0,
        is_stopped: false,
    };
    let value = T::deserialize(&mut direct).ok()?;
    let rest = direct.reader.rest();
    let is_whole = !direct.is_stopped && rest.iter().all(|byte| *byte == tag::PADDING);
    is_whole.then_some(value)
}

/// The reading of one value.
struct Direct<'de> {
    reader: Reader<'de>,
    /// Containers around the next value.
    depth: usize,
    is_stopped: bool,
}

impl<'de> Direct<'de> {
    #[cold]
    fn stop(&mut self) -> SerdeError {
        self.is_stopped = true;
        SerdeError::stop()
    }

    fn noted<T, E>(&mut self, result: Result<T, E>) -> Result<T, SerdeError> {
        result.map_err(|_| self.stop())
    }

    /// The next tag, which stays.
    fn peek(&mut self) -> Result<u8, SerdeError> {
        loop {
            match self.reader.byte_at(self.reader.offset()) {
                Some(tag::PADDING) => {
                    let _ = self.reader.byte("padding");
                }
                Some(tag) => return Ok(tag),
                None => return Err(self.stop()),
            }
        }
    }

    fn tag(&mut self) -> Result<u8, SerdeError> {
        let tag = self.peek()?;
        let _ = self.reader.byte("tag");
        Ok(tag)
    }

    fn expect(&mut self, wanted: u8) -> Result<(), SerdeError> {
        match self.tag()? == wanted {
            true => Ok(()),
            false => Err(self.stop()),
        }
    }

    fn varint(&mut self) -> Result<u32, SerdeError> {
        let read = self.reader.varint_u32("length");
        self.noted(read)
    }

    /// What follows the tag of a string.
    fn string(&mut self, tag: u8) -> Result<JsStr<'de>, SerdeError> {
        let len = self.varint()?;
        let bytes = self.reader.bytes(len as usize, "string");
        let bytes = self.noted(bytes)?;
        match tag {
            tag::ONE_BYTE_STRING => Ok(JsStr::Latin1(bytes)),
            tag::UTF8_STRING => Ok(JsStr::Utf8(bytes)),
            _ => JsStr::from_utf16_le(bytes).ok_or_else(|| self.stop()),
        }
    }

    fn number(&mut self, tag: u8) -> Result<f64, SerdeError> {
        let read = match tag {
            tag::INT32 => self.reader.zigzag("integer").map(f64::from),
            tag::UINT32 => self.reader.varint_u32("integer").map(f64::from),
            _ => self.reader.f64("number"),
        };
        self.noted(read)
    }

    fn enter(&mut self) -> Result<(), SerdeError> {
        if self.depth >= DEPTH_MAX {
            return Err(self.stop());
        }
        self.depth += 1;
        Ok(())
    }

    /// The elements of an array, behind its tag.
    fn seq<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, SerdeError> {
        self.enter()?;
        let len = self.varint()?;
        // Every element takes at least a byte.
        if len as usize > self.reader.remaining() {
            return Err(self.stop());
        }
        let mut elements = Elements {
            direct: self,
            left: len,
        };
        let value = visitor.visit_seq(&mut elements);
        let is_whole = elements.left == 0;
        let value = self.noted(value)?;
        if !is_whole {
            return Err(self.stop());
        }
        self.expect(tag::END_DENSE_ARRAY)?;
        if self.varint()? != 0 || self.varint()? != len {
            return Err(self.stop());
        }
        self.depth -= 1;
        Ok(value)
    }

    /// The properties of an object, behind its tag.
    fn map<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, SerdeError> {
        self.enter()?;
        let mut fields = Fields {
            direct: self,
            names: NamesSeen::new(),
            count: 0,
            is_value_next: false,
        };
        let value = visitor.visit_map(&mut fields);
        let (count, is_value_next) = (fields.count, fields.is_value_next);
        let value = self.noted(value)?;
        if is_value_next {
            return Err(self.stop());
        }
        self.end_object(count)?;
        Ok(value)
    }

    fn end_object(&mut self, count: u32) -> Result<(), SerdeError> {
        self.expect(tag::END_OBJECT)?;
        if self.varint()? != count {
            return Err(self.stop());
        }
        self.depth -= 1;
        Ok(())
    }

    /// A property's name, of one byte for each letter.
    fn name(&mut self, names: &mut NamesSeen) -> Result<JsStr<'de>, SerdeError> {
        let tag = self.tag()?;
        if tag != tag::ONE_BYTE_STRING {
            return Err(self.stop());
        }
        match self.string(tag)? {
            name @ JsStr::Latin1(bytes) if names.note(bytes).is_some() => Ok(name),
            _ => Err(self.stop()),
        }
    }
}

impl<'de> Deserializer<'de> for &mut Direct<'de> {
    type Error = SerdeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.tag()? {
            tag @ (tag::ONE_BYTE_STRING | tag::TWO_BYTE_STRING | tag::UTF8_STRING) => {
                visit_text(self.string(tag)?, visitor)
            }
            tag @ (tag::INT32 | tag::UINT32 | tag::DOUBLE) => {
                visit_number(self.number(tag)?, visitor)
            }
            tag::NULL | tag::UNDEFINED => visitor.visit_unit(),
            tag::TRUE => visitor.visit_bool(true),
            tag::FALSE => visitor.visit_bool(false),
            tag::BEGIN_OBJECT => self.map(visitor),
            tag::BEGIN_DENSE_ARRAY => self.seq(visitor),
            _ => Err(self.stop()),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.peek()? {
            tag::NULL | tag::UNDEFINED => {
                self.tag()?;
                visitor.visit_none()
            }
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        match self.tag()? {
            tag @ (tag::ONE_BYTE_STRING | tag::TWO_BYTE_STRING | tag::UTF8_STRING) => {
                let name = text(self.string(tag)?)?;
                visitor.visit_enum(UnitVariant(name.into_owned()))
            }
            tag::BEGIN_OBJECT => {
                self.enter()?;
                let value = visitor.visit_enum(Variant { direct: self });
                let value = self.noted(value)?;
                self.end_object(1)?;
                Ok(value)
            }
            _ => Err(self.stop()),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        let ignored = self.deserialize_any(IgnoredAny);
        self.noted(ignored)?;
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier
    }
}

/// Elements of an array.
struct Elements<'r, 'de> {
    direct: &'r mut Direct<'de>,
    left: u32,
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = SerdeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, SerdeError> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        let element = seed.deserialize(&mut *self.direct)?;
        self.left = left;
        Ok(Some(element))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left as usize)
    }
}

/// Properties of an object.
struct Fields<'r, 'de> {
    direct: &'r mut Direct<'de>,
    names: NamesSeen,
    count: u32,
    is_value_next: bool,
}

impl<'de> MapAccess<'de> for Fields<'_, 'de> {
    type Error = SerdeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, SerdeError> {
        if self.is_value_next {
            return Err(self.direct.stop());
        }
        if self.direct.peek()? == tag::END_OBJECT {
            return Ok(None);
        }
        let name = self.direct.name(&mut self.names)?;
        self.count += 1;
        self.is_value_next = true;
        seed.deserialize(Key(text(name)?)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, SerdeError> {
        if !std::mem::take(&mut self.is_value_next) {
            return Err(self.direct.stop());
        }
        seed.deserialize(&mut *self.direct)
    }
}

/// An object with one property: a variant with something in it.
struct Variant<'r, 'de> {
    direct: &'r mut Direct<'de>,
}

impl<'r, 'de> EnumAccess<'de> for Variant<'r, 'de> {
    type Error = SerdeError;
    type Variant = &'r mut Direct<'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, &'r mut Direct<'de>), SerdeError> {
        let name = self.direct.name(&mut NamesSeen::new())?;
        let variant = seed.deserialize(Key(text(name)?))?;
        Ok((variant, self.direct))
    }
}

impl<'de> VariantAccess<'de> for &mut Direct<'de> {
    type Error = SerdeError;

    fn unit_variant(self) -> Result<(), SerdeError> {
        match self.tag()? {
            tag::NULL | tag::UNDEFINED => Ok(()),
            _ => Err(self.stop()),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<S::Value, SerdeError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, SerdeError> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        self.deserialize_any(visitor)
    }
}
