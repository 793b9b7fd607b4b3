//! [`Builder`]: a value's bytes, written during a walk over the value.
//!
//! [`Encoder`](super::Encoder) writes a tree that is there already. This writes what a host finds as it goes through
//! values of its own, cyclic and shared ones too: it numbers objects as they begin, and a later mention is a reference.
//! Form and order are those of V8's wire format 15 in Blink's envelope 21 (`docs/format/values.md`). It keeps count of
//! what is open and neither recurses nor fails.

use super::bigint::BigInt;
use super::buffer::{ArrayBuffer, BufferKind, View};
use super::encode::{write_cause_tag, write_error_head, write_leaf, write_name};
use super::js_str::JsStr;
use super::needs::Needs;
use super::node::{ErrorObject, Object, ObjectId, PropertyName};
use super::tag::{error as error_tag, v8 as tag};
use super::writer::Writer;
use crate::DataVersion;

/// Appends one value to a vector, piece by piece.
///
/// Call what stands for the next value; between a `begin_…` and its [`close`](Self::close) come the
/// container's parts: of objects, [`name`](Self::name) and value in turn; of arrays, their elements and
/// then names and values; of maps, keys and values in turn; of sets, values.
///
/// Calls in another order make bytes that no decoder takes; nothing panics.
///
/// ```
/// use larder_codec::value::{Builder, JsStr, PropertyName};
/// // `let o = {n: 1}; o.me = o`
/// let mut bytes = Vec::new();
/// let mut builder = Builder::begin(&mut bytes);
/// let o = builder.begin_object();
/// builder.name(&PropertyName::from_js(JsStr::from("n")));
/// builder.number(1.0);
/// builder.name(&PropertyName::from_js(JsStr::from("me")));
/// builder.reference(o);
/// builder.close();
/// builder.end();
/// assert_eq!(bytes[17..], *b"o\"\x01nI\x02\"\x02me^\x00{\x02");
/// ```
#[derive(Debug)]
pub struct Builder<'o> {
    writer: Writer<'o>,
    open: Vec<Open>,
    objects: u32,
}

/// A container that is not closed yet.
#[derive(Debug)]
struct Open {
    form: Form,
    /// Names of objects and arrays; parts of maps and sets.
    count: u32,
    /// The length of an array.
    length: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Dense,
    Sparse,
    Map,
    Set,
    Error,
}

impl<'o> Builder<'o> {
    /// Begins a value with its headers.
    pub fn begin(out: &'o mut Vec<u8>) -> Self {
        Self {
            writer: Writer::begin(out),
            open: Vec::new(),
            objects: 0,
        }
    }

    /// Ends the value, and whatever is still open in it. What was written may be deeper than decoders go: that is in the
    /// answer ([`Needs::depth`]).
    pub fn end(mut self) -> Needs {
        while !self.open.is_empty() {
            self.close();
        }
        self.writer.end()
    }

    /// Says of what comes next that it was read in a value of these versions: it needs no greater ones, since a browser of
    /// these has written it. `None` for what is new, as all is at first.
    ///
    /// ```
    /// use larder_codec::DataVersion;
    /// use larder_codec::value::{ArrayBuffer, BufferKind, Builder, Object};
    ///
    /// // As Chromium 143 writes it; Chromium 110, which has the same versions, does not read it.
    /// let kind = BufferKind::Resizable(8);
    /// let resizable = Object::ArrayBuffer(ArrayBuffer { bytes: b"ab", kind });
    /// let theirs = DataVersion { v8: 15, blink: 21 };
    /// for (read_in, v8) in [(None, 16), (Some(theirs), 15)] {
    ///     let mut bytes = Vec::new();
    ///     let mut builder = Builder::begin(&mut bytes);
    ///     builder.set_read_in(read_in);
    ///     builder.leaf(&resizable);
    ///     assert_eq!(builder.end().version().v8, v8);
    /// }
    /// ```
    pub const fn set_read_in(&mut self, version: Option<DataVersion>) {
        self.writer.set_read_in(version);
    }

    /// How many objects have been numbered.
    #[must_use]
    pub const fn object_count(&self) -> u32 {
        self.objects
    }

    /// A part of a map or set has come.
    fn count_part(&mut self) {
        if let Some(open) = self.open.last_mut()
            && matches!(open.form, Form::Map | Form::Set)
        {
            open.count = open.count.saturating_add(1);
        }
    }

    fn primitive(&mut self, tag: u8) {
        self.count_part();
        self.writer.byte(tag);
    }

    /// `undefined`
    pub fn undefined(&mut self) {
        self.primitive(tag::UNDEFINED);
    }

    /// `null`
    pub fn null(&mut self) {
        self.primitive(tag::NULL);
    }

    /// `true` or `false`
    pub fn bool(&mut self, bool: bool) {
        self.primitive(if bool { tag::TRUE } else { tag::FALSE });
    }

    /// A number: as an integer where V8 would have one.
    pub fn number(&mut self, number: f64) {
        self.count_part();
        self.writer.number(number);
    }

    /// A number as a double: V8 writes so all elements of an array that holds nothing but numbers
    /// of which some are no small integers.
    pub fn double(&mut self, number: f64) {
        self.count_part();
        self.writer.double(number);
    }

    /// A `BigInt`.
    pub fn bigint(&mut self, bigint: BigInt<'_>) {
        self.primitive(tag::BIGINT);
        self.writer.bigint(bigint);
    }

    /// A string.
    pub fn string(&mut self, string: JsStr<'_>) {
        self.count_part();
        self.writer.string(string);
    }

    /// An object that has been begun or written before.
    pub fn reference(&mut self, id: ObjectId) {
        self.primitive(tag::OBJECT_REFERENCE);
        self.writer.varint(id.get());
    }

    /// An element of a dense array that was there when it began, and is no more.
    pub fn hole(&mut self) {
        self.writer.byte(tag::HOLE);
    }

    /// The name of the property whose value comes next.
    pub fn name(&mut self, name: &PropertyName<'_>) {
        if let Some(open) = self.open.last_mut() {
            open.count = open.count.saturating_add(1);
        }
        write_name(&mut self.writer, name);
    }

    fn take_number(&mut self) -> ObjectId {
        let id = ObjectId(self.objects);
        self.objects = self.objects.saturating_add(1);
        id
    }

    fn enter(&mut self, form: Form, length: u32) -> ObjectId {
        let count = 0;
        self.open.push(Open {
            form,
            count,
            length,
        });
        self.writer.note_depth(self.open.len());
        self.take_number()
    }

    fn begin_container(&mut self, tag: u8, form: Form, length: u32) -> ObjectId {
        self.count_part();
        self.writer.byte(tag);
        self.enter(form, length)
    }

    /// A plain object.
    pub fn begin_object(&mut self) -> ObjectId {
        self.begin_container(tag::BEGIN_OBJECT, Form::Plain, 0)
    }

    /// An array without holes: exactly `length` elements come next.
    pub fn begin_array(&mut self, length: u32) -> ObjectId {
        let id = self.begin_container(tag::BEGIN_DENSE_ARRAY, Form::Dense, length);
        self.writer.varint(length);
        id
    }

    /// An array with holes: elements come with their names, like other properties.
    pub fn begin_sparse_array(&mut self, length: u32) -> ObjectId {
        let id = self.begin_container(tag::BEGIN_SPARSE_ARRAY, Form::Sparse, length);
        self.writer.varint(length);
        id
    }

    /// A `Map`.
    pub fn begin_map(&mut self) -> ObjectId {
        self.begin_container(tag::BEGIN_MAP, Form::Map, 0)
    }

    /// A `Set`.
    pub fn begin_set(&mut self) -> ObjectId {
        self.begin_container(tag::BEGIN_SET, Form::Set, 0)
    }

    /// An error. If [`cause`](Self::cause) is called, the cause comes next.
    pub fn begin_error(&mut self, error: &ErrorObject<'_>) -> ObjectId {
        self.count_part();
        write_error_head(&mut self.writer, error);
        self.enter(Form::Error, 0)
    }

    /// An error's cause comes next.
    pub fn cause(&mut self) {
        write_cause_tag(&mut self.writer);
    }

    /// Ends the innermost container.
    pub fn close(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let end = match open.form {
            Form::Plain => tag::END_OBJECT,
            Form::Dense => tag::END_DENSE_ARRAY,
            Form::Sparse => tag::END_SPARSE_ARRAY,
            Form::Map => tag::END_MAP,
            Form::Set => tag::END_SET,
            Form::Error => return self.writer.byte(error_tag::END),
        };
        self.writer.byte(end);
        self.writer.varint(open.count);
        if matches!(open.form, Form::Dense | Form::Sparse) {
            self.writer.varint(open.length);
        }
    }

    /// An object without values inside: a date, a boxed primitive, a regular expression, an array
    /// buffer, an object of the web platform. Containers and views have functions of their own and
    /// are `undefined` here.
    pub fn leaf(&mut self, object: &Object<'_>) -> ObjectId {
        self.count_part();
        if let Object::Plain(_)
        | Object::Array(_)
        | Object::Map(_)
        | Object::Set(_)
        | Object::View(_)
        | Object::Error(_) = object
        {
            self.writer.byte(tag::UNDEFINED);
        } else {
            write_leaf(&mut self.writer, object);
        }
        self.take_number()
    }

    /// A view of the buffer that [`view_buffer`](Self::view_buffer) has just written; `kind` is that
    /// buffer's.
    pub fn view(&mut self, view: &View, kind: BufferKind) -> ObjectId {
        let buffer = ArrayBuffer { bytes: &[], kind };
        view.write(&mut self.writer, &buffer);
        self.take_number()
    }

    /// The buffer of the view that comes next: one that was written before, or a new one.
    /// Gives its number.
    pub fn view_buffer(&mut self, known: Option<ObjectId>, buffer: ArrayBuffer<'_>) -> ObjectId {
        match known {
            Some(id) => {
                self.reference(id);
                id
            }
            None => self.leaf(&Object::ArrayBuffer(buffer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Decoder, Envelope, Tree, Value, vectors};

    /// Walks a tree and calls a builder: the naive way, with recursion.
    struct Walk<'t, 'a, 'o> {
        tree: &'t Tree<'a>,
        builder: Builder<'o>,
        ids: Vec<Option<ObjectId>>,
    }

    impl Walk<'_, '_, '_> {
        fn value(&mut self, value: Value<'_>) {
            match value {
                Value::Undefined => self.builder.undefined(),
                Value::Null => self.builder.null(),
                Value::Bool(bool) => self.builder.bool(bool),
                Value::Number(number) => self.builder.number(number),
                Value::BigInt(bigint) => self.builder.bigint(bigint),
                Value::String(string) => self.builder.string(string),
                Value::Object(id) => match self.ids[id.index()] {
                    Some(known) => self.builder.reference(known),
                    None => self.object(id),
                },
            }
        }

        fn object(&mut self, id: ObjectId) {
            let tree = self.tree;
            let ours = &mut self.ids[id.index()];
            match tree.object(id) {
                Object::Plain(span) => {
                    *ours = Some(self.builder.begin_object());
                    self.properties(tree.properties(*span));
                }
                Object::Array(array) => {
                    let elements = tree.slots(array.elements);
                    let whole = elements.iter().flatten().count() == array.length as usize;
                    if whole && !array.sparse {
                        *ours = Some(self.builder.begin_array(array.length));
                        elements.iter().flatten().for_each(|at| self.value(*at));
                    } else {
                        *ours = Some(self.builder.begin_sparse_array(array.length));
                        for (index, slot) in elements.iter().enumerate() {
                            if let Some(value) = slot {
                                self.builder.name(&PropertyName::Index(index as u32));
                                self.value(*value);
                            }
                        }
                    }
                    self.properties(tree.properties(array.properties));
                }
                Object::Map(span) | Object::Set(span) => {
                    *ours = Some(match tree.object(id) {
                        Object::Map(_) => self.builder.begin_map(),
                        _ => self.builder.begin_set(),
                    });
                    let slots = tree.slots(*span).iter().flatten();
                    slots.for_each(|value| self.value(*value));
                }
                Object::Error(error) => {
                    *ours = Some(self.builder.begin_error(error));
                    if let Some(cause) = error.cause {
                        self.builder.cause();
                        self.value(cause);
                    }
                }
                Object::View(view) => {
                    let buffer = tree.array_buffer(view.buffer).unwrap();
                    let known = self.ids[view.buffer.index()];
                    self.ids[view.buffer.index()] = Some(self.builder.view_buffer(known, buffer));
                    self.ids[id.index()] = Some(self.builder.view(view, buffer.kind));
                    return;
                }
                leaf => {
                    *ours = Some(self.builder.leaf(leaf));
                    return;
                }
            }
            self.builder.close();
        }

        fn properties(&mut self, properties: &[crate::value::Property<'_>]) {
            for property in properties {
                self.builder.name(&property.name);
                self.value(property.value);
            }
        }
    }

    #[test]
    fn a_value_built_piece_by_piece_is_the_value_encoded_as_a_tree() {
        let mut buffer = Vec::new();
        let mut seen = 0;
        for (name, bytes) in vectors::all() {
            let Ok(Envelope::Inline(payload)) = Envelope::peel(&bytes, &mut buffer) else {
                continue;
            };
            let Ok(tree) = Decoder::new().decode(&payload) else {
                continue;
            };
            let mut built = Vec::new();
            let mut walk = Walk {
                tree: &tree,
                builder: Builder::begin(&mut built),
                ids: vec![None; tree.object_count()],
            };
            walk.value(tree.root());
            walk.builder.end();
            let mut again = Vec::new();
            let Ok(Envelope::Inline(payload)) = Envelope::peel(&built, &mut again) else {
                panic!("{name}")
            };
            let tree_again = Decoder::new().decode(&payload).unwrap();
            assert!(tree.is_same_value(&tree_again), "{name}");
            seen += 1;
        }
        assert!(seen > 10, "{seen}");
    }

    #[test]
    fn calls_out_of_order_do_not_panic() {
        let mut out = Vec::new();
        let mut builder = Builder::begin(&mut out);
        builder.close();
        builder.begin_map();
        builder.name(&PropertyName::Index(0));
        builder.cause();
        builder.hole();
        builder.leaf(&Object::Set(crate::value::Span::default()));
        builder.end();
        assert!(!out.is_empty());
    }
}
