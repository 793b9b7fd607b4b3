//! Opening, as `LDB/backing_store.cc` does it, but that a store that is there keeps its versions, and that what a crash left stays
//! on disk until something is written ([`start`](super::start)).
//!
//! Chromium throws a store away that it cannot make sense of. Here everything that opening relies on is read first, through
//! a handle that cannot write; what is wrong is an error and the store stays as it is.

use std::io;
use std::path::Path;
use std::sync::Arc;

use larder_codec::DataVersion;
use larder_codec::compare::RowOrder;
use larder_codec::primitive::int;
use larder_codec::row_key::GlobalKey;
use larder_leveldb::file_name::FileName;
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Background, Db, Durability, Snapshot};

use super::core::{Core, Opened};
use super::options::WriteOptions;
use super::room::{self, Room};
use super::start::Start;
use super::{journal, migration, reserve};
use crate::comparator::engine_options;
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::layout::StorePaths;
use crate::row_store::RowStore;
use crate::store_order;
use crate::undo_log::{check, has_log, recover, recover_on_disk};
use crate::versions::{DATA_VERSION_MAX, SCHEMA_VERSION_MAX, SCHEMA_VERSION_MIN, StoreVersions};
use crate::view::{Base, Reach, View};

/// Where Chromium notes that it found a store damaged and has thrown it away, or is about to.
pub(crate) const CORRUPTION_INFO: &str = "corruption_info.json";

/// A longer note, or an empty one, is none.
const CORRUPTION_INFO_LEN_MAX: u64 = 4096;

/// Chromiums that write schema 4 have the undo log; those of schema 3 need not, and take its rows for none of theirs.
const UNDO_LOG_SCHEMA_MIN: i64 = 4;

/// The versions that a store's rows state.
#[derive(Debug, Clone, Copy)]
struct Versions {
    schema: i64,
    data: DataVersion,
}

pub(super) fn open(
    fs: Arc<dyn FileSystem>,
    paths: StorePaths,
    options: WriteOptions,
) -> Result<Core> {
    let measured = room::measured(fs, &paths);
    let fs: Arc<dyn FileSystem> = Arc::new(measured.clone());
    if !look(&fs, &paths, &options)? && options.create_if_missing {
        files::create_parents(&*fs, &paths.leveldb)?;
    }
    let mut engine = engine_options();
    engine.create_if_missing = options.create_if_missing;
    engine.block_cache = options.block_cache.clone();
    engine.write_buffer_bytes = options.write_buffer_bytes;
    engine.background = options.background.clone();
    // All keys were looked at a moment ago.
    engine.order_check_bytes = 0;
    engine.trusts_order = options.trusts_order;
    let db = Db::open(Arc::clone(&fs), &paths.leveldb, engine);
    let db = db.map_err(|error| damaged(error.into()))?;
    // Checked again, now that the lock keeps other programs from writing.
    let found = judge(&db.snapshot())?;
    let versions = match found {
        None => {
            // Its first row is the undo log's.
            let made = recover_on_disk(&db, true)
                .and_then(|_| write_first_rows(&db, &*fs, &paths, &options));
            made.map_err(
                |error| match error.is_out_of_space() && !options.create_if_missing {
                    // What is there of it is as good as nothing.
                    true => Error::new(ErrorKind::NotAStore, error.to_string()),
                    false => error,
                },
            )?
        }
        Some(versions) if options.raise_schema && versions.schema < SCHEMA_VERSION_MAX => {
            recover_on_disk(&db, true)?;
            migrate(&db, &*fs, &paths, &options, versions)?
        }
        Some(versions) => versions,
    };
    let snapshot = db.snapshot();
    let (overlay, recovery) = recover(&snapshot, RowOrder::Chromium)?;
    let has_undo_log = versions.schema >= UNDO_LOG_SCHEMA_MIN || has_log(&snapshot)?;
    let recovered = (!recovery.is_empty()).then(|| View::recovered(snapshot, overlay));
    let raise = options.raise_data_version;
    let opened = Opened {
        versions: StoreVersions::new(versions.schema, versions.data, found.is_none(), raise),
        start: Start::due(recovered),
        has_undo_log,
        room: Room::new(measured),
        row_store: None,
    };
    Ok(Core::new(db, fs, paths, options, opened))
}

/// A store that does not lie in LevelDB: its metadata go into one in memory.
pub(super) fn open_rows(
    row_store: Arc<dyn RowStore>,
    metadata: &[(Vec<u8>, Vec<u8>)],
    fs: Arc<dyn FileSystem>,
    paths: StorePaths,
    mut options: WriteOptions,
) -> Result<Core> {
    let measured = room::measured(fs, &paths);
    let fs: Arc<dyn FileSystem> = Arc::new(measured.clone());
    options.reserve_bytes = 0;
    let mut engine = engine_options();
    engine.create_if_missing = true;
    engine.background = Background::Caller;
    let memory: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
    let db = Db::open(memory, Path::new("metadata"), engine)?;
    let mut batch = BatchWriter::new();
    for (key, value) in metadata {
        batch.put(key, value);
    }
    db.write(&mut batch, Durability::Relaxed)?;
    let found = read_versions(&db.snapshot())?;
    if let Some(versions) = found {
        check_versions(versions)?;
    }
    let data = match found {
        Some(versions) => versions.data,
        None => {
            let data = options.new_store_version.min(DATA_VERSION_MAX);
            let mut batch = BatchWriter::new();
            put_schema_version(&mut batch);
            let (key, value) = data_version_row(data);
            batch.put(&key, &value);
            db.write(&mut batch, Durability::Relaxed)?;
            data
        }
    };
    let (is_new, raise) = (found.is_none(), options.raise_data_version);
    let opened = Opened {
        versions: StoreVersions::new(SCHEMA_VERSION_MAX, data, is_new, raise),
        start: Start::done(),
        // What a transaction has staged stays in memory until it commits.
        has_undo_log: false,
        room: Room::new(measured),
        row_store: Some(row_store),
    };
    Ok(Core::new(db, fs, paths, options, opened))
}

/// Whether there is a store, and one that can be opened. Touches nothing.
fn look(fs: &Arc<dyn FileSystem>, paths: &StorePaths, options: &WriteOptions) -> Result<bool> {
    check_lock(&**fs, paths)?;
    if !files::exists(&**fs, &paths.leveldb.join(FileName::Current.to_string()))? {
        // Nothing, or what a crash left while a store was made, or damage: the engine reports which, and touches
        // nothing before.
        return Ok(false);
    }
    let mut engine = engine_options();
    engine.block_cache = options.block_cache.clone();
    engine.trusts_order = options.trusts_order;
    let opened = store_order::open_read_only(fs, &paths.leveldb, engine);
    let (db, order) = opened.map_err(damaged)?;
    store_order::check_writable(order, paths)?;
    let snapshot = db.snapshot();
    let versions = judge(&snapshot)?;
    let Some(versions) = versions else {
        return Ok(true);
    };
    let look_on = || {
        check_note(&**fs, paths)?;
        if options.raise_schema && versions.schema < SCHEMA_VERSION_MAX {
            let (overlay, _) = recover(&snapshot, RowOrder::Chromium)?;
            let view = View::recovered(snapshot.clone(), overlay);
            migration::plan(&view, &**fs, paths, &options.origin, versions.schema)?;
        }
        Ok(())
    };
    look_on().map_err(damaged)?;
    Ok(true)
}

fn check_lock(fs: &dyn FileSystem, paths: &StorePaths) -> Result<()> {
    let lock = paths.leveldb.join(FileName::Lock.to_string());
    // A lock that cannot be asked for will be tried.
    let Ok(Some(holder)) = fs.lock_holder(&lock) else {
        return Ok(());
    };
    let who = match holder.pid {
        None => "another program".to_owned(),
        Some(pid) if pid == std::process::id() => {
            format!("this program (process {pid}), by another storage,")
        }
        Some(pid) => format!("another program (process {pid})"),
    };
    let what = format!("{who} has the store open");
    Err(Error::new(ErrorKind::Conflict, what))
}

fn damaged(error: Error) -> Error {
    if error.kind() != ErrorKind::Corruption {
        return error;
    }
    error.in_context(
        "the store is damaged and has been left as it is; opening it for reading only shows what is whole, and repairing it \
         (`larder repair`, or the call of that name) writes that anew and sets the rest aside",
    )
}

/// Reads everything that opening relies on; `None` for a store without rows.
fn judge(snapshot: &Snapshot) -> Result<Option<Versions>> {
    let judged = || {
        check(snapshot)?;
        for kind in [GlobalKey::ActiveBlobJournal, GlobalKey::RecoveryBlobJournal] {
            journal::read(snapshot, &kind)?;
        }
        read_versions(snapshot)
    };
    let versions = judged().map_err(damaged)?;
    if let Some(versions) = versions {
        check_versions(versions)?;
    }
    Ok(versions)
}

fn read_versions(snapshot: &Snapshot) -> Result<Option<Versions>> {
    let key = global_key(&GlobalKey::SchemaVersion);
    let Some(row) = snapshot.get(&key)? else {
        let mut iter = Base::new(snapshot.clone()).iter_within(&Reach::All);
        // The least key that a row can have.
        iter.seek(&key)?;
        if iter.valid() {
            let what = "the schema version is missing although there are rows";
            return Err(Error::inconsistent(&key, what));
        }
        return Ok(None);
    };
    let schema =
        int::decode_exact(&row).map_err(|error| Error::row(&key, "schema version", error))?;
    let key = global_key(&GlobalKey::DataVersion);
    let data = match snapshot.get(&key)? {
        Some(row) => DataVersion::decode_exact(&row)
            .map_err(|error| Error::row(&key, "data version", error))?,
        // What Chromium takes a missing row for.
        None => DataVersion { v8: 0, blink: 0 },
    };
    Ok(Some(Versions { schema, data }))
}

fn check_versions(versions: Versions) -> Result<()> {
    let Versions { schema, data } = versions;
    let what = if !(SCHEMA_VERSION_MIN..=SCHEMA_VERSION_MAX).contains(&schema) {
        format!(
            "the store has schema version {schema}; {SCHEMA_VERSION_MIN} to {SCHEMA_VERSION_MAX} can be written to"
        )
    } else if !DATA_VERSION_MAX.is_at_least(data) {
        format!(
            "the store's values are of versions {} (V8) and {} (Blink), written by a newer program; they can be opened \
             for reading only",
            data.v8, data.blink
        )
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Unsupported, what))
}

/// A store that carries a note of damage is thrown away by the next Chromium that opens it, with all that is written to it
/// until then.
fn check_note(fs: &dyn FileSystem, paths: &StorePaths) -> Result<()> {
    let path = paths.leveldb.join(CORRUPTION_INFO);
    let unreadable = |error: io::Error| Error::io(&path, "cannot be read", error);
    match fs.metadata(&path) {
        Ok(metadata) if (1..=CORRUPTION_INFO_LEN_MAX).contains(&metadata.len_bytes) => {}
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unreadable(error)),
        _ => return Ok(()),
    }
    let note = read_small(fs, &path).map_err(unreadable)?;
    if !note.windows(9).any(|part| part == b"\"message\"") {
        return Ok(());
    }
    let what = format!(
        "{}: Chromium has noted damage, {}, and will throw the store away when it opens it next",
        path.display(),
        String::from_utf8_lossy(&note)
    );
    Err(Error::new(ErrorKind::Corruption, what))
}

fn read_small(fs: &dyn FileSystem, path: &Path) -> io::Result<Vec<u8>> {
    let mut file = fs.open_sequential(path)?;
    let mut bytes = vec![0; CORRUPTION_INFO_LEN_MAX as usize];
    let mut len = 0;
    while len < bytes.len() {
        match file.read(&mut bytes[len..])? {
            0 => break,
            read => len += read,
        }
    }
    bytes.truncate(len);
    Ok(bytes)
}

/// A new store. Blobs that lie where its blobs will be, and a note of damage, belong to a store that is gone.
fn write_first_rows(
    db: &Db,
    fs: &dyn FileSystem,
    paths: &StorePaths,
    options: &WriteOptions,
) -> Result<Versions> {
    files::remove_if_there(fs, &paths.leveldb.join(CORRUPTION_INFO))?;
    if files::exists(fs, &paths.blob)? {
        files::remove_tree(fs, &paths.blob)?;
        if let Some(parent) = paths.blob.parent() {
            files::sync_dir(fs, parent)?;
        }
    }
    reserve::keep(fs, paths, options.reserve_bytes)?;
    let mut batch = BatchWriter::new();
    put_schema_version(&mut batch);
    let data = options.new_store_version.min(DATA_VERSION_MAX);
    let (key, value) = data_version_row(data);
    batch.put(&key, &value);
    db.write(&mut batch, Durability::Strict)?;
    let schema = SCHEMA_VERSION_MAX;
    Ok(Versions { schema, data })
}

/// To today's schema, in one batch.
fn migrate(
    db: &Db,
    fs: &dyn FileSystem,
    paths: &StorePaths,
    options: &WriteOptions,
    versions: Versions,
) -> Result<Versions> {
    let view = View::committed(Base::new(db.snapshot()));
    let planned = migration::plan(&view, fs, paths, &options.origin, versions.schema);
    let planned = planned.map_err(damaged)?;
    let mut batch = planned.rows;
    put_schema_version(&mut batch);
    db.write(&mut batch, Durability::Strict)?;
    for path in planned.empty_files {
        files::remove_if_there(fs, &path)?;
    }
    Ok(Versions {
        schema: SCHEMA_VERSION_MAX,
        ..versions
    })
}

fn put_schema_version(batch: &mut BatchWriter) {
    let mut value = Vec::new();
    int::encode(SCHEMA_VERSION_MAX, &mut value);
    batch.put(&global_key(&GlobalKey::SchemaVersion), &value);
}

/// Key and value.
pub(crate) fn data_version_row(version: DataVersion) -> (Vec<u8>, Vec<u8>) {
    let mut value = Vec::new();
    version.encode(&mut value);
    (global_key(&GlobalKey::DataVersion), value)
}

/// The bytes of a key of the whole store's metadata.
pub(crate) fn global_key(key: &GlobalKey) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    bytes
}
