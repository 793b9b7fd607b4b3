//! Gets that are asked for one after the other find what each would find alone.

use std::path::Path;
use std::sync::Arc;

use larder_fixtures::random::Random;
use larder_idb::{
    Connection, ErrorName, Executor, IndexParameters, Key, KeyPath, MemoryFileSystem, ObjectStore,
    ObjectStoreParameters, Request, Statistics, Storage, StorageOptions, StoredValue, Transaction,
    TransactionMode, Value,
};

use super::{
    DRIVEN, EXECUTORS, FixedClock, THREADS, begin, finish, numbers, open, queued_behind, storage,
    store, told_in_order,
};

/// What an index finds by its `i`.
#[derive(serde::Serialize)]
struct Row {
    i: f64,
    text: String,
}

/// Numbers and others, both zeros among them.
fn key(n: u64) -> Key {
    match n % 23 {
        0 => 0.0.into(),
        1 => (-0.0).into(),
        2 => (&*format!("text {}", n % 90)).into(),
        3 => Key::array(vec![((n % 5) as f64).into(), 0.0.into()]).unwrap(),
        _ => (n as f64 - 100.0).into(),
    }
}

/// A value of any length. Some values have no key for the index.
fn value(random: &mut Random) -> Value {
    let i = random.below(60) as f64 - 10.0;
    let len = match random.below(8) {
        0 => 0,
        1 => 3000,
        2 => 300,
        3 if random.below(9) == 0 => 70_000,
        n => 9 * n as usize,
    };
    let text = letters(random, len);
    match random.below(9) {
        0 => Value::serialize(&text).unwrap(),
        _ => Value::serialize(&Row { i, text }).unwrap(),
    }
}

/// Letters that do not compress: only of tables of some size gets are read together that are not in one run.
fn letters(random: &mut Random, len: usize) -> String {
    let letter = |_| char::from(b'!' + random.below(90) as u8);
    (0..len).map(letter).collect()
}

type Found = Result<Option<Vec<u8>>, ErrorName>;

/// Gets from the object store, or from the index: all asked for at once, or each waited for before the next.
fn gets(transaction: &Transaction, asked: &[(bool, Key)], at_once: bool) -> Vec<Found> {
    let s = store(transaction, "s");
    let i = s.index("i").unwrap();
    let get = |(by_index, key): &(bool, Key)| match by_index {
        false => s.get(key.clone()).unwrap(),
        true => i.get(key.clone()).unwrap(),
    };
    let found = |request: Request<Option<StoredValue>>| match request.wait() {
        Ok(found) => Ok(found.map(|value| value.bytes().to_vec())),
        Err(error) => Err(error.name()),
    };
    match at_once {
        true => {
            let requests: Vec<_> = asked.iter().map(get).collect();
            requests.into_iter().map(found).collect()
        }
        false => asked.iter().map(|one| found(get(one))).collect(),
    }
}

/// Runs of gets from one of both, so that some are executed together.
fn asked(random: &mut Random) -> Vec<(bool, Key)> {
    let mut asked = Vec::new();
    for _ in 0..random.below(12) + 1 {
        let by_index = random.below(3) == 0;
        // More than are read together at first, where there are tables.
        let count = match random.below(8) {
            0 => 400,
            _ => random.below(50),
        };
        for _ in 0..count {
            let key = match random.below(40) {
                0 => Key::Number(f64::NAN),
                _ if by_index => (random.below(70) as f64 - 12.0).into(),
                _ => key(random.below(300)),
            };
            asked.push((by_index, key));
        }
    }
    asked
}

fn on(fs: &Arc<MemoryFileSystem>, executor: Executor, write_buffer_bytes: usize) -> Storage {
    let mut options = StorageOptions::new(
        fs.clone(),
        Path::new("idb"),
        Arc::new(FixedClock::default()),
    );
    options.executor = executor;
    options.write_buffer_bytes = write_buffer_bytes;
    Storage::new(options).unwrap()
}

fn connect(storage: &Storage) -> Connection {
    open(storage, 1, |upgrade| {
        let parameters = ObjectStoreParameters::default();
        let s = upgrade.transaction.create_object_store("s", parameters)?;
        let path = KeyPath::String("i".into());
        s.create_index("i", path, IndexParameters::default())?;
        Ok(())
    })
    .unwrap()
}

fn change(s: &ObjectStore, random: &mut Random, count: u64) {
    for _ in 0..count {
        let n = random.below(300);
        match random.below(6) {
            0 => s.delete(key(n)).unwrap().detach(),
            _ => s.put(value(random), Some(key(n))).unwrap().detach(),
        }
    }
}

#[test]
fn gets_at_once_find_what_gets_alone_find_and_count_as_many() {
    let seed = 20_261_122;
    let mut random = Random::new(seed);
    let mut fs = Arc::new(MemoryFileSystem::new());
    for round in 0..16 {
        // First everything lies in one memtable, then in tables, too.
        let is_new = round % 4 == 0;
        if is_new {
            fs = Arc::new(MemoryFileSystem::new());
        }
        let write_buffer_bytes = if is_new { 16 << 20 } else { 200_000 };
        let executor = if round % 8 == 7 { DRIVEN } else { THREADS };
        let storage = on(&fs, executor, write_buffer_bytes);
        let connection = connect(&storage);
        for _ in 0..6 {
            let transaction = begin(&connection, TransactionMode::ReadWrite);
            change(&store(&transaction, "s"), &mut random, 60);
            // What it has written itself is found, too.
            let asked = asked(&mut random);
            let valid: Vec<_> = asked.into_iter().filter(|(_, key)| !is_nan(key)).collect();
            let both = [true, false].map(|at_once| gets(&transaction, &valid, at_once));
            assert_eq!(both[0], both[1], "seed {seed}, round {round}");
            finish(&transaction);
            let asked = self::asked(&mut random);
            let [at_once, alone] = [true, false].map(|at_once| {
                let transaction = begin(&connection, TransactionMode::ReadOnly);
                let found = gets(&transaction, &asked, at_once);
                let statistics: Statistics = transaction.statistics();
                finish(&transaction);
                (found, statistics)
            });
            assert!(at_once == alone, "seed {seed}, round {round}");
            for ((_, key), found) in asked.iter().zip(&at_once.0) {
                let expected = is_nan(key).then_some(ErrorName::DataError);
                assert_eq!(found.as_ref().err().copied(), expected);
            }
        }
        connection.close();
        storage.close().unwrap();
    }
}

fn is_nan(key: &Key) -> bool {
    matches!(key, Key::Number(number) if number.is_nan())
}

#[test]
fn a_get_that_fails_among_others_fails_alone_and_aborts_unless_it_was_seen() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = numbers(&storage, 50);
        for is_seen in [true, false] {
            let transaction = begin(&connection, TransactionMode::ReadOnly);
            let s = store(&transaction, "s");
            let numbers = [1.0, 2.0, 3.0, f64::NAN, 4.0, 5.0];
            let mut requests: Vec<_> = numbers.map(|n| s.get(n).unwrap()).into_iter().collect();
            let last = requests.pop().unwrap();
            assert_eq!(
                last.wait().unwrap().unwrap().deserialize::<f64>().unwrap(),
                5.0
            );
            if is_seen {
                for (request, n) in requests.into_iter().zip(numbers) {
                    let found = request.wait().map(|found| found.unwrap());
                    match found {
                        Ok(found) => assert_eq!(found.deserialize::<f64>().unwrap(), n),
                        Err(error) => {
                            assert_eq!(error.name(), ErrorName::DataError);
                            assert!(n.is_nan());
                        }
                    }
                }
            }
            let ended = transaction.commit().unwrap().wait();
            assert_eq!(ended.is_ok(), is_seen);
        }
    }
}

#[test]
fn gets_that_an_abort_overtakes_complete_in_order_and_so_do_those_that_succeed() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = numbers(&storage, 100);
        for is_aborted in [true, false] {
            let get = |s: &ObjectStore, n| s.get(n).unwrap();
            let number = |found: Option<StoredValue>| found.unwrap().deserialize().unwrap();
            told_in_order(&storage, &connection, is_aborted, get, number);
        }
    }
}

#[test]
fn a_get_that_fails_while_its_transaction_commits_aborts_those_behind_it() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = numbers(&storage, 10);
        let (before, transaction, s) = queued_behind(&connection);
        let requests = [0.0, 1.0, f64::NAN, 2.0, 3.0].map(|n| s.get(n).unwrap());
        let committed = transaction.commit().unwrap();
        finish(&before);
        assert_eq!(committed.wait().unwrap_err().name(), ErrorName::DataError);
        let names = requests.map(|request| request.wait().err().map(|error| error.name()));
        let (failed, aborted) = (Some(ErrorName::DataError), Some(ErrorName::AbortError));
        assert_eq!(names, [None, None, failed, aborted, aborted]);
    }
}

#[test]
fn a_failure_among_gets_that_a_callback_has_seen_aborts_nothing() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = numbers(&storage, 10);
        let (before, transaction, s) = queued_behind(&connection);
        let (tell, told) = std::sync::mpsc::channel();
        for n in [1.0, 2.0, f64::NAN, 3.0] {
            let tell = tell.clone();
            let request = s.get(n).unwrap();
            request.on_done(move |found| tell.send(found.is_ok()).unwrap());
        }
        drop(tell);
        let last = s.get(4.0).unwrap();
        finish(&before);
        last.wait().unwrap();
        while storage.run_one() {}
        assert_eq!(told.iter().collect::<Vec<_>>(), [true, true, false, true]);
        finish(&transaction);
    }
}

#[test]
fn values_with_generated_keys_have_them_when_they_are_read_together() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage, 1, |upgrade| {
            let parameters = ObjectStoreParameters::new()
                .key_path("id")
                .auto_increment(true);
            let s = upgrade.transaction.create_object_store("s", parameters)?;
            for n in 0..40 {
                let i = f64::from(n);
                let text = "t".to_owned();
                s.put(Value::serialize(&Row { i, text })?, None)?.detach();
            }
            Ok(())
        })
        .unwrap();
        let transaction = begin(&connection, TransactionMode::ReadOnly);
        let s = store(&transaction, "s");
        let requests: Vec<_> = (1..=40).map(|n| s.get(f64::from(n)).unwrap()).collect();
        for (request, n) in requests.into_iter().zip(1_u32..) {
            let value = request.wait().unwrap().unwrap();
            let alone = s.get(f64::from(n)).unwrap().wait().unwrap().unwrap();
            assert_eq!(value.bytes(), alone.bytes());
            let found: WithKey = value.deserialize().unwrap();
            assert_eq!((found.id, found.i + 1.0), (f64::from(n), f64::from(n)));
        }
    }
}

#[derive(serde::Deserialize)]
struct WithKey {
    id: f64,
    i: f64,
}

#[test]
fn values_that_were_read_together_stay_when_the_others_and_the_storage_have_gone() {
    let kept: Vec<StoredValue> = {
        let storage = storage(THREADS);
        let connection = numbers(&storage, 200);
        let transaction = begin(&connection, TransactionMode::ReadOnly);
        let s = store(&transaction, "s");
        let requests: Vec<_> = (0..200).map(|n| s.get(f64::from(n)).unwrap()).collect();
        let kept = requests.into_iter().enumerate();
        let kept = kept.filter(|(n, _)| n % 40 == 7);
        kept.map(|(_, request)| request.wait().unwrap().unwrap())
            .collect()
    };
    let numbers = kept.iter().map(|value| value.deserialize::<f64>().unwrap());
    assert!(numbers.eq([7.0, 47.0, 87.0, 127.0, 167.0]));
    assert!(kept.iter().all(|value| value.objects().is_empty()));
}

#[test]
fn more_bytes_than_are_read_together_are_found_all_the_same() {
    let seed = 20_261_126;
    let mut random = Random::new(seed);
    // Behind so many short ones so many are read together that the long ones do not fit. Longer ones would lie in files.
    let lens = [10; 320].into_iter().chain([60_000; 400]);
    let texts: Vec<_> = lens.map(|len| letters(&mut random, len)).collect();
    let storage = on(&Arc::new(MemoryFileSystem::new()), THREADS, 200_000);
    let connection = connect(&storage);
    let transaction = begin(&connection, TransactionMode::ReadWrite);
    let s = store(&transaction, "s");
    for (n, text) in texts.iter().enumerate() {
        let value = Value::serialize(text).unwrap();
        s.put(value, Some((n as f64).into())).unwrap().detach();
    }
    finish(&transaction);
    let (before, transaction, s) = queued_behind(&connection);
    let requests: Vec<_> = (0..720).map(|n| s.get(f64::from(n)).unwrap()).collect();
    finish(&before);
    for (request, text) in requests.into_iter().zip(&texts) {
        let found: Option<StoredValue> = request.wait().unwrap();
        let found: Option<String> = found.map(|value| value.deserialize().unwrap());
        assert!(found.as_ref() == Some(text), "seed {seed}");
    }
    finish(&transaction);
}
