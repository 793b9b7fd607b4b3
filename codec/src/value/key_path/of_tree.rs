//! Key paths on a decoded [`Tree`]: the rules, stated plainly.
//!
//! Where the specification and Chromium differ, in values that few write, this is the
//! specification: an array that occurs twice within a key makes it no key (in Chromium only one that
//! contains itself); a last step that finds `undefined` finds nothing (in Chromium an invalid key);
//! holes of an array in a multi-entry index are passed over (in Chromium the array has no keys).
//! Limits are Chromium's: an array of more than a million elements or nested more than 2,000 deep
//! is no key. What would take more than [`KEY_LEN_BYTES_MAX`] is none either.

use super::super::bits::BitSet;
use super::super::js_str::JsStr;
use super::super::node::{Array, Object, ObjectId, PropertyName, Value};
use super::super::{HostObject, Tree};
use super::{Evaluated, Identifier, ParsedKeyPath, all, sorted};
use crate::external_object::{ExternalObject, last_modified_ms};
use crate::idb_key::{ARRAYS_MAX, Key, KeyArray};
use crate::js_string::JsString;

/// Arrays of more elements are no keys (Blink `IndexedDBKey::kMaximumArraySize`).
pub(super) const ARRAY_LENGTH_MAX: u32 = 1_000_000;

/// More bytes, at 16 for each key and array on top of strings and binaries, are no key: references
/// to one buffer could otherwise ask for the square of the value's size. Chromium's limit for
/// messages of keys and values.
pub(super) const KEY_LEN_BYTES_MAX: usize = 128 << 20;

/// How many bytes keys may still take.
#[derive(Debug)]
pub(super) struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Self(KEY_LEN_BYTES_MAX)
    }
}

impl Room {
    /// Takes room for a key with so many bytes in it, if there is that much.
    pub(super) fn take(&mut self, len_bytes: usize) -> Option<()> {
        const OVERHEAD: usize = 16;
        self.0 = self.0.checked_sub(len_bytes.checked_add(OVERHEAD)?)?;
        Some(())
    }
}

/// What making keys has to remember.
#[derive(Debug, Default)]
struct Making {
    /// Arrays met so far.
    seen: BitSet,
    room: Room,
}

/// What a step leads to.
#[derive(Debug)]
enum Found<'a> {
    Value(Value<'a>),
    /// What has no value in the tree: sizes, types and names.
    Number(f64),
    Date(f64),
    Text(JsString),
}

impl<'a> Tree<'a> {
    /// What a key path comes to in this value. See [`Evaluator`](super::super::Evaluator), which
    /// needs no tree.
    #[must_use]
    pub fn evaluate(&self, path: &ParsedKeyPath, objects: &[ExternalObject]) -> Evaluated {
        let evaluate = |steps: &[Identifier]| match self.follow(steps, objects) {
            Some(found) => self
                .found_key(found)
                .map_or(Evaluated::Invalid, Evaluated::Key),
            None => Evaluated::Missing,
        };
        match path.single() {
            Some(steps) => evaluate(steps),
            None => {
                let parts = path.paths.iter();
                let all: std::result::Result<_, std::convert::Infallible> =
                    all(parts.map(|steps| Ok(evaluate(steps))));
                match all {
                    Ok(evaluated) => evaluated,
                    Err(never) => match never {},
                }
            }
        }
    }

    /// The keys under which an index with this key path holds a record of this value, ascending,
    /// each once.
    #[must_use]
    pub fn index_keys(
        &self,
        path: &ParsedKeyPath,
        multi_entry: bool,
        objects: &[ExternalObject],
    ) -> Vec<Key> {
        let (true, Some(steps)) = (multi_entry, path.single()) else {
            return self.evaluate(path, objects).key().into_iter().collect();
        };
        let Some(found) = self.follow(steps, objects) else {
            return Vec::new();
        };
        if let Found::Value(Value::Object(id)) = found
            && let Object::Array(array) = self.object(id)
        {
            if array.length > ARRAY_LENGTH_MAX {
                return Vec::new();
            }
            let mut making = Making::default();
            making.seen.insert(id.get());
            let members = self.elements(array).map(|(_, value)| value);
            return sorted(
                members
                    .filter_map(|value| self.key(value, &mut making))
                    .collect(),
            );
        }
        self.found_key(found).into_iter().collect()
    }

    /// Evaluates one path.
    fn follow(&self, steps: &[Identifier], objects: &[ExternalObject]) -> Option<Found<'a>> {
        let mut found = Found::Value(self.root);
        for step in steps {
            found = match found {
                Found::Value(value) => self.step(value, step, objects)?,
                Found::Text(text) if step.is(b"length") => length(text.len_units()),
                Found::Number(_) | Found::Date(_) | Found::Text(_) => return None,
            };
            if let Found::Value(Value::Undefined) = found {
                return None;
            }
        }
        Some(found)
    }

    fn step(
        &self,
        value: Value<'a>,
        step: &Identifier,
        objects: &[ExternalObject],
    ) -> Option<Found<'a>> {
        let id = match value {
            Value::String(string) if step.is(b"length") => return Some(length(string.len_units())),
            Value::Object(id) => id,
            _ => return None,
        };
        let own = match self.object(id) {
            Object::Plain(_) => self.get(id, &step.name())?,
            Object::Array(array) if step.is(b"length") => {
                return Some(Found::Number(f64::from(array.length)));
            }
            Object::Array(_) => self.get(id, &step.name())?,
            Object::StringObject(string) if step.is(b"length") => {
                return Some(length(string.len_units()));
            }
            Object::RegExp { .. } if step.is(b"lastIndex") => Value::Number(0.0),
            Object::Error(error) if step.is(b"message") => Value::String(error.message?),
            Object::Error(error) if step.is(b"stack") => Value::String(error.stack?),
            Object::Error(error) if step.is(b"cause") => error.cause?,
            Object::Host(host) => return of_host(host, step, objects),
            _ => return None,
        };
        Some(Found::Value(own))
    }

    /// The elements that are there, with their indices.
    fn elements(&self, array: &Array) -> impl Iterator<Item = (u32, Value<'a>)> {
        let front = self.slots(array.elements).iter().zip(0..);
        let front = front.filter_map(|(slot, at)| Some((at, (*slot)?)));
        let further = self.properties(array.properties).iter();
        front.chain(further.map_while(|property| match property.name {
            PropertyName::Index(at) => Some((at, property.value)),
            _ => None,
        }))
    }

    fn found_key(&self, found: Found<'a>) -> Option<Key> {
        match found {
            Found::Value(value) => self.key(value, &mut Making::default()),
            Found::Number(number) => Some(Key::Number(number)),
            Found::Date(time_ms) => Some(Key::Date(time_ms)),
            Found::Text(text) => Some(Key::String(text)),
        }
    }

    /// A value as a key.
    fn key(&self, value: Value<'a>, making: &mut Making) -> Option<Key> {
        // Arrays that are not whole yet.
        let mut open: Vec<OpenArray> = Vec::new();
        let mut value = value;
        loop {
            let mut done = None;
            if let Some(id) = self.as_array(value) {
                if open.len() >= ARRAYS_MAX || !making.seen.insert(id.get()) {
                    return None;
                }
                making.room.take(0)?;
                open.push(OpenArray::new(id));
            } else {
                done = Some(self.simple_key(value, &mut making.room)?);
            }
            // As long as the innermost array is whole, it is a key in the next.
            loop {
                let Some(innermost) = open.last_mut() else {
                    return done;
                };
                innermost.keys.extend(done.take());
                let Object::Array(array) = self.object(innermost.id) else {
                    return None;
                };
                if innermost.next < array.length {
                    value = self.get(innermost.id, &PropertyName::Index(innermost.next))?;
                    innermost.next += 1;
                    break;
                }
                let keys = std::mem::take(&mut innermost.keys);
                open.pop();
                done = Some(Key::Array(KeyArray::new(keys).ok()?));
            }
        }
    }

    fn as_array(&self, value: Value<'a>) -> Option<ObjectId> {
        let Value::Object(id) = value else {
            return None;
        };
        match self.object(id) {
            Object::Array(array) if array.length <= ARRAY_LENGTH_MAX => Some(id),
            _ => None,
        }
    }

    /// Everything but arrays.
    fn simple_key(&self, value: Value<'a>, room: &mut Room) -> Option<Key> {
        match value {
            Value::Number(number) if !number.is_nan() => {
                room.take(0)?;
                Some(Key::Number(number))
            }
            Value::String(string) => {
                room.take(string.len_units() * 2)?;
                Some(Key::String(owned(string)))
            }
            Value::Object(id) => {
                let bytes = match self.object(id) {
                    Object::Date(time_ms) if !time_ms.is_nan() => {
                        room.take(0)?;
                        return Some(Key::Date(*time_ms));
                    }
                    Object::ArrayBuffer(buffer) => buffer.bytes,
                    Object::View(view) => {
                        let buffer = self.array_buffer(view.buffer)?;
                        let shown = buffer.bytes.get(view.byte_offset..)?;
                        shown.get(..view.byte_length)?
                    }
                    _ => return None,
                };
                room.take(bytes.len())?;
                Some(Key::Binary(bytes.to_vec()))
            }
            _ => None,
        }
    }

    /// Whether a generated key can be put where this path points: all objects on the way are plain ones or arrays, or missing,
    /// and with those that are missing the value still decodes.
    #[must_use]
    pub fn can_inject(&self, path: &ParsedKeyPath) -> bool {
        let Some(steps) = path.to_inject() else {
            return false;
        };
        let names: Vec<_> = steps.iter().map(Identifier::as_str).collect();
        self.injection_point(&names).is_some()
    }

    /// Whether a generated key that was put where this path points would not be kept: the way leads to an object of
    /// another kind, whose properties are not serialised.
    #[must_use]
    pub fn loses_key(&self, path: &ParsedKeyPath) -> bool {
        let Some(steps) = path.single() else {
            return false;
        };
        let names: Vec<_> = steps.iter().map(Identifier::as_str).collect();
        self.loses(&names)
    }
}

/// An array whose elements are being turned into keys.
struct OpenArray {
    id: ObjectId,
    /// The index of the element that comes next.
    next: u32,
    keys: Vec<Key>,
}

impl OpenArray {
    const fn new(id: ObjectId) -> Self {
        Self {
            id,
            next: 0,
            keys: Vec::new(),
        }
    }
}

fn owned(string: JsStr<'_>) -> JsString {
    JsString::from_units(string.units().collect())
}

fn length<'a>(units: usize) -> Found<'a> {
    // Strings are shorter than their bytes, which 32 bits can count.
    Found::Number(f64::from(u32::try_from(units).unwrap_or(u32::MAX)))
}

/// Sizes, types, names and times of blobs and files. Those of before wire version 6 have none.
fn of_host<'a>(
    host: &HostObject<'a>,
    step: &Identifier,
    objects: &[ExternalObject],
) -> Option<Found<'a>> {
    let (HostObject::Blob(index) | HostObject::File(index)) = host else {
        return None;
    };
    let (blob, file) = match objects.get(*index as usize)? {
        ExternalObject::Blob(blob) => (blob, None),
        ExternalObject::File {
            blob,
            name,
            last_modified_micros,
        } => (blob, Some((name, last_modified_ms(*last_modified_micros)))),
        ExternalObject::FileSystemAccessHandle { .. } => return None,
    };
    if step.is(b"size") {
        return Some(Found::Number(blob.size_bytes as f64));
    }
    if step.is(b"type") {
        return Some(Found::Text(blob.mime_type.clone()));
    }
    let (name, time_ms) = file?;
    if step.is(b"name") {
        Some(Found::Text(name.clone()))
    } else if step.is(b"lastModified") {
        Some(Found::Number(time_ms as f64))
    } else if step.is(b"lastModifiedDate") {
        Some(Found::Date(time_ms as f64))
    } else {
        None
    }
}
