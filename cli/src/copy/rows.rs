//! The rows that are copied, in the order of the source, with the names of databases changed where they get another origin.

use std::collections::VecDeque;

use larder_backing_store::{Error, ErrorKind, Store, StoreRows};
use larder_codec::external_object::ExternalObject;
use larder_codec::primitive::int;
use larder_codec::row_key::{
    DatabaseField, DatabaseKey, GlobalKey, RecordKey, RecordTable, ScopesKey,
};
use larder_codec::scopes::{SCOPES_VERSION, ScopesMetadata};
use larder_codec::versioned::IndexRow;
use larder_codec::{BlobNumber, DatabaseId, RowKey, compare};

use super::Copied;
use super::selection::Plan;
use crate::display::Hex;

/// A blob that a record refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Blob {
    pub(crate) database: DatabaseId,
    pub(crate) number: BlobNumber,
    pub(crate) size_bytes: u64,
}

/// The walk.
pub(super) struct SelectedRows<'a> {
    store: &'a Store,
    plan: &'a Plan,
    copied: &'a mut Copied,
    tick: &'a mut dyn FnMut(),
    rows: StoreRows,
    /// Rows that come before the one that the walk stands on: names of databases in their new order, the undo log's own row.
    ahead: VecDeque<(Vec<u8>, Vec<u8>)>,
    /// Names of databases, until all have come.
    names: Vec<(Vec<u8>, Vec<u8>)>,
    /// The undo log's row that says its version, until its place is reached.
    undo_log: Option<(Vec<u8>, Vec<u8>)>,
    /// Whether the walk stands on a row that has not been given.
    is_waiting: bool,
    blobs: Vec<Blob>,
}

impl<'a> SelectedRows<'a> {
    pub(super) fn new(
        store: &'a Store,
        plan: &'a Plan,
        copied: &'a mut Copied,
        tick: &'a mut dyn FnMut(),
    ) -> Self {
        Self {
            rows: store.rows(),
            undo_log: undo_log_row(store),
            store,
            plan,
            copied,
            tick,
            ahead: VecDeque::new(),
            names: Vec::new(),
            is_waiting: false,
            blobs: Vec::new(),
        }
    }

    /// The blobs of the rows that were copied.
    pub(super) fn into_blobs(self) -> Vec<Blob> {
        self.blobs
    }

    /// Puts the next row into the buffers, which are empty; whether there is one.
    pub(super) fn next(&mut self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<bool, Error> {
        loop {
            if let Some((next_key, next_value)) = self.ahead.pop_front() {
                key.extend_from_slice(&next_key);
                value.extend_from_slice(&next_value);
                self.given(key, value);
                return Ok(true);
            }
            if !self.is_waiting && !self.rows.next()? {
                self.undo_log_before(None);
                self.names_before(None)?;
                if self.ahead.is_empty() {
                    return Ok(false);
                }
                continue;
            }
            self.is_waiting = true;
            key.extend_from_slice(self.rows.key());
            self.undo_log_before(Some(key));
            self.names_before(Some(key))?;
            if !self.ahead.is_empty() {
                key.clear();
                continue;
            }
            self.is_waiting = false;
            (self.tick)();
            match self.take(key, value) {
                Ok(true) => {
                    self.given(key, value);
                    return Ok(true);
                }
                Ok(false) => {}
                Err(error) if error.kind() == ErrorKind::Corruption => {
                    let problems = &mut self.copied.problems;
                    problems.push(format!("row {}: {error}", Hex(key)));
                }
                Err(error) => return Err(error),
            }
            key.clear();
        }
    }

    fn given(&mut self, key: &[u8], value: &[u8]) {
        self.copied.rows += 1;
        self.copied.row_bytes += (key.len() + value.len()) as u64;
    }

    /// The undo log's row comes before the first row that is greater.
    fn undo_log_before(&mut self, next: Option<&[u8]>) {
        let is_due =
            |(key, _): &mut (Vec<u8>, Vec<u8>)| next.is_none_or(|next| compare(key, next).is_lt());
        let due = self.undo_log.take_if(is_due);
        self.ahead.extend(due);
    }

    /// Names of databases come together, and may be in another order under another origin.
    fn names_before(&mut self, next: Option<&[u8]>) -> Result<(), Error> {
        if self.names.is_empty() {
            return Ok(());
        }
        let is_name = next.is_some_and(|next| {
            let row = RowKey::decode_exact(next);
            matches!(row, Ok(RowKey::Global(GlobalKey::DatabaseName { .. })))
        });
        if is_name {
            return Ok(());
        }
        self.names.sort_by(|(a, _), (b, _)| compare(a, b));
        for pair in self.names.windows(2) {
            if let [(one, _), (next, _)] = pair
                && compare(one, next).is_eq()
            {
                let what = "two databases would get one origin and name: copy one of them alone with --database, or without --origin";
                return Err(Error::new(ErrorKind::Usage, what));
            }
        }
        self.ahead.extend(self.names.drain(..));
        Ok(())
    }

    /// Puts the value of the row that the walk stands on into the buffer, which is empty, if the row is copied where it stands.
    fn take(&mut self, row_key: &[u8], to: &mut Vec<u8>) -> Result<bool, Error> {
        let value = self.rows.value()?;
        let Ok(row) = RowKey::decode_exact(row_key) else {
            if self.plan.is_all() {
                to.extend_from_slice(value);
            }
            return Ok(self.plan.is_all());
        };
        if let RowKey::Global(GlobalKey::DatabaseName { origin, name }) = row {
            let id = int::decode_exact(value).ok().and_then(DatabaseId::new);
            if self.plan.is_all() || id.is_some_and(|id| self.plan.has_database(id)) {
                let origin = self.plan.origin.clone().unwrap_or(origin);
                let mut renamed = Vec::new();
                GlobalKey::DatabaseName { origin, name }.encode(&mut renamed);
                self.names.push((renamed, value.to_vec()));
            }
            return Ok(false);
        }
        if !self.is_copied(&row, value) {
            return Ok(false);
        }
        to.extend_from_slice(value);
        if let RowKey::Record(key) = row {
            self.count(&key);
        }
        Ok(true)
    }

    fn is_copied(&self, row: &RowKey<'_>, value: &[u8]) -> bool {
        let plan = self.plan;
        match row {
            // Blobs to be removed are not copied.
            RowKey::Global(GlobalKey::RecoveryBlobJournal | GlobalKey::ActiveBlobJournal) => false,
            RowKey::Global(GlobalKey::DatabaseFreeList(_)) | RowKey::Scopes(_) => plan.is_all(),
            RowKey::Global(_) => true,
            RowKey::Database(DatabaseKey { database_id, field }) => {
                plan.has_database(*database_id)
                    && match field {
                        DatabaseField::ObjectStoreName(_) => {
                            let id = int::decode_exact(value).ok();
                            let id = id.and_then(larder_codec::ObjectStoreId::new);
                            plan.is_all() || id.is_some_and(|id| plan.has_store(*database_id, id))
                        }
                        DatabaseField::IndexName(id, _)
                        | DatabaseField::ObjectStoreFreeList(id)
                        | DatabaseField::IndexFreeList(id, _) => plan.has_store(*database_id, *id),
                        _ => true,
                    }
            }
            RowKey::ObjectStoreMetadata(key) => {
                plan.has_store(key.database_id, key.object_store_id)
            }
            RowKey::IndexMetadata(key) => plan.has_store(key.database_id, key.object_store_id),
            RowKey::Record(key) => {
                let id = (key.database_id, key.object_store_id);
                plan.has_store(id.0, id.1)
                    && plan.keys.contains(key.key)
                    && !plan.feed_notes.has(id, key.key)
            }
            RowKey::IndexData(key) => {
                plan.is_all()
                    || plan.has_store(key.database_id, key.object_store_id)
                        && IndexRow::decode_exact(value)
                            .is_ok_and(|row| plan.keys.contains(row.primary_key))
            }
            RowKey::Unknown(_) => plan.is_all(),
        }
    }

    /// Counts a record, and lists the blobs of external objects.
    fn count(&mut self, key: &RecordKey<'_>) {
        match key.table {
            RecordTable::Data => self.copied.records += 1,
            RecordTable::Exists => {}
            RecordTable::ExternalObject => {
                let store = self.store;
                let objects = store.external_objects(key.database_id, key.object_store_id, key.key);
                match objects {
                    Ok(objects) => self.list_blobs(key.database_id, &objects),
                    // The row itself is copied.
                    Err(error) => self.copied.problems.push(error.to_string()),
                }
            }
        }
    }

    fn list_blobs(&mut self, database: DatabaseId, objects: &[ExternalObject]) {
        for object in objects {
            if let ExternalObject::Blob(blob) | ExternalObject::File { blob, .. } = object {
                let size_bytes = u64::try_from(blob.size_bytes).unwrap_or(0);
                self.copied.blobs += 1;
                self.copied.blob_bytes += size_bytes;
                self.blobs.push(Blob {
                    database,
                    number: blob.number,
                    size_bytes,
                });
            }
        }
    }
}

/// The undo log is not copied, but for the row that says its version: a store without it is one of a Chromium that has no undo log.
fn undo_log_row(store: &Store) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut key = Vec::new();
    ScopesKey::GlobalMetadata.encode(&mut key);
    let value = match store.snapshot() {
        Some(rows) => rows.get(&key).ok()??,
        // A Chromium that writes SQLite files writes LevelDB with an undo log.
        None => {
            let mut value = Vec::new();
            let version = SCOPES_VERSION;
            ScopesMetadata { version }.encode(&mut value);
            value
        }
    };
    Some((key, value))
}
