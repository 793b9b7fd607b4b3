//! Which records a transaction replaces and deletes: as much of that as keeps the facts about indexes true (decision 41).
//!
//! A put need not find out whether there is a record, and mostly does not. A key above all others is a new one, and asks nothing. For
//! some other keys the record is looked up, and its version becomes suspect; when there are many, all versions up to now do.

use larder_codec::row_key::RecordTable;
use larder_codec::versioned::ExistsRow;
use larder_codec::{DatabaseId, RawKey, range};

use crate::error::{ErrorKind, Result};
use crate::open_stores::{LOOKUPS_MAX, OpenStore, State};
use crate::reads::{get_row, record_row_prefix};
use crate::sync::locked;
use crate::transaction::WriteTransaction;

impl WriteTransaction {
    /// Before a record is put; `is_new` if it is certain that there is none with its key. Whether that is certain now.
    pub(super) fn track_put(
        &mut self,
        database_id: DatabaseId,
        store: &mut OpenStore,
        primary_key: RawKey<'_>,
        is_new: bool,
    ) -> Result<bool> {
        let is_in_feed = self.is_in_feed(store);
        if !self.is_tracked(database_id, store) && !is_in_feed {
            // A key may come to lie above what was the greatest.
            store.tracking.greatest = None;
            return Ok(is_new);
        }
        if store.tracking.greatest.is_none() {
            store.tracking.greatest = Some(self.greatest_key(database_id, store)?);
        }
        let goes_on = store.tracking.goes_on(primary_key)?;
        let is_new = store.tracking.is_new_greatest(primary_key)? || is_new;
        if is_new || goes_on || is_in_feed {
            // The feed has what is replaced looked up in any case.
            return Ok(is_new);
        }
        if store.tracking.lookups == LOOKUPS_MAX {
            store.tracking.begin_run(primary_key);
            self.suspect_all(store);
            return Ok(false);
        }
        store.tracking.lookups += 1;
        self.look_up_replaced(database_id, store, primary_key)?;
        Ok(false)
    }

    /// A record with this version is deleted or replaced.
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
