//! Files in memory that remember every log, also when it is removed.

use super::Operation;
use crate::log::{LogEvent, LogReader};
use crate::storage::{FileSystem, MemoryFileSystem, RandomFile, WritableFile, pass_on};
use crate::write_batch::BatchReader;
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
    pass_on!(
        open_random,
        open_sequential,
        append,
        rename,
        remove,
        list,
        metadata,
        create_dir,
        remove_dir,
        lock,
        lock_holder,
        sync_dir
    );

    fn create(&self, path: &Path) -> io::Result<Box<dyn WritableFile>> {
        let file = self.inner.create(path)?;
        if path.extension().is_some_and(|extension| extension == "log") {
            let log = self.inner.open_random(path)?;
            self.logs.lock().unwrap().push(log);
        }
        Ok(file)
    }
}
