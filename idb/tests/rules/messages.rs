//! What an exception says beside its name: which object, its state, and what to do.

use larder_idb::{Key, KeyPath, Result, TransactionMode, TransactionOptions};

use super::support::*;

const PLAIN_OPTIONS: TransactionOptions = TransactionOptions::new();

fn message<T>(result: Result<T>) -> String {
    match result {
        Ok(_) => "nothing was refused".into(),
        Err(error) => error.message().into(),
    }
}

fn one() -> Option<Key> {
    Some(Key::from(1.0))
}

#[test]
fn messages_name_the_object_its_state_and_the_remedy() {
    let place = place();
    let (connection, reading) = place.transaction(TransactionMode::ReadOnly);
    let read_only = message(store(&reading, "out").put(text("x"), one()));
    reading.abort(None).unwrap();
    let writing = begin(&connection, TransactionMode::ReadWrite);
    let put = |name, value, key| message(store(&writing, name).put(value, key));
    let cases = [
        (
            read_only,
            "the transaction only reads; begin one of mode ReadWrite to change records",
        ),
        (
            put("out", text("x"), None),
            r#"no key is given; the object store "out" does not generate keys, so each record needs one"#,
        ),
        (
            put("in", object(&[("id", 1.0)]), one()),
            r#"a key is given beside the value; leave it out, since keys are found in values at "id", the key path of the object store "in""#,
        ),
        (
            put("in", object(&[("n", 1.0)]), None),
            r#"the value has nothing at "id", the key path of the object store "in", which does not generate keys"#,
        ),
        (
            put("in", object(&[("id", f64::NAN)]), None),
            r#"the value has no key at "id", the key path of the object store "in": a key is a number, a date, a string, bytes or an array of keys"#,
        ),
        (
            put("auto-in", text("x"), None),
            r#"the value cannot take the generated key at "id", the key path of the object store "auto-in": what the path leads through has to be an object"#,
        ),
        (
            message(store(&writing, "out").index(js("title"))),
            r#"the object store "out" has no index "title"; it has "m", "n", "u""#,
        ),
        (
            message(writing.object_store(js("books"))),
            r#"there is no object store "books" in the transaction's scope"#,
        ),
        (
            message(connection.transaction("books", TransactionMode::ReadOnly, PLAIN_OPTIONS)),
            r#"there is no object store "books"; the database has "auto", "auto-in", "in", "out""#,
        ),
    ];
    for (said, expected) in cases {
        assert_eq!(said, expected);
    }
    writing.abort(None).unwrap();
    assert_eq!(
        message(writing.object_store(js("out"))),
        "the transaction has finished; begin another"
    );
    connection.close();
    assert_eq!(
        message(connection.transaction("out", TransactionMode::ReadOnly, PLAIN_OPTIONS)),
        "the connection is being upgraded or closed: use the upgrade's own transaction, or open the database again"
    );
    let upgrade = place.upgrade();
    let out = store(&upgrade.transaction, "out");
    assert_eq!(
        message(out.create_index(js("x"), path("a b"), PLAIN)),
        r#""a b" is no key path: a key path is names with dots between them, or an array of such"#
    );
    assert_eq!(
        message(out.create_index(js("x"), KeyPath::Null, PLAIN)),
        "null is no key path: a key path is names with dots between them, or an array of such"
    );
}
