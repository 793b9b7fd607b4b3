//! Opening a store for writing.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use larder_backing_store::{
    BackingStore, DatabaseMetadata, Error, ErrorKind, StorePaths, WriteOptions, files,
};
use larder_leveldb::storage::{FileLock, FileSystem};
use rusqlite::Connection;

use super::blob_files::LiveBlobFiles;
use super::file::{FoundFile, LiveFile, connect, last_blob};
use super::files::LiveFiles;
use super::opened::Opened;
use super::store::{LiveStore, io_error};
use crate::blobs::{BlobFiles, Databases};
use crate::metadata_rows;
use crate::open::file_names;
use crate::schema::{self, Schema};
use crate::sql;
use crate::write::RELIED_ON;

/// The file that is locked as long as a Larder writes to the store, as in LevelDB's folders. Chromium leaves it alone.
pub(super) const LOCK: &str = "LOCK";

/// Opens the store in a folder on the disk for writing, or makes one ([`WriteOptions::create_if_missing`]). SQLite works on the files themselves: `fs` is for
/// the lock, for contents of blobs on their way into the files, and for removing files, and must be the disk.
///
/// A Chromium that has a database open keeps Larder from opening the store, and the other way round.
///
/// # Errors
/// [`ErrorKind::NotAStore`] if there is none; [`ErrorKind::Conflict`] if a database is open in another program; [`ErrorKind::Corruption`] if something of a
/// database's metadata cannot be read, and [`ErrorKind::Unsupported`] if a file has an older or newer form: nothing has been touched then; [`ErrorKind::Io`].
///
/// ```
/// use std::sync::Arc;
/// use larder_backing_store::{FixedClock, WriteOptions};
/// use larder_codec::{JsString, Origin};
/// use larder_leveldb::storage::DiskFileSystem;
///
/// let folder = tempfile::tempdir()?;
/// let origin = Origin::from_url("https://a.example").unwrap();
/// let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
/// options.create_if_missing = true;
/// let store = larder_sqlite_store::open_for_writing(Arc::new(DiskFileSystem::new()), folder.path(), options)?;
/// store.create_database(&JsString::from("library"))?;
/// store.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_for_writing(
    fs: Arc<dyn FileSystem>,
    dir: &Path,
    options: WriteOptions,
) -> Result<BackingStore, Error> {
    let names = match file_names(&*fs, dir) {
        Ok(names) => names,
        Err(error) if error.kind() == ErrorKind::NotAStore && options.create_if_missing => {
            files::create_parents(&*fs, &dir.join(LOCK))?;
            Vec::new()
        }
        Err(error) => return Err(error),
    };
    let lock = take_lock(&*fs, dir)?;
    let paths = StorePaths::of_sqlite(dir);
    let mut found = Vec::new();
    for name in names {
        let path = dir.join(name);
        if let Some(database) = find(&path)? {
            found.push((path, database));
        }
    }
    let name = |(_, found): &(PathBuf, FoundFile)| found.schema.metadata.name.clone();
    found.sort_by_cached_key(name);
    let twice = found
        .iter()
        .zip(found.iter().skip(1))
        .find(|(first, second)| name(first) == name(second));
    if let Some((_, (path, _))) = twice {
        let what = "another file has a database of this name";
        return Err(sql::damage(path, what));
    }
    // Contents of blobs whose commit never came.
    files::remove_tree(&*fs, &paths.blob)?;
    let databases = Databases::default();
    let live = Arc::new(LiveFiles::new(dir.to_owned(), databases.clone(), lock));
    let data_versions = found
        .iter()
        .filter_map(|(_, found)| found.schema.data_version);
    let data_version = data_versions.reduce(larder_codec::DataVersion::max);
    let mut rows = Vec::new();
    let mut all = Vec::new();
    for (n, (path, mut found)) in found.into_iter().enumerate() {
        let schema = &mut found.schema;
        if let Some(id) = metadata_rows::database_id(n) {
            schema.metadata.id = id;
        }
        schema.metadata.origin = options.origin.row_text();
        rows.extend(metadata_rows::of_database(schema));
        all.push(schema.metadata.clone());
        live.insert(Arc::new(LiveFile::open(path, found)?));
    }
    if !all.is_empty() {
        let all: Vec<_> = all.iter().collect();
        rows.extend(metadata_rows::of_store(&all, data_version));
    }
    let inner = BlobFiles {
        fs: Arc::clone(&fs),
        paths: paths.clone(),
        databases,
    };
    let blob_files = LiveBlobFiles {
        files: Arc::clone(&live),
        inner,
    };
    let store = LiveStore {
        files: live,
        fs,
        paths: paths.clone(),
        clock: Arc::clone(&options.clock),
        is_uncertain: AtomicBool::new(false),
        making: Mutex::new(()),
    };
    BackingStore::open_rows(Arc::new(store), &rows, Arc::new(blob_files), paths, options)
}

/// Keeps other Larders from writing to the store.
pub(super) fn take_lock(fs: &dyn FileSystem, dir: &Path) -> Result<Box<dyn FileLock>, Error> {
    let path = dir.join(LOCK);
    fs.lock(&path).map_err(|error| match fs.lock_holder(&path) {
        Ok(Some(_)) => {
            let what = format!("{}: another program has the store open", dir.display());
            Error::new(ErrorKind::Conflict, what)
        }
        _ => io_error(&path, &error),
    })
}

/// Finds what is in a file; nothing if it is no database.
pub(super) fn find(path: &Path) -> Result<Option<FoundFile>, Error> {
    let failed = |error: rusqlite::Error| sql::error(path, &error);
    let opened = Opened::new(path);
    let connection = connect(path).map_err(failed)?;
    // A browser that has the file open keeps it.
    connection
        .busy_timeout(std::time::Duration::ZERO)
        .map_err(failed)?;
    let mut problems = Vec::new();
    let schema = schema::read(path, &connection, &mut problems)?;
    if let Some(problem) = problems.into_iter().next() {
        return Err(problem);
    }
    let Some(mut schema) = schema else {
        return Ok(None);
    };
    if !schema.has_compression {
        let what = format!(
            "{}: it has the form of a Chromium before 150; it can be opened for reading, and its content written into a new store",
            path.display()
        );
        return Err(Error::new(ErrorKind::Unsupported, what));
    }
    check_made_by_chromium(path, &connection)?;
    let last = last_blob(&connection).map_err(failed)?;
    schema.blob_max = schema.blob_max.max(last);
    Ok(Some(FoundFile {
        connection,
        opened,
        schema,
    }))
}

/// Whether what writing relies on is there as Chromium makes it, and nothing else that acts by itself.
fn check_made_by_chromium(path: &Path, connection: &Connection) -> Result<(), Error> {
    let made = || {
        let sql = "SELECT sql FROM sqlite_schema WHERE type = 'trigger' OR (type = 'index' AND name = 'records_by_key')";
        let mut statement = connection.prepare(sql)?;
        let made = statement.query_map((), |row| row.get::<_, String>(0))?;
        made.collect::<rusqlite::Result<Vec<_>>>()
    };
    let made = made().map_err(|error| sql::error(path, &error))?;
    let mut relied_on = RELIED_ON.map(without_spaces).to_vec();
    relied_on.sort_unstable();
    let mut made: Vec<_> = made.iter().map(|sql| without_spaces(sql)).collect();
    made.sort_unstable();
    if made == relied_on {
        return Ok(());
    }
    let what = format!(
        "{}: it has not the triggers and indexes that Chromium makes, or has others; it can be opened for reading, and its content written into a new store",
        path.display()
    );
    Err(Error::new(ErrorKind::Unsupported, what))
}

/// A statement as it is compared: SQLite keeps it as it was written.
fn without_spaces(sql: &str) -> String {
    sql.split_ascii_whitespace().collect()
}

impl FoundFile {
    /// A file that was just made, of which no version is committed.
    pub(super) fn of_new(path: &Path, metadata: DatabaseMetadata) -> Result<Self, Error> {
        let opened = Opened::new(path);
        let connection = connect(path).map_err(|error| sql::error(path, &error))?;
        let schema = Schema {
            metadata,
            data_version: None,
            origin: None,
            next_keys: Vec::new(),
            index_ids: Vec::new(),
            has_compression: true,
            has_blobs: false,
            has_negative_zeros: false,
            blob_max: 0,
        };
        Ok(Self {
            connection,
            opened,
            schema,
        })
    }
}
