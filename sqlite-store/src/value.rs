//! Values as their rows have them: plain, or packed by zstd or Snappy.

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;

/// A value packed in few bytes may not take more than this. Chromium refuses to put 133,169,152 bytes and more.
const LEN_MAX: u64 = 256 << 20;

/// Unpacks a value behind what is in `out`; what is wrong with it.
pub(crate) fn unpack(compression: i64, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    match compression {
        0 => {
            out.extend_from_slice(bytes);
            Ok(())
        }
        1 => {
            let mut source = bytes;
            let zstd = |error: &dyn std::fmt::Display| format!("the value's zstd frame: {error}");
            let mut decoder = StreamingDecoder::new(&mut source).map_err(|error| zstd(&error))?;
            let stated = decoder.decoder.content_size();
            if stated > LEN_MAX {
                return Err(format!("the value's zstd frame says {stated} bytes"));
            }
            let before = out.len();
            let read = (&mut decoder).take(LEN_MAX + 1).read_to_end(out);
            read.map_err(|error| zstd(&error))?;
            let found = (out.len() - before) as u64;
            drop(decoder);
            // Chromium takes a frame without its length, or with something behind it, for damage.
            if found != stated || !source.is_empty() {
                return Err(format!(
                    "the value's zstd frame has {found} bytes and says {stated}, with {} bytes behind it",
                    source.len()
                ));
            }
            Ok(())
        }
        2 => {
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
        other => Err(format!("the value is packed in an unknown way: {other}")),
    }
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
        unpack(compression, bytes, &mut out).map(|()| out.split_off(6))
    }

    #[test]
    fn values_are_unpacked_behind_what_is_there() {
        assert_eq!(unpacked(0, b"plain").unwrap(), b"plain");
        assert_eq!(unpacked(1, &frame(5, b"value")).unwrap(), b"value");
        let packed = snap::raw::Encoder::new().compress_vec(b"snappy").unwrap();
        assert_eq!(unpacked(2, &packed).unwrap(), b"snappy");
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
