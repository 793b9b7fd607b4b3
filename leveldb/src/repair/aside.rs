//! What becomes of the original files: set aside in `lost/`, or removed.

use super::Repaired;
use super::strangers::names_read;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::file_name::FileName;
use crate::snapshot::ReadState;
use crate::storage::{RandomFile, WritableFile};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// The folder for them, in the store's directory; C++ LevelDB's repair has the same.
const FOLDER: &str = "lost";

const PIECE_LEN: usize = 64 << 10;

/// Original files, told apart.
pub(super) struct Aside<'a> {
    core: &'a Core,
    /// Names of files that were read whole.
    whole: Vec<String>,
    /// Of others, and where they go, in the store's directory.
    kept: Vec<(String, PathBuf)>,
    has_folder: bool,
}

impl<'a> Aside<'a> {
    pub(super) fn new(core: &'a Core) -> Aside<'a> {
        Aside {
            core,
            whole: Vec::new(),
            kept: Vec::new(),
            has_folder: false,
        }
    }

    /// Decides about each file of the store. `left_out`: files with rows that do not come back.
    pub(super) fn decide(
        &mut self,
        state: &ReadState,
        repaired: &Repaired,
        left_out: BTreeSet<String>,
    ) -> Result<()> {
        let mut hurt = left_out;
        let damaged = repaired.damage.iter().map(|damage| damage.file.as_path());
        let torn = repaired.torn_tails.iter().map(|torn| Path::new(&torn.file));
        hurt.extend(damaged.chain(torn).map(|path| path.display().to_string()));
        let read = names_read(state);
        let taken = self.names(&self.core.dir.join(FOLDER))?;
        for name in self.names(&self.core.dir)? {
            let is_whole = match FileName::parse(name.as_ref()) {
                Some(FileName::Current | FileName::Manifest(_)) => repaired.damage.is_empty(),
                Some(FileName::Log(_) | FileName::Table(_) | FileName::OldTable(_)) => {
                    read.contains(&name) && !hurt.contains(&name)
                }
                // LOCK, LOG; and temporary files, the new tables among them.
                _ => continue,
            };
            match is_whole {
                true => self.whole.push(name),
                false => {
                    let path = free_path(&name, &taken);
                    self.kept.push((name, path));
                }
            }
        }
        Ok(())
    }

    fn names(&self, dir: &Path) -> Result<BTreeSet<String>> {
        match self.core.fs.list(dir) {
            Ok(names) => Ok(names
                .iter()
                .map(|name| name.to_string_lossy().into_owned())
                .collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(Error::io(dir, "cannot list the directory", error)),
        }
    }

    /// Copies what is set aside, as far as it can be read: whoever opens the store after a crash may remove the original.
    pub(super) fn copy(&mut self) -> Result<()> {
        if self.kept.is_empty() {
            return Ok(());
        }
        let folder = self.core.dir.join(FOLDER);
        match self.core.fs.create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Error::io(FOLDER, "cannot be made", error));
            }
            _ => self.has_folder = true,
        }
        for (name, path) in &self.kept {
            let Ok(from) = self.core.fs.open_random(&self.core.dir.join(name)) else {
                continue;
            };
            let failed = |error| Error::io(&**path, "cannot be written", error);
            let created = self.core.fs.create(&self.core.dir.join(path));
            copy_file(&*from, &mut *created.map_err(failed)?).map_err(failed)?;
        }
        self.sync(&folder)?;
        self.sync(&self.core.dir)
    }

    /// After a failure: the originals are all there.
    pub(super) fn remove_copies(&self) {
        if !self.has_folder {
            return;
        }
        for (_, path) in &self.kept {
            let _ = self.core.fs.remove(&self.core.dir.join(path));
        }
        // Fails if something else is in it.
        let _ = self.core.fs.remove_dir(&self.core.dir.join(FOLDER));
    }

    /// Moves the originals over their copies, and removes those that are not needed. Where they are now.
    pub(super) fn finish(self) -> Result<Vec<PathBuf>> {
        let dir = &self.core.dir;
        for (name, path) in &self.kept {
            // CURRENT has been replaced.
            if name != &FileName::Current.to_string() {
                let moved = self.core.fs.rename(&dir.join(name), &dir.join(path));
                moved.map_err(|error| Error::io(&**name, "cannot be set aside", error))?;
            }
        }
        for name in &self.whole {
            if name != &FileName::Current.to_string() {
                // What stays is removed when the store is opened next.
                let _ = self.core.fs.remove(&dir.join(name));
            }
        }
        if self.has_folder {
            self.sync(&dir.join(FOLDER))?;
        }
        self.sync(dir)?;
        Ok(self.kept.into_iter().map(|(_, path)| path).collect())
    }

    fn sync(&self, dir: &Path) -> Result<()> {
        let synced = self.core.fs.sync_dir(dir);
        synced.map_err(|error| Error::io(dir, "cannot sync the directory", error))
    }
}

/// In the folder, under a name that no earlier repair has used.
fn free_path(name: &str, taken: &BTreeSet<String>) -> PathBuf {
    let numbered = (2..).map(|n| format!("{name}.{n}"));
    let free = std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| !taken.contains(name));
    Path::new(FOLDER).join(free.unwrap_or_default())
}

/// Copies a file, with zeros for what cannot be read.
fn copy_file(from: &dyn RandomFile, to: &mut dyn WritableFile) -> io::Result<()> {
    let len = from.len().unwrap_or(0);
    let mut piece = vec![0; PIECE_LEN];
    let mut at = 0;
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
