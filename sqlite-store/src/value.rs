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
