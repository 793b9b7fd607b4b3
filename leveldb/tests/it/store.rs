//! Stores made with this crate's encoders, in memory.

use larder_leveldb::file_name::FileName;
use larder_leveldb::internal_key::{self, EntryKind, InternalOrder};
use larder_leveldb::log::LogWriter;
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};
use larder_leveldb::table::{TableBuilder, TableOptions};
use larder_leveldb::version_edit::{NewFile, VersionEdit};
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{BytewiseComparator, Comparator, Db, Options};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A key and its value or, for a deletion, none.
pub(crate) type Operation = (Vec<u8>, Option<Vec<u8>>);

pub(crate) struct StoreBuilder {
    pub(crate) fs: MemoryFileSystem,
    pub(crate) dir: PathBuf,
    pub(crate) tables: TableOptions,
    /// In which tables are written; readers find the name of `BytewiseComparator` all the same.
    pub(crate) order: InternalOrder,
    next_number: u64,
    pub(crate) first_log: Option<u64>,
    pub(crate) prev_log: u64,
    new_files: Vec<NewFile>,
    pub(crate) last_sequence: u64,
}

impl StoreBuilder {
    pub(crate) fn new() -> StoreBuilder {
        let fs = MemoryFileSystem::new();
        let dir = PathBuf::from("store");
        fs.create_dir(&dir).unwrap();
        let tables = TableOptions {
            block_len: 300,
            ..TableOptions::default()
        };
        let order = InternalOrder::new(Arc::new(BytewiseComparator));
        StoreBuilder {
            fs,
            dir,
            tables,
            order,
            next_number: 2,
            first_log: None,
            prev_log: 0,
            new_files: vec![],
            last_sequence: 0,
        }
    }

    pub(crate) fn path(&self, name: FileName) -> PathBuf {
        self.dir.join(name.to_string())
    }

    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    /// Puts operations, the first with this sequence number, into `count` tables of a level.
    pub(crate) fn add_tables(
        &mut self,
        level: usize,
        sequence: u64,
        operations: &[Operation],
        count: usize,
    ) {
        let mut entries: Vec<(Vec<u8>, &[u8])> = Vec::new();
        for (i, (key, value)) in operations.iter().enumerate() {
            let kind = if value.is_some() {
                EntryKind::Value
            } else {
                EntryKind::Deletion
            };
            let mut internal = Vec::new();
            internal_key::encode(&mut internal, key, sequence + i as u64, kind);
            entries.push((internal, value.as_deref().unwrap_or_default()));
        }
        let order = self.order.clone();
        entries.sort_by(|a, b| order.compare(&a.0, &b.0));
        for part in entries.chunks(entries.len().div_ceil(count.max(1)).max(1)) {
            self.add_table(level, part);
        }
        self.last_sequence = self
            .last_sequence
            .max(sequence + operations.len() as u64 - 1);
    }

    /// One table with just these entries: internal keys and values, in this order.
    pub(crate) fn add_table(&mut self, level: usize, entries: &[(Vec<u8>, &[u8])]) {
        let number = self.number();
        // Both suffixes are in use.
        let name = if number.is_multiple_of(2) {
            FileName::Table(number)
        } else {
            FileName::OldTable(number)
        };
        let mut file = self.fs.create(&self.path(name)).unwrap();
        let mut builder = TableBuilder::new(&mut *file, self.order.clone(), self.tables);
        for (key, value) in entries {
            builder.add(key, value).unwrap();
        }
        let summary = builder.finish().unwrap();
        let (smallest, largest) = (summary.smallest, summary.largest);
        self.new_files.push(NewFile {
            level,
            number,
            len_bytes: summary.len_bytes,
            smallest,
            largest,
        });
    }

    /// Lists a table that is not there.
    pub(crate) fn list(&mut self, file: NewFile) {
        self.new_files.push(file);
    }

    /// Puts operations into a log: batches of so many.
    pub(crate) fn add_log(&mut self, sequence: u64, operations: &[Operation], batch_len: usize) {
        let number = self.number();
        self.first_log.get_or_insert(number);
        let file = self.fs.create(&self.path(FileName::Log(number))).unwrap();
        let mut log = LogWriter::new(file, 0);
        let mut sequence = sequence;
        for operations in operations.chunks(batch_len) {
            let mut batch = BatchWriter::new();
            for (key, value) in operations {
                match value {
                    Some(value) => batch.put(key, value),
                    None => batch.delete(key),
                }
            }
            log.add(batch.finish(sequence)).unwrap();
            sequence += operations.len() as u64;
        }
    }

    /// Writes MANIFEST and CURRENT.
    pub(crate) fn finish(&mut self) {
        let comparator = Some(BytewiseComparator.name().as_bytes().to_vec());
        let numbers = (Some(0), Some(2), Some(0));
        let (log_number, next_file_number, last_sequence) = numbers;
        let first = VersionEdit {
            comparator,
            log_number,
            next_file_number,
            last_sequence,
            ..VersionEdit::default()
        };
        let second = VersionEdit {
            log_number: self.first_log,
            prev_log_number: Some(self.prev_log),
            next_file_number: Some(self.next_number + 1),
            last_sequence: Some(self.last_sequence),
            new_files: std::mem::take(&mut self.new_files),
            ..VersionEdit::default()
        };
        let mut manifest = LogWriter::new(
            self.fs.create(&self.path(FileName::Manifest(1))).unwrap(),
            0,
        );
        for edit in [first, second] {
            let mut bytes = Vec::new();
            edit.encode(&mut bytes);
            manifest.add(&bytes).unwrap();
        }
        put_file(
            &self.fs,
            &self.path(FileName::Current),
            b"MANIFEST-000001\n",
        );
    }

    /// Spreads operations, in their order, over levels 2 and 1, two tables of level 0 and two logs. The first has sequence
    /// number 1.
    pub(crate) fn spread(operations: &[Operation]) -> StoreBuilder {
        let mut store = StoreBuilder::new();
        let n = operations.len();
        let cuts = [
            0,
            n * 2 / 6,
            n * 3 / 6,
            n * 4 / 6,
            n * 5 / 6,
            n * 11 / 12,
            n,
        ];
        let part = |i: usize| (1 + cuts[i] as u64, &operations[cuts[i]..cuts[i + 1]]);
        for (i, (level, count)) in [(2, 3), (1, 2), (0, 1), (0, 1)].into_iter().enumerate() {
            let (sequence, operations) = part(i);
            if !operations.is_empty() {
                store.add_tables(level, sequence, operations, count);
            }
        }
        for i in [4, 5] {
            let (sequence, operations) = part(i);
            store.add_log(sequence, operations, 3);
        }
        store.finish();
        store
    }

    /// Copies the store to a directory of the disk.
    #[expect(clippy::disallowed_methods, reason = "tests write stores")]
    pub(crate) fn write_to(&self, dir: &Path) {
        for name in self.fs.list(&self.dir).unwrap() {
            std::fs::write(dir.join(&name), get_file(&self.fs, &self.dir.join(&name))).unwrap();
        }
    }

    pub(crate) fn open(&self, options: Options) -> larder_leveldb::Result<Db> {
        open(&self.fs, options)
    }
}

pub(crate) fn open(fs: &MemoryFileSystem, options: Options) -> larder_leveldb::Result<Db> {
    Db::open_read_only(Arc::new(fs.clone()), Path::new("store"), options)
}

pub(crate) fn put_file(fs: &MemoryFileSystem, path: &Path, bytes: &[u8]) {
    fs.create(path).unwrap().append(bytes).unwrap();
}

pub(crate) fn get_file(fs: &MemoryFileSystem, path: &Path) -> Vec<u8> {
    let mut bytes = vec![0; fs.metadata(path).unwrap().len_bytes as usize];
    assert_eq!(
        fs.open_random(path)
            .unwrap()
            .read_at(0, &mut bytes)
            .unwrap(),
        bytes.len()
    );
    bytes
}
