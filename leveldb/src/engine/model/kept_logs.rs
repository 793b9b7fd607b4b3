//! Files in memory that remember every log, also when it is removed.

use super::Operation;
use crate::log::{LogEvent, LogReader};
use crate::storage::{
    FileLock, FileSystem, LockHolder, MemoryFileSystem, Metadata, RandomFile, SequentialFile,
    WritableFile,
};
use crate::write_batch::BatchReader;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A record of a log: keys, and their values or, for deletions, none.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) sequence: u64,
    pub(super) operations: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

#[derive(Debug, Default)]
pub(super) struct KeptLogs {
    inner: MemoryFileSystem,
    /// Open files outlive their names.
    logs: Mutex<Vec<Arc<dyn RandomFile>>>,
}

impl KeptLogs {
    /// Everything that was written, in order.
    pub(super) fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for log in self.logs.lock().unwrap().iter() {
            let mut reader = LogReader::new(log.clone()).unwrap();
            loop {
                match reader.next_event() {
                    LogEvent::Record => records.push(record(reader.record())),
                    LogEvent::End => break,
                    other => panic!("{other:?}"),
                }
            }
        }
        records.sort_by_key(|record| record.sequence);
        records
    }
}

fn record(bytes: &[u8]) -> Record {
    let batch = BatchReader::new(bytes).unwrap();
    let sequence = batch.sequence();
    let operation = |operation: Operation<'_>| match operation {
        Operation::Put(key, value) => (key.to_vec(), Some(value.to_vec())),
        Operation::Delete(key) => (key.to_vec(), None),
    };
    let operations = batch.map(|entry| operation(entry.unwrap().operation));
    Record {
        sequence,
        operations: operations.collect(),
    }
}

impl FileSystem for KeptLogs {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        let file = self.inner.create(path)?;
        if path.extension().is_some_and(|extension| extension == "log") {
            let log = self.inner.open_random(path)?;
            self.logs.lock().unwrap().push(log);
        }
        Ok(file)
    }

    fn open_random(&self, path: &Path) -> io::Result<Arc<dyn RandomFile>> {
        self.inner.open_random(path)
    }

    fn open_sequential(&self, path: &Path) -> io::Result<Box<dyn SequentialFile>> {
        self.inner.open_sequential(path)
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        self.inner.append(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<OsString>> {
        self.inner.list(dir)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.inner.metadata(path)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.create_dir(dir)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.remove_dir(dir)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn FileLock>> {
        self.inner.lock(path)
    }

    fn lock_holder(&self, path: &Path) -> io::Result<Option<LockHolder>> {
        self.inner.lock_holder(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.sync_dir(dir)
    }
}
