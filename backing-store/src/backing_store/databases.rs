//! Databases: made and taken away by transactions of their own, which go past the scopes of others (facts of
//! `IDB/instance/connection_coordinator.cc` and `LDB/backing_store.cc`).

use std::cmp::Ordering;
use std::collections::BTreeSet;

use larder_codec::blob_journal::{BlobJournalEntry, JournalBlobs};
use larder_codec::primitive::{int, var_int};
use larder_codec::row_key::{DatabaseField, DatabaseKey, GlobalKey, ScopeTask};
use larder_codec::scopes::CleanupTask;
use larder_codec::{DatabaseId, JsString, ScopeId, compare, range};
use larder_leveldb::Durability;
use larder_leveldb::write_batch::BatchWriter;

use super::cleaning::Budget;
use super::core::Core;
use super::journal::{self, Emptied};
use super::open::global_key;
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::metadata::{DatabaseMetadata, read_databases};
use crate::scope::Scope;
use crate::sync::locked;
use crate::undo_log::{Cleanup, metadata_key, task_key};
use crate::view::{View, has_rows};

/// What a database has until its first version change commits.
const NO_VERSION: i64 = 0;

/// The first blob number: 0 is none and 1 means all.
const FIRST_BLOB_NUMBER: i64 = 2;

pub(super) fn list(core: &Core) -> Result<Vec<DatabaseMetadata>> {
    let mut problems = Vec::new();
    let databases = read_databases(&core.committed(), &mut problems)?;
    match problems.into_iter().next() {
        Some(problem) => Err(problem),
        None => Ok(databases),
    }
}

fn name_key(core: &Core, name: &JsString) -> Vec<u8> {
    global_key(&GlobalKey::DatabaseName {
        origin: core.options.origin.row_text(),
        name: name.clone(),
    })
}

fn id_of(name_key: &[u8], row: &[u8]) -> Result<DatabaseId> {
    let id = int::decode_exact(row).map_err(|error| Error::row(name_key, "database id", error))?;
    let bad = || Error::inconsistent(name_key, format!("{id} is no database id"));
    DatabaseId::new(id).ok_or_else(bad)
}

pub(super) fn create(core: &Core, name: &JsString) -> Result<DatabaseId> {
    let name_key = name_key(core, name);
    let _turn = core.direct();
    if let Some(row) = core.committed().get(&name_key)? {
        return id_of(&name_key, &row);
    }
    core.settle()?;
    core.clean_some(&mut Budget::beside_writers())?;
    let snapshot = core.snapshot();
    let max_key = global_key(&GlobalKey::MaxDatabaseId);
    let max = match snapshot.get(&max_key)? {
        Some(row) => int::decode_exact(&row)
            .map_err(|error| Error::row(&max_key, "greatest database id", error))?,
        None => 0,
    };
    let id = max
        .checked_add(1)
        .and_then(DatabaseId::new)
        .ok_or_else(|| {
            let what = format!("no database id comes after {max}");
            Error::new(ErrorKind::Usage, what).with_key(&max_key)
        })?;
    let view = View::committed(core.base());
    let is_named = core.context.named_ids.has(&view, id)?;
    let (low, end) = (range::database_low(id), range::database_end(id));
    if is_named || has_rows(&view, &low, &end)? {
        let what = format!(
            "the greatest database id that was given is {max}, but there are rows of database {id}"
        );
        return Err(Error::inconsistent(&max_key, what));
    }
    let mut number = Vec::new();
    int::encode(id.get(), &mut number);
    let mut batch = BatchWriter::new();
    batch.put(&max_key, &number);
    batch.put(&name_key, &number);
    put_field(&mut batch, id, DatabaseField::UserVersion, NO_VERSION);
    let field = DatabaseField::BlobNumberGenerator;
    put_field(&mut batch, id, field, FIRST_BLOB_NUMBER);
    core.db.write(&mut batch, Durability::Strict)?;
    Ok(id)
}

fn put_field(batch: &mut BatchWriter, database_id: DatabaseId, field: DatabaseField, number: i64) {
    let (mut key, mut value) = (Vec::new(), Vec::new());
    DatabaseKey { database_id, field }.encode(&mut key);
    var_int::encode(number, &mut value);
    batch.put(&key, &value);
}

pub(super) fn delete(core: &Core, name: &JsString) -> Result<bool> {
    let turn = core.direct();
    let name_key = name_key(core, name);
    let Some(row) = core.committed().get(&name_key)? else {
        return Ok(false);
    };
    core.with_reserve(|has_no_reserve| {
        let is_last_room = has_no_reserve || core.db.is_short_of_room();
        delete_named(core, &name_key, &row, is_last_room)?;
        // The database is deleted, whatever happens to its blobs' files: they stay in a journal.
        let _ = core.remove_released_blobs_in(&turn, Emptied::Deleted);
        if is_last_room {
            core.gain_room();
        }
        Ok(true)
    })
}

fn delete_named(core: &Core, name_key: &[u8], row: &[u8], is_last_room: bool) -> Result<()> {
    core.settle()?;
    core.clean_some(&mut Budget::beside_writers())?;
    let Ok(id) = id_of(name_key, row) else {
        // The rows of two databases with one id have the same keys, so none is deleted. No name leads to
        // them.
        core.db.delete(name_key, Durability::Relaxed)?;
        return Ok(());
    };
    let view = View::committed(core.base());
    if core.context.named_ids.has_twice(&view, id)? {
        let what = format!("another database has the same id, {id}");
        return Err(Error::inconsistent(name_key, what));
    }
    let number = core.enter(&Scope::VersionChange(id))?;
    let deleted = delete_rows_and_blobs(core, id, name_key, is_last_room);
    core.leave(number);
    deleted?;
    locked(&core.deleted).push(id);
    core.room.note_deleted();
    Ok(())
}

/// A scope that is committed from the start and has the rows as its clean-up task.
fn delete_rows_later(core: &Core, id: DatabaseId, batch: &mut BatchWriter) -> Result<ScopeId> {
    let scope = core.new_scope_id()?;
    batch.put(&metadata_key(scope), &[]);
    let (mut key, mut task) = (Vec::new(), Vec::new());
    task_key(scope, ScopeTask::Cleanup, 0, &mut key);
    CleanupTask::DeleteRangeAndCompact {
        begin: &range::database_low(id),
        end: &range::database_end(id),
    }
    .encode(&mut task);
    batch.put(&key, &task);
    Ok(scope)
}

/// Where there is no undo log, the rows go at once.
fn delete_rows_now(core: &Core, id: DatabaseId, batch: &mut BatchWriter) -> Result<()> {
    let end = range::database_end(id);
    let view = core.committed();
    let mut iter = view.iter_before(&end);
    iter.seek(&range::database_low(id))?;
    while iter.valid() && compare(iter.key(), &end) == Ordering::Less {
        batch.delete(iter.key());
        iter.next()?;
    }
    Ok(())
}

/// One batch: the rows, the name, and the blobs in a journal. The blobs' files are the caller's business then.
fn delete_rows_and_blobs(
    core: &Core,
    id: DatabaseId,
    name_key: &[u8],
    is_last_room: bool,
) -> Result<()> {
    let mut batch = BatchWriter::new();
    let scope = match core.has_undo_log {
        true => Some(delete_rows_later(core, id, &mut batch)?),
        false => {
            delete_rows_now(core, id, &mut batch)?;
            None
        }
    };
    batch.delete(name_key);
    let has_blobs = files::exists(&*core.fs, &core.paths.blob_database_dir(id))?;
    let all = BTreeSet::from([BlobJournalEntry {
        database_id: id,
        blobs: JournalBlobs::All,
    }]);
    journal_all_blobs(core, &all, has_blobs, &mut batch)?;
    // Files must not go before the records that refer to them, whatever a power cut leaves; nor tables, to make room.
    let durability = match has_blobs || is_last_room {
        true => Durability::Strict,
        false => Durability::Relaxed,
    };
    if let Some(row_store) = &core.row_store {
        row_store.delete_database(id)?;
    }
    core.db.write(&mut batch, durability)?;
    if let Some(scope) = scope {
        core.clean_later(Cleanup::of_committed(scope));
    }
    if has_blobs {
        core.held_blobs.note_gone(&all);
    }
    Ok(())
}

/// Lists all blobs of a database that is deleted in a journal. Where there are none the recovery journal is left as cleaning it
/// would leave it, which saves a synced write.
fn journal_all_blobs(
    core: &Core,
    all: &BTreeSet<BlobJournalEntry>,
    has_blobs: bool,
    batch: &mut BatchWriter,
) -> Result<()> {
    // Either journal will do: both are looked through when the blobs have no reader left.
    let kind = match has_blobs && !core.held_blobs.held_now(all).is_empty() {
        true => GlobalKey::ActiveBlobJournal,
        false => GlobalKey::RecoveryBlobJournal,
    };
    let mut journal = journal::read(&core.snapshot(), &kind)?;
    if has_blobs {
        journal.entries.extend(all);
        let mut row = Vec::new();
        journal.encode(&mut row);
        batch.put(&global_key(&kind), &row);
    } else if journal.entries.is_empty() {
        batch.delete(&global_key(&kind));
    }
    Ok(())
}
