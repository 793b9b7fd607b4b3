//! A real Chromium recovers what a crash of ours leaves: transactions that have spilled into tables of their own and not committed,
//! two of them on one database, and one that has. It also finishes what closing leaves of
//! deleted databases.
#![cfg(test)]

use larder_backing_store::{
    BackingStore, Durability, FixedClock, ObjectStoreParameters, OpenOptions, Put, PutKey, PutMode,
    Scope, StorePaths, WriteOptions, WriteTransaction,
};
use larder_codec::{DatabaseId, Key, KeyPath, ObjectStoreId, Origin, RawKey};
use larder_fixtures::canonical::{databases_of, first_difference, with_large_stack};
use larder_fixtures::chromium::{self, Chromium, Store};
use larder_fixtures::{Fixture, OpenFixture, copy_open_folder};
use larder_leveldb::storage::DiskFileSystem;
use std::sync::Arc;

const FIXTURE: &str = "c156-lite";

/// Calls `law` with Chromium, the fixture and a copy of it; not where there is no Chromium.
fn with_a_copy(law: impl FnOnce(&Chromium, &Fixture, &OpenFixture) + Send + 'static) {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let fixture = larder_fixtures::get(FIXTURE);
        let opened = fixture.copy();
        law(chromium, &fixture, &opened);
    });
}

/// Opens it so that every row spills.
fn open_short_of_memory(fixture: &Fixture, opened: &OpenFixture) -> BackingStore {
    open_with(fixture, opened, |options| {
        options.transaction_memory_bytes = 0
    })
}

fn open(fixture: &Fixture, opened: &OpenFixture) -> BackingStore {
    open_with(fixture, opened, |_| {})
}

fn open_with(
    fixture: &Fixture,
    opened: &OpenFixture,
    set: impl FnOnce(&mut WriteOptions),
) -> BackingStore {
    let origin = Origin::from_url(&fixture.origin).unwrap();
    let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
    set(&mut options);
    let paths = StorePaths::of_leveldb(&opened.leveldb());
    BackingStore::open(Arc::new(DiskFileSystem::new()), paths, options).unwrap()
}

/// Databases with their object stores that have records, the one with most stores first.
fn places(store: &BackingStore) -> Vec<(DatabaseId, Vec<ObjectStoreId>)> {
    let mut places: Vec<_> = store
        .databases()
        .unwrap()
        .into_iter()
        .filter(|database| database.version.is_some())
        .map(|database| {
            let stores = database.object_stores.iter().map(|store| store.id);
            (database.id, stores.collect::<Vec<_>>())
        })
        .collect();
    places.sort_by_key(|(_, stores)| std::cmp::Reverse(stores.len()));
    places
}

fn clear(store: &BackingStore, database: DatabaseId, id: ObjectStoreId) -> WriteTransaction {
    let scope = Scope::Stores(database, [id].into());
    let mut transaction = store.begin(scope, Durability::Relaxed).unwrap();
    transaction.clear(id).unwrap();
    transaction
}

/// What Chromium makes of the store as it lies there now, and where that differs from the fixture.
fn difference(chromium: &Chromium, fixture: &Fixture, opened: &OpenFixture) -> Option<String> {
    let image = tempfile::tempdir().unwrap();
    copy_open_folder(opened.dir(), image.path());
    let found = chromium.dump(&Store::within(image.path(), &fixture.origin));
    let found = databases_of(found.unwrap());
    let expected = databases_of(fixture.expected_json());
    first_difference(&found, &expected, "databases")
}

#[test]
fn chromium_takes_back_what_our_unfinished_transactions_have_written_and_keeps_what_is_committed() {
    with_a_copy(|chromium, fixture, opened| {
        let store = open_short_of_memory(fixture, opened);
        let places = places(&store);
        let (first, stores) = &places[0];
        let (second, others) = &places[1];
        assert!(stores.len() >= 3 && !others.is_empty());

        let one = clear(&store, *first, stores[0]);
        let two = clear(&store, *first, stores[1]);
        let upgrade = Scope::VersionChange(*second);
        let mut upgrade = store.begin(upgrade, Durability::Relaxed).unwrap();
        for id in others {
            upgrade.delete_object_store(*id).unwrap();
        }
        assert_eq!(difference(chromium, fixture, opened), None);

        two.rollback();
        assert_eq!(difference(chromium, fixture, opened), None);

        one.commit().unwrap();
        let changed = difference(chromium, fixture, opened).unwrap();
        assert!(changed.contains("count"), "{changed}");
        drop(upgrade);
    });
}

/// A database of more records than closing deletes.
fn make_large(store: &BackingStore, name: &str) {
    let id = store.create_database(&name.into()).unwrap();
    let mut change = store
        .begin(Scope::VersionChange(id), Durability::Relaxed)
        .unwrap();
    let parameters = ObjectStoreParameters {
        id: Some(ObjectStoreId::MIN),
        name: "s".into(),
        key_path: KeyPath::Null,
        auto_increment: false,
    };
    change.create_object_store(&parameters).unwrap();
    change.set_version(1).unwrap();
    let mut key = Vec::new();
    for n in 0..8000_u32 {
        key.clear();
        Key::Number(f64::from(n)).encode(&mut key);
        let put = Put {
            key: PutKey::Given(RawKey::decode_exact(&key).unwrap()),
            value: b"value",
            mode: PutMode::Put,
            index_keys: &[],
            external_objects: &[],
        };
        change.put(ObjectStoreId::MIN, &put).unwrap();
    }
    change.commit().unwrap();
}

#[test]
fn chromium_finishes_what_closing_leaves_of_deleted_databases() {
    with_a_copy(|chromium, fixture, opened| {
        let store = open(fixture, opened);
        for name in ["one", "two", "three"] {
            make_large(&store, name);
        }
        store.close().unwrap();
        let store = open(fixture, opened);
        for name in ["one", "two", "three"] {
            assert!(store.delete_database(&name.into()).unwrap());
        }
        store.close().unwrap();
        let fs = Arc::new(DiskFileSystem::new());
        let paths = StorePaths::of_leveldb(&opened.leveldb());
        let left = larder_backing_store::Store::open_read_only(fs, paths, OpenOptions::default());
        assert!(!left.unwrap().recovery().finished.is_empty());
        assert_eq!(difference(chromium, fixture, opened), None);
        // Ours goes on from there, and so does Chromium again.
        let store = open(fixture, opened);
        make_large(&store, "four");
        assert!(store.delete_database(&"four".into()).unwrap());
        store.close().unwrap();
        assert_eq!(difference(chromium, fixture, opened), None);
    });
}
