//! Records: every way of writing and reading them.

use std::io::Read;
use std::sync::Arc;

use larder_idb::{
    CursorDirection, DataVersion, GetAllOptions, Key, KeyRange, MemoryFileSystem,
    NewExternalObject, PageLimits, TransactionMode, Value,
};

use super::*;

const OPAQUE: &[u8] = b"\x00\xff\x15\xfe not V8 \xf1";

#[test]
fn bytes_come_back_untouched_from_stores_of_every_kind_and_by_every_read() {
    let place = place();
    let connection = place.connection();
    for name in ["out", "in", "auto", "auto-in"] {
        let transaction = begin(&connection, TransactionMode::ReadWrite);
        let store = store(&transaction, name);
        let value = foreign(OPAQUE, keys(&[10.0], &[20.0], &[32.0, 30.0, 31.0, 30.0]));
        let put = store.put(value, Some(7.0.into())).unwrap();
        assert_eq!(put.wait().unwrap(), Key::from(7.0), "{name}");
        // Each once: a key that is given twice is one.
        assert_eq!(transaction.statistics().index_keys_written, 5, "{name}");
        let whole = |found: Option<larder_idb::Foreign<'_>>| {
            assert_eq!(found.unwrap().bytes(), OPAQUE, "{name}");
        };
        whole(store.get(7.0).unwrap().wait().unwrap().unwrap().foreign());
        let many = store.get_many([7.0, 8.0]).unwrap().wait().unwrap();
        assert_eq!(many.len(), 1);
        whole(many.iter().next().unwrap().foreign());
        for (index, key) in [("n", 10.0), ("u", 20.0), ("m", 31.0)] {
            let index = store.index(js(index)).unwrap();
            let found = index.get(key).unwrap().wait().unwrap().unwrap();
            whole(found.foreign());
            let all = index.get_all(KeyRange::all(), GetAllOptions::default());
            for entry in all.unwrap().wait().unwrap().iter() {
                whole(entry.foreign());
            }
            assert_eq!(index.count(key).unwrap().wait().unwrap(), 1);
        }
        assert_eq!(
            entries(&store, "m"),
            pairs(&[(30.0, 7.0), (31.0, 7.0), (32.0, 7.0)])
        );
        let limits = PageLimits::new().entries_max(1).bytes_max(usize::MAX);
        let pages = store
            .pages(KeyRange::all(), CursorDirection::Next, limits)
            .unwrap();
        let page = pages.next().unwrap().wait().unwrap().unwrap();
        whole(page.iter().next().unwrap().foreign());
        let cursor = store
            .open_cursor(KeyRange::all(), CursorDirection::Prev)
            .unwrap();
        let cursor = cursor.wait().unwrap().unwrap();
        whole(cursor.value().unwrap().foreign());
        whole(cursor.record().foreign());

        store.delete(7.0).unwrap().wait().unwrap();
        assert_eq!(store.count(KeyRange::all()).unwrap().wait().unwrap(), 0);
        for index in ["n", "u", "m"] {
            assert_eq!(entries(&store, index), [], "{name}");
        }
        transaction.commit().unwrap().wait().unwrap();
    }
}

#[test]
fn readers_of_ordinary_values_see_an_object_with_the_generated_key() {
    let place = place();
    let transaction = begin(&place.connection(), TransactionMode::ReadWrite);
    let store = store(&transaction, "auto-in");
    let key = store.put(unindexed(b"\x01"), None).unwrap().wait().unwrap();
    assert_eq!(key, Key::from(1.0));
    let found = store.get(1.0).unwrap().wait().unwrap().unwrap();
    assert_eq!(
        serde_json::to_string(&found.tree().unwrap()).unwrap(),
        r#"{"larder:engine":"gecko","larder:format":8,"larder:bytes":{"$arraybuffer":"AQ=="},"id":1}"#
    );
    assert_eq!(found.foreign().unwrap().bytes(), b"\x01");
    // As a page puts again what it has read: an ordinary object that has its key.
    let again = Value::from_bytes(found.bytes().to_vec());
    let put = store.put(again, None).unwrap().wait().unwrap();
    assert_eq!(put, Key::from(1.0));
    assert_eq!(bytes_of(&store, 1.0).unwrap(), b"\x01");
}

#[test]
fn adding_and_unique_indexes_mind_records_of_every_engine() {
    let place = place();
    let transaction = begin(&place.connection(), TransactionMode::ReadWrite);
    let store = store(&transaction, "in");
    let plain = |id: f64, u: f64| Value::serialize(&Numbers { id, u }).unwrap();
    store.put(plain(1.0, 10.0), None).unwrap().wait().unwrap();
    let value = |u: f64| foreign(b"x", keys(&[], &[u], &[]));
    store
        .add(value(20.0), Some(2.0.into()))
        .unwrap()
        .wait()
        .unwrap();
    let wait = |request: Result<larder_idb::Request<Key>>| refused(request.unwrap().wait());
    assert_eq!(
        wait(store.add(value(30.0), Some(2.0.into()))),
        "ConstraintError"
    );
    assert_eq!(
        wait(store.put(value(10.0), Some(3.0.into()))),
        "ConstraintError"
    );
    assert_eq!(wait(store.put(plain(3.0, 20.0), None)), "ConstraintError");
    assert_eq!(wait(store.put(value(20.0), Some(2.0.into()))), "nothing");
    assert_eq!(entries(&store, "u"), pairs(&[(10.0, 1.0), (20.0, 2.0)]));
    // Another engine's value in the place of a plain one takes its entries away.
    assert_eq!(
        wait(store.put(unindexed(b"y"), Some(1.0.into()))),
        "nothing"
    );
    assert_eq!(entries(&store, "u"), pairs(&[(20.0, 2.0)]));
}

#[derive(serde::Serialize)]
struct Numbers {
    id: f64,
    u: f64,
}

#[test]
fn what_a_host_gets_wrong_is_refused_at_once() {
    let place = place();
    let transaction = begin(&place.connection(), TransactionMode::ReadWrite);
    let store = |name| store(&transaction, name);
    let put =
        |name, value: Value, key: Option<f64>| refused(store(name).put(value, key.map(Key::from)));
    let nan = Key::from(f64::NAN);
    // Neither given nor generated.
    for name in ["bare", "out", "in"] {
        let value = match name {
            "bare" => foreign(b"", []),
            _ => unindexed(b""),
        };
        assert_eq!(put(name, value, None), "DataError", "{name}");
    }
    for name in ["out", "in", "auto", "auto-in"] {
        let mut cases = vec![
            ("no index is named", vec![], "DataError"),
            (
                "one is not",
                keys(&[1.0], &[], &[])[..2].to_vec(),
                "DataError",
            ),
            (
                "several keys",
                keys(&[1.0, 2.0], &[], &[]).to_vec(),
                "DataError",
            ),
        ];
        let mut twice = keys(&[], &[], &[]).to_vec();
        twice.push((js("n"), vec![]));
        cases.push(("named twice", twice, "DataError"));
        let mut unknown = keys(&[], &[], &[]).to_vec();
        unknown.push((js("x"), vec![]));
        cases.push(("no such index", unknown, "NotFoundError"));
        let mut no_key = keys(&[], &[], &[]).to_vec();
        no_key[2].1.push(nan.clone());
        cases.push(("NaN", no_key, "DataError"));
        for (what, keys, expected) in cases {
            assert_eq!(
                put(name, foreign(b"", keys), Some(1.0)),
                expected,
                "{name}, {what}"
            );
        }
        let count = store(name).count(KeyRange::all()).unwrap();
        assert_eq!(count.wait().unwrap(), 0, "{name}");
    }
    let request = store("out").put(unindexed(b""), Some(nan)).unwrap();
    assert_eq!(refused(request.wait()), "DataError");
    for engine in ["", "two words", "ö"] {
        assert_eq!(
            refused(Value::foreign(engine, 1, b"", [])),
            "TypeError",
            "{engine}"
        );
    }
}

#[test]
fn put_many_puts_values_of_several_engines_and_names_the_wrong_one() {
    let place = place();
    let transaction = begin(&place.connection(), TransactionMode::ReadWrite);
    let store = store(&transaction, "auto-in");
    let plain = || Value::serialize(&std::collections::BTreeMap::from([("n", 5.0)])).unwrap();
    let items = [
        (foreign(b"a", keys(&[9.0], &[], &[])), None),
        (plain(), None),
        (foreign(b"b", keys(&[1.0], &[], &[])), Some(10.0.into())),
        (unindexed(b"c"), None),
    ];
    let keys_put = store.put_many(items).unwrap().wait().unwrap();
    assert_eq!(keys_put, [1.0, 2.0, 10.0, 11.0].map(Key::from));
    let expected = pairs(&[(1.0, 10.0), (5.0, 2.0), (9.0, 1.0)]);
    assert_eq!(entries(&store, "n"), expected);
    let items = [(plain(), None), (foreign(b"", []), None)];
    let error = store.put_many(items).unwrap_err();
    assert!(
        error.message().starts_with("record 1: no keys are given"),
        "{error}"
    );
}

#[test]
fn a_cursor_updates_a_record_of_any_engine_to_one_of_another() {
    let place = place();
    let transaction = begin(&place.connection(), TransactionMode::ReadWrite);
    for name in ["out", "in", "auto", "auto-in"] {
        let store = store(&transaction, name);
        let value = foreign(b"before", keys(&[1.0], &[], &[4.0, 5.0]));
        store.put(value, Some(3.0.into())).unwrap().wait().unwrap();
        let cursor = store
            .open_cursor(KeyRange::all(), CursorDirection::Next)
            .unwrap();
        let cursor = cursor.wait().unwrap().unwrap();
        let value = foreign(b"after", keys(&[2.0], &[], &[]));
        let updated = cursor.update(value).unwrap().wait().unwrap();
        assert_eq!(updated, Key::from(3.0), "{name}");
        assert_eq!(bytes_of(&store, 3.0).unwrap(), b"after", "{name}");
        assert_eq!(entries(&store, "n"), pairs(&[(2.0, 3.0)]), "{name}");
        assert_eq!(entries(&store, "m"), [], "{name}");
        assert_eq!(refused(cursor.update(foreign(b"", []))), "DataError");
        cursor.delete().unwrap().wait().unwrap();
        assert_eq!(bytes_of(&store, 3.0), None, "{name}");
    }
}

#[test]
fn blobs_that_the_bytes_mean_come_back_beside_them_also_where_the_bytes_lie_in_one() {
    let place = place();
    let connection = place.connection();
    let transaction = begin(&connection, TransactionMode::ReadWrite);
    let object = |text: &str| NewExternalObject::Blob {
        mime_type: "text/plain".into(),
        content: Arc::new(text.as_bytes().to_vec()),
    };
    let objects = || vec![object("first"), object("second")];
    for (n, bytes) in [b"short".to_vec(), noise(100_000)].iter().enumerate() {
        let value = unindexed(bytes).and_objects(objects());
        drop(
            store(&transaction, "auto-in")
                .put(value, Some((n as f64).into()))
                .unwrap(),
        );
    }
    let check = |transaction: &Transaction| {
        let store = store(transaction, "auto-in");
        for (n, len) in [(0.0, 5), (1.0, 100_000)] {
            let found = store.get(n).unwrap().wait().unwrap().unwrap();
            assert_eq!(found.foreign().unwrap().bytes().len(), len);
            let contents = found.objects().iter().map(|object| {
                let mut text = String::new();
                object.open().unwrap().read_to_string(&mut text).unwrap();
                text
            });
            assert_eq!(contents.collect::<Vec<_>>(), ["first", "second"]);
        }
    };
    check(&transaction);
    transaction.commit().unwrap().wait().unwrap();
    connection.close();
    let place = place.reopened();
    check(&begin(&place.connection(), TransactionMode::ReadOnly));
}

fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 8).to_le_bytes()[0]
    };
    std::iter::repeat_with(next).take(len).collect()
}

#[test]
fn long_bytes_come_back_from_compressed_rows_and_from_blobs_in_stores_of_every_age() {
    let versions = [(16, 21), (15, 21), (13, 20), (13, 17)];
    for (v8, blink) in versions {
        let fs = Arc::new(MemoryFileSystem::new());
        let place = place_on(fs, Some(DataVersion { v8, blink }));
        let values = [
            noise(10),
            vec![0; 70_000],
            noise(70_000),
            [noise(200_000), vec![7; 200_000]].concat(),
        ];
        let connection = place.connection();
        let transaction = begin(&connection, TransactionMode::ReadWrite);
        for name in ["bare", "in", "auto-in"] {
            for (n, bytes) in values.iter().enumerate() {
                let value = match name {
                    "bare" => foreign(bytes, []),
                    _ => unindexed(bytes),
                };
                drop(
                    store(&transaction, name)
                        .put(value, Some((n as f64).into()))
                        .unwrap(),
                );
            }
        }
        transaction.commit().unwrap().wait().unwrap();
        connection.close();
        let place = place.reopened();
        let transaction = begin(&place.connection(), TransactionMode::ReadOnly);
        for name in ["bare", "in", "auto-in"] {
            let store = store(&transaction, name);
            let all = store.get_all(KeyRange::all(), GetAllOptions::default());
            let all = all.unwrap().wait().unwrap();
            for (n, bytes) in values.iter().enumerate() {
                assert!(
                    bytes_of(&store, n as f64).as_ref() == Some(bytes),
                    "{v8} {name} {n}"
                );
                assert!(
                    all.iter().nth(n).unwrap().foreign().unwrap().bytes() == bytes,
                    "{v8} {name} {n}"
                );
            }
        }
    }
}
