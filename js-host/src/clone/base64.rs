//! Base64, decoded and encoded: the form in which bytes cross from the engine without `unsafe`.
//!
//! RFC 4648, the standard alphabet with padding, as `Uint8Array.prototype.toBase64` writes it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const NONE: u8 = 0xff;

const fn values() -> [u8; 256] {
    let mut table = [NONE; 256];
    let mut at = 0;
    while at < ALPHABET.len() {
        table[ALPHABET[at] as usize] = at as u8;
        at += 1;
    }
    table
}

static VALUES: [u8; 256] = values();

/// The bytes of a text; `None` if it is no Base64 in whole groups of four.
pub(super) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let (groups, rest) = text.as_chunks::<4>();
    if !rest.is_empty() {
        return None;
    }
    let Some((last, groups)) = groups.split_last() else {
        return Some(Vec::new());
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in groups {
        bytes.extend_from_slice(&triple(group)?);
    }
    let padding = last.iter().rev().take_while(|&&byte| byte == b'=').count();
    let mut whole = *last;
    whole[4 - padding.min(2)..].fill(b'A');
    let triple = triple(&whole)?;
    bytes.extend_from_slice(&triple[..3 - padding.min(2)]);
    Some(bytes)
}

fn triple(group: &[u8; 4]) -> Option<[u8; 3]> {
    let [a, b, c, d] = group.map(|byte| VALUES[usize::from(byte)]);
    if (a | b | c | d) == NONE {
        return None;
    }
    Some([a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d])
}

/// The text of bytes.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let get = |at: usize| chunk.get(at).copied().unwrap_or(0);
        let [a, b, c] = [get(0), get(1), get(2)];
        let sextets = [
            a >> 2,
            (a & 3) << 4 | b >> 4,
            (b & 15) << 2 | c >> 6,
            c & 63,
        ];
        for (at, sextet) in sextets.iter().enumerate() {
            let there = at <= chunk.len();
            text.push(if there {
                char::from(ALPHABET[usize::from(*sextet)])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_rfc_4648_go_both_ways() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text.as_bytes()).as_deref(), Some(bytes.as_bytes()));
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(encode(&all).as_bytes()), Some(all));
    }

    #[test]
    fn what_is_no_base64_is_refused() {
        for text in ["Z", "Zg=", "Zg=a", "Z===", "====", "Zm9-", "Zg==Zg=="] {
            assert_eq!(decode(text.as_bytes()), None, "{text}");
        }
    }
}
