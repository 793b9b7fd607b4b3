//! Values in canonical JSON.
//!
//! Nesting is kept on a stack of our own, so a value of any depth can be written. Host objects are
//! in [`host`](super::host). [`write_value`] gives digests of what is long, [`stream_value`] everything.

use larder_codec::value::{
    ArrayBuffer, BufferKind, ErrorObject, JsStr, Object, ObjectId, Property, Slot, Tree, Value,
    Versions, View, ViewKind,
};

use super::error::Error;
use super::host;
use super::text::{
    Limits, Pieces, push, push_bytes, push_json_str, push_member, push_name, push_number,
    push_string_members,
};
use crate::external_blob::BlobSource;
use std::io::{self, Write};

/// What a page sees of a value that depends on the browser it runs in, not on the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Browser {
    /// Whether an `ImageData` has a `colorSpace`; `None` if all that is known of the browser is what it wrote.
    pub shows_color_space: Option<bool>,
}

impl Browser {
    /// The first schema of browsers that show colour spaces: Chromium 83 (schema 4) shows none, 92 (schema 5) does. Both
    /// write version 20 of Blink's wire format.
    const COLOR_SPACE_SCHEMA_MIN: i64 = 5;
    /// The first version of Blink's wire format that only such browsers write.
    const COLOR_SPACE_BLINK_MIN: u32 = 21;

    /// The browser that leaves stores of this schema.
    #[must_use]
    pub fn of_schema(schema_version: Option<i64>) -> Self {
        Self {
            shows_color_space: schema_version
                .map(|version| version >= Self::COLOR_SPACE_SCHEMA_MIN),
        }
    }

    pub(super) fn shows_color_space(self, versions: Versions) -> bool {
        self.shows_color_space
            .unwrap_or(versions.blink >= Self::COLOR_SPACE_BLINK_MIN)
    }
}

/// Appends the canonical form of a value to `out`, with digests in place of long strings and bytes: the form of comparisons.
/// [`stream_value`] loses nothing.
///
/// ```
/// use larder::canonical::{Browser, NoBlobs, write_value};
/// use larder_codec::value::{Decoder, Envelope};
///
/// let mut buffer = Vec::new();
/// let envelope = Envelope::peel(b"\xff\x12\xff\x0dI\x02", &mut buffer)?;
/// let Envelope::Inline(payload) = envelope else { unreachable!() };
/// let tree = Decoder::new().decode(&payload)?;
/// let mut out = Vec::new();
/// write_value(&mut out, &tree, &mut NoBlobs, Browser::default()).unwrap();
/// assert_eq!(out, br#"{"t":"number","v":"1"}"#);
/// # Ok::<(), larder_codec::Error>(())
/// ```
///
/// # Errors
/// If a blob is missing or cannot be read; `out` is then as it was.
pub fn write_value(
    out: &mut Vec<u8>,
    tree: &Tree<'_>,
    blobs: &mut dyn BlobSource,
    browser: Browser,
) -> Result<(), Error> {
    let before = out.len();
    let result = Writer::new(out, tree, blobs, browser, None).run();
    if result.is_err() {
        out.truncate(before);
    }
    result
}

/// Writes what waits in `waiting` and the canonical form of a value, with every string and all bytes whole, to `out`; memory
/// does not grow with them. The end of it may be left in `waiting`.
///
/// A blob that is missing or cannot be read has a member `error` in the place of what could not be read; what that was comes
/// back, and the rest of the value is there.
///
/// # Errors
/// If `out` takes no more.
pub fn stream_value(
    out: &mut dyn Write,
    waiting: &mut Vec<u8>,
    tree: &Tree<'_>,
    blobs: &mut dyn BlobSource,
    browser: Browser,
) -> io::Result<Vec<Error>> {
    let pieces = Pieces {
        out,
        limits: Limits::NONE,
    };
    let mut writer = Writer::new(waiting, tree, blobs, browser, Some(pieces));
    match writer.run() {
        Ok(()) => Ok(writer.problems),
        Err(Error::Io(error)) => Err(error),
        // Others are among the problems.
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Writes the canonical form of a value, as far as the limits go. Blobs are opened for what is to be said of them, and not read.
///
/// # Errors
/// If `out` takes no more.
pub fn limited_value(
    out: &mut dyn Write,
    tree: &Tree<'_>,
    blobs: &mut dyn BlobSource,
    browser: Browser,
    limits: Limits,
) -> io::Result<()> {
    let mut waiting = Vec::new();
    let pieces = Pieces { out, limits };
    let mut writer = Writer::new(&mut waiting, tree, blobs, browser, Some(pieces));
    // What is wrong with blobs stands where they are.
    if let Err(Error::Io(error)) = writer.run() {
        return Err(error);
    }
    out.write_all(&waiting)
}

/// What is still to be written, innermost last.
enum Open<'t, 'a> {
    /// Properties of an object or array: elements first.
    Properties {
        elements: std::iter::Enumerate<std::slice::Iter<'t, Slot<'a>>>,
        properties: std::slice::Iter<'t, Property<'a>>,
        first: bool,
    },
    /// Entries of a map, or of a set.
    Entries {
        slots: std::slice::Iter<'t, Slot<'a>>,
        first: bool,
        is_map: bool,
    },
    /// The value of a map entry whose key has just been written.
    EntryValue(Value<'a>),
    /// Just these bytes.
    Text(&'static str),
}

pub(super) struct Writer<'w, 't, 'a> {
    pub(super) out: &'w mut Vec<u8>,
    pub(super) tree: &'t Tree<'a>,
    pub(super) blobs: &'w mut dyn BlobSource,
    pub(super) browser: Browser,
    /// Takes whole strings and bytes; without it there are digests.
    pub(super) whole: Option<Pieces<'w>>,
    /// With whole values: what is wrong with blobs.
    pub(super) problems: Vec<Error>,
    /// How many values have been written.
    nodes: usize,
    /// The canonical id of each object that has been visited.
    ids: Vec<Option<u32>>,
    next_id: u32,
    open: Vec<Open<'t, 'a>>,
}

impl<'w, 't, 'a> Writer<'w, 't, 'a> {
    fn new(
        out: &'w mut Vec<u8>,
        tree: &'t Tree<'a>,
        blobs: &'w mut dyn BlobSource,
        browser: Browser,
        whole: Option<Pieces<'w>>,
    ) -> Self {
        Self {
            out,
            tree,
            blobs,
            browser,
            whole,
            problems: Vec::new(),
            nodes: 0,
            ids: vec![None; tree.object_count()],
            next_id: 0,
            open: Vec::new(),
        }
    }

    /// The members that stand for a string.
    fn string_members(&mut self, string: JsStr<'_>) -> Result<(), Error> {
        match &mut self.whole {
            Some(pieces) => pieces.string_members(self.out, string)?,
            None => push_string_members(self.out, string),
        }
        Ok(())
    }

    /// Bytes that are at hand.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match &mut self.whole {
            Some(pieces) => pieces.bytes(self.out, bytes)?,
            None => push_bytes(self.out, bytes),
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), Error> {
        self.value(self.tree.root())?;
        while let Some(open) = self.open.pop() {
            if let Some(pieces) = &mut self.whole {
                pieces.relieve(self.out)?;
            }
            match open {
                Open::Text(text) => self.out.extend_from_slice(text.as_bytes()),
                Open::EntryValue(value) => {
                    self.out.push(b',');
                    self.open.push(Open::Text("]"));
                    self.value(value)?;
                }
                Open::Properties {
                    elements,
                    properties,
                    first,
                } => self.next_property(elements, properties, first)?,
                Open::Entries {
                    slots,
                    first,
                    is_map,
                } => self.next_entry(slots, first, is_map)?,
            }
        }
        Ok(())
    }

    fn next_property(
        &mut self,
        mut elements: std::iter::Enumerate<std::slice::Iter<'t, Slot<'a>>>,
        mut properties: std::slice::Iter<'t, Property<'a>>,
        first: bool,
    ) -> Result<(), Error> {
        if self.is_full() {
            let left = elements.filter(|(_, slot)| slot.is_some()).count() + properties.len();
            return self.end_list(left);
        }
        let element = elements.find_map(|(at, slot)| slot.map(|value| (at, value)));
        let comma = if first { "" } else { "," };
        let value = if let Some((at, value)) = element {
            push(self.out, format_args!("{comma}[\"{at}\","));
            value
        } else if let Some(property) = properties.next() {
            push(self.out, format_args!("{comma}["));
            property.name.with_str(|name| push_name(self.out, name));
            self.out.push(b',');
            property.value
        } else {
            return self.end_list(0);
        };
        self.open.push(Open::Properties {
            elements,
            properties,
            first: false,
        });
        self.open.push(Open::Text("]"));
        self.value(value)
    }

    fn next_entry(
        &mut self,
        mut slots: std::slice::Iter<'t, Slot<'a>>,
        first: bool,
        is_map: bool,
    ) -> Result<(), Error> {
        if self.is_full() {
            return self.end_list(if is_map { slots.len() / 2 } else { slots.len() });
        }
        let Some(key) = slots.next().copied().flatten() else {
            return self.end_list(0);
        };
        let value = if is_map {
            slots.next().copied().flatten()
        } else {
            None
        };
        if !first {
            self.out.push(b',');
        }
        self.open.push(Open::Entries {
            slots,
            first: false,
            is_map,
        });
        if let Some(value) = value {
            self.out.push(b'[');
            self.open.push(Open::EntryValue(value));
        }
        self.value(key)
    }

    /// Whether nothing more of lists is written.
    fn is_full(&self) -> bool {
        let pieces = self.whole.as_ref();
        pieces.is_some_and(|pieces| self.nodes >= pieces.limits.nodes)
    }

    /// The end of properties or entries, of which so many are left out, and of their object.
    fn end_list(&mut self, left: usize) -> Result<(), Error> {
        match left {
            0 => self.out.extend_from_slice(b"]}"),
            _ => push(self.out, format_args!("],\"left\":{left}}}")),
        }
        Ok(())
    }

    fn value(&mut self, value: Value<'a>) -> Result<(), Error> {
        self.nodes += 1;
        match value {
            Value::Undefined => self.out.extend_from_slice(b"{\"t\":\"undefined\"}"),
            Value::Null => self.out.extend_from_slice(b"{\"t\":\"null\"}"),
            Value::Bool(bool) => push(self.out, format_args!("{{\"t\":\"bool\",\"v\":{bool}}}")),
            Value::Number(number) => {
                self.out.extend_from_slice(b"{\"t\":\"number\",\"v\":");
                push_number(self.out, number);
                self.out.push(b'}');
            }
            Value::BigInt(bigint) => {
                push(
                    self.out,
                    format_args!("{{\"t\":\"bigint\",\"v\":\"{bigint}\"}}"),
                );
            }
            Value::String(string) => {
                self.out.extend_from_slice(b"{\"t\":\"string\"");
                self.string_members(string)?;
                self.out.push(b'}');
            }
            Value::Object(id) => return self.object(id),
        }
        Ok(())
    }

    /// A new canonical id.
    pub(super) fn take_id(&mut self) -> u32 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    /// Writes a reference and returns true if the object was visited before; otherwise gives it
    /// its id and writes `{"t":…,"id":…`.
    fn visited(&mut self, id: ObjectId, name: &str) -> bool {
        if let Some(known) = self.ids[id.get() as usize] {
            push(self.out, format_args!("{{\"t\":\"ref\",\"id\":{known}}}"));
            return true;
        }
        let new = self.take_id();
        self.ids[id.get() as usize] = Some(new);
        push(self.out, format_args!("{{\"t\":\"{name}\",\"id\":{new}"));
        false
    }

    fn object(&mut self, id: ObjectId) -> Result<(), Error> {
        let tree = self.tree;
        let object = tree.object(id);
        if self.visited(id, name_of(object)) {
            return Ok(());
        }
        match object {
            Object::Plain(span) => self.open_properties(&[], tree.properties(*span)),
            Object::Array(array) => {
                push(self.out, format_args!(",\"length\":{}", array.length));
                let elements = tree.slots(array.elements);
                self.open_properties(elements, tree.properties(array.properties));
            }
            Object::Map(span) => self.open_entries(tree.slots(*span), true),
            Object::Set(span) => self.open_entries(tree.slots(*span), false),
            Object::Error(error) => return self.error(error),
            Object::Host(host) => return host::write(self, object, host),
            Object::View(view) => self.view(view)?,
            leaf => {
                self.leaf(leaf)?;
                self.out.push(b'}');
            }
        }
        Ok(())
    }

    fn open_properties(&mut self, elements: &'t [Slot<'a>], properties: &'t [Property<'a>]) {
        self.out.extend_from_slice(b",\"props\":[");
        self.open.push(Open::Properties {
            elements: elements.iter().enumerate(),
            properties: properties.iter(),
            first: true,
        });
    }

    fn open_entries(&mut self, slots: &'t [Slot<'a>], is_map: bool) {
        self.out.extend_from_slice(b",\"entries\":[");
        self.open.push(Open::Entries {
            slots: slots.iter(),
            first: true,
            is_map,
        });
    }

    /// The members of an object without objects inside.
    fn leaf(&mut self, object: &Object<'_>) -> Result<(), Error> {
        match object {
            Object::Date(number) | Object::NumberObject(number) => {
                push_member(self.out, "v");
                push_number(self.out, *number);
            }
            Object::BooleanObject(bool) => push(self.out, format_args!(",\"v\":{bool}")),
            Object::BigIntObject(bigint) => push(self.out, format_args!(",\"v\":\"{bigint}\"")),
            Object::StringObject(string) => self.string_members(*string)?,
            Object::RegExp { source, flags } => {
                push_member(self.out, "source");
                push_name(self.out, *source);
                push(self.out, format_args!(",\"flags\":\"{flags}\""));
            }
            Object::ArrayBuffer(buffer) => self.array_buffer(buffer)?,
            _ => {}
        }
        Ok(())
    }

    fn array_buffer(&mut self, buffer: &ArrayBuffer<'_>) -> Result<(), Error> {
        push_member(self.out, "bytes");
        self.bytes(buffer.bytes)?;
        match buffer.kind {
            BufferKind::Resizable(max_len) => {
                push(self.out, format_args!(",\"maxByteLength\":{max_len}"));
            }
            BufferKind::Immutable if self.whole.is_some() => {
                self.out.extend_from_slice(b",\"immutable\":true");
            }
            _ => {}
        }
        Ok(())
    }

    fn view(&mut self, view: &View) -> Result<(), Error> {
        let View {
            byte_offset,
            byte_length,
            ..
        } = view;
        push(
            self.out,
            format_args!(",\"byteOffset\":{byte_offset},\"byteLength\":{byte_length}"),
        );
        if view.kind != ViewKind::DataView {
            push(self.out, format_args!(",\"length\":{}", view.length()));
        }
        if view.length_tracking && self.whole.is_some() {
            self.out.extend_from_slice(b",\"lengthTracking\":true");
        }
        push_member(self.out, "buffer");
        if !self.visited(view.buffer, "ArrayBuffer") {
            if let Some(buffer) = self.tree.array_buffer(view.buffer) {
                self.array_buffer(&buffer)?;
            }
            self.out.push(b'}');
        }
        self.out.push(b'}');
        Ok(())
    }

    fn error(&mut self, error: &ErrorObject<'a>) -> Result<(), Error> {
        let name = error.error_type.name();
        push(self.out, format_args!(",\"name\":\"{name}\",\"message\":"));
        match error.message {
            Some(message) => push_name(self.out, message),
            None => push_json_str(self.out, ""),
        }
        let has_stack = error.stack.is_some();
        push(
            self.out,
            format_args!(",\"proto\":\"{name}\",\"has_stack\":{has_stack}"),
        );
        if self.whole.is_some()
            && let Some(stack) = error.stack
        {
            push_member(self.out, "stack");
            push_name(self.out, stack);
        }
        self.open.push(Open::Text("}"));
        if let Some(cause) = error.cause {
            push_member(self.out, "cause");
            return self.value(cause);
        }
        Ok(())
    }
}

/// The `t` of an object.
pub(crate) fn name_of(object: &Object<'_>) -> &'static str {
    match object {
        Object::Plain(_) => "Object",
        Object::Array(_) => "Array",
        Object::Date(_) => "Date",
        Object::BooleanObject(_) => "BooleanObject",
        Object::NumberObject(_) => "NumberObject",
        Object::BigIntObject(_) => "BigIntObject",
        Object::StringObject(_) => "StringObject",
        Object::RegExp { .. } => "RegExp",
        Object::Map(_) => "Map",
        Object::Set(_) => "Set",
        Object::ArrayBuffer(_) => "ArrayBuffer",
        Object::View(view) => view.kind.name(),
        Object::Error(_) => "Error",
        Object::Host(host) => host::name_of(host),
        _ => "unknown",
    }
}
