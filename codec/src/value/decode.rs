//! [`Decoder`]: V8's wire format into a [`Tree`].
//!
//! Versions 1 to 16 (0, of Chromium 11 to 13, had another structure and is refused). The tags and
//! fields are listed in `docs/format/values.md`; what V8 checks when reading is checked here, so
//! that what decodes here is what a page would get. Decoding keeps its own stack, so nesting costs
//! no native stack, and reserves nothing on the word of a length. Blink's objects are read in
//! [`host`](super::host), buffers and views in [`buffer`](super::buffer).

mod containers;
mod leaf;
#[cfg(test)]
mod tests;

use super::bits::BitSet;
use super::envelope::Payload;
use super::names::Names;
use super::node::{Object, Property, PropertyName, Slot, Value};
use super::reader::{Reader, error};
use super::tag::v8 as tag;
use super::tree::{Tree, Versions};
use crate::{ErrorKind, Result};

/// Objects inside one another that are taken. V8 recurses when it writes, so its stack (about one
/// megabyte) ends a value after some thousand levels.
pub const DEPTH_MAX: usize = 100_000;

/// Turns payloads into trees, and keeps its memory from one to the next.
///
/// ```
/// # use larder_codec::value::{Decoder, Envelope};
/// # let records: [&[u8]; 2] = [b"\xff\x12\xff\x0d0\0", b"\xff\x12\xff\x0dT\0"];
/// let mut decoder = Decoder::new();
/// let mut buffer = Vec::new();
/// for bytes in records {
///     if let Envelope::Inline(payload) = Envelope::peel(bytes, &mut buffer)? {
///         let tree = decoder.decode(&payload)?;
///         // … use the tree, then hand its memory back:
///         decoder.recycle(tree);
///     }
/// }
/// # Ok::<(), larder_codec::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Decoder {
    store: Store<'static>,
    scratch: Scratch<'static>,
}

/// What becomes the tree.
#[derive(Debug, Default)]
struct Store<'a> {
    objects: Vec<Object<'a>>,
    properties: Vec<Property<'a>>,
    slots: Vec<Slot<'a>>,
    shared: BitSet,
    doubles: Vec<u32>,
}

/// What is only needed on the way.
#[derive(Debug, Default)]
struct Scratch<'a> {
    /// Containers that are open around the current one.
    frames: Vec<Frame<'a>>,
    /// Properties of open objects, innermost last.
    properties: Vec<Property<'a>>,
    /// Elements and entries of open arrays, maps and sets, innermost last.
    slots: Vec<Slot<'a>>,
    names: Names,
}

/// Reuses the memory of a vector for items of another lifetime. `collect` works in place here: the item types differ in
/// their lifetime only.
fn recast<T, U>(mut vec: Vec<T>) -> Vec<U> {
    vec.clear();
    vec.into_iter().filter_map(|_| None).collect()
}

impl Store<'_> {
    fn recast<'b>(mut self) -> Store<'b> {
        self.shared.clear();
        self.doubles.clear();
        Store {
            objects: recast(self.objects),
            properties: recast(self.properties),
            slots: recast(self.slots),
            shared: self.shared,
            doubles: self.doubles,
        }
    }
}

impl Scratch<'_> {
    fn recast<'b>(self) -> Scratch<'b> {
        Scratch {
            frames: recast(self.frames),
            properties: recast(self.properties),
            slots: recast(self.slots),
            names: self.names,
        }
    }
}

impl Decoder {
    /// A decoder without memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes a payload. Strings and bytes of the tree are borrowed from it.
    ///
    /// # Errors
    /// If the bytes are not exactly one value (padding behind it excepted) that Chromium could
    /// read. [`ErrorKind::UnknownTag`] names tag and place; the payload's bytes are still there.
    pub fn decode<'a>(&mut self, payload: &Payload<'a>) -> Result<Tree<'a>> {
        // Chromium 97 wrote views with flags under the old version number; V8 retries, too
        // (crbug.com/1284506).
        const FLAGS_VERSION_MIN: u32 = 14;
        let v8 = payload.versions().v8;
        let result = self.attempt(payload, v8 >= FLAGS_VERSION_MIN);
        match result {
            Err(first) if v8 == FLAGS_VERSION_MIN - 1 => {
                self.attempt(payload, true).map_err(|_| first)
            }
            result => result,
        }
    }

    /// Takes back the memory of a tree that is no longer needed.
    pub fn recycle(&mut self, tree: Tree<'_>) {
        let store = Store {
            objects: tree.objects,
            properties: tree.properties,
            slots: tree.slots,
            shared: tree.shared,
            doubles: tree.doubles,
        };
        self.store = store.recast();
    }

    fn attempt<'a>(&mut self, payload: &Payload<'a>, view_flags: bool) -> Result<Tree<'a>> {
        let (bytes, start) = payload.wire();
        if u32::try_from(bytes.len()).is_err() {
            let limit = u64::from(u32::MAX);
            return error(ErrorKind::LimitExceeded { limit }, 0, "value length");
        }
        let mut run = Run {
            reader: Reader::starting_at(bytes, start),
            versions: payload.versions(),
            view_flags,
            store: std::mem::take(&mut self.store).recast(),
            scratch: std::mem::take(&mut self.scratch).recast(),
            numbers: 0,
            depth: 0,
            reordered: false,
        };
        let root = run.value().and_then(|root| run.end().map(|()| root));
        let Run {
            store,
            scratch,
            versions,
            depth,
            reordered,
            ..
        } = run;
        self.scratch = scratch.recast();
        match root {
            Ok(root) => Ok(Tree {
                root,
                read_count: store.objects.len(),
                read_in: versions,
                objects: store.objects,
                properties: store.properties,
                slots: store.slots,
                shared: store.shared,
                doubles: store.doubles,
                edited: false,
                depth,
                reordered,
                versions,
            }),
            Err(error) => {
                self.store = store.recast();
                Err(error)
            }
        }
    }
}

/// One attempt at one payload.
struct Run<'a> {
    reader: Reader<'a>,
    versions: Versions,
    /// Whether views have flags.
    view_flags: bool,
    store: Store<'a>,
    scratch: Scratch<'a>,
    /// How many numbers have been read as values.
    numbers: u32,
    depth: usize,
    reordered: bool,
}

/// A container whose end has not been read yet.
#[derive(Debug, Clone, Copy)]
struct Frame<'a> {
    kind: FrameKind,
    /// The index of its object.
    object: usize,
    /// Where its properties begin in the scratch.
    properties_start: usize,
    /// Where its slots begin in the scratch.
    slots_start: usize,
    /// The length of an array, as written in front.
    length: u32,
    /// The name of the property whose value is being read.
    name: PropertyName<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum FrameKind {
    Plain,
    SparseArray,
    /// A dense array in its elements.
    DenseElements,
    /// A dense array behind its elements.
    DenseProperties,
    Map,
    Set,
    Error,
}

/// What reading a value comes to.
enum Read<'a> {
    /// A value without anything inside, or one that is finished.
    Value(Value<'a>),
    /// The beginning of a container.
    Open(Frame<'a>),
}

impl<'a> Run<'a> {
    /// Reads one whole value.
    fn value(&mut self) -> Result<Value<'a>> {
        let (tag, at) = self.next_tag()?;
        let mut frame = match self.tagged(tag, at)? {
            Read::Value(value) => return Ok(value),
            Read::Open(frame) => frame,
        };
        self.depth = 1;
        // The value of the container that was just closed, for the one around it.
        let mut inner = None;
        loop {
            match self.proceed(&mut frame, inner.take())? {
                Read::Open(child) => {
                    self.scratch.frames.push(frame);
                    let depth = self.scratch.frames.len() + 1;
                    if depth > DEPTH_MAX {
                        let limit = DEPTH_MAX as u64;
                        return error(
                            ErrorKind::LimitExceeded { limit },
                            self.reader.offset(),
                            "nesting",
                        );
                    }
                    self.depth = self.depth.max(depth);
                    frame = child;
                }
                Read::Value(value) => match self.scratch.frames.pop() {
                    Some(outer) => {
                        frame = outer;
                        inner = Some(value);
                    }
                    None => return Ok(value),
                },
            }
        }
    }

    /// Nothing but padding may follow the value.
    fn end(&self) -> Result<()> {
        match self.reader.rest().iter().position(|&b| b != tag::PADDING) {
            None => Ok(()),
            Some(at) => error(
                ErrorKind::Trailing {
                    extra: (self.reader.remaining() - at) as u64,
                },
                self.reader.offset() + at,
                "value",
            ),
        }
    }

    /// The next tag that is not padding, and where it stands.
    #[inline]
    fn next_tag(&mut self) -> Result<(u8, usize)> {
        loop {
            let at = self.reader.offset();
            let tag = self.reader.byte("tag")?;
            if tag != tag::PADDING {
                return Ok((tag, at));
            }
        }
    }

    /// Goes on with an open container, whose last inner container came to `inner`, until it closes
    /// or opens another.
    #[inline]
    fn proceed(&mut self, frame: &mut Frame<'a>, inner: Option<Value<'a>>) -> Result<Read<'a>> {
        match frame.kind {
            FrameKind::Plain | FrameKind::SparseArray | FrameKind::DenseProperties => {
                self.properties(frame, inner)
            }
            FrameKind::DenseElements => self.elements(frame, inner),
            FrameKind::Map | FrameKind::Set => self.entries(frame, inner),
            FrameKind::Error => self.error_fields(frame, inner),
        }
    }
}
