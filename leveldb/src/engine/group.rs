//! Group commit: writers that come while another one writes are written together, with one sync for all.
//!
//! A thread that comes while no other writes, writes its own batch. Others add theirs to the last waiting group; the first of a group
//! writes it when its turn comes, and the rest only wait for the result.
//!
//! Why: a sync takes as long for one batch as for a hundred. What keeps it right:
//! - One thread at a time is between [`join`](Engine::join) and [`next_turn`](Engine::next_turn), so the order in the log is the order of
//!   sequence numbers and of the memtable. Two at once could acknowledge a write whose log record lies behind one that failed.
//! - `is_busy` goes from thread to thread with the turn and is cleared only while the queue is empty, under its lock. Cleared earlier, a
//!   newcomer would overtake a group that waits.
//! - A group is taken out of the queue by its first thread before it is written. A batch that joins is therefore either in what is written,
//!   or in a later group; appended after that, it would be acknowledged without being in the log.
//! - One strict batch makes its group strict: the result is the same for all, so it must hold for the most demanding.

use super::health::panicked;
use super::{Engine, locked};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex};
use crate::write_batch::BatchWriter;
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

/// Batches are added to a group until it has so many bytes.
const GROUP_LEN_MAX: usize = 1 << 20;
/// Lengths and offsets of 32 bits must do, with eight bytes more for each entry.
const BATCH_LEN_MAX: usize = 3 << 30;
const BATCH_ENTRIES_MAX: u32 = 1 << 27;

/// What has to happen before a write is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The operating system has it: it survives the death of this process.
    Relaxed,
    /// The medium has it, and everything written before: it survives the death of the machine.
    Strict,
}

/// Groups that wait.
#[derive(Debug, Default)]
pub(super) struct Queue {
    is_busy: bool,
    waiting: VecDeque<Group>,
}

#[cfg(all(test, not(shuttle)))]
impl Queue {
    pub(super) fn waiting_entries(&self) -> u32 {
        let groups = self.waiting.iter();
        groups.map(|group| group.batch.entry_count()).sum()
    }
}

#[derive(Debug)]
struct Group {
    batch: BatchWriter,
    durability: Durability,
    turn: Arc<Turn>,
}

/// What the writers of a group wait for.
#[derive(Debug, Default)]
struct Turn {
    state: Mutex<TurnState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct TurnState {
    is_up: bool,
    result: Option<Shared>,
}

/// The result, for all writers of a group.
type Shared = Result<()>;

/// The right to write, held by one thread. It passes to the next group when this one is done, also when its writer has panicked: else
/// the rest would wait for ever. They get the error then, and later writes are refused.
struct Writing<'a> {
    engine: &'a Engine,
    turn: Option<Arc<Turn>>,
    result: Option<Shared>,
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let result = self.result.take().unwrap_or_else(|| {
            let error = panicked("a write");
            self.engine.fail(&error);
            Err(error)
        });
        self.engine.next_turn();
        if let Some(turn) = &self.turn {
            turn.set(|state| state.result = Some(result));
        }
    }
}

impl Turn {
    fn set(&self, change: impl FnOnce(&mut TurnState)) {
        change(&mut locked(&self.state));
        self.changed.notify_all();
    }

    /// Waits until the group has been written, or, for its first writer, until it may be.
    fn wait(&self, is_first: bool) -> Option<Result<()>> {
        let state = locked(&self.state);
        let is_waiting =
            |state: &mut TurnState| state.result.is_none() && !(is_first && state.is_up);
        let waited = self.changed.wait_while(state, is_waiting);
        let state = waited.unwrap_or_else(PoisonError::into_inner);
        state.result.clone()
    }
}

impl Engine {
    /// Writes a batch, and empties it.
    pub(crate) fn write(&self, batch: &mut BatchWriter, durability: Durability) -> Result<()> {
        if batch.len_bytes() > BATCH_LEN_MAX || batch.entry_count() > BATCH_ENTRIES_MAX {
            let what = "the write batch is too large: split it (3 GiB and 2^27 entries at most)";
            return Err(Error::new(ErrorKind::Usage, what));
        }
        let joined = self.join(batch, durability);
        let Some((turn, is_first)) = joined else {
            let written = self.write_for(None, batch, durability);
            batch.clear();
            return written;
        };
        batch.clear();
        if let Some(result) = turn.wait(is_first) {
            return result;
        }
        let group = locked(&self.queue).waiting.pop_front();
        let Some(mut group) = group else {
            // The first of a group has put it there. Nothing that was not written may be acknowledged.
            return Err(Error::new(
                ErrorKind::Closed,
                "nothing was written: the store lost the group of writes; write again",
            ));
        };
        self.write_for(Some(group.turn), &mut group.batch, group.durability)
    }

    /// Writes a batch when it is its turn, and hands on.
    fn write_for(
        &self,
        turn: Option<Arc<Turn>>,
        batch: &mut BatchWriter,
        durability: Durability,
    ) -> Result<()> {
        let mut writing = Writing {
            engine: self,
            turn,
            result: None,
        };
        let written = self.commit(batch, durability);
        if let Err(error) = &written {
            self.health.note_room(error);
        }
        writing.result = Some(written.clone());
        drop(writing);
        if self.core.tombstones.take_new() {
            // Reading alone begins no background work.
            self.wake();
        }
        written
    }

    /// Joins a waiting group: its turn, and whether as its first. `None` if no thread is writing.
    fn join(&self, batch: &BatchWriter, durability: Durability) -> Option<(Arc<Turn>, bool)> {
        let mut queue = locked(&self.queue);
        if !queue.is_busy {
            queue.is_busy = true;
            return None;
        }
        // A group whose turn is up may still grow until it is taken out.
        if let Some(last) = queue.waiting.back_mut()
            && last.batch.len_bytes() + batch.len_bytes() <= GROUP_LEN_MAX
        {
            last.batch.append(batch);
            if durability == Durability::Strict {
                last.durability = durability;
            }
            return Some((last.turn.clone(), false));
        }
        let turn = Arc::new(Turn::default());
        queue.waiting.push_back(Group {
            batch: batch.clone(),
            durability,
            turn: turn.clone(),
        });
        Some((turn, true))
    }

    fn next_turn(&self) {
        let mut queue = locked(&self.queue);
        match queue.waiting.front() {
            Some(group) => group.turn.set(|state| state.is_up = true),
            None => queue.is_busy = false,
        }
    }
}
