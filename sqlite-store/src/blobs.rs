//! The contents of blobs, as files: where a LevelDB store would have a blob's file, its bytes are read from the tables.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use larder_backing_store::StorePaths;
use larder_codec::external_object::last_modified_ms;
use larder_codec::{BlobNumber, DatabaseId};
use larder_leveldb::storage::{FileSystem, LockHolder, Metadata, RandomFile, SequentialFile};

use crate::database::Database;

/// The file system of a store, with its blobs, for reading.
#[derive(Debug)]
pub(crate) struct BlobFiles {
    pub(crate) fs: Arc<dyn FileSystem>,
    pub(crate) paths: StorePaths,
    pub(crate) databases: Databases,
}

/// The databases whose blobs can be read, which may become more and fewer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Databases(Arc<Mutex<BTreeMap<DatabaseId, Arc<Database>>>>);

impl Databases {
    fn all(&self) -> MutexGuard<'_, BTreeMap<DatabaseId, Arc<Database>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, id: DatabaseId) -> Option<Arc<Database>> {
        self.all().get(&id).cloned()
    }

    pub(crate) fn insert(&self, id: DatabaseId, database: Arc<Database>) {
        self.all().insert(id, database);
    }

    pub(crate) fn remove(&self, id: DatabaseId) {
        self.all().remove(&id);
    }
}

impl BlobFiles {
    /// The blob whose file this would be.
    pub(crate) fn blob(&self, path: &Path) -> Option<(DatabaseId, BlobNumber)> {
        let below = path.strip_prefix(&self.paths.blob).ok()?;
        let mut names = below.iter().map(|name| name.to_str());
        let (database, _, number) = (names.next()??, names.next()??, names.next()??);
        let number = BlobNumber::new(i64::from_str_radix(number, 16).ok()?)?;
        let id = DatabaseId::new(i64::from_str_radix(database, 16).ok()?)?;
        (self.paths.blob_file(id, number) == path).then_some((id, number))
    }

    /// The blob whose file this would be, and the database that may have it.
    fn found(&self, path: &Path) -> Option<(Arc<Database>, BlobNumber)> {
        let (id, number) = self.blob(path)?;
        Some((self.databases.get(id)?, number))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn RandomFile>> {
        let Some((database, number)) = self.found(path) else {
            return self.fs.open_random(path);
        };
        let Some(pieces) = database.pieces(number).map_err(io::Error::other)? else {
            return self.fs.open_random(&database.blob_path(number));
        };
        if pieces.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let mut at = 0;
        let mut starts = Vec::with_capacity(pieces.len());
        for (piece, len) in pieces {
            if piece != starts.len() as i64 {
                let what = format!("piece {} of the blob is missing", starts.len());
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            starts.push((at, len));
            at += len;
        }
        Ok(Arc::new(Pieces {
            database,
            number,
            starts,
            len: at,
            held: Mutex::new(None),
        }))
    }
}

/// A blob in pieces.
#[derive(Debug)]
struct Pieces {
    database: Arc<Database>,
    number: BlobNumber,
    /// Where each begins, and its length.
    starts: Vec<(u64, u64)>,
    len: u64,
    /// The piece that was read last.
    held: Mutex<Option<(usize, Vec<u8>)>>,
}

impl RandomFile for Pieces {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = self.starts.partition_point(|(start, _)| *start <= offset);
        let Some(piece) = piece.checked_sub(1).filter(|_| offset < self.len) else {
            return Ok(0);
        };
        // Of empty pieces at one place, the last is found, which has the bytes.
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.as_ref().is_none_or(|(number, _)| *number != piece) {
            *held = None;
            let bytes = self.database.piece(self.number, piece as i64);
            *held = Some((piece, bytes.map_err(io::Error::other)?));
        }
        let start = self.starts.get(piece).map_or(0, |(start, _)| *start);
        let from = usize::try_from(offset - start).map_err(io::Error::other)?;
        let bytes = held.as_ref().and_then(|(_, bytes)| bytes.get(from..));
        let bytes = bytes.unwrap_or_default();
        let count = bytes.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), bytes.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.len)
    }

    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len == 0)
    }
}

/// A file from the front.
#[derive(Debug)]
struct FromFront {
    file: Arc<dyn RandomFile>,
    at: u64,
}

impl SequentialFile for FromFront {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(self.at, buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// The time of a number of microseconds since 1601, in whole milliseconds, as Chromium gives it to a blob's file.
fn time(micros: i64) -> Option<SystemTime> {
    let ms = last_modified_ms(micros);
    let distance = Duration::from_millis(ms.unsigned_abs());
    match ms {
        0.. => UNIX_EPOCH.checked_add(distance),
        _ => UNIX_EPOCH.checked_sub(distance),
    }
}

impl FileSystem for BlobFiles {
    fn open_random(&self, path: &Path) -> io::Result<Arc<dyn RandomFile>> {
        self.open(path)
    }

    fn open_sequential(&self, path: &Path) -> io::Result<Box<dyn SequentialFile>> {
        let file = self.open(path)?;
        Ok(Box::new(FromFront { file, at: 0 }))
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        let Some((database, number)) = self.found(path) else {
            return self.fs.metadata(path);
        };
        let len_bytes = self.open(path)?.len()?;
        let modified = database.last_modified(number).map_err(io::Error::other)?;
        Ok(Metadata {
            len_bytes,
            modified: modified.and_then(time),
            is_dir: false,
            is_link: false,
        })
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<OsString>> {
        self.fs.list(dir)
    }

    fn lock_holder(&self, path: &Path) -> io::Result<Option<LockHolder>> {
        self.fs.lock_holder(path)
    }
}
