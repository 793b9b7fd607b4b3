//! Deletions of pages that a crash cannot leave half done.
//!
//! A file in `staging` says which page goes, before anything of it does. Files go one by one, so that a crash leaves some of them; opening the
//! repository finds the file and goes on.

use super::Place;
use super::folders::Folders;
use crate::error::Result;
use std::path::Path;

pub(super) fn mark(folders: &Folders, place: &Place) -> Result<()> {
    folders.create_synced(&folders.mark(place))
}

pub(super) fn marked(folders: &Folders) -> Result<Vec<Place>> {
    folders.marks()
}

/// Deletes a page of which a file in `staging` says so.
pub(super) fn delete_marked(folders: &Folders, place: &Place) -> Result<()> {
    let dir = folders.page(place);
    larder_leveldb::destroy(&**folders.fs(), &dir.join("leveldb"))?;
    folders.remove(&dir.join("leveldb"), true)?;
    folders.remove(&dir, true)?;
    // The names must be gone before the mark is.
    match dir.parent() {
        Some(above) if folders.fs().metadata(above).is_ok() => folders.sync(above),
        _ => Ok(()),
    }
}

pub(super) fn unmark(folders: &Folders, place: &Place) -> Result<()> {
    let mark = folders.mark(place);
    folders.remove(&mark, false)?;
    folders.sync(mark.parent().unwrap_or(Path::new("")))
}
