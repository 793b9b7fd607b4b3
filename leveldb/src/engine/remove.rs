//! Removes files that are not needed any more. What cannot be removed stays until the store is opened next.

use super::install::Work;
use super::{Engine, locked};
use crate::file_name::FileName;
use crate::read_state::ReadState;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::sync::{Arc, Weak};

impl Work {
    /// The numbers of the tables in versions that may still be read, the newest one included.
    fn read_tables(&self) -> BTreeSet<u64> {
        let versions = self.versions.iter().filter_map(Weak::upgrade);
        let tables = versions.flat_map(|version| {
            let numbers: Vec<u64> = version.files().map(|file| file.number).collect();
            numbers
        });
        tables.collect()
    }
}

impl Engine {
    /// Removes tables that are in no version that may still be read, and logs whose entries are in tables by now.
    pub(super) fn remove_obsolete(&self, work: &mut Work) {
        work.old_tables.extend(locked(&self.beside).take_dropped());
        let has_any = !work.old_logs.is_empty() || !work.old_tables.is_empty();
        if has_any && self.check_lock().is_err() {
            // The names may be those of another process's files by now.
            return;
        }
        for number in std::mem::take(&mut work.old_logs) {
            let _ = self.core.fs.remove(&self.path(FileName::Log(number)));
        }
        work.versions.retain(|version| version.strong_count() > 0);
        if work.old_tables.is_empty() {
            return;
        }
        let mut read = work.read_tables();
        read.extend(locked(&self.beside).read_tables());
        work.old_tables.retain(|&number| {
            if read.contains(&number) {
                return true;
            }
            self.core.tables.remove(number);
            self.core.tombstones.remove_table(number);
            self.remove_table(number);
            false
        });
    }

    /// Removes those, unless background work is under way, which does so with its end.
    pub(crate) fn remove_unread(&self) {
        if let Ok(mut work) = self.work.try_lock() {
            self.remove_obsolete(&mut work);
        }
    }

    pub(super) fn remove_table(&self, number: u64) {
        let removed = self.core.fs.remove(&self.path(FileName::Table(number)));
        if removed.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            let _ = self.core.fs.remove(&self.path(FileName::OldTable(number)));
        }
    }

    /// Removes what can be, for the last time, and opens every table that is still read: the next opening of the store may
    /// remove it, and an open file can be read nevertheless.
    pub(crate) fn clean_up(&self) {
        let work = &mut *locked(&self.work);
        {
            // Readers that start from here are those of this handle, which ends.
            let mut current = locked(&self.current);
            let old = &current.state;
            let state = ReadState {
                core: old.core.clone(),
                version: Arc::default(),
                mem: old.mem.clone(),
                live: Vec::new(),
            };
            current.state = Arc::new(state);
        }
        self.remove_obsolete(work);
        self.core.tables.keep_all();
        for version in work.versions.iter().filter_map(Weak::upgrade) {
            for file in version.files() {
                if !self.core.tables.is_open(file.number) {
                    let _ = self.core.open_early(file);
                }
            }
        }
    }

    /// Removes what a crash, or an earlier process, has left: of the files that were found, those of a store that are not part
    /// of this one.
    pub(super) fn remove_unknown_files(&self, work: &mut Work, found: &[OsString]) {
        let state = self.state();
        // Also those of readers that began before the store was what it is.
        let tables = work.read_tables();
        let logs: BTreeSet<u64> = state.live.iter().map(|list| list.log_number).collect();
        for name in found {
            let is_ours = match FileName::parse(name) {
                Some(FileName::Table(number) | FileName::OldTable(number)) => {
                    tables.contains(&number)
                }
                Some(FileName::Log(number)) => logs.contains(&number),
                Some(FileName::Manifest(number)) => number == work.manifest_number,
                Some(FileName::Temp(_)) => false,
                _ => true,
            };
            if !is_ours {
                let _ = self.core.fs.remove(&self.core.dir.join(name));
            }
        }
    }
}
