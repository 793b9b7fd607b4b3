//! Putting a generated key into a value's bytes.
//!
//! The new bytes go in where the property stands or is missing; behind them references are counted
//! on by as many objects as came in, and two-byte strings are aligned anew. All else stays as
//! it is, byte for byte.

use super::super::encode::Encoder;
use super::super::envelope::Payload;
use super::super::node::{Object, Value};
use super::super::tag::v8 as tag;
use super::super::writer::Writer;
use super::super::{ArrayBuffer, BufferKind, Tree};
use super::scan::{Pass, Scanner, Watch};
use super::{AskTree, Attempt, Evaluator, Identifier, ParsedKeyPath, Text};
use crate::Result;
use crate::idb_key::Key;

/// Where a key goes.
struct Spot {
    /// The bytes up to here stay.
    start: usize,
    /// The bytes from here on stay, references and paddings aside.
    end: usize,
    /// How many objects begin before.
    object_count: usize,
    /// Objects that are open at `end`.
    depth: usize,
    /// If nothing is there yet: the steps that are missing, and how many properties there were.
    missing: Option<(usize, u32)>,
}

impl Evaluator {
    /// Appends a value with a generated key put where the path points, making objects on the way:
    /// what a page sees of a record whose store has a key generator and a key path. Such keys are
    /// not stored inside values. Returns false, and appends nothing, if the key cannot be put
    /// there.
    ///
    /// # Errors
    /// If the value cannot be decoded.
    pub fn inject(
        &mut self,
        path: &ParsedKeyPath,
        key: &Key,
        payload: &Payload<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let before = out.len();
        match self.inject_on_bytes(path, key, payload, out) {
            Ok(done) => Ok(done),
            Err(AskTree) => {
                out.truncate(before);
                self.inject_on_tree(path, key, payload, out)
            }
        }
    }

    /// Whether a generated key could be put where the path points, and the value would still decode.
    ///
    /// # Errors
    /// If the value cannot be decoded.
    pub fn can_inject(&mut self, path: &ParsedKeyPath, payload: &Payload<'_>) -> Result<bool> {
        let Some(steps) = path.to_inject() else {
            return Ok(false);
        };
        let scanner = Scanner::new(payload, &mut self.memory);
        match scanner.and_then(|mut scanner| scanner.spot(steps)) {
            Ok(spot) => Ok(spot.is_some()),
            Err(AskTree) => self.with_tree(payload, |tree| tree.can_inject(path)),
        }
    }

    /// Whether a generated key may be put where the path points and is not kept, because the object there has no properties
    /// in its serialised form: a `Date`, a `Map`, a buffer, a blob.
    ///
    /// Such a value passes the specification's "check that a key could be injected into a value", and so do those of
    /// [`can_inject`](Self::can_inject).
    ///
    /// # Errors
    /// If the value cannot be decoded.
    pub fn loses_key(&mut self, path: &ParsedKeyPath, payload: &Payload<'_>) -> Result<bool> {
        self.with_tree(payload, |tree| tree.loses_key(path))
    }

    fn inject_on_bytes(
        &mut self,
        path: &ParsedKeyPath,
        key: &Key,
        payload: &Payload<'_>,
        out: &mut Vec<u8>,
    ) -> Attempt<bool> {
        let Some(steps) = path.single() else {
            return Ok(false);
        };
        let mut scanner = Scanner::new(payload, &mut self.memory)?;
        let Some(spot) = scanner.spot(steps)? else {
            return Ok(false);
        };
        let (wire, _) = payload.wire();
        let start = out.len();
        out.extend_from_slice(&wire[..spot.start]);
        let mut writer = Writer::resume(out, start);
        let mut added = 0;
        if let Some((from, _)) = spot.missing {
            write_way(&mut writer, &steps[from..]);
            added += steps.len() - from - 1;
        }
        added += write_key(&mut writer, key)?;
        if let Some((from, count)) = spot.missing {
            for _ in from + 1..steps.len() {
                writer.byte(tag::END_OBJECT);
                writer.varint(1_u32);
            }
            writer.byte(tag::END_OBJECT);
            writer.varint(count.checked_add(1).ok_or(AskTree)?);
        }
        let mut copy = Copy {
            source: wire,
            copied: spot.end,
            writer,
            first_moved: spot.object_count,
            added,
        };
        scanner.skip_rest(spot.depth, &mut copy)?;
        copy.writer
            .bytes(wire.get(copy.copied..).unwrap_or_default());
        finish(payload, start, out);
        Ok(true)
    }

    fn inject_on_tree(
        &mut self,
        path: &ParsedKeyPath,
        key: &Key,
        payload: &Payload<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        self.with_tree(payload, |tree| {
            let Some(steps) = path.single() else {
                return false;
            };
            let texts = texts(key);
            // The same tree, but of things that live as long as this key.
            let mut tree: Tree<'_> = std::mem::take(tree);
            let names: Vec<_> = steps.iter().map(Identifier::as_str).collect();
            let value = key_value(&mut tree, key, &texts);
            let done = tree.inject(&names, value);
            if done {
                Encoder::new().encode(&tree, out);
            }
            done
        })
    }
}

impl Scanner<'_, '_> {
    /// Where a key with this path goes, if it can.
    fn spot(&mut self, steps: &[Identifier]) -> Attempt<Option<Spot>> {
        // Names that are array indices have their own order.
        if steps.is_empty() || steps.iter().any(|step| step.index.is_some()) {
            return Err(AskTree);
        }
        for (at_step, step) in steps.iter().enumerate() {
            let depth = at_step + 1;
            let (tag, at) = self.next_tag()?;
            match tag {
                tag::BEGIN_OBJECT => self.begin_object(at),
                tag::ONE_BYTE_STRING
                | tag::TWO_BYTE_STRING
                | tag::UTF8_STRING
                | tag::INT32
                | tag::UINT32
                | tag::DOUBLE
                | tag::UNDEFINED
                | tag::NULL
                | tag::TRUE
                | tag::FALSE
                | tag::BIGINT => return Ok(None),
                _ => return Err(AskTree),
            }
            if self.property(step)? {
                continue;
            }
            let start = self.reader.offset() - 1;
            let object_count = self.object_count();
            let count = self.reader.varint_u32("number of properties")?;
            return Ok(Some(Spot {
                start,
                end: self.reader.offset(),
                object_count,
                depth: depth - 1,
                missing: Some((at_step, count)),
            }));
        }
        let (start, object_count) = (self.reader.offset(), self.object_count());
        self.skip(&mut Pass)?;
        // Other places might refer to objects of the value that goes.
        if self.object_count() > object_count {
            return Err(AskTree);
        }
        Ok(Some(Spot {
            start,
            end: self.reader.offset(),
            object_count,
            depth: steps.len(),
            missing: None,
        }))
    }
}

/// The missing steps: all but the last open an object that has the next as its only property.
fn write_way(writer: &mut Writer<'_>, steps: &[Identifier]) {
    for (at, step) in steps.iter().enumerate() {
        if at > 0 {
            writer.byte(tag::BEGIN_OBJECT);
        }
        writer.string(step.as_str());
    }
}

/// Writes a key as the value that JavaScript shows. Returns how many objects it has.
fn write_key(writer: &mut Writer<'_>, key: &Key) -> Attempt<usize> {
    match key {
        Key::Number(number) => writer.number(*number),
        Key::String(string) => writer.units(|| string.units().iter().copied()),
        Key::Date(time_ms) => {
            writer.byte(tag::DATE);
            writer.f64(*time_ms);
            return Ok(1);
        }
        Key::Binary(bytes) => {
            let kind = BufferKind::Fixed;
            ArrayBuffer { bytes, kind }.write(writer);
            return Ok(1);
        }
        // Generators make numbers only.
        Key::Array(_) => return Err(AskTree),
    }
    Ok(0)
}

/// Copies what is behind the key.
struct Copy<'a, 'o> {
    source: &'a [u8],
    /// Up to here it has been copied.
    copied: usize,
    writer: Writer<'o>,
    /// The number of the first object that has another number now.
    first_moved: usize,
    /// By how much.
    added: usize,
}

impl Copy<'_, '_> {
    fn copy_to(&mut self, end: usize) {
        let bytes = self.source.get(self.copied..end);
        self.writer.bytes(bytes.unwrap_or_default());
        self.copied = end;
    }
}

impl Watch for Copy<'_, '_> {
    fn reference(&mut self, at: usize, end: usize, id: u32) {
        let id = id as usize;
        if self.added == 0 || id < self.first_moved {
            return;
        }
        self.copy_to(at);
        self.writer.byte(tag::OBJECT_REFERENCE);
        self.writer.len(id + self.added);
        self.copied = end;
    }

    fn two_byte_string(&mut self, padding_at: usize, at: usize, len_bytes: u32) {
        self.copy_to(padding_at.max(self.copied));
        self.writer.align(len_bytes as usize);
        self.copied = at;
    }

    fn container(&mut self, _: usize, _: usize) -> Result<()> {
        Ok(())
    }
}

/// Appends the trailer, if there is one, and says where it is now.
fn finish(payload: &Payload<'_>, start: usize, out: &mut Vec<u8>) {
    let offset = (out.len() - start) as u64;
    if let Some(at) = payload.trailer_offset_at()
        && let Some(field) = out.get_mut(start + at..start + at + 8)
    {
        field.copy_from_slice(&offset.to_be_bytes());
    }
    out.extend_from_slice(payload.trailer());
}

/// All strings of a key, in order: a tree borrows its strings.
fn texts(key: &Key) -> Vec<Text> {
    let mut texts = Vec::new();
    let mut left = vec![key];
    while let Some(key) = left.pop() {
        match key {
            Key::String(string) => texts.push(Text::new(string.units())),
            Key::Array(array) => left.extend(array.iter().rev()),
            Key::Number(_) | Key::Date(_) | Key::Binary(_) => {}
        }
    }
    texts
}

/// A key as a value of a tree.
fn key_value<'a>(tree: &mut Tree<'a>, key: &'a Key, texts: &'a [Text]) -> Value<'a> {
    let mut texts = texts.iter();
    // Elements to come and values so far, one entry for each open array.
    let mut open: Vec<(std::slice::Iter<'a, Key>, Vec<Value<'a>>)> = Vec::new();
    let mut key = key;
    loop {
        let mut done = match key {
            Key::Array(array) => {
                open.push((array.iter(), Vec::new()));
                None
            }
            Key::Number(number) => Some(Value::Number(*number)),
            Key::String(_) => texts.next().map(|text| Value::String(text.as_str())),
            Key::Date(time_ms) => Some(tree.push_object(Object::Date(*time_ms))),
            Key::Binary(bytes) => {
                let kind = BufferKind::Fixed;
                Some(tree.push_object(Object::ArrayBuffer(ArrayBuffer { bytes, kind })))
            }
        };
        loop {
            let Some((elements, values)) = open.last_mut() else {
                return done.unwrap_or(Value::Undefined);
            };
            values.extend(done.take());
            if let Some(next) = elements.next() {
                key = next;
                break;
            }
            done = open.pop().map(|(_, values)| tree.push_array(&values));
        }
    }
}
