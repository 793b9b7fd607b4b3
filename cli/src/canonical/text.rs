//! The pieces that canonical JSON is made of: strings, numbers, bytes, digests.

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
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(b'"');
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
    out.push(b'"');
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

/// As [`push_bytes`], from a stream; returns the number of bytes. Memory does not grow with them.
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
