//! `larder-idb` on disk, as hosts use it.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use larder_codec::JsString;
use larder_codec::value::serde::from_payload;
use larder_codec::value::{Envelope, Payload};
use larder_idb::{
    Connection, Cursor, CursorDirection, DATA_VERSION_MAX, DiskFileSystem, Executor, GetAllOptions,
    Index, IndexParameters, Key, KeyPath, KeyRange, ObjectStore, ObjectStoreParameters, Origin,
    Request, Storage, StorageOptions, StoreForm, StoredValue, Transaction, TransactionDurability,
    TransactionMode, TransactionOptions, Value,
};

use crate::Row;
use crate::rows::{Record, Subject, Workload};
use larder_backing_store::FixedClock;

/// How the host goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Values to and from Rust types by serde; requests all at once, on two threads.
    Types,
    /// Values as their bytes, which a JavaScript engine has made by then and gives away; else as [`Types`](Self::Types).
    Bytes,
    /// Bytes, no threads, and each request waited for before the next is made.
    Waiting,
}

/// What a store of ours is like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) manner: Manner,
    pub(crate) form: StoreForm,
    /// So many other object stores, which stay empty.
    pub(crate) others: usize,
    /// The size of the block cache, if it is not the usual one.
    pub(crate) cache_bytes: Option<usize>,
}

impl Setup {
    /// No other object stores, and the usual cache.
    pub(crate) const fn of(manner: Manner) -> Self {
        Self {
            manner,
            form: StoreForm::LevelDb,
            others: 0,
            cache_bytes: None,
        }
    }
}

/// What a host has of its names once it has made them, as raw calls have ids.
#[derive(Debug)]
struct Names {
    store: [JsString; 1],
    index: JsString,
}

/// An open database.
#[derive(Debug)]
pub(crate) struct Ours {
    manner: Manner,
    connection: Connection,
    names: Names,
    /// By key, what [`Record::first`] and [`Record::second`] hold.
    rows: Arc<Vec<[Row; 2]>>,
    /// The values that are put next.
    prepared: std::vec::IntoIter<Value>,
    // The last to go.
    storage: Option<Storage>,
}

/// The values of a workload as Rust types.
pub(crate) fn rows_of(workload: &Workload) -> Arc<Vec<[Row; 2]>> {
    let row = |bytes: &[u8]| {
        let mut buffer = Vec::new();
        match Envelope::peel(bytes, &mut buffer).unwrap() {
            Envelope::Inline(payload) => from_payload::<Row>(&payload).unwrap(),
            Envelope::InBlob { .. } => unreachable!(),
        }
    };
    let records = workload.records.iter().chain(&workload.singles);
    let rows = records.map(|record| [row(&record.first.bytes), row(&record.second.bytes)]);
    Arc::new(rows.collect())
}

impl Ours {
    /// A new store, with the index or without.
    pub(crate) fn create(
        dir: &Path,
        indexed: bool,
        setup: Setup,
        rows: &Arc<Vec<[Row; 2]>>,
    ) -> Self {
        let manner = setup.manner;
        let mut options = StorageOptions::new(
            Arc::new(DiskFileSystem::new()),
            dir,
            Arc::new(FixedClock::default()),
        );
        // As the page's store: a new one of ours has older headers, which are shorter.
        options.new_store_version = DATA_VERSION_MAX;
        options.new_store_form = setup.form;
        if let Some(bytes) = setup.cache_bytes {
            options.block_cache_bytes = bytes;
        }
        options.executor = match manner {
            Manner::Waiting => Executor::Driven { seed: None },
            _ => Executor::Threads(NonZeroUsize::new(2).unwrap()),
        };
        let storage = Storage::new(options).unwrap();
        let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
        let request = factory.open("d", Some(1)).unwrap();
        let opened = request.with_upgrade(move |upgrade| {
            let parameters = ObjectStoreParameters::default();
            let create = |name: &str| {
                let transaction = &upgrade.transaction;
                transaction.create_object_store(name, parameters.clone())
            };
            let store = create("s")?;
            for n in 0..setup.others {
                create(&format!("other {n}"))?;
            }
            if indexed {
                let path = KeyPath::String("i".into());
                store.create_index("i", path, IndexParameters::default())?;
            }
            Ok(())
        });
        Self {
            manner,
            connection: opened.wait().unwrap(),
            names: Names {
                store: ["s".into()],
                index: "i".into(),
            },
            rows: Arc::clone(rows),
            prepared: Vec::new().into_iter(),
            storage: Some(storage),
        }
    }

    fn begin(
        &self,
        mode: TransactionMode,
        durability: TransactionDurability,
    ) -> (Transaction, ObjectStore) {
        let options = TransactionOptions::new().durability(durability);
        let transaction = self
            .connection
            .transaction(&self.names.store, mode, options);
        let transaction = transaction.unwrap();
        let store = transaction.object_store(&self.names.store[0]).unwrap();
        (transaction, store)
    }

    fn read(&self) -> (Transaction, ObjectStore) {
        self.begin(TransactionMode::ReadOnly, TransactionDurability::Default)
    }

    fn index(&self) -> Index {
        self.read().1.index(&self.names.index).unwrap()
    }

    fn write(&mut self, records: &[Record], second: bool, durability: TransactionDurability) {
        let (transaction, store) = self.begin(TransactionMode::ReadWrite, durability);
        for record in records {
            let key = Some(Key::Number(f64::from(record.key)));
            let prepared = self.prepared.next();
            let value = prepared.unwrap_or_else(|| self.value(record, second));
            let request = store.put(value, key).unwrap();
            if self.manner == Manner::Waiting {
                request.wait().unwrap();
            }
        }
        transaction.commit().unwrap().wait().unwrap();
    }

    fn value(&self, record: &Record, second: bool) -> Value {
        if self.manner == Manner::Types {
            let rows = &self.rows[record.key as usize];
            return Value::serialize(&rows[usize::from(second)]).unwrap();
        }
        bytes_of(record, second)
    }

    fn looked_at(&self, bytes: &[u8]) -> usize {
        if self.manner == Manner::Types {
            let payload = Payload::read(bytes).unwrap();
            std::hint::black_box(from_payload::<Row>(&payload).unwrap());
        }
        bytes.len()
    }

    /// Waits for values one by one or all at once.
    fn sum(&self, requests: impl Iterator<Item = Request<Option<StoredValue>>>) -> usize {
        let len = |request: Request<Option<StoredValue>>| {
            self.looked_at(request.wait().unwrap().unwrap().bytes())
        };
        match self.manner {
            Manner::Waiting => requests.map(len).sum(),
            _ => requests.collect::<Vec<_>>().into_iter().map(len).sum(),
        }
    }
}

fn bytes_of(record: &Record, second: bool) -> Value {
    Value::from_bytes(record.value(second).bytes.clone())
}

/// Goes through with a cursor.
fn walk(request: Request<Option<Cursor>>, mut found: impl FnMut(&Cursor) -> usize) -> usize {
    let mut cursor = request.wait().unwrap();
    let mut sum = 0;
    while let Some(at) = cursor {
        sum += found(&at);
        cursor = at.next().unwrap().wait().unwrap();
    }
    sum
}

impl Subject for Ours {
    fn prepare(&mut self, records: &[Record], second: bool) {
        if self.manner != Manner::Types {
            let values = records.iter().map(|record| bytes_of(record, second));
            self.prepared = values.collect::<Vec<_>>().into_iter();
        }
    }

    fn put(&mut self, records: &[Record], second: bool) {
        self.write(records, second, TransactionDurability::Relaxed);
    }

    fn gets(&mut self, order: &[u32]) -> usize {
        let (_transaction, store) = self.read();
        let get = |key: &u32| store.get(Key::Number(f64::from(*key))).unwrap();
        self.sum(order.iter().map(get))
    }

    fn get_all(&mut self) -> usize {
        let (_transaction, store) = self.read();
        let records = store.get_all(KeyRange::all(), GetAllOptions::default());
        let records = records.unwrap().wait().unwrap();
        records
            .iter()
            .map(|entry| self.looked_at(entry.value()))
            .sum()
    }

    fn index_cursor(&mut self) -> usize {
        let opened = self
            .index()
            .open_cursor(KeyRange::all(), CursorDirection::Next);
        walk(opened.unwrap(), |at| self.looked_at(at.record().value()))
    }

    fn index_key_cursor(&mut self) -> usize {
        let opened = self
            .index()
            .open_key_cursor(KeyRange::all(), CursorDirection::Next);
        walk(opened.unwrap(), |at| {
            std::hint::black_box(at.raw_primary_key());
            1
        })
    }

    fn index_gets(&mut self, order: &[u32]) -> usize {
        let index = self.index();
        let get = |key: &u32| index.get(Key::Number(f64::from(*key))).unwrap();
        self.sum(order.iter().map(get))
    }

    fn put_one(&mut self, record: &Record, strict: bool) {
        let durability = match strict {
            true => TransactionDurability::Strict,
            false => TransactionDurability::Relaxed,
        };
        self.write(std::slice::from_ref(record), strict, durability);
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        self.connection.close();
        if let Some(storage) = self.storage.take() {
            storage.close().unwrap();
        }
    }
}
