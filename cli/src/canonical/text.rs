//! The pieces that canonical JSON is made of: strings, numbers, bytes, digests.
//!
//! What may be long has two forms here: a digest, and in [`Pieces`] the whole, which is handed on piece by piece.

use std::fmt::Display;
use std::io::{self, Read, Write};

use larder_codec::value::{JsNumber, JsStr};
use sha2::{Digest, Sha256};

/// Strings up to this many units are written out.
const UNITS_SHOWN_MAX: usize = 512;
/// Bytes up to this many are written out.
const BYTES_SHOWN_MAX: u64 = 256;

/// Appends formatted text.
pub(super) fn push(out: &mut Vec<u8>, text: impl Display) {
    // Writing into a vector cannot fail.
    let _ = write!(out, "{text}");
}

/// Appends a JSON string. `text` must not contain lone surrogates, which a `str` cannot.
pub(super) fn push_json_str(out: &mut Vec<u8>, text: &str) {
    // Neither can this: every str is a JSON string.
    let _ = serde_json::to_writer(out, text);
}

/// Appends `,"member":`.
pub(super) fn push_member(out: &mut Vec<u8>, member: &str) {
    push(out, format_args!(",\"{member}\":"));
}

/// Appends a name: a JSON string, or `{"utf16":…}`.
pub(super) fn push_name(out: &mut Vec<u8>, name: JsStr<'_>) {
    match name.to_utf8() {
        Some(text) => push_json_str(out, &text),
        None => {
            out.extend_from_slice(b"{\"utf16\":");
            push_units(out, name);
            out.push(b'}');
        }
    }
}

/// Appends the members that stand for a string: `v`, `utf16`, or `units` and a digest.
pub(super) fn push_string_members(out: &mut Vec<u8>, string: JsStr<'_>) {
    let units = string.len_units();
    if units > UNITS_SHOWN_MAX {
        push(out, format_args!(",\"units\":{units},\"sha256_utf16le\":"));
        let mut digest = Sha256::new();
        let mut chunk = Vec::with_capacity(8192);
        for unit in string.units() {
            chunk.extend_from_slice(&unit.to_le_bytes());
            if chunk.len() >= 8192 {
                digest.update(&chunk);
                chunk.clear();
            }
        }
        digest.update(&chunk);
        push_hex(out, &digest.finalize());
        return;
    }
    match string.to_utf8() {
        Some(text) => {
            out.extend_from_slice(b",\"v\":");
            push_json_str(out, &text);
        }
        None => {
            out.extend_from_slice(b",\"utf16\":");
            push_units(out, string);
        }
    }
}

/// Appends a JSON string of four hexadecimal digits per unit.
pub(super) fn push_units(out: &mut Vec<u8>, string: JsStr<'_>) {
    out.push(b'"');
    for unit in string.units() {
        push(out, format_args!("{unit:04x}"));
    }
    out.push(b'"');
}

/// Appends a JSON string of two hexadecimal digits per byte.
pub(super) fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    push_digits(out, bytes);
    out.push(b'"');
}

fn push_digits(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

/// Bytes or units that are turned into text at a time.
const PIECE_LEN: usize = 64 << 10;
/// Text that waits for what comes behind it.
const WAITING_LEN_MAX: usize = 1 << 20;

/// Where whole values go: text that waits, and what takes it when it is long.
pub(super) struct Pieces<'w> {
    pub(super) out: &'w mut dyn Write,
    pub(super) limits: Limits,
}

/// How much of a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Units of a string; behind them come `units`, how many there are, and `cut`.
    pub string_units: usize,
    /// Bytes of a buffer or a picture; behind them comes `cut`. With such a limit contents of blobs are left out: they have `object`, the
    /// number of the external object, in place of `bytes`.
    pub bytes: usize,
    /// Values. What an object or a list has when so many are written is only counted: `left`.
    pub nodes: usize,
}

impl Limits {
    /// Everything.
    pub const NONE: Self = Self {
        string_units: usize::MAX,
        bytes: usize::MAX,
        nodes: usize::MAX,
    };
}

impl Pieces<'_> {
    /// Hands on what waits if it is long.
    pub(super) fn relieve(&mut self, waiting: &mut Vec<u8>) -> io::Result<()> {
        if waiting.len() >= WAITING_LEN_MAX {
            self.out.write_all(waiting)?;
            waiting.clear();
        }
        Ok(())
    }

    /// The members that stand for a string: `v` or `utf16`.
    pub(super) fn string_members(
        &mut self,
        waiting: &mut Vec<u8>,
        string: JsStr<'_>,
    ) -> io::Result<()> {
        let is_text = string.is_well_formed();
        waiting.extend_from_slice(if is_text {
            b",\"v\":\""
        } else {
            b",\"utf16\":\""
        });
        let len = string.len_units();
        let mut left = len.min(self.limits.string_units);
        let mut units = string.units();
        let mut piece = Vec::with_capacity(PIECE_LEN.min(string.len_units()) + 1);
        loop {
            piece.clear();
            piece.extend(units.by_ref().take(PIECE_LEN.min(left)));
            left -= piece.len();
            // A pair must not be cut.
            if piece
                .last()
                .is_some_and(|unit| (0xd800..0xdc00).contains(unit))
            {
                let before = piece.len();
                piece.extend(units.next());
                left = left.saturating_sub(piece.len() - before);
            }
            if piece.is_empty() {
                break;
            }
            if is_text {
                push_escaped(waiting, &String::from_utf16_lossy(&piece));
            } else {
                for unit in &piece {
                    push(waiting, format_args!("{unit:04x}"));
                }
            }
            self.relieve(waiting)?;
        }
        waiting.push(b'"');
        if len > self.limits.string_units {
            push(waiting, format_args!(",\"units\":{len},\"cut\":true"));
        }
        Ok(())
    }

    /// `{"len":…,"hex":…}`.
    pub(super) fn bytes(&mut self, waiting: &mut Vec<u8>, bytes: &[u8]) -> io::Result<()> {
        push(
            waiting,
            format_args!("{{\"len\":{},\"hex\":\"", bytes.len()),
        );
        let shown = &bytes[..bytes.len().min(self.limits.bytes)];
        for piece in shown.chunks(PIECE_LEN) {
            push_digits(waiting, piece);
            self.relieve(waiting)?;
        }
        let is_cut = shown.len() < bytes.len();
        waiting.extend_from_slice(if is_cut { b"\",\"cut\":true}" } else { b"\"}" });
        Ok(())
    }

    /// `"hex":"…"` of all that comes out of a stream, as far as that can be read: how many bytes, and what ended it too early.
    pub(super) fn hex_member(
        &mut self,
        waiting: &mut Vec<u8>,
        stream: &mut dyn Read,
    ) -> io::Result<(u64, Option<io::Error>)> {
        waiting.extend_from_slice(b"\"hex\":\"");
        let mut piece = vec![0; PIECE_LEN];
        let mut len = 0;
        let problem = loop {
            match stream.read(&mut piece) {
                Ok(0) => break None,
                Ok(read) => {
                    len += read as u64;
                    push_digits(waiting, &piece[..read]);
                    self.relieve(waiting)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Some(error),
            }
        };
        waiting.push(b'"');
        Ok((len, problem))
    }
}

/// Appends what stands between the quotes of a JSON string.
fn push_escaped(out: &mut Vec<u8>, text: &str) {
    let at = out.len();
    push_json_str(out, text);
    out.pop();
    out.remove(at);
}

/// Appends a number as text: as JavaScript prints it, except that -0 keeps its sign.
pub(super) fn push_number(out: &mut Vec<u8>, number: f64) {
    if number == 0.0 && number.is_sign_negative() {
        out.extend_from_slice(b"\"-0\"");
    } else {
        push(out, format_args!("\"{}\"", JsNumber(number)));
    }
}

/// Appends `{"len":…,"hex":…}` or `{"len":…,"sha256":…}`.
pub(super) fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let len = bytes.len() as u64;
    push(out, format_args!("{{\"len\":{len},"));
    if len <= BYTES_SHOWN_MAX {
        out.extend_from_slice(b"\"hex\":");
        push_hex(out, bytes);
    } else {
        out.extend_from_slice(b"\"sha256\":");
        push_hex(out, &Sha256::digest(bytes));
    }
    out.push(b'}');
}

/// Writes bytes like [`push_bytes`], from a stream; returns the number of bytes. Memory does not grow with them.
pub(super) fn push_stream(out: &mut Vec<u8>, stream: &mut dyn Read) -> io::Result<u64> {
    let mut digest = Sha256::new();
    let mut head = Vec::new();
    let mut len: u64 = 0;
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let read = match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let bytes = &chunk[..read];
        if len <= BYTES_SHOWN_MAX {
            head.extend(bytes.iter().take(BYTES_SHOWN_MAX as usize + 1));
        }
        digest.update(bytes);
        len += read as u64;
    }
    if len <= BYTES_SHOWN_MAX {
        push_bytes(out, &head);
    } else {
        push(out, format_args!("{{\"len\":{len},\"sha256\":"));
        push_hex(out, &digest.finalize());
        out.push(b'}');
    }
    Ok(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives bytes out a few at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let len = self.0.len().min(self.1).min(out.len());
            let (head, rest) = self.0.split_at(len);
            out[..len].copy_from_slice(head);
            self.0 = rest;
            Ok(len)
        }
    }

    #[test]
    fn streamed_bytes_come_out_as_bytes_at_hand() {
        let bytes: Vec<u8> = (0..1000_u32).map(|n| (n % 251) as u8).collect();
        for len in [0, 1, 255, 256, 257, 1000] {
            for step in [1, 7, 1000] {
                let (mut whole, mut streamed) = (Vec::new(), Vec::new());
                push_bytes(&mut whole, &bytes[..len]);
                let read = push_stream(&mut streamed, &mut Drip(&bytes[..len], step)).unwrap();
                assert_eq!(
                    (read, streamed),
                    (len as u64, whole),
                    "{len} bytes, {step} at a time"
                );
            }
        }
    }

    #[test]
    fn the_digest_is_sha_256() {
        // FIPS 180-2, appendix B.3: a million times "a".
        let mut out = Vec::new();
        push_bytes(&mut out, &vec![b'a'; 1_000_000]);
        let hex = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        let expected = format!("{{\"len\":1000000,\"sha256\":\"{hex}\"}}");
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
