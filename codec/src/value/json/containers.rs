//! Containers of the JSON form: objects, arrays, maps, sets, errors, buffers.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::text::Str;
use super::{Context, Node};
use crate::value::buffer::{ArrayBuffer, BufferKind, View};
use crate::value::node::{Array, ErrorObject, ObjectId, Property, PropertyName, Slot, Span, Value};
use crate::value::number::JsNumber;

impl<'c, 't, 'a> Node<'c, 't, 'a> {
    fn inner(&self, value: Value<'a>) -> Self {
        Self {
            context: self.context,
            value,
            level: self.level + 1,
        }
    }

    /// `{"name":value,…}`, or `{"$object":[[name,value],…]}` if a name could be mistaken for ours
    /// or cannot be a JSON name.
    pub(super) fn plain<S: Serializer>(
        &self,
        properties: &'t [Property<'a>],
        id: Option<u32>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let ordinary = properties.iter().all(|p| is_ordinary(&p.name));
        let mut map = serializer.serialize_map(None)?;
        if let Some(id) = id {
            map.serialize_entry("$id", &id)?;
        }
        if ordinary {
            for property in properties {
                let name = Name(self.context, property.name);
                map.serialize_entry(&name, &self.inner(property.value))?;
            }
        } else {
            map.serialize_entry("$object", &Properties(*self, &[], properties))?;
        }
        map.end()
    }

    /// `[value,…]`, or `{"$array":length,"properties":[[name,value],…]}` if there are holes or
    /// names.
    pub(super) fn array<S: Serializer>(
        &self,
        array: &Array,
        id: Option<u32>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let tree = self.context.tree;
        let elements = tree.slots(array.elements);
        let properties = tree.properties(array.properties);
        let dense = properties.is_empty()
            && elements.len() == array.length as usize
            && elements.iter().all(Option::is_some);
        let items = Items(*self, elements);
        if dense && id.is_none() {
            return items.serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        if let Some(id) = id {
            map.serialize_entry("$id", &id)?;
        }
        if dense {
            map.serialize_entry("$items", &items)?;
        } else {
            map.serialize_entry("$array", &array.length)?;
            map.serialize_entry("properties", &Properties(*self, elements, properties))?;
        }
        map.end()
    }

    pub(super) fn map_entries(&self, span: Span) -> impl Serialize + use<'c, 't, 'a> {
        MapEntries(*self, span)
    }

    pub(super) fn set_entries(&self, span: Span) -> impl Serialize + use<'c, 't, 'a> {
        Items(*self, self.context.tree.slots(span))
    }

    pub(super) fn error<M: SerializeMap>(
        &self,
        map: &mut M,
        error: &ErrorObject<'a>,
    ) -> Result<(), M::Error> {
        map.serialize_entry("$error", error.error_type.name())?;
        if let Some(message) = error.message {
            map.serialize_entry("message", &self.str(message))?;
        }
        if let Some(stack) = error.stack {
            map.serialize_entry("stack", &self.str(stack))?;
        }
        if let Some(cause) = error.cause {
            map.serialize_entry("cause", &self.inner(cause))?;
        }
        Ok(())
    }

    pub(super) fn array_buffer<M: SerializeMap>(
        &self,
        map: &mut M,
        buffer: &ArrayBuffer<'a>,
    ) -> Result<(), M::Error> {
        map.serialize_entry("$arraybuffer", &self.bytes(buffer.bytes))?;
        match buffer.kind {
            BufferKind::Fixed => Ok(()),
            BufferKind::Resizable(max_len) => map.serialize_entry("maxByteLength", &max_len),
            BufferKind::Immutable => map.serialize_entry("immutable", &true),
        }
    }

    pub(super) fn view<M: SerializeMap>(&self, map: &mut M, view: &View) -> Result<(), M::Error> {
        map.serialize_entry("$view", view.kind.name())?;
        map.serialize_entry("byteOffset", &view.byte_offset)?;
        map.serialize_entry("byteLength", &view.byte_length)?;
        if view.length_tracking {
            map.serialize_entry("lengthTracking", &true)?;
        }
        map.serialize_entry("buffer", &self.inner(Value::Object(view.buffer)))
    }
}

/// Whether a property can be written as a JSON member under its own name.
fn is_ordinary(name: &PropertyName<'_>) -> bool {
    match name {
        PropertyName::String(name) => {
            name.units().next() != Some(u16::from(b'$')) && name.is_well_formed()
        }
        _ => true,
    }
}

/// A property's name as a JSON string.
struct Name<'c, 't, 'a>(&'c Context<'t, 'a>, PropertyName<'a>);

impl Serialize for Name<'_, '_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(context, name) = *self;
        match name {
            PropertyName::String(string) => Str { context, string }.serialize(serializer),
            PropertyName::Index(index) => serializer.collect_str(&index),
            PropertyName::Number(number) => serializer.collect_str(&JsNumber(number)),
        }
    }
}

/// `[value,…]` of slots without holes.
struct Items<'c, 't, 'a>(Node<'c, 't, 'a>, &'t [Slot<'a>]);

impl Serialize for Items<'_, '_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.1.len()))?;
        for value in self.1.iter().flatten() {
            seq.serialize_element(&self.0.inner(*value))?;
        }
        seq.end()
    }
}

/// `[[name,value],…]`, elements first.
struct Properties<'c, 't, 'a>(Node<'c, 't, 'a>, &'t [Slot<'a>], &'t [Property<'a>]);

impl Serialize for Properties<'_, '_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(node, elements, properties) = self;
        let mut seq = serializer.serialize_seq(None)?;
        for (index, slot) in (0..).zip(*elements) {
            if let Some(value) = slot {
                let name = Name(node.context, PropertyName::Index(index));
                seq.serialize_element(&(name, node.inner(*value)))?;
            }
        }
        for property in *properties {
            let name = Name(node.context, property.name);
            seq.serialize_element(&(name, node.inner(property.value)))?;
        }
        seq.end()
    }
}

/// `[[key,value],…]`
struct MapEntries<'c, 't, 'a>(Node<'c, 't, 'a>, Span);

impl Serialize for MapEntries<'_, '_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(node, span) = self;
        let mut seq = serializer.serialize_seq(Some(span.len() / 2))?;
        for (key, value) in node.context.tree.entries(*span) {
            seq.serialize_element(&(node.inner(key), node.inner(value)))?;
        }
        seq.end()
    }
}

/// The objects that were too deep to be written in place, each under its `$id`. Writing one may
/// bring up more.
pub(super) struct Deep<'c, 't, 'a>(pub(super) &'c Context<'t, 'a>);

impl Serialize for Deep<'_, '_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(None)?;
        loop {
            let next = self.0.deep.borrow_mut().pop_front();
            let Some(id) = next else { break };
            seq.serialize_element(&DeepObject(self.0, id))?;
        }
        seq.end()
    }
}

struct DeepObject<'c, 't, 'a>(&'c Context<'t, 'a>, ObjectId);

impl Serialize for DeepObject<'_, '_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(context, id) = *self;
        let node = Node {
            context,
            value: Value::Object(id),
            level: 0,
        };
        node.object_here(context.tree.object(id), Some(id.get()), serializer)
    }
}
