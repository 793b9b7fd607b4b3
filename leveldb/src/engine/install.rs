//! Changes the set of tables: the edit goes to the MANIFEST and is synced, then readers start from the new version.

use super::kept::{Kept, may_count};
use super::{Engine, locked};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::file_name::FileName;
use crate::filter::KeyFilter;
use crate::internal_key::InternalOrder;
use crate::log::LogWriter;
use crate::options::Options;
use crate::read_state::ReadState;
use crate::table_file::TableFile;
use crate::version::Version;
use crate::version_edit::{NewFile, VersionEdit};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

/// What the thread that makes tables holds.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) manifest: LogWriter,
    pub(super) manifest_number: u64,
    /// Bytes of edits after its first.
    pub(super) manifest_bytes: u64,
    /// The oldest log that matters, as the MANIFEST says.
    pub(super) log_number: u64,
    pub(super) compact_pointers: BTreeMap<usize, Vec<u8>>,
    /// Versions that may still be read.
    pub(super) versions: Vec<Weak<Version>>,
    /// Tables that are in no newer version, and logs that are tables by now: to be removed.
    pub(super) old_tables: BTreeSet<u64>,
    pub(super) old_logs: Vec<u64>,
    /// Compactions write everything anew.
    pub(super) must_rewrite: bool,
    /// A compaction is to make room, and a memtable that fills up meanwhile has to wait for that.
    pub(super) is_short_of_room: bool,
    /// After an error, what the MANIFEST says and which one CURRENT names is open. What either may need stays, and a new
    /// MANIFEST is written before anything else.
    pub(super) is_manifest_in_doubt: bool,
    /// What only counts if one of those edits does: removed once a new MANIFEST is sure.
    pub(super) doubtful: Vec<FileName>,
    /// What opening had no room for.
    pub(super) kept: Option<Kept>,
}

pub(super) fn table_file(new: NewFile) -> TableFile {
    TableFile {
        number: new.number,
        level: new.level,
        len_bytes: Some(new.len_bytes),
        smallest: Some(new.smallest),
        largest: Some(new.largest),
        keys: None,
        is_unsorted: false,
    }
}

/// What is in tables by an edit, and no more in memory.
pub(super) enum Replaced {
    /// The full memtable, in a table with these keys.
    Full { keys: Option<Arc<KeyFilter>> },
    /// What was in the logs when the store was opened.
    Kept,
}

impl Engine {
    /// Makes an edit part of the store; the full memtable is in that of a flush.
    ///
    /// The order: names of new tables durable, then the edit in the MANIFEST, synced, then the version for readers. An edit that came before
    /// its tables would name files that a crash has taken. Readers that saw the version before the edit was durable could answer from a
    /// state that a crash takes back. The memtable leaves `live` in the step that brings its table in: apart, a reader between the two would
    /// miss its rows.
    ///
    /// When this fails, handles go on without the edit. After a crash it may be there all the same, since a failed write may have reached the disk:
    /// so neither what it adds nor what it drops is removed before a new MANIFEST has been made the one that counts.
    pub(super) fn install(
        &self,
        work: &mut Work,
        mut edit: VersionEdit,
        replaced: Option<Replaced>,
    ) -> Result<()> {
        let (state, sequence) = {
            let current = locked(&self.current);
            (current.state.clone(), current.sequence)
        };
        self.check_lock()?;
        let begins_anew =
            work.is_manifest_in_doubt || work.manifest_bytes > self.options.manifest_bytes;
        let manifest_number = match begins_anew {
            true => self.new_file_number(),
            false => work.manifest_number,
        };
        edit.next_file_number = Some(self.next_file.load(Ordering::Relaxed));
        edit.last_sequence = Some(sequence);
        edit.prev_log_number = edit.log_number.map(|_| 0);
        if replaced.is_some() || !edit.new_files.is_empty() {
            // The names of the tables, and of the log that goes on, before the edit that needs them.
            self.sync_dir().inspect_err(|_| {
                for number in new_tables(&edit) {
                    self.remove_table(number);
                }
            })?;
        }
        let dropped: BTreeSet<(usize, u64)> = edit.deleted_files.iter().copied().collect();
        let kept = state.version.files();
        let kept = kept.filter(|file| !dropped.contains(&(file.level, file.number)));
        let kept = kept.map(|file| TableFile::clone(file));
        let keys = match &replaced {
            Some(Replaced::Full { keys }) => keys.as_ref(),
            _ => None,
        };
        let added = edit.new_files.iter().cloned().map(|new| TableFile {
            keys: keys.filter(|_| new.level == 0).cloned(),
            ..table_file(new)
        });
        let files: Vec<TableFile> = kept.chain(added).collect();
        let written = match begins_anew {
            true => self.begin_manifest(work, &edit, &files, manifest_number),
            false => self.append_edit(work, &edit),
        };
        written.inspect_err(
            |_| match begins_anew && !may_count(&self.core, manifest_number) {
                true => new_tables(&edit).for_each(|number| self.remove_table(number)),
                false => work.doubtful.extend(new_tables(&edit).map(FileName::Table)),
            },
        )?;
        if replaced.is_some() {
            self.health.has_room();
        }
        work.log_number = edit.log_number.unwrap_or(work.log_number);
        work.old_tables
            .extend(edit.deleted_files.iter().map(|(_, number)| *number));
        for file in &edit.new_files {
            work.old_tables.remove(&file.number);
        }
        work.compact_pointers
            .extend(edit.compact_pointers.drain(..));
        let version = Arc::new(Version::new(&self.core.order, files));
        work.versions.push(Arc::downgrade(&version));
        drop(state);
        self.publish(|state| {
            let mut state = ReadState {
                version,
                ..state.clone()
            };
            match replaced {
                Some(Replaced::Full { .. }) => state.live.truncate(1),
                Some(Replaced::Kept) => state.mem = Arc::default(),
                None => {}
            }
            state
        });
        Ok(())
    }
}

/// The numbers of the tables that were made for an edit. One that goes to another level as it is was there before.
fn new_tables(edit: &VersionEdit) -> impl Iterator<Item = u64> {
    let is_moved = |number: u64| edit.deleted_files.iter().any(|(_, old)| *old == number);
    let numbers = edit.new_files.iter().map(|file| file.number);
    numbers.filter(move |number| !is_moved(*number))
}

impl Engine {
    /// After a failed edit: writes a MANIFEST that says what is part of the store, and makes it the one that counts.
    pub(super) fn mend_manifest(&self, work: &mut Work) -> Result<()> {
        if !work.is_manifest_in_doubt {
            return Ok(());
        }
        self.check_lock()?;
        let (version, last_sequence) = {
            let current = locked(&self.current);
            (current.state.version.clone(), current.sequence)
        };
        let number = self.new_file_number();
        let edit = VersionEdit {
            next_file_number: Some(self.next_file.load(Ordering::Relaxed)),
            last_sequence: Some(last_sequence),
            ..VersionEdit::default()
        };
        let files: Vec<TableFile> = version.files().map(|file| TableFile::clone(file)).collect();
        self.begin_manifest(work, &edit, &files, number)
    }

    fn append_edit(&self, work: &mut Work, edit: &VersionEdit) -> Result<()> {
        let mut record = Vec::new();
        edit.encode(&mut record);
        work.manifest_bytes += record.len() as u64;
        append(&mut work.manifest, &record).map_err(|error| {
            work.is_manifest_in_doubt = true;
            let name = FileName::Manifest(work.manifest_number).to_string();
            Error::io(name, "cannot write the edit", error)
        })
    }

    /// A MANIFEST that begins with what an edit leads to, in place of one that has grown long. Until CURRENT is switched the
    /// old one counts, and lacks nothing but this edit.
    fn begin_manifest(
        &self,
        work: &mut Work,
        edit: &VersionEdit,
        files: &[TableFile],
        number: u64,
    ) -> Result<()> {
        let mut compact_pointers = work.compact_pointers.clone();
        compact_pointers.extend(edit.compact_pointers.iter().cloned());
        let first = FirstEdit {
            order: &self.core.order,
            files,
            compact_pointers: &compact_pointers,
            log_number: edit.log_number.unwrap_or(work.log_number),
            next_file_number: edit.next_file_number.unwrap_or(0),
            last_sequence: edit.last_sequence.unwrap_or(0),
        };
        work.manifest = first.write(&self.core, number).inspect_err(|_| {
            let left = [FileName::Manifest(number), FileName::Temp(number)];
            if may_count(&self.core, number) {
                // Nothing may be added to the old one.
                work.is_manifest_in_doubt = true;
                work.doubtful.extend(left);
            } else {
                // What is left takes room, of which there may be none.
                self.remove_names(left);
            }
        })?;
        work.manifest_bytes = 0;
        work.is_manifest_in_doubt = false;
        let old = std::mem::replace(&mut work.manifest_number, number);
        self.remove_names(std::iter::once(FileName::Manifest(old)).chain(work.doubtful.drain(..)));
        Ok(())
    }

    /// Removes files that do not count. What stays is removed when the store is opened next.
    fn remove_names(&self, names: impl IntoIterator<Item = FileName>) {
        for name in names {
            let _ = self.core.fs.remove(&self.path(name));
        }
    }
}

fn append(manifest: &mut LogWriter, record: &[u8]) -> std::io::Result<()> {
    manifest.add(record)?;
    manifest.file().sync()
}

/// What a new MANIFEST says first: everything.
pub(crate) struct FirstEdit<'a> {
    pub(crate) order: &'a InternalOrder,
    pub(crate) files: &'a [TableFile],
    pub(crate) compact_pointers: &'a BTreeMap<usize, Vec<u8>>,
    pub(crate) log_number: u64,
    pub(crate) next_file_number: u64,
    pub(crate) last_sequence: u64,
}

impl FirstEdit<'_> {
    fn edit(&self) -> VersionEdit {
        let new_file = |file: &TableFile| NewFile {
            level: file.level,
            number: file.number,
            len_bytes: file.len_bytes.unwrap_or(0),
            smallest: file.smallest.clone().unwrap_or_default(),
            largest: file.largest.clone().unwrap_or_default(),
        };
        let pointers = self.compact_pointers.iter();
        VersionEdit {
            comparator: Some(self.order.user().name().as_bytes().to_vec()),
            log_number: Some(self.log_number),
            prev_log_number: Some(0),
            next_file_number: Some(self.next_file_number),
            last_sequence: Some(self.last_sequence),
            compact_pointers: pointers.map(|(level, key)| (*level, key.clone())).collect(),
            new_files: self.files.iter().map(new_file).collect(),
            ..VersionEdit::default()
        }
    }

    /// Writes a MANIFEST and makes it the store's: CURRENT is replaced when all that it leads to is durable.
    pub(crate) fn write(&self, core: &Core, number: u64) -> Result<LogWriter> {
        let name = FileName::Manifest(number).to_string();
        let failed = |error| Error::io(&*name, "cannot be written", error);
        let file = core.fs.create(&core.dir.join(&name)).map_err(failed)?;
        let mut manifest = LogWriter::new(file, 0);
        let mut record = Vec::new();
        self.edit().encode(&mut record);
        append(&mut manifest, &record).map_err(failed)?;
        let unsynced = |error| Error::io(&*core.dir, "cannot sync the directory", error);
        core.fs.sync_dir(&core.dir).map_err(unsynced)?;
        set_current(core, number)?;
        core.fs.sync_dir(&core.dir).map_err(unsynced)?;
        Ok(manifest)
    }
}

fn set_current(core: &Core, manifest: u64) -> Result<()> {
    let temp = FileName::Temp(manifest).to_string();
    let failed = |error| Error::io("CURRENT", "cannot be replaced", error);
    let path = core.dir.join(&temp);
    let mut file = core.fs.create(&path).map_err(failed)?;
    let line = format!("{}\n", FileName::Manifest(manifest));
    file.append(line.as_bytes()).map_err(failed)?;
    file.sync().map_err(failed)?;
    drop(file);
    let current = core.dir.join(FileName::Current.to_string());
    core.fs.rename(&path, &current).map_err(failed)
}

/// How many file numbers there are; far more than can be used up.
pub(super) const FILE_NUMBER_MAX: u64 = 1 << 60;

/// Numbers for files of a store that is being opened.
pub(crate) struct Numbers(pub(crate) std::cell::Cell<u64>);

impl Numbers {
    pub(crate) fn take(&self) -> u64 {
        let number = self.0.get();
        self.0.set(number + 1);
        number
    }
}

/// Sizes of tables made while opening follow the memtable's.
pub(super) fn recovery_table_bytes(options: &Options) -> u64 {
    (options.write_buffer_bytes as u64).max(options.table_file_bytes)
}
