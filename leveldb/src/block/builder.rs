//! Builds a block.

use crate::varint::encode_varint;

/// Collects entries in ascending order of keys.
#[derive(Clone, Debug, Default)]
pub struct BlockBuilder {
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    restart_interval: usize,
    since_restart: usize,
    last_key: Vec<u8>,
    entries: usize,
}

/// How many bytes two keys begin with in common, found out eight at a time.
#[inline]
fn shared_len(a: &[u8], b: &[u8]) -> usize {
    let (mut rest_of_a, mut rest_of_b) = (a, b);
    let mut shared = 0;
    while let (Some((x, after_x)), Some((y, after_y))) = (
        rest_of_a.split_first_chunk::<8>(),
        rest_of_b.split_first_chunk::<8>(),
    ) {
        let differing = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differing != 0 {
            return shared + (differing.trailing_zeros() / 8) as usize;
        }
        shared += 8;
        (rest_of_a, rest_of_b) = (after_x, after_y);
    }
    let are_equal = |(a, b): &(&u8, &u8)| a == b;
    shared
        + rest_of_a
            .iter()
            .zip(rest_of_b)
            .take_while(are_equal)
            .count()
}

impl BlockBuilder {
    /// Every `restart_interval`-th key is written whole (at least 1; index blocks take 1).
    pub fn new(restart_interval: usize) -> BlockBuilder {
        BlockBuilder {
            bytes: Vec::new(),
            restarts: vec![0],
            restart_interval: restart_interval.max(1),
            since_restart: 0,
            last_key: Vec::new(),
            entries: 0,
        }
    }

    /// Adds an entry. Keys come in ascending order.
    pub fn add(&mut self, key: &[u8], value: &[u8]) {
        let mut shared = 0;
        if self.since_restart == self.restart_interval {
            self.restarts.push(self.bytes.len() as u32);
            self.since_restart = 0;
        } else if self.since_restart > 0 {
            shared = shared_len(&self.last_key, key);
        }
        let lens = [shared, key.len() - shared, value.len()];
        self.bytes.reserve(16 + lens[1] + lens[2]);
        if lens.iter().all(|len| *len < 0x80) {
            self.bytes.extend_from_slice(&lens.map(|len| len as u8));
        } else {
            lens.iter()
                .for_each(|len| encode_varint(&mut self.bytes, *len as u64));
        }
        self.bytes.extend_from_slice(&key[shared..]);
        self.bytes.extend_from_slice(value);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(&key[shared..]);
        self.since_restart += 1;
        self.entries += 1;
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// How many bytes the block has, if it ends now.
    pub fn len_bytes(&self) -> usize {
        self.bytes.len() + self.restarts.len() * 4 + 4
    }

    /// The last key added.
    pub fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// Ends the block and gives its bytes. [`clear`](Self::clear) starts the next.
    pub fn finish(&mut self) -> &[u8] {
        for restart in &self.restarts {
            self.bytes.extend_from_slice(&restart.to_le_bytes());
        }
        self.bytes
            .extend_from_slice(&(self.restarts.len() as u32).to_le_bytes());
        &self.bytes
    }

    /// Empties the builder and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.restarts.clear();
        self.restarts.push(0);
        self.since_restart = 0;
        self.last_key.clear();
        self.entries = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    quickcheck! {
        fn what_keys_share_is_found_byte_by_byte(shared: Vec<u8>, a: Vec<u8>, b: Vec<u8>) -> bool {
            let (a, b) = ([&shared[..], &a].concat(), [&shared[..], &b].concat());
            let naive = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            shared_len(&a, &b) == naive && shared_len(&a, &a) == a.len()
        }
    }
}
