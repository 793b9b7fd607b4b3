//! LMDB by heed. Relaxed is `MDB_NOSYNC`.

use std::path::Path;

use heed::types::{Bytes, Unit};
use heed::{Database, Env, EnvFlags, EnvOpenOptions, FlagSetMode};

use crate::rows::{Record, Subject};
use crate::{index_rows, number, value};

/// Room for ten million records. It is a range of addresses, which takes neither memory nor disk.
const MAP_BYTES: usize = 16 << 30;

pub(crate) struct Heed {
    env: Env,
    records: Database<Bytes, Bytes>,
    index: Database<Bytes, Unit>,
    indexed: bool,
}

impl Heed {
    pub(crate) fn create(dir: &Path, indexed: bool) -> Self {
        let mut options = EnvOpenOptions::new();
        options.map_size(MAP_BYTES).max_dbs(2);
        // SAFETY: no program else opens or changes the file, which is in a temporary folder of this program's own.
        let env = unsafe { options.open(dir) }.unwrap();
        let mut transaction = env.write_txn().unwrap();
        let records = env
            .create_database(&mut transaction, Some("records"))
            .unwrap();
        let index = env
            .create_database(&mut transaction, Some("index rows"))
            .unwrap();
        transaction.commit().unwrap();
        Self {
            env,
            records,
            index,
            indexed,
        }
    }

    fn write(&self, records: &[Record], second: bool, strict: bool) {
        let mode = if strict {
            FlagSetMode::Disable
        } else {
            FlagSetMode::Enable
        };
        // SAFETY: there is one thread, and no transaction is open.
        unsafe { self.env.set_flags(EnvFlags::NO_SYNC, mode) }.unwrap();
        let mut transaction = self.env.write_txn().unwrap();
        for record in records {
            self.records
                .put(&mut transaction, &number(record.key), value(record, second))
                .unwrap();
            if self.indexed {
                let (add, remove) = index_rows(record, second);
                if let Some(remove) = remove {
                    self.index.delete(&mut transaction, &remove).unwrap();
                }
                self.index.put(&mut transaction, &add, &()).unwrap();
            }
        }
        transaction.commit().unwrap();
    }
}

impl Subject for Heed {
    fn put(&mut self, records: &[Record], second: bool) {
        self.write(records, second, false);
    }

    fn gets(&mut self, order: &[u32]) -> usize {
        let read = self.env.read_txn().unwrap();
        let get = |key: &u32| {
            self.records
                .get(&read, &number(*key))
                .unwrap()
                .unwrap()
                .to_vec()
                .len()
        };
        order.iter().map(get).sum()
    }

    fn get_all(&mut self) -> usize {
        let read = self.env.read_txn().unwrap();
        let rows = self.records.iter(&read).unwrap();
        let values: Vec<Vec<u8>> = rows.map(|row| row.unwrap().1.to_vec()).collect();
        values.iter().map(Vec::len).sum()
    }

    fn index_cursor(&mut self) -> usize {
        let read = self.env.read_txn().unwrap();
        let rows = self.index.iter(&read).unwrap();
        rows.map(|row| {
            self.records
                .get(&read, &row.unwrap().0[9..])
                .unwrap()
                .unwrap()
                .len()
        })
        .sum()
    }

    fn index_key_cursor(&mut self) -> usize {
        let read = self.env.read_txn().unwrap();
        let rows = self.index.iter(&read).unwrap();
        rows.map(|row| row.unwrap().0.len()).sum::<usize>() / 18
    }

    fn index_gets(&mut self, order: &[u32]) -> usize {
        let read = self.env.read_txn().unwrap();
        let get = |key: &u32| {
            let (row, ()) = self
                .index
                .prefix_iter(&read, &number(*key))
                .unwrap()
                .next()
                .unwrap()
                .unwrap();
            self.records
                .get(&read, &row[9..])
                .unwrap()
                .unwrap()
                .to_vec()
                .len()
        };
        order.iter().map(get).sum()
    }

    fn put_one(&mut self, record: &Record, strict: bool) {
        self.write(std::slice::from_ref(record), strict, strict);
    }
}
