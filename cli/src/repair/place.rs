//! Where what a repair makes goes: a folder that appears whole, and, in place of the damaged store, the repaired one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::{Error, ErrorKind, StorePaths, Unfinished, files};
use larder_leveldb::storage::FileSystem;

use crate::set_aside::{free_name, move_all};

/// After the name of a store's folder, in the name of the folder with what was there.
const ASIDE_SUFFIX: &str = ".before-repair";

/// In the folder with what was there, until it has its place.
pub(super) const REPAIRED: &str = "repaired";

/// Begins a folder where nothing is; it appears there whole.
///
/// # Errors
/// `Usage` if something is there; `Io`.
pub(super) fn begin(fs: &Arc<dyn FileSystem>, target: &Path) -> Result<Unfinished, Error> {
    if files::exists(&**fs, target)? {
        let what = format!(
            "{}: there is something of this name already: give --to a folder that is not there yet",
            target.display()
        );
        return Err(Error::new(ErrorKind::Usage, what));
    }
    files::create_parents(&**fs, target)?;
    let unfinished = Unfinished::begin(fs, target)?;
    files::make_dir(&**fs, unfinished.path())?;
    Ok(unfinished)
}

/// The folder for what was in the store's place: one that is not there yet.
///
/// # Errors
/// `Io`.
pub(super) fn aside(fs: &dyn FileSystem, paths: &StorePaths) -> Result<PathBuf, Error> {
    let name = paths.leveldb.file_name().unwrap_or_default();
    let within = paths.leveldb.parent().unwrap_or(Path::new(""));
    free_name(fs, within, name, ASIDE_SUFFIX)
}

/// Moves both folders of the store into `aside`, and those of the repaired store to their place. If that fails, everything is moved back.
///
/// # Errors
/// `Io`.
pub(super) fn exchange(fs: &dyn FileSystem, paths: &StorePaths, aside: &Path) -> Result<(), Error> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_owned();
    let (leveldb, blob) = (name(&paths.leveldb), name(&paths.blob));
    let repaired = aside.join(REPAIRED);
    // The LevelDB folder comes last: where it is, all blobs are.
    let steps = [
        (paths.leveldb.clone(), aside.join(&leveldb)),
        (paths.blob.clone(), aside.join(&blob)),
        (repaired.join(&blob), paths.blob.clone()),
        (repaired.join(&leveldb), paths.leveldb.clone()),
    ];
    move_all(fs, steps)?;
    files::sync_dir(fs, aside)?;
    files::sync_dir(fs, paths.leveldb.parent().unwrap_or(Path::new("")))?;
    // Empty.
    let _ = fs.remove_dir(&repaired);
    Ok(())
}
