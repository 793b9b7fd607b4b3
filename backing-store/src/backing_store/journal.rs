//! The blob journals: rows that list blob files which are to be removed, so that a crash leaves none for ever
//! (`docs/FORMAT.md`, 6.3).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use larder_codec::blob_journal::{BlobJournal, BlobJournalEntry, JournalBlobs};
use larder_codec::row_key::GlobalKey;
use larder_leveldb::storage::FileSystem;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Db, Durability, Snapshot};

use super::open::global_key;
use crate::error::{Error, Result};
use crate::files::{remove_if_there, remove_tree, sync_dir};
use crate::layout::StorePaths;

/// A journal; a missing row is an empty one.
pub(crate) fn read(snapshot: &Snapshot, journal: &GlobalKey) -> Result<BlobJournal> {
    let key = global_key(journal);
    match snapshot.get(&key)? {
        Some(row) => {
            BlobJournal::decode_exact(&row).map_err(|error| Error::row(&key, "blob journal", error))
        }
        None => Ok(BlobJournal::default()),
    }
}

/// What becomes of a journal that has no entries left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Emptied {
    /// Its row is deleted, as when Chromium opens a store or has deleted a database.
    Deleted,
    /// It stays as an empty row, as when Chromium ends a commit.
    Kept,
}

/// Entries that stay in the journals, because their files could not be removed.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) entries: BTreeSet<BlobJournalEntry>,
    /// Why the first of them could not.
    pub(crate) error: Error,
}

/// Removes the files of those entries of a journal that `is_due` names, and then the entries. A file that cannot be
/// removed keeps its entry. The caller must be the only one that changes journals.
pub(crate) fn clean(
    db: &Db,
    fs: &dyn FileSystem,
    paths: &StorePaths,
    journal: &GlobalKey,
    is_due: impl Fn(&BlobJournalEntry) -> bool,
    emptied: Emptied,
) -> Result<Option<Refused>> {
    let mut batch = BatchWriter::new();
    let refused = take_out(db, fs, paths, journal, is_due, emptied, &mut batch)?;
    write(db, &mut batch)?;
    Ok(refused)
}

/// Removes the files of those entries of both journals that `is_due` names, and then the entries, with one synced
/// write. A file that cannot be removed keeps its entry. `emptied` is for the recovery journal: an empty active one
/// stays as an empty row. The caller must be the only one that changes journals.
pub(crate) fn settle(
    db: &Db,
    fs: &dyn FileSystem,
    paths: &StorePaths,
    is_due: impl Fn(&BlobJournalEntry) -> bool,
    emptied: Emptied,
) -> Result<Option<Refused>> {
    let mut batch = BatchWriter::new();
    let mut refused: Option<Refused> = None;
    for (kind, emptied) in [
        (GlobalKey::ActiveBlobJournal, Emptied::Kept),
        (GlobalKey::RecoveryBlobJournal, emptied),
    ] {
        let new = take_out(db, fs, paths, &kind, &is_due, emptied, &mut batch)?;
        match (&mut refused, new) {
            (Some(refused), Some(new)) => refused.entries.extend(new.entries),
            (None, new) => refused = new,
            (Some(_), None) => {}
        }
    }
    write(db, &mut batch)?;
    Ok(refused)
}

fn write(db: &Db, batch: &mut BatchWriter) -> Result<()> {
    match batch.entry_count() {
        // An unchanged journal is not written: the sync would be all that such a call costs.
        0 => Ok(()),
        _ => Ok(db.write(batch, Durability::Strict)?),
    }
}

fn take_out(
    db: &Db,
    fs: &dyn FileSystem,
    paths: &StorePaths,
    journal: &GlobalKey,
    is_due: impl Fn(&BlobJournalEntry) -> bool,
    emptied: Emptied,
    batch: &mut BatchWriter,
) -> Result<Option<Refused>> {
    let snapshot = db.snapshot();
    let (due, mut entries) = read(&snapshot, journal)?
        .entries
        .into_iter()
        .partition::<Vec<_>, _>(is_due);
    if !due.is_empty() {
        // If the folder no longer belongs to this store, the files of these names may belong to another program's
        // store.
        db.check_writable()?;
    }
    let refused = remove_files(fs, paths, &due);
    let removed = due.len() - refused.as_ref().map_or(0, |refused| refused.entries.len());
    entries.extend(refused.iter().flat_map(|refused| &refused.entries));
    let key = global_key(journal);
    if entries.is_empty() && emptied == Emptied::Deleted {
        if snapshot.get(&key)?.is_some() {
            batch.delete(&key);
        }
    } else if removed > 0 {
        let mut row = Vec::new();
        BlobJournal { entries }.encode(&mut row);
        batch.put(&key, &row);
    }
    Ok(refused)
}

/// The entries whose files are still there, or may be after a power cut.
fn remove_files(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    entries: &[BlobJournalEntry],
) -> Option<Refused> {
    let mut dirs: BTreeMap<PathBuf, Vec<BlobJournalEntry>> = BTreeMap::new();
    let mut refused: Option<Refused> = None;
    let mut refuse = |entries: &[BlobJournalEntry], error| {
        let first = || Refused {
            entries: BTreeSet::new(),
            error,
        };
        refused.get_or_insert_with(first).entries.extend(entries);
    };
    for entry in entries {
        match remove_files_of(fs, paths, *entry) {
            Ok(Some(dir)) => dirs.entry(dir).or_default().push(*entry),
            Ok(None) => {}
            Err(error) => refuse(&[*entry], error),
        }
    }
    // The folders are synced before the entries are struck. After a power cut a name may be back: with its entry gone, no opening
    // would remove that file any more.
    for (dir, entries) in dirs {
        if let Err(error) = sync_dir(fs, &dir) {
            refuse(&entries, error);
        }
    }
    refused
}

/// Removes the files of an entry; the folder to be synced.
fn remove_files_of(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    entry: BlobJournalEntry,
) -> Result<Option<PathBuf>> {
    match entry.blobs {
        JournalBlobs::All => {
            remove_tree(fs, &paths.blob_database_dir(entry.database_id))?;
            Ok(Some(paths.blob.clone()))
        }
        JournalBlobs::One(number) => {
            let path = paths.blob_file(entry.database_id, number);
            remove_if_there(fs, &path)?;
            Ok(path.parent().map(Path::to_owned))
        }
    }
}
