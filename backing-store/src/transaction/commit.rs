//! Commits: everything staged becomes one batch of the engine, or one edit with the runs that were spilled.

use std::sync::{Arc, MutexGuard};

use larder_codec::DataVersion;
use larder_leveldb::{Durability, log};

use super::{DATA_VERSION_ROW_LEN, State, WriteTransaction};
use crate::backing_store::Taken;
use crate::backing_store::open::data_version_row;
use crate::error::{Error, ErrorKind, Result};
use crate::external_object::ms_since_1970;
use crate::feed::Numbering;
use crate::scope::Scope;
use crate::staleness::OwnFacts;
use crate::sync::locked;
use crate::view::Pending;

/// What a commit holds while it is written.
#[derive(Debug)]
pub(super) struct Begun<'a> {
    _taken: Option<Taken<'a>>,
    _turn: Option<MutexGuard<'a, ()>>,
    /// The data version that the store has with this commit, if it raises it.
    pub(super) raise: Option<DataVersion>,
}

impl Begun<'_> {
    /// The row of the data version, if the commit raises it.
    pub(super) fn version_row(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        self.raise.map(data_version_row)
    }
}

impl WriteTransaction {
    /// Makes all of it visible to every transaction that begins from now on, and durable as was asked for at the
    /// beginning; always, if rows were written before. Blobs and files are written first, and are durable in any case.
    ///
    /// # Errors
    /// If a blob's content cannot be read or written, the engine cannot write, or the quota has no room
    /// ([`Error::quota`]), the transaction is rolled back: nothing of it is there, nor will it be when the store is
    /// opened again. `Uncertain` if the engine can neither write nor take back what it began to write; then it takes no
    /// further writes, and what is there shows when the store is opened again.
    pub fn commit(mut self) -> Result<()> {
        let core = Arc::clone(&self.core);
        let committed = self.commit_all();
        match committed.is_ok() {
            true => self.gain_room(),
            false => drop(self),
        }
        core.remove_replaced();
        committed
    }

    fn commit_all(&mut self) -> Result<()> {
        self.check_open()?;
        let numbering = self.numbering()?;
        match self.objects.is_empty() {
            true => self.write_commit(&[], false, numbering.as_ref()),
            false => self.commit_objects(numbering.as_ref()),
        }
    }

    /// The revisions of what it has changed, if there is a feed and anything was.
    fn numbering(&self) -> Result<Option<Numbering>> {
        let (Some(feed), Some(changes)) = (&self.feed, &self.changes) else {
            return Ok(None);
        };
        let now_ms = ms_since_1970(self.core.options.clock.now_us());
        Numbering::new(feed, changes, self.core.versions.data(), now_ms)
    }

    /// Writes one batch: the staged rows, and `rows`, which are of the whole store; or makes them part of the store together with
    /// the rows that were spilled before. If it `has_room`, the quota has given its bytes already.
    pub(super) fn write_commit(
        &mut self,
        rows: &[(Vec<u8>, Vec<u8>)],
        has_room: bool,
        numbering: Option<&Numbering>,
    ) -> Result<()> {
        let written = self.write_batch(rows, has_room, numbering);
        // A failure that is certain leaves the transaction open, and dropping it rolls back. After an uncertain one it must not roll
        // back: the commit may be in the log, and undoing rows of a commit that opening then finds would leave half of it.
        let is_certain = |error: &Error| error.kind() != ErrorKind::Uncertain;
        if !written.as_ref().is_err_and(is_certain) {
            self.state = State::Ended;
        }
        written?;
        if self.deletes {
            self.core.room.note_deleted();
        }
        if let Scope::Stores(database_id, _) = self.scope {
            let mut open = std::mem::take(&mut self.open_stores);
            if let Some(feed) = &self.feed {
                // Commits write to those without what is cached of them.
                open.stores.retain(|store| !feed.keeps(store.id));
            }
            self.core.store_cache().keep(database_id, open);
        }
        if let Scope::VersionChange(database_id) = self.scope {
            self.core.feeds.forget(database_id);
        }
        self.leave_runs();
        Ok(())
    }

    fn write_batch(
        &mut self,
        rows: &[(Vec<u8>, Vec<u8>)],
        has_room: bool,
        numbering: Option<&Numbering>,
    ) -> Result<()> {
        if let Some(ingestion) = self.ingestion.take() {
            return self.install(*ingestion, rows, has_room, numbering);
        }
        let has_staged = !locked(&self.pending).staging.is_empty();
        if !has_staged && rows.is_empty() && numbering.is_none() {
            return Ok(());
        }
        if let Some(row_store) = &self.core.row_store {
            return self.commit_to(&**row_store, rows, has_room);
        }
        self.settle()?;
        let shared = Arc::clone(&self.pending);
        let mut pending = locked(&shared);
        let Pending { staging, facts, .. } = &mut *pending;
        let batch = staging.batch();
        for (key, value) in rows {
            batch.put(key, value);
        }
        let feed_len = numbering.map_or(0, Numbering::len_bytes_max);
        let needed = log::growth_bytes_max(batch.len_bytes() + feed_len + DATA_VERSION_ROW_LEN);
        let begun = self.begin_commit((!has_room).then_some(needed), facts)?;
        if let Some((key, value)) = begun.version_row() {
            batch.put(&key, &value);
        }
        // The last turn to be taken, and held until the rows are in the store: so the order of the numbers is that of the commits.
        let numbered =
            numbering.map(|numbering| numbering.write(|key, value| batch.put(key, value)));
        let numbered = numbered.transpose()?;
        let written = self.hand_over(batch, self.durability_of(&begun));
        staging.clear();
        written?;
        if let Some(numbered) = numbered {
            numbered.taken();
        }
        self.end_commit(&begun, std::mem::take(facts));
        Ok(())
    }

    /// Takes room for the bytes that are needed, if the quota has not given it, and the turn to raise the data version, if that is to be raised.
    ///
    /// Room first: another commit may hold room while it waits for that turn, and taking room may wait for such a commit; in the other order the two
    /// would wait for each other.
    pub(super) fn begin_commit(&self, needed: Option<u64>, facts: &OwnFacts) -> Result<Begun<'_>> {
        let needed = needed.filter(|_| self.is_under_quota());
        let taken = needed.map(|needed| self.core.take_room(needed));
        let taken = taken.transpose()?;
        let versions = &self.core.versions;
        let turn = self.raise_to.map(|_| versions.raising());
        let raise = self.raise_to.map(|needed| needed.max(versions.data()));
        let database_id = self.scope.database_id();
        self.index_facts().before_commit(database_id, facts);
        Ok(Begun {
            _taken: taken,
            _turn: turn,
            raise,
        })
    }

    /// How durable it is: the data version lies on the disk before any other commit relies on it.
    pub(super) fn durability_of(&self, begun: &Begun<'_>) -> Durability {
        match begun.raise {
            Some(_) => Durability::Strict,
            None => self.durability,
        }
    }

    /// The rows are in the store.
    pub(super) fn end_commit(&self, begun: &Begun<'_>, facts: OwnFacts) {
        let database_id = self.scope.database_id();
        self.index_facts().after_commit(database_id, facts);
        if let Some(version) = begun.raise {
            self.core.versions.note_raised(version);
        }
    }
}
