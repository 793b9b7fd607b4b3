//! What Chromium's maintenance does every few days, at once: a compaction, and the deletion of what is of no more use.
//!
//! Chromium leaves blob files alone that no journal lists and no record refers to; here they go, too, if every row of the store can be read.

mod command;
mod loose_blobs;

pub(crate) use command::Maintain;
pub use loose_blobs::LooseBlobs;

use std::sync::Arc;

use larder_backing_store::{
    BackingStore, Error, ErrorKind, Store, StorePaths, SystemClock, WriteOptions,
};
use larder_codec::Origin;
use larder_leveldb::storage::FileSystem;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// Compact all tables.
    Compact,
    /// Delete what is of no more use.
    Clean,
}

/// Does a job on a store. `tick` is called for each step. What a clean has removed of blob files that nothing lists.
///
/// # Errors
/// `Conflict` if it is open elsewhere; `Corruption` if something of it is damaged; `Unsupported` if its rows are in another order than
/// Chromium's, or it is too new; `Io`. What has been deleted by then was of no use.
pub fn maintain(
    fs: &Arc<dyn FileSystem>,
    paths: &StorePaths,
    job: Job,
    tick: &mut dyn FnMut(),
) -> Result<LooseBlobs, Error> {
    let mut options = WriteOptions::new(origin(fs, paths)?, Arc::new(SystemClock));
    // Nothing is kept for deletions to come: this is one.
    options.reserve_bytes = 0;
    let store = BackingStore::open(Arc::clone(fs), paths.clone(), options)?;
    let removed = match job {
        Job::Compact => {
            store.compact(tick)?;
            LooseBlobs::default()
        }
        Job::Clean => {
            store.clean(tick)?;
            let found = LooseBlobs::find(&Store::open_read_only(
                Arc::clone(fs),
                paths.clone(),
                larder_backing_store::OpenOptions::default(),
            )?)?;
            found.remove(&**fs)?;
            found
        }
    };
    store.close()?;
    Ok(removed)
}

/// Whose store it is: by the folder's name, or by the name of a database.
fn origin(fs: &Arc<dyn FileSystem>, paths: &StorePaths) -> Result<Origin, Error> {
    if let Some(origin) = paths.identifier().and_then(Origin::from_identifier) {
        return Ok(origin);
    }
    let options = larder_backing_store::OpenOptions::default();
    let store = Store::open_read_only(Arc::clone(fs), paths.clone(), options)?;
    let databases = store.databases(&mut Vec::new())?;
    let mut origins = databases
        .iter()
        .filter_map(|database| Origin::from_row_text(&database.origin));
    origins.next().ok_or_else(|| {
        let what = format!(
            "{}: neither the folder's name nor a database says whose store this is: name the folder ORIGIN.indexeddb.leveldb",
            paths.leveldb.display()
        );
        Error::new(ErrorKind::Usage, what)
    })
}
