//! A transaction that only deletes commits on a full disk, too, and makes room: decision 19.
//!
//! It may use the reserve if it deletes ranges, as `clear` and `deleteObjectStore` do, and puts no record: what it
//! writes is small beside what it frees. When it is committed, what the ranges had is taken out of tables and logs. The
//! scope is held until that is done, so no transaction writes there, and nothing of the transaction itself keeps the
//! files that go.

use std::sync::Arc;

use larder_codec::BlobNumber;
use larder_leveldb::Durability;
use larder_leveldb::write_batch::BatchWriter;

use super::{Puts, State, WriteTransaction};
use crate::backing_store::Core;
use crate::error::Result;

/// For more ranges than that, no room is made at once.
const RANGES_MAX: usize = 32;

/// What few transactions have.
#[derive(Debug, Default)]
pub(super) struct Seldom {
    /// Bytes of rows that were written before the commit.
    pub(super) spilled_bytes: u64,
    /// The numbers of its handles of the file system, where those have any.
    pub(super) handle_numbers: Vec<BlobNumber>,
    /// Ranges of which it has deleted all rows: from a key up to and without another.
    deleted: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A transaction's scope, which others get when this goes.
#[derive(Debug)]
struct HeldScope {
    core: Arc<Core>,
    number: u64,
}

impl Drop for HeldScope {
    fn drop(&mut self) {
        self.core.leave(self.number);
    }
}

impl WriteTransaction {
    /// All rows in the range are deleted.
    pub(crate) fn note_deleted(&mut self, low: &[u8], end: &[u8]) {
        let ranges = &mut self.seldom.get_or_insert_default().deleted;
        if ranges.len() < RANGES_MAX {
            ranges.push((low.to_vec(), end.to_vec()));
        }
    }

    /// A record is put.
    pub(crate) const fn note_put(&mut self) {
        self.puts = Puts::Records;
    }

    /// Whether it keeps to the quota.
    pub(super) fn is_under_quota(&self) -> bool {
        self.puts > Puts::Nothing
    }

    /// Whether it only makes room.
    fn only_deletes(&self) -> bool {
        let deletes = |seldom: &Seldom| !seldom.deleted.is_empty();
        self.puts < Puts::Records && self.seldom.as_deref().is_some_and(deletes)
    }

    /// Does what opening has left to the first write.
    pub(super) fn settle(&self) -> Result<()> {
        match self.only_deletes() {
            true => self.core.with_reserve(|_| self.core.settle()),
            false => self.core.settle(),
        }
    }

    /// Writes the batch that commits it.
    pub(super) fn hand_over(&self, batch: &mut BatchWriter, durability: Durability) -> Result<()> {
        let fits = batch.len_bytes() <= self.core.options.reserve_bytes;
        if !fits || !self.only_deletes() {
            return Ok(self.core.db.write(batch, durability)?);
        }
        // The engine empties what it could not write, too.
        let mut again = batch.clone();
        self.core.with_reserve(|is_without| {
            let batch = if is_without { &mut again } else { &mut *batch };
            Ok(self.core.db.write(batch, durability)?)
        })
    }

    /// When it is committed: makes room of what it has deleted, if that is wanted. Ends it before, since what it reads from keeps files.
    pub(super) fn gain_room(mut self) {
        if !self.only_deletes() || !self.core.db.is_short_of_room() {
            return;
        }
        let Some(seldom) = self.seldom.take() else {
            return;
        };
        let held = HeldScope {
            core: Arc::clone(&self.core),
            number: self.number,
        };
        self.state = State::ScopeHeld;
        drop(self);
        held.core.gain_room_of(&seldom.deleted);
    }

    /// Others may write what it could, unless its scope is still held.
    pub(super) fn leave(&self) {
        if self.state != State::ScopeHeld {
            self.core.leave(self.number);
        }
    }
}
