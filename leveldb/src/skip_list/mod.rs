//! The memtable that is written to: a skip list that one thread fills while any number read it, without a lock.
//!
//! Nodes are runs of 32-bit atomics in an arena ([`Segments`]) and name each other by their place in it, so all of this is
//! safe code. A node: where its bytes are (chunk, offset), how long key and value are, then one link for each of its levels.
//! Its bytes, internal key and value, are in place before the first link to it is stored with release ordering; who finds
//! it by a link sees them. Nothing is ever changed or removed but links, so a reader stands where it stands. LevelDB's
//! `db/skiplist.h` has the same shape.

mod cursor;
mod segments;

pub(crate) use cursor::SkipCursor;

use crate::internal_key::{self, EntryKind, InternalOrder};
use crate::sync::{AtomicU32, AtomicUsize, Mutex};
use crate::write_batch::{BatchEntry, BatchReader, Operation};
use segments::Segments;
use std::cmp::Ordering;
use std::sync::atomic::Ordering as Memory;
use std::sync::{OnceLock, PoisonError};

const LEVELS_MAX: usize = 12;
/// Before a node's links: chunk, offset in the chunk, key length, value length.
const FIELDS: usize = 4;
/// The list's beginning; no entry. As a link: the end.
const HEAD: u32 = 0;
/// Bytes of a large batch's chunks, but for one with a longer entry alone in it.
const CHUNK_LEN: usize = 1 << 20;

/// Entries in internal order, still growing.
#[derive(Debug)]
pub(crate) struct SkipList {
    /// The log that holds the same entries.
    pub(crate) log_number: u64,
    log_name: String,
    order: InternalOrder,
    nodes: Segments<AtomicU32>,
    chunks: Segments<OnceLock<Vec<u8>>>,
    /// How many levels are in use.
    height: AtomicUsize,
    len_bytes: AtomicUsize,
    writer: Mutex<Writer>,
}

/// What only the writing thread needs.
#[derive(Debug)]
struct Writer {
    nodes_end: usize,
    chunk_count: usize,
    random: u32,
    /// The last node put in and, level by level, what comes before the next place.
    last: u32,
    before: [u32; LEVELS_MAX],
}

impl SkipList {
    pub(crate) fn new(order: InternalOrder, log_number: u64) -> SkipList {
        let nodes = Segments::default();
        nodes.grow(FIELDS + LEVELS_MAX);
        SkipList {
            log_number,
            log_name: crate::file_name::FileName::Log(log_number).to_string(),
            order,
            nodes,
            chunks: Segments::default(),
            height: AtomicUsize::new(1),
            len_bytes: AtomicUsize::new(0),
            writer: Mutex::new(Writer {
                nodes_end: FIELDS + LEVELS_MAX,
                chunk_count: 0,
                random: 0x2545_f491,
                last: HEAD,
                before: [HEAD; LEVELS_MAX],
            }),
        }
    }

    pub(crate) fn log_name(&self) -> &str {
        &self.log_name
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.next(HEAD, 0) == HEAD
    }

    /// About how much memory it takes.
    pub(crate) fn len_bytes(&self) -> usize {
        self.len_bytes.load(Memory::Relaxed)
    }

    /// Puts in all entries of a batch.
    pub(crate) fn insert(&self, batch: BatchReader<'_>, batch_len: usize) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = batch_len + batch.entry_count() as usize * internal_key::TAG_LEN;
        // Entries of the chunk being filled: offset, key length, value length.
        let mut places: Vec<(u32, u32, u32)> = Vec::new();
        let mut chunk = Vec::with_capacity(left.min(CHUNK_LEN));
        for entry in batch.flatten() {
            let (key, value) = parts(&entry);
            let len = key.len() + internal_key::TAG_LEN + value.len();
            if chunk.len() + len > chunk.capacity() {
                left = left.saturating_sub(chunk.len());
                let next = Vec::with_capacity(left.min(CHUNK_LEN).max(len));
                self.add_chunk(&mut writer, std::mem::replace(&mut chunk, next), &places);
                places.clear();
            }
            let at = chunk.len() as u32;
            let (key_len, value_len) = append(&mut chunk, &entry);
            places.push((at, key_len, value_len));
        }
        if !places.is_empty() {
            self.add_chunk(&mut writer, chunk, &places);
        }
    }

    fn add_chunk(&self, writer: &mut Writer, chunk: Vec<u8>, places: &[(u32, u32, u32)]) {
        let number = writer.chunk_count;
        writer.chunk_count += 1;
        self.chunks.grow(writer.chunk_count);
        let Some(slot) = self.chunks.get(number) else {
            return;
        };
        let nodes_before = writer.nodes_end;
        let chunk_len = chunk.capacity();
        // The slot is new: nobody has set it.
        let _ = slot.set(chunk);
        for &(at, key_len, value_len) in places {
            self.add_node(writer, [number as u32, at, key_len, value_len]);
        }
        let nodes_len = (writer.nodes_end - nodes_before) * size_of::<AtomicU32>();
        let slot_len = size_of::<OnceLock<Vec<u8>>>();
        self.len_bytes
            .fetch_add(chunk_len + nodes_len + slot_len, Memory::Relaxed);
    }

    fn add_node(&self, writer: &mut Writer, fields: [u32; FIELDS]) {
        let levels = writer.random_levels();
        let node = self.nodes.room(writer.nodes_end, FIELDS + levels);
        writer.nodes_end = node + FIELDS + levels;
        self.nodes.grow(writer.nodes_end);
        let node = node as u32;
        let slots = self.node(node);
        for (slot, field) in slots.iter().zip(fields) {
            slot.store(field, Memory::Relaxed);
        }
        let height = self.height.load(Memory::Relaxed);
        self.find_place(writer, self.key(node));
        for level in height..levels {
            writer.before[level] = HEAD;
        }
        if levels > height {
            // Readers that do not see it yet only start lower; those that do find the head's empty links.
            self.height.store(levels, Memory::Relaxed);
        }
        for level in 0..levels {
            let before = writer.before[level];
            let next = self.next(before, level);
            if let Some(link) = slots.get(FIELDS + level) {
                link.store(next, Memory::Relaxed);
            }
            if let Some(link) = self.node(before).get(FIELDS + level) {
                link.store(node, Memory::Release);
            }
            writer.before[level] = node;
        }
        writer.last = node;
    }

    /// Sets what comes before `key` on each level.
    fn find_place(&self, writer: &mut Writer, key: &[u8]) {
        // Keys often come in order: then what came before the last one's successor is what is sought.
        if writer.last != HEAD && self.is_before(writer.last, key) {
            let next = self.next(writer.last, 0);
            if next == HEAD || !self.is_before(next, key) {
                return;
            }
        }
        self.search(key, |level, node| writer.before[level] = node);
    }

    /// The last node before `key`, and the one after it that was found not to be: by now a newer one may stand between
    /// them. Tells each level's last node before `key`.
    fn search(&self, key: &[u8], mut found: impl FnMut(usize, u32)) -> (u32, u32) {
        let mut node = HEAD;
        // A node that was compared on the level above need not be again.
        let mut not_before = HEAD;
        for level in (0..self.height.load(Memory::Relaxed)).rev() {
            loop {
                let next = self.next(node, level);
                if next == HEAD || next == not_before || !self.is_before(next, key) {
                    not_before = next;
                    break;
                }
                node = next;
            }
            found(level, node);
        }
        (node, not_before)
    }

    fn is_before(&self, node: u32, key: &[u8]) -> bool {
        self.order.compare(self.key(node), key) == Ordering::Less
    }

    /// The first node that is not before `key`, or [`HEAD`].
    fn first_at_least(&self, key: &[u8]) -> u32 {
        self.search(key, |_, _| ()).1
    }

    /// The last node before `key`, or [`HEAD`].
    fn last_before(&self, key: &[u8]) -> u32 {
        self.search(key, |_, _| ()).0
    }

    fn last(&self) -> u32 {
        let mut node = HEAD;
        for level in (0..self.height.load(Memory::Relaxed)).rev() {
            loop {
                match self.next(node, level) {
                    HEAD => break,
                    next => node = next,
                }
            }
        }
        node
    }

    #[inline]
    fn node(&self, node: u32) -> &[AtomicU32] {
        self.nodes.from(node as usize)
    }

    #[inline]
    fn next(&self, node: u32, level: usize) -> u32 {
        self.node(node)
            .get(FIELDS + level)
            .map_or(HEAD, |link| link.load(Memory::Acquire))
    }

    /// A node's internal key and value.
    #[inline]
    fn bytes(&self, node: u32) -> (&[u8], &[u8]) {
        let [chunk, at, key_len, value_len, ..] = self.node(node) else {
            return (&[], &[]);
        };
        let field = |field: &AtomicU32| field.load(Memory::Relaxed) as usize;
        let chunk = self.chunks.get(field(chunk)).and_then(OnceLock::get);
        let Some(bytes) = chunk.and_then(|chunk| chunk.get(field(at)..)) else {
            return (&[], &[]);
        };
        let (key, rest) = bytes.split_at(field(key_len).min(bytes.len()));
        (key, rest.get(..field(value_len)).unwrap_or_default())
    }

    #[inline]
    fn key(&self, node: u32) -> &[u8] {
        self.bytes(node).0
    }
}

fn parts<'a>(entry: &BatchEntry<'a>) -> (&'a [u8], &'a [u8]) {
    match entry.operation {
        Operation::Put(key, value) => (key, value),
        Operation::Delete(key) => (key, &[]),
    }
}

/// Appends internal key and value: their lengths. A batch is shorter than 4 GiB.
fn append(chunk: &mut Vec<u8>, entry: &BatchEntry<'_>) -> (u32, u32) {
    let (key, value) = parts(entry);
    let kind = match entry.operation {
        Operation::Put(..) => EntryKind::Value,
        Operation::Delete(_) => EntryKind::Deletion,
    };
    internal_key::encode(chunk, key, entry.sequence, kind);
    chunk.extend_from_slice(value);
    (
        (key.len() + internal_key::TAG_LEN) as u32,
        value.len() as u32,
    )
}

impl Writer {
    /// One level, and with a probability of a quarter each another one.
    fn random_levels(&mut self) -> usize {
        let mut levels = 1;
        loop {
            // Xorshift: any sequence without a pattern will do.
            self.random ^= self.random << 13;
            self.random ^= self.random >> 17;
            self.random ^= self.random << 5;
            if levels == LEVELS_MAX || !self.random.is_multiple_of(4) {
                return levels;
            }
            levels += 1;
        }
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
