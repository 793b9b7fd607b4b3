//! Blob files: written whole and synced, removed, never changed.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use larder_codec::{BlobNumber, DatabaseId};
use larder_leveldb::storage::FileSystem;

use super::source::BlobSource;
use crate::error::{Error, ErrorKind, Result};
use crate::external_object::UNIX_EPOCH_MICROS;
use crate::layout::StorePaths;

/// Bytes copied at a time.
const PIECE_LEN: usize = 256 << 10;

/// The folder of a store's blobs.
#[derive(Debug, Clone)]
pub(crate) struct BlobFiles {
    fs: Arc<dyn FileSystem>,
    paths: StorePaths,
}

impl BlobFiles {
    pub(crate) fn new(fs: Arc<dyn FileSystem>, paths: StorePaths) -> Self {
        Self { fs, paths }
    }

    /// Whether there is a file for this number.
    pub(crate) fn exists(&self, database_id: DatabaseId, number: BlobNumber) -> Result<bool> {
        let path = self.paths.blob_file(database_id, number);
        match self.fs.metadata(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(io_error(&path, "cannot be looked up", error)),
        }
    }

    /// Writes a blob's file; it and its name are durable then.
    pub(crate) fn write(
        &self,
        database_id: DatabaseId,
        number: BlobNumber,
        content: &dyn BlobSource,
        last_modified_micros: Option<i64>,
    ) -> Result<()> {
        let path = self.paths.blob_file(database_id, number);
        let database_dir = self.paths.blob_database_dir(database_id);
        let dir = path.parent().unwrap_or(&database_dir);
        for dir in [&*self.paths.blob, &*database_dir, dir] {
            self.make_dir(dir)?;
        }
        let mut file =
            (self.fs.create(&path)).map_err(|error| io_error(&path, "cannot be made", error))?;
        let failed = |error| io_error(&path, "cannot be written", error);
        let unreadable = |error| io_error(&path, "its content cannot be read", error);
        let mut source = content.open().map_err(unreadable)?;
        let mut left = content.size_bytes();
        let mut piece = vec![
            0;
            PIECE_LEN
                .min(usize::try_from(left).unwrap_or(PIECE_LEN))
                .max(1)
        ];
        loop {
            let read = match source.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(unreadable(error)),
            };
            let taken = piece.get(..read).unwrap_or_default();
            left = (left.checked_sub(taken.len() as u64)).ok_or_else(|| wrong_size(&path))?;
            file.append(taken).map_err(failed)?;
        }
        if left != 0 {
            return Err(wrong_size(&path));
        }
        if let Some(time) = last_modified_micros.and_then(system_time) {
            file.set_modified(time).map_err(failed)?;
        }
        file.sync().map_err(failed)?;
        self.sync_dir(dir)
    }

    fn make_dir(&self, dir: &Path) -> Result<()> {
        match self.fs.create_dir(dir) {
            Ok(()) => match dir.parent() {
                Some(parent) => self.sync_dir(parent),
                None => Ok(()),
            },
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(io_error(dir, "cannot be made", error)),
        }
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        let synced = self.fs.sync_dir(dir);
        synced.map_err(|error| io_error(dir, "cannot be synced", error))
    }

    /// Removes a blob's file, if there is one.
    pub(crate) fn remove(&self, database_id: DatabaseId, number: BlobNumber) -> Result<()> {
        self.remove_file(&self.paths.blob_file(database_id, number))
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        match self.fs.remove(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(io_error(path, "cannot be removed", error))
            }
            _ => Ok(()),
        }
    }

    /// Removes all blobs of a database.
    pub(crate) fn remove_all(&self, database_id: DatabaseId) -> Result<()> {
        let database_dir = self.paths.blob_database_dir(database_id);
        for dir in self.children(&database_dir)? {
            for file in self.children(&dir)? {
                self.remove_file(&file)?;
            }
            self.remove_dir(&dir)?;
        }
        self.remove_dir(&database_dir)
    }

    /// Removes all blobs of all databases: what is left over where a store is made anew.
    pub(crate) fn remove_everything(&self) -> Result<()> {
        for dir in self.children(&self.paths.blob)? {
            let name = dir.file_name().and_then(|name| name.to_str());
            let id = name.and_then(|name| i64::from_str_radix(name, 16).ok());
            if let Some(id) = id.and_then(DatabaseId::new) {
                self.remove_all(id)?;
            }
        }
        Ok(())
    }

    fn children(&self, dir: &Path) -> Result<Vec<PathBuf>> {
        match self.fs.list(dir) {
            Ok(names) => Ok(names.into_iter().map(|name| dir.join(name)).collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(io_error(dir, "cannot be listed", error)),
        }
    }

    fn remove_dir(&self, dir: &Path) -> Result<()> {
        match self.fs.remove_dir(dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(io_error(dir, "cannot be removed", error))
            }
            _ => Ok(()),
        }
    }
}

fn io_error(path: &Path, what: &str, error: io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("{}: {what}: {error}", path.display()),
    )
}

fn wrong_size(path: &Path) -> Error {
    let what = format!(
        "{}: its content has another size than it said",
        path.display()
    );
    Error::new(ErrorKind::Usage, what)
}

/// The time of a number of microseconds since 1601, if the system can hold it.
fn system_time(micros_since_1601: i64) -> Option<SystemTime> {
    let since_1970 = micros_since_1601.checked_sub(UNIX_EPOCH_MICROS)?;
    let distance = Duration::from_micros(since_1970.unsigned_abs());
    if since_1970 < 0 {
        UNIX_EPOCH.checked_sub(distance)
    } else {
        UNIX_EPOCH.checked_add(distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_leveldb::storage::{CrashImage, MemoryFileSystem};

    /// Says another size than it has.
    #[derive(Debug)]
    struct Liar(u64);

    impl BlobSource for Liar {
        fn size_bytes(&self) -> u64 {
            self.0
        }

        fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
            Ok(Box::new(&b"four"[..]))
        }
    }

    fn files() -> (MemoryFileSystem, BlobFiles) {
        let fs = MemoryFileSystem::new();
        let paths = StorePaths::of_leveldb(Path::new("file__0.indexeddb.leveldb"));
        (fs.clone(), BlobFiles::new(Arc::new(fs), paths))
    }

    const ONE: DatabaseId = DatabaseId::new(1).unwrap();

    fn number(number: i64) -> BlobNumber {
        BlobNumber::new(number).unwrap()
    }

    #[test]
    fn a_written_file_survives_a_crash_with_its_time() {
        let (fs, files) = files();
        let content: Vec<u8> = (0..700_000u32).map(|i| i as u8).collect();
        let time = UNIX_EPOCH_MICROS + 5_000_001;
        files
            .write(ONE, number(0x1234), &content, Some(time))
            .unwrap();
        let after = fs.crash_image(CrashImage::LoseUnsynced);
        let path = Path::new("file__0.indexeddb.blob/1/12/1234");
        let metadata = after.metadata(path).unwrap();
        assert_eq!(metadata.len_bytes, 700_000);
        assert_eq!(
            metadata.modified,
            Some(UNIX_EPOCH + Duration::from_micros(5_000_001))
        );
        let mut read = vec![0; 700_000];
        let file = after.open_random(path).unwrap();
        assert_eq!(file.read_at(0, &mut read).unwrap(), 700_000);
        assert!(read == content);
    }

    #[test]
    fn a_content_of_another_size_than_it_says_is_refused() {
        let (_, files) = files();
        for size in [0, 3, 5, u64::MAX] {
            let error = files.write(ONE, number(2), &Liar(size), None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{size}");
        }
        files.write(ONE, number(2), &Liar(4), None).unwrap();
    }

    #[test]
    fn all_blobs_of_a_database_go_and_those_of_others_stay() {
        let (_, files) = files();
        let two = DatabaseId::new(2).unwrap();
        for n in [2, 3, 0x100, 0x1_0000] {
            files.write(ONE, number(n), &vec![1], None).unwrap();
            files.write(two, number(n), &vec![1], None).unwrap();
        }
        files.remove(ONE, number(3)).unwrap();
        files.remove(ONE, number(3)).unwrap();
        assert!(!files.exists(ONE, number(3)).unwrap());
        files.remove_all(ONE).unwrap();
        files.remove_all(ONE).unwrap();
        for n in [2, 3, 0x100, 0x1_0000] {
            assert!(!files.exists(ONE, number(n)).unwrap());
            assert!(files.exists(two, number(n)).unwrap());
        }
        files.remove_everything().unwrap();
        assert!(!files.exists(two, number(2)).unwrap());
    }

    #[test]
    fn times_are_those_that_a_migration_would_read_back() {
        for micros in [
            0,
            1,
            UNIX_EPOCH_MICROS - 1,
            UNIX_EPOCH_MICROS,
            13_000_000_000_000_001,
        ] {
            let time = system_time(micros).unwrap();
            assert_eq!(crate::external_object::micros_since_1601(time), micros);
        }
    }
}
