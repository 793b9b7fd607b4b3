//! Stores in memory, and bytes of keys. With the reference, also part of the fuzz targets (`fuzz/oracles/src/transactions.rs`).

use std::path::Path;
use std::sync::Arc;

use larder_backing_store::{Background, BackingStore, FixedClock, StorePaths, WriteOptions};
use larder_codec::{Key, Origin};
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};

fn paths() -> StorePaths {
    StorePaths::of_leveldb(Path::new("https_a.example_0.indexeddb.leveldb"))
}

/// Opens the store, or makes it.
pub(crate) fn open(fs: &MemoryFileSystem) -> BackingStore {
    let origin = Origin::from_url("https://a.example").unwrap();
    let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
    options.create_if_missing = true;
    options.background = Background::Caller;
    // Small enough that transactions are written out of order.
    options.transaction_memory_bytes = 2 << 10;
    BackingStore::open(Arc::new(fs.clone()), paths(), options).unwrap()
}

/// The bytes of a key.
pub(crate) fn bytes(key: &Key) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    bytes
}

/// How many blob files there are.
pub(crate) fn blob_file_count(fs: &MemoryFileSystem) -> usize {
    fn below(fs: &MemoryFileSystem, dir: &Path) -> usize {
        let names = fs.list(dir).unwrap_or_default();
        let paths = names.into_iter().map(|name| dir.join(name));
        let counts = paths.map(|path| match fs.metadata(&path) {
            Ok(metadata) if !metadata.is_dir => 1,
            _ => below(fs, &path),
        });
        counts.sum()
    }
    below(fs, &paths().blob)
}
