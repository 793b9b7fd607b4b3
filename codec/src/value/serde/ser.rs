//! [`Draft`]: a serialiser that takes notes, from which a tree is made.
//!
//! A tree borrows its strings and bytes, which come one by one here; so they are laid down in one
//! vector first. Nothing else is done twice.

use std::ops::Range;

use serde::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::super::bigint::BigInt;
use super::super::buffer::{ArrayBuffer, BufferKind, View, ViewKind};
use super::super::js_str::JsStr;
use super::super::names::{self, Names};
use super::super::node::{Array, Object, ObjectId, Property, PropertyName, Span, Value};
use super::super::tree::{Tree, span_from};
use super::key::KeyText;
use super::{DEPTH_MAX, SerdeError, too_deep};

/// Integers up to this, either way, are numbers.
pub(super) const NUMBER_MAX: u128 = 1 << 53;

/// What has been serialised so far.
#[derive(Debug, Default)]
pub(super) struct Draft {
    bytes: Vec<u8>,
    objects: Vec<Noted>,
    slots: Vec<Note>,
    properties: Vec<(Range<usize>, Note)>,
    /// Elements and properties of what is still open, innermost last.
    open_slots: Vec<Note>,
    open_properties: Vec<(Range<usize>, Note)>,
    /// Containers that are open.
    depth: usize,
}

/// A value whose bytes lie in the draft.
#[derive(Debug, Clone)]
pub(super) enum Note {
    Null,
    Bool(bool),
    Number(f64),
    BigInt(Range<usize>),
    Text(Range<usize>),
    Object(usize),
}

#[derive(Debug)]
enum Noted {
    Plain(Span),
    Array(Span),
    Bytes(Range<usize>),
    /// A view of the whole buffer before it.
    View(usize),
}

impl Draft {
    /// The tree of what was noted.
    pub(super) fn tree(&self, root: Note) -> Result<Tree<'_>, SerdeError> {
        let mut tree = Tree {
            root: self.value(&root)?,
            ..Tree::default()
        };
        for note in &self.slots {
            tree.slots.push(Some(self.value(note)?));
        }
        for (name, note) in &self.properties {
            let name = PropertyName::from_js(JsStr::Utf8(&self.bytes[name.clone()]));
            let value = self.value(note)?;
            tree.properties.push(Property { name, value });
        }
        let mut names = Names::default();
        for noted in &self.objects {
            tree.objects.push(match noted {
                Noted::Plain(span) => {
                    let own = &mut tree.properties[span.range()];
                    names::sort(own);
                    if !names.unique(own) {
                        return Err(SerdeError::new("an object with a property name twice"));
                    }
                    Object::Plain(*span)
                }
                Noted::Array(span) => Object::Array(Array {
                    length: span.len,
                    elements: *span,
                    ..Array::default()
                }),
                Noted::Bytes(range) => Object::ArrayBuffer(ArrayBuffer {
                    bytes: &self.bytes[range.clone()],
                    kind: BufferKind::Fixed,
                }),
                Noted::View(len) => Object::View(View {
                    kind: ViewKind::Uint8Array,
                    buffer: id(tree.objects.len() - 1)?,
                    byte_offset: 0,
                    byte_length: *len,
                    length_tracking: false,
                }),
            });
        }
        // This tree was not read from bytes: the encoder chooses the form of numbers.
        tree.edited = true;
        Ok(tree)
    }

    fn value(&self, note: &Note) -> Result<Value<'_>, SerdeError> {
        Ok(match note {
            Note::Null => Value::Null,
            Note::Bool(bool) => Value::Bool(*bool),
            Note::Number(number) => Value::Number(*number),
            Note::BigInt(range) => Value::BigInt(BigInt::from_wire(&self.bytes[range.clone()])?),
            Note::Text(range) => Value::String(JsStr::Utf8(&self.bytes[range.clone()])),
            Note::Object(at) => Value::Object(id(*at)?),
        })
    }

    fn lay_down(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    fn object(&mut self, noted: Noted) -> Note {
        self.objects.push(noted);
        Note::Object(self.objects.len() - 1)
    }

    fn integer(&mut self, negative: bool, magnitude: u128) -> Note {
        if magnitude <= NUMBER_MAX {
            let number = magnitude as f64;
            return Note::Number(if negative { -number } else { number });
        }
        let digits = magnitude.to_le_bytes();
        let field = (digits.len() << 1) as u8 | u8::from(negative);
        let start = self.lay_down(&[field]).start;
        let end = self.lay_down(&digits).end;
        Note::BigInt(start..end)
    }

    /// Ends an array whose elements are open from `start` on.
    fn end_array(&mut self, start: usize) -> Note {
        self.depth -= 1;
        let at = self.slots.len();
        self.slots.extend(self.open_slots.drain(start..));
        let span = span_from(at, self.slots.len());
        self.object(Noted::Array(span))
    }

    /// Ends an object whose properties are open from `start` on.
    fn end_object(&mut self, start: usize) -> Note {
        self.depth -= 1;
        let at = self.properties.len();
        self.properties.extend(self.open_properties.drain(start..));
        let span = span_from(at, self.properties.len());
        self.object(Noted::Plain(span))
    }

    /// The object that stands for a variant with something in it.
    fn variant(&mut self, variant: &str, inner: Note) -> Note {
        let start = self.open_properties.len();
        let name = self.lay_down(variant.as_bytes());
        self.open_properties.push((name, inner));
        self.end_object(start)
    }

    fn begin(&mut self, variant: Option<&'static str>) -> Result<Compound<'_>, SerdeError> {
        if variant.is_some() {
            self.enter()?;
        }
        self.enter()?;
        Ok(Compound {
            slots_start: self.open_slots.len(),
            properties_start: self.open_properties.len(),
            name: None,
            variant,
            draft: self,
        })
    }

    /// An object begins, a container or not.
    fn check_depth(&self) -> Result<(), SerdeError> {
        match self.depth < DEPTH_MAX {
            true => Ok(()),
            false => Err(too_deep()),
        }
    }

    fn enter(&mut self) -> Result<(), SerdeError> {
        self.check_depth()?;
        self.depth += 1;
        Ok(())
    }
}

fn id(at: usize) -> Result<ObjectId, SerdeError> {
    let id = u32::try_from(at).map_err(|_| SerdeError::new("more than 2^32 objects"))?;
    Ok(ObjectId(id))
}

impl<'d> Serializer for &'d mut Draft {
    type Ok = Note;
    type Error = SerdeError;
    type SerializeSeq = Compound<'d>;
    type SerializeTuple = Compound<'d>;
    type SerializeTupleStruct = Compound<'d>;
    type SerializeTupleVariant = Compound<'d>;
    type SerializeMap = Compound<'d>;
    type SerializeStruct = Compound<'d>;
    type SerializeStructVariant = Compound<'d>;

    fn serialize_bool(self, value: bool) -> Result<Note, SerdeError> {
        Ok(Note::Bool(value))
    }

    fn serialize_i8(self, value: i8) -> Result<Note, SerdeError> {
        self.serialize_i128(i128::from(value))
    }

    fn serialize_i16(self, value: i16) -> Result<Note, SerdeError> {
        self.serialize_i128(i128::from(value))
    }

    fn serialize_i32(self, value: i32) -> Result<Note, SerdeError> {
        self.serialize_i128(i128::from(value))
    }

    fn serialize_i64(self, value: i64) -> Result<Note, SerdeError> {
        self.serialize_i128(i128::from(value))
    }

    fn serialize_i128(self, value: i128) -> Result<Note, SerdeError> {
        Ok(self.integer(value < 0, value.unsigned_abs()))
    }

    fn serialize_u8(self, value: u8) -> Result<Note, SerdeError> {
        self.serialize_u128(u128::from(value))
    }

    fn serialize_u16(self, value: u16) -> Result<Note, SerdeError> {
        self.serialize_u128(u128::from(value))
    }

    fn serialize_u32(self, value: u32) -> Result<Note, SerdeError> {
        self.serialize_u128(u128::from(value))
    }

    fn serialize_u64(self, value: u64) -> Result<Note, SerdeError> {
        self.serialize_u128(u128::from(value))
    }

    fn serialize_u128(self, value: u128) -> Result<Note, SerdeError> {
        Ok(self.integer(false, value))
    }

    fn serialize_f32(self, value: f32) -> Result<Note, SerdeError> {
        Ok(Note::Number(f64::from(value)))
    }

    fn serialize_f64(self, value: f64) -> Result<Note, SerdeError> {
        Ok(Note::Number(value))
    }

    fn serialize_char(self, value: char) -> Result<Note, SerdeError> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<Note, SerdeError> {
        Ok(Note::Text(self.lay_down(value.as_bytes())))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Note, SerdeError> {
        self.check_depth()?;
        let range = self.lay_down(value);
        self.object(Noted::Bytes(range));
        Ok(self.object(Noted::View(value.len())))
    }

    fn serialize_none(self) -> Result<Note, SerdeError> {
        Ok(Note::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Note, SerdeError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Note, SerdeError> {
        Ok(Note::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Note, SerdeError> {
        Ok(Note::Null)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Note, SerdeError> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Note, SerdeError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Note, SerdeError> {
        self.enter()?;
        let inner = value.serialize(&mut *self)?;
        Ok(self.variant(variant, inner))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'d>, SerdeError> {
        self.begin(None)
    }

    fn serialize_tuple(self, _: usize) -> Result<Compound<'d>, SerdeError> {
        self.begin(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Compound<'d>, SerdeError> {
        self.begin(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'d>, SerdeError> {
        self.begin(Some(variant))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'d>, SerdeError> {
        self.begin(None)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Compound<'d>, SerdeError> {
        self.begin(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'d>, SerdeError> {
        self.begin(Some(variant))
    }
}

/// An array or object that is being filled.
#[derive(Debug)]
pub(super) struct Compound<'d> {
    draft: &'d mut Draft,
    slots_start: usize,
    properties_start: usize,
    /// The name of a map's next value.
    name: Option<Range<usize>>,
    variant: Option<&'static str>,
}

impl Compound<'_> {
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
        let note = value.serialize(&mut *self.draft)?;
        self.draft.open_slots.push(note);
        Ok(())
    }

    fn field<T: Serialize + ?Sized>(
        &mut self,
        name: Range<usize>,
        value: &T,
    ) -> Result<(), SerdeError> {
        let note = value.serialize(&mut *self.draft)?;
        self.draft.open_properties.push((name, note));
        Ok(())
    }

    fn named<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), SerdeError> {
        let name = self.draft.lay_down(name.as_bytes());
        self.field(name, value)
    }

    fn end(self, is_array: bool) -> Note {
        let note = if is_array {
            self.draft.end_array(self.slots_start)
        } else {
            self.draft.end_object(self.properties_start)
        };
        match self.variant {
            Some(variant) => self.draft.variant(variant, note),
            None => note,
        }
    }
}

impl SerializeSeq for Compound<'_> {
    type Ok = Note;
    type Error = SerdeError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
        self.element(value)
    }

    fn end(self) -> Result<Note, SerdeError> {
        Ok(self.end(true))
    }
}

impl SerializeTuple for Compound<'_> {
    type Ok = Note;
    type Error = SerdeError;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
        self.element(value)
    }

    fn end(self) -> Result<Note, SerdeError> {
        Ok(self.end(true))
    }
}

impl SerializeTupleStruct for Compound<'_> {
    type Ok = Note;
    type Error = SerdeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
        self.element(value)
    }

    fn end(self) -> Result<Note, SerdeError> {
        Ok(self.end(true))
    }
}

impl SerializeTupleVariant for Compound<'_> {
    type Ok = Note;
    type Error = SerdeError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
        self.element(value)
    }

    fn end(self) -> Result<Note, SerdeError> {
        Ok(self.end(true))
    }
}

impl SerializeMap for Compound<'_> {
    type Ok = Note;
    type Error = SerdeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), SerdeError> {
        let text = key.serialize(KeyText)?;
        self.name = Some(self.draft.lay_down(text.as_bytes()));
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
        let name = self.name.take();
        let name = name.ok_or_else(|| SerdeError::new("a map's value without its key"))?;
        self.field(name, value)
    }

    fn end(self) -> Result<Note, SerdeError> {
        Ok(self.end(false))
    }
}

impl SerializeStruct for Compound<'_> {
    type Ok = Note;
    type Error = SerdeError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), SerdeError> {
        self.named(name, value)
    }

    fn end(self) -> Result<Note, SerdeError> {
        Ok(self.end(false))
    }
}

impl SerializeStructVariant for Compound<'_> {
    type Ok = Note;
    type Error = SerdeError;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), SerdeError> {
        self.named(name, value)
    }

    fn end(self) -> Result<Note, SerdeError> {
        Ok(self.end(false))
    }
}

/// What [`KeyText`] never makes.
pub(super) type Never = Impossible<String, SerdeError>;
