//! Array buffers and the views into them.
//!
//! A view is written right behind its buffer (or behind a reference to it): tag `V`, kind, offset,
//! length and, since V8 version 14, flags. Source: V8's value serialiser. The rules that V8 checks
//! when reading are checked here; element values are not interpreted.

use super::node::ObjectId;
use super::reader::{Reader, invalid};
use super::tag;
use super::writer::Writer;
use crate::Result;

/// The bytes of an `ArrayBuffer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrayBuffer<'a> {
    /// Its content.
    pub bytes: &'a [u8],
    /// How it may change.
    pub kind: BufferKind,
}

/// What kind of `ArrayBuffer` it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferKind {
    /// The common one.
    Fixed,
    /// A resizable one and its `maxByteLength` in bytes.
    Resizable(u64),
    /// An immutable one.
    Immutable,
}

/// A typed array or `DataView`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Which class.
    pub kind: ViewKind,
    /// The array buffer it shows.
    pub buffer: ObjectId,
    /// Where it starts, in bytes.
    pub byte_offset: usize,
    /// How many bytes it shows now.
    pub byte_length: usize,
    /// Whether it follows the length of its resizable buffer.
    pub length_tracking: bool,
}

/// The classes of views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the class of that name")]
pub enum ViewKind {
    Int8Array,
    Uint8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
    Float16Array,
    Float32Array,
    Float64Array,
    BigInt64Array,
    BigUint64Array,
    DataView,
}

impl ViewKind {
    const fn from_tag(tag: u8) -> Option<Self> {
        Some(match tag {
            b'b' => Self::Int8Array,
            b'B' => Self::Uint8Array,
            b'C' => Self::Uint8ClampedArray,
            b'w' => Self::Int16Array,
            b'W' => Self::Uint16Array,
            b'd' => Self::Int32Array,
            b'D' => Self::Uint32Array,
            b'h' => Self::Float16Array,
            b'f' => Self::Float32Array,
            b'F' => Self::Float64Array,
            b'q' => Self::BigInt64Array,
            b'Q' => Self::BigUint64Array,
            b'?' => Self::DataView,
            _ => return None,
        })
    }

    const fn tag(self) -> u8 {
        match self {
            Self::Int8Array => b'b',
            Self::Uint8Array => b'B',
            Self::Uint8ClampedArray => b'C',
            Self::Int16Array => b'w',
            Self::Uint16Array => b'W',
            Self::Int32Array => b'd',
            Self::Uint32Array => b'D',
            Self::Float16Array => b'h',
            Self::Float32Array => b'f',
            Self::Float64Array => b'F',
            Self::BigInt64Array => b'q',
            Self::BigUint64Array => b'Q',
            Self::DataView => b'?',
        }
    }

    /// JavaScript's name of the class.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int8Array => "Int8Array",
            Self::Uint8Array => "Uint8Array",
            Self::Uint8ClampedArray => "Uint8ClampedArray",
            Self::Int16Array => "Int16Array",
            Self::Uint16Array => "Uint16Array",
            Self::Int32Array => "Int32Array",
            Self::Uint32Array => "Uint32Array",
            Self::Float16Array => "Float16Array",
            Self::Float32Array => "Float32Array",
            Self::Float64Array => "Float64Array",
            Self::BigInt64Array => "BigInt64Array",
            Self::BigUint64Array => "BigUint64Array",
            Self::DataView => "DataView",
        }
    }

    /// Bytes for one element; 1 for a `DataView`, which has none.
    #[must_use]
    pub const fn element_len_bytes(self) -> usize {
        match self {
            Self::Int8Array | Self::Uint8Array | Self::Uint8ClampedArray | Self::DataView => 1,
            Self::Int16Array | Self::Uint16Array | Self::Float16Array => 2,
            Self::Int32Array | Self::Uint32Array | Self::Float32Array => 4,
            Self::Float64Array | Self::BigInt64Array | Self::BigUint64Array => 8,
        }
    }
}

impl<'a> ArrayBuffer<'a> {
    /// Reads what follows the tag of a buffer.
    pub(super) fn read(reader: &mut Reader<'a>, buffer_tag: u8) -> Result<Self> {
        let start = reader.offset();
        let len = reader.varint_u64("ArrayBuffer length")?;
        let kind = match buffer_tag {
            tag::v8::RESIZABLE_ARRAY_BUFFER => {
                let max_len = reader.varint_u64("ArrayBuffer maximum length")?;
                if max_len < len {
                    return invalid(max_len, start, "ArrayBuffer maximum length");
                }
                BufferKind::Resizable(max_len)
            }
            tag::v8::IMMUTABLE_ARRAY_BUFFER => BufferKind::Immutable,
            _ => BufferKind::Fixed,
        };
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let bytes = reader.bytes(len, "ArrayBuffer bytes")?;
        Ok(Self { bytes, kind })
    }

    /// Writes tag, lengths and bytes.
    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        match self.kind {
            BufferKind::Fixed => {}
            // Chromium 110 has V8 15 and reads views that follow one as null.
            BufferKind::Resizable(_) => writer.needs(16, 21, "a resizable ArrayBuffer"),
            BufferKind::Immutable => writer.needs(16, 21, "an immutable ArrayBuffer"),
        }
        writer.byte(match self.kind {
            BufferKind::Fixed => tag::v8::ARRAY_BUFFER,
            BufferKind::Resizable(_) => tag::v8::RESIZABLE_ARRAY_BUFFER,
            BufferKind::Immutable => tag::v8::IMMUTABLE_ARRAY_BUFFER,
        });
        writer.wide_len(self.bytes.len() as u64);
        if let BufferKind::Resizable(max_len) = self.kind {
            writer.wide_len(max_len);
        }
        writer.bytes(self.bytes);
    }
}

/// Flag: the view's end is its buffer's.
const LENGTH_TRACKING: u32 = 1;
/// Flag: the buffer is resizable.
const BACKED_BY_RESIZABLE: u32 = 2;

impl View {
    /// Writes tag and fields of a view of `buffer`, which stands in front of it.
    pub(super) fn write(&self, writer: &mut Writer<'_>, buffer: &ArrayBuffer<'_>) {
        if self.kind == ViewKind::Float16Array {
            writer.needs(16, 21, "a Float16Array");
        }
        writer.byte(tag::v8::ARRAY_BUFFER_VIEW);
        writer.byte(self.kind.tag());
        writer.wide_len(self.byte_offset as u64);
        let (mut byte_length, mut flags) = (self.byte_length as u64, 0);
        if let BufferKind::Resizable(_) = buffer.kind {
            flags = BACKED_BY_RESIZABLE;
            if self.length_tracking {
                // V8 keeps no length in such a view.
                (byte_length, flags) = (0, flags | LENGTH_TRACKING);
            }
        }
        writer.wide_len(byte_length);
        // Before there were flags there were no resizable buffers.
        if writer.view_has_flags() {
            writer.varint(flags);
        }
    }

    /// Reads what follows the tag of a view into `buffer`.
    pub(super) fn read(
        reader: &mut Reader<'_>,
        id: ObjectId,
        buffer: &ArrayBuffer<'_>,
        has_flags: bool,
    ) -> Result<Self> {
        let start = reader.offset();
        let tag = reader.varint_u32("view kind")?;
        let Some(kind) = u8::try_from(tag).ok().and_then(ViewKind::from_tag) else {
            return invalid(u64::from(tag), start, "view kind");
        };
        let byte_offset = read_len(reader, buffer.bytes.len(), kind, "view offset")?;
        let room = buffer.bytes.len() - byte_offset;
        let byte_length = read_len(reader, room, kind, "view length")?;
        let at = reader.offset();
        let flags = if has_flags {
            reader.varint_u32("view flags")?
        } else {
            0
        };
        let resizable = matches!(buffer.kind, BufferKind::Resizable(_));
        let says_resizable = flags & BACKED_BY_RESIZABLE != 0;
        let length_tracking = flags & LENGTH_TRACKING != 0;
        let unknown = flags & !(LENGTH_TRACKING | BACKED_BY_RESIZABLE) != 0;
        if unknown || says_resizable != resizable || (length_tracking && !resizable) {
            return invalid(u64::from(flags), at, "view flags");
        }
        let element = kind.element_len_bytes();
        Ok(Self {
            kind,
            buffer: id,
            byte_offset,
            // A view that follows its buffer has no length of its own.
            byte_length: if length_tracking {
                room - room % element
            } else {
                byte_length
            },
            length_tracking,
        })
    }

    /// How many elements; for a `DataView` its bytes.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.byte_length / self.kind.element_len_bytes()
    }
}

/// An offset or length in whole elements, not above `max`.
fn read_len(
    reader: &mut Reader<'_>,
    max: usize,
    kind: ViewKind,
    what: &'static str,
) -> Result<usize> {
    let start = reader.offset();
    let wide = reader.varint_u64(what)?;
    match usize::try_from(wide) {
        Ok(len) if len <= max && len.is_multiple_of(kind.element_len_bytes()) => Ok(len),
        _ => invalid(wide, start, what),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(wire: &[u8], buffer_len: usize, kind: BufferKind) -> Result<View> {
        let bytes = vec![0; buffer_len];
        let buffer = ArrayBuffer {
            bytes: &bytes,
            kind,
        };
        View::read(&mut Reader::new(wire), ObjectId(0), &buffer, true)
    }

    #[test]
    fn a_view_must_lie_within_its_buffer_on_whole_elements() {
        assert!(read(b"W\x02\x06\x00", 8, BufferKind::Fixed).is_ok());
        for (wire, offset) in [
            (b"W\x01\x02\x00", 1), // half an element in
            (b"W\x02\x03\x00", 2), // one and a half long
            (b"W\x02\x08\x00", 2), // past the end
            (b"W\x0a\x00\x00", 1), // starts past the end
            (b"X\x00\x00\x00", 0), // no such kind
            (b"W\x00\x00\x04", 3), // no such flag
            (b"W\x00\x00\x02", 3), // says its fixed buffer is resizable
        ] {
            let error = read(wire, 8, BufferKind::Fixed).unwrap_err();
            assert_eq!(error.offset(), offset, "{wire:?}");
        }
    }

    #[test]
    fn a_length_tracking_view_is_as_long_as_its_buffer_allows() {
        let view = read(b"D\x04\x00\x03", 15, BufferKind::Resizable(32)).unwrap();
        assert_eq!((view.byte_length, view.length()), (8, 2));
        assert!(read(b"D\x04\x00\x00", 15, BufferKind::Resizable(32)).is_err());
    }
}
