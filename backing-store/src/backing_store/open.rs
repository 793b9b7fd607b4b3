//! Opening, in Chromium's order (`LDB/backing_store.cc`): the engine, the undo log, versions, blob journals.

use std::sync::Arc;

use larder_codec::primitive::int;
use larder_codec::row_key::{GlobalKey, ScopesKey};
use larder_codec::scopes::{SCOPES_VERSION, ScopesMetadata};
use larder_leveldb::storage::FileSystem;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Db, Durability, Options};

use super::core::Core;
use super::options::WriteOptions;
use crate::comparator::IdbComparator;
use crate::error::Result;
use crate::layout::StorePaths;
use crate::store::SCHEMA_VERSION_MAX;

pub(super) fn open(
    fs: Arc<dyn FileSystem>,
    paths: StorePaths,
    options: WriteOptions,
) -> Result<Core> {
    let mut engine = Options::new(Arc::new(IdbComparator));
    engine.create_if_missing = options.create_if_missing;
    engine.block_cache_bytes = options.block_cache_bytes;
    engine.write_buffer_bytes = options.write_buffer_bytes;
    engine.background = options.background;
    let db = Db::open(Arc::clone(&fs), &paths.leveldb, engine)?;
    start_undo_log(&db)?;
    if db.get(&global_key(&GlobalKey::SchemaVersion))?.is_none() {
        write_first_rows(&db, &options)?;
    }
    Ok(Core::new(db, fs, paths, options, 0))
}

/// The undo log's version: the first row of a new store, not synced.
fn start_undo_log(db: &Db) -> Result<()> {
    let mut key = Vec::new();
    ScopesKey::GlobalMetadata.encode(&mut key);
    if db.get(&key)?.is_none() {
        let mut value = Vec::new();
        let version = SCOPES_VERSION;
        ScopesMetadata { version }.encode(&mut value);
        db.put(&key, &value, Durability::Relaxed)?;
    }
    Ok(())
}

fn write_first_rows(db: &Db, options: &WriteOptions) -> Result<()> {
    let mut batch = BatchWriter::new();
    let (mut schema, mut data) = (Vec::new(), Vec::new());
    int::encode(SCHEMA_VERSION_MAX, &mut schema);
    options.data_version.encode(&mut data);
    batch.put(&global_key(&GlobalKey::SchemaVersion), &schema);
    batch.put(&global_key(&GlobalKey::DataVersion), &data);
    Ok(db.write(&mut batch, Durability::Strict)?)
}

fn global_key(key: &GlobalKey) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    bytes
}
