//! What has to be there: a map for each object store, changed in the transactions that change the store.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use larder_fixtures::random::Random;
use larder_idb::{
    Connection, GetAllOptions, IndexParameters, JsString, Key, KeyPath, KeyRange,
    NewExternalObject, ObjectStore, ObjectStoreParameters, Origin, Record, Storage, Transaction,
    TransactionMode, TransactionOptions, Upgrade, Value,
};
use serde::{Deserialize, Serialize};

const ORIGINS: u64 = 5;
const DATABASES: u64 = 3;
/// Object stores of a database.
pub(crate) const STORES: [&str; 2] = ["first", "second"];
pub(crate) const INDEX: &str = "by group";
/// Keys of a store are below this.
pub(crate) const KEYS: u64 = 150;
/// Groups, the keys of the index, are below this.
pub(crate) const GROUPS: u64 = 10;

/// A record. Its text and its blob follow from these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    n: u64,
    pub(crate) group: u64,
    text_len: u64,
    blob_len: u64,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    n: u64,
    group: u64,
    blob_len: u64,
    text: String,
}

/// Bytes that do not pack.
fn bytes(n: u64, len: u64) -> Vec<u8> {
    let mut random = Random::new(n);
    (0..len).map(|_| b'!' + random.below(90) as u8).collect()
}

impl Row {
    pub(crate) fn new(random: &mut Random) -> Self {
        let text_len = match random.below(40) {
            // Long enough to be written as a blob.
            0 => 70_000 + random.below(50_000),
            1..=4 => 5000,
            _ => random.below(400),
        };
        let blob_len = if random.one_in(20) {
            1 + random.below(30_000)
        } else {
            0
        };
        Self {
            n: random.next() >> 12,
            group: random.below(GROUPS),
            text_len,
            blob_len,
        }
    }

    pub(crate) fn value(self) -> Value {
        let stored = Stored {
            n: self.n,
            group: self.group,
            blob_len: self.blob_len,
            text: String::from_utf8(bytes(self.n, self.text_len)).unwrap(),
        };
        let value = Value::serialize(&stored).unwrap();
        if self.blob_len == 0 {
            return value;
        }
        value.and_objects(vec![NewExternalObject::Blob {
            mime_type: "text/plain".into(),
            content: Arc::new(bytes(!self.n, self.blob_len)),
        }])
    }

    /// The row that stands there, of which every byte was looked at.
    pub(crate) fn read(entry: &Record<'_>) -> (u64, Self) {
        let Key::Number(key) = entry.primary_key() else {
            panic!("not a key of this test: {:?}", entry.primary_key())
        };
        let stored: Stored = entry.deserialize().unwrap();
        let row = Self {
            n: stored.n,
            group: stored.group,
            text_len: stored.text.len() as u64,
            blob_len: stored.blob_len,
        };
        assert!(bytes(row.n, row.text_len) == stored.text.as_bytes());
        assert_eq!(entry.objects().len(), usize::from(row.blob_len > 0));
        for blob in entry.objects() {
            let mut found = Vec::new();
            blob.open().unwrap().read_to_end(&mut found).unwrap();
            assert!(bytes(!row.n, row.blob_len) == found, "another blob");
        }
        (key as u64, row)
    }

    const fn blob_files(self) -> u64 {
        (self.blob_len > 0) as u64 + (self.text_len >= 60_000) as u64
    }
}

pub(crate) type Rows = BTreeMap<u64, Row>;

/// A database that may be there or not.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) origin: Origin,
    pub(crate) name: JsString,
    /// Locked for reading by code that has a connection, for writing by code that upgrades or deletes. Its version, 0 if it is not
    /// there.
    pub(crate) version: RwLock<u64>,
    stores: [Mutex<Rows>; 2],
}

impl Database {
    /// The rows of a store. They change only while a transaction is active that may write there, before it commits.
    pub(crate) fn rows(&self, store: usize) -> MutexGuard<'_, Rows> {
        self.stores[store].lock().unwrap()
    }

    pub(crate) fn connect(&self, storage: &Storage, version: Option<u64>) -> Connection {
        let factory = storage.factory(&self.origin);
        let request = factory.open(&self.name, version).unwrap();
        request.with_upgrade(upgrade).wait().unwrap()
    }

    /// Reads all there is.
    fn check(&self, storage: &Storage, version: u64) {
        let connection = self.connect(storage, None);
        assert_eq!(connection.version(), version);
        for (store, name) in STORES.iter().enumerate() {
            let (_transaction, handle) = begin(&connection, name);
            let all = handle.get_all(KeyRange::all(), GetAllOptions::default());
            let found = all.unwrap().wait().unwrap();
            let found: Rows = found.iter().map(|entry| Row::read(&entry)).collect();
            let wanted = self.rows(store);
            assert!(found == *wanted, "{self:?} {name}: {found:?}");
            let index = handle.index(INDEX).unwrap();
            let count = index.count(KeyRange::all()).unwrap().wait().unwrap();
            assert_eq!(count, wanted.len() as u64, "{self:?} {name}");
        }
        connection.close();
    }
}

/// A reading transaction over a store.
fn begin(connection: &Connection, store: &str) -> (Transaction, ObjectStore) {
    let name = JsString::from(store);
    let scope = std::slice::from_ref(&name);
    let transaction = connection.transaction(
        scope,
        TransactionMode::ReadOnly,
        TransactionOptions::default(),
    );
    let transaction = transaction.unwrap();
    let handle = transaction.object_store(&name).unwrap();
    (transaction, handle)
}

/// Makes the stores, or, if they are there, makes the index of the first anew.
fn upgrade(upgrade: &Upgrade) -> larder_idb::Result<()> {
    let transaction = &upgrade.transaction;
    let by_group = || KeyPath::String("group".into());
    if upgrade.old_version > 0 {
        let store = transaction.object_store(STORES[0])?;
        store.delete_index(INDEX)?;
        store.create_index(INDEX, by_group(), IndexParameters::default())?;
        return Ok(());
    }
    for name in STORES {
        let parameters = ObjectStoreParameters::new();
        let store = transaction.create_object_store(name, parameters)?;
        store.create_index(INDEX, by_group(), IndexParameters::default())?;
    }
    Ok(())
}

#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) databases: Vec<Database>,
    /// Transactions that were committed, aborted, and that read.
    pub(crate) committed: AtomicU64,
    pub(crate) aborted: AtomicU64,
    pub(crate) read: AtomicU64,
    /// Databases that were deleted and upgraded.
    pub(crate) deleted: AtomicU64,
    pub(crate) upgraded: AtomicU64,
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        write!(
            f,
            "{} commits, {} aborts, {} reads, {} databases deleted, {} upgraded",
            number(&self.committed),
            number(&self.aborted),
            number(&self.read),
            number(&self.deleted),
            number(&self.upgraded)
        )
    }
}

impl Model {
    pub(crate) fn new() -> Self {
        let database = |n: u64| Database {
            origin: Origin::from_url(&format!("https://o{}.example", n / DATABASES)).unwrap(),
            name: format!("database {}", n % DATABASES).as_str().into(),
            version: RwLock::new(0),
            stores: Default::default(),
        };
        Self {
            databases: (0..ORIGINS * DATABASES).map(database).collect(),
            committed: AtomicU64::new(0),
            aborted: AtomicU64::new(0),
            read: AtomicU64::new(0),
            deleted: AtomicU64::new(0),
            upgraded: AtomicU64::new(0),
        }
    }

    /// Reads every database, and finds no other.
    pub(crate) fn check_all(&self, storage: &Storage) {
        let mut count = 0;
        for database in &self.databases {
            let version = *database.version.read().unwrap();
            if version > 0 {
                count += 1;
                database.check(storage, version);
            }
        }
        let mut listed = 0;
        for n in 0..ORIGINS {
            let origin = &self.databases[(n * DATABASES) as usize].origin;
            listed += storage.factory(origin).databases().wait().unwrap().len();
        }
        assert_eq!(listed, count);
    }

    /// Blob files that have to be there.
    pub(crate) fn blobs(&self) -> u64 {
        let of_store = |rows: &Mutex<Rows>| -> u64 {
            let rows = rows.lock().unwrap();
            rows.values().map(|row| row.blob_files()).sum()
        };
        let stores = self.databases.iter().flat_map(|one| &one.stores);
        stores.map(of_store).sum()
    }
}
