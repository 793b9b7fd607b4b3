//! Many records at a time, and what is counted.

use std::sync::Arc;

use larder_idb::{
    CursorDirection, ErrorName, GetAllOptions, IndexParameters, Key, KeyRange,
    ObjectStoreParameters, PageLimits, Storage, StorageOptions, TransactionMode, Value,
};

use super::{
    EXECUTORS, FixedClock, begin, finish, indexed_store, open, storage, storage_in_leveldb, store,
};

fn text(text: &str) -> Value {
    Value::serialize(text).unwrap()
}

#[test]
fn many_are_put_up_to_the_first_that_cannot_be_and_the_error_names_it() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage, 1, |upgrade| {
            let options = IndexParameters::new().unique(true);
            indexed_store(upgrade, ObjectStoreParameters::default(), options).map(drop)
        })
        .unwrap();
        let transaction = begin(&connection, TransactionMode::ReadWrite);
        let s = store(&transaction, "s");
        let items = ["a", "b", "a", "c"].into_iter().zip(1_u8..);
        let items = items.map(|(value, key)| (text(value), Some(f64::from(key).into())));
        let error = s.put_many(items).unwrap().wait().unwrap_err();
        assert_eq!(error.name(), ErrorName::ConstraintError);
        assert!(error.message().contains("record 2"), "{error}");
        let keys = s
            .put_many([(text("x"), Some("k".into()))])
            .unwrap()
            .wait()
            .unwrap();
        assert_eq!(keys, [Key::from("k")]);
        // One that needs no looking at the store is refused before any is put.
        let refused = s.put_many([(text("y"), Some(5.0.into())), (text("z"), None)]);
        let refused = refused.unwrap_err();
        assert_eq!(refused.name(), ErrorName::DataError);
        assert!(refused.message().contains("record 1"), "{refused}");
        let all = s
            .get_all_keys(KeyRange::all(), GetAllOptions::default())
            .unwrap();
        let all: Vec<Key> = all
            .wait()
            .unwrap()
            .iter()
            .map(|entry| entry.key())
            .collect();
        assert_eq!(all, [1.0.into(), 2.0.into(), Key::from("k")]);
        finish(&transaction);
    }
}

#[test]
fn many_ranges_are_answered_each_by_its_first_record() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage, 1, |upgrade| {
            let store = indexed_store(upgrade, Default::default(), Default::default())?;
            for number in 0..10_u8 {
                drop(store.put(
                    text(&format!("v{}", 9 - number)),
                    Some(f64::from(number).into()),
                )?);
            }
            Ok(())
        })
        .unwrap();
        let transaction = begin(&connection, TransactionMode::ReadOnly);
        let s = store(&transaction, "s");
        let ranges = [
            KeyRange::only(3.0),
            77.0.into(),
            KeyRange::lower_bound(5.0, true),
        ];
        let found = s.get_many(ranges).unwrap().wait().unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|entry| {
                (
                    entry.request,
                    entry.key(),
                    entry.deserialize::<String>().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            told,
            [(0, 3.0.into(), "v6".into()), (2, 6.0.into(), "v3".into())]
        );
        let index = s.index("i").unwrap();
        let found = index
            .get_many(["v1", "none", "v0"])
            .unwrap()
            .wait()
            .unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|entry| (entry.request, entry.primary_key()))
            .collect();
        assert_eq!(told, [(0, 8.0.into()), (2, 9.0.into())]);
    }
}

#[test]
fn pages_come_in_order_none_larger_than_asked_for_and_see_what_was_written_meanwhile() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage, 1, |upgrade| {
            let store = upgrade
                .transaction
                .create_object_store("s", Default::default())?;
            for number in 0..100_u8 {
                store
                    .put(text("v"), Some(f64::from(number).into()))?
                    .detach();
            }
            Ok(())
        })
        .unwrap();
        let transaction = begin(&connection, TransactionMode::ReadWrite);
        let s = store(&transaction, "s");
        let limits = PageLimits::new().entries_max(30).bytes_max(1 << 20);
        let pages = s
            .pages(
                KeyRange::lower_bound(10.0, false),
                CursorDirection::Next,
                limits,
            )
            .unwrap();
        let (first, second) = (pages.next().unwrap(), pages.next().unwrap());
        assert_eq!(
            second.wait().unwrap().unwrap().get(0).unwrap().key(),
            40.0.into()
        );
        assert_eq!(first.wait().unwrap().unwrap().len(), 30);
        s.put(text("late"), Some(1000.0.into())).unwrap().detach();
        drop(
            s.delete(KeyRange::bound(71.0, 98.0, false, false).unwrap())
                .unwrap(),
        );
        let rest = pages.next().unwrap().wait().unwrap().unwrap();
        let keys: Vec<Key> = rest.iter().map(|entry| entry.key()).collect();
        assert_eq!(keys, [70.0.into(), 99.0.into(), 1000.0.into()]);
        assert!(pages.next().unwrap().wait().unwrap().is_none());
        assert!(pages.next().unwrap().wait().unwrap().is_none());
        finish(&transaction);
    }
}

#[test]
fn statistics_count_what_was_read_and_written() {
    let storage = storage(EXECUTORS[1]);
    let connection = open(&storage, 1, |upgrade| {
        indexed_store(upgrade, Default::default(), Default::default()).map(drop)
    })
    .unwrap();
    let transaction = begin(&connection, TransactionMode::ReadWrite);
    let s = store(&transaction, "s");
    let value = text("one");
    let len_bytes = value.bytes().len() as u64;
    for number in 0..4_u8 {
        drop(
            s.put(value.clone(), Some(f64::from(number).into()))
                .unwrap(),
        );
    }
    let all = s
        .get_all(KeyRange::all(), GetAllOptions::new().count(3))
        .unwrap();
    assert_eq!(all.wait().unwrap().len(), 3);
    s.delete(2.0).unwrap().wait().unwrap();
    let counted = transaction.statistics();
    assert_eq!(
        (counted.records_written, counted.index_keys_written),
        (4, 4)
    );
    assert_eq!(counted.value_bytes_written, 4 * len_bytes);
    assert_eq!(
        (counted.records_read, counted.value_bytes_read),
        (3, 3 * len_bytes)
    );
    // A number has a type byte and eight more.
    assert_eq!(
        (counted.key_bytes_written, counted.key_bytes_read),
        (4 * 9, 3 * 9)
    );
    assert_eq!((counted.records_deleted, counted.requests), (1, 6));
    assert_eq!(counted.spilled_bytes, 0);
    finish(&transaction);
}

#[test]
fn statistics_count_the_records_that_were_deleted_however_that_was() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage, 1, |upgrade| {
            let parameters = ObjectStoreParameters::new().auto_increment(true);
            indexed_store(upgrade, parameters, Default::default()).map(drop)
        })
        .unwrap();
        let transaction = begin(&connection, TransactionMode::ReadWrite);
        let s = store(&transaction, "s");
        for _ in 0..10 {
            s.put(text("value"), None).unwrap().detach();
        }
        let mut expected = 0;
        let mut has_deleted = |count: u64, what: &str| {
            expected += count;
            assert_eq!(transaction.statistics().records_deleted, expected, "{what}");
        };
        s.delete(1.0).unwrap().wait().unwrap();
        has_deleted(1, "one");
        s.delete(1.0).unwrap().wait().unwrap();
        has_deleted(0, "the same again");
        let range = KeyRange::bound(2.0, 4.0, false, true).unwrap();
        s.delete(range.clone()).unwrap().wait().unwrap();
        has_deleted(2, "a range");
        s.delete(range).unwrap().wait().unwrap();
        has_deleted(0, "an empty range");
        let cursor = s.open_cursor(5.0, CursorDirection::Next).unwrap();
        let cursor = cursor.wait().unwrap().unwrap();
        cursor.delete().unwrap().wait().unwrap();
        has_deleted(1, "by a cursor");
        s.put(text("another"), Some(6.0.into())).unwrap().detach();
        s.clear().unwrap().wait().unwrap();
        has_deleted(6, "all");
        s.clear().unwrap().wait().unwrap();
        has_deleted(0, "all of none");
        let counted = transaction.statistics();
        assert_eq!(counted.records_written, 11);
        // Generated keys are keys like others: a type byte and eight more.
        assert_eq!(counted.key_bytes_written, 11 * 9);
        finish(&transaction);
    }
}

#[test]
fn statistics_count_the_bytes_that_did_not_fit_into_memory() {
    for executor in EXECUTORS {
        let mut options = StorageOptions::in_memory(Arc::new(FixedClock::default()));
        options.executor = executor;
        options.transaction_memory_bytes = 10_000;
        let storage = Storage::new(options).unwrap();
        let connection = open(&storage, 1, |upgrade| {
            let transaction = &upgrade.transaction;
            transaction.create_object_store("s", Default::default())?;
            Ok(())
        })
        .unwrap();
        let transaction = begin(&connection, TransactionMode::ReadWrite);
        let s = store(&transaction, "s");
        let long = "x".repeat(3_000);
        let spilled: Vec<u64> = (0..12_u8)
            .map(|number| {
                let put = s.put(text(&long), Some(f64::from(number).into())).unwrap();
                put.wait().unwrap();
                transaction.statistics().spilled_bytes
            })
            .collect();
        // Four make more than the limit, with about 100 bytes of rows each beside the value.
        let whole_spills: Vec<u64> = spilled.iter().map(|bytes| bytes / 12_000).collect();
        assert_eq!(
            whole_spills,
            [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3],
            "{spilled:?}"
        );
        assert!(
            spilled.iter().all(|bytes| *bytes < 3 * 13_000),
            "{spilled:?}"
        );
        finish(&transaction);
    }
}

#[test]
fn what_get_all_has_found_stays_whatever_becomes_of_the_database() {
    for executor in EXECUTORS {
        let storage = storage_in_leveldb(executor);
        let connection = open(&storage, 1, |upgrade| {
            let transaction = &upgrade.transaction;
            transaction.create_object_store("s", Default::default())?;
            Ok(())
        })
        .unwrap();
        // Short ones, which are copied, among long ones.
        let value =
            |number: u32, letter: &str| text(&letter.repeat(1 + number as usize % 4 * 1000));
        let put_all = |letter: &str| {
            let transaction = begin(&connection, TransactionMode::ReadWrite);
            let s = store(&transaction, "s");
            for number in 0..200 {
                let put = s.put(value(number, letter), Some(f64::from(number).into()));
                drop(put.unwrap());
            }
            finish(&transaction);
        };
        let get_all = || {
            let transaction = begin(&connection, TransactionMode::ReadOnly);
            let all = store(&transaction, "s").get_all(KeyRange::all(), GetAllOptions::default());
            all.unwrap().wait().unwrap()
        };
        put_all("a");
        let first = get_all();
        // Long ones were not copied.
        for (entry, again) in first.iter().zip(get_all().iter()) {
            let is_shared = entry.value().as_ptr() == again.value().as_ptr();
            assert_eq!(is_shared, entry.value().len() >= 1000);
        }
        put_all("b");
        let second = get_all();
        connection.close();
        let factory = storage.factory(&larder_idb::Origin::from_url("https://a.example").unwrap());
        let deleted = factory.delete_database("db");
        deleted.done().wait().unwrap();
        storage.close().unwrap();
        for (found, letter) in [(first, "a"), (second, "b")] {
            assert_eq!(found.len(), 200);
            for (entry, number) in found.iter().zip(0..) {
                assert_eq!(entry.key(), Key::from(f64::from(number)));
                assert_eq!(entry.value(), value(number, letter).bytes(), "{number}");
            }
        }
    }
}
