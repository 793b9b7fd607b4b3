//! Repairs a store that cannot be opened for writing, because its LevelDB is damaged.
//!
//! The engine writes what is whole anew and sets the rest aside in the folder `lost` of the LevelDB folder; nothing is deleted that
//! was not read whole. Transactions that had not committed are in the undo log, which is among the rows: opening the store carries
//! it out. Chromium's note of damage, because of which it would throw the repaired store away, is set aside as well. Blob
//! files stay where they are.

use std::io;
use std::path::Path;
use std::sync::Arc;

use larder_leveldb::storage::FileSystem;
use larder_leveldb::{OnDamage, Options, Repaired, RowsInDoubt, Salvage, write_sorted};

use crate::backing_store::open::CORRUPTION_INFO;
use crate::comparator::{SignedBytesComparator, engine_options};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::StorePaths;
use crate::new_store::{RowSequence, write_unsorted};
use crate::store_order::{self, StoreOrder};

/// The folder in which the engine sets files aside.
const LOST: &str = "lost";

/// Repairs a store: see [`larder_leveldb::repair`] for what comes back, what is listed and what is set aside. Afterwards
/// [`BackingStore`](crate::BackingStore) and Chromium open it. A store without damage is written anew.
///
/// Rows of which something newer may be lost are in doubt: with [`RowsInDoubt::BringBack`] they come back, so that as much as
/// possible can be read; with [`RowsInDoubt::LeaveOut`] only what is surely not outdated does, and the store may lack rows without
/// which it cannot be opened.
///
/// # Errors
/// `NotAStore` if there is none; `Conflict` if it is open for writing; `Usage` if it is no IndexedDB store of Chromium's;
/// `Unsupported` if its rows are not in Chromium's order ([`StoreOrder`](crate::StoreOrder)): written anew in place, its own browser
/// would not find them; `Io`, the store being as it was or repaired then.
pub fn repair(
    fs: Arc<dyn FileSystem>,
    paths: &StorePaths,
    rows_in_doubt: RowsInDoubt,
) -> Result<Repaired> {
    let options = engine_options();
    let reading = Options {
        on_damage: OnDamage::Skip,
        ..options.clone()
    };
    // What is no store, or another program's, the engine refuses below.
    if let Ok((_, order)) = store_order::open_read_only(&fs, &paths.leveldb, reading) {
        store_order::check_writable(order, paths)?;
    }
    let mut repaired =
        larder_leveldb::repair(Arc::clone(&fs), &paths.leveldb, &options, rows_in_doubt)?;
    let moved = set_note_aside(&*fs, &paths.leveldb);
    let moved = moved.map_err(|error| {
        let what = format!("{CORRUPTION_INFO} cannot be set aside: {error}");
        Error::new(ErrorKind::Io, what)
    })?;
    repaired.set_aside.extend(moved);
    Ok(repaired)
}

/// Reads what is left of a damaged store, in the order that its rows have: see [`Salvage`]. Nothing is written.
///
/// # Errors
/// `NotAStore` if there is nothing of a LevelDB; `Usage` if it is no IndexedDB store of Chromium's; `Io`.
pub fn salvage(fs: Arc<dyn FileSystem>, paths: &StorePaths) -> Result<(Salvage, StoreOrder)> {
    let mut options = engine_options();
    options.on_damage = OnDamage::Skip;
    let (_, order) = store_order::open_read_only(&fs, &paths.leveldb, options.clone())?;
    if order == StoreOrder::SignedBytes {
        options.comparator = Arc::new(SignedBytesComparator);
        options.key_facts = None;
    }
    Ok((Salvage::open(fs, &paths.leveldb, &options)?, order))
}

/// Writes rows into a new LevelDB in Chromium's order, and returns how many there were. The folder must be there and have no LevelDB. It
/// is for rows that are to be looked at as a store before they are used; no file is renamed for that. `next` puts the next row into
/// the two buffers; of rows with one key the last counts, if they come in no order.
///
/// # Errors
/// What `next` returns; `Usage` if the rows are not in order or the folder has a store; `Io`.
pub fn write_rows(
    fs: Arc<dyn FileSystem>,
    dir: &Path,
    sequence: RowSequence,
    mut next: impl FnMut(&mut Vec<u8>, &mut Vec<u8>) -> Result<bool>,
) -> Result<u64> {
    if sequence == RowSequence::Unsorted {
        return write_unsorted(fs, dir, next);
    }
    let mut stopped = None;
    let written = write_sorted(fs, dir, &engine_options(), |key, value| {
        next(key, value).map_err(|error| {
            stopped = Some(error);
            larder_leveldb::Error::new(larder_leveldb::ErrorKind::Closed, "the rows ended early")
        })
    });
    match stopped {
        Some(error) => Err(error),
        None => Ok(written?),
    }
}

/// Moves Chromium's note of damage, if there is one. Where it is now, in the LevelDB folder.
fn set_note_aside(fs: &dyn FileSystem, leveldb: &Path) -> io::Result<Option<std::path::PathBuf>> {
    let note = leveldb.join(CORRUPTION_INFO);
    match fs.metadata(&note) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => drop(found?),
    }
    let folder = leveldb.join(LOST);
    match fs.create_dir(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let taken = fs.list(&folder)?;
    let numbered = (2..).map(|n| format!("{CORRUPTION_INFO}.{n}"));
    let mut names = std::iter::once(CORRUPTION_INFO.to_owned()).chain(numbered);
    let Some(name) = names.find(|name| !taken.iter().any(|taken| taken == name.as_str())) else {
        return Ok(None);
    };
    fs.rename(&note, &folder.join(&name))?;
    fs.sync_dir(&folder)?;
    fs.sync_dir(leveldb)?;
    Ok(Some(Path::new(LOST).join(name)))
}
