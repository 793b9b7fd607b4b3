//! Bytes as 64-bit words.

/// The bytes behind the last whole eight, as a little-endian number.
#[inline]
pub(crate) fn rest_word(bytes: &[u8]) -> u64 {
    let len = bytes.len() % 8;
    if len == 0 {
        return 0;
    }
    match bytes.last_chunk() {
        Some(last) => u64::from_le_bytes(*last) >> (64 - 8 * len),
        None => (bytes.iter().rev()).fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::rest_word;
    use quickcheck::quickcheck;

    quickcheck! {
        fn the_rest_is_what_whole_words_leave(bytes: Vec<u8>) -> bool {
            let mut eight = [0; 8];
            let rest = bytes.chunks_exact(8).remainder();
            eight[..rest.len()].copy_from_slice(rest);
            rest_word(&bytes) == u64::from_le_bytes(eight)
        }
    }
}
