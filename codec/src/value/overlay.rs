//! [`Overlay`]: a plain object with some of its properties as another value has them.
//!
//! Where two sides have changed a record, what is stored is neither's bytes. Parts of a value cannot be copied as bytes: they refer to objects by
//! numbers that count from the value's beginning, and to blobs by places among the record's external objects. So what is
//! wanted of both trees is copied into a new one, object by object, without recursion.

use std::collections::{BTreeMap, BTreeSet};

use super::buffer::View;
use super::encode::Encoder;
use super::host::{FileSystemHandle, HostObject};
use super::names;
use super::needs::Needs;
use super::node::{
    Array, ErrorObject, Object, ObjectId, Property, PropertyName, Slot, Span, Value,
};
use super::tree::{Tree, span_from};
use crate::{DataVersion, JsString};

/// One of the two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The one that is laid over.
    Under,
    /// The one that lies over it.
    Over,
}

/// What was written, and which external objects it refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlay {
    /// What the bytes ask of versions.
    pub needs: Needs,
    /// Where the blobs and files are found, in the order of their new places: whose, and its place among those.
    pub blobs: Vec<(Side, u32)>,
    /// Where the tokens of file system handles are found, so too.
    pub tokens: Vec<(Side, u32)>,
}

impl Overlay {
    /// Appends the plain object `under` with the properties of these names as `over` has them: with its values, or not at all. A property keeps
    /// its place; one that `under` has not comes behind the others. Either value as a whole, where its own parts refer to it, is the new object.
    /// Nothing is appended, and `None` returned, if one of the two is no plain object.
    ///
    /// ```
    /// use larder_codec::JsString;
    /// use larder_codec::value::{Decoder, Overlay, Payload};
    ///
    /// // {a: 1, b: 2, c: 3} and {b: true, d: false}
    /// let under = Payload::read(b"\xff\x0fo\"\x01aI\x02\"\x01bI\x04\"\x01cI\x06{\x03")?;
    /// let over = Payload::read(b"\xff\x0fo\"\x01bT\"\x01dF{\x02")?;
    /// let (under, over) = (Decoder::new().decode(&under)?, Decoder::new().decode(&over)?);
    /// let names = ["b", "c", "d"].map(JsString::from).into();
    /// let mut bytes = Vec::new();
    /// assert!(Overlay::encode(&under, &over, &names, &mut bytes).is_some());
    /// let tree = Payload::read(&bytes)?;
    /// let tree = Decoder::new().decode(&tree)?;
    /// assert_eq!(serde_json::to_string(&tree).unwrap(), r#"{"a":1,"b":true,"d":false}"#);
    /// # Ok::<(), larder_codec::Error>(())
    /// ```
    pub fn encode<'a>(
        under: &Tree<'a>,
        over: &Tree<'a>,
        names: &BTreeSet<JsString>,
        out: &mut Vec<u8>,
    ) -> Option<Self> {
        let (root, over_root) = (plain_root(under)?, plain_root(over)?);
        let mut made = Making::new(under, over);
        let mut of_under = Copying::new(under, root, Side::Under);
        let mut of_over = Copying::new(over, over_root, Side::Over);
        let over_own = over.own_properties(over_root);
        let named = over_own
            .iter()
            .map(|own| (own.name.to_js_string(), own.value));
        let mut named: BTreeMap<_, _> = named.filter(|(name, _)| names.contains(name)).collect();
        for own in under.own_properties(root) {
            let name = own.name.to_js_string();
            if !names.contains(&name) {
                of_under.own(own.name, own.value, &mut made);
            } else if let Some(value) = named.remove(&name) {
                of_over.own(own.name, value, &mut made);
            }
        }
        for own in over_own {
            if named.contains_key(&own.name.to_js_string()) {
                of_over.own(own.name, own.value, &mut made);
            }
        }
        of_under.objects(&mut made);
        of_over.objects(&mut made);
        Some(made.encode(out))
    }
}

fn plain_root(tree: &Tree<'_>) -> Option<ObjectId> {
    match tree.root() {
        Value::Object(id) if matches!(tree.object(id), Object::Plain(_)) => Some(id),
        _ => None,
    }
}

/// The new tree. Its object 0 is the one whose own properties are listed apart.
struct Making<'a> {
    tree: Tree<'a>,
    own: Vec<Property<'a>>,
    blobs: Places,
    tokens: Places,
}

impl<'a> Making<'a> {
    fn new(under: &Tree<'a>, over: &Tree<'a>) -> Self {
        let mut tree = Tree::default();
        tree.root = tree.push_object(Object::Plain(Span::default()));
        tree.edited = true;
        // Each part was read in the versions of its side, so what both have been read in is enough.
        let (one, other) = (under.versions(), over.versions());
        tree.set_read_in(DataVersion {
            v8: one.v8.max(other.v8),
            blink: one.blink.max(other.blink),
        });
        Self {
            tree,
            own: Vec::new(),
            blobs: Places::default(),
            tokens: Places::default(),
        }
    }

    fn encode(mut self, out: &mut Vec<u8>) -> Overlay {
        names::sort(&mut self.own);
        let span = push_all(&mut self.tree.properties, self.own);
        self.tree.objects[0] = Object::Plain(span);
        self.tree.read_count = self.tree.objects.len();
        Overlay {
            needs: Encoder::new().encode(&self.tree, out),
            blobs: self.blobs.list,
            tokens: self.tokens.list,
        }
    }
}

/// Places among external objects, in the order in which they come up; each once.
#[derive(Default)]
struct Places {
    list: Vec<(Side, u32)>,
    known: BTreeMap<(Side, u32), u32>,
}

impl Places {
    fn of(&mut self, side: Side, place: u32) -> u32 {
        *self.known.entry((side, place)).or_insert_with(|| {
            self.list.push((side, place));
            u32::try_from(self.list.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

/// Objects of one side on their way.
struct Copying<'t, 'a> {
    from: &'t Tree<'a>,
    side: Side,
    /// By object: its number in the new tree.
    copies: Vec<Option<ObjectId>>,
    /// Objects that have a number, and nothing in it yet.
    pending: Vec<(ObjectId, ObjectId)>,
}

impl<'t, 'a> Copying<'t, 'a> {
    fn new(from: &'t Tree<'a>, root: ObjectId, side: Side) -> Self {
        let mut copies = vec![None; from.object_count()];
        copies[root.index()] = Some(ObjectId(0));
        Self {
            from,
            side,
            copies,
            pending: Vec::new(),
        }
    }

    /// One of the new object's own properties.
    fn own(&mut self, name: PropertyName<'a>, value: Value<'a>, made: &mut Making<'a>) {
        let value = self.value(value, &mut made.tree);
        made.own.push(Property { name, value });
    }

    fn value(&mut self, value: Value<'a>, into: &mut Tree<'a>) -> Value<'a> {
        match value {
            Value::Object(id) => self
                .object(id, into)
                .map_or(Value::Undefined, Value::Object),
            primitive => primitive,
        }
    }

    /// The number of an object's copy; what is in it comes when it is its turn. `None` for an id of another tree.
    fn object(&mut self, id: ObjectId, into: &mut Tree<'a>) -> Option<ObjectId> {
        let copy = self.copies.get_mut(id.index())?;
        if copy.is_none()
            && let Value::Object(new) = into.push_object(Object::Plain(Span::default()))
        {
            self.pending.push((id, new));
            *copy = Some(new);
        }
        *copy
    }

    /// Copies what is in the objects that values refer to, and in those that these refer to.
    fn objects(&mut self, made: &mut Making<'a>) {
        while let Some((id, copy)) = self.pending.pop() {
            made.tree.objects[copy.index()] = self.content(self.from.object(id), made);
        }
    }

    fn content(&mut self, object: &Object<'a>, made: &mut Making<'a>) -> Object<'a> {
        let into = &mut made.tree;
        match object {
            Object::Plain(span) => Object::Plain(self.properties(*span, into)),
            Object::Array(array) => Object::Array(Array {
                elements: self.slots(array.elements, into),
                properties: self.properties(array.properties, into),
                ..*array
            }),
            Object::Map(span) => Object::Map(self.slots(*span, into)),
            Object::Set(span) => Object::Set(self.slots(*span, into)),
            Object::View(view) => {
                let buffer = self.object(view.buffer, into);
                // Of another tree: it is no buffer here either.
                let buffer = buffer.unwrap_or(ObjectId(0));
                Object::View(View { buffer, ..*view })
            }
            Object::Error(error) => Object::Error(Box::new(ErrorObject {
                cause: error.cause.map(|cause| self.value(cause, into)),
                ..**error
            })),
            Object::Host(host) => Object::Host(Box::new(self.host(host, made))),
            Object::Date(_)
            | Object::BooleanObject(_)
            | Object::NumberObject(_)
            | Object::BigIntObject(_)
            | Object::StringObject(_)
            | Object::RegExp { .. }
            | Object::ArrayBuffer(_) => object.clone(),
        }
    }

    fn properties(&mut self, span: Span, into: &mut Tree<'a>) -> Span {
        let properties = self.from.properties(span).iter();
        let copied: Vec<Property<'a>> = properties
            .map(|property| Property {
                name: property.name,
                value: self.value(property.value, into),
            })
            .collect();
        push_all(&mut into.properties, copied)
    }

    fn slots(&mut self, span: Span, into: &mut Tree<'a>) -> Span {
        let slots = self.from.slots(span).iter();
        let copied: Vec<Slot<'a>> = slots
            .map(|slot| slot.map(|value| self.value(value, into)))
            .collect();
        push_all(&mut into.slots, copied)
    }

    fn host(&self, host: &HostObject<'a>, made: &mut Making<'a>) -> HostObject<'a> {
        let side = self.side;
        match host {
            HostObject::Blob(place) => HostObject::Blob(made.blobs.of(side, *place)),
            HostObject::File(place) => HostObject::File(made.blobs.of(side, *place)),
            HostObject::FileList(places) => {
                let places = places.iter().map(|place| made.blobs.of(side, *place));
                HostObject::FileList(places.collect())
            }
            HostObject::FileSystemHandle(handle) => {
                HostObject::FileSystemHandle(FileSystemHandle {
                    token_index: made.tokens.of(side, handle.token_index),
                    ..*handle
                })
            }
            other => other.clone(),
        }
    }
}

fn push_all<T>(vector: &mut Vec<T>, items: Vec<T>) -> Span {
    let start = vector.len();
    vector.extend(items);
    span_from(start, vector.len())
}

#[cfg(test)]
mod tests;
