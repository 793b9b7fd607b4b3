//! Values as their rows have them: plain, or packed by zstd or Snappy.

use std::fmt;

use larder_backing_store::{Error, ErrorKind};
use larder_codec::RecordVersion;
use larder_codec::versioned::DataRow;
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe;

/// A value packed in few bytes may not take more than this. Chromium refuses to put 133,169,152 bytes and more.
const LEN_MAX: u64 = 256 << 20;

/// zstd makes at most so many bytes, a block, of so few.
const ZSTD_BLOCK_LEN: u64 = 128 << 10;
const ZSTD_BLOCK_LEN_MIN: u64 = 4;

/// What `compression_type` says.
const PLAIN: i64 = 0;
const ZSTD: i64 = 1;
const SNAPPY: i64 = 2;

/// Chromium 156 packs values of so many bytes and more, at this level, and keeps the result if it is at most 80 hundredths as long.
const PACKED_MIN: usize = 450;
const LEVEL: i32 = -4;
const KEPT_PER_CENT: usize = 80;

/// The version that all records have: the first that LevelDB gives. No entry of an index is stale.
pub(crate) const RECORD_VERSION: i64 = 2;

pub(crate) fn record_version() -> RecordVersion {
    RecordVersion::new(RECORD_VERSION).unwrap_or(RecordVersion::MIN)
}

/// Appends what comes before the value in LevelDB's row of a record.
pub(crate) fn encode_front(row: &mut Vec<u8>) {
    DataRow {
        version: record_version(),
        value: &[],
    }
    .encode(row);
}

/// Packs values as Chromium does.
pub(crate) struct Packer {
    zstd: Compressor<'static>,
    packed: Vec<u8>,
}

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packer").finish_non_exhaustive()
    }
}

impl Packer {
    pub(crate) fn new() -> Result<Self, Error> {
        let zstd = Compressor::new(LEVEL).map_err(|error| packing_failed(&error))?;
        Ok(Self {
            zstd,
            packed: Vec::new(),
        })
    }

    /// How the value is packed, and its bytes.
    pub(crate) fn pack<'a>(&'a mut self, value: &'a [u8]) -> Result<(i64, &'a [u8]), Error> {
        // What is longer would be taken for damage when it is read.
        if value.len() < PACKED_MIN || value.len() as u64 > LEN_MAX {
            return Ok((PLAIN, value));
        }
        self.packed.clear();
        self.packed.reserve(zstd_safe::compress_bound(value.len()));
        let packed = self.zstd.compress_to_buffer(value, &mut self.packed);
        packed.map_err(|error| packing_failed(&error))?;
        match self.packed.len() * 100 <= value.len() * KEPT_PER_CENT {
            true => Ok((ZSTD, &self.packed)),
            false => Ok((PLAIN, value)),
        }
    }
}

fn packing_failed(error: &dyn fmt::Display) -> Error {
    Error::new(ErrorKind::Io, format!("a value cannot be packed: {error}"))
}

/// Unpacks values. It keeps what zstd works with, some 160 KB, from the first value on that is packed so.
#[derive(Default)]
pub(crate) struct Unpacker {
    zstd: Option<Decompressor<'static>>,
}

impl fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unpacker").finish_non_exhaustive()
    }
}

impl Unpacker {
    /// Unpacks a value behind what is in `out`; what is wrong with it.
    pub(crate) fn unpack(
        &mut self,
        compression: i64,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), String> {
        match compression {
            PLAIN => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            ZSTD => self.unpack_zstd(bytes, out),
            SNAPPY => unpack_snappy(bytes, out),
            other => Err(format!("the value is packed in an unknown way: {other}")),
        }
    }

    fn unpack_zstd(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
        let zstd = |error: &dyn fmt::Display| format!("the value's zstd frame: {error}");
        // Chromium takes a frame without its length, or with something behind it, for damage.
        let stated = zstd_safe::get_frame_content_size(bytes).map_err(|error| zstd(&error))?;
        let stated = stated.ok_or_else(|| zstd(&"it does not say how long it is"))?;
        let frame = zstd_safe::find_frame_compressed_size(bytes)
            .map_err(|code| zstd(&zstd_safe::get_error_name(code)))?;
        let behind = bytes.len() - frame.min(bytes.len());
        if behind > 0 {
            return Err(zstd(&format_args!("there are {behind} bytes behind it")));
        }
        let possible = (bytes.len() as u64 / ZSTD_BLOCK_LEN_MIN + 1) * ZSTD_BLOCK_LEN;
        if stated > LEN_MAX.min(possible) {
            return Err(zstd(&format_args!("it says {stated} bytes")));
        }
        let before = out.len();
        out.resize(before + stated as usize, 0);
        let place = out.get_mut(before..).unwrap_or_default();
        let decompressor = match &mut self.zstd {
            Some(zstd) => zstd,
            none => none.insert(Decompressor::new().map_err(|error| zstd(&error))?),
        };
        let unpacked = decompressor.decompress_to_buffer(bytes, place);
        let unpacked = unpacked.map_err(|error| zstd(&error))?;
        match unpacked as u64 == stated {
            true => Ok(()),
            false => Err(zstd(&format_args!(
                "it has {unpacked} bytes and says {stated}"
            ))),
        }
    }
}

fn unpack_snappy(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let snappy = |error: snap::Error| format!("the value's Snappy form: {error}");
    let len = snap::raw::decompress_len(bytes).map_err(snappy)?;
    // Snappy makes at most 64 bytes of three.
    if len as u64 > LEN_MAX || len / 32 > bytes.len() {
        return Err(format!("the value's Snappy form says {len} bytes"));
    }
    let before = out.len();
    out.resize(before + len, 0);
    let place = out.get_mut(before..).unwrap_or_default();
    let unpacked = snap::raw::Decoder::new().decompress(bytes, place);
    unpacked.map(drop).map_err(snappy)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of zstd with one raw block, which says how long it is.
    fn frame(stated: u8, content: &[u8]) -> Vec<u8> {
        let head = [
            0x28,
            0xb5,
            0x2f,
            0xfd,
            0x20,
            stated,
            (content.len() as u8) << 3 | 1,
            0,
            0,
        ];
        [&head[..], content].concat()
    }

    fn unpacked(compression: i64, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let mut out = b"before".to_vec();
        let unpacked = Unpacker::default().unpack(compression, bytes, &mut out);
        unpacked.map(|()| out.split_off(6))
    }

    #[test]
    fn values_are_unpacked_behind_what_is_there() {
        assert_eq!(unpacked(0, b"plain").unwrap(), b"plain");
        assert_eq!(unpacked(1, &frame(5, b"value")).unwrap(), b"value");
        let packed = snap::raw::Encoder::new().compress_vec(b"snappy").unwrap();
        assert_eq!(unpacked(2, &packed).unwrap(), b"snappy");
    }

    #[test]
    fn values_are_packed_where_chromium_packs_them() {
        let mut packer = Packer::new().unwrap();
        let mut random = larder_fixtures::random::Random::new(1);
        let noise: Vec<u8> = (0..500).map(|_| random.below(256) as u8).collect();
        for (value, expected) in [
            (&*vec![7; 449], PLAIN),
            (&vec![7; 450], ZSTD),
            (&noise, PLAIN),
        ] {
            let (compression, packed) = packer.pack(value).unwrap();
            assert_eq!(compression, expected, "{} bytes", value.len());
            assert_eq!(unpacked(compression, packed).unwrap(), value);
        }
    }

    #[test]
    fn what_chromium_takes_for_damage_is_damage() {
        let whole = frame(5, b"value");
        let behind = [&*whole, b"!"].concat();
        // A window in place of the length.
        let silent = [&[0x28, 0xb5, 0x2f, 0xfd, 0, 0, 41, 0, 0][..], b"value"].concat();
        // Of four GiB.
        let huge = [&[
            0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0xff, 0xff, 0xff, 0xff, 1, 0, 0,
        ][..]]
        .concat();
        for (compression, bytes) in [
            (1, &*behind),
            (1, &silent),
            (1, &huge),
            (1, &frame(4, b"value")),
            (1, &frame(6, b"value")),
            (1, &whole[..whole.len() - 1]),
            (1, b"garbage"),
            (2, b"\xff\xff\xff\xff\x0f\0"),
            (3, b"value"),
        ] {
            let said = unpacked(compression, bytes);
            assert!(said.is_err(), "{compression}: {bytes:?}: {said:?}");
        }
    }
}
