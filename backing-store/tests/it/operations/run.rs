//! Does on a store and on the reference what the numbers say, and compares.

use std::ops::Bound;

use larder_backing_store::{
    BackingStore, Direction, Durability, ErrorKind, IndexKeys, IndexParameters, KeyRange,
    ObjectStoreParameters, Put, PutKey, PutMode, ReadTransaction, Reads, Record, Scope,
    WriteTransaction,
};
use larder_codec::{DatabaseId, IdbKey, IdbKeyPath, IndexId, JsString, ObjectStoreId, RawKey};
use larder_leveldb::storage::MemoryFileSystem;

use super::cursors::{OpenCursor, check_all_cursors};
use super::model::{self, Database, Mode, Range, Refused, Store};
use super::{bytes, open};

/// What is done, and to what.
pub(super) type Step = (u8, u8, u8, u8);

/// Above 2^32, as object store ids now and then.
const DATABASE: i64 = 1 << 35;

/// Few, so that much happens in each.
const STORES_MAX: usize = 2;
const INDEXES_MAX: usize = 3;

pub(super) fn database() -> DatabaseId {
    DatabaseId::new(DATABASE).unwrap()
}

/// Both sides.
pub(super) struct Run {
    fs: MemoryFileSystem,
    store: Option<BackingStore>,
    model: Database,
}

/// A few keys of every type, among them pairs that are equal and differ in bytes.
pub(super) fn key(n: u8) -> IdbKey {
    let array = |elements| IdbKey::array(elements).unwrap();
    match n % 20 {
        0 => IdbKey::Number(-0.0),
        1 => IdbKey::Number(0.0),
        2 => IdbKey::Number(1.5),
        3 => IdbKey::Number(9_007_199_254_740_992.0),
        4 => IdbKey::Number(f64::INFINITY),
        5 => IdbKey::Number(-7.0),
        6 => IdbKey::Date(0.0),
        7 => IdbKey::Date(-1e12),
        8 => "".into(),
        9 => "a".into(),
        10 => "ab".into(),
        11 => IdbKey::Binary(vec![]),
        12 => IdbKey::Binary(vec![0xff]),
        13 => array(vec![]),
        14 => array(vec![IdbKey::Number(0.0)]),
        15 => array(vec![IdbKey::Number(-0.0), "x".into()]),
        n => IdbKey::Number(f64::from(n)),
    }
}

/// Keys that a record with this value has in an index: none, one, or three.
fn index_keys_of(index: i64, value: &[u8]) -> Vec<IdbKey> {
    let n = value
        .first()
        .copied()
        .unwrap_or(0)
        .wrapping_add(index as u8);
    let first = n / 3 % 7;
    match n % 3 {
        0 => vec![],
        1 => vec![key(first)],
        // Three that are neighbours, none of them equal.
        _ => (0..3).map(|i| key(8 + (first + i) % 7)).collect(),
    }
}

fn range(step: Step) -> Range {
    let (mut a, mut b) = (key(step.1), key(step.2));
    if a > b {
        std::mem::swap(&mut a, &mut b);
    }
    match step.3 % 8 {
        0 => (Bound::Included(a.clone()), Bound::Included(a)),
        1 => (Bound::Included(a), Bound::Included(b)),
        2 => (Bound::Excluded(a), Bound::Included(b)),
        3 => (Bound::Included(a), Bound::Excluded(b)),
        4 => (Bound::Excluded(a), Bound::Excluded(b)),
        5 => (Bound::Unbounded, Bound::Excluded(b)),
        6 => (Bound::Excluded(a), Bound::Unbounded),
        _ => (Bound::Unbounded, Bound::Unbounded),
    }
}

fn raw(bound: &Bound<Vec<u8>>) -> Bound<RawKey<'_>> {
    let key = |bytes| RawKey::decode_exact(bytes).unwrap();
    bound.as_ref().map(|bytes: &Vec<u8>| key(bytes))
}

/// Calls `work` with the range in bytes.
pub(super) fn with_range<T>(range: &Range, work: impl FnOnce(&KeyRange<'_>) -> T) -> T {
    let bytes = |bound: &Bound<IdbKey>| bound.as_ref().map(bytes);
    let (lower, upper) = (bytes(&range.0), bytes(&range.1));
    let range = KeyRange {
        lower: raw(&lower),
        upper: raw(&upper),
    };
    work(&range)
}

/// Calls `work` with index keys in bytes.
fn with_index_keys<T>(index_keys: &[(i64, IdbKey)], work: impl FnOnce(&[IndexKeys<'_>]) -> T) -> T {
    let encoded: Vec<(i64, Vec<u8>)> = index_keys
        .iter()
        .map(|(id, key)| (*id, bytes(key)))
        .collect();
    let keys: Vec<(i64, RawKey<'_>)> = encoded
        .iter()
        .map(|(id, key)| (*id, RawKey::decode_exact(key).unwrap()))
        .collect();
    let raw: Vec<RawKey<'_>> = keys.iter().map(|(_, key)| *key).collect();
    let mut lists = Vec::new();
    let mut from = 0;
    while from < keys.len() {
        let id = keys[from].0;
        let len = keys[from..].iter().take_while(|(of, _)| *of == id).count();
        lists.push(IndexKeys {
            index_id: IndexId::new(id).unwrap(),
            keys: &raw[from..from + len],
        });
        from += len;
    }
    work(&lists)
}

fn all_index_keys(store: &Store, value: &[u8]) -> Vec<(i64, IdbKey)> {
    let keys = |id: &i64| {
        let id = *id;
        index_keys_of(id, value)
            .into_iter()
            .map(move |key| (id, key))
    };
    store.indexes.keys().flat_map(keys).collect()
}

fn refused<T: std::fmt::Debug>(result: larder_backing_store::Result<T>) -> Result<T, Refused> {
    result.map_err(|error| {
        assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
        Refused
    })
}

fn store_id(id: i64) -> ObjectStoreId {
    ObjectStoreId::new(id).unwrap()
}

impl Run {
    pub(super) fn new() -> Self {
        let fs = MemoryFileSystem::new();
        Self {
            store: Some(open(&fs)),
            fs,
            model: Database::default(),
        }
    }

    pub(super) fn transaction(&mut self, steps: &[Step]) {
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
            return;
        };
        if first.1 % 4 == 0 {
            self.store.take().unwrap().close().unwrap();
            self.store = Some(open(&self.fs));
        }
        let is_version_change = self.model.stores.is_empty() || first.0 % 3 == 0;
        let ids = self.model.stores.keys().map(|id| store_id(*id));
        let scope = if is_version_change {
            Scope::VersionChange(database())
        } else {
            Scope::Stores(database(), ids.collect())
        };
        let store = self.store.as_ref().unwrap();
        let before = store.read();
        let saved = self.model.clone();
        let mut transaction = store.begin(scope.clone(), Durability::Relaxed).unwrap();
        let mut session = Session {
            transaction: &mut transaction,
            model: &mut self.model,
            is_version_change,
            cursors: Vec::new(),
        };
        for step in steps {
            session.step(*step);
        }
        drop(session);
        check(&transaction, &self.model);
        if last.3 % 4 == 0 {
            transaction.rollback().unwrap();
            self.model = saved.clone();
        } else {
            transaction.commit().unwrap();
        }
        let after: ReadTransaction = self.store.as_ref().unwrap().read();
        check(&after, &self.model);
        check_all_cursors(&after, &self.model);
        check(&before, &saved);
    }
}

/// One transaction under way.
struct Session<'a> {
    transaction: &'a mut WriteTransaction,
    model: &'a mut Database,
    is_version_change: bool,
    cursors: Vec<OpenCursor>,
}

impl Session<'_> {
    fn step(&mut self, step: Step) {
        match step.0 % 16 {
            0 => self.create_store(step),
            1 => self.create_index(step),
            2 => self.change_metadata(step),
            3..=6 => self.put(step, Some(key(step.2))),
            7 => self.put(step, None),
            8 => self.put_many(step),
            9 => self.delete(step),
            10 => self.clear(step),
            11 => self.get(step),
            12 => self.open_cursor(step),
            _ => self.move_cursor(step),
        }
    }

    fn pick_store(&self, n: u8) -> Option<i64> {
        let count = self.model.stores.len().max(1);
        self.model
            .stores
            .keys()
            .nth(usize::from(n) % count)
            .copied()
    }

    fn pick_index(&self, store: i64, n: u8) -> Option<i64> {
        let indexes = &self.model.stores[&store].indexes;
        indexes
            .keys()
            .nth(usize::from(n) % indexes.len().max(1))
            .copied()
    }

    fn create_store(&mut self, (_, a, b, c): Step) {
        if !self.is_version_change || self.model.stores.len() == STORES_MAX {
            return;
        }
        let name = format!("store {b}");
        let id = (a % 4 == 0).then_some(self.model.max_store + (1 << 39));
        let parameters = ObjectStoreParameters {
            id: id.map(store_id),
            name: JsString::from(&*name),
            key_path: IdbKeyPath::Null,
            auto_increment: c % 2 == 0,
        };
        let made = self.transaction.create_object_store(&parameters).unwrap();
        self.model.max_store = id.unwrap_or(self.model.max_store + 1);
        assert_eq!(made.get(), self.model.max_store);
        let store = Store::new(name, parameters.auto_increment);
        self.model.stores.insert(self.model.max_store, store);
    }

    fn create_index(&mut self, (_, a, b, c): Step) {
        let Some(id) = self.pick_store(a).filter(|_| self.is_version_change) else {
            return;
        };
        let store = self.model.stores.get_mut(&id).unwrap();
        if store.indexes.len() == INDEXES_MAX {
            return;
        }
        let given = (b % 4 == 0).then_some(store.max_index + (1 << 20));
        let name = format!("index {b}");
        let parameters = IndexParameters {
            id: given.and_then(IndexId::new),
            name: JsString::from(&*name),
            key_path: IdbKeyPath::String("x".into()),
            unique: c % 2 == 0,
            multi_entry: true,
        };
        let made = self
            .transaction
            .create_index(store_id(id), &parameters)
            .unwrap();
        store.max_index = given.unwrap_or(store.max_index + 1);
        assert_eq!(made.get(), store.max_index);
        let index = model::Index {
            name,
            unique: parameters.unique,
            entries: Default::default(),
        };
        store.indexes.insert(store.max_index, index);
        self.fill_index(id, made.get());
    }

    fn fill_index(&mut self, id: i64, index: i64) {
        let store = self.model.stores.get_mut(&id).unwrap();
        let mut records = self
            .transaction
            .records(database(), store_id(id), Direction::Next);
        let mut count = 0;
        while records.next().unwrap() {
            count += 1;
            let primary_key = records.primary_key().unwrap();
            let keys: Vec<_> = index_keys_of(index, records.value().unwrap())
                .into_iter()
                .map(|key| (index, key))
                .collect();
            let expected = store.check_unique(&primary_key.to_key(), &keys);
            if expected.is_ok() {
                store.insert_index_keys(&primary_key.to_key(), &keys);
            }
            let put = with_index_keys(&keys, |keys| {
                self.transaction
                    .put_index_keys(store_id(id), primary_key, keys)
            });
            assert_eq!(refused(put), expected);
        }
        assert_eq!(count, store.records.len());
    }

    fn change_metadata(&mut self, (_, a, b, c): Step) {
        if !self.is_version_change {
            assert!(self.transaction.set_version(7).is_err());
            return;
        }
        if a % 5 == 0 {
            let version = self.model.version.unwrap_or(0) + 1 + i64::from(b) * 1000;
            self.transaction.set_version(version).unwrap();
            self.model.version = Some(version);
            return;
        }
        let Some(id) = self.pick_store(b) else {
            return;
        };
        let index = self.pick_index(id, c);
        let transaction = &mut *self.transaction;
        let name = format!("renamed {c}");
        match (a % 5, index) {
            (1, _) => {
                let js_name = JsString::from(&*name);
                transaction
                    .rename_object_store(store_id(id), &js_name)
                    .unwrap();
                self.model.stores.get_mut(&id).unwrap().name = name;
            }
            (2, _) if c % 2 == 0 => {
                transaction.delete_object_store(store_id(id)).unwrap();
                self.model.stores.remove(&id);
                self.cursors.clear();
            }
            (3, Some(index)) => {
                let (index_id, js_name) = (IndexId::new(index).unwrap(), JsString::from(&*name));
                transaction
                    .rename_index(store_id(id), index_id, &js_name)
                    .unwrap();
                let store = self.model.stores.get_mut(&id).unwrap();
                store.indexes.get_mut(&index).unwrap().name = name;
            }
            (4, Some(index)) if c % 2 == 0 => {
                let index_id = IndexId::new(index).unwrap();
                transaction.delete_index(store_id(id), index_id).unwrap();
                let store = self.model.stores.get_mut(&id).unwrap();
                store.indexes.remove(&index);
                self.cursors.clear();
            }
            _ => {}
        }
    }

    fn put(&mut self, (n, a, b, c): Step, key: Option<IdbKey>) {
        let Some(id) = self.pick_store(a) else {
            return;
        };
        let store = self.model.stores.get_mut(&id).unwrap();
        // Long enough that some transactions do not fit into their memory.
        let value = [&[b, c][..], &vec![n; usize::from(c)]].concat();
        let index_keys = all_index_keys(store, &value);
        let mode = match c % 4 {
            0 => Mode::Add,
            1 => Mode::Update,
            _ => Mode::Put,
        };
        let key_bytes = key.as_ref().map(bytes);
        let put = with_index_keys(&index_keys, |index_keys| {
            let raw = key_bytes
                .as_ref()
                .map(|key| RawKey::decode_exact(key).unwrap());
            let put = Put {
                key: raw.map_or(PutKey::Generated, PutKey::Given),
                value: &value,
                mode: match mode {
                    Mode::Add => PutMode::Add,
                    Mode::Put => PutMode::Put,
                    Mode::Update => PutMode::CursorUpdate,
                },
                index_keys,
                external_objects: &[],
            };
            self.transaction.put(store_id(id), &put)
        });
        if key.is_none() && !store.auto_increment {
            assert_eq!(put.unwrap_err().kind(), ErrorKind::Usage);
            return;
        }
        let expected = store.put(key.as_ref(), &value, mode, &index_keys);
        assert_eq!(refused(put), expected);
    }

    fn put_many(&mut self, (_, a, b, c): Step) {
        let Some(id) = self.pick_store(a) else {
            return;
        };
        let store = self.model.stores.get_mut(&id).unwrap();
        let records: Vec<(IdbKey, Vec<u8>)> = (0..5)
            .map(|i| (key(b.wrapping_add(i)), vec![c.wrapping_mul(i)]))
            .collect();
        let keys: Vec<Vec<u8>> = records.iter().map(|(key, _)| bytes(key)).collect();
        let puts = records.iter().zip(&keys).map(|((_, value), key)| Put {
            key: PutKey::Given(RawKey::decode_exact(key).unwrap()),
            value,
            mode: PutMode::Add,
            index_keys: &[],
            external_objects: &[],
        });
        let outcomes = self.transaction.put_many(store_id(id), puts).unwrap();
        let expected = records
            .iter()
            .map(|(key, value)| store.put(Some(key), value, Mode::Add, &[]));
        let outcomes: Vec<_> = outcomes.into_iter().map(refused).collect();
        assert_eq!(outcomes, expected.collect::<Vec<_>>());
    }

    fn delete(&mut self, step: Step) {
        if let Some(id) = self.pick_store(step.1) {
            let range = range(step);
            with_range(&range, |range| self.transaction.delete(store_id(id), range)).unwrap();
            self.model.stores.get_mut(&id).unwrap().delete(&range);
        }
    }

    fn clear(&mut self, (_, a, _, c): Step) {
        if let Some(id) = self.pick_store(a).filter(|_| c % 4 == 0) {
            self.transaction.clear(store_id(id)).unwrap();
            self.model.stores.get_mut(&id).unwrap().clear();
        }
    }

    fn get(&mut self, step: Step) {
        let Some(id) = self.pick_store(step.1) else {
            return;
        };
        let (store, range, mut record) = (&self.model.stores[&id], range(step), Record::new());
        check_gets(self.transaction, id, store, &range);
        if let Some(index) = self.pick_index(id, step.2) {
            let index_id = IndexId::new(index).unwrap();
            let entries = &self.model.stores[&id].indexes[&index].entries;
            let mut inside = entries
                .iter()
                .filter(|entry| model::contains(&range, &entry.0));
            let transaction = &mut *self.transaction;
            let found = with_range(&range, |range| {
                transaction.get_by_index(store_id(id), index_id, range, &mut record)
            });
            assert!(found.unwrap() == inside.clone().next().is_some());
            if let Some((_, primary_key)) = inside.clone().next() {
                assert_eq!(record.primary_key().unwrap().to_key(), *primary_key);
                assert_eq!(record.value(), store.records[primary_key].value);
            }
            let count = with_range(&range, |range| {
                transaction.count_by_index(store_id(id), index_id, range)
            });
            assert_eq!(count.unwrap(), inside.by_ref().count() as u64);
        }
    }

    fn open_cursor(&mut self, step: Step) {
        if let Some(id) = self.pick_store(step.1) {
            let index = self
                .pick_index(id, step.2)
                .filter(|_| !step.3.is_multiple_of(4));
            let cursor = OpenCursor::new(self.transaction, id, index, range(step), step.2 / 3);
            self.cursors.truncate(2);
            self.cursors.push(cursor);
        }
    }

    fn move_cursor(&mut self, (_, a, b, c): Step) {
        let count = self.cursors.len().max(1);
        if let Some(cursor) = self.cursors.get_mut(usize::from(a) % count) {
            cursor.go(self.transaction, &self.model.stores[&cursor.store], (b, c));
        }
    }
}

/// Reads of records by key and range.
fn check_gets(reads: &Reads, id: i64, store: &Store, range: &Range) {
    let mut record = Record::new();
    let mut inside = store
        .records
        .iter()
        .filter(|(key, _)| model::contains(range, key));
    let first = inside.clone().next();
    let found = with_range(range, |range| {
        reads.get_in(database(), store_id(id), range, &mut record)
    });
    assert_eq!(found.unwrap(), first.is_some());
    if let Some((key, expected)) = first {
        assert_eq!(record.primary_key().unwrap().to_key(), *key);
        assert_eq!(record.value(), expected.value);
        assert_eq!(record.version().unwrap().get(), expected.version);
    }
    let count = with_range(range, |range| reads.count(database(), store_id(id), range));
    assert_eq!(count.unwrap(), inside.by_ref().count() as u64);
}

/// Everything that is there.
fn check(reads: &Reads, model: &Database) {
    let mut problems = Vec::new();
    let object_stores = reads.object_stores(database(), &mut problems).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(object_stores.len(), model.stores.len());
    for (found, (id, expected)) in object_stores.iter().zip(&model.stores) {
        assert_eq!(found.id.get(), *id);
        assert_eq!(found.name, *expected.name);
        assert_eq!(found.auto_increment, expected.auto_increment);
        let generator = reads.key_generator(database(), found.id).unwrap();
        assert_eq!(generator, expected.generator);
        let indexes = found.indexes.iter().map(|index| {
            let name = String::from_utf16(index.name.units()).unwrap();
            (index.id.get(), name, index.unique, index.multi_entry)
        });
        let expected_indexes = expected
            .indexes
            .iter()
            .map(|(id, index)| (*id, index.name.clone(), index.unique, true));
        assert!(indexes.eq(expected_indexes));
        let whole = (Bound::Unbounded, Bound::Unbounded);
        check_gets(reads, *id, expected, &whole);
        for n in 0..20 {
            let only = (Bound::Included(key(n)), Bound::Included(key(n)));
            check_gets(reads, *id, expected, &only);
        }
    }
    let version = reads.version(database(), &mut Vec::new()).unwrap();
    assert_eq!(version, model.version);
}
