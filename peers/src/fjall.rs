//! fjall, with its compression. Relaxed is `PersistMode::Buffer`, strict is `SyncData`.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable};

use crate::rows::{Record, Subject};
use crate::{index_rows, number, value};

pub(crate) struct Fjall {
    db: Database,
    records: Keyspace,
    index: Keyspace,
    indexed: bool,
}

impl Fjall {
    pub(crate) fn create(dir: &Path, indexed: bool) -> Self {
        let db = Database::builder(dir.join("fjall")).open().unwrap();
        let records = db
            .keyspace("records", KeyspaceCreateOptions::default)
            .unwrap();
        let index = db
            .keyspace("index rows", KeyspaceCreateOptions::default)
            .unwrap();
        Self {
            db,
            records,
            index,
            indexed,
        }
    }

    fn write(&self, records: &[Record], second: bool, mode: PersistMode) {
        let mut batch = self.db.batch().durability(Some(mode));
        for record in records {
            batch.insert(&self.records, number(record.key), value(record, second));
            if self.indexed {
                let (add, remove) = index_rows(record, second);
                if let Some(remove) = remove {
                    batch.remove(&self.index, remove);
                }
                batch.insert(&self.index, add, []);
            }
        }
        batch.commit().unwrap();
    }
}

impl Subject for Fjall {
    fn put(&mut self, records: &[Record], second: bool) {
        self.write(records, second, PersistMode::Buffer);
    }

    fn gets(&mut self, order: &[u32]) -> usize {
        let snapshot = self.db.snapshot();
        let get = |key: &u32| {
            snapshot
                .get(&self.records, number(*key))
                .unwrap()
                .unwrap()
                .len()
        };
        order.iter().map(get).sum()
    }

    fn get_all(&mut self) -> usize {
        let rows = self.db.snapshot().iter(&self.records);
        let values: Vec<_> = rows.map(|row| row.value().unwrap()).collect();
        values.iter().map(|value| value.len()).sum()
    }

    fn index_cursor(&mut self) -> usize {
        let snapshot = self.db.snapshot();
        let value = |row: fjall::Guard| {
            let row = row.key().unwrap();
            snapshot
                .get(&self.records, &row[9..])
                .unwrap()
                .unwrap()
                .len()
        };
        snapshot.iter(&self.index).map(value).sum()
    }

    fn index_key_cursor(&mut self) -> usize {
        let rows = self.db.snapshot().iter(&self.index);
        rows.map(|row| row.key().unwrap().len()).sum::<usize>() / 18
    }

    fn index_gets(&mut self, order: &[u32]) -> usize {
        let snapshot = self.db.snapshot();
        let get = |key: &u32| {
            let row = snapshot
                .prefix(&self.index, number(*key))
                .next()
                .unwrap()
                .key()
                .unwrap();
            snapshot
                .get(&self.records, &row[9..])
                .unwrap()
                .unwrap()
                .len()
        };
        order.iter().map(get).sum()
    }

    fn put_one(&mut self, record: &Record, strict: bool) {
        let mode = if strict {
            PersistMode::SyncData
        } else {
            PersistMode::Buffer
        };
        self.write(std::slice::from_ref(record), strict, mode);
    }
}
