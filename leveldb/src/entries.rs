//! Raw entries: what is there before tombstones and newer versions hide anything.

use crate::error::Result;
use crate::internal_key::{self, EntryKind, InternalOrder};
use crate::merge::MergeCursor;
use crate::read_state::ReadState;
use crate::source::Source;
use std::cell::OnceCell;

/// A walk over all entries of a snapshot, in internal order: user keys ascending, of one key the newest first. Nothing is
/// withheld: what damage makes doubtful comes as well. Stands before the first entry at the beginning.
#[derive(Debug)]
pub struct Entries {
    merge: MergeCursor,
    sequence: u64,
    /// Where `advance` goes first: to the first entry, or to this internal key.
    start: Option<Start>,
    read_value: OnceCell<Vec<u8>>,
}

#[derive(Debug)]
enum Start {
    First,
    At(Vec<u8>),
}

impl Entries {
    pub(crate) fn new(state: &ReadState, sequence: u64) -> Entries {
        Entries::of(state.core.order.clone(), state.sources(), sequence)
    }

    /// Merges any sources.
    pub(crate) fn of(order: InternalOrder, sources: Vec<Source>, sequence: u64) -> Entries {
        let merge = MergeCursor::new(order, sources);
        Entries {
            merge,
            sequence,
            start: Some(Start::First),
            read_value: OnceCell::new(),
        }
    }

    /// To the next entry: whether there is one. What can be asked for afterwards belongs to that entry.
    pub fn advance(&mut self) -> Result<bool> {
        self.read_value.take();
        match self.start.take() {
            None => self.merge.step()?,
            Some(Start::First) => self.merge.seek_to_first()?,
            Some(Start::At(target)) => self.merge.seek(&target)?,
        }
        while self.merge.current().is_some() && self.sequence() > self.sequence {
            self.merge.step()?;
        }
        Ok(self.merge.current().is_some())
    }

    /// To before the first entry of a key, or of the first key behind it: [`advance`](Self::advance) goes there next.
    pub fn seek(&mut self, key: &[u8]) {
        let newest = internal_key::seek_tag(internal_key::SEQUENCE_MAX);
        self.start = Some(Start::At(internal_key::tagged(key, newest)));
    }

    fn internal_key(&self) -> &[u8] {
        self.merge.current().map_or(&[], Source::key)
    }

    /// The user key.
    pub fn key(&self) -> &[u8] {
        internal_key::user_key(self.internal_key())
    }

    /// The sequence number.
    pub fn sequence(&self) -> u64 {
        internal_key::tag(self.internal_key()) >> 8
    }

    /// What the entry says about its key.
    pub fn kind(&self) -> EntryKind {
        EntryKind::from_disk(internal_key::tag(self.internal_key()) as u8)
            .unwrap_or(EntryKind::Lost)
    }

    /// The value; empty for all kinds but [`EntryKind::Value`]. Fails only for a large value that is read from its log now.
    pub fn value(&self) -> Result<&[u8]> {
        match self.merge.current().map(Source::value) {
            Some(value) => value.bytes(&self.read_value),
            None => Ok(&[]),
        }
    }

    /// The name of the file that holds the entry.
    pub fn file_name(&self) -> &str {
        self.merge.current().map_or("", Source::file_name)
    }
}
