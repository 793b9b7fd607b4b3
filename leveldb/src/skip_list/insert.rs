//! Inserts a batch into the list: what does not fit into nodes goes to chunks, and entries are inserted in the order of their keys,
//! some at a time. A large batch of long values becomes a chunk itself.

use super::arrange::{self, RUN_LEN};
use super::node::INLINE_LEN_MAX;
use super::{SkipList, Writer};
use crate::internal_key::{self, EntryKind};
use crate::sync::AtomicU64;
use crate::write_batch::{BatchEntry, BatchReader, BatchWriter, Operation};
use std::sync::atomic::Ordering as Memory;
use std::sync::{Arc, OnceLock, PoisonError};

/// Bytes of a large batch's chunks, but for one with a longer entry alone in it.
pub(super) const CHUNK_LEN: usize = 1 << 20;
/// Batches of so many bytes may be kept as they are: shorter ones are written again and again into the same memory.
const KEPT_LEN_MIN: usize = if cfg!(miri) { 1 << 9 } else { 1 << 16 };

/// An entry to be inserted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming<'a> {
    pub(super) key: &'a [u8],
    pub(super) value: &'a [u8],
    /// The tag of the internal key.
    pub(super) tag: u64,
    /// Chunk, and offset in it, of what does not fit into the node.
    pub(super) place: (u32, u32),
    /// In the order of the keys of its run; see [`arrange`].
    pub(super) number: u128,
}

impl<'a> Incoming<'a> {
    fn new(entry: &BatchEntry<'a>) -> Incoming<'a> {
        let (key, value, kind) = match entry.operation {
            Operation::Put(key, value) => (key, value, EntryKind::Value),
            Operation::Delete(key) => (key, &[][..], EntryKind::Deletion),
        };
        Incoming {
            key,
            value,
            tag: internal_key::tag_of(entry.sequence, kind),
            place: (0, 0),
            number: 0,
        }
    }

    fn has_key_outside(&self) -> bool {
        self.key.len() + internal_key::TAG_LEN > INLINE_LEN_MAX
    }

    fn has_value_outside(&self) -> bool {
        self.value.len() > INLINE_LEN_MAX
    }

    /// How many of its bytes do not fit into its node.
    fn outside_len(&self) -> usize {
        let key_len = self.key.len() + internal_key::TAG_LEN;
        let part = |is_outside: bool, len: usize| if is_outside { len } else { 0 };
        part(self.has_key_outside(), key_len) + part(self.has_value_outside(), self.value.len())
    }
}

impl SkipList {
    /// Inserts all entries of a finished batch. It may keep the batch's memory as a chunk, so that long values are not copied. Without
    /// that, puts of 1 KiB by `idb` took 1.11 and 1.12 of the CPU time, and `getAll`, which would copy each value again, 1.33.
    pub(crate) fn insert(&self, batch: &mut BatchWriter) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // A batch that was written here reads back.
        if batch.len_bytes() < KEPT_LEN_MIN || !is_worth_keeping(batch) {
            if let Ok(entries) = BatchReader::new(batch.as_bytes()) {
                self.add_entries(&mut writer, entries, None);
            }
            return;
        }
        let number = self.add_chunk(&mut writer, batch.take());
        let chunk = self.chunks.get(number).and_then(OnceLock::get);
        if let Some(Ok(entries)) = chunk.map(|bytes| BatchReader::new(bytes)) {
            self.add_entries(&mut writer, entries, Some(number));
        }
    }

    /// Inserts copies of all entries of a batch.
    #[cfg(test)]
    pub(super) fn insert_copy(&self, batch: BatchReader<'_>) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.add_entries(&mut writer, batch, None);
    }

    /// Inserts the entries of a batch that is a chunk itself, or whose memory is not kept.
    fn add_entries(&self, writer: &mut Writer, batch: BatchReader<'_>, chunk: Option<usize>) {
        self.expect_ascending(writer, &batch);
        let nodes_before = writer.nodes_end;
        let run_len = RUN_LEN.min(batch.entry_count() as usize);
        let mut incoming = batch.flatten().map(|entry| {
            let chunk = chunk.map(|number| (number as u32, entry.value_offset as u32));
            let place = chunk.unwrap_or_default();
            Incoming {
                place,
                ..Incoming::new(&entry)
            }
        });
        let mut add = |run: &mut [Incoming<'_>]| {
            if chunk.is_none() {
                self.add_chunks(writer, run);
            }
            self.add_run(writer, run);
        };
        if run_len == 1 {
            // Most batches of some hosts: nothing need be collected.
            incoming.for_each(|entry| add(&mut [entry]));
        } else {
            let mut run = Vec::with_capacity(run_len);
            loop {
                run.clear();
                run.extend(incoming.by_ref().take(RUN_LEN));
                if run.is_empty() {
                    break;
                }
                add(&mut run);
            }
        }
        let nodes_len = (writer.nodes_end - nodes_before) * size_of::<AtomicU64>();
        self.len_bytes.fetch_add(nodes_len, Memory::Relaxed);
    }

    /// Inserts entries in the order of their keys. Those of one key stay in the order of the batch, since the hash table names the one
    /// inserted last, which has to be the newest.
    fn add_run(&self, writer: &mut Writer, run: &mut [Incoming<'_>]) {
        let indexes = arrange::arrange(&self.order, run);
        let mut before = None;
        let mut add = |entry| {
            self.add_node(writer, entry, before);
            before = Some(entry);
        };
        match indexes {
            None => run.iter().for_each(&mut add),
            Some(indexes) => (indexes.iter())
                .filter_map(|&index| run.get(index))
                .for_each(&mut add),
        }
    }

    /// The hash table names the entry of a key that was inserted last. That is the newest one only while sequence numbers ascend from
    /// batch to batch. Where they do not, a lookup by hash would answer with an older value, so the table is turned off.
    fn expect_ascending(&self, writer: &mut Writer, batch: &BatchReader<'_>) {
        let is_behind = batch.sequence() >= writer.sequence_end;
        if let Some(hints) = &self.hints
            && !is_behind
        {
            hints.turn_off();
        }
        writer.sequence_end = batch.sequence() + u64::from(batch.entry_count());
    }

    /// Copies what does not fit into nodes.
    fn add_chunks(&self, writer: &mut Writer, run: &mut [Incoming<'_>]) {
        let mut left: usize = run.iter().map(Incoming::outside_len).sum();
        if left == 0 {
            return;
        }
        let mut chunk = Vec::new();
        for entry in run {
            let len = entry.outside_len();
            if len == 0 {
                continue;
            }
            if chunk.len() + len > chunk.capacity() {
                left = left.saturating_sub(chunk.len());
                let next = Vec::with_capacity(left.min(CHUNK_LEN).max(len));
                let full = std::mem::replace(&mut chunk, next);
                // Nothing is in the first.
                if !full.is_empty() {
                    self.add_chunk(writer, full);
                }
            }
            entry.place = (writer.chunk_count as u32, chunk.len() as u32);
            if entry.has_key_outside() {
                internal_key::encode_tagged(&mut chunk, entry.key, entry.tag);
            }
            if entry.has_value_outside() {
                chunk.extend_from_slice(entry.value);
            }
        }
        self.add_chunk(writer, chunk);
    }

    /// Takes a chunk: its number.
    fn add_chunk(&self, writer: &mut Writer, chunk: Vec<u8>) -> usize {
        let number = writer.chunk_count;
        writer.chunk_count += 1;
        self.chunks.grow(writer.chunk_count);
        let len = chunk.len() + size_of::<OnceLock<Arc<Vec<u8>>>>() + size_of::<Vec<u8>>();
        self.len_bytes.fetch_add(len, Memory::Relaxed);
        if let Some(slot) = self.chunks.get(number) {
            // The slot is new: it is empty.
            let _ = slot.set(Arc::new(chunk));
        }
        number
    }
}

/// Whether most of a batch are values that do not fit into nodes, and all of its keys do: a long key is followed by its sequence
/// number, for which a batch has no room.
fn is_worth_keeping(batch: &BatchWriter) -> bool {
    let long = batch.long();
    long.key_count == 0 && long.value_bytes > batch.len_bytes() / 2
}
