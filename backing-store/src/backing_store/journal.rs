//! The blob journals: rows that list blob files which are to be removed, so that a crash leaves none for ever
//! (`docs/FORMAT.md`, 6.3).

use std::collections::BTreeSet;

use larder_codec::blob_journal::{BlobJournal, BlobJournalEntry, JournalBlobs};
use larder_codec::row_key::GlobalKey;
use larder_leveldb::storage::FileSystem;
use larder_leveldb::{Db, Durability, Snapshot};

use super::files::{remove_if_there, remove_tree, sync_dir};
use super::open::global_key;
use crate::error::{Error, Result};
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

/// Removes the files of those entries of a journal that `is_due` names, and then the entries; an empty journal has no row.
/// The caller is the only one who changes journals.
pub(crate) fn clean(
    db: &Db,
    fs: &dyn FileSystem,
    paths: &StorePaths,
    journal: &GlobalKey,
    is_due: impl Fn(&BlobJournalEntry) -> bool,
) -> Result<()> {
    take_out(db, fs, paths, journal, is_due, false)
}

/// The same, but an empty journal stays as an empty row, and nothing is written if nothing is due. That is how Chromium ends a
/// commit.
pub(crate) fn settle(
    db: &Db,
    fs: &dyn FileSystem,
    paths: &StorePaths,
    journal: &GlobalKey,
    is_due: impl Fn(&BlobJournalEntry) -> bool,
) -> Result<()> {
    take_out(db, fs, paths, journal, is_due, true)
}

fn take_out(
    db: &Db,
    fs: &dyn FileSystem,
    paths: &StorePaths,
    journal: &GlobalKey,
    is_due: impl Fn(&BlobJournalEntry) -> bool,
    keeps_empty_row: bool,
) -> Result<()> {
    let (due, entries) = read(&db.snapshot(), journal)?
        .entries
        .into_iter()
        .partition::<Vec<_>, _>(is_due);
    remove_files(fs, paths, &due)?;
    let key = global_key(journal);
    if entries.is_empty() && !keeps_empty_row {
        if db.get(&key)?.is_some() {
            db.delete(&key, Durability::Strict)?;
        }
    } else if !due.is_empty() {
        let mut row = Vec::new();
        BlobJournal { entries }.encode(&mut row);
        db.put(&key, &row, Durability::Strict)?;
    }
    Ok(())
}

fn remove_files(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    entries: &[BlobJournalEntry],
) -> Result<()> {
    let mut dirs = BTreeSet::new();
    for entry in entries {
        match entry.blobs {
            JournalBlobs::All => {
                remove_tree(fs, &paths.blob_database_dir(entry.database_id))?;
                dirs.insert(paths.blob.clone());
            }
            JournalBlobs::One(number) => {
                let path = paths.blob_file(entry.database_id, number);
                remove_if_there(fs, &path)?;
                dirs.extend(path.parent().map(ToOwned::to_owned));
            }
        }
    }
    // The names must be gone before the row that knows of them is.
    for dir in dirs {
        sync_dir(fs, &dir)?;
    }
    Ok(())
}
