//! The content of a store at a sequence number.

use crate::bounds::Bounds;
use crate::core::{Core, OnDamage};
use crate::damage::Damage;
use crate::doubt::Doubt;
use crate::entries::Entries;
use crate::error::{Error, Result};
use crate::internal_key::{self, EntryKind, SEQUENCE_MAX, seek_tag};
use crate::iter::Iter;
use crate::memtable::{self, MemCursor, MemTable, MemValue};
use crate::skip_list::{SkipCursor, SkipList};
use crate::source::{RunCursor, Source};
use crate::version::Version;
use std::sync::Arc;

/// What a snapshot reads from. Immutable, but for newer entries that are put into the first memtable.
#[derive(Debug)]
pub(crate) struct ReadState {
    pub(crate) core: Arc<Core>,
    pub(crate) version: Arc<Version>,
    /// Of the logs, when opened for reading only.
    pub(crate) mem: Arc<MemTable>,
    /// Being written, the newest first: the one that is filled and the one that becomes a table.
    pub(crate) live: Vec<Arc<SkipList>>,
}

impl ReadState {
    /// A cursor for each source, the newest first.
    pub(crate) fn sources(&self) -> Vec<Source> {
        self.sources_within(None)
    }

    /// The same for someone who wants no keys outside of the bounds: entries there come or do not come.
    pub(crate) fn sources_within(&self, bounds: Option<Arc<Bounds>>) -> Vec<Source> {
        let live = self
            .live
            .iter()
            .map(|list| Source::Live(SkipCursor::new(list.clone())));
        let mem = (!self.mem.is_empty())
            .then(|| Source::Mem(MemCursor::new(self.mem.clone(), self.core.order.clone())));
        let run = |i| {
            let run = RunCursor::new(self.core.clone(), self.version.clone(), i);
            Source::Run(run.within(bounds.clone()))
        };
        live.chain(mem)
            .chain((0..self.version.runs.len()).map(run))
            .collect()
    }
}

/// The content of a store as of a sequence number. Cheap to clone; keeps what it reads from alive: memtables, and tables that
/// compactions have replaced since.
#[derive(Clone, Debug)]
pub struct Snapshot {
    state: Arc<ReadState>,
    sequence: u64,
}

/// The newest entry of a key.
struct Found {
    internal_key: Vec<u8>,
    rank: usize,
}

impl Snapshot {
    pub(crate) fn new(state: Arc<ReadState>, sequence: u64) -> Snapshot {
        Snapshot {
            state,
            sequence: sequence.min(SEQUENCE_MAX),
        }
    }

    /// The greatest sequence number that is seen.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The value of a key. Fails with [`ErrorKind::Corruption`](crate::ErrorKind::Corruption) if damage may have taken a
    /// newer value or the only one, also with [`OnDamage::Skip`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut value = Vec::new();
        Ok(self.get_into(key, &mut value)?.then_some(value))
    }

    /// Puts the value of a key into `value`, in place of what was there: whether there is one. Fails as [`get`](Self::get)
    /// does.
    pub fn get_into(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        let mut target = Vec::with_capacity(key.len() + internal_key::TAG_LEN);
        internal_key::encode_tagged(&mut target, key, seek_tag(self.sequence));
        value.clear();
        let found = self.find(&target, value)?;
        let (rank, internal_key) = match &found {
            Some(found) => (found.rank, &found.internal_key[..]),
            None => {
                // Nothing newer than the oldest possible entry of the oldest source.
                let tag_at = target.len() - internal_key::TAG_LEN;
                target[tag_at..].fill(0);
                (usize::MAX, &target[..])
            }
        };
        let kind = internal_key::tag(internal_key) as u8;
        let is_lost = found.is_some() && kind == EntryKind::Lost.to_byte();
        if is_lost
            || Doubt::default()
                .about(&self.state.core, &self.state.version, rank, internal_key)
                .is_some()
        {
            let what = "an entry of the key may be lost in a damaged part of the store";
            return Err(Error::new(crate::ErrorKind::Corruption, what));
        }
        Ok(found.is_some() && kind == EntryKind::Value.to_byte())
    }

    fn find(&self, target: &[u8], value: &mut Vec<u8>) -> Result<Option<Found>> {
        let state = &self.state;
        for list in &state.live {
            if let Some(tag) = list.get(target, value) {
                let mut internal_key = internal_key::user_key(target).to_vec();
                internal_key.extend_from_slice(&tag.to_le_bytes());
                return Ok(Some(Found {
                    internal_key,
                    rank: 0,
                }));
            }
        }
        let mut mem = MemCursor::new(state.mem.clone(), state.core.order.clone());
        if memtable::find(&mut mem, target) {
            match mem.value() {
                MemValue::Bytes(bytes) => value.extend_from_slice(bytes),
                MemValue::InLog(in_log) => *value = in_log.read()?,
            }
            return Ok(Some(Found {
                internal_key: mem.key().to_vec(),
                rank: 0,
            }));
        }
        let mut best: Option<Found> = None;
        for (i, run) in state.version.runs.iter().enumerate() {
            if best.as_ref().is_some_and(|best| best.rank < run.rank) {
                break;
            }
            let mut cursor = RunCursor::new(state.core.clone(), state.version.clone(), i);
            if !cursor.seek_to_key(target)? {
                continue;
            }
            // Runs of one rank: the newest entry counts.
            let tag = internal_key::tag(cursor.key());
            if best
                .as_ref()
                .is_none_or(|best| internal_key::tag(&best.internal_key) < tag)
            {
                value.clear();
                value.extend_from_slice(cursor.value());
                best = Some(Found {
                    internal_key: cursor.key().to_vec(),
                    rank: run.rank,
                });
            }
        }
        Ok(best)
    }

    /// Rows in order, in both directions.
    pub fn iter(&self) -> Iter {
        Iter::new(self.state.clone(), self.sequence, None)
    }

    /// The same, as if there were no rows outside of the bounds. It looks at nothing there either, but for what shares a block with
    /// rows within them, and the first entry after them: what else is there, tombstones for instance, costs nothing.
    pub fn iter_within(&self, bounds: Bounds) -> Iter {
        Iter::new(self.state.clone(), self.sequence, Some(Arc::new(bounds)))
    }

    /// Every entry that is there, in internal order: all versions, tombstones, and what damage took.
    pub fn entries(&self) -> Entries {
        Entries::new(&self.state, self.sequence)
    }

    /// All damage met so far by anyone who reads this store; empty with [`OnDamage::Fail`].
    pub fn damage(&self) -> Vec<Damage> {
        match self.state.core.on_damage {
            OnDamage::Fail => Vec::new(),
            OnDamage::Skip => self.state.core.damage.list(),
        }
    }
}
