//! The inside of a JSON string: text with what JSON escapes (RFC 8259, section 7), as `serde_json` writes it.

/// So many bytes are looked at together.
const BLOCK_LEN: usize = 32;

/// Appends text that is UTF-8.
pub(super) fn push_escaped(out: &mut Vec<u8>, text: &[u8]) {
    push::<false>(out, text);
}

/// Appends text of which every byte is a character, as UTF-8.
pub(super) fn push_escaped_latin1(out: &mut Vec<u8>, text: &[u8]) {
    push::<true>(out, text);
}

fn push<const LATIN1: bool>(out: &mut Vec<u8>, mut text: &[u8]) {
    loop {
        let (plain, rest) = text.split_at(plain_len::<LATIN1>(text));
        out.extend_from_slice(plain);
        let Some((byte, rest)) = rest.split_first() else {
            return;
        };
        push_byte(out, *byte);
        text = rest;
    }
}

/// How many bytes at the beginning stand for themselves.
fn plain_len<const LATIN1: bool>(text: &[u8]) -> usize {
    let (blocks, rest) = text.as_chunks::<BLOCK_LEN>();
    // Without a branch for each byte, so that it is done for many at once.
    let is_plain_block = |block: &[u8; BLOCK_LEN]| {
        let found = block.iter().fold(0, |found, byte| {
            found | u8::from(!is_plain::<LATIN1>(*byte))
        });
        found == 0
    };
    let plain_blocks = blocks.iter().take_while(|block| is_plain_block(block));
    let len = plain_blocks.count() * BLOCK_LEN;
    let behind = blocks
        .get(len / BLOCK_LEN)
        .map_or(rest, <[u8; BLOCK_LEN]>::as_slice);
    let special = behind.iter().position(|byte| !is_plain::<LATIN1>(*byte));
    len + special.unwrap_or(behind.len())
}

const fn is_plain<const LATIN1: bool>(byte: u8) -> bool {
    (byte >= b' ') & (byte != b'"') & (byte != b'\\') & !(LATIN1 & (byte >= 0x80))
}

/// Appends one that does not stand for itself.
fn push_byte(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |bits: u8| DIGITS[usize::from(bits & 0xf)];
    let escaped = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        0x80.. => return out.extend_from_slice(&[0xc0 | byte >> 6, 0x80 | byte & 0x3f]),
        _ => {
            out.extend_from_slice(b"\\u00");
            return out.extend_from_slice(&[digit(byte >> 4), digit(byte)]);
        }
    };
    out.extend_from_slice(&[b'\\', escaped]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text with a special character at every place of blocks and of what is left of them.
    #[test]
    fn every_character_at_every_place_is_escaped_as_serde_json_does() {
        let characters = (0..=0xff).map(char::from);
        for character in characters.chain(['\u{7ff}', '\u{2028}', '\u{ffff}', '\u{1f980}']) {
            for (before, behind) in (0..70).flat_map(|len| [(len, 0), (len, 1), (len, 40)]) {
                let text = format!("{}{character}{}", "a".repeat(before), "é".repeat(behind));
                let mut found = Vec::new();
                push_escaped(&mut found, text.as_bytes());
                let expected = serde_json::to_string(&text).unwrap();
                assert_eq!(found, &expected.as_bytes()[1..expected.len() - 1]);
                let latin1 = text.chars().map(|c| u8::try_from(u32::from(c)));
                if let Ok(latin1) = latin1.collect::<Result<Vec<u8>, _>>() {
                    found.clear();
                    push_escaped_latin1(&mut found, &latin1);
                    assert_eq!(found, &expected.as_bytes()[1..expected.len() - 1]);
                }
            }
        }
    }
}
