//! Key paths: where a value holds its record's key and its index keys.
//!
//! [`Evaluator`] finds keys in a value's bytes without building its tree, and puts generated keys
//! in; what it cannot do so (old wire formats, references, arrays with holes) it does on the tree.
//! The rules are those of "Indexed Database API 3.0", sections "Evaluate a key path on a value",
//! "Convert a value to a key" and "Inject a key into a value"; [`of_tree`] states them plainly and
//! is what the bytes' way is tested against. Whether a text is a valid key path is not asked here.

mod evaluate;
mod inject;
mod nesting;
mod of_tree;
mod scan;
#[cfg(test)]
mod tests;

use super::decode::{DEPTH_MAX, Decoder};
use super::envelope::Payload;
use super::js_str::JsStr;
use super::node::PropertyName;
use super::tree::Tree;
use crate::external_object::ExternalObject;
use crate::idb_key::Key;
use crate::js_string::JsString;
use crate::key_path::KeyPath;
use crate::{KeyArray, Result};
use scan::{Memory, Scanner};
use std::cmp::Ordering;

/// A key path taken apart, ready to be evaluated many times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedKeyPath {
    paths: Vec<Vec<Identifier>>,
    /// Whether the key is an array of what the paths give.
    is_array: bool,
}

/// A string as narrow as it can be.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Text {
    /// Its units: one byte each if all fit, else two, low byte first.
    bytes: Vec<u8>,
    is_one_byte: bool,
}

impl Text {
    fn new(units: &[u16]) -> Self {
        let is_one_byte = units.iter().all(|&unit| unit <= 0xff);
        let bytes = if is_one_byte {
            units.iter().map(|unit| unit.to_le_bytes()[0]).collect()
        } else {
            units.iter().flat_map(|unit| unit.to_le_bytes()).collect()
        };
        Self { bytes, is_one_byte }
    }

    fn as_str(&self) -> JsStr<'_> {
        if self.is_one_byte {
            JsStr::Latin1(&self.bytes)
        } else {
            JsStr::Utf16Le(&self.bytes)
        }
    }
}

/// One step of a key path: a property's name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identifier {
    text: Text,
    /// The array index that it spells.
    index: Option<u32>,
}

impl Identifier {
    fn new(units: &[u16]) -> Self {
        let text = Text::new(units);
        let index = text.as_str().as_array_index();
        Self { text, index }
    }

    fn as_str(&self) -> JsStr<'_> {
        self.text.as_str()
    }

    #[inline]
    fn is(&self, name: &[u8]) -> bool {
        self.text.is_one_byte && self.text.bytes == name
    }

    fn name(&self) -> PropertyName<'_> {
        match self.index {
            Some(index) => PropertyName::Index(index),
            None => PropertyName::String(self.as_str()),
        }
    }
}

impl ParsedKeyPath {
    /// Takes a key path apart; `None` if there is none, so that keys are given apart from values.
    ///
    /// Steps are what stands between the dots; the empty path has no step and means the value
    /// itself.
    #[must_use]
    pub fn new(key_path: &KeyPath) -> Option<Self> {
        let (paths, is_array) = match key_path {
            KeyPath::Null => return None,
            KeyPath::String(path) => (std::slice::from_ref(path), false),
            KeyPath::Array(paths) => (paths.as_slice(), true),
        };
        let paths = paths.iter().map(identifiers).collect();
        Some(Self { paths, is_array })
    }

    /// The one path, if it is not an array of paths.
    fn single(&self) -> Option<&[Identifier]> {
        match self.paths.as_slice() {
            [path] if !self.is_array => Some(path),
            _ => None,
        }
    }

    /// The one path, if a key at its end would lie in no more than [`DEPTH_MAX`] objects.
    fn to_inject(&self) -> Option<&[Identifier]> {
        self.single().filter(|steps| steps.len() <= DEPTH_MAX)
    }
}

fn identifiers(path: &JsString) -> Vec<Identifier> {
    const DOT: u16 = b'.' as u16;
    if path.is_empty() {
        return Vec::new();
    }
    let steps = path.units().split(|&unit| unit == DOT);
    steps.map(Identifier::new).collect()
}

/// What a key path comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evaluated {
    /// A key.
    Key(Key),
    /// Something that is no key ("invalid").
    Invalid,
    /// Nothing, or `undefined` ("failure").
    Missing,
}

impl Evaluated {
    /// The key, if it is one.
    #[must_use]
    pub fn key(self) -> Option<Key> {
        match self {
            Self::Key(key) => Some(key),
            Self::Invalid | Self::Missing => None,
        }
    }
}

/// Evaluates key paths on values, and keeps its memory from one to the next.
///
/// ```
/// use larder_codec::value::{Envelope, Evaluated, Evaluator, ParsedKeyPath};
/// use larder_codec::{Key, KeyPath};
///
/// // `{id: 7, tags: ["b", "a", "b"]}`
/// let value = b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0fo\"\x02idI\x0e\"\x04tags\
///     A\x03\"\x01b\"\x01a\"\x01b$\0\x03{\x02";
/// let mut buffer = Vec::new();
/// let Envelope::Inline(payload) = Envelope::peel(value, &mut buffer)? else {
///     unreachable!("this one is not in a blob")
/// };
/// let path = |path: &str| ParsedKeyPath::new(&KeyPath::String(path.into())).unwrap();
/// let mut evaluator = Evaluator::new();
/// let id = evaluator.evaluate(&path("id"), &payload, &[])?;
/// assert_eq!(id, Evaluated::Key(Key::Number(7.0)));
/// let count = evaluator.evaluate(&path("tags.length"), &payload, &[])?;
/// assert_eq!(count, Evaluated::Key(Key::Number(3.0)));
/// let tags = evaluator.index_keys(&path("tags"), true, &payload, &[])?;
/// assert_eq!(tags, [Key::from("a"), Key::from("b")]);
/// # Ok::<(), larder_codec::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Evaluator {
    memory: Memory,
    decoder: Decoder,
}

/// The way over the bytes ends here; the tree has to be built.
#[derive(Debug)]
struct AskTree;

type Attempt<T> = std::result::Result<T, AskTree>;

impl From<crate::Error> for AskTree {
    /// Damaged bytes: the decoder says what is wrong.
    fn from(_: crate::Error) -> Self {
        Self
    }
}

impl Evaluator {
    /// An evaluator without memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What a key path comes to in a value. `objects` are the record's external objects, whose
    /// sizes, types and names are keys, too.
    ///
    /// Only as much of the value is read as needs be: damage behind that goes unnoticed.
    ///
    /// # Errors
    /// If the value cannot be decoded.
    pub fn evaluate(
        &mut self,
        path: &ParsedKeyPath,
        payload: &Payload<'_>,
        objects: &[ExternalObject],
    ) -> Result<Evaluated> {
        match self.on_bytes(path, payload) {
            Ok(evaluated) => Ok(evaluated),
            Err(AskTree) => self.with_tree(payload, |tree| tree.evaluate(path, objects)),
        }
    }

    /// The keys under which an index with this key path holds a record, ascending, each once. With
    /// `multi_entry` the members of an array are keys of their own, and those that are none are
    /// left out.
    ///
    /// # Errors
    /// If the value cannot be decoded.
    pub fn index_keys(
        &mut self,
        path: &ParsedKeyPath,
        multi_entry: bool,
        payload: &Payload<'_>,
        objects: &[ExternalObject],
    ) -> Result<Vec<Key>> {
        let (true, Some(single)) = (multi_entry, path.single()) else {
            let evaluated = self.evaluate(path, payload, objects)?;
            return Ok(evaluated.key().into_iter().collect());
        };
        let scanner = Scanner::new(payload, &mut self.memory);
        match scanner.and_then(|mut scanner| scanner.members(single)) {
            Ok(keys) => Ok(sorted(keys)),
            Err(AskTree) => self.with_tree(payload, |tree| tree.index_keys(path, true, objects)),
        }
    }

    fn on_bytes(&mut self, path: &ParsedKeyPath, payload: &Payload<'_>) -> Attempt<Evaluated> {
        if let Some(single) = path.single() {
            return Scanner::new(payload, &mut self.memory)?.evaluate(single);
        }
        let parts = path
            .paths
            .iter()
            .map(|path| Scanner::new(payload, &mut self.memory)?.evaluate(path));
        all(parts)
    }

    fn with_tree<R>(
        &mut self,
        payload: &Payload<'_>,
        f: impl FnOnce(&mut Tree<'_>) -> R,
    ) -> Result<R> {
        let mut tree = self.decoder.decode(payload)?;
        let result = f(&mut tree);
        self.decoder.recycle(tree);
        Ok(result)
    }
}

/// The array key of all parts: missing if one is, else invalid if one is.
fn all<E>(
    parts: impl Iterator<Item = std::result::Result<Evaluated, E>>,
) -> std::result::Result<Evaluated, E> {
    let mut keys = Some(Vec::new());
    for part in parts {
        match part? {
            Evaluated::Key(key) => keys.iter_mut().for_each(|keys| keys.push(key.clone())),
            Evaluated::Invalid => keys = None,
            Evaluated::Missing => return Ok(Evaluated::Missing),
        }
    }
    let array = keys.and_then(|keys| KeyArray::new(keys).ok());
    Ok(array.map_or(Evaluated::Invalid, |array| {
        Evaluated::Key(Key::Array(array))
    }))
}

/// Keys as an index has them.
fn sorted(mut keys: Vec<Key>) -> Vec<Key> {
    let number = |key: &Key| match key {
        Key::Number(number) => Some(*number),
        _ => None,
    };
    // Numbers alone are quicker to sort.
    if let Some(mut numbers) = keys.iter().map(number).collect::<Option<Vec<f64>>>() {
        numbers.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
        numbers.dedup();
        return numbers.into_iter().map(Key::Number).collect();
    }
    keys.sort();
    keys.dedup();
    keys
}
