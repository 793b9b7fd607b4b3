//! Builds a block.

use crate::varint::encode_varint;

/// Collects entries in ascending order of keys.
#[derive(Clone, Debug)]
pub struct BlockBuilder {
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    restart_interval: usize,
    since_restart: usize,
    last_key: Vec<u8>,
    entries: usize,
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
            shared = self
                .last_key
                .iter()
                .zip(key)
                .take_while(|(a, b)| a == b)
                .count();
        }
        encode_varint(&mut self.bytes, shared as u64);
        encode_varint(&mut self.bytes, (key.len() - shared) as u64);
        encode_varint(&mut self.bytes, value.len() as u64);
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
