//! A store that is made beside its place and appears there whole.
//!
//! Both folders are written in one temporary folder beside the place. At the end the blob folder gets its name, and then the LevelDB
//! folder: a store whose LevelDB folder is there has all its blobs. Whatever interrupts that leaves no store at the place, or the whole
//! one; what it leaves in the temporary folder the next attempt removes.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use larder_codec::{BlobNumber, DatabaseId};
use larder_leveldb::file_name::FileName;
use larder_leveldb::storage::FileSystem;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Background, Db, Durability, write_sorted};

use crate::comparator::engine_options;
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::layout::StorePaths;
use crate::unfinished;

/// Bytes of a blob copied at a time.
const PIECE_LEN: usize = 256 << 10;

/// Rows that come in no order are written in batches of so many bytes.
const BATCH_LEN_BYTES: usize = 1 << 20;

/// In which order rows come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowSequence {
    /// In Chromium's: they are written once, into tables.
    Sorted,
    /// In any: the engine sorts them.
    Unsorted,
}

/// A store being made. Dropped without [`finish`](Self::finish), it is removed as far as that can be done.
///
/// Folders get their names by [`FileSystem::rename`], which a disk does for folders too.
#[derive(Debug)]
pub struct NewStore {
    fs: Arc<dyn FileSystem>,
    target: StorePaths,
    temporary: PathBuf,
    paths: StorePaths,
    is_finished: bool,
}

impl NewStore {
    /// Begins a store at a place where there is none. The folders above are made if they are missing.
    ///
    /// # Errors
    /// `Usage` if there is a store already, or a blob folder without one; `Conflict` if another process is making it; `Io`.
    pub fn begin(fs: Arc<dyn FileSystem>, target: StorePaths) -> Result<Self> {
        let name = target.leveldb.file_name().unwrap_or_default();
        let temporary = unfinished::path_of(&target.leveldb);
        let leveldb = temporary.join(name);
        let blob = temporary.join(target.blob.file_name().unwrap_or_default());
        let new = Self {
            paths: StorePaths { leveldb, blob },
            fs,
            target,
            temporary,
            is_finished: true,
        };
        new.require_free()?;
        new.make()
    }

    fn make(mut self) -> Result<Self> {
        files::create_parents(&*self.fs, &self.temporary)?;
        files::make_dir(&*self.fs, &self.temporary)?;
        self.is_finished = false;
        files::make_dir(&*self.fs, &self.paths.leveldb)?;
        Ok(self)
    }

    /// Fails if something is at the place, and removes what an earlier attempt has left.
    fn require_free(&self) -> Result<()> {
        let fs = &*self.fs;
        if files::exists(fs, &self.target.leveldb)? {
            let place = self.target.leveldb.display();
            let what = format!(
                "{place}: there is a store already: choose another folder, or move it away first"
            );
            return Err(Error::new(ErrorKind::Usage, what));
        }
        let has_blob = files::exists(fs, &self.target.blob)?;
        if files::exists(fs, &self.temporary)? {
            let lock = self.paths.leveldb.join(FileName::Lock.to_string());
            if fs.lock_holder(&lock).is_ok_and(|holder| holder.is_some()) {
                let place = self.target.leveldb.display();
                let what = format!("{place}: another process is making this store: wait for it");
                return Err(Error::new(ErrorKind::Conflict, what));
            }
            // It was interrupted between the two names.
            let current = self.paths.leveldb.join(FileName::Current.to_string());
            let blob_is_ours =
                files::exists(fs, &current)? && !files::exists(fs, &self.paths.blob)?;
            if has_blob && blob_is_ours {
                files::remove_tree(fs, &self.target.blob)?;
            }
            files::remove_tree(fs, &self.temporary)?;
        }
        if files::exists(fs, &self.target.blob)? {
            let place = self.target.blob.display();
            let what = format!(
                "{place}: there are blobs of a store that is not there, which a browser would remove: move this folder away first"
            );
            return Err(Error::new(ErrorKind::Usage, what));
        }
        Ok(())
    }

    /// Where the store is while it is being made.
    #[must_use]
    pub fn paths(&self) -> &StorePaths {
        &self.paths
    }

    /// Writes all rows: how many there were. `next` puts the next row's key and value into the two buffers, which are empty, and
    /// returns whether there is one. It is called once for each store.
    ///
    /// # Errors
    /// What `next` returns; `Usage` if rows that should be sorted are not; `Io`.
    pub fn write_rows<E: From<Error>>(
        &self,
        sequence: RowSequence,
        mut next: impl FnMut(&mut Vec<u8>, &mut Vec<u8>) -> std::result::Result<bool, E>,
    ) -> std::result::Result<u64, E> {
        if sequence == RowSequence::Unsorted {
            return write_unsorted(Arc::clone(&self.fs), &self.paths.leveldb, next);
        }
        let (fs, dir) = (Arc::clone(&self.fs), &self.paths.leveldb);
        let mut stopped = None;
        let written = write_sorted(fs, dir, &engine_options(), |key, value| {
            next(key, value).map_err(|error| {
                stopped = Some(error);
                larder_leveldb::Error::new(
                    larder_leveldb::ErrorKind::Closed,
                    "the rows ended early",
                )
            })
        });
        match stopped {
            Some(error) => Err(error),
            None => Ok(written.map_err(Error::from)?),
        }
    }

    /// Writes the file of a blob, with its time of last modification: how many bytes it has.
    ///
    /// # Errors
    /// `Io`; a source that cannot be read is one as well.
    pub fn write_blob(
        &self,
        (database, number): (DatabaseId, BlobNumber),
        modified: Option<SystemTime>,
        content: &mut dyn Read,
    ) -> Result<u64> {
        let path = self.paths.blob_file(database, number);
        let dir = path.parent().unwrap_or(&self.paths.blob);
        if !files::exists(&*self.fs, dir)? {
            self.make_blob_dirs(database, dir)?;
        }
        let failed = |error| Error::io(&path, "cannot be written", error);
        let mut file = self.fs.create(&path).map_err(failed)?;
        let mut piece = vec![0; PIECE_LEN];
        let mut len = 0;
        loop {
            let read = match content.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Error::io(&path, "its content cannot be read", error)),
            };
            file.append(piece.get(..read).unwrap_or_default())
                .map_err(failed)?;
            len += read as u64;
        }
        if let Some(modified) = modified {
            file.set_modified(modified).map_err(failed)?;
        }
        file.sync().map_err(failed)?;
        Ok(len)
    }

    fn make_blob_dirs(&self, database: DatabaseId, dir: &Path) -> Result<()> {
        let of_database = self.paths.blob_database_dir(database);
        for dir in [&*self.paths.blob, &*of_database, dir] {
            files::make_dir(&*self.fs, dir)?;
        }
        Ok(())
    }

    /// Makes everything durable and gives the store its place.
    ///
    /// # Errors
    /// `Io`: there is no store at the place then, or the whole one.
    pub fn finish(mut self) -> Result<()> {
        let fs = &*self.fs;
        unfinished::sync_names(fs, &self.temporary)?;
        let parent = self.target.leveldb.parent().unwrap_or(Path::new(""));
        if files::exists(fs, &self.paths.blob)? {
            unfinished::rename(fs, &self.paths.blob, &self.target.blob)?;
            files::sync_dir(fs, parent)?;
        }
        unfinished::rename(fs, &self.paths.leveldb, &self.target.leveldb)?;
        self.is_finished = true;
        files::sync_dir(fs, parent)?;
        // It is empty; the next attempt would remove it as well.
        let _ = fs.remove_dir(&self.temporary);
        Ok(())
    }
}

/// Writes rows that come in no order: the engine sorts them. How many there were.
pub(crate) fn write_unsorted<E: From<Error>>(
    fs: Arc<dyn FileSystem>,
    dir: &Path,
    mut next: impl FnMut(&mut Vec<u8>, &mut Vec<u8>) -> std::result::Result<bool, E>,
) -> std::result::Result<u64, E> {
    let mut options = engine_options();
    options.create_if_missing = true;
    // No thread that an error would leave behind.
    options.background = Background::Caller;
    let db = Db::open(fs, dir, options);
    let db = db.map_err(Error::from)?;
    let (mut key, mut value) = (Vec::new(), Vec::new());
    let (mut batch, mut rows, mut len) = (BatchWriter::new(), 0, 0);
    while next(&mut key, &mut value)? {
        batch.put(&key, &value);
        rows += 1;
        len += key.len() + value.len();
        if len >= BATCH_LEN_BYTES {
            db.write(&mut batch, Durability::Relaxed)
                .map_err(Error::from)?;
            batch = BatchWriter::new();
            len = 0;
        }
        key.clear();
        value.clear();
    }
    db.write(&mut batch, Durability::Relaxed)
        .map_err(Error::from)?;
    db.flush().map_err(Error::from)?;
    db.close().map_err(Error::from)?;
    Ok(rows)
}

impl Drop for NewStore {
    fn drop(&mut self) {
        // After the blob folder has got its name, the next attempt must be able to see that it is ours.
        let is_whole = !files::exists(&*self.fs, &self.target.blob).unwrap_or(true);
        if !self.is_finished && is_whole {
            let _ = files::remove_tree(&*self.fs, &self.temporary);
        }
    }
}
