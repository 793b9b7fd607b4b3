//! The folder `lost` in a store's directory: what could not be read is set aside there, and stays until it is removed by hand.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::storage::{FileSystem, RandomFile, WritableFile};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Its name; C++ LevelDB's repair has the same.
pub(crate) const FOLDER: &str = "lost";

const PIECE_LEN: usize = 64 << 10;

/// Makes the folder, if it is not there.
pub(crate) fn make_folder(core: &Core) -> Result<()> {
    match core.fs.create_dir(&core.dir.join(FOLDER)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(Error::io(FOLDER, "cannot be made", error))
        }
        _ => Ok(()),
    }
}

/// The names in a directory; none if it is not there.
pub(crate) fn names_in(fs: &dyn FileSystem, dir: &Path) -> Result<BTreeSet<String>> {
    match fs.list(dir) {
        Ok(names) => Ok(names
            .iter()
            .map(|name| name.to_string_lossy().into_owned())
            .collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(Error::io(dir, "cannot list the directory", error)),
    }
}

/// In the folder, under a name that is not taken.
pub(crate) fn free_path(name: &str, taken: &BTreeSet<String>) -> PathBuf {
    let numbered = (2..).map(|n| format!("{name}.{n}"));
    let free = std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| !taken.contains(name));
    Path::new(FOLDER).join(free.unwrap_or_default())
}

/// Copies a file from a place on, with zeros for what cannot be read, and syncs the copy.
pub(crate) fn copy(
    from: &dyn RandomFile,
    offset: u64,
    to: &mut dyn WritableFile,
) -> io::Result<()> {
    let len = from.len().unwrap_or(0);
    let mut piece = vec![0; PIECE_LEN];
    let mut at = offset;
    while at < len {
        let wanted = (len - at).min(PIECE_LEN as u64) as usize;
        let mut got = 0;
        while got < wanted {
            match from.read_at(at + got as u64, &mut piece[got..wanted]) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    piece[got..wanted].fill(0);
                    got = wanted;
                }
            }
        }
        if got == 0 {
            break;
        }
        to.append(&piece[..got])?;
        at += got as u64;
    }
    to.sync()
}
