//! What nothing in a page needs any more.

use std::error::Error as _;
use std::io;
use std::path::Path;
use std::sync::Arc;

use larder_leveldb::storage::{FileLock, FileSystem};
use larder_pages::{Collectable, Dialect, Error, ErrorKind, Page, PageOptions, PrunePolicy};

use super::{FoundPage, PagesError};

const SYNCED: &str = "the page is synced with other devices: what seems to be of no use here is needed when one comes that was away. Where the space matters more, close all, delete the folder of the page, and sync again";

/// Deletes the pieces of a page that nothing needs, and with `prunes` the history before the last common commit, or only says what would go. Nothing is
/// written before it is certain that a page is there that can be written to.
///
/// # Errors
/// `InUse` if a program has the page or its repository open; `Unsupported` if the page is synced, or its rows are in single bytes; `Corruption`, and what was
/// deleted by then was of no use; those of the engine.
pub fn collect(
    fs: &Arc<dyn FileSystem>,
    found: &FoundPage,
    usage_dir: Option<&Path>,
    prunes: bool,
    dry_run: bool,
) -> Result<Collectable, PagesError> {
    let options = PageOptions {
        prune: match prunes {
            true => PrunePolicy::LocalImmediate,
            false => PrunePolicy::Never,
        },
        ..PageOptions::default()
    };
    if !dry_run {
        require_unused(&**fs, &found.leveldb)?;
    }
    let seen = Page::open_read_only(Arc::clone(fs), &found.leveldb, options.clone())?;
    let check_unsynced = |page: &Page| match page.has_sync_metadata()? {
        false => Ok(()),
        true => Err(Error::new(ErrorKind::Unsupported, SYNCED)),
    };
    check_unsynced(&seen)?;
    if dry_run {
        return Ok(seen.collectable()?);
    }
    if seen.dialect() == Dialect::Bytes {
        let what = "the rows of this page are named by single bytes: such pages are only read";
        return Err(Error::new(ErrorKind::Unsupported, what).into());
    }
    if seen.heads().is_empty() {
        let what = "the page has no head: it is damaged, or none";
        return Err(Error::new(ErrorKind::Corruption, what).into());
    }
    drop(seen);
    let _repository = usage_dir.map(|dir| lock(&**fs, dir)).transpose()?;
    let page = Page::open(Arc::clone(fs), &found.leveldb, options);
    let page = page.map_err(|error| match is_in_use(&error) {
        true => PagesError::InUse(found.leveldb.clone(), None),
        false => error.into(),
    })?;
    // Something may have synced it since.
    check_unsynced(&page)?;
    let gone = Collectable {
        commits: page.prune()?,
        collected: page.collect()?,
    };
    page.close()?;
    Ok(gone)
}

fn require_unused(fs: &dyn FileSystem, leveldb: &Path) -> Result<(), PagesError> {
    match fs.lock_holder(&leveldb.join("LOCK")) {
        Ok(Some(holder)) => Err(PagesError::InUse(leveldb.to_owned(), Some(holder))),
        _ => Ok(()),
    }
}

/// Takes the lock of a repository, so that no program opens its pages meanwhile. One without rows of uses has no lock.
fn lock(fs: &dyn FileSystem, usage_dir: &Path) -> Result<Option<Box<dyn FileLock>>, PagesError> {
    let path = usage_dir.join("LOCK");
    require_unused(fs, usage_dir)?;
    if fs.metadata(&path).is_err() {
        return Ok(None);
    }
    match fs.lock(&path) {
        Ok(lock) => Ok(Some(lock)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            Err(PagesError::InUse(usage_dir.to_owned(), None))
        }
        Err(error) => {
            let error = larder_leveldb::Error::io(&path, "cannot be locked", error);
            Err(Error::from(error).into())
        }
    }
}

fn is_in_use(error: &Error) -> bool {
    let source = error.source();
    let source = source.and_then(|source| source.downcast_ref::<larder_leveldb::Error>());
    source.is_some_and(|error| error.kind() == larder_leveldb::ErrorKind::Conflict)
}
