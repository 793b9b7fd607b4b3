//! Values as JSON, without loss: `Serialize` for [`Tree`].
//!
//! Plain JSON where JSON can say it, otherwise an object whose first member begins with `$`. The
//! schema is `docs/format/jsonl-values.md`. Strings and bytes go straight from the borrowed tree to
//! the serialiser. Nesting is bounded by [`DEPTH_INLINE_MAX`]; what lies deeper is written out of
//! line, so neither this recursion nor a reader's grows with the value. Reading this form back is
//! not done here.

mod containers;
mod host;
mod text;

use std::cell::RefCell;
use std::collections::VecDeque;

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::bits::BitSet;
use super::node::{Object, ObjectId, Value};
use super::tree::Tree;
use text::{Base64, Display, Number, Str};

/// Containers (objects, arrays, maps, sets, errors) inside one another that are written in place.
/// Each takes at most three levels of JSON, so that a record stays below the 128 levels at which
/// many parsers stop.
pub const DEPTH_INLINE_MAX: usize = 32;

/// What one act of serialising has to remember.
struct Context<'t, 'a> {
    tree: &'t Tree<'a>,
    /// Shared objects that have been written.
    seen: RefCell<BitSet>,
    /// Whether containers below [`DEPTH_INLINE_MAX`] are written out of line.
    out_of_line: bool,
    /// Those of them that still have to be written.
    deep: RefCell<VecDeque<ObjectId>>,
    /// For converted strings: one buffer for all of them.
    buffer: RefCell<String>,
}

impl Serialize for Tree<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let context = Context {
            tree: self,
            seen: RefCell::default(),
            out_of_line: self.is_deep(),
            deep: RefCell::default(),
            buffer: RefCell::default(),
        };
        let root = Node {
            context: &context,
            value: self.root,
            level: 0,
        };
        if !context.out_of_line {
            return root.serialize(serializer);
        }
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("$root", &root)?;
        map.serialize_entry("$deep", &containers::Deep(&context))?;
        map.end()
    }
}

impl Tree<'_> {
    /// Whether all of it is written in place: no object has an `$id`, and none lies deeper than [`DEPTH_INLINE_MAX`] as it was read.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.depth <= DEPTH_INLINE_MAX && self.shared.is_empty()
    }

    /// Whether some container might come to lie deeper than [`DEPTH_INLINE_MAX`]. Visiting in the
    /// order of writing meets every object first where it was written, at its depth there. In
    /// another order, references may lead to it from a deeper place.
    fn is_deep(&self) -> bool {
        self.depth > DEPTH_INLINE_MAX || (self.reordered && !self.shared.is_empty())
    }
}

/// A value on its way out.
#[derive(Clone, Copy)]
struct Node<'c, 't, 'a> {
    context: &'c Context<'t, 'a>,
    value: Value<'a>,
    /// How many containers are around it in the JSON.
    level: usize,
}

impl<'c, 't, 'a> Node<'c, 't, 'a> {
    fn str(&self, string: super::JsStr<'a>) -> Str<'c, 't, 'a> {
        Str {
            context: self.context,
            string,
        }
    }

    fn bytes(&self, bytes: &'a [u8]) -> Base64<'c, 't, 'a> {
        Base64 {
            context: self.context,
            bytes,
        }
    }
}

impl Serialize for Node<'_, '_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Undefined => tagged(serializer, "$undefined", &true),
            Value::Null => serializer.serialize_unit(),
            Value::Bool(bool) => serializer.serialize_bool(bool),
            Value::Number(number) => Number(number).serialize(serializer),
            Value::BigInt(bigint) => tagged(serializer, "$bigint", &Display(bigint)),
            Value::String(string) => self.str(string).serialize(serializer),
            Value::Object(id) => self.object(id, serializer),
        }
    }
}

/// `{"tag":value}`
fn tagged<S: Serializer, T: Serialize>(
    serializer: S,
    tag: &'static str,
    value: &T,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(tag, value)?;
    map.end()
}

impl<'a> Node<'_, '_, 'a> {
    fn object<S: Serializer>(&self, id: ObjectId, serializer: S) -> Result<S::Ok, S::Error> {
        let tree = self.context.tree;
        let shared = tree.is_shared(id);
        if shared && self.context.seen.borrow().contains(id.get()) {
            return tagged(serializer, "$ref", &id.get());
        }
        let object = tree.object(id);
        if self.context.out_of_line && self.level >= DEPTH_INLINE_MAX && is_container(object) {
            self.context.seen.borrow_mut().insert(id.get());
            self.context.deep.borrow_mut().push_back(id);
            return tagged(serializer, "$ref", &id.get());
        }
        if shared {
            self.context.seen.borrow_mut().insert(id.get());
        }
        self.object_here(object, shared.then(|| id.get()), serializer)
    }

    /// An object in place, under its `$id` if it has one.
    fn object_here<S: Serializer>(
        &self,
        object: &Object<'a>,
        id: Option<u32>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let tree = self.context.tree;
        if let Object::Array(array) = object {
            return self.array(array, id, serializer);
        }
        if let Object::Plain(span) = object {
            return self.plain(tree.properties(*span), id, serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        if let Some(id) = id {
            map.serialize_entry("$id", &id)?;
        }
        match object {
            Object::Map(span) => map.serialize_entry("$map", &self.map_entries(*span))?,
            Object::Set(span) => map.serialize_entry("$set", &self.set_entries(*span))?,
            Object::Error(error) => self.error(&mut map, error)?,
            Object::View(view) => self.view(&mut map, view)?,
            Object::Host(host) => host::members(&mut map, self, host)?,
            leaf => self.leaf(&mut map, leaf)?,
        }
        map.end()
    }

    /// The members of an object without objects inside.
    fn leaf<M: SerializeMap>(&self, map: &mut M, object: &Object<'a>) -> Result<(), M::Error> {
        match object {
            Object::Date(time_ms) => {
                let date = super::IsoDate::new(*time_ms);
                map.serialize_entry("$date", &date.map(Display))
            }
            Object::BooleanObject(bool) => map.serialize_entry("$booleanobject", bool),
            Object::NumberObject(number) => map.serialize_entry("$numberobject", &Number(*number)),
            Object::BigIntObject(bigint) => map.serialize_entry("$bigintobject", &Display(*bigint)),
            Object::StringObject(string) => {
                map.serialize_entry("$stringobject", &self.str(*string))
            }
            Object::RegExp { source, flags } => {
                map.serialize_entry("$regexp", &self.str(*source))?;
                map.serialize_entry("flags", &Display(*flags))
            }
            Object::ArrayBuffer(buffer) => self.array_buffer(map, buffer),
            _ => Ok(()),
        }
    }
}

/// Whether values can lie inside.
const fn is_container(object: &Object<'_>) -> bool {
    matches!(
        object,
        Object::Plain(_) | Object::Array(_) | Object::Map(_) | Object::Set(_) | Object::Error(_)
    )
}
