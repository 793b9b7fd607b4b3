//! Files of a store, written in memory with the engine's own writers.

use std::path::Path;
use std::sync::Arc;

use larder_leveldb::Comparator;
use larder_leveldb::internal_key::InternalOrder;
use larder_leveldb::log::LogWriter;
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};
use larder_leveldb::table::{TableBuilder, TableOptions, TableSummary};
use larder_leveldb::version_edit::VersionEdit;

/// What CURRENT says in every store made here.
pub const CURRENT: &[u8] = b"MANIFEST-000001\n";

const FILE: &str = "file";

fn content(fs: &MemoryFileSystem) -> Vec<u8> {
    let file = fs.open_random(Path::new(FILE)).expect("it was made");
    let mut bytes =
        vec![0; usize::try_from(file.len().expect("a length")).expect("it is in memory")];
    let read = file.read_at(0, &mut bytes).expect("memory reads");
    assert_eq!(read, bytes.len(), "memory reads all at once");
    bytes
}

/// A log of these records.
///
/// # Panics
/// Never: memory takes what is written.
#[must_use]
pub fn log<R: AsRef<[u8]>>(records: &[R]) -> Vec<u8> {
    let fs = MemoryFileSystem::new();
    let mut writer = LogWriter::new(fs.create(Path::new(FILE)).expect("an empty file system"), 0);
    for record in records {
        writer.add(record.as_ref()).expect("memory takes bytes");
    }
    content(&fs)
}

/// A MANIFEST of these edits.
#[must_use]
pub fn manifest(edits: &[VersionEdit]) -> Vec<u8> {
    let encoded = |edit: &VersionEdit| {
        let mut bytes = Vec::new();
        edit.encode(&mut bytes);
        bytes
    };
    log(&edits.iter().map(encoded).collect::<Vec<_>>())
}

/// The edit that a MANIFEST of a store begins with, for one that has a log of this number.
#[must_use]
pub fn first_edit(comparator: &dyn Comparator, log_number: u64, last_sequence: u64) -> VersionEdit {
    VersionEdit {
        comparator: Some(comparator.name().as_bytes().to_vec()),
        log_number: Some(log_number),
        prev_log_number: Some(0),
        next_file_number: Some(100),
        last_sequence: Some(last_sequence),
        ..VersionEdit::default()
    }
}

/// A table of these entries: internal keys, ascending, and values.
///
/// # Panics
/// Never: memory takes what is written.
pub fn table<'a>(
    comparator: Arc<dyn Comparator>,
    options: TableOptions,
    entries: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
) -> (Vec<u8>, TableSummary) {
    let fs = MemoryFileSystem::new();
    let mut file = fs.create(Path::new(FILE)).expect("an empty file system");
    let mut builder = TableBuilder::new(&mut *file, InternalOrder::new(comparator), options);
    for (key, value) in entries {
        builder.add(key, value).expect("memory takes bytes");
    }
    let summary = builder.finish().expect("memory takes bytes");
    (content(&fs), summary)
}
