//! The store behind `BackingStore`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use larder_backing_store::{
    Clock, DatabaseMetadata, Error, ErrorKind, RowCommit, RowSource, RowStore, StorePaths, files,
};
use larder_codec::{DataVersion, DatabaseId};
use larder_leveldb::storage::FileSystem;

use super::commit::{Application, Contents};
use super::file::{FoundFile, LiveFile, Writer};
use super::files::LiveFiles;
use super::open::find;
use super::rows::LiveRows;
use crate::file_names::file_name;
use crate::sql;
use crate::write::NewDatabase;

/// What Chromium commits as the version before the first upgrade: such a file is no database yet.
const NO_VERSION_YET: i64 = -1;

#[derive(Debug)]
pub(super) struct LiveStore {
    pub(super) files: Arc<LiveFiles>,
    pub(super) fs: Arc<dyn FileSystem>,
    pub(super) paths: StorePaths,
    pub(super) clock: Arc<dyn Clock>,
    /// A commit may be there or not: only opening the files again shows.
    pub(super) is_uncertain: AtomicBool,
    /// Held while a file is made: the folder in which that happens is there for one at a time.
    pub(super) making: Mutex<()>,
}

impl RowStore for LiveStore {
    fn rows(&self) -> Arc<dyn RowSource> {
        Arc::new(LiveRows(self.files.moment()))
    }

    fn commit(&self, commit: RowCommit<'_>) -> Result<(), Error> {
        if self.is_uncertain.load(Ordering::Acquire) {
            let what = "an earlier commit may be there or not: open the store again";
            return Err(Error::new(ErrorKind::Closed, what));
        }
        let committed = match self.files.get(commit.database_id) {
            Some(file) => self.commit_to(&file, commit),
            None => self.commit_to_new(commit),
        };
        committed.inspect_err(|error| {
            if error.kind() == ErrorKind::Uncertain {
                self.is_uncertain.store(true, Ordering::Release);
            }
        })
    }

    fn delete_database(&self, id: DatabaseId) -> Result<(), Error> {
        let Some(file) = self.files.get(id) else {
            return Ok(());
        };
        let _writer = file.writer();
        let schema = file.turn();
        self.files.hold_in_all(&file, &schema)?;
        remove_if_there(&*self.fs, &file.path)?;
        self.files.remove(id);
        file.close_idle();
        // It is deleted. What stays beside is in no file's way: another of the name removes it first.
        let _ = self.remove_beside(&file.path);
        if !schema.has_blobs {
            self.files.contents.remove(id);
        }
        Ok(())
    }

    fn used_bytes(&self) -> Result<u64, Error> {
        let mut sum = 0_u64;
        for file in self.files.all() {
            for path in [file.path.clone(), with_suffix(&file.path, "-wal")] {
                match self.fs.metadata(&path) {
                    Ok(metadata) => sum = sum.saturating_add(metadata.len_bytes),
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                    Err(error) => return Err(io_error(&path, &error)),
                }
            }
        }
        Ok(sum)
    }

    fn maintain(&self) -> Result<bool, Error> {
        for file in self.files.all() {
            let mut writer = file.writer();
            // What readers still look at waits for another time.
            let is_done = writer.has_log && {
                let done = writer.checkpoint("PASSIVE");
                done.map_err(|error| file.failed(&error))?
            };
            if is_done {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn compact(&self) -> Result<(), Error> {
        for file in self.files.all() {
            let mut writer = file.writer();
            let done = (writer.connection.execute_batch("VACUUM"))
                .and_then(|()| writer.checkpoint("TRUNCATE"));
            done.map_err(|error| file.failed(&error))?;
        }
        Ok(())
    }

    fn close(&self) -> Result<(), Error> {
        let mut closed = Ok(());
        for file in self.files.all() {
            file.close_idle();
            let mut writer = file.writer();
            if writer.has_log {
                // A file that stays long, for want of room or because another program looks at it, is as good.
                let _ = writer.vacuum_if_worth_it();
                let done = writer.checkpoint("TRUNCATE");
                closed = closed.and(done.map(drop).map_err(|error| file.failed(&error)));
            }
        }
        // With its last connection a file's log goes.
        self.files.close();
        // No commit comes for what lies there. Opening the store removes what stays.
        let _ = files::remove_tree(&*self.fs, &self.paths.blob);
        closed
    }
}

impl LiveStore {
    fn commit_to(&self, file: &Arc<LiveFile>, commit: RowCommit<'_>) -> Result<(), Error> {
        let writer = &mut *file.writer();
        let taken = self.write(file, writer, commit);
        let taken = taken.inspect_err(|_| writer.roll_back())?;
        for path in taken {
            // What stays goes when the store is opened next.
            let _ = self.fs.remove(&path);
        }
        Ok(())
    }

    /// Commits: the files whose contents are in the tables now.
    fn write(
        &self,
        file: &Arc<LiveFile>,
        writer: &mut Writer,
        commit: RowCommit<'_>,
    ) -> Result<Vec<PathBuf>, Error> {
        let failed = |error: rusqlite::Error| file.failed(&error);
        writer.begin(commit.durability).map_err(failed)?;
        let schema = Arc::clone(&file.turn());
        let contents = Contents {
            fs: &*self.fs,
            paths: &self.paths,
        };
        let handles = commit.handle_numbers;
        let into = (&writer.connection, &mut writer.packer);
        let mut application = Application::new(&file.path, into, schema, contents, handles);
        application.apply(commit)?;
        let (schema, taken) = application.finish();
        let mut turn = file.turn();
        self.files.hold_in_all(file, &turn)?;
        writer.commit().map_err(|error| match file.failed(&error) {
            // The log may have it all.
            said if said.kind() == ErrorKind::Io && !said.is_out_of_space() => {
                Error::new(ErrorKind::Uncertain, said.to_string())
            }
            said => said,
        })?;
        *turn = schema;
        Ok(taken)
    }

    /// The first commit of a database makes its file, which is none as long as the commit has not ended.
    fn commit_to_new(&self, commit: RowCommit<'_>) -> Result<(), Error> {
        let Some(metadata) = &commit.metadata else {
            let what = "a database is made by a version change";
            return Err(Error::new(ErrorKind::Usage, what));
        };
        let path = self.files.dir.join(file_name(&metadata.name));
        if self.files.all().iter().any(|file| file.path == path) {
            let what =
                "the file of this name has another database, whose own file it should not be";
            return Err(sql::damage(&path, what));
        }
        self.clear_place(&path)?;
        let empty = DatabaseMetadata {
            version: Some(NO_VERSION_YET),
            object_stores: Vec::new(),
            ..metadata.clone()
        };
        self.make(&empty, commit.data_version)?;
        let made =
            FoundFile::of_new(&path, empty).and_then(|new| LiveFile::open(path.clone(), new));
        let file = Arc::new(made.inspect_err(|_| self.give_up(&path))?);
        self.files.leave_out_in_all(file.id);
        match self.commit_to(&file, commit) {
            Ok(()) => {
                self.files.insert(file);
                Ok(())
            }
            Err(error) => {
                if error.kind() != ErrorKind::Uncertain {
                    drop(file);
                    self.give_up(&path);
                }
                Err(error)
            }
        }
    }

    /// Makes a file, which comes to its place whole.
    fn make(&self, metadata: &DatabaseMetadata, version: DataVersion) -> Result<(), Error> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let apart = self.paths.blob.join("new");
        for dir in [&self.paths.blob, &apart] {
            files::make_dir(&*self.fs, dir)?;
        }
        let name = file_name(&metadata.name);
        let made = || {
            remove_if_there(&*self.fs, &apart.join(&name))?;
            let now = self.clock.now_us();
            NewDatabase::create(&apart, metadata, version, now)?.finish()?;
            let path = self.files.dir.join(&name);
            self.fs
                .rename(&apart.join(&name), &path)
                .map_err(|error| io_error(&path, &error))?;
            files::sync_dir(&*self.fs, &self.files.dir)
        };
        let made = made();
        // Opening the store removes what stays. The folder around it stays for now: another transaction may be about to write a blob there.
        let _ = files::remove_tree(&*self.fs, &apart);
        made
    }

    /// Removes what is no database from the place of a new one.
    fn clear_place(&self, path: &Path) -> Result<(), Error> {
        match self.fs.metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_error(path, &error)),
            Ok(_) => {
                if find(path)?.is_some() {
                    let what = format!(
                        "{}: another program has made this database since the store was opened",
                        path.display()
                    );
                    return Err(Error::new(ErrorKind::Conflict, what));
                }
                remove_if_there(&*self.fs, path)?;
            }
        }
        self.remove_beside(path)
    }

    /// The file of a database that was not made. What stays of it is no database.
    fn give_up(&self, path: &Path) {
        let _ = remove_if_there(&*self.fs, path);
        let _ = self.remove_beside(path);
    }

    /// Removes what lies beside a database's file, which is not there.
    fn remove_beside(&self, path: &Path) -> Result<(), Error> {
        remove_beside(&*self.fs, path)
    }
}

/// Removes a file, if it is there.
pub(super) fn remove_if_there(fs: &dyn FileSystem, path: &Path) -> Result<(), Error> {
    match fs.remove(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_error(path, &error)),
        _ => Ok(()),
    }
}

/// Removes what belongs to a database's file and lies beside it.
pub(super) fn remove_beside(fs: &dyn FileSystem, path: &Path) -> Result<(), Error> {
    for suffix in ["-wal", "-shm"] {
        remove_if_there(fs, &with_suffix(path, suffix))?;
    }
    files::remove_tree(fs, &with_suffix(path, "_"))
}

pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

pub(super) fn io_error(path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("{}: {error}", path.display()))
}
