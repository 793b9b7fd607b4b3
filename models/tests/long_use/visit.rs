//! What a thread of the host does: it opens a database, makes some transactions, and closes it; or deletes it.

use std::ops::Bound;
use std::sync::atomic::Ordering;
use std::time::Instant;

use larder_fixtures::random::Random;
use larder_idb::{
    Connection, CursorDirection, GetAllOptions, JsString, Key, KeyRange, ObjectStore, Storage,
    Transaction, TransactionDurability, TransactionMode, TransactionOptions,
};

use crate::model::{Database, GROUPS, INDEX, KEYS, Model, Row, Rows, STORES};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    Time(Instant),
    Visits(u64),
}

/// Visits databases until it is time.
pub(crate) fn visit(storage: &Storage, model: &Model, mut random: Random, until: Until) {
    for visits in 0.. {
        match until {
            Until::Time(time) if Instant::now() >= time => return,
            Until::Visits(count) if visits >= count => return,
            _ => {}
        }
        let database = &model.databases[random.index(model.databases.len())];
        if random.one_in(25) {
            delete(storage, model, database);
        } else {
            use_(storage, model, database, &mut random);
        }
    }
}

/// Deletes it, if no other thread is using it.
fn delete(storage: &Storage, model: &Model, database: &Database) {
    let Ok(mut version) = database.version.try_write() else {
        return;
    };
    let factory = storage.factory(&database.origin);
    let was = factory
        .delete_database(&database.name)
        .done()
        .wait()
        .unwrap();
    assert_eq!(was, *version);
    *version = 0;
    for store in 0..STORES.len() {
        database.rows(store).clear();
    }
    model.deleted.fetch_add(1, Ordering::Relaxed);
}

fn use_(storage: &Storage, model: &Model, database: &Database, random: &mut Random) {
    let mut version = database.version.read().unwrap();
    if *version == 0 || random.one_in(10) {
        drop(version);
        let Ok(mut changed) = database.version.try_write() else {
            return;
        };
        *changed += 1;
        database.connect(storage, Some(*changed)).close();
        model.upgraded.fetch_add(1, Ordering::Relaxed);
        drop(changed);
        version = database.version.read().unwrap();
    }
    if *version == 0 {
        return;
    }
    let connection = database.connect(storage, Some(*version));
    for _ in 0..1 + random.below(12) {
        let store = random.index(STORES.len());
        if random.one_in(3) {
            read(&connection, database, store, random);
            model.read.fetch_add(1, Ordering::Relaxed);
        } else if write(&connection, database, store, random) {
            model.committed.fetch_add(1, Ordering::Relaxed);
        } else {
            model.aborted.fetch_add(1, Ordering::Relaxed);
        }
    }
    connection.close();
}

fn begin(
    connection: &Connection,
    store: usize,
    mode: TransactionMode,
    is_strict: bool,
) -> (Transaction, ObjectStore) {
    let hint = match is_strict {
        true => TransactionDurability::Strict,
        false => TransactionDurability::Relaxed,
    };
    let name = JsString::from(STORES[store]);
    let scope = std::slice::from_ref(&name);
    let options = TransactionOptions::new().durability(hint);
    let transaction = connection.transaction(scope, mode, options).unwrap();
    let handle = transaction.object_store(&name).unwrap();
    (transaction, handle)
}

fn number(n: u64) -> Key {
    Key::from(n as f64)
}

/// From one key up to another, both in it.
fn keys(random: &mut Random) -> (u64, u64) {
    let from = random.below(KEYS);
    (from, from + random.below(KEYS / 8))
}

fn range(from: u64, to: u64) -> KeyRange {
    KeyRange::bound(number(from), number(to), false, false).unwrap()
}

/// Writes some rows; whether it commits.
fn write(connection: &Connection, database: &Database, store: usize, random: &mut Random) -> bool {
    let is_strict = random.one_in(8);
    let (transaction, handle) = begin(connection, store, TransactionMode::ReadWrite, is_strict);
    // Once this is answered the transaction is active, and no other is in this store.
    let count = handle.count(KeyRange::all()).unwrap().wait().unwrap();
    let mut rows: Rows = database.rows(store).clone();
    assert_eq!(count, rows.len() as u64);
    for _ in 0..1 + random.below(10) {
        change(&handle, &mut rows, random);
    }
    check_range(&handle, &rows, random);
    if random.one_in(7) {
        transaction.abort(None).unwrap();
        return false;
    }
    let is_long = random.one_in(30);
    if is_long {
        // More than a transaction keeps in memory.
        for key in 0..KEYS {
            let row = Row::new(random);
            handle.put(row.value(), Some(number(key))).unwrap().detach();
            rows.insert(key, row);
        }
        if random.one_in(4) {
            transaction.abort(None).unwrap();
            return false;
        }
        let some = handle.get(number(random.below(KEYS))).unwrap().wait();
        assert!(some.unwrap().is_some());
    }
    *database.rows(store) = rows;
    transaction.commit().unwrap().wait().unwrap();
    true
}

fn change(handle: &ObjectStore, rows: &mut Rows, random: &mut Random) {
    match random.below(60) {
        0 => {
            handle.clear().unwrap().detach();
            rows.clear();
        }
        1..=3 => {
            let (from, to) = keys(random);
            handle.delete(range(from, to)).unwrap().detach();
            rows.retain(|key, _| !(from..=to).contains(key));
        }
        4..=10 => {
            let key = random.below(KEYS);
            handle.delete(KeyRange::only(number(key))).unwrap().detach();
            rows.remove(&key);
        }
        _ => {
            let (key, row) = (random.below(KEYS), Row::new(random));
            handle.put(row.value(), Some(number(key))).unwrap().detach();
            rows.insert(key, row);
        }
    }
}

/// A reading transaction.
fn read(connection: &Connection, database: &Database, store: usize, random: &mut Random) {
    let (_transaction, handle) = begin(connection, store, TransactionMode::ReadOnly, false);
    let count = handle.count(KeyRange::all()).unwrap().wait().unwrap();
    let rows: Rows = database.rows(store).clone();
    assert_eq!(count, rows.len() as u64);
    for _ in 0..1 + random.below(4) {
        match random.below(4) {
            0 => check_range(&handle, &rows, random),
            1 => check_group(&handle, &rows, random),
            2 => check_cursor(&handle, &rows, random),
            _ => {
                let key = random.below(KEYS);
                let found = handle.get_key(number(key)).unwrap().wait().unwrap();
                assert_eq!(found.is_some(), rows.contains_key(&key));
            }
        }
    }
}

fn check_range(handle: &ObjectStore, rows: &Rows, random: &mut Random) {
    let (from, to) = keys(random);
    let records = handle.get_all(range(from, to), GetAllOptions::default());
    let records = records.unwrap().wait().unwrap();
    let found: Rows = records.iter().map(|entry| Row::read(&entry)).collect();
    let wanted = rows.range(from..=to).map(|(key, row)| (*key, *row));
    assert!(
        found == wanted.collect(),
        "{from}..={to}: {found:?} of {rows:?}"
    );
}

fn check_group(handle: &ObjectStore, rows: &Rows, random: &mut Random) {
    let group = random.below(GROUPS);
    let index = handle.index(INDEX).unwrap();
    let records = index.get_all(KeyRange::only(number(group)), GetAllOptions::default());
    let records = records.unwrap().wait().unwrap();
    let found: Vec<(u64, Row)> = records.iter().map(|entry| Row::read(&entry)).collect();
    let wanted = rows.iter().filter(|(_, row)| row.group == group);
    let wanted: Vec<(u64, Row)> = wanted.map(|(key, row)| (*key, *row)).collect();
    assert!(
        found == wanted,
        "group {group}: {found:?}, wanted {wanted:?}"
    );
}

/// Up to thirty steps from somewhere, backwards.
fn check_cursor(handle: &ObjectStore, rows: &Rows, random: &mut Random) {
    let from = random.below(KEYS);
    let below = KeyRange::upper_bound(number(from), true);
    let cursor = handle.open_cursor(below, CursorDirection::Prev);
    let mut cursor = cursor.unwrap().wait().unwrap();
    let below = (Bound::Unbounded, Bound::Excluded(from));
    let mut wanted = rows.range(below).rev();
    for _ in 0..30 {
        let (found, wanted) = (cursor.as_ref(), wanted.next());
        let found = found.map(|cursor| Row::read(&cursor.record()));
        assert_eq!(found, wanted.map(|(key, row)| (*key, *row)));
        let Some(at) = cursor else { return };
        cursor = at.next().unwrap().wait().unwrap();
    }
}
