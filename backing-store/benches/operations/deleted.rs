//! What deleted things cost later: closing after databases were deleted, and operations on an object store whose records are
//! gone.

use super::{STORE, create_named, keys, number, open_engine, open_with, put_range, raw};
use larder_backing_store::{
    Background, BackingStore, CursorDirection, Durability, KeyRange, Maintenance, Scope,
    WriteTransaction,
};
use larder_codec::DatabaseId;
use std::ops::Bound;
use std::path::Path;
use std::time::Instant;

const RECORDS: u64 = 100_000;

pub(crate) fn run(dir: &Path) {
    for databases in [100, 400] {
        let dir = dir.join(format!("{databases}.indexeddb.leveldb"));
        closing(&dir, databases);
    }
    emptied(&dir.join("emptied.indexeddb.leveldb"));
}

#[expect(
    clippy::disallowed_methods,
    reason = "what is measured waits for the disk"
)]
fn wall_ms(work: impl FnOnce()) -> f64 {
    let before = Instant::now();
    work();
    before.elapsed().as_secs_f64() * 1000.0
}

/// Databases of ten records each, deleted.
fn closing(dir: &Path, databases: usize) {
    let store = open_with(dir, Background::Thread);
    for n in 0..databases {
        let place = create_named(&store, &format!("d{n}"));
        put_range(&store, place, &keys(10));
    }
    store.close().unwrap();
    let store = open_with(dir, Background::Thread);
    let deleting = wall_ms(|| {
        for n in 0..databases {
            store
                .delete_database(&format!("d{n}").as_str().into())
                .unwrap();
        }
    });
    let closing = wall_ms(|| store.close().unwrap());
    println!("{databases} databases: deleted in {deleting:.0} ms, closed in {closing:.0} ms");
}

/// An object store whose records were deleted one by one, but for the last.
fn emptied(dir: &Path) {
    let store = open_with(dir, Background::Thread);
    let place = create_named(&store, "e");
    let all = keys(RECORDS);
    put_range(&store, place, &all);
    for keys in all[..all.len() - 1].chunks(1000) {
        delete_each(&store, place.0, keys);
    }
    for round in 1..=3 {
        while store.maintain().unwrap() == Maintenance::Step {}
        let cursor = wall_ms(|| {
            let mut cursor = store.read().records(place.0, STORE, CursorDirection::Next);
            assert!(cursor.next().unwrap());
        });
        let range = wall_ms(|| {
            let key = number(RECORDS / 2);
            let range = KeyRange {
                lower: Bound::Included(raw(&key)),
                upper: Bound::Unbounded,
            };
            let mut transaction = begin(&store, place.0);
            transaction.delete(STORE, &range).unwrap();
            transaction.commit().unwrap();
        });
        let clear = wall_ms(|| {
            let mut transaction = begin(&store, place.0);
            transaction.clear(STORE).unwrap();
            transaction.commit().unwrap();
        });
        put_range(&store, place, &all[all.len() - 1..]);
        println!(
            "after 100,000 deletes, {round}: cursor {cursor:.2} ms, range delete {range:.2}, clear {clear:.2}"
        );
    }
    store.close().unwrap();
    let db = open_engine(dir);
    let files = db.files();
    let kilobytes = files.iter().filter_map(|file| file.len_bytes).sum::<u64>() / 1000;
    println!("closed: {} tables, {kilobytes} KB", files.len());
}

fn begin(store: &BackingStore, database_id: DatabaseId) -> WriteTransaction {
    let scope = Scope::Stores(database_id, [STORE].into());
    store.begin(scope, Durability::Relaxed).unwrap()
}

fn delete_each(store: &BackingStore, database_id: DatabaseId, keys: &[(Vec<u8>, Vec<u8>)]) {
    let mut transaction = begin(store, database_id);
    for (key, _) in keys {
        let key = raw(key);
        let range = KeyRange {
            lower: Bound::Included(key),
            upper: Bound::Included(key),
        };
        transaction.delete(STORE, &range).unwrap();
    }
    transaction.commit().unwrap();
}
