//! What becomes of the original files: set aside in `lost/`, or removed.

use super::Repaired;
use super::unknown_files::names_read;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::file_name::FileName;
use crate::lost::{self, FOLDER};
use crate::read_state::ReadState;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Original files, by what becomes of them.
pub(super) struct Aside<'a> {
    core: &'a Core,
    /// Names of files that were read whole.
    whole: Vec<String>,
    /// Names of other files, and where they go, in the store's directory.
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
        let taken = lost::names_in(&*self.core.fs, &self.core.dir.join(FOLDER))?;
        for name in lost::names_in(&*self.core.fs, &self.core.dir)? {
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
                    let path = lost::free_path(&name, &taken);
                    self.kept.push((name, path));
                }
            }
        }
        Ok(())
    }

    /// Copies what is set aside, as far as it can be read: opening the store after a crash may remove the original.
    pub(super) fn copy(&mut self) -> Result<()> {
        if self.kept.is_empty() {
            return Ok(());
        }
        let folder = self.core.dir.join(FOLDER);
        lost::make_folder(self.core)?;
        self.has_folder = true;
        for (name, path) in &self.kept {
            let Ok(from) = self.core.fs.open_random(&self.core.dir.join(name)) else {
                continue;
            };
            let failed = |error| Error::io(&**path, "cannot be written", error);
            let created = self.core.fs.create(&self.core.dir.join(path));
            lost::copy(&*from, 0, &mut *created.map_err(failed)?).map_err(failed)?;
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
