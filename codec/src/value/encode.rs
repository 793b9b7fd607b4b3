//! [`Encoder`]: a [`Tree`] into the bytes that Chromium writes.
//!
//! V8's wire format 15 in Blink's envelope 21, as Chromium 110 to 143 write it and later ones read
//! it; what differs from a given Chromium's bytes is listed in `docs/format/values.md`, part 4.
//! Objects are numbered anew in the order of their first appearance, so a tree may have been
//! changed since it was read. Encoding keeps its own stack, so nesting costs no native stack.
//! Blink's objects are written in [`host`](super::host), buffers and views in
//! [`buffer`](super::buffer). Compressing and moving to a blob is [`wrap`](super::wrap())'s work.

mod alike;
#[cfg(test)]
mod tests;

use super::needs::Needs;
use super::node::{Array, ErrorObject, Object, ObjectId, PropertyName, Slot, Span, Value};
use super::number::as_smi;
use super::regexp::RegExpFlags;
use super::tag::{error as error_tag, v8 as tag};
use super::tree::Tree;
use super::writer::Writer;
use crate::DataVersion;

/// Turns trees into bytes, and keeps its memory from one to the next.
///
/// ```
/// use larder_codec::value::{Decoder, Encoder, Envelope};
///
/// // `[1]` as Chromium 92 stored it, and as Chromium 110 would store it.
/// let old = b"\xff\x14\xff\x0dA\x01I\x02$\0\x01";
/// let mut buffer = Vec::new();
/// let Envelope::Inline(payload) = Envelope::peel(old, &mut buffer)? else {
///     unreachable!("this one is not in a blob")
/// };
/// let tree = Decoder::new().decode(&payload)?;
/// let mut new = Vec::new();
/// Encoder::new().encode(&tree, &mut new);
/// assert_eq!(new, b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0fA\x01I\x02$\0\x01");
/// # Ok::<(), larder_codec::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Encoder {
    numbers: Vec<u32>,
    frames: Vec<Frame>,
}

impl Encoder {
    /// An encoder without memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a tree's value with its envelope: what stands behind the record's version unless it is to be
    /// [wrapped](super::wrap()).
    ///
    /// Every tree that a [`Decoder`](super::Decoder) made comes out whole. Parts put in by hand that no bytes decode to
    /// (an id of another tree, a view of something that is no buffer) come out as `undefined`, or as bytes that no
    /// decoder takes (a view beyond its buffer).
    ///
    /// Returns which versions have a form for the value, and how deep it is.
    pub fn encode(&mut self, tree: &Tree<'_>, out: &mut Vec<u8>) -> Needs {
        self.run(tree, Writer::begin(out), false)
    }

    /// Appends a tree's value as [`encode`](Self::encode) does, written in these versions.
    ///
    /// # Errors
    /// If they have no form for it: what needs which. Nothing is appended then.
    pub fn encode_in(
        &mut self,
        version: DataVersion,
        tree: &Tree<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Needs> {
        let start = out.len();
        let needs = self.run(tree, Writer::begin_in(version, out), false);
        if needs.fit(version) {
            return Ok(());
        }
        out.truncate(start);
        Err(needs)
    }

    fn run(&mut self, tree: &Tree<'_>, writer: Writer<'_>, canonical: bool) -> Needs {
        self.run_from(tree.root(), tree, writer, canonical)
    }

    fn run_from(
        &mut self,
        root: Value<'_>,
        tree: &Tree<'_>,
        mut writer: Writer<'_>,
        canonical: bool,
    ) -> Needs {
        self.numbers.clear();
        self.numbers.resize(tree.object_count(), UNWRITTEN);
        self.frames.clear();
        if canonical {
            writer.narrow();
        }
        let mut run = Run {
            tree,
            writer,
            numbers: &mut self.numbers,
            frames: &mut self.frames,
            count: 0,
            canonical,
            as_read: !canonical && !tree.edited && !tree.reordered,
            doubles: &tree.doubles,
            numbers_written: 0,
        };
        run.value_and_inside(root);
        run.writer.end()
    }
}

/// No object has this number: there are fewer than input bytes, which 32 bits can count.
const UNWRITTEN: u32 = u32::MAX;

/// The encoding of one tree.
struct Run<'e, 'a, 'o> {
    tree: &'e Tree<'a>,
    writer: Writer<'o>,
    /// By object: its number on the wire.
    numbers: &'e mut Vec<u32>,
    frames: &'e mut Vec<Frame>,
    /// How many objects have been numbered.
    count: u32,
    /// Whether nothing of how it was written shows.
    canonical: bool,
    /// Whether numbers come in the order in which they were read.
    as_read: bool,
    /// Which of the numbers still to come are doubles although they are small integers.
    doubles: &'e [u32],
    /// How many numbers have been written as values.
    numbers_written: u32,
}

/// A container of which only the beginning is written.
#[derive(Debug, Clone, Copy)]
struct Frame {
    object: ObjectId,
    form: Form,
    /// Which of its parts comes next.
    at: usize,
}

/// How a container is written.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Plain,
    /// Elements in turn.
    Dense,
    /// Elements in turn, all of them doubles.
    Doubles,
    /// Elements with their indices.
    Sparse,
    Map,
    Set,
    Error,
}

impl Run<'_, '_, '_> {
    /// Writes one whole value.
    fn value_and_inside(&mut self, root: Value<'_>) {
        let Some(mut frame) = self.value(root) else {
            return;
        };
        self.writer.note_depth(1);
        loop {
            match self.proceed(&mut frame) {
                Some(child) => {
                    self.frames.push(frame);
                    self.writer.note_depth(self.frames.len() + 1);
                    frame = child;
                }
                None => match self.frames.pop() {
                    Some(outer) => frame = outer,
                    None => return,
                },
            }
        }
    }

    /// Writes a value; if it is a container, only its beginning.
    #[inline]
    fn value(&mut self, value: Value<'_>) -> Option<Frame> {
        match value {
            Value::Undefined => self.writer.byte(tag::UNDEFINED),
            Value::Null => self.writer.byte(tag::NULL),
            Value::Bool(true) => self.writer.byte(tag::TRUE),
            Value::Bool(false) => self.writer.byte(tag::FALSE),
            Value::Number(number) => self.number(number),
            Value::BigInt(bigint) => {
                // It may have been added to an object that was read.
                self.writer.set_read_in(None);
                self.writer.byte(tag::BIGINT);
                self.writer.bigint(bigint);
            }
            Value::String(string) => self.writer.string(string),
            Value::Object(id) => return self.object(id),
        }
        None
    }

    /// A number, as an integer or a double like the one that was read here.
    #[inline]
    fn number(&mut self, number: f64) {
        match self.doubles {
            [at, rest @ ..] if self.as_read && *at == self.numbers_written => {
                self.doubles = rest;
                self.writer.double(number);
            }
            _ => self.writer.number(number),
        }
        self.numbers_written = self.numbers_written.wrapping_add(1);
    }

    /// A reference to an object that was written, or the object.
    fn object(&mut self, id: ObjectId) -> Option<Frame> {
        let tree = self.tree;
        let Some(object) = tree.objects.get(id.index()) else {
            self.writer.byte(tag::UNDEFINED);
            return None;
        };
        if self.numbers[id.index()] != UNWRITTEN {
            self.reference(id);
            return None;
        }
        match object {
            // The only object with another in front of it: that gets its number first.
            Object::View(view) => {
                let Some(buffer) = tree.array_buffer(view.buffer) else {
                    self.writer.byte(tag::UNDEFINED);
                    return None;
                };
                self.object(view.buffer);
                self.take_number(id);
                self.writer.set_read_in(self.read_in(id));
                view.write(&mut self.writer, &buffer);
                None
            }
            object => {
                self.take_number(id);
                self.writer.set_read_in(self.read_in(id));
                self.open(id, object)
            }
        }
    }

    /// What was read needs no greater versions than it was read in. A canonical form does not depend on that.
    fn read_in(&self, id: ObjectId) -> Option<DataVersion> {
        self.tree.read_in(id).filter(|_| !self.canonical)
    }

    fn reference(&mut self, id: ObjectId) {
        self.writer.byte(tag::OBJECT_REFERENCE);
        self.writer.varint(self.numbers[id.index()]);
    }

    fn take_number(&mut self, id: ObjectId) {
        self.numbers[id.index()] = self.count;
        self.count += 1;
    }

    /// Writes an object without values inside, or the beginning of a container.
    fn open(&mut self, object: ObjectId, content: &Object<'_>) -> Option<Frame> {
        let form = match content {
            Object::Plain(_) => {
                self.writer.byte(tag::BEGIN_OBJECT);
                Form::Plain
            }
            Object::Array(array) => self.open_array(array),
            Object::Map(_) => {
                self.writer.byte(tag::BEGIN_MAP);
                Form::Map
            }
            Object::Set(_) => {
                self.writer.byte(tag::BEGIN_SET);
                Form::Set
            }
            Object::Error(error) => {
                write_error_head(&mut self.writer, error);
                Form::Error
            }
            leaf => {
                write_leaf(&mut self.writer, leaf);
                return None;
            }
        };
        let at = 0;
        Some(Frame { object, form, at })
    }

    /// V8 writes an array densely if it never had holes, and as doubles if it keeps it so: a new
    /// array of numbers of which some are not small integers. What was read says itself which are.
    fn open_array(&mut self, array: &Array) -> Form {
        let elements = self.tree.slots(array.elements);
        let further = self.tree.properties(array.properties).first();
        let dense = (self.canonical || !array.sparse)
            && elements.len() == array.length as usize
            && !elements.contains(&None)
            && !further.is_some_and(|p| matches!(p.name, PropertyName::Index(_)));
        if !dense {
            self.writer.byte(tag::BEGIN_SPARSE_ARRAY);
            self.writer.varint(array.length);
            return Form::Sparse;
        }
        self.writer.byte(tag::BEGIN_DENSE_ARRAY);
        self.writer.varint(array.length);
        if !self.as_read && are_doubles(elements) {
            Form::Doubles
        } else {
            Form::Dense
        }
    }

    /// Goes on with a container until it is written or another begins inside it.
    #[inline]
    fn proceed(&mut self, frame: &mut Frame) -> Option<Frame> {
        let tree = self.tree;
        match (frame.form, tree.object(frame.object)) {
            (Form::Plain, Object::Plain(span)) => self.plain(frame, *span),
            (Form::Dense, Object::Array(array)) => self.dense(frame, array),
            (Form::Doubles, Object::Array(array)) => {
                for slot in tree.slots(array.elements) {
                    if let Some(Value::Number(number)) = slot {
                        self.writer.double(*number);
                    }
                }
                frame.form = Form::Dense;
                frame.at = array.elements.len();
                self.dense(frame, array)
            }
            (Form::Sparse, Object::Array(array)) => self.sparse(frame, array),
            (Form::Map, Object::Map(span)) => self.entries(frame, *span, tag::END_MAP),
            (Form::Set, Object::Set(span)) => self.entries(frame, *span, tag::END_SET),
            (Form::Error, Object::Error(error)) => self.error_tail(frame, error),
            // A frame's form is chosen by its object.
            _ => None,
        }
    }

    fn plain(&mut self, frame: &mut Frame, span: Span) -> Option<Frame> {
        if let Some(child) = self.properties(frame, span, 0) {
            return Some(child);
        }
        self.writer.byte(tag::END_OBJECT);
        self.writer.len(span.len());
        None
    }

    /// Names and values; the container's part `before` is the first of them.
    #[inline]
    fn properties(&mut self, frame: &mut Frame, span: Span, before: usize) -> Option<Frame> {
        let tree = self.tree;
        let left = tree.properties(span).get(frame.at - before..);
        for property in left.unwrap_or_default() {
            frame.at += 1;
            write_name(&mut self.writer, &property.name);
            if let Some(child) = self.value(property.value) {
                return Some(child);
            }
        }
        None
    }

    fn dense(&mut self, frame: &mut Frame, array: &Array) -> Option<Frame> {
        let elements = self.tree.slots(array.elements);
        for slot in elements.get(frame.at..).unwrap_or_default() {
            frame.at += 1;
            if let Some(child) = self.value(slot.unwrap_or(Value::Undefined)) {
                return Some(child);
            }
        }
        if let Some(child) = self.properties(frame, array.properties, elements.len()) {
            return Some(child);
        }
        self.writer.byte(tag::END_DENSE_ARRAY);
        self.writer.len(array.properties.len());
        self.writer.varint(array.length);
        None
    }

    fn sparse(&mut self, frame: &mut Frame, array: &Array) -> Option<Frame> {
        let elements = self.tree.slots(array.elements);
        while let Some(slot) = elements.get(frame.at) {
            let index = u32::try_from(frame.at).unwrap_or(u32::MAX);
            frame.at += 1;
            let Some(value) = slot else { continue };
            self.writer.index(index);
            if let Some(child) = self.value(*value) {
                return Some(child);
            }
        }
        if let Some(child) = self.properties(frame, array.properties, elements.len()) {
            return Some(child);
        }
        let present = elements.iter().flatten().count();
        self.writer.byte(tag::END_SPARSE_ARRAY);
        self.writer.len(present + array.properties.len());
        self.writer.varint(array.length);
        None
    }

    fn entries(&mut self, frame: &mut Frame, span: Span, end: u8) -> Option<Frame> {
        let slots = self.tree.slots(span);
        for slot in slots.get(frame.at..).unwrap_or_default() {
            frame.at += 1;
            if let Some(child) = self.value(slot.unwrap_or(Value::Undefined)) {
                return Some(child);
            }
        }
        self.writer.byte(end);
        self.writer.len(slots.len());
        None
    }

    fn error_tail(&mut self, frame: &mut Frame, error: &ErrorObject<'_>) -> Option<Frame> {
        if let Some(cause) = error.cause
            && frame.at == 0
        {
            frame.at = 1;
            self.writer.set_read_in(self.read_in(frame.object));
            write_cause_tag(&mut self.writer);
            if let Some(child) = self.value(cause) {
                return Some(child);
            }
        }
        self.writer.byte(error_tag::END);
        None
    }
}

/// Writes a property's name: an index as a number, as V8 does.
#[inline]
pub(super) fn write_name(writer: &mut Writer<'_>, name: &PropertyName<'_>) {
    match name {
        PropertyName::Index(index) => writer.index(*index),
        PropertyName::String(name) => writer.string(*name),
        PropertyName::Number(_) => name.with_str(|name| writer.string(name)),
    }
}

/// Writes an object without values inside; nothing for containers and views.
pub(super) fn write_leaf(writer: &mut Writer<'_>, object: &Object<'_>) {
    match object {
        Object::Date(time_ms) => {
            writer.byte(tag::DATE);
            writer.f64(*time_ms);
        }
        Object::BooleanObject(true) => writer.byte(tag::TRUE_OBJECT),
        Object::BooleanObject(false) => writer.byte(tag::FALSE_OBJECT),
        Object::NumberObject(number) => {
            writer.byte(tag::NUMBER_OBJECT);
            writer.f64(*number);
        }
        Object::BigIntObject(bigint) => {
            writer.byte(tag::BIGINT_OBJECT);
            writer.bigint(*bigint);
        }
        Object::StringObject(string) => {
            writer.byte(tag::STRING_OBJECT);
            writer.string(*string);
        }
        Object::RegExp { source, flags } => {
            writer.byte(tag::REGEXP);
            if flags.has(RegExpFlags::UNICODE_SETS) {
                writer.needs(16, 21, "a regular expression with the flag v");
            } else if flags.has(RegExpFlags::HAS_INDICES) {
                writer.needs(14, 17, "a regular expression with the flag d");
            }
            writer.string(*source);
            writer.varint(flags.bits());
        }
        Object::ArrayBuffer(buffer) => buffer.write(writer),
        Object::Host(host) => {
            writer.byte(tag::HOST_OBJECT);
            host.write(writer);
        }
        // Containers and views have been seen to.
        Object::Plain(_)
        | Object::Array(_)
        | Object::Map(_)
        | Object::Set(_)
        | Object::View(_)
        | Object::Error(_) => {}
    }
}

/// Writes an error's type, message and stack: everything without values inside.
pub(super) fn write_error_head(writer: &mut Writer<'_>, error: &ErrorObject<'_>) {
    writer.needs(13, 20, "an Error");
    writer.byte(tag::ERROR);
    if let Some(type_tag) = error.error_type.tag() {
        writer.byte(type_tag);
    }
    if let Some(message) = error.message {
        writer.byte(error_tag::MESSAGE);
        writer.string(message);
    }
    if let Some(stack) = error.stack {
        writer.byte(error_tag::STACK);
        writer.string(stack);
    }
}

/// Writes the tag of an error's cause, which comes next.
pub(super) fn write_cause_tag(writer: &mut Writer<'_>) {
    writer.needs(15, 20, "an Error with a cause");
    writer.byte(error_tag::CAUSE);
}

/// Whether all elements are numbers and some are not small integers.
fn are_doubles(elements: &[Slot<'_>]) -> bool {
    let mut some = false;
    for slot in elements {
        let Some(Value::Number(number)) = slot else {
            return false;
        };
        some |= as_smi(*number).is_none();
    }
    some
}
