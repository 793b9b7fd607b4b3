//! Files and folders that are moved together: all of them, or none.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use larder_backing_store::{Error, ErrorKind, files};
use larder_leveldb::storage::FileSystem;

/// What was moved, each from where it was to where it is.
pub(crate) struct Moved<'a> {
    fs: &'a dyn FileSystem,
    done: Vec<(PathBuf, PathBuf)>,
}

impl Moved<'_> {
    /// Moves everything back, as far as that can be done.
    pub(crate) fn undo(self) {
        for (from, to) in self.done.iter().rev() {
            let _ = self.fs.rename(to, from);
        }
    }
}

/// Moves each of these that is there, in their order.
///
/// # Errors
/// `Io`: everything is where it was then, as far as that can be done.
pub(crate) fn move_all(
    fs: &dyn FileSystem,
    steps: impl IntoIterator<Item = (PathBuf, PathBuf)>,
) -> Result<Moved<'_>, Error> {
    let mut moved = Moved {
        fs,
        done: Vec::new(),
    };
    for (from, to) in steps {
        let renamed = match files::exists(fs, &from) {
            Ok(false) => continue,
            Ok(true) => fs.rename(&from, &to).map_err(|error| {
                larder_leveldb::Error::io(&to, "cannot get this name", error).into()
            }),
            Err(error) => Err(error),
        };
        if let Err(error) = renamed {
            moved.undo();
            return Err(error);
        }
        moved.done.push((from, to));
    }
    Ok(moved)
}

/// A name in a folder that nothing has yet: this one with the suffix, and a number if that is taken.
///
/// # Errors
/// `Io`.
pub(crate) fn free_name(
    fs: &dyn FileSystem,
    within: &Path,
    name: &OsStr,
    suffix: &str,
) -> Result<PathBuf, Error> {
    for n in 1_u64.. {
        let mut free = name.to_owned();
        free.push(suffix);
        if n > 1 {
            free.push(format!(".{n}"));
        }
        let path = within.join(free);
        if !files::exists(fs, &path)? {
            return Ok(path);
        }
    }
    let what = "no name is free beside the store";
    Err(Error::new(ErrorKind::Usage, what))
}
