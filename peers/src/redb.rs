//! redb. Relaxed is `Durability::None`.

use std::path::Path;

use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};

use crate::rows::{Record, Subject};
use crate::{index_rows, number, value};

const RECORDS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("records");
const INDEX: TableDefinition<&[u8], ()> = TableDefinition::new("index rows");

pub(crate) struct Redb {
    db: Database,
    indexed: bool,
}

impl Redb {
    pub(crate) fn create(dir: &Path, indexed: bool) -> Self {
        let db = Database::create(dir.join("redb")).unwrap();
        let transaction = db.begin_write().unwrap();
        transaction.open_table(RECORDS).unwrap();
        transaction.open_table(INDEX).unwrap();
        transaction.commit().unwrap();
        Self { db, indexed }
    }

    fn write(&self, records: &[Record], second: bool, durability: Durability) {
        let mut transaction = self.db.begin_write().unwrap();
        transaction.set_durability(durability).unwrap();
        {
            let mut table = transaction.open_table(RECORDS).unwrap();
            let mut index = transaction.open_table(INDEX).unwrap();
            for record in records {
                table
                    .insert(&number(record.key)[..], value(record, second))
                    .unwrap();
                if self.indexed {
                    let (add, remove) = index_rows(record, second);
                    if let Some(remove) = remove {
                        index.remove(&remove[..]).unwrap();
                    }
                    index.insert(&add[..], ()).unwrap();
                }
            }
        }
        transaction.commit().unwrap();
    }
}

impl Subject for Redb {
    fn put(&mut self, records: &[Record], second: bool) {
        self.write(records, second, Durability::None);
    }

    fn gets(&mut self, order: &[u32]) -> usize {
        let table = self.db.begin_read().unwrap().open_table(RECORDS).unwrap();
        let get = |key: &u32| {
            table
                .get(&number(*key)[..])
                .unwrap()
                .unwrap()
                .value()
                .to_vec()
                .len()
        };
        order.iter().map(get).sum()
    }

    fn get_all(&mut self) -> usize {
        let table = self.db.begin_read().unwrap().open_table(RECORDS).unwrap();
        let values: Vec<Vec<u8>> = table
            .iter()
            .unwrap()
            .map(|row| row.unwrap().1.value().to_vec())
            .collect();
        values.iter().map(Vec::len).sum()
    }

    fn index_cursor(&mut self) -> usize {
        let read = self.db.begin_read().unwrap();
        let (table, index) = (
            read.open_table(RECORDS).unwrap(),
            read.open_table(INDEX).unwrap(),
        );
        let rows = index.iter().unwrap();
        rows.map(|row| {
            table
                .get(&row.unwrap().0.value()[9..])
                .unwrap()
                .unwrap()
                .value()
                .len()
        })
        .sum()
    }

    fn index_key_cursor(&mut self) -> usize {
        let index = self.db.begin_read().unwrap().open_table(INDEX).unwrap();
        index
            .iter()
            .unwrap()
            .map(|row| row.unwrap().0.value().len())
            .sum::<usize>()
            / 18
    }

    fn index_gets(&mut self, order: &[u32]) -> usize {
        let read = self.db.begin_read().unwrap();
        let (table, index) = (
            read.open_table(RECORDS).unwrap(),
            read.open_table(INDEX).unwrap(),
        );
        let get = |key: &u32| {
            let row = index
                .range(&number(*key)[..]..)
                .unwrap()
                .next()
                .unwrap()
                .unwrap();
            table
                .get(&row.0.value()[9..])
                .unwrap()
                .unwrap()
                .value()
                .to_vec()
                .len()
        };
        order.iter().map(get).sum()
    }

    fn put_one(&mut self, record: &Record, strict: bool) {
        let durability = if strict {
            Durability::Immediate
        } else {
            Durability::None
        };
        self.write(std::slice::from_ref(record), strict, durability);
    }
}
