//! Blink's envelope around V8's bytes, of every age.
//!
//! From the outside in:
//! 1. `ff 11 01`, varint size, varint index: the value lies in a blob, the record's external object
//!    of that index (the last one). Its content is again an envelope.
//! 2. `ff 11 02`: a raw Snappy block, whose content is an envelope.
//! 3. `ff` version …: Blink's header. 21 and above: `fe`, trailer offset (8 bytes, big-endian),
//!    trailer size (4 bytes, big-endian), then V8's header. 17 to 20: V8's header at once. Up to
//!    16: all bytes swapped in pairs; 16 has two headers, below 16 Blink and V8 share one.
//!
//! A true version 17 begins `ff 11` as well; its third byte is the `ff` of V8's header.
//! Sources: Blink `idb_value_wrapping.cc`, `serialized_script_value.cc`, `trailer_reader.cc`,
//! `v8_script_value_deserializer.cc`. Fetching blobs is the caller's work.

use byteorder::{BigEndian, ByteOrder};

use super::reader::{Reader, error, invalid};
use super::tag::v8::VERSION;
use super::tree::Versions;
use crate::{Error, ErrorKind, Result};

/// Blink's newest wire format version known here.
const BLINK_VERSION_MAX: u32 = 21;
/// V8's newest wire format version known here: 16 is what Chromium 150 to 156 write.
const V8_VERSION_MAX: u32 = 16;

/// The version that stands where wrapped and compressed values begin.
const PSEUDO_VERSION: u8 = 0x11;
const IN_BLOB: u8 = 1;
const SNAPPY: u8 = 2;
/// Blink's version of its own from here on.
const SEPARATE_VERSION_MIN: u32 = 16;
/// Blink writes a trailer from here on.
const TRAILER_VERSION_MIN: u32 = 21;
const TRAILER_OFFSET_TAG: u8 = 0xfe;
/// Blink's newest header, without a trailer, and what V8's header begins with.
const HEAD_WITHOUT_TRAILER: [u8; 16] = [
    VERSION,
    BLINK_VERSION_MAX as u8,
    TRAILER_OFFSET_TAG,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    VERSION,
];

/// What a record's value bytes turn out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Envelope<'a> {
    /// The value is here.
    Inline(Payload<'a>),
    /// The value is the content of a blob; [peel](Envelope::peel_blob) that.
    InBlob {
        /// The blob's size in bytes. Chromium refuses a blob of another size.
        size: u64,
        /// Its position in the record's external objects: the last.
        index: u32,
    },
}

/// A value in V8's wire format with its headers: what [`Decoder`](super::Decoder) takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload<'a> {
    bytes: &'a [u8],
    versions: Versions,
    start: usize,
    end: usize,
}

impl<'a> Envelope<'a> {
    /// Takes the envelope off a record's value (the bytes behind the record's version).
    ///
    /// `buffer` is used, and grown, if the bytes must be decompressed or swapped; otherwise the
    /// result borrows from `bytes`. Keep it between calls.
    ///
    /// # Errors
    /// If no envelope of a known version is there. Offsets count from the start of `bytes`, or of
    /// the decompressed bytes if what is wrong lies inside them.
    pub fn peel(bytes: &'a [u8], buffer: &'a mut Vec<u8>) -> Result<Self> {
        if let [VERSION, PSEUDO_VERSION, IN_BLOB, rest @ ..] = bytes {
            let base = bytes.len() - rest.len();
            return Self::read_wrapper(rest).map_err(|error| error.shifted(base));
        }
        Payload::peel(bytes, buffer).map(Self::Inline)
    }

    /// Takes the envelope off the content of the blob that [`Envelope::InBlob`] pointed to.
    ///
    /// # Errors
    /// As [`Envelope::peel`]; also if the content is in yet another blob, which Chromium neither
    /// writes nor reads.
    pub fn peel_blob(content: &'a [u8], buffer: &'a mut Vec<u8>) -> Result<Payload<'a>> {
        if let [VERSION, PSEUDO_VERSION, IN_BLOB, ..] = content {
            return invalid(u64::from(IN_BLOB), 2, "blob wrapper inside a blob wrapper");
        }
        Payload::peel(content, buffer)
    }

    fn read_wrapper(rest: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(rest);
        let size = reader.varint_u64("wrapped value size")?;
        let index = reader.varint_u32("wrapped value index")?;
        reader.expect_end("blob wrapper")?;
        Ok(Self::InBlob { size, index })
    }
}

impl<'a> Payload<'a> {
    /// Unpacks, unswaps and reads the headers.
    fn peel(bytes: &'a [u8], buffer: &'a mut Vec<u8>) -> Result<Self> {
        match bytes {
            [] => error(ErrorKind::Truncated { missing: 1 }, 0, "value"),
            [VERSION, PSEUDO_VERSION, SNAPPY, block @ ..] => {
                let base = bytes.len() - block.len();
                decompress(block, buffer).map_err(|error| error.shifted(base))?;
                Self::read(buffer)
            }
            [VERSION, ..] => Self::read(bytes),
            _ => {
                swap_pairs(bytes, buffer)?;
                Self::read(buffer)
            }
        }
    }

    /// Reads the version headers of a value that is neither compressed nor swapped: [`Payload::bytes`] again.
    ///
    /// # Errors
    /// If no headers of known versions are there.
    #[inline]
    pub fn read(bytes: &'a [u8]) -> Result<Self> {
        // What is written now, unless the value needs interfaces.
        if let Some((head, [v8, ..])) = bytes.split_first_chunk()
            && *head == HEAD_WITHOUT_TRAILER
            && (1..=V8_VERSION_MAX).contains(&u32::from(*v8))
        {
            return Ok(Self {
                bytes,
                versions: Versions {
                    blink: BLINK_VERSION_MAX,
                    v8: u32::from(*v8),
                },
                start: head.len() + 1,
                end: bytes.len(),
            });
        }
        Self::read_any(bytes)
    }

    /// The naive twin of [`read`](Self::read).
    fn read_any(bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let blink = read_version(&mut reader, BLINK_VERSION_MAX, "Blink wire format version")?;
        let mut end = bytes.len();
        if blink >= TRAILER_VERSION_MIN {
            end = read_trailer_offset(&mut reader, bytes)?;
        }
        let v8 = if blink >= SEPARATE_VERSION_MIN {
            read_version(&mut reader, V8_VERSION_MAX, "V8 wire format version")?
        } else {
            blink
        };
        Ok(Self {
            bytes,
            versions: Versions { blink, v8 },
            start: reader.offset(),
            end,
        })
    }

    /// The versions it was written with.
    #[must_use]
    pub const fn versions(&self) -> Versions {
        self.versions
    }

    /// All bytes, headers and trailer included; offsets of decoding errors count from their start.
    /// Not swapped, not compressed.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// V8's bytes and where they start.
    pub(super) fn wire(&self) -> (&'a [u8], usize) {
        (&self.bytes[..self.end], self.start)
    }

    /// Where the header says at which offset the trailer begins, if it says so.
    pub(super) fn trailer_offset_at(&self) -> Option<usize> {
        if self.versions.blink < TRAILER_VERSION_MIN {
            return None;
        }
        let mut reader = Reader::new(self.bytes);
        read_version(&mut reader, BLINK_VERSION_MAX, "Blink wire format version").ok()?;
        reader.byte("trailer offset").ok()?;
        let at = reader.offset();
        let told = reader.bytes(12, "trailer offset").ok()?;
        told.iter().any(|&byte| byte != 0).then_some(at)
    }

    /// What follows V8's bytes: which interfaces the value needs (Blink version 21 and above).
    /// Nothing in it changes the value.
    #[must_use]
    pub fn trailer(&self) -> &'a [u8] {
        &self.bytes[self.end..]
    }
}

/// `ff` and a varint from 1 to `max`.
fn read_version(reader: &mut Reader<'_>, max: u32, what: &'static str) -> Result<u32> {
    let start = reader.offset();
    let tag = reader.byte(what)?;
    if tag != VERSION {
        return error(ErrorKind::UnknownTag { tag }, start, what);
    }
    let at = reader.offset();
    match reader.varint_u32(what)? {
        version if (1..=max).contains(&version) => Ok(version),
        version => invalid(u64::from(version), at, what),
    }
}

/// `fe`, offset, size. Returns where V8's bytes end.
fn read_trailer_offset(reader: &mut Reader<'_>, bytes: &[u8]) -> Result<usize> {
    const WHAT: &str = "trailer offset";
    let start = reader.offset();
    let tag = reader.byte(WHAT)?;
    if tag != TRAILER_OFFSET_TAG {
        return error(ErrorKind::UnknownTag { tag }, start, WHAT);
    }
    let offset = BigEndian::read_u64(reader.bytes(8, WHAT)?);
    let size = BigEndian::read_u32(reader.bytes(4, WHAT)?);
    if offset == 0 && size == 0 {
        return Ok(bytes.len());
    }
    let len = bytes.len() as u64;
    let end = offset.checked_add(u64::from(size));
    match usize::try_from(offset) {
        Ok(at) if at >= reader.offset() && end.is_some_and(|end| end <= len) => Ok(at),
        _ => invalid(offset, start, WHAT),
    }
}

/// Decompresses a raw Snappy block into `buffer`, whose old content goes.
fn decompress(block: &[u8], buffer: &mut Vec<u8>) -> Result<()> {
    // A copy of three bytes makes at most 64, and nothing makes more of its bytes.
    const GROWTH_MAX: usize = 22;
    const WHAT: &str = "Snappy block";
    let broken = |found| Error::new(ErrorKind::Invalid { found }, 0, WHAT);
    let len = snap::raw::decompress_len(block).map_err(|_| broken(block.len() as u64))?;
    if len > block.len().saturating_mul(GROWTH_MAX) {
        return Err(broken(len as u64));
    }
    buffer.clear();
    buffer.resize(len, 0);
    let done = snap::raw::Decoder::new()
        .decompress(block, buffer)
        .map_err(|_| broken(len as u64))?;
    buffer.truncate(done);
    Ok(())
}

/// Blink before version 17 wrote 16-bit units in network order: undo that into `buffer`.
fn swap_pairs(bytes: &[u8], buffer: &mut Vec<u8>) -> Result<()> {
    let (pairs, odd) = bytes.as_chunks::<2>();
    if !odd.is_empty() {
        let found = bytes.first().copied().map_or(0, u64::from);
        return invalid(found, 0, "Blink wire format version");
    }
    buffer.clear();
    buffer.extend(pairs.iter().flat_map(|&[a, b]| [b, a]));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peel(bytes: &[u8]) -> Result<(Vec<u8>, Versions)> {
        let mut buffer = Vec::new();
        match Envelope::peel(bytes, &mut buffer)? {
            Envelope::Inline(payload) => {
                let (wire, start) = payload.wire();
                Ok((wire[start..].to_vec(), payload.versions()))
            }
            Envelope::InBlob { .. } => panic!("in a blob"),
        }
    }

    #[test]
    fn every_age_of_header_is_read() {
        let headers: [(&[u8], u32, u32); 6] = [
            (b"\x09\xff\x00\x30", 9, 9),           // swapped, one header
            (b"\x10\xff\x0d\xff\x00\x30", 16, 13), // swapped, two headers
            (b"\xff\x11\xff\x0d\x30\x00", 17, 13), // third byte ff: a true 17
            (b"\xff\x14\xff\x0d\x30", 20, 13),
            (b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0f\x30", 21, 15),
            (
                b"\xff\x15\xfe\0\0\0\0\0\0\0\x12\0\0\0\x03\xff\x10\x30\xa0\0\x67",
                21,
                16,
            ),
        ];
        for (bytes, blink, v8) in headers {
            let (wire, versions) = peel(bytes).unwrap();
            assert_eq!(versions, Versions { blink, v8 });
            assert_eq!(wire[0], b'0');
            assert!(wire[1..].iter().all(|&b| b == 0), "{wire:x?}");
        }
    }

    #[test]
    fn the_newest_header_is_read_as_any() {
        let whole = [&HEAD_WITHOUT_TRAILER[..], &[0x0f, 0x30, 0x80]].concat();
        for len in 0..=whole.len() {
            let bytes = &whole[..len];
            assert_eq!(Payload::read(bytes).ok(), Payload::read_any(bytes).ok());
            assert_eq!(
                Payload::read(bytes).is_ok(),
                len > HEAD_WITHOUT_TRAILER.len()
            );
            for at in 0..len {
                for byte in 0..=u8::MAX {
                    let mut bytes = bytes.to_vec();
                    bytes[at] = byte;
                    let read = Payload::read(&bytes);
                    assert_eq!(read, Payload::read_any(&bytes), "{bytes:x?}");
                }
            }
        }
    }

    #[test]
    fn the_trailer_is_cut_off_and_kept() {
        let bytes = b"\xff\x15\xfe\0\0\0\0\0\0\0\x12\0\0\0\x06\xff\x10\x30\xa0\0\0\0\x01\x67";
        let mut buffer = Vec::new();
        let Ok(Envelope::Inline(payload)) = Envelope::peel(bytes, &mut buffer) else {
            panic!()
        };
        assert_eq!(payload.trailer(), b"\xa0\0\0\0\x01\x67");
        assert_eq!(payload.bytes(), bytes);
        // An offset into the header, and a size beyond the end.
        for (at, byte) in [(10, 0x0e), (14, 0x07)] {
            let mut bytes = bytes.to_vec();
            bytes[at] = byte;
            assert_eq!(peel(&bytes).unwrap_err().what(), "trailer offset");
        }
    }

    #[test]
    fn versions_from_the_future_and_version_0_are_refused() {
        for (bytes, what) in [
            (
                &b"\xff\x16\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x10\x30"[..],
                "Blink wire format version",
            ),
            (
                b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x11\x30",
                "V8 wire format version",
            ),
            (b"\xff\x14\x30\x00", "V8 wire format version"),
            (b"\x00\xff\x00\x30", "Blink wire format version"),
            (b"\x05\x53", "Blink wire format version"),
            (b"\x30", "Blink wire format version"),
            (b"", "value"),
        ] {
            assert_eq!(peel(bytes).unwrap_err().what(), what, "{bytes:x?}");
        }
    }

    #[test]
    fn a_snappy_block_is_unpacked_within_its_bounds() {
        let inner = b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x10\x30";
        let mut bytes = b"\xff\x11\x02".to_vec();
        bytes.extend(snap::raw::Encoder::new().compress_vec(inner).unwrap());
        assert_eq!(peel(&bytes).unwrap().0, b"0");
        for cut in 3..bytes.len() {
            assert!(peel(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        // Four gigabytes promised by five bytes: refused before they are reserved.
        let error = peel(b"\xff\x11\x02\xff\xff\xff\xff\x0f").unwrap_err();
        assert_eq!((error.what(), error.offset()), ("Snappy block", 3));
        let mut buffer = Vec::new();
        assert!(decompress(b"\xff\xff\xff\xff\x0f", &mut buffer).is_err());
        assert_eq!(buffer.capacity(), 0);
    }

    #[test]
    fn the_greatest_growth_of_snappy_is_allowed() {
        // A copy of three bytes makes 64 (format description, "Copy with 2-byte offset").
        let zeros = vec![0; 1 << 20];
        let block = snap::raw::Encoder::new().compress_vec(&zeros).unwrap();
        let mut buffer = Vec::new();
        decompress(&block, &mut buffer).unwrap();
        assert_eq!(buffer, zeros);
    }

    #[test]
    fn a_wrapper_points_to_a_blob_that_is_no_wrapper() {
        let mut buffer = Vec::new();
        let wrapper = b"\xff\x11\x01\x80\x80\x04\x02";
        let peeled = Envelope::peel(wrapper, &mut buffer).unwrap();
        assert_eq!(
            peeled,
            Envelope::InBlob {
                size: 65_536,
                index: 2
            }
        );
        let mut buffer = Vec::new();
        assert!(Envelope::peel_blob(wrapper, &mut buffer).is_err());
        let mut buffer = Vec::new();
        let extra = Envelope::peel(b"\xff\x11\x01\x01\x00\x00", &mut buffer).unwrap_err();
        assert_eq!(
            (extra.kind(), extra.offset()),
            (&ErrorKind::Trailing { extra: 1 }, 5)
        );
    }
}
