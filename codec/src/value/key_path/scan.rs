//! [`Scanner`]: steps over values in V8's wire format without keeping them.
//!
//! It counts objects as the decoder does and remembers where each begins, so that references can be
//! resolved. It checks no more than it must to stay in step: what it takes, the decoder may still
//! refuse. Nesting costs no native stack. The shapes are listed in `docs/format/values.md`.

use super::super::buffer::{ArrayBuffer, View};
use super::super::envelope::Payload;
use super::super::host::HostObject;
use super::super::node::ObjectId;
use super::super::reader::{Reader, error, invalid};
use super::super::tag::{error as error_tag, v8 as tag};
use super::{AskTree, Attempt};
use crate::{ErrorKind, Result};

/// The version since which views have flags for certain, strings tags and host objects theirs.
const V8_VERSION_MIN: u32 = 14;

/// What a scanner needs to remember, kept between values.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// By object: where it begins.
    places: Vec<Place>,
    /// The containers around the present place, innermost last.
    open: Vec<Open>,
}

/// Where an object is.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Its tag.
    at: usize,
    /// The number of a view's buffer.
    buffer: Option<u32>,
}

/// A container that has begun and not ended.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Open {
    /// Names and values until this tag, behind which are counts.
    Properties {
        end: u8,
    },
    /// So many elements, then the properties of a dense array.
    Elements {
        left: u32,
    },
    /// Keys and values in turn; whether a key is next.
    Map {
        key_next: bool,
    },
    Set,
    Error,
}

/// What a scanner passes that depends on what stands before it in the bytes.
pub(super) trait Watch {
    /// A reference to an object: from its tag at `at` to `end`.
    fn reference(&mut self, at: usize, end: usize, id: u32);
    /// A string of two-byte units: its tag at `at`, before it padding from `padding_at` on.
    fn two_byte_string(&mut self, padding_at: usize, at: usize, len_bytes: u32);
    /// A container that begins at `at`, and is so deep: 1 if there is none around it. An error ends the scan.
    fn container(&mut self, at: usize, depth: usize) -> Result<()>;
}

/// Reads nothing, and only passes the value.
pub(super) struct Pass;

impl Watch for Pass {
    fn reference(&mut self, _: usize, _: usize, _: u32) {}
    fn two_byte_string(&mut self, _: usize, _: usize, _: u32) {}
    #[inline]
    fn container(&mut self, _: usize, _: usize) -> Result<()> {
        Ok(())
    }
}

/// A position in a value.
pub(super) struct Scanner<'a, 'm> {
    pub(super) reader: Reader<'a>,
    blink: u32,
    memory: &'m mut Memory,
}

impl<'a, 'm> Scanner<'a, 'm> {
    /// A scanner at the beginning of a value, unless that is of an old format.
    pub(super) fn new(payload: &Payload<'a>, memory: &'m mut Memory) -> Attempt<Self> {
        let (bytes, start) = payload.wire();
        if payload.versions().v8 < V8_VERSION_MIN || u32::try_from(bytes.len()).is_err() {
            return Err(AskTree);
        }
        memory.places.clear();
        memory.open.clear();
        Ok(Self {
            reader: Reader::starting_at(bytes, start),
            blink: payload.versions().blink,
            memory,
        })
    }

    /// How many objects have been passed or begun.
    pub(super) fn object_count(&self) -> usize {
        self.memory.places.len()
    }

    /// Back to a place that was passed, with as many objects as there were then.
    pub(super) fn go_back_to(&mut self, offset: usize, object_count: usize) {
        self.reader.go_back_to(offset);
        self.memory.places.truncate(object_count);
    }

    /// Notes an object that begins at `at`.
    pub(super) fn begin_object(&mut self, at: usize) {
        self.memory.places.push(Place { at, buffer: None });
    }

    /// The next tag that is not padding, and where it stands.
    #[inline]
    pub(super) fn next_tag(&mut self) -> Result<(u8, usize)> {
        loop {
            let at = self.reader.offset();
            let tag = self.reader.byte("tag")?;
            if tag != tag::PADDING {
                return Ok((tag, at));
            }
        }
    }

    /// The next value's tag: as [`Scanner::next_tag`], past counts of objects and by way of
    /// references, so that it is never one of those. References to views are left to the tree.
    #[inline]
    pub(super) fn value_tag(&mut self) -> Attempt<(u8, usize)> {
        loop {
            let (tag, at) = self.next_tag()?;
            match tag {
                tag::VERIFY_OBJECT_COUNT => {
                    self.reader.varint_u32("number of objects")?;
                }
                tag::OBJECT_REFERENCE => {
                    let id = self.reader.varint_u32("object reference")?;
                    match self.memory.places.get(id as usize) {
                        Some(&Place { at, buffer: None }) if !self.is_buffer(id) => {
                            self.go_back_to(at, id as usize);
                        }
                        _ => return Err(AskTree),
                    }
                }
                _ => return Ok((tag, at)),
            }
        }
    }

    /// Passes one whole value.
    #[inline]
    pub(super) fn skip(&mut self, watch: &mut impl Watch) -> Result<()> {
        let (tag, at) = self.next_tag()?;
        self.pass_tagged(tag, at, at, watch)?;
        self.pass_open(0, watch)
    }

    /// Passes the rest of this many objects, one around the other, in whose properties it is.
    pub(super) fn skip_rest(&mut self, depth: usize, watch: &mut impl Watch) -> Result<()> {
        let open = Open::Properties {
            end: tag::END_OBJECT,
        };
        self.memory.open.resize(depth, open);
        self.pass_open(0, watch)
    }

    /// Passes on until no more than `depth` containers are open.
    fn pass_open(&mut self, depth: usize, watch: &mut impl Watch) -> Result<()> {
        while self.memory.open.len() > depth {
            let Some(open) = self.memory.open.last_mut() else {
                return Ok(());
            };
            match *open {
                Open::Elements { left: 0 } => {
                    let end = tag::END_DENSE_ARRAY;
                    *open = Open::Properties { end };
                }
                Open::Elements { left } => {
                    *open = Open::Elements { left: left - 1 };
                    self.pass_next(tag::HOLE, watch)?;
                }
                Open::Properties { end } => self.pass_property(end, watch)?,
                Open::Map { key_next } => {
                    *open = Open::Map {
                        key_next: !key_next,
                    };
                    let end = if key_next { Some(tag::END_MAP) } else { None };
                    self.pass_entry(end, watch)?;
                }
                Open::Set => self.pass_entry(Some(tag::END_SET), watch)?,
                Open::Error => self.pass_error_field(watch)?,
            }
        }
        Ok(())
    }

    /// Passes a value's beginning, or the tag `nothing`.
    #[inline]
    fn pass_next(&mut self, nothing: u8, watch: &mut impl Watch) -> Result<()> {
        let padding_at = self.reader.offset();
        let (tag, at) = self.next_tag()?;
        if tag == nothing {
            return Ok(());
        }
        self.pass_tagged(tag, at, padding_at, watch)
    }

    fn pass_entry(&mut self, end: Option<u8>, watch: &mut impl Watch) -> Result<()> {
        let padding_at = self.reader.offset();
        let (tag, at) = self.next_tag()?;
        if Some(tag) == end {
            self.reader.varint_u32("number of entries")?;
            self.memory.open.pop();
            return Ok(());
        }
        self.pass_tagged(tag, at, padding_at, watch)
    }

    #[inline]
    fn pass_property(&mut self, end: u8, watch: &mut impl Watch) -> Result<()> {
        let padding_at = self.reader.offset();
        let (tag, at) = self.next_tag()?;
        if tag == end {
            self.reader.varint_u32("number of properties")?;
            if end != tag::END_OBJECT {
                self.reader.varint_u32("array length")?;
            }
            self.memory.open.pop();
            return Ok(());
        }
        match tag {
            tag::ONE_BYTE_STRING
            | tag::TWO_BYTE_STRING
            | tag::UTF8_STRING
            | tag::INT32
            | tag::UINT32
            | tag::DOUBLE => self.pass_tagged(tag, at, padding_at, watch)?,
            tag => return error(ErrorKind::UnknownTag { tag }, at, "property name"),
        }
        let padding_at = self.reader.offset();
        let (tag, at) = self.next_tag()?;
        self.pass_tagged(tag, at, padding_at, watch)
    }

    fn pass_error_field(&mut self, watch: &mut impl Watch) -> Result<()> {
        let at = self.reader.offset();
        let field = self.reader.varint_u32("error field")?;
        match u8::try_from(field) {
            Ok(error_tag::END) => {
                self.memory.open.pop();
                Ok(())
            }
            Ok(error_tag::MESSAGE | error_tag::STACK) => self.pass_string(watch),
            Ok(error_tag::CAUSE) => {
                let padding_at = self.reader.offset();
                let (tag, at) = self.next_tag()?;
                self.pass_tagged(tag, at, padding_at, watch)
            }
            Ok(b'E' | b'R' | b'F' | b'S' | b'T' | b'U') => Ok(()),
            _ => invalid(u64::from(field), at, "error field"),
        }
    }

    /// Passes a value that has nothing inside, or the beginning of a container.
    #[inline]
    fn pass_tagged(
        &mut self,
        tag: u8,
        at: usize,
        padding_at: usize,
        watch: &mut impl Watch,
    ) -> Result<()> {
        match tag {
            tag::ONE_BYTE_STRING | tag::UTF8_STRING => {
                let len = self.reader.varint_u32("string length")?;
                self.reader.bytes(len as usize, "string")?;
            }
            tag::TWO_BYTE_STRING => {
                let len = self.reader.varint_u32("string length")?;
                self.reader.bytes(len as usize, "string")?;
                watch.two_byte_string(padding_at, at, len);
            }
            tag::INT32 | tag::UINT32 => {
                self.reader.varint_u32("integer")?;
            }
            tag::DOUBLE => {
                self.reader.f64("number")?;
            }
            tag::UNDEFINED | tag::NULL | tag::TRUE | tag::FALSE => {}
            tag::BEGIN_OBJECT => {
                let end = tag::END_OBJECT;
                self.open(at, Open::Properties { end }, watch)?;
            }
            tag::BEGIN_DENSE_ARRAY => {
                let left = self.reader.varint_u32("array length")?;
                self.open(at, Open::Elements { left }, watch)?;
            }
            _ => self.pass_rare(tag, at, watch)?,
        }
        Ok(())
    }

    #[inline]
    fn open(&mut self, at: usize, open: Open, watch: &mut impl Watch) -> Result<()> {
        self.begin_object(at);
        self.memory.open.push(open);
        watch.container(at, self.memory.open.len())
    }

    fn pass_rare(&mut self, tag: u8, at: usize, watch: &mut impl Watch) -> Result<()> {
        match tag {
            tag::BIGINT => self.pass_bigint()?,
            tag::OBJECT_REFERENCE => {
                let id = self.reader.varint_u32("object reference")?;
                if id as usize >= self.object_count() {
                    return invalid(u64::from(id), at, "object reference");
                }
                watch.reference(at, self.reader.offset(), id);
                self.pass_view_of(id)?;
            }
            tag::VERIFY_OBJECT_COUNT => {
                self.reader.varint_u32("number of objects")?;
                self.pass_next(tag::PADDING, watch)?;
            }
            tag::BEGIN_SPARSE_ARRAY => {
                self.reader.varint_u32("array length")?;
                let end = tag::END_SPARSE_ARRAY;
                self.open(at, Open::Properties { end }, watch)?;
            }
            tag::BEGIN_MAP => self.open(at, Open::Map { key_next: true }, watch)?,
            tag::BEGIN_SET => self.open(at, Open::Set, watch)?,
            tag::ERROR => self.open(at, Open::Error, watch)?,
            tag => self.pass_leaf(tag, at, watch)?,
        }
        Ok(())
    }

    /// Objects without values inside.
    fn pass_leaf(&mut self, tag: u8, at: usize, watch: &mut impl Watch) -> Result<()> {
        self.begin_object(at);
        match tag {
            tag::DATE | tag::NUMBER_OBJECT => {
                self.reader.f64("number")?;
            }
            tag::TRUE_OBJECT | tag::FALSE_OBJECT => {}
            tag::BIGINT_OBJECT => self.pass_bigint()?,
            tag::STRING_OBJECT => self.pass_string(watch)?,
            tag::REGEXP => {
                self.pass_string(watch)?;
                self.reader.varint_u32("regular expression flags")?;
            }
            tag::ARRAY_BUFFER | tag::RESIZABLE_ARRAY_BUFFER | tag::IMMUTABLE_ARRAY_BUFFER => {
                ArrayBuffer::read(&mut self.reader, tag)?;
                // Objects are fewer than input bytes, which 32 bits can count.
                let id = u32::try_from(self.object_count() - 1).unwrap_or(u32::MAX);
                self.pass_view_of(id)?;
            }
            tag::HOST_OBJECT => {
                HostObject::read(&mut self.reader, self.blink)?;
            }
            tag => return error(ErrorKind::UnknownTag { tag }, at, "tag"),
        }
        Ok(())
    }

    fn pass_bigint(&mut self) -> Result<()> {
        let field = self.reader.varint_u32("BigInt length")?;
        self.reader.bytes((field >> 1) as usize, "BigInt digits")?;
        Ok(())
    }

    fn pass_string(&mut self, watch: &mut impl Watch) -> Result<()> {
        let padding_at = self.reader.offset();
        let (tag, at) = self.next_tag()?;
        match tag {
            tag::ONE_BYTE_STRING | tag::TWO_BYTE_STRING | tag::UTF8_STRING => {
                self.pass_tagged(tag, at, padding_at, watch)
            }
            tag => error(ErrorKind::UnknownTag { tag }, at, "string"),
        }
    }

    fn is_buffer(&self, id: u32) -> bool {
        let place = self.memory.places.get(id as usize);
        let tag = place.and_then(|place| self.reader.byte_at(place.at));
        matches!(
            tag,
            Some(tag::ARRAY_BUFFER | tag::RESIZABLE_ARRAY_BUFFER | tag::IMMUTABLE_ARRAY_BUFFER)
        )
    }

    /// Passes the view that may stand behind a buffer or a reference to one.
    fn pass_view_of(&mut self, id: u32) -> Result<()> {
        if !self.is_buffer(id) {
            return Ok(());
        }
        let rest = self.reader.rest();
        let padding = rest.iter().take_while(|&&b| b == tag::PADDING).count();
        if rest.get(padding) != Some(&tag::ARRAY_BUFFER_VIEW) {
            return Ok(());
        }
        let (_, at) = self.next_tag()?;
        let buffer = Some(id);
        self.memory.places.push(Place { at, buffer });
        self.reader.varint_u32("view kind")?;
        self.reader.varint_u64("view offset")?;
        self.reader.varint_u64("view length")?;
        self.reader.varint_u32("view flags")?;
        Ok(())
    }

    /// The bytes of a buffer whose tag was just read, or of the view behind it.
    pub(super) fn buffer_bytes(&mut self, tag: u8, at: usize) -> Result<&'a [u8]> {
        self.begin_object(at);
        let id = ObjectId(u32::try_from(self.object_count() - 1).unwrap_or(u32::MAX));
        let buffer = ArrayBuffer::read(&mut self.reader, tag)?;
        let rest = self.reader.rest();
        let padding = rest.iter().take_while(|&&b| b == tag::PADDING).count();
        if rest.get(padding) != Some(&tag::ARRAY_BUFFER_VIEW) {
            return Ok(buffer.bytes);
        }
        let (_, at) = self.next_tag()?;
        let place = Place {
            at,
            buffer: Some(id.get()),
        };
        self.memory.places.push(place);
        let view = View::read(&mut self.reader, id, &buffer, true)?;
        let shown = buffer.bytes.get(view.byte_offset..);
        let shown = shown.and_then(|bytes| bytes.get(..view.byte_length));
        Ok(shown.unwrap_or_default())
    }
}
