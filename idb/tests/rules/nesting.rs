//! How deep values and keys may be: one limit for writing and reading, reported when a record is written.

use larder_codec::value::{Builder, DEPTH_MAX, JsStr, Needs, PropertyName, Tree, serde};
use larder_idb::{GetAllOptions, Key, KeyRange, StoredValue, TransactionMode, Value};

use super::support::*;

/// Objects one inside the other, as `a`.
fn nested(depth: usize) -> (Vec<u8>, Needs) {
    let mut bytes = Vec::new();
    let mut builder = Builder::begin(&mut bytes);
    for _ in 0..depth {
        builder.begin_object();
        builder.name(&PropertyName::from_js(JsStr::from("a")));
    }
    builder.null();
    let needs = builder.end();
    (bytes, needs)
}

/// The ways in which a host can give it.
fn values(depth: usize) -> [Value; 2] {
    let (bytes, needs) = nested(depth);
    [
        Value::from_written(bytes.clone(), needs),
        Value::from_bytes(bytes),
    ]
}

fn depth(value: &StoredValue) -> usize {
    value.tree().as_ref().map(Tree::depth).unwrap()
}

#[test]
fn a_value_that_could_not_be_read_is_refused_when_it_is_written() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let out = store(&transaction, "out");
    let key = |at: usize| Some(Key::from(at as f64));
    for (at, value) in values(DEPTH_MAX).into_iter().enumerate() {
        out.put(value, key(at)).unwrap().detach();
    }
    let auto_in = store(&transaction, "auto-in");
    let [value, _] = values(DEPTH_MAX);
    auto_in.put(value, None).unwrap().detach();
    let cursor = out.open_cursor(KeyRange::all(), larder_idb::CursorDirection::Next);
    let cursor = cursor.unwrap().wait().unwrap().unwrap();
    assert_eq!(depth(&cursor.value().unwrap()), DEPTH_MAX);
    for at in 0..2 {
        let value = || values(DEPTH_MAX + 1).into_iter().nth(at).unwrap();
        let beside = (text("beside"), key(8));
        for refusal in [
            refused(out.put(value(), key(9))),
            refused(out.add(value(), key(9))),
            refused(out.put_many([beside, (value(), key(9))])),
            refused(cursor.update(value())),
            refused(auto_in.put(value(), None)),
        ] {
            assert_eq!(refusal, "DataCloneError", "{at}");
        }
    }
    for (at, store) in [(2, &out), (1, &auto_in)] {
        let all = store.get_all(KeyRange::all(), GetAllOptions::default());
        let all = all.unwrap().wait().unwrap();
        assert_eq!(all.len(), at);
        for record in all.iter() {
            let got = store.get(record.primary_key()).unwrap().wait().unwrap();
            assert_eq!(depth(&got.unwrap()), DEPTH_MAX);
        }
    }
}

#[test]
fn a_value_of_rust_is_no_deeper_than_what_is_read_as_one() {
    #[derive(::serde::Serialize, ::serde::Deserialize)]
    struct Deep(Vec<Deep>);
    let deep = |depth| (1..depth).fold(Deep(vec![]), |inner, _| Deep(vec![inner]));
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let out = store(&transaction, "out");
    let value = Value::serialize(&deep(serde::DEPTH_MAX)).unwrap();
    out.put(value, Some(Key::from(1.0))).unwrap().detach();
    let read = out.get(Key::from(1.0)).unwrap().wait().unwrap().unwrap();
    assert!(read.deserialize::<Deep>().is_ok());
    let refusal = refused(Value::serialize(&deep(serde::DEPTH_MAX + 1)));
    assert_eq!(refusal, "DataCloneError");
}

#[test]
fn keys_found_in_values_are_no_deeper_than_those_that_are_given() {
    const ARRAYS_MAX: usize = 2000;
    let key_of =
        |arrays: usize, inner: Key| (0..arrays).try_fold(inner, |key, _| Key::array(vec![key]));
    let value_of = |arrays: usize| {
        let mut bytes = Vec::new();
        let mut builder = Builder::begin(&mut bytes);
        builder.begin_object();
        builder.name(&PropertyName::from_js(JsStr::from("id")));
        for _ in 0..arrays {
            builder.begin_array(1);
        }
        builder.number(7.0);
        let needs = builder.end();
        Value::from_written(bytes, needs)
    };
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let (inline, out) = (store(&transaction, "in"), store(&transaction, "out"));
    let found = inline.put(value_of(ARRAYS_MAX), None).unwrap().wait();
    let given = key_of(ARRAYS_MAX, 7.0.into()).unwrap();
    assert_eq!(found.unwrap(), given);
    let put = out.put(text("x"), Some(given.clone())).unwrap().wait();
    assert_eq!(put.unwrap(), given);
    assert!(inline.get(given.clone()).unwrap().wait().unwrap().is_some());
    assert!(
        out.get(KeyRange::only(given))
            .unwrap()
            .wait()
            .unwrap()
            .is_some()
    );
    assert_eq!(
        refused(inline.put(value_of(ARRAYS_MAX + 1), None)),
        "DataError"
    );
    assert!(key_of(ARRAYS_MAX + 1, 7.0.into()).is_err());
    let empty = || Key::array(vec![]).unwrap();
    assert!(key_of(ARRAYS_MAX - 1, empty()).is_ok());
    assert!(key_of(ARRAYS_MAX, empty()).is_err());
}

#[test]
fn no_key_is_generated_for_a_place_so_deep_that_the_value_could_not_be_read() {
    let place = place();
    let connection = place.open(1, |upgrade| {
        for (name, steps) in [("deep", DEPTH_MAX), ("deeper", DEPTH_MAX + 1)] {
            let key_path = path(&vec!["a"; steps].join("."));
            let parameters = parameters(key_path, true);
            upgrade
                .transaction
                .create_object_store(js(name), parameters)?;
        }
        Ok(())
    });
    let options = larder_idb::TransactionOptions::default();
    let names = ["deep", "deeper"].map(js);
    let transaction = connection.unwrap();
    let transaction = transaction
        .transaction(&names, TransactionMode::ReadWrite, options)
        .unwrap();
    let deep = store(&transaction, "deep");
    let key = deep.put(object(&[]), None).unwrap().wait().unwrap();
    let read = deep.get(key).unwrap().wait().unwrap().unwrap();
    assert!(read.tree().is_ok());
    let refusal = refused(store(&transaction, "deeper").put(object(&[]), None));
    assert_eq!(refusal, "DataError");
}
