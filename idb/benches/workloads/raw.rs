//! The backing store beneath, called as directly as can be: keys encoded and index keys known beforehand, values borrowed.

use std::path::Path;
use std::sync::Arc;

use larder_backing_store::{
    BackingStore, CursorDirection, Durability, IndexKeys, IndexParameters, KeyRange,
    ObjectStoreParameters, Page, PageLimits, Put, PutKey, PutMode, Record as Found, Scope,
    StorePaths, WriteOptions,
};
use larder_codec::{DatabaseId, IndexId, Key, KeyPath, ObjectStoreId, Origin, RawKey};
use larder_idb::StorageOptions;
use larder_leveldb::storage::DiskFileSystem;

use crate::rows::{Record, Subject};
use larder_backing_store::FixedClock;

const STORE: ObjectStoreId = ObjectStoreId::MIN;

/// A store, and the keys of all that it will be asked for.
#[derive(Debug)]
pub(crate) struct Raw {
    store: BackingStore,
    database: DatabaseId,
    index: Option<IndexId>,
    keys: Arc<Keys>,
    /// The values that are put next: made when ours are, so that they are as near in the processor's caches.
    prepared: Vec<Vec<u8>>,
    /// How many of them have been put.
    put: usize,
}

/// Number keys, encoded.
#[derive(Debug)]
pub(crate) struct Keys(Vec<Vec<u8>>);

impl Keys {
    /// Those below `count`.
    pub(crate) fn new(count: u32) -> Arc<Self> {
        let encoded = |n| {
            let mut bytes = Vec::new();
            Key::Number(f64::from(n)).encode(&mut bytes);
            bytes
        };
        Arc::new(Self((0..count).map(encoded).collect()))
    }

    fn get(&self, n: u32) -> RawKey<'_> {
        RawKey::decode_exact(&self.0[n as usize]).unwrap()
    }
}

impl Raw {
    /// With so many `other` object stores, which stay empty.
    pub(crate) fn create(dir: &Path, indexed: bool, others: usize, keys: Arc<Keys>) -> Self {
        let origin = Origin::from_url("https://a.example").unwrap();
        let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
        // What a host of idb has.
        let host = StorageOptions::in_memory(Arc::new(FixedClock::default()));
        options.write_buffer_bytes = host.write_buffer_bytes;
        options.transaction_memory_bytes = host.transaction_memory_bytes;
        options.create_if_missing = true;
        let paths = StorePaths::of_leveldb(&dir.join("raw.indexeddb.leveldb"));
        let fs = Arc::new(DiskFileSystem::new());
        let store = BackingStore::open(fs, paths, options).unwrap();
        let database = store.create_database(&"d".into()).unwrap();
        let scope = Scope::VersionChange(database);
        let mut change = store.begin(scope, Durability::Strict).unwrap();
        let other_names = (0..others).map(|n| format!("other {n}"));
        for name in std::iter::once("s".to_owned()).chain(other_names) {
            let parameters = ObjectStoreParameters {
                id: None,
                name: (&*name).into(),
                key_path: KeyPath::Null,
                auto_increment: false,
            };
            change.create_object_store(&parameters).unwrap();
        }
        let parameters = IndexParameters {
            id: None,
            name: "i".into(),
            key_path: KeyPath::String("i".into()),
            unique: false,
            multi_entry: false,
        };
        let index = indexed.then(|| change.create_index(STORE, &parameters).unwrap());
        change.commit().unwrap();
        Self {
            store,
            database,
            index,
            keys,
            prepared: Vec::new(),
            put: 0,
        }
    }

    fn write(&mut self, records: &[Record], second: bool, durability: Durability) {
        let scope = Scope::Stores(self.database, [STORE].into());
        let mut transaction = self.store.begin(scope, durability).unwrap();
        for record in records {
            let value = record.value(second);
            let bytes = self.prepared.get(self.put);
            self.put += 1;
            let index_key = [self.keys.get(value.index_key)];
            let index_keys = self.index.map(|index_id| IndexKeys {
                index_id,
                keys: &index_key,
            });
            let put = Put {
                key: PutKey::Given(self.keys.get(record.key)),
                value: bytes.unwrap_or(&value.bytes),
                mode: PutMode::Put,
                index_keys: index_keys.as_slice(),
                external_objects: &[],
            };
            transaction.put(STORE, &put).unwrap();
        }
        transaction.commit().unwrap();
    }
}

impl Subject for Raw {
    fn prepare(&mut self, records: &[Record], second: bool) {
        let bytes = |record: &Record| record.value(second).bytes.clone();
        self.prepared = records.iter().map(bytes).collect();
        self.put = 0;
    }

    fn put(&mut self, records: &[Record], second: bool) {
        self.write(records, second, Durability::Relaxed);
    }

    fn gets(&mut self, order: &[u32]) -> usize {
        let read = self.store.read();
        let mut found = Found::new();
        let mut bytes = 0;
        for key in order {
            let key = self.keys.get(*key);
            assert!(read.get(self.database, STORE, key, &mut found).unwrap());
            bytes += found.value().len();
        }
        bytes
    }

    fn get_all(&mut self) -> usize {
        let read = self.store.read();
        let mut cursor = read.records(self.database, STORE, CursorDirection::Next);
        let mut page = Page::new();
        let limits = PageLimits::new()
            .entries_max(usize::MAX)
            .bytes_max(usize::MAX);
        cursor.fill(&mut page, limits).unwrap();
        page.entries().map(|entry| entry.value.len()).sum()
    }

    fn index_cursor(&mut self) -> usize {
        let read = self.store.read();
        let index = self.index.unwrap();
        let mut cursor = read.index_entries(self.database, STORE, index, CursorDirection::Next);
        let mut bytes = 0;
        while cursor.next().unwrap() {
            bytes += cursor.value().len();
        }
        bytes
    }

    fn index_key_cursor(&mut self) -> usize {
        let read = self.store.read();
        let index = self.index.unwrap();
        let (all, direction) = (KeyRange::ALL, CursorDirection::Next);
        let mut cursor = read.index_keys_in(self.database, STORE, index, &all, direction);
        let mut count = 0;
        while cursor.next().unwrap() {
            std::hint::black_box(cursor.primary_key().unwrap());
            count += 1;
        }
        count
    }

    fn index_gets(&mut self, order: &[u32]) -> usize {
        let read = self.store.read();
        let mut lookup = read.index_lookup(self.database, STORE, self.index.unwrap());
        let mut found = Found::new();
        let mut bytes = 0;
        for key in order {
            let range = KeyRange::only(self.keys.get(*key));
            assert!(lookup.get(&range, &mut found).unwrap());
            bytes += found.value().len();
        }
        bytes
    }

    fn put_one(&mut self, record: &Record, strict: bool) {
        let durability = match strict {
            true => Durability::Strict,
            false => Durability::Relaxed,
        };
        self.write(std::slice::from_ref(record), strict, durability);
    }
}
