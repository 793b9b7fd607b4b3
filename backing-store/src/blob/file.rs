//! Blob files: written whole and synced, never changed.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use larder_codec::{BlobNumber, DatabaseId};
use larder_leveldb::storage::FileSystem;

use super::source::BlobSource;
use crate::backing_store::files::sync_dir;
use crate::error::{Error, ErrorKind, Result};
use crate::external_object::UNIX_EPOCH_MICROS;
use crate::layout::StorePaths;

/// Bytes copied at a time.
const PIECE_LEN: usize = 256 << 10;

/// Writes a blob's file; it and its name are durable then.
pub(crate) fn write(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    (database_id, number): (DatabaseId, BlobNumber),
    content: &dyn BlobSource,
    last_modified_micros: Option<i64>,
) -> Result<()> {
    let path = paths.blob_file(database_id, number);
    let database_dir = paths.blob_database_dir(database_id);
    let dir = path.parent().unwrap_or(&database_dir);
    for dir in [&*paths.blob, &*database_dir, dir] {
        make_dir(fs, dir)?;
    }
    let mut file = (fs.create(&path)).map_err(|error| io_error(&path, "cannot be made", error))?;
    let failed = |error| io_error(&path, "cannot be written", error);
    copy(&path, content, |piece| file.append(piece).map_err(failed))?;
    if let Some(time) = last_modified_micros.and_then(system_time) {
        file.set_modified(time).map_err(failed)?;
    }
    file.sync().map_err(failed)?;
    sync_dir(fs, dir)
}

fn copy(
    path: &Path,
    content: &dyn BlobSource,
    mut append: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let unreadable = |error| io_error(path, "its content cannot be read", error);
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

fn make_dir(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    match fs.create_dir(dir) {
        Ok(()) => match dir.parent() {
            Some(parent) => sync_dir(fs, parent),
            None => Ok(()),
        },
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(io_error(dir, "cannot be made", error)),
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
    use std::io::Read;

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

    fn place(number: i64) -> (DatabaseId, BlobNumber) {
        (DatabaseId::MIN, BlobNumber::new(number).unwrap())
    }

    #[test]
    fn a_written_file_survives_a_crash_with_its_time() {
        let fs = MemoryFileSystem::new();
        let content: Vec<u8> = (0..700_000u32).map(|i| i as u8).collect();
        let time = UNIX_EPOCH_MICROS + 5_000_001;
        write(&fs, &paths(), place(0x1234), &content, Some(time)).unwrap();
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
            let error = write(&fs, &paths(), place(2), &Liar(size), None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Usage, "{size}");
        }
        write(&fs, &paths(), place(2), &Liar(4), None).unwrap();
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
