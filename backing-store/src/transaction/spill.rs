//! Hands a transaction's rows to the engine before it commits, with an undo log that takes them back.
//!
//! As Chromium does it (`SCO/leveldb_scope.cc`): the scope's metadata row with its locks comes first; each batch has rows
//! together with the undo rows for exactly these; undo rows count down, so that the newest come first. Readers do not see
//! the rows before the commit: they get the rows from before.

use std::cmp::Ordering;

use larder_codec::compare::compare;
use larder_codec::row_key::{GlobalKey, RowKey, ScopeTask};
use larder_codec::scopes::{LockKey, ScopeLock, ScopeMetadata, UndoTask};
use larder_codec::{DatabaseId, JsString, ScopeId, primitive, range};
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Durability, log};

use super::{Scope, WriteTransaction};
use crate::backing_store::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::locked;
use crate::undo_log::{metadata_key, task_key};
use crate::view::{Base, BaseIter};

/// A batch is written when it has so many bytes.
const BATCH_LEN: usize = 1 << 20;

/// Chromium's number of the lock space of databases, and that of object stores.
const DATABASE_PARTITION: i64 = 0;
const OBJECT_STORE_PARTITION: i64 = 1;

/// A transaction's part of the undo log.
#[derive(Debug)]
pub(super) struct UndoLog {
    pub(super) scope: ScopeId,
    next_undo: u64,
}

impl WriteTransaction {
    /// Writes all staged rows and goes on over them with nothing staged.
    pub(super) fn spill(&mut self) -> Result<()> {
        if !self.core.has_undo_log {
            let what = "a store of schema version 3 takes at most a GiB in one transaction: it has no undo log";
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        self.core.settle()?;
        let mut writer = SpillWriter {
            core: &self.core,
            puts: self.is_under_quota(),
            rows: BatchWriter::new(),
            undo: BatchWriter::new(),
            key: Vec::new(),
            task: Vec::new(),
        };
        let mut pending = locked(&self.pending);
        pending.staging.settle();
        let log = match &mut self.log {
            Some(log) => log,
            none => {
                let scope = self.core.new_scope_id()?;
                let metadata = metadata_with_locks(&self.scope, &pending.base)?;
                // Other transactions get their windows before the first row is in the engine. A reader that began between the
                // write and the windows would see rows that are not committed.
                self.core.hide(self.number, &self.scope);
                writer.rows.put(&metadata_key(scope), &metadata);
                none.insert(UndoLog {
                    scope,
                    // Numbers descend, so that recovery, which walks upwards, meets the newest undo row first. A row that was
                    // spilled twice has two of them, and the oldest value has to be written last.
                    next_undo: i64::MAX.cast_unsigned(),
                })
            }
        };
        let mut old = OldRows::new(&pending.base);
        for row in pending.staging.rows() {
            let is_there = old.find(row.key)?;
            match row.value {
                Some(value) => writer.rows.put(row.key, value),
                None if is_there => writer.rows.delete(row.key),
                // Deleting what is not there needs neither a tombstone nor an undo row.
                None => continue,
            }
            let len_bytes = row.key.len() + row.value.map_or(0, <[u8]>::len);
            self.seldom.get_or_insert_default().spilled_bytes += len_bytes as u64;
            let task = if is_there {
                // The bytes of the key as they stand: equal keys can differ in them.
                let (key, value) = (old.iter.key(), old.iter.value()?);
                UndoTask::Put { key, value }
            } else {
                UndoTask::Delete { key: row.key }
            };
            writer.undo(log, &task);
            writer.write_if_large()?;
        }
        writer.write()?;
        // The spilled rows are in the engine now, so the transaction reads over a new snapshot that has them. The old base would
        // show the rows from before, because the staging that covered them is empty.
        let base = self.core.base(Some(self.number));
        pending.restart(base);
        Ok(())
    }
}

/// Gathers rows and their undo rows.
struct SpillWriter<'a> {
    core: &'a Core,
    puts: bool,
    rows: BatchWriter,
    undo: BatchWriter,
    key: Vec<u8>,
    task: Vec<u8>,
}

impl SpillWriter<'_> {
    fn undo(&mut self, log: &mut UndoLog, task: &UndoTask<'_>) {
        task_key(log.scope, ScopeTask::Undo, log.next_undo, &mut self.key);
        // A step takes longer than a nanosecond: the numbers last for centuries.
        log.next_undo -= 1;
        self.task.clear();
        task.encode(&mut self.task);
        self.undo.put(&self.key, &self.task);
    }

    fn write_if_large(&mut self) -> Result<()> {
        if self.rows.len_bytes() + self.undo.len_bytes() >= BATCH_LEN {
            self.write()?;
        }
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        // Rows and their undo rows are one batch, which the log keeps whole or not at all: a row without its undo row could not be
        // taken back after a crash. No sync is needed for the same reason; the commit syncs all that is before it in the log.
        self.rows.append(&self.undo);
        self.undo.clear();
        let needed = log::growth_bytes_max(self.rows.len_bytes());
        let taken = self.puts.then(|| self.core.take_room(needed));
        let _taken = taken.transpose()?;
        Ok(self.core.db.write(&mut self.rows, Durability::Relaxed)?)
    }
}

/// The rows from before, walked along with the staged ones.
struct OldRows {
    iter: BaseIter,
    is_started: bool,
}

impl OldRows {
    fn new(base: &Base) -> Self {
        Self {
            iter: base.iter(),
            is_started: false,
        }
    }

    /// Whether there is a row of this key; keys are asked for in ascending order. If so the cursor stands on it.
    fn find(&mut self, key: &[u8]) -> Result<bool> {
        let is_before = |iter: &BaseIter| iter.valid() && compare(iter.key(), key).is_lt();
        if !self.is_started {
            self.is_started = true;
            self.iter.seek(key)?;
        } else if is_before(&self.iter) {
            // Most often it is the next row.
            self.iter.next()?;
            if is_before(&self.iter) {
                self.iter.seek(key)?;
            }
        }
        Ok(self.iter.valid() && compare(self.iter.key(), key) == Ordering::Equal)
    }
}

/// Only locks that no other transaction holds: when two unfinished transactions name one lock, Chromium fails to take
/// it for the second and throws the store away. A version change has its database for itself; others have their object
/// stores.
fn metadata_with_locks(scope: &Scope, base: &Base) -> Result<Vec<u8>> {
    let mut keys = Vec::new();
    let partition = match scope {
        Scope::VersionChange(id) => {
            keys.push(match database_name(base, *id)? {
                Some(name) => char::decode_utf16(name.units().iter().copied())
                    .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
                    .collect::<String>()
                    .into_bytes(),
                None => id.get().to_be_bytes().to_vec(),
            });
            DATABASE_PARTITION
        }
        Scope::Stores(id, stores) => {
            for store in stores {
                keys.push([id.get().to_be_bytes(), store.get().to_be_bytes()].concat());
            }
            OBJECT_STORE_PARTITION
        }
    };
    let locks = keys.iter().map(|key| ScopeLock {
        partition,
        key: LockKey::Key(key),
    });
    let metadata = ScopeMetadata {
        locks: locks.collect(),
        ignore_cleanup_tasks: false,
    };
    let mut bytes = Vec::new();
    metadata.encode(&mut bytes);
    Ok(bytes)
}

fn database_name(base: &Base, id: DatabaseId) -> Result<Option<JsString>> {
    let mut iter = base.iter();
    iter.seek(&range::database_names_low(&JsString::default()))?;
    while iter.valid() {
        let Ok(RowKey::Global(GlobalKey::DatabaseName { name, .. })) =
            RowKey::decode_exact(iter.key())
        else {
            break;
        };
        if primitive::int::decode_exact(iter.value()?) == Ok(id.get()) {
            return Ok(Some(name));
        }
        iter.next()?;
    }
    Ok(None)
}
