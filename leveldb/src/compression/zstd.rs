//! Blocks packed with zstd (RFC 8878): one frame each. The feature `zstd`.

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

/// Unpacks the one frame that `packed` is into `out`, in place of what was there. Fails with what is wrong.
pub(super) fn decompress(packed: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    decompress_within(packed, out, zstd_len_max(packed.len()))
}

fn decompress_within(
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
        fn zstd_reads_back(block: Vec<u8>, repeat: u8) -> bool {
            let block = block.repeat(usize::from(repeat));
            let (mut packed, mut out) = (vec![7], vec![9; 5]);
            compress_zstd(&block, &mut packed);
            decompress(&packed, &mut out).is_ok() && out == block
        }

        fn any_bytes_unpack_or_are_refused(bytes: Vec<u8>) -> bool {
            let _ = decompress(&bytes, &mut Vec::new());
            true
        }
    }

    /// Written by hand from RFC 8878: magic, single segment with a one-byte size, one raw block (last, five bytes).
    const ZSTD: &[u8] = &[
        0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x05, 0x29, 0x00, 0x00, b'h', b'e', b'l', b'l', b'o',
    ];

    #[test]
    fn a_zstd_frame_unpacks_and_trailing_bytes_are_refused() {
        let mut out = Vec::new();
        decompress(ZSTD, &mut out).unwrap();
        assert_eq!(out, b"hello");
        let mut longer = ZSTD.to_vec();
        longer.push(0);
        assert!(decompress(&longer, &mut out).is_err());
    }

    /// What the zstd command (1.5, level 19) makes of "larder " twenty times.
    const ZSTD_PACKED: &[u8] = &[
        0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x68, 0x75, 0x00, 0x00, 0x38, 0x6c, 0x61, 0x72, 0x64, 0x65,
        0x72, 0x20, 0x01, 0x00, 0x02, 0x51, 0xc5, 0x08,
    ];

    #[test]
    fn a_frame_of_the_zstd_command_unpacks_and_a_cut_one_is_refused() {
        let mut out = Vec::new();
        decompress(ZSTD_PACKED, &mut out).unwrap();
        assert_eq!(out, b"larder ".repeat(20));
        for len in 0..ZSTD_PACKED.len() {
            assert!(
                decompress(&ZSTD_PACKED[..len], &mut out).is_err(),
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
        decompress_within(&bomb, &mut out, 4 * (128 << 10)).unwrap();
        assert_eq!(out, [0; 4 * (128 << 10)]);
        assert!(decompress_within(&bomb, &mut out, 4 * (128 << 10) - 1).is_err());
    }

    #[test]
    #[cfg_attr(miri, ignore = "much work for an interpreter")]
    fn what_zstd_packs_beyond_the_bound_is_refused_and_what_it_packs_up_to_it_is_not() {
        let (mut packed, mut out) = (Vec::new(), Vec::new());
        for (len, is_read) in [(ZSTD_SHORT_LEN_MAX, true), (ZSTD_SHORT_LEN_MAX + 1, false)] {
            compress_zstd(&vec![7; len], &mut packed);
            assert!(packed.len() < 100, "{}", packed.len());
            let read = decompress(&packed, &mut out);
            assert_eq!(read.is_ok(), is_read, "{len}: {read:?}");
            assert!(out.len() <= ZSTD_SHORT_LEN_MAX + 1);
        }
    }
}
