//! The name of a database's file: the base32 of the SHA-256 of the database's name in UTF-16LE, in upper case without padding; the empty
//! name's is `0` //! (Chromium's `content/browser/indexed_db/file_path_util.cc`).

use larder_codec::JsString;
use sha2::{Digest, Sha256};

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The name of a database's file.
pub(crate) fn file_name(name: &JsString) -> String {
    if name.is_empty() {
        return "0".to_owned();
    }
    let bytes: Vec<u8> = name
        .units()
        .iter()
        .flat_map(|unit| unit.to_le_bytes())
        .collect();
    let mut text = String::new();
    let (mut bits, mut held) = (0_u32, 0);
    for byte in Sha256::digest(&bytes) {
        bits = (bits << 8) | u32::from(byte);
        held += 8;
        while held >= 5 {
            held -= 5;
            push_digit(&mut text, bits >> held);
        }
    }
    // One bit is left of 256.
    push_digit(&mut text, bits << (5 - held));
    text
}

fn push_digit(text: &mut String, bits: u32) {
    let digit = ALPHABET.get((bits & 31) as usize);
    text.extend(digit.map(|digit| char::from(*digit)));
}
