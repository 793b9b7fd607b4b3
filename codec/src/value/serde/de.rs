//! [`Node`]: a place in a tree that serde reads from.

use std::borrow::Cow;
use std::cell::Cell;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

use super::super::bigint::BigInt;
use super::super::js_str::JsStr;
use super::super::node::{Array, Object, ObjectId, Property, PropertyName, Slot, Value};
use super::super::tree::Tree;
use super::key::{Key, UnitVariant};
use super::{DEPTH_MAX, SerdeError, too_deep};

/// Integers below this, either way, are read as integers; 2^53 is one itself.
const INTEGER_MAX: f64 = 9_007_199_254_740_992.0;

/// So much more than there is may be read: an object that occurs in many places is read in each,
/// and again what is in it. Counted are objects, elements, properties, and 16 bytes as one.
const EXTRA_MAX: usize = 4_000_000;
const BYTES_AS_ONE: usize = 16;

/// The reading of one tree.
pub(super) struct Run<'t, 'de> {
    tree: &'t Tree<'de>,
    /// How much may still be read.
    left: Cell<usize>,
}

impl<'t, 'de> Run<'t, 'de> {
    pub(super) fn new(tree: &'t Tree<'de>) -> Self {
        let bytes = tree.objects().map(|object| match object {
            Object::ArrayBuffer(buffer) => buffer.bytes.len() / BYTES_AS_ONE,
            _ => 0,
        });
        let here = [
            tree.objects.len(),
            tree.slots.len(),
            tree.properties.len(),
            bytes.sum(),
        ];
        let left = here.into_iter().fold(EXTRA_MAX, usize::saturating_add);
        Self {
            tree,
            left: Cell::new(left),
        }
    }

    fn charge(&self, count: usize) -> Result<(), SerdeError> {
        let left = self.left.get().checked_sub(count);
        self.left
            .set(left.ok_or_else(|| SerdeError::new("shared objects in too many places"))?);
        Ok(())
    }
}

/// A value, and how many containers are around it.
#[derive(Clone, Copy)]
pub(super) struct Node<'r, 't, 'de> {
    run: &'r Run<'t, 'de>,
    value: Value<'de>,
    depth: usize,
}

/// What serde makes of a value.
enum Shape<'r, 't, 'de> {
    Unit,
    Bool(bool),
    Number(f64),
    BigInt(BigInt<'de>),
    Text(JsStr<'de>),
    Bytes(&'de [u8]),
    Seq(Elements<'r, 't, 'de>),
    /// Properties of an object.
    Struct(Fields<'r, 't, 'de>),
    /// Entries of a `Map`.
    Map(Entries<'r, 't, 'de>),
    /// Something without a form in serde.
    No(&'static str),
}

impl<'r, 't, 'de> Node<'r, 't, 'de> {
    pub(super) fn root(run: &'r Run<'t, 'de>) -> Self {
        Self {
            run,
            value: run.tree.root(),
            depth: 0,
        }
    }

    fn inside(self, value: Value<'de>) -> Self {
        Self {
            value,
            depth: self.depth + 1,
            ..self
        }
    }

    fn is_nothing(&self) -> bool {
        matches!(self.value, Value::Undefined | Value::Null)
    }

    fn shape(self) -> Result<Shape<'r, 't, 'de>, SerdeError> {
        Ok(match self.value {
            Value::Undefined | Value::Null => Shape::Unit,
            Value::Bool(bool) => Shape::Bool(bool),
            Value::Number(number) => Shape::Number(number),
            Value::BigInt(bigint) => Shape::BigInt(bigint),
            Value::String(string) => Shape::Text(string),
            Value::Object(id) => {
                if self.depth >= DEPTH_MAX {
                    return Err(too_deep());
                }
                let shape = self.object_shape(id);
                self.run.charge(match &shape {
                    Shape::Bytes(bytes) => 1 + bytes.len() / BYTES_AS_ONE,
                    Shape::Seq(elements) => 1 + elements.left(),
                    Shape::Struct(fields) => 1 + fields.properties.len(),
                    Shape::Map(entries) => 1 + entries.slots.len(),
                    _ => 1,
                })?;
                shape
            }
        })
    }

    fn object_shape(self, id: ObjectId) -> Shape<'r, 't, 'de> {
        let tree = self.run.tree;
        match tree.object(id) {
            Object::Plain(span) => Shape::Struct(Fields {
                node: self,
                properties: tree.properties(*span).iter(),
                value: Value::Undefined,
            }),
            Object::Array(array) if holes(tree, array) > HOLES_MAX => Shape::No("sparse array"),
            Object::Array(array) => Shape::Seq(Elements {
                node: self,
                slots: tree.slots(array.elements).iter(),
                further: tree.properties(array.properties).iter(),
                next: array.elements.len,
                length: array.length,
            }),
            Object::Set(span) => Shape::Seq(Elements {
                node: self,
                slots: tree.slots(*span).iter(),
                further: [].iter(),
                next: 0,
                length: 0,
            }),
            Object::Map(span) => Shape::Map(Entries {
                node: self,
                slots: tree.slots(*span).iter(),
            }),
            Object::Date(number) | Object::NumberObject(number) => Shape::Number(*number),
            Object::BooleanObject(bool) => Shape::Bool(*bool),
            Object::BigIntObject(bigint) => Shape::BigInt(*bigint),
            Object::StringObject(string) => Shape::Text(*string),
            Object::ArrayBuffer(buffer) => Shape::Bytes(buffer.bytes),
            Object::View(view) => {
                let buffer = tree.array_buffer(view.buffer);
                let shown = buffer.and_then(|buffer| buffer.bytes.get(view.byte_offset..));
                let shown = shown.and_then(|bytes| bytes.get(..view.byte_length));
                Shape::Bytes(shown.unwrap_or_default())
            }
            Object::RegExp { .. } => Shape::No("regular expression"),
            Object::Error(_) => Shape::No("error object"),
            Object::Host(_) => Shape::No("object of the web platform"),
        }
    }
}

/// Arrays with more holes behind their front are no sequences: few bytes would say many elements.
const HOLES_MAX: usize = 1 << 16;

/// How many holes an array has behind its front.
fn holes(tree: &Tree<'_>, array: &Array) -> usize {
    let further = tree.properties(array.properties).iter();
    let further = further.take_while(|p| matches!(p.name, PropertyName::Index(_)));
    let present = array.elements.len() + further.count();
    (array.length as usize).saturating_sub(present)
}

/// Text as serde has it, if no surrogate stands alone.
pub(super) fn text(string: JsStr<'_>) -> Result<Cow<'_, str>, SerdeError> {
    string
        .to_utf8()
        .ok_or_else(|| SerdeError::new("a string with a lone surrogate"))
}

pub(super) fn visit_text<'de, V: Visitor<'de>>(
    string: JsStr<'de>,
    visitor: V,
) -> Result<V::Value, SerdeError> {
    match text(string)? {
        Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
        Cow::Owned(text) => visitor.visit_string(text),
    }
}

pub(super) fn visit_number<'de, V: Visitor<'de>>(
    number: f64,
    visitor: V,
) -> Result<V::Value, SerdeError> {
    let is_integer = number.abs() <= INTEGER_MAX
        && number.trunc() == number
        && (number != 0.0 || number.is_sign_positive());
    #[expect(clippy::cast_possible_truncation, reason = "whole and not beyond 2^53")]
    let integer = number as i64;
    if !is_integer {
        return visitor.visit_f64(number);
    }
    match u64::try_from(integer) {
        Ok(integer) => visitor.visit_u64(integer),
        Err(_) => visitor.visit_i64(integer),
    }
}

fn visit_bigint<'de, V: Visitor<'de>>(
    bigint: BigInt<'_>,
    visitor: V,
) -> Result<V::Value, SerdeError> {
    let digits = bigint.significant();
    let mut wide = [0; 16];
    let Some(low) = wide.get_mut(..digits.len()) else {
        return Err(SerdeError::new("a BigInt of more than 128 bits"));
    };
    low.copy_from_slice(digits);
    let magnitude = u128::from_le_bytes(wide);
    if !bigint.is_negative() {
        return match u64::try_from(magnitude) {
            Ok(integer) => visitor.visit_u64(integer),
            Err(_) => visitor.visit_u128(magnitude),
        };
    }
    let Some(integer) = 0_i128.checked_sub_unsigned(magnitude) else {
        return Err(SerdeError::new("a BigInt of more than 128 bits"));
    };
    match i64::try_from(integer) {
        Ok(integer) => visitor.visit_i64(integer),
        Err(_) => visitor.visit_i128(integer),
    }
}

impl<'de> Deserializer<'de> for Node<'_, '_, 'de> {
    type Error = SerdeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.shape()? {
            Shape::Unit => visitor.visit_unit(),
            Shape::Bool(bool) => visitor.visit_bool(bool),
            Shape::Number(number) => visit_number(number, visitor),
            Shape::BigInt(bigint) => visit_bigint(bigint, visitor),
            Shape::Text(string) => visit_text(string, visitor),
            Shape::Bytes(bytes) => visitor.visit_borrowed_bytes(bytes),
            Shape::Seq(elements) => visitor.visit_seq(elements),
            Shape::Struct(fields) => visitor.visit_map(fields),
            Shape::Map(entries) => visitor.visit_map(entries),
            Shape::No(what) => Err(SerdeError::invalid_type(Unexpected::Other(what), &visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        if self.is_nothing() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        visitor.visit_newtype_struct(self)
    }

    /// Bytes are a sequence of numbers, too.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.shape()? {
            Shape::Bytes(bytes) => visitor.visit_seq(serde::de::value::SeqDeserializer::new(
                bytes.iter().copied(),
            )),
            Shape::Seq(elements) => visitor.visit_seq(elements),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        match self.shape()? {
            Shape::Text(string) => visitor.visit_enum(UnitVariant(text(string)?.into_owned())),
            Shape::Struct(mut fields) if fields.properties.len() == 1 => {
                match fields.properties.next() {
                    Some(property) => visitor.visit_enum(Variant {
                        name: property.name,
                        inner: self.inside(property.value),
                    }),
                    None => Err(SerdeError::new("an object without properties")),
                }
            }
            _ => Err(SerdeError::invalid_type(
                Unexpected::Other("value"),
                &"a string or an object with one property",
            )),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct map struct identifier
    }
}

/// Elements of an array or set; holes are `undefined`.
struct Elements<'r, 't, 'de> {
    node: Node<'r, 't, 'de>,
    /// The front.
    slots: std::slice::Iter<'t, Slot<'de>>,
    /// What is behind it: elements with their indices, then other properties.
    further: std::slice::Iter<'t, Property<'de>>,
    /// The index of the element that comes next behind the front.
    next: u32,
    /// The index behind the last element.
    length: u32,
}

impl Elements<'_, '_, '_> {
    fn left(&self) -> usize {
        self.slots.len() + self.length.saturating_sub(self.next) as usize
    }
}

impl<'de> SeqAccess<'de> for Elements<'_, '_, 'de> {
    type Error = SerdeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, SerdeError> {
        let value = match self.slots.next() {
            Some(slot) => *slot,
            None if self.next >= self.length => return Ok(None),
            None => {
                let name = PropertyName::Index(self.next);
                self.next += 1;
                match self.further.as_slice() {
                    [property, rest @ ..] if property.name == name => {
                        self.further = rest.iter();
                        Some(property.value)
                    }
                    _ => None,
                }
            }
        };
        let node = self.node.inside(value.unwrap_or(Value::Undefined));
        seed.deserialize(node).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left())
    }
}

/// Properties of an object.
struct Fields<'r, 't, 'de> {
    node: Node<'r, 't, 'de>,
    properties: std::slice::Iter<'t, Property<'de>>,
    value: Value<'de>,
}

impl<'de> MapAccess<'de> for Fields<'_, '_, 'de> {
    type Error = SerdeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, SerdeError> {
        let Some(property) = self.properties.next() else {
            return Ok(None);
        };
        self.value = property.value;
        let name = match property.name {
            PropertyName::String(name) => text(name)?,
            index => index.with_str(|name| text(name).map(|name| name.into_owned().into()))?,
        };
        seed.deserialize(Key(name)).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, SerdeError> {
        seed.deserialize(self.node.inside(self.value))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.properties.len())
    }
}

/// Entries of a `Map`: keys and values in turn.
struct Entries<'r, 't, 'de> {
    node: Node<'r, 't, 'de>,
    slots: std::slice::Iter<'t, Slot<'de>>,
}

impl<'r, 't, 'de> Entries<'r, 't, 'de> {
    fn next(&mut self) -> Option<Node<'r, 't, 'de>> {
        let slot = self.slots.next()?;
        Some(self.node.inside(slot.unwrap_or(Value::Undefined)))
    }
}

impl<'de> MapAccess<'de> for Entries<'_, '_, 'de> {
    type Error = SerdeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, SerdeError> {
        self.next().map(|key| seed.deserialize(key)).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<S::Value, SerdeError> {
        match self.next() {
            Some(value) => seed.deserialize(value),
            None => Err(SerdeError::new("a map's key without its value")),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.slots.len() / 2)
    }
}

/// An object with one property: a variant with something in it.
struct Variant<'r, 't, 'de> {
    name: PropertyName<'de>,
    inner: Node<'r, 't, 'de>,
}

impl<'r, 't, 'de> EnumAccess<'de> for Variant<'r, 't, 'de> {
    type Error = SerdeError;
    type Variant = Node<'r, 't, 'de>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Node<'r, 't, 'de>), SerdeError> {
        let name = match self.name {
            PropertyName::String(name) => seed.deserialize(Key(text(name)?)),
            // No variant is called so.
            PropertyName::Index(_) | PropertyName::Number(_) => self
                .name
                .with_str(|name| seed.deserialize(Key(name.to_utf8_lossy().into_owned().into()))),
        };
        Ok((name?, self.inner))
    }
}

impl<'de> VariantAccess<'de> for Node<'_, '_, 'de> {
    type Error = SerdeError;

    fn unit_variant(self) -> Result<(), SerdeError> {
        if self.is_nothing() {
            Ok(())
        } else {
            Err(SerdeError::new("a unit variant with something in it"))
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<S::Value, SerdeError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, SerdeError> {
        self.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        self.deserialize_any(visitor)
    }
}
