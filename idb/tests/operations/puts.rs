//! Small puts that are asked for one after the other do what each would do alone.

use std::path::Path;
use std::sync::Arc;

use larder_fixtures::random::Random;
use larder_idb::{
    Connection, ErrorKind, ErrorName, GetAllOptions, IndexParameters, Key, KeyPath, KeyRange,
    MemoryFileSystem, ObjectStoreParameters, Request, Statistics, Storage, StorageOptions,
    Transaction, TransactionMode, Value,
};

use super::{
    EXECUTORS, FixedClock, THREADS, begin, finish, numbers, open, queued_behind, storage, store,
    told_in_order,
};

/// What an index that is unique finds by its `i`.
#[derive(serde::Serialize)]
struct Row {
    i: f64,
    text: String,
}

/// One put or add into one of two object stores.
struct Asked {
    in_other: bool,
    is_add: bool,
    key: Option<Key>,
    value: Value,
}

fn asked(random: &mut Random) -> Asked {
    let key = match random.below(12) {
        0 => Some(Key::Number(f64::NAN)),
        1 => Some((&*format!("text {}", random.below(20))).into()),
        2..5 => None,
        _ => Some((random.below(300) as f64).into()),
    };
    let i = random.below(4000) as f64;
    // Some are too long to be small puts.
    let text = "x".repeat(match random.below(30) {
        0 => 5000,
        1 => 70_000,
        n => 20 * n as usize,
    });
    Asked {
        in_other: random.below(16) == 0,
        is_add: random.below(3) == 0,
        key,
        value: Value::serialize(&Row { i, text }).unwrap(),
    }
}

type Put = Result<Key, ErrorName>;

/// All asked for at once, or each waited for before the next.
fn puts(transaction: &Transaction, asked: &[Asked], at_once: bool) -> Vec<Put> {
    let stores = ["s", "t"].map(|name| store(transaction, name));
    let put = |one: &Asked| {
        let s = &stores[usize::from(one.in_other)];
        let (value, key) = (one.value.clone(), one.key.clone());
        match one.is_add {
            true => s.add(value, key).unwrap(),
            false => s.put(value, key).unwrap(),
        }
    };
    let done = |request: Request<Key>| request.wait().map_err(|error| error.name());
    match at_once {
        true => {
            let requests: Vec<_> = asked.iter().map(put).collect();
            requests.into_iter().map(done).collect()
        }
        false => asked.iter().map(|one| done(put(one))).collect(),
    }
}

fn connect(storage: &Storage) -> Connection {
    open(storage, 1, |upgrade| {
        for name in ["s", "t"] {
            let parameters = ObjectStoreParameters::new().auto_increment(true);
            let transaction = &upgrade.transaction;
            let s = transaction.create_object_store(name, parameters)?;
            let unique = IndexParameters::new().unique(true);
            s.create_index("i", KeyPath::String("i".into()), unique)?;
        }
        Ok(())
    })
    .unwrap()
}

/// All keys and values, by primary key and by index.
fn contents(connection: &Connection) -> Vec<(Key, Vec<u8>)> {
    let transaction = begin(connection, TransactionMode::ReadOnly);
    let mut contents = Vec::new();
    for name in ["s", "t"] {
        let s = store(&transaction, name);
        let i = s.index("i").unwrap();
        let (all, options) = (KeyRange::all(), GetAllOptions::default());
        let records = s.get_all(all.clone(), options).unwrap();
        let by_index = i.get_all(all, options).unwrap();
        for records in [records.wait().unwrap(), by_index.wait().unwrap()] {
            let record = |n| {
                let entry: larder_idb::Record<'_> = records.get(n).unwrap();
                (entry.key(), entry.value().to_vec())
            };
            contents.extend((0..records.len()).map(record));
        }
    }
    finish(&transaction);
    contents
}

#[test]
fn puts_at_once_store_what_puts_alone_store_and_count_as_many() {
    let seed = 20_261_123;
    let mut random = Random::new(seed);
    for round in 0..6 {
        let both = [true, false].map(|at_once| {
            let fs = Arc::new(MemoryFileSystem::new());
            let mut options =
                StorageOptions::new(fs, Path::new("idb"), Arc::new(FixedClock::default()));
            options.executor = THREADS;
            // Some transactions are written ahead of their commit.
            options.transaction_memory_bytes = if round % 2 == 0 { 30_000 } else { 16 << 20 };
            let storage = Storage::new(options).unwrap();
            (connect(&storage), storage, at_once)
        });
        for _ in 0..8 {
            let asked: Vec<_> = (0..random.below(150)).map(|_| asked(&mut random)).collect();
            let [at_once, alone] = both.each_ref().map(|(connection, _, at_once)| {
                let transaction = begin(connection, TransactionMode::ReadWrite);
                let done = puts(&transaction, &asked, *at_once);
                let statistics: Statistics = transaction.statistics();
                finish(&transaction);
                (done, statistics, contents(connection))
            });
            assert_eq!(at_once.0, alone.0, "seed {seed}, round {round}");
            assert!(at_once == alone, "seed {seed}, round {round}");
            for (one, done) in asked.iter().zip(&at_once.0) {
                let is_nan = matches!(one.key, Some(Key::Number(key)) if key.is_nan());
                assert_eq!(is_nan, *done == Err(ErrorName::DataError));
            }
        }
        for (connection, storage, _) in both {
            connection.close();
            storage.close().unwrap();
        }
    }
}

fn put(s: &larder_idb::ObjectStore, n: f64) -> Request<Key> {
    s.put(Value::serialize(&n).unwrap(), Some(n.into()))
        .unwrap()
}

fn count(connection: &Connection) -> u64 {
    let transaction = begin(connection, TransactionMode::ReadOnly);
    let s = store(&transaction, "s");
    s.count(KeyRange::all()).unwrap().wait().unwrap()
}

#[test]
fn a_put_that_fails_among_others_fails_alone_and_aborts_unless_it_was_seen() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = numbers(&storage, 0);
        for is_seen in [false, true] {
            let (before, transaction, s) = queued_behind(&connection);
            let requests = [1.0, 2.0, 3.0, f64::NAN, 4.0, 5.0].map(|n| put(&s, n));
            finish(&before);
            let last = put(&s, 6.0);
            assert_eq!(last.wait().unwrap(), 6.0.into());
            assert_eq!(transaction.statistics().records_written, 6);
            if is_seen {
                let names = requests.map(|request| request.wait().err().map(|e| e.name()));
                let failed = Some(ErrorName::DataError);
                assert_eq!(names, [None, None, None, failed, None, None]);
            }
            let ended = transaction.commit().unwrap().wait();
            assert_eq!(ended.is_ok(), is_seen);
            assert_eq!(count(&connection), if is_seen { 6 } else { 0 });
        }
    }
}

#[test]
fn a_put_that_fails_while_its_transaction_commits_aborts_and_none_behind_it_is_executed() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = numbers(&storage, 0);
        let (before, transaction, s) = queued_behind(&connection);
        let requests = [0.0, 1.0, f64::NAN, 2.0, 3.0].map(|n| put(&s, n));
        let committed = transaction.commit().unwrap();
        finish(&before);
        assert_eq!(committed.wait().unwrap_err().name(), ErrorName::DataError);
        let names = requests.map(|request| request.wait().err().map(|error| error.name()));
        let (failed, aborted) = (Some(ErrorName::DataError), Some(ErrorName::AbortError));
        assert_eq!(names, [None, None, failed, aborted, aborted]);
        assert_eq!(transaction.statistics().requests, 3);
        assert_eq!(transaction.statistics().records_written, 2);
        assert_eq!(count(&connection), 0);
    }
}

#[test]
fn puts_that_an_abort_overtakes_complete_in_order_and_so_do_those_that_succeed() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = numbers(&storage, 0);
        for is_aborted in [true, false] {
            let number = |key| match key {
                Key::Number(number) => number,
                _ => f64::NAN,
            };
            told_in_order(&storage, &connection, is_aborted, put, number);
            assert_eq!(count(&connection), if is_aborted { 0 } else { 71 });
        }
    }
}

/// One of the host's values that ends in the middle is the host's mistake, and no damage of the store's.
#[test]
fn bytes_that_do_not_decode_where_a_key_path_leads_are_no_value() {
    let whole = Value::serialize(&Row {
        i: 1.0,
        text: "x".into(),
    });
    let whole = whole.unwrap();
    let cut = || Value::from_bytes(whole.bytes()[..20].to_vec());
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage, 1, |upgrade| {
            let transaction = &upgrade.transaction;
            let key_path = KeyPath::String("i".into());
            let inline = ObjectStoreParameters::new().key_path(key_path.clone());
            transaction.create_object_store("inline", inline)?;
            let indexed = transaction.create_object_store("s", Default::default())?;
            indexed.create_index("by i", key_path, IndexParameters::default())?;
            Ok(())
        })
        .unwrap();
        let names = ["inline", "s"];
        let transaction = connection
            .transaction(names, TransactionMode::ReadWrite, Default::default())
            .unwrap();
        let at_once = store(&transaction, "inline").put(cut(), None).map(drop);
        let s = store(&transaction, "s");
        let asked = s.put(cut(), Some(1.0.into())).unwrap().wait().map(drop);
        for error in [at_once.unwrap_err(), asked.unwrap_err()] {
            assert_eq!(
                (error.name(), error.kind()),
                (ErrorName::DataCloneError, ErrorKind::Usage)
            );
            let told = error.message().starts_with("not the bytes of a value: ");
            assert!(told, "{error}");
        }
        finish(&transaction);
    }
}
