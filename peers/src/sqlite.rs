//! SQLite with a write-ahead log. Relaxed is `synchronous = NORMAL` (syncs at checkpoints), strict is `FULL`.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};

use crate::number;
use crate::rows::{Record, Subject};
use crate::value;

pub(crate) struct Sqlite {
    connection: Connection,
    indexed: bool,
}

impl Sqlite {
    pub(crate) fn create(dir: &Path, indexed: bool) -> Self {
        let connection = Connection::open(dir.join("sqlite")).unwrap();
        let settings = "
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = NORMAL;
            PRAGMA cache_size = -8192;
            CREATE TABLE records (key BLOB NOT NULL UNIQUE, value BLOB NOT NULL);
            CREATE TABLE index_rows (index_key BLOB, key BLOB, PRIMARY KEY (index_key, key)) WITHOUT ROWID;";
        connection.execute_batch(settings).unwrap();
        Self {
            connection,
            indexed,
        }
    }

    fn sum(&self, query: &str) -> usize {
        let mut statement = self.connection.prepare_cached(query).unwrap();
        let mut rows = statement.query([]).unwrap();
        let mut bytes = 0;
        while let Some(row) = rows.next().unwrap() {
            bytes += row.get_ref(0).unwrap().as_blob().unwrap().len();
        }
        bytes
    }

    fn sum_of(&self, query: &str, keys: &[u32]) -> usize {
        self.connection.execute_batch("BEGIN").unwrap();
        let mut statement = self.connection.prepare_cached(query).unwrap();
        let get = |key: &u32| {
            let value = statement.query_row([number(*key)], |row| {
                row.get_ref(0)
                    .map(|value| value.as_blob().unwrap().to_vec())
            });
            value.optional().unwrap().unwrap().len()
        };
        let bytes = keys.iter().map(get).sum();
        drop(statement);
        self.connection.execute_batch("COMMIT").unwrap();
        bytes
    }
}

const PUT: &str =
    "INSERT INTO records VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";

impl Subject for Sqlite {
    fn put(&mut self, records: &[Record], second: bool) {
        let transaction = self.connection.transaction().unwrap();
        {
            let mut put = transaction.prepare_cached(PUT).unwrap();
            let mut add = transaction
                .prepare_cached("INSERT INTO index_rows VALUES (?1, ?2)")
                .unwrap();
            let remove = "DELETE FROM index_rows WHERE index_key = ?1 AND key = ?2";
            let mut remove = transaction.prepare_cached(remove).unwrap();
            for record in records {
                let key = number(record.key);
                put.execute(params![key, value(record, second)]).unwrap();
                if self.indexed && second {
                    remove
                        .execute([number(record.first.index_key), key])
                        .unwrap();
                    add.execute([number(record.second.index_key), key]).unwrap();
                } else if self.indexed {
                    add.execute([number(record.first.index_key), key]).unwrap();
                }
            }
        }
        transaction.commit().unwrap();
    }

    fn gets(&mut self, order: &[u32]) -> usize {
        self.sum_of("SELECT value FROM records WHERE key = ?1", order)
    }

    fn get_all(&mut self) -> usize {
        let query = "SELECT value FROM records ORDER BY key";
        let mut statement = self.connection.prepare_cached(query).unwrap();
        let values = statement
            .query_map([], |row| row.get::<_, Vec<u8>>(0))
            .unwrap();
        let values: Vec<Vec<u8>> = values.map(Result::unwrap).collect();
        values.iter().map(Vec::len).sum()
    }

    fn index_cursor(&mut self) -> usize {
        self.sum("SELECT value FROM index_rows JOIN records USING (key) ORDER BY index_key, key")
    }

    fn index_key_cursor(&mut self) -> usize {
        self.sum("SELECT key FROM index_rows ORDER BY index_key, key") / 9
    }

    fn index_gets(&mut self, order: &[u32]) -> usize {
        let query = "SELECT value FROM index_rows JOIN records USING (key) WHERE index_key = ?1 ORDER BY key LIMIT 1";
        self.sum_of(query, order)
    }

    fn put_one(&mut self, record: &Record, strict: bool) {
        let synchronous = if strict { "FULL" } else { "NORMAL" };
        self.connection
            .pragma_update(None, "synchronous", synchronous)
            .unwrap();
        let mut put = self.connection.prepare_cached(PUT).unwrap();
        put.execute(params![number(record.key), value(record, strict)])
            .unwrap();
    }
}
