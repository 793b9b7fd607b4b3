//! Blob files: written whole and synced, never changed.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use larder_codec::{BlobNumber, DatabaseId};
use larder_leveldb::storage::FileSystem;

use super::source::BlobSource;
use crate::error::{Error, ErrorKind, Result};
use crate::external_object::UNIX_EPOCH_MICROS;
use crate::files::{make_dir, sync_dir, sync_name};
use crate::layout::StorePaths;
use crate::sync::locked;

/// Bytes copied at a time.
const PIECE_LEN: usize = 256 << 10;

/// The folders whose names are durable. They are listed so that not every commit syncs them. A folder that exists need
/// not be durable: the process that made it may have been killed before it synced the name.
#[derive(Debug, Default)]
pub(crate) struct DurableDirs(Mutex<BTreeSet<PathBuf>>);

impl DurableDirs {
    /// Makes a folder whose parent is durable, unless it is there.
    fn make(&self, fs: &dyn FileSystem, dir: &Path) -> Result<()> {
        let is_new = make_dir(fs, dir)?;
        if is_new || !locked(&self.0).contains(dir) {
            sync_name(fs, dir)?;
            locked(&self.0).insert(dir.to_owned());
        }
        Ok(())
    }
}

/// Writes the files of one commit.
#[derive(Debug)]
pub(crate) struct BlobFiles<'a> {
    fs: &'a dyn FileSystem,
    paths: &'a StorePaths,
    durable: &'a DurableDirs,
    /// The folders that files were made in.
    dirs: BTreeSet<PathBuf>,
}

impl<'a> BlobFiles<'a> {
    pub(crate) fn new(
        fs: &'a dyn FileSystem,
        paths: &'a StorePaths,
        durable: &'a DurableDirs,
    ) -> Self {
        Self {
            fs,
            paths,
            durable,
            dirs: BTreeSet::new(),
        }
    }

    /// Writes a blob's file; its bytes are durable then, its name is after [`BlobFiles::sync`].
    pub(crate) fn write(
        &mut self,
        (database_id, number): (DatabaseId, BlobNumber),
        content: &dyn BlobSource,
        last_modified_micros: Option<i64>,
    ) -> Result<()> {
        let path = self.paths.blob_file(database_id, number);
        self.make_dirs(database_id, &path)?;
        let made = self.fs.create(&path);
        let mut file = made.map_err(|error| Error::io(&path, "cannot be made", error))?;
        let failed = |error| Error::io(&path, "cannot be written", error);
        copy(&path, content, |piece| file.append(piece).map_err(failed))?;
        if let Some(time) = last_modified_micros.and_then(system_time) {
            file.set_modified(time).map_err(failed)?;
        }
        file.sync().map_err(failed)
    }

    fn make_dirs(&mut self, database_id: DatabaseId, path: &Path) -> Result<()> {
        let database_dir = self.paths.blob_database_dir(database_id);
        let dir = path.parent().unwrap_or(&database_dir);
        if self.dirs.contains(dir) {
            return Ok(());
        }
        for dir in [&*self.paths.blob, &*database_dir, dir] {
            self.durable.make(self.fs, dir)?;
        }
        self.dirs.insert(dir.to_owned());
        Ok(())
    }

    /// Makes the names of all files durable.
    pub(crate) fn sync(self) -> Result<()> {
        self.dirs.iter().try_for_each(|dir| sync_dir(self.fs, dir))
    }
}

fn copy(
    path: &Path,
    content: &dyn BlobSource,
    mut append: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let unreadable = |error| Error::io(path, "its content cannot be read", error);
    let mut source = content.open().map_err(unreadable)?;
    let mut left = content.size_bytes();
    let mut piece = vec![0; PIECE_LEN];
    loop {
        let read = match source.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(unreadable(error)),
        };
        let taken = piece.get(..read).unwrap_or_default();
        left = (left.checked_sub(taken.len() as u64)).ok_or_else(|| wrong_size(path))?;
        append(taken)?;
    }
    if left == 0 {
        Ok(())
    } else {
        Err(wrong_size(path))
    }
}

fn wrong_size(path: &Path) -> Error {
    let what = format!(
        "{}: its content has another size than was given for it",
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
    use larder_leveldb::storage::{CrashImage, Fault, FaultFileSystem, MemoryFileSystem};
    use std::io::Read;
    use std::sync::Arc;

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

    fn paths() -> StorePaths {
        StorePaths::of_leveldb(Path::new("file__0.indexeddb.leveldb"))
    }

    fn write_one(
        fs: &MemoryFileSystem,
        number: i64,
        content: &dyn BlobSource,
        time: Option<i64>,
    ) -> Result<()> {
        let (paths, durable) = (paths(), DurableDirs::default());
        let mut files = BlobFiles::new(fs, &paths, &durable);
        files.write(place(number), content, time)?;
        files.sync()
    }

    fn place(number: i64) -> (DatabaseId, BlobNumber) {
        (DatabaseId::MIN, BlobNumber::new(number).unwrap())
    }

    #[test]
    fn a_written_file_survives_a_crash_with_its_time() {
        let fs = MemoryFileSystem::new();
        let content: Vec<u8> = (0..700_000u32).map(|i| i as u8).collect();
        let time = UNIX_EPOCH_MICROS + 5_000_001;
        write_one(&fs, 0x1234, &content, Some(time)).unwrap();
        let after = fs.crash_image(CrashImage::LoseUnsynced);
        let path = Path::new("file__0.indexeddb.blob/1/12/1234");
        let metadata = after.metadata(path).unwrap();
        assert_eq!(metadata.len_bytes, 700_000);
        let modified = UNIX_EPOCH + Duration::from_micros(5_000_001);
        assert_eq!(metadata.modified, Some(modified));
        let mut read = vec![0; 700_000];
        let file = after.open_random(path).unwrap();
        assert_eq!(file.read_at(0, &mut read).unwrap(), 700_000);
        assert!(read == content);
    }

    #[test]
    fn a_content_of_another_size_than_it_says_is_refused() {
        let fs = MemoryFileSystem::new();
        for size in [0, 3, 5, u64::MAX] {
            let error = write_one(&fs, 2, &Liar(size), None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{size}");
        }
        write_one(&fs, 2, &Liar(4), None).unwrap();
    }

    #[test]
    fn each_folder_is_made_and_synced_once_for_a_commit_and_made_durable_once_for_a_store() {
        let memory = MemoryFileSystem::new();
        let fs = FaultFileSystem::new(Arc::new(memory.clone()));
        let (paths, durable) = (paths(), DurableDirs::default());
        let commit = |numbers: std::ops::Range<i64>| {
            let before = fs.operations();
            let mut files = BlobFiles::new(&fs, &paths, &durable);
            for number in numbers.clone() {
                files.write(place(number), &vec![7; 10], None).unwrap();
            }
            files.sync().unwrap();
            let after = memory.crash_image(CrashImage::LoseUnsynced);
            for number in numbers {
                let path = paths.blob_file(DatabaseId::MIN, BlobNumber::new(number).unwrap());
                assert_eq!(after.metadata(&path).unwrap().len_bytes, 10);
            }
            fs.operations() - before
        };
        // Three folders made and their names synced, the last one synced; each file made, written and synced.
        assert_eq!(commit(2..12), 3 * 2 + 1 + 10 * 3);
        assert_eq!(commit(12..13), 3 + 1 + 3);
        assert_eq!(commit(0xfe..0x102), 2 * 3 + 1 + 2 + 4 * 3);
    }

    #[test]
    fn a_folder_that_was_left_by_a_commit_that_failed_is_made_durable_by_the_next() {
        let memory = MemoryFileSystem::new();
        let fs = FaultFileSystem::new(Arc::new(memory.clone()));
        // The first folder is made, and cannot be synced.
        fs.fail_at(Fault {
            operation: 2,
            kind: io::ErrorKind::Other,
            every_later_too: false,
        });
        let (paths, durable) = (paths(), DurableDirs::default());
        let attempt = || {
            let mut files = BlobFiles::new(&fs, &paths, &durable);
            files.write(place(2), &vec![7; 10], None)?;
            files.sync()
        };
        assert!(attempt().is_err());
        attempt().unwrap();
        let after = memory.crash_image(CrashImage::LoseUnsynced);
        let path = Path::new("file__0.indexeddb.blob/1/00/2");
        assert_eq!(after.metadata(path).unwrap().len_bytes, 10);
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
