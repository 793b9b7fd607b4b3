//! Keys, key paths and names in canonical JSON.

use std::convert::Infallible;

use larder_codec::idb_key::{KeyPart, RawKey};
use larder_codec::shown::{Piece, walk};
use larder_codec::value::JsStr;
use larder_codec::{JsString, KeyPath};

use super::text::{push, push_hex, push_json_str, push_name, push_number, push_units};

/// Appends the canonical form of a key. Strings of any length are written out.
///
/// ```
/// use larder::canonical::write_key;
/// use larder_codec::RawKey;
///
/// let (key, _) = RawKey::decode(&[4, 1, 3, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f])?;
/// let mut out = Vec::new();
/// write_key(&mut out, key);
/// let text = br#"{"t":"array","v":[{"t":"number","v":"1","bits":"3ff0000000000000"}]}"#;
/// assert_eq!(out, text);
/// # Ok::<(), larder_codec::Error>(())
/// ```
pub fn write_key(out: &mut Vec<u8>, key: RawKey<'_>) {
    let Ok(()) = walk(key, |piece| {
        match piece {
            Piece::ArrayStart => out.extend_from_slice(b"{\"t\":\"array\",\"v\":["),
            Piece::Separator => out.push(b','),
            Piece::ArrayEnd => out.extend_from_slice(b"]}"),
            Piece::Scalar(scalar) => write_scalar(out, scalar),
        }
        Ok::<(), Infallible>(())
    });
}

fn write_scalar(out: &mut Vec<u8>, scalar: KeyPart<'_>) {
    match scalar {
        KeyPart::Number(number) => write_double(out, "number", number),
        KeyPart::Date(milliseconds) => write_double(out, "date", milliseconds),
        KeyPart::String(string) => {
            let units: Vec<u8> = string.units().flat_map(u16::to_le_bytes).collect();
            write_string(out, JsStr::Utf16Le(&units));
        }
        KeyPart::Binary(bytes) => {
            out.extend_from_slice(b"{\"t\":\"binary\",\"hex\":");
            push_hex(out, bytes);
            out.push(b'}');
        }
        KeyPart::Array { .. } => {}
    }
}

fn write_double(out: &mut Vec<u8>, kind: &str, number: f64) {
    push(out, format_args!("{{\"t\":\"{kind}\",\"v\":"));
    push_number(out, number);
    push(
        out,
        format_args!(",\"bits\":\"{:016x}\"}}", number.to_bits()),
    );
}

fn write_string(out: &mut Vec<u8>, string: JsStr<'_>) {
    match string.to_utf8() {
        Some(text) => {
            out.extend_from_slice(b"{\"t\":\"string\",\"v\":");
            push_json_str(out, &text);
        }
        None => {
            out.extend_from_slice(b"{\"t\":\"string\",\"utf16\":");
            push_units(out, string);
        }
    }
    out.push(b'}');
}

/// Appends a name: a JSON string, or `{"utf16":…}`.
pub(crate) fn write_name(out: &mut Vec<u8>, name: &JsString) {
    let units: Vec<u8> = name
        .units()
        .iter()
        .flat_map(|unit| unit.to_le_bytes())
        .collect();
    push_name(out, JsStr::Utf16Le(&units));
}

/// Appends a key path: null, a text, or a list of texts.
pub(crate) fn write_key_path(out: &mut Vec<u8>, key_path: &KeyPath) {
    match key_path {
        KeyPath::Null => out.extend_from_slice(b"null"),
        KeyPath::String(path) => write_name(out, path),
        KeyPath::Array(paths) => {
            out.push(b'[');
            for (n, path) in paths.iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                write_name(out, path);
            }
            out.push(b']');
        }
    }
}
