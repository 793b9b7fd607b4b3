//! What the numbers say, done by one transaction on both sides.

use larder_backing_store::blob::NewExternalObject;
use larder_backing_store::{
    CursorDirection, ErrorKind, IndexParameters, ObjectStoreParameters, Put, PutKey, PutMode,
    Record, WriteTransaction,
};
use larder_codec::{IndexId, JsString, Key, KeyPath, RawKey};
use std::sync::Arc;

use super::check::{check, check_gets};
use super::cursors::OpenCursor;
use super::model::{self, Database, Mode, Store};
use super::run::{
    Step, all_index_keys, database, index_keys_of, key, range, refused, store_id, with_index_keys,
    with_range,
};
use super::support::bytes;

/// Few, so that much happens in each.
const STORES_MAX: usize = 2;
const INDEXES_MAX: usize = 3;

/// One transaction under way, and what it sees.
pub(super) struct Session {
    transaction: WriteTransaction,
    model: Database,
    /// The object stores of its scope; all, in a version change.
    scope: Option<Vec<i64>>,
    cursors: Vec<OpenCursor>,
}

impl Session {
    pub(super) fn new(
        transaction: WriteTransaction,
        scope: Option<Vec<i64>>,
        model: &Database,
    ) -> Self {
        Self {
            transaction,
            model: model.clone(),
            scope,
            cursors: Vec::new(),
        }
    }

    /// Commits, and puts what it wrote into the reference.
    pub(super) fn commit(mut self, committed: &mut Database) {
        check(&self.transaction, &self.model);
        self.transaction.commit().unwrap();
        let Some(scope) = self.scope else {
            *committed = self.model;
            return;
        };
        for id in scope {
            let store = self.model.stores.remove(&id).unwrap();
            committed.stores.insert(id, store);
        }
    }

    pub(super) fn rollback(self) {
        check(&self.transaction, &self.model);
        self.transaction.rollback();
    }

    pub(super) fn step(&mut self, step: Step) {
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

    fn is_version_change(&self) -> bool {
        self.scope.is_none()
    }

    fn pick_store(&self, n: u8) -> Option<i64> {
        let all = || self.model.stores.keys().copied().collect();
        let ids: Vec<i64> = self.scope.clone().unwrap_or_else(all);
        ids.get(usize::from(n) % ids.len().max(1)).copied()
    }

    fn pick_index(&self, store: i64, n: u8) -> Option<i64> {
        let indexes = &self.model.stores[&store].indexes;
        indexes
            .keys()
            .nth(usize::from(n) % indexes.len().max(1))
            .copied()
    }

    fn create_store(&mut self, (_, a, b, c): Step) {
        if !self.is_version_change() || self.model.stores.len() == STORES_MAX {
            return;
        }
        let name = format!("store {b}");
        let id = (a % 4 == 0).then_some(self.model.max_store + (1 << 39));
        let parameters = ObjectStoreParameters {
            id: id.map(store_id),
            name: JsString::from(&*name),
            key_path: KeyPath::Null,
            auto_increment: c % 2 == 0,
        };
        let made = self.transaction.create_object_store(&parameters).unwrap();
        self.model.max_store = id.unwrap_or(self.model.max_store + 1);
        assert_eq!(made.get(), self.model.max_store);
        let store = Store::new(name, parameters.auto_increment);
        self.model.stores.insert(self.model.max_store, store);
    }

    fn create_index(&mut self, (_, a, b, c): Step) {
        let Some(id) = self.pick_store(a).filter(|_| self.is_version_change()) else {
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
            key_path: KeyPath::String("x".into()),
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
            .records(database(), store_id(id), CursorDirection::Next);
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
        if !self.is_version_change() {
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
        let transaction = &mut self.transaction;
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

    fn put(&mut self, (n, a, b, c): Step, key: Option<Key>) {
        let Some(id) = self.pick_store(a) else {
            return;
        };
        let store = self.model.stores.get_mut(&id).unwrap();
        // Long enough that some transactions do not fit into their memory.
        let value = [&[b, c][..], &vec![n; usize::from(c)]].concat();
        let index_keys = all_index_keys(store, &value);
        let objects = objects_of(b, c);
        let external_objects: Vec<NewExternalObject> =
            objects.iter().map(|content| blob(content)).collect();
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
                external_objects: &external_objects,
            };
            self.transaction.put(store_id(id), &put)
        });
        if key.is_none() && !store.auto_increment {
            assert_eq!(put.unwrap_err().kind(), ErrorKind::Usage);
            return;
        }
        let expected = store.put(key.as_ref(), &value, mode, &index_keys, &objects);
        assert_eq!(refused(put), expected);
    }

    fn put_many(&mut self, (_, a, b, c): Step) {
        let Some(id) = self.pick_store(a) else {
            return;
        };
        let store = self.model.stores.get_mut(&id).unwrap();
        let records: Vec<(Key, Vec<u8>)> = (0..5)
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
            .map(|(key, value)| store.put(Some(key), value, Mode::Add, &[], &[]));
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
        check_gets(&self.transaction, id, store, &range);
        if let Some(index) = self.pick_index(id, step.2) {
            let index_id = IndexId::new(index).unwrap();
            let entries = &self.model.stores[&id].indexes[&index].entries;
            let mut inside = entries
                .iter()
                .filter(|entry| model::contains(&range, &entry.0));
            let transaction = &mut self.transaction;
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
            let cursor = OpenCursor::new(&self.transaction, id, index, range(step), step.2 / 3);
            self.cursors.truncate(2);
            self.cursors.push(cursor);
        }
    }

    fn move_cursor(&mut self, (_, a, b, c): Step) {
        let count = self.cursors.len().max(1);
        if let Some(cursor) = self.cursors.get_mut(usize::from(a) % count) {
            cursor.go(
                Some(&mut self.transaction),
                &self.model.stores[&cursor.store],
                (b, c),
            );
        }
    }
}

/// The contents of the blobs of a record: none for most, some of them empty.
fn objects_of(b: u8, c: u8) -> Vec<Vec<u8>> {
    let count = if b >= 160 { b % 4 } else { 0 };
    let content = |i| vec![c ^ i; usize::from((c / 4) % 40 * i)];
    (0..count).map(content).collect()
}

fn blob(content: &[u8]) -> NewExternalObject {
    NewExternalObject::Blob {
        mime_type: JsString::default(),
        content: Arc::new(content.to_vec()),
    }
}
