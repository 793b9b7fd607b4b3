//! Which records a transaction replaces and deletes: as much of that as keeps the facts about indexes true (decision 41).
//!
//! A put need not find out whether there is a record, and mostly does not. A key above all others is a new one, and asks nothing. For
//! some other keys the record is looked up, and its version becomes suspect; when there are many, all versions up to now do.

use std::cmp::Ordering;

use larder_codec::row_key::RecordTable;
use larder_codec::versioned::ExistsRow;
use larder_codec::{DatabaseId, RawKey, range};

use super::state::OpenStore;
use crate::error::{Error, ErrorKind, Result};
use crate::reads::{get_row, record_row_prefix};
use crate::sync::locked;
use crate::transaction::WriteTransaction;

/// So many records of an object store are looked up in one transaction.
const LOOKUPS_MAX: u32 = 64;

/// A longer key is not kept for the next transaction.
const KEPT_LEN_MAX: usize = 4 << 10;

/// What is known of an object store's keys. Only the bound outlives it.
#[derive(Debug, Default)]
pub(super) struct Tracking {
    state: State,
    /// No record has a greater key: the bytes, empty if there is no record. `None` if it has not been asked for.
    greatest: Option<Vec<u8>>,
    lookups: u32,
    /// The greatest key that was put since all versions became suspect.
    run: Vec<u8>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Undecided,
    /// Nothing is known of any index, or there is none.
    Off,
    On,
}

impl Tracking {
    /// Tracking of an object store without records.
    pub(super) fn of_empty() -> Self {
        Self {
            greatest: Some(Vec::new()),
            ..Self::default()
        }
    }

    /// What the next transaction takes over.
    pub(super) fn end_of_transaction(&mut self) {
        let greatest = self.greatest.take();
        let greatest = greatest.filter(|key| key.len() <= KEPT_LEN_MAX);
        *self = Self {
            greatest,
            ..Self::default()
        };
    }

    /// Whether a key is above all others; then it is the greatest from now on.
    fn is_new_greatest(&mut self, key: RawKey<'_>) -> Result<bool> {
        let Some(greatest) = &mut self.greatest else {
            return Ok(false);
        };
        if !greatest.is_empty() && compare(key, greatest)? != Ordering::Greater {
            return Ok(false);
        }
        greatest.clear();
        greatest.extend_from_slice(key.as_bytes());
        Ok(true)
    }

    /// Notes a key that is put: whether it is above all that were put since all versions became suspect. Until then it is not.
    fn goes_on(&mut self, key: RawKey<'_>) -> Result<bool> {
        if self.run.is_empty() || compare(key, &self.run)? != Ordering::Greater {
            return Ok(false);
        }
        self.begin_run(key);
        Ok(true)
    }

    fn begin_run(&mut self, key: RawKey<'_>) {
        self.run.clear();
        self.run.extend_from_slice(key.as_bytes());
    }
}

fn compare(key: RawKey<'_>, other: &[u8]) -> Result<Ordering> {
    let other = RawKey::decode_exact(other)
        .map_err(|error| Error::row(other, "key that was put before", error))?;
    Ok(key.cmp(&other))
}

impl WriteTransaction {
    /// Before a record is put; `is_new` if it is certain that there is none with its key.
    pub(super) fn track_put(
        &mut self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        primary_key: RawKey<'_>,
        is_new: bool,
    ) -> Result<()> {
        if !self.is_tracked(database_id, store) {
            // A key may come to lie above what was the greatest.
            store.tracking.greatest = None;
            return Ok(());
        }
        if store.tracking.greatest.is_none() {
            store.tracking.greatest = Some(self.greatest_key(database_id, store)?);
        }
        let goes_on = store.tracking.goes_on(primary_key)?;
        if store.tracking.is_new_greatest(primary_key)? || is_new || goes_on {
            return Ok(());
        }
        if store.tracking.lookups == LOOKUPS_MAX {
            store.tracking.begin_run(primary_key);
            self.suspect_all(store);
            return Ok(());
        }
        store.tracking.lookups += 1;
        self.look_up_replaced(database_id, store, primary_key)
    }

    /// A record with this version is deleted.
    pub(super) fn track_deleted(
        &self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        version: Option<i64>,
    ) {
        if !self.is_tracked(database_id, store) {
            return;
        }
        match version {
            Some(version) => locked(self.pending()).facts.suspect(store.id, version),
            None => self.suspect_all(store),
        }
    }

    /// Whether it matters which records go. If it does not, all that was known of the object store's indexes is void from the commit
    /// on: something may come to be known before.
    pub(super) fn is_tracked(&self, database_id: DatabaseId, store: &mut OpenStore) -> bool {
        if store.tracking.state == State::Undecided {
            let mut pending = locked(self.pending());
            let is_known = || self.index_facts().has_any(database_id, store.id);
            store.tracking.state = if store.indexes.is_empty() {
                State::Off
            } else if pending.facts.has_fresh(store.id) || is_known() {
                State::On
            } else {
                pending.facts.void(store.id);
                State::Off
            };
        }
        store.tracking.state == State::On
    }

    fn suspect_all(&self, store: &OpenStore) {
        let facts = &mut locked(self.pending()).facts;
        facts.suspect_up_to(store.id, store.last_version);
    }

    fn look_up_replaced(
        &self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        primary_key: RawKey<'_>,
    ) -> Result<()> {
        let mut buffers = std::mem::take(&mut store.buffers);
        let (key, value) = (&mut buffers.key, &mut buffers.value);
        store.record_row(database_id, RecordTable::Exists, primary_key, key);
        let found = get_row(self.view(), key, primary_key, value);
        let version = ExistsRow::decode_exact(value).map(|row| row.version.get());
        store.buffers = buffers;
        match (found, version) {
            (Ok(false), _) => {}
            (Ok(true), Ok(version)) => locked(self.pending()).facts.suspect(store.id, version),
            // A put does not fail because what it replaces cannot be read.
            (Ok(true), Err(_)) => self.suspect_all(store),
            (Err(error), _) if error.kind() == ErrorKind::Corruption => self.suspect_all(store),
            (Err(error), _) => return Err(error),
        }
        Ok(())
    }

    /// The greatest key of the object store's records; empty if there is none.
    fn greatest_key(&self, database_id: DatabaseId, store: &OpenStore) -> Result<Vec<u8>> {
        let (table, id) = (RecordTable::Exists, store.id);
        let low = range::table_low(database_id, id, table);
        let high = range::table_high(database_id, id, table);
        let mut iter = self.view().iter_near(&low, &high);
        iter.seek_for_prev(&high)?;
        let prefix = record_row_prefix(database_id, id, table);
        Ok(iter
            .key()
            .strip_prefix(&*prefix)
            .unwrap_or_default()
            .to_vec())
    }
}
