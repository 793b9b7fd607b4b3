//! [`Tree`]: one decoded value with all objects it reaches.
//!
//! Objects, properties and elements lie in three vectors and refer to each other by number, so a tree may be as deep or
//! as cyclic as JavaScript allows without recursion anywhere. Strings and bytes are borrowed from the input. The bytes'
//! layout is [`Decoder`](super::Decoder)'s concern, and blobs are not resolved.

use super::bits::BitSet;
use super::buffer::ArrayBuffer;
use super::js_str::JsStr;
use super::names;
use super::node::{Array, Object, ObjectId, Property, PropertyName, Slot, Span, Value};
use crate::DataVersion;

/// A decoded value. See the [module](super) for an example.
#[derive(Debug, Clone, Default)]
pub struct Tree<'a> {
    pub(super) root: Value<'a>,
    pub(super) objects: Vec<Object<'a>>,
    pub(super) properties: Vec<Property<'a>>,
    pub(super) slots: Vec<Slot<'a>>,
    /// Objects that are referred to from more than one place.
    pub(super) shared: BitSet,
    /// Small integers that were written as doubles: which of the numbers among the values, in the
    /// order of writing.
    pub(super) doubles: Vec<u32>,
    /// Whether something was put in since, so that numbers are no longer where they were.
    pub(super) edited: bool,
    pub(super) depth: usize,
    /// Whether the objects, visited in order, come up in another order than they were written in.
    /// Then first visits may be nested deeper than `depth`.
    pub(super) reordered: bool,
    pub(super) versions: Versions,
    /// So many objects were read; those behind them were added.
    pub(super) read_count: usize,
    /// The objects that were read need no greater versions.
    pub(super) read_in: Versions,
}

/// The versions that a value says it was written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Versions {
    /// Blink's wire format version: 21 today. Before 16 it was one number with V8's.
    pub blink: u32,
    /// V8's wire format version: 16 today.
    pub v8: u32,
}

impl From<Versions> for DataVersion {
    fn from(versions: Versions) -> Self {
        Self {
            v8: versions.v8,
            blink: versions.blink,
        }
    }
}

impl<'a> Tree<'a> {
    /// The value itself.
    #[must_use]
    pub const fn root(&self) -> Value<'a> {
        self.root
    }

    /// The versions it was written with.
    #[must_use]
    pub const fn versions(&self) -> Versions {
        self.versions
    }

    /// Says that it needs no greater versions than these, though it was read in others: it is a copy of what was read in these.
    pub const fn set_read_in(&mut self, version: DataVersion) {
        let DataVersion { v8, blink } = version;
        self.read_in = Versions { blink, v8 };
    }

    /// The versions in which an object was read; `None` if it was added.
    pub(super) fn read_in(&self, id: ObjectId) -> Option<DataVersion> {
        (id.index() < self.read_count).then(|| self.read_in.into())
    }

    /// How many objects there are; their ids are below this.
    #[must_use]
    pub const fn object_count(&self) -> usize {
        self.objects.len()
    }

    /// The greatest number of containers (objects, arrays, maps, sets, errors) inside one another
    /// as written: 0 if there is none. Injected objects may make it one too great.
    #[must_use]
    pub const fn depth(&self) -> usize {
        self.depth
    }

    /// An object of this tree.
    ///
    /// # Panics
    /// If the id is of another, larger tree.
    #[must_use]
    pub fn object(&self, id: ObjectId) -> &Object<'a> {
        &self.objects[id.index()]
    }

    /// All objects, in order of their ids.
    pub fn objects(&self) -> impl Iterator<Item = &Object<'a>> {
        self.objects.iter()
    }

    /// The properties of a span of this tree. A span of another tree gives something without
    /// meaning, but never a panic.
    #[must_use]
    pub fn properties(&self, span: Span) -> &[Property<'a>] {
        self.properties.get(span.range()).unwrap_or_default()
    }

    /// The elements of an array or set of this tree.
    #[must_use]
    pub fn slots(&self, span: Span) -> &[Slot<'a>] {
        self.slots.get(span.range()).unwrap_or_default()
    }

    /// The entries of a map of this tree.
    pub fn entries(&self, span: Span) -> impl Iterator<Item = (Value<'a>, Value<'a>)> {
        let (pairs, _) = self.slots(span).as_chunks::<2>();
        pairs.iter().filter_map(|&[key, value]| key.zip(value))
    }

    /// Whether an object is referred to from more than one place of the tree.
    #[must_use]
    pub fn is_shared(&self, id: ObjectId) -> bool {
        self.shared.contains(id.0)
    }

    /// The array buffer with this id, as views name it.
    #[must_use]
    pub fn array_buffer(&self, id: ObjectId) -> Option<ArrayBuffer<'a>> {
        match self.objects.get(id.index())? {
            Object::ArrayBuffer(buffer) => Some(*buffer),
            _ => None,
        }
    }

    /// The own properties of a plain object, or the named and sparse ones of an array; none for
    /// other objects.
    #[must_use]
    pub fn own_properties(&self, id: ObjectId) -> &[Property<'a>] {
        match self.object(id) {
            Object::Plain(span)
            | Object::Array(Array {
                properties: span, ..
            }) => self.properties(*span),
            _ => &[],
        }
    }

    /// An own property of a plain object or array, elements included.
    #[must_use]
    pub fn get(&self, id: ObjectId, name: &PropertyName<'_>) -> Option<Value<'a>> {
        if let (Object::Array(array), PropertyName::Index(index)) = (self.object(id), name)
            && let Some(slot) = self.slots(array.elements).get(*index as usize)
        {
            return *slot;
        }
        self.own_properties(id)
            .iter()
            .find(|property| property.name == *name)
            .map(|property| property.value)
    }

    /// Adds an object and returns the value that refers to it.
    pub fn push_object(&mut self, object: Object<'a>) -> Value<'a> {
        // Ids are 32 bits wide; decoding allows no more objects than that, and 2^32 cannot be added by hand.
        let id = u32::try_from(self.objects.len()).unwrap_or(u32::MAX);
        self.objects.push(object);
        Value::Object(ObjectId(id))
    }

    /// Adds an array of these elements and returns the value that refers to it.
    pub fn push_array(&mut self, elements: &[Value<'a>]) -> Value<'a> {
        let start = self.slots.len();
        self.slots.extend(elements.iter().copied().map(Some));
        let span = span_from(start, self.slots.len());
        self.push_object(Object::Array(Array {
            length: span.len,
            elements: span,
            ..Array::default()
        }))
    }

    /// Puts `value` where the key path `path` points: what Blink does when it reads a record of a
    /// store with a key generator and an inline key, because such keys are not stored inside
    /// values. Missing objects on the way are made; an existing property keeps its place.
    ///
    /// Returns false, with the tree as it was, if the path is empty or leads through something that
    /// can have no such property: something else than plain objects and arrays, an array's length or
    /// elements. Writers check that before they store.
    pub fn inject(&mut self, path: &[JsStr<'a>], value: Value<'a>) -> bool {
        let Some((at, found)) = self.injection_point(path) else {
            return false;
        };
        let (Some((last, way)), missing) = (path.split_last(), path.get(found)) else {
            return false;
        };
        let missing = missing.filter(|_| found + 1 < path.len());
        let way = way.get(found + 1..).unwrap_or_default().iter();
        let Some(first_missing) = missing else {
            self.set(at, PropertyName::from_js(*last), value);
            return true;
        };
        // Build what is missing from the inside out, then hang it in with one step.
        self.depth += path.len();
        let inner = [last];
        let names = way.chain(inner).rev();
        let built = names.fold(value, |value, name| {
            let start = self.properties.len();
            self.properties.push(Property {
                name: PropertyName::from_js(*name),
                value,
            });
            let span = span_from(start, self.properties.len());
            self.push_object(Object::Plain(span))
        });
        self.set(at, PropertyName::from_js(*first_missing), built);
        true
    }

    /// The last object that is there on the way to the value at a path, and which step leads on from
    /// it; `None` if no value can be put there.
    pub(super) fn injection_point(&self, path: &[JsStr<'_>]) -> Option<(ObjectId, usize)> {
        let Value::Object(mut at) = self.root else {
            return None;
        };
        for (step, part) in path.iter().enumerate() {
            let name = PropertyName::from_js(*part);
            match self.object(at) {
                Object::Plain(_) => {}
                Object::Array(_)
                    if !matches!(name, PropertyName::Index(_)) && *part != *"length" => {}
                _ => return None,
            }
            match self.get(at, &name) {
                _ if step + 1 == path.len() => return Some((at, step)),
                Some(Value::Object(next)) => at = next,
                Some(_) => return None,
                None => return Some((at, step)),
            }
        }
        None
    }

    /// Whether the way to the value at a path comes to an object whose properties its serialised form does not keep: a `Date`, a
    /// `Map`, a buffer, a blob. A script may set one there.
    pub(super) fn loses(&self, path: &[JsStr<'_>]) -> bool {
        let Value::Object(mut at) = self.root else {
            return false;
        };
        for part in path {
            if !matches!(self.object(at), Object::Plain(_) | Object::Array(_)) {
                return true;
            }
            match self.get(at, &PropertyName::from_js(*part)) {
                Some(Value::Object(next)) => at = next,
                _ => return false,
            }
        }
        false
    }

    /// Sets an own property of a plain object or array: in place, or in its rank at the end.
    fn set(&mut self, id: ObjectId, name: PropertyName<'a>, value: Value<'a>) {
        let (Object::Plain(span)
        | Object::Array(Array {
            properties: span, ..
        })) = self.objects[id.index()]
        else {
            return;
        };
        self.edited = true;
        let own = &mut self.properties[span.range()];
        if let Some(property) = own.iter_mut().find(|property| property.name == name) {
            let old = std::mem::replace(&mut property.value, value);
            self.reordered |= matches!(old, Value::Object(_));
            return;
        }
        let start = self.properties.len();
        self.properties.extend_from_within(span.range());
        self.properties.push(Property { name, value });
        self.reordered |= names::sort(&mut self.properties[start..]);
        let all = span_from(start, self.properties.len());
        match &mut self.objects[id.index()] {
            Object::Plain(span)
            | Object::Array(Array {
                properties: span, ..
            }) => *span = all,
            _ => {}
        }
    }
}

/// The span from `start` to `end` of a vector. Decoding refuses inputs long enough to make these
/// numbers wider than 32 bits.
pub(super) fn span_from(start: usize, end: usize) -> Span {
    Span {
        start: u32::try_from(start).unwrap_or(u32::MAX),
        len: u32::try_from(end - start).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Decoder, Envelope};

    /// JSON of a value after `injected` was put at the key path, and whether it could be.
    fn inject(wire: &[u8], path: &[&'static str]) -> (bool, String) {
        let mut bytes = b"\xff\x14\xff\x0d".to_vec();
        bytes.extend(wire);
        let mut buffer = Vec::new();
        let Ok(Envelope::Inline(payload)) = Envelope::peel(&bytes, &mut buffer) else {
            panic!()
        };
        let mut tree = Decoder::new().decode(&payload).unwrap();
        let path: Vec<_> = path.iter().map(|part| JsStr::from(*part)).collect();
        let done = tree.inject(&path, Value::Number(5.0));
        (done, serde_json::to_string(&tree).unwrap())
    }

    #[test]
    fn a_generated_key_goes_where_the_key_path_points() {
        // Expectations: stores `auto_kp` and `auto_nested` of the fixtures.
        let told = |wire: &[u8], path: &[&'static str]| match inject(wire, path) {
            (true, json) => json,
            (false, json) => panic!("refused: {json}"),
        };
        assert_eq!(told(b"o\"\x01tT{\x01", &["id"]), r#"{"t":true,"id":5}"#);
        assert_eq!(
            told(b"o\"\x02idF\"\x01tT{\x02", &["id"]),
            r#"{"id":5,"t":true}"#
        );
        assert_eq!(told(b"o{\0", &["p", "q", "r"]), r#"{"p":{"q":{"r":5}}}"#);
        assert_eq!(
            told(b"o\"\x01po\"\x01rT{\x01\"\x01vF{\x02", &["p", "q"]),
            r#"{"p":{"r":true,"q":5},"v":false}"#
        );
        assert_eq!(
            told(b"o\"\x01bTI\x06F{\x02", &["1"]),
            r#"{"1":5,"3":false,"b":true}"#
        );
    }

    #[test]
    fn a_key_path_through_something_else_changes_nothing() {
        for (wire, path) in [
            (&b"T"[..], &["id"][..]),
            (b"o{\0", &[]),
            (b"o\"\x01pT{\x01", &["p", "q"]),
            (b"o\"\x01pD\0\0\0\0\0\0\0\0{\x01", &["p", "q"]),
        ] {
            let (done, after) = inject(wire, path);
            assert!(!done, "{path:?}");
            assert_eq!(after, inject(wire, &[]).1);
        }
    }

    #[test]
    fn injecting_below_many_containers_keeps_the_json_shallow() {
        let mut wire = b"o\"\x01a".repeat(crate::value::DEPTH_INLINE_MAX - 1);
        wire.extend(b"o{\0");
        wire.extend(b"{\x01".repeat(crate::value::DEPTH_INLINE_MAX - 1));
        let way = vec!["a"; crate::value::DEPTH_INLINE_MAX - 1];
        let (done, json) = inject(&wire, &[way, vec!["b", "c"]].concat());
        assert!(done);
        assert!(json.starts_with("{\"$root\":"), "{json}");
        assert!(
            json.contains("{\"c\":5}") || json.contains("\"c\":5}]}"),
            "{json}"
        );
    }
}
