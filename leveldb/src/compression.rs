//! Block compression: none, snappy, zstd.
//!
//! The byte after a block names it: 0 none, 1 snappy (raw format, no frame), 2 zstd (one frame). LevelDB's
//! `include/leveldb/options.h`. What comes out is bounded by what went in, before anything is allocated: a snappy element of
//! three bytes yields at most 64; zstd, of which four bytes can make 128 KiB, grows as real content appears, up to
//! [`zstd_len_max`]. So what a store takes in memory is bounded by what it takes on the disk.
//!
//! zstd is written on request only: C++ LevelDB 1.23, and so Chromium, refuses such a block as damaged (later versions read it).
//! What writes it is about as strong as zstd's level 1.

use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress};
use std::io::Read;

/// Short blocks may grow to this with zstd, however well they are packed.
const ZSTD_SHORT_LEN_MAX: usize = 256 << 10;

/// Long ones by this factor; snappy's greatest is 22.
const ZSTD_GROWTH_MAX: usize = 64;

/// The most bytes that a zstd block of so many bytes may unpack to: 256 KiB, or 64 times as many. What packs better than that is
/// stored with snappy instead.
///
/// ```
/// use larder_leveldb::compression::zstd_len_max;
/// assert_eq!((zstd_len_max(100), zstd_len_max(100_000)), (262_144, 6_400_000));
/// ```
pub fn zstd_len_max(packed_len: usize) -> usize {
    packed_len
        .saturating_mul(ZSTD_GROWTH_MAX)
        .max(ZSTD_SHORT_LEN_MAX)
}

/// How a block is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Type byte 0.
    None,
    /// Type byte 1.
    Snappy,
    /// Type byte 2.
    Zstd,
}

impl Compression {
    /// The type byte.
    pub fn to_byte(self) -> u8 {
        match self {
            Compression::None => 0,
            Compression::Snappy => 1,
            Compression::Zstd => 2,
        }
    }

    /// The compression that a type byte names.
    pub fn from_byte(byte: u8) -> Option<Compression> {
        match byte {
            0 => Some(Compression::None),
            1 => Some(Compression::Snappy),
            2 => Some(Compression::Zstd),
            _ => None,
        }
    }
}

/// Unpacks `packed` into `out`, in place of what was there. Fails with what is wrong.
pub fn decompress(
    compression: Compression,
    packed: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), &'static str> {
    match compression {
        Compression::None => {
            out.clear();
            out.extend_from_slice(packed);
            Ok(())
        }
        Compression::Snappy => decompress_snappy(packed, out),
        Compression::Zstd => decompress_zstd(packed, out, zstd_len_max(packed.len())),
    }
}

fn decompress_snappy(packed: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let len = snap::raw::decompress_len(packed).map_err(|_| "snappy block has a bad length")?;
    if len > packed.len().saturating_mul(22) {
        return Err("snappy block promises more than it can hold");
    }
    if out.capacity() < len {
        *out = Vec::with_capacity(len);
    }
    // Grows without clearing what will be overwritten anyway.
    if out.len() < len {
        out.resize(len, 0);
    }
    out.truncate(len);
    let written = snap::raw::Decoder::new()
        .decompress(packed, out)
        .map_err(|_| "snappy block does not unpack")?;
    if written == len {
        Ok(())
    } else {
        Err("snappy block is shorter than it says")
    }
}

fn decompress_zstd(
    mut packed: &[u8],
    out: &mut Vec<u8>,
    len_max: usize,
) -> Result<(), &'static str> {
    const WRONG: &str = "zstd block does not unpack";
    out.clear();
    let mut decoder = StreamingDecoder::new(&mut packed).map_err(|_| WRONG)?;
    let limit = len_max as u64 + 1;
    decoder
        .by_ref()
        .take(limit)
        .read_to_end(out)
        .map_err(|_| WRONG)?;
    drop(decoder);
    if out.len() > len_max {
        return Err("zstd block unpacks to more than a block may hold");
    }
    if packed.is_empty() {
        Ok(())
    } else {
        Err("zstd block has bytes after its frame")
    }
}

/// Packs `block` with snappy into `out`, in place of what was there.
pub fn compress_snappy(block: &[u8], out: &mut Vec<u8>) {
    Packer::new().snappy(block, out);
}

/// Packs one block after the other: its table of 32 KiB is not made anew for each.
#[derive(Debug)]
pub(crate) struct Packer(snap::raw::Encoder);

impl Packer {
    pub(crate) fn new() -> Packer {
        Packer(snap::raw::Encoder::new())
    }

    /// Compresses like [`compress_snappy`].
    pub(crate) fn snappy(&mut self, block: &[u8], out: &mut Vec<u8>) {
        out.resize(snap::raw::max_compress_len(block.len()), 0);
        // Fails only when `out` is too short or the block is over 4 GiB; then it is stored as it is.
        let len = self.0.compress(block, out).unwrap_or(out.len());
        out.truncate(len);
    }
}

/// Packs `block` with zstd, as one frame, into `out`, in place of what was there.
pub fn compress_zstd(block: &[u8], out: &mut Vec<u8>) {
    out.clear();
    compress(block, out, CompressionLevel::Fastest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    quickcheck! {
        fn snappy_reads_back(block: Vec<u8>, repeat: u8) -> bool {
            let block = block.repeat(usize::from(repeat));
            let (mut packed, mut out) = (Vec::new(), vec![9; 5]);
            compress_snappy(&block, &mut packed);
            decompress(Compression::Snappy, &packed, &mut out).is_ok() && out == block
        }

        fn zstd_reads_back(block: Vec<u8>, repeat: u8) -> bool {
            let block = block.repeat(usize::from(repeat));
            let (mut packed, mut out) = (vec![7], vec![9; 5]);
            compress_zstd(&block, &mut packed);
            decompress(Compression::Zstd, &packed, &mut out).is_ok() && out == block
        }

        fn any_bytes_unpack_or_are_refused(bytes: Vec<u8>) -> bool {
            let mut out = Vec::new();
            for compression in [Compression::Snappy, Compression::Zstd] {
                let unpacked = decompress(compression, &bytes, &mut out);
                if unpacked.is_ok() && compression == Compression::Snappy && out.len() > bytes.len() * 22 {
                    return false;
                }
            }
            true
        }
    }

    #[test]
    fn a_snappy_length_that_cannot_be_is_refused_before_allocating() {
        let mut out = Vec::new();
        assert!(
            decompress(
                Compression::Snappy,
                &[0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0],
                &mut out
            )
            .is_err()
        );
        assert_eq!(out.capacity(), 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "much work for an interpreter")]
    fn the_most_that_snappy_packs_is_within_the_bound() {
        let (mut packed, mut out) = (Vec::new(), Vec::new());
        let block = vec![7; 1 << 20];
        compress_snappy(&block, &mut packed);
        decompress(Compression::Snappy, &packed, &mut out).unwrap();
        assert_eq!(out, block);
    }

    /// Written by hand from RFC 8878: magic, single segment with a one-byte size, one raw block (last, five bytes).
    const ZSTD: &[u8] = &[
        0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x05, 0x29, 0x00, 0x00, b'h', b'e', b'l', b'l', b'o',
    ];

    #[test]
    fn a_zstd_frame_unpacks_and_trailing_bytes_are_refused() {
        let mut out = Vec::new();
        decompress(Compression::Zstd, ZSTD, &mut out).unwrap();
        assert_eq!(out, b"hello");
        let mut longer = ZSTD.to_vec();
        longer.push(0);
        assert!(decompress(Compression::Zstd, &longer, &mut out).is_err());
    }

    /// What the zstd command (1.5, level 19) makes of "larder " twenty times.
    const ZSTD_PACKED: &[u8] = &[
        0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x68, 0x75, 0x00, 0x00, 0x38, 0x6c, 0x61, 0x72, 0x64, 0x65,
        0x72, 0x20, 0x01, 0x00, 0x02, 0x51, 0xc5, 0x08,
    ];

    #[test]
    fn a_frame_of_the_zstd_command_unpacks_and_a_cut_one_is_refused() {
        let mut out = Vec::new();
        decompress(Compression::Zstd, ZSTD_PACKED, &mut out).unwrap();
        assert_eq!(out, b"larder ".repeat(20));
        for len in 0..ZSTD_PACKED.len() {
            assert!(
                decompress(Compression::Zstd, &ZSTD_PACKED[..len], &mut out).is_err(),
                "cut to {len}"
            );
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "much work for an interpreter")]
    fn a_zstd_bomb_is_refused() {
        // A frame without a content size, a window of 2 MiB, then RLE blocks of 128 KiB: 4 bytes each.
        let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
        for _ in 0..3 {
            bomb.extend_from_slice(&[0x02, 0x00, 0x10, 0x00]);
        }
        bomb.extend_from_slice(&[0x03, 0x00, 0x10, 0x00]);
        let mut out = Vec::new();
        decompress_zstd(&bomb, &mut out, 4 * (128 << 10)).unwrap();
        assert_eq!(out, [0; 4 * (128 << 10)]);
        assert!(decompress_zstd(&bomb, &mut out, 4 * (128 << 10) - 1).is_err());
    }

    #[test]
    #[cfg_attr(miri, ignore = "much work for an interpreter")]
    fn what_zstd_packs_beyond_the_bound_is_refused_and_what_it_packs_up_to_it_is_not() {
        let (mut packed, mut out) = (Vec::new(), Vec::new());
        for (len, is_read) in [(ZSTD_SHORT_LEN_MAX, true), (ZSTD_SHORT_LEN_MAX + 1, false)] {
            compress_zstd(&vec![7; len], &mut packed);
            assert!(packed.len() < 100, "{}", packed.len());
            let read = decompress(Compression::Zstd, &packed, &mut out);
            assert_eq!(read.is_ok(), is_read, "{len}: {read:?}");
            assert!(out.len() <= ZSTD_SHORT_LEN_MAX + 1);
        }
    }
}
