//! Block compression: none, snappy, zstd.
//!
//! The byte after a block names it: 0 none, 1 snappy (raw format, no frame), 2 zstd (one frame). LevelDB's
//! `include/leveldb/options.h`. What comes out is bounded by what went in, before anything is allocated: a snappy element of
//! three bytes yields at most 64; zstd, of which four bytes can make 128 KiB, grows as real content appears, up to
//! `zstd_len_max`. So what a store takes in memory is bounded by what it takes on the disk.
//!
//! zstd is written on request only: C++ LevelDB 1.23, and so Chromium, refuses such a block as damaged (later versions read it).
//! What writes it is about as strong as zstd's level 1. Without the feature `zstd` it is an unknown compression, as it is to Chromium.

#[cfg(feature = "zstd")]
mod zstd;

#[cfg(feature = "zstd")]
pub use zstd::{compress_zstd, zstd_len_max};

/// zstd's type byte, in a build without zstd, too.
pub(crate) const ZSTD: u8 = 2;

/// How a block is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Type byte 0.
    None,
    /// Type byte 1.
    Snappy,
    /// Type byte 2; with the feature `zstd`.
    #[cfg(feature = "zstd")]
    Zstd,
}

impl Compression {
    /// The type byte.
    pub fn to_byte(self) -> u8 {
        match self {
            Compression::None => 0,
            Compression::Snappy => 1,
            #[cfg(feature = "zstd")]
            Compression::Zstd => ZSTD,
        }
    }

    /// The compression that a type byte names.
    pub fn from_byte(byte: u8) -> Option<Compression> {
        match byte {
            0 => Some(Compression::None),
            1 => Some(Compression::Snappy),
            #[cfg(feature = "zstd")]
            ZSTD => Some(Compression::Zstd),
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
        #[cfg(feature = "zstd")]
        Compression::Zstd => zstd::decompress(packed, out),
    }
}

/// What can be unpacked of damaged bytes, up to where they do not fit together, with any bytes behind that; bounded as what is whole is.
pub(crate) fn unpack_damaged(compression: Compression, packed: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    // What it fails with is why this is asked for: the decoder has written what it could.
    let _ = decompress(compression, packed, &mut out);
    out
}

fn decompress_snappy(packed: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let len = snap::raw::decompress_len(packed).map_err(|_| "snappy block has a bad length")?;
    if len > packed.len().saturating_mul(22) {
        return Err("snappy block gives a length that its bytes cannot unpack to");
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

        fn any_bytes_unpack_or_are_refused(bytes: Vec<u8>) -> bool {
            let mut out = Vec::new();
            let unpacked = decompress(Compression::Snappy, &bytes, &mut out);
            unpacked.is_err() || out.len() <= bytes.len() * 22
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
}
