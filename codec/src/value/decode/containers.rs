//! Objects, arrays, maps, sets and errors: everything that has values inside.
//!
//! Each function goes on with one open container: first it takes the value of the container that
//! was just closed inside it, then it reads on until it closes itself or opens another. The shapes
//! are V8's; see `docs/format/values.md`.

use super::super::node::{
    Array, ErrorObject, ErrorType, Object, ObjectId, Property, PropertyName, Span, Value,
};
use super::super::reader::{error, invalid};
use super::super::tag::{error as error_tag, v8 as tag};
use super::super::tree::span_from;
use super::super::{js_str::JsStr, names};
use super::{Frame, FrameKind, Read, Run};
use crate::{ErrorKind, Result};

impl<'a> Run<'a> {
    /// Opens a container of `length` (0 if it has none).
    pub(super) fn open(&mut self, kind: FrameKind, length: u32, object: Object<'a>) -> Read<'a> {
        let index = self.store.objects.len();
        self.store.objects.push(object);
        Read::Open(Frame {
            kind,
            object: index,
            properties_start: self.scratch.properties.len(),
            slots_start: self.scratch.slots.len(),
            length,
            name: PropertyName::Index(0),
        })
    }

    /// Ends a container: the value that refers to it.
    fn closed(frame: &Frame<'a>) -> Read<'a> {
        // Objects are fewer than input bytes, which 32 bits can count.
        let id = u32::try_from(frame.object).unwrap_or(u32::MAX);
        Read::Value(Value::Object(ObjectId(id)))
    }

    /// Name, value, name, value, … end tag.
    pub(super) fn properties(
        &mut self,
        frame: &mut Frame<'a>,
        inner: Option<Value<'a>>,
    ) -> Result<Read<'a>> {
        if let Some(value) = inner {
            let name = frame.name;
            self.scratch.properties.push(Property { name, value });
        }
        let end = match frame.kind {
            FrameKind::SparseArray => tag::END_SPARSE_ARRAY,
            FrameKind::DenseProperties => tag::END_DENSE_ARRAY,
            _ => tag::END_OBJECT,
        };
        loop {
            let (tag, at) = self.next_tag()?;
            if tag == end {
                self.close_properties(frame, at)?;
                return Ok(Self::closed(frame));
            }
            let name = self.name(tag, at)?;
            let (tag, at) = self.next_tag()?;
            match self.tagged(tag, at)? {
                Read::Value(value) => self.scratch.properties.push(Property { name, value }),
                open @ Read::Open(_) => {
                    frame.name = name;
                    return Ok(open);
                }
            }
        }
    }

    /// A property's name: a string or a number.
    #[inline]
    fn name(&mut self, tag: u8, at: usize) -> Result<PropertyName<'a>> {
        match tag {
            tag::ONE_BYTE_STRING | tag::TWO_BYTE_STRING | tag::UTF8_STRING => {
                Ok(PropertyName::from_js(self.string(tag, at)?))
            }
            tag::INT32 | tag::UINT32 | tag::DOUBLE => {
                Ok(PropertyName::from_number(self.number(tag)?))
            }
            tag => error(ErrorKind::UnknownTag { tag }, at, "property name"),
        }
    }

    /// The counts behind the end tag; then the properties go into the tree.
    fn close_properties(&mut self, frame: &Frame<'a>, at: usize) -> Result<()> {
        let own = self
            .scratch
            .properties
            .split_at_mut(frame.properties_start)
            .1;
        let said = self.reader.varint_u32("number of properties")?;
        if said as usize != own.len() {
            return invalid(u64::from(said), at, "number of properties");
        }
        self.reordered |= names::sort(own);
        if !self.scratch.names.unique(own) {
            return invalid(own.len() as u64, at, "object with a property name twice");
        }
        let mut object = Object::Plain(Span::default());
        if frame.kind != FrameKind::Plain {
            let said = self.reader.varint_u32("array length")?;
            if said != frame.length {
                return invalid(u64::from(said), at, "array length");
            }
            object = Object::Array(self.close_array(frame, at)?);
        }
        let start = self.store.properties.len();
        let own = &self.scratch.properties[frame.properties_start..];
        self.store.properties.extend_from_slice(own);
        self.scratch.properties.truncate(frame.properties_start);
        let span = span_from(start, self.store.properties.len());
        match &mut object {
            Object::Array(array) => array.properties = span,
            _ => object = Object::Plain(span),
        }
        self.store.objects[frame.object] = object;
        Ok(())
    }

    /// Settles an array's length and elements: properties that name elements become elements
    /// where they fill holes or continue the front without a gap.
    fn close_array(&mut self, frame: &Frame<'a>, at: usize) -> Result<Array> {
        let own = &self.scratch.properties[frame.properties_start..];
        if own
            .iter()
            .any(|p| p.name == PropertyName::String(JsStr::Latin1(b"length")))
        {
            return invalid(
                u64::from(frame.length),
                at,
                "array with a property \"length\"",
            );
        }
        let mut array = match &self.store.objects[frame.object] {
            Object::Array(array) => *array,
            _ => Array::default(),
        };
        let mut moved = 0;
        for property in own {
            let PropertyName::Index(index) = property.name else {
                break;
            };
            // An element beyond the end moves the end, as it does in JavaScript.
            array.length = array.length.max(index.saturating_add(1));
            let slot = self.store.slots[array.elements.range()].get_mut(index as usize);
            match slot {
                Some(slot @ None) => {
                    *slot = Some(property.value);
                    self.reordered = true;
                }
                Some(Some(_)) => return invalid(u64::from(index), at, "array element twice"),
                None if array.elements.is_empty() && index as usize == moved => {}
                None => break,
            }
            moved += 1;
        }
        if array.elements.is_empty() {
            let start = self.store.slots.len();
            self.store
                .slots
                .extend(own[..moved].iter().map(|property| Some(property.value)));
            array.elements = span_from(start, self.store.slots.len());
        }
        if let Some(Property {
            name: PropertyName::Index(last),
            ..
        }) = own
            .iter()
            .rfind(|p| matches!(p.name, PropertyName::Index(_)))
        {
            array.length = array.length.max(last.saturating_add(1));
        }
        let start = frame.properties_start;
        self.scratch.properties.drain(start..start + moved);
        Ok(array)
    }

    /// The elements of a dense array, then its properties.
    pub(super) fn elements(
        &mut self,
        frame: &mut Frame<'a>,
        inner: Option<Value<'a>>,
    ) -> Result<Read<'a>> {
        const HOLES_VERSION_MIN: u32 = 11;
        if inner.is_some() {
            self.scratch.slots.push(inner);
        }
        let end = frame.slots_start + frame.length as usize;
        while self.scratch.slots.len() < end {
            let (tag, at) = self.next_tag()?;
            let slot = match tag {
                tag::HOLE => None,
                // Versions before 11 wrote holes as undefined.
                tag::UNDEFINED if self.versions.v8 < HOLES_VERSION_MIN => None,
                // Long arrays are mostly of numbers: no need to ask about containers.
                tag::INT32 | tag::UINT32 | tag::DOUBLE => Some(self.number_value(tag)?),
                _ => match self.tagged(tag, at)? {
                    Read::Value(value) => Some(value),
                    open @ Read::Open(_) => return Ok(open),
                },
            };
            self.scratch.slots.push(slot);
        }
        self.store.objects[frame.object] = Object::Array(Array {
            length: frame.length,
            elements: self.take_slots(frame),
            ..Array::default()
        });
        frame.kind = FrameKind::DenseProperties;
        self.properties(frame, None)
    }

    /// Moves a container's slots into the tree.
    fn take_slots(&mut self, frame: &Frame<'a>) -> Span {
        let start = self.store.slots.len();
        let own = &self.scratch.slots[frame.slots_start..];
        self.store.slots.extend_from_slice(own);
        self.scratch.slots.truncate(frame.slots_start);
        span_from(start, self.store.slots.len())
    }

    /// The entries of a map or set: values, end tag, how many there were.
    pub(super) fn entries(
        &mut self,
        frame: &Frame<'a>,
        inner: Option<Value<'a>>,
    ) -> Result<Read<'a>> {
        if inner.is_some() {
            self.scratch.slots.push(inner);
        }
        let is_map = frame.kind == FrameKind::Map;
        let end = if is_map { tag::END_MAP } else { tag::END_SET };
        loop {
            let (tag, at) = self.next_tag()?;
            let count = self.scratch.slots.len() - frame.slots_start;
            // A map's end is looked for in front of keys only.
            if tag == end && !(is_map && count % 2 == 1) {
                let said = self.reader.varint_u32("number of entries")?;
                if said as usize != count {
                    return invalid(u64::from(said), at, "number of entries");
                }
                let span = self.take_slots(frame);
                self.store.objects[frame.object] = if is_map {
                    Object::Map(span)
                } else {
                    Object::Set(span)
                };
                return Ok(Self::closed(frame));
            }
            match self.tagged(tag, at)? {
                Read::Value(value) => self.scratch.slots.push(Some(value)),
                open @ Read::Open(_) => return Ok(open),
            }
        }
    }

    /// The fields of an error, in any order: V8 wrote the cause in front of the stack first, and
    /// behind it later.
    pub(super) fn error_fields(
        &mut self,
        frame: &Frame<'a>,
        inner: Option<Value<'a>>,
    ) -> Result<Read<'a>> {
        if inner.is_some() {
            self.edit_error(frame, |error| error.cause = inner);
        }
        loop {
            let at = self.reader.offset();
            let wide = self.reader.varint_u32("error field")?;
            let Ok(field) = u8::try_from(wide) else {
                return invalid(u64::from(wide), at, "error field");
            };
            match field {
                error_tag::END => return Ok(Self::closed(frame)),
                error_tag::MESSAGE => {
                    let message = self.tagged_string()?;
                    self.edit_error(frame, |error| error.message = Some(message));
                }
                error_tag::STACK => {
                    let stack = self.tagged_string()?;
                    self.edit_error(frame, |error| error.stack = Some(stack));
                }
                error_tag::CAUSE => {
                    let (tag, at) = self.next_tag()?;
                    match self.tagged(tag, at)? {
                        Read::Value(value) => {
                            self.edit_error(frame, |error| error.cause = Some(value));
                        }
                        open @ Read::Open(_) => return Ok(open),
                    }
                }
                tag => match ErrorType::from_tag(tag) {
                    Some(error_type) => {
                        self.edit_error(frame, |error| error.error_type = error_type);
                    }
                    None => return error(ErrorKind::UnknownTag { tag }, at, "error field"),
                },
            }
        }
    }

    fn edit_error(&mut self, frame: &Frame<'a>, edit: impl FnOnce(&mut ErrorObject<'a>)) {
        if let Object::Error(error) = &mut self.store.objects[frame.object] {
            edit(error);
        }
    }
}
