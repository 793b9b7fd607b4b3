//! How a batch comes into the list: what does not fit into nodes goes to chunks, and entries are put in in the order of their
//! keys, some at a time. A large batch of long values becomes a chunk itself.

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

impl SkipList {
    /// Puts in all entries of a finished batch, and may keep its memory. Long values then need not be copied.
    pub(crate) fn take_in(&self, batch: &mut BatchWriter) {
        // A batch that was written here reads back.
        let Ok(entries) = BatchReader::new(batch.as_bytes()) else {
            return;
        };
        if batch.len_bytes() < KEPT_LEN_MIN || !is_worth_keeping(entries.clone()) {
            return self.insert(entries);
        }
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.add_chunk(&mut writer, batch.take());
        let chunk = self.chunks.get(number).and_then(OnceLock::get);
        if let Some(Ok(entries)) = chunk.map(|bytes| BatchReader::new(bytes)) {
            self.expect_ascending(&mut writer, &entries);
            let placed = entries.clone().flatten();
            let placed = placed.map(|entry| (entry, (number as u32, entry.value_offset as u32)));
            self.add_nodes(&mut writer, entries.entry_count(), placed);
        }
    }

    /// Puts in copies of all entries of a batch.
    pub(crate) fn insert(&self, batch: BatchReader<'_>) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.expect_ascending(&mut writer, &batch);
        let left: usize = batch
            .clone()
            .flatten()
            .map(|entry| outside_len(&entry))
            .sum();
        let mut places = Vec::new();
        if left > 0 {
            self.add_chunks(&mut writer, batch.clone(), left, &mut places);
        }
        let mut places = places.into_iter();
        let entry_count = batch.entry_count();
        let placed = batch.flatten().map(|entry| {
            let place = match outside_len(&entry) {
                0 => (0, 0),
                _ => places.next().unwrap_or_default(),
            };
            (entry, place)
        });
        self.add_nodes(&mut writer, entry_count, placed);
    }

    /// Puts in the entries of a batch, each with where its bytes are that do not fit into its node.
    fn add_nodes<'a>(
        &self,
        writer: &mut Writer,
        entry_count: u32,
        mut placed: impl Iterator<Item = (BatchEntry<'a>, (u32, u32))>,
    ) {
        let nodes_before = writer.nodes_end;
        let is_alone = entry_count == 1;
        while let Some(first) = placed.next() {
            if is_alone {
                let head = self.head(first.0.operation.key());
                self.add_node(writer, &first.0, head, first.1);
                continue;
            }
            let others = placed.by_ref().take(RUN_LEN - 1);
            let run: Vec<_> = std::iter::once(first).chain(others).collect();
            self.add_run(writer, &run);
        }
        let nodes_len = (writer.nodes_end - nodes_before) * size_of::<AtomicU64>();
        self.len_bytes.fetch_add(nodes_len, Memory::Relaxed);
    }

    /// Puts in entries in the order of their keys. Those of one key keep theirs: hints are of the last one.
    fn add_run(&self, writer: &mut Writer, run: &[(BatchEntry<'_>, (u32, u32))]) {
        let keys: Vec<&[u8]> = run.iter().map(|(entry, _)| entry.operation.key()).collect();
        for (head, index) in arrange::ascending(&self.order, &keys) {
            if let Some((entry, place)) = run.get(index) {
                self.add_node(writer, entry, head, *place);
            }
        }
    }

    /// Hints are of the entries that were put in last. Those are the newest if each batch, of which each key's entries are
    /// put in with ascending sequence numbers, goes on behind the one before.
    fn expect_ascending(&self, writer: &mut Writer, batch: &BatchReader<'_>) {
        let is_behind = batch.sequence() >= writer.sequence_end;
        if let Some(hints) = &self.hints
            && !is_behind
        {
            hints.turn_off();
        }
        writer.sequence_end = batch.sequence() + u64::from(batch.entry_count());
    }

    /// Copies what does not fit into nodes, `left` bytes in all: chunk and offset for each entry that has any.
    fn add_chunks(
        &self,
        writer: &mut Writer,
        batch: BatchReader<'_>,
        mut left: usize,
        places: &mut Vec<(u32, u32)>,
    ) {
        let mut chunk = Vec::new();
        for entry in batch.flatten() {
            let len = outside_len(&entry);
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
            places.push((writer.chunk_count as u32, chunk.len() as u32));
            let (key, value, kind) = parts(&entry);
            if key.len() + internal_key::TAG_LEN > INLINE_LEN_MAX {
                internal_key::encode(&mut chunk, key, entry.sequence, kind);
            }
            if value.len() > INLINE_LEN_MAX {
                chunk.extend_from_slice(value);
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
            // The slot is new: nobody has set it.
            let _ = slot.set(Arc::new(chunk));
        }
        number
    }
}

pub(super) fn parts<'a>(entry: &BatchEntry<'a>) -> (&'a [u8], &'a [u8], EntryKind) {
    match entry.operation {
        Operation::Put(key, value) => (key, value, EntryKind::Value),
        Operation::Delete(key) => (key, &[], EntryKind::Deletion),
    }
}

/// Whether most of a batch are values that do not fit into nodes, and all of its keys do: a long key is followed by its sequence
/// number, for which a batch has no room.
fn is_worth_keeping(batch: BatchReader<'_>) -> bool {
    let (mut outside, mut inside) = (0, 0);
    for entry in batch.flatten() {
        let (key, value, _) = parts(&entry);
        if key.len() + internal_key::TAG_LEN > INLINE_LEN_MAX {
            return false;
        }
        match value.len() > INLINE_LEN_MAX {
            true => outside += value.len(),
            false => inside += value.len(),
        }
        inside += key.len();
    }
    outside > inside
}

/// How many bytes of an entry do not fit into its node.
fn outside_len(entry: &BatchEntry<'_>) -> usize {
    let (key, value, _) = parts(entry);
    let outside = |len: usize| if len > INLINE_LEN_MAX { len } else { 0 };
    outside(key.len() + internal_key::TAG_LEN) + outside(value.len())
}
