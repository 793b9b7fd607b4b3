//! Object stores (specification, 4.5): which exception comes first.

use larder_idb::{
    CursorDirection, GetAllOptions, Key, KeyPath, KeyRange, ObjectStore, TransactionMode,
};

use super::support::*;

fn one() -> Key {
    Key::from(1.0)
}

/// Every read of a store: the name of its exception.
fn reads(store: &ObjectStore) -> Vec<&'static str> {
    vec![
        refused(store.get(one())),
        refused(store.get_key(one())),
        refused(store.get_all(KeyRange::all(), GetAllOptions::default())),
        refused(store.get_all_keys(KeyRange::all(), GetAllOptions::default())),
        refused(store.get_all(KeyRange::all(), GetAllOptions::default())),
        refused(store.get_many([one()])),
        refused(store.count(KeyRange::all())),
        refused(store.open_cursor(KeyRange::all(), CursorDirection::Next)),
        refused(store.open_key_cursor(KeyRange::all(), CursorDirection::Next)),
    ]
}

/// Every write, each with something else that is wrong too where there can be: a key for a store that has them in its values.
fn writes(store: &ObjectStore) -> Vec<&'static str> {
    vec![
        refused(store.put(text("x"), Some(one()))),
        refused(store.add(text("x"), Some(one()))),
        refused(store.put_many([(text("x"), Some(one()))])),
        refused(store.delete(one())),
        refused(store.clear()),
    ]
}

fn all_are(names: Vec<&'static str>, name: &str) {
    assert!(
        names.iter().all(|other| *other == name),
        "{names:?}, not {name}"
    );
}

#[test]
fn a_deleted_store_comes_before_an_inactive_transaction() {
    let place = place();
    let upgrade = place.upgrade();
    let deleted = store(&upgrade.transaction, "in");
    upgrade.transaction.delete_object_store(js("in")).unwrap();
    assert!(deleted.is_deleted());
    all_are(reads(&deleted), "InvalidStateError");
    all_are(writes(&deleted), "InvalidStateError");
    assert_eq!(refused(deleted.index(js("none"))), "InvalidStateError");
    assert_eq!(
        refused(deleted.delete_index(js("none"))),
        "InvalidStateError"
    );
    assert_eq!(refused(deleted.rename(js("out"))), "InvalidStateError");
    let index = deleted.create_index(js("n"), path("1"), PLAIN);
    assert_eq!(refused(index), "InvalidStateError");
    let committed = upgrade.transaction.commit().unwrap();
    all_are(reads(&deleted), "InvalidStateError");
    all_are(writes(&deleted), "InvalidStateError");
    assert_eq!(refused(deleted.rename(js("out"))), "InvalidStateError");
    committed.wait().unwrap();
}

#[test]
fn an_inactive_transaction_comes_before_one_that_only_reads_and_before_keys() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadOnly);
    let store = store(&transaction, "in");
    let committed = transaction.commit().unwrap();
    for _ in 0..2 {
        all_are(reads(&store), "TransactionInactiveError");
        all_are(writes(&store), "TransactionInactiveError");
    }
    committed.wait().unwrap();
    all_are(reads(&store), "TransactionInactiveError");
    all_are(writes(&store), "TransactionInactiveError");
}

#[test]
fn a_transaction_that_only_reads_comes_before_keys() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadOnly);
    all_are(writes(&store(&transaction, "in")), "ReadOnlyError");
    all_are(reads(&store(&transaction, "in")), "nothing");
    let out = store(&transaction, "out");
    assert_eq!(refused(out.put(text("x"), None)), "ReadOnlyError");
}

#[test]
fn a_key_is_given_where_it_is_needed_and_nowhere_else() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let put = |name: &str, value, key| refused(store(&transaction, name).put(value, key));
    // With keys in the values: none may be given, one must be there, and be a key.
    assert_eq!(put("in", object(&[("id", 1.0)]), Some(one())), "DataError");
    assert_eq!(put("in", object(&[("x", 1.0)]), None), "DataError");
    assert_eq!(put("in", object(&[("id", f64::NAN)]), None), "DataError");
    assert_eq!(put("in", text("x"), None), "DataError");
    assert_eq!(put("in", object(&[("id", 1.0)]), None), "nothing");
    // With keys apart from them, and no generator: one must be given.
    assert_eq!(put("out", object(&[("id", 1.0)]), None), "DataError");
    assert_eq!(put("out", text("x"), Some(one())), "nothing");
    // With a generator: as one likes.
    assert_eq!(put("auto", text("x"), None), "nothing");
    assert_eq!(put("auto", text("x"), Some(Key::from("k"))), "nothing");
    assert_eq!(put("auto-in", object(&[]), Some(one())), "DataError");
    assert_eq!(
        put("auto-in", object(&[("id", f64::NAN)]), None),
        "DataError"
    );
    assert_eq!(put("auto-in", object(&[]), None), "nothing");
}

#[test]
fn a_value_that_can_take_no_generated_key_is_a_data_error() {
    let place = place();
    place.connection().close();
    let upgrade = place.open(2, |upgrade| {
        let parameters = parameters(path("a.b"), true);
        let store = upgrade
            .transaction
            .create_object_store(js("deep"), parameters)?;
        assert_eq!(refused(store.put(text("x"), None)), "DataError");
        assert_eq!(refused(store.put(object(&[("a", 1.0)]), None)), "DataError");
        assert_eq!(store.put(object(&[]), None)?.wait()?, one());
        Ok(())
    });
    upgrade.unwrap();
}

#[test]
fn an_index_is_made_only_in_an_upgrade_and_refused_in_the_order_of_the_steps() {
    let place = place();
    let (connection, ordinary) = place.transaction(TransactionMode::ReadWrite);
    let create = |store: &ObjectStore, name: &str, path, options| {
        refused(store.create_index(js(name), path, options))
    };
    let out = store(&ordinary, "out");
    assert_eq!(create(&out, "n", paths(&["1"]), MULTI), "InvalidStateError");
    assert_eq!(refused(out.delete_index(js("none"))), "InvalidStateError");
    assert_eq!(refused(out.rename(js("in"))), "InvalidStateError");
    let n = out.index(js("n")).unwrap();
    assert_eq!(refused(n.rename(js("u"))), "InvalidStateError");
    ordinary.commit().unwrap().wait().unwrap();
    // Not an upgrade comes before inactive.
    assert_eq!(create(&out, "n", paths(&["1"]), MULTI), "InvalidStateError");
    assert_eq!(refused(out.delete_index(js("none"))), "InvalidStateError");
    assert_eq!(refused(out.rename(js("in"))), "InvalidStateError");
    assert_eq!(refused(n.rename(js("u"))), "InvalidStateError");
    connection.close();
    let upgrade = place.open(2, move |upgrade| {
        let out = store(&upgrade.transaction, "out");
        assert_eq!(create(&out, "n", paths(&["1"]), MULTI), "ConstraintError");
        assert_eq!(create(&out, "x", paths(&["1"]), MULTI), "SyntaxError");
        assert_eq!(create(&out, "x", paths(&[]), MULTI), "SyntaxError");
        assert_eq!(create(&out, "x", KeyPath::Null, PLAIN), "SyntaxError");
        assert_eq!(
            create(&out, "x", paths(&["a"]), MULTI),
            "InvalidAccessError"
        );
        assert_eq!(create(&out, "x", path("a"), MULTI), "nothing");
        assert_eq!(refused(out.delete_index(js("none"))), "NotFoundError");
        assert_eq!(refused(out.delete_index(js("x"))), "nothing");
        assert_eq!(out.index_names(), ["m", "n", "u"].map(js));
        Ok(())
    });
    upgrade.unwrap();
}

#[test]
fn an_upgrade_that_is_committing_changes_no_store_and_no_index() {
    let place = place();
    let upgrade = place.upgrade();
    let out = store(&upgrade.transaction, "out");
    let n = out.index(js("n")).unwrap();
    let committed = upgrade.transaction.commit().unwrap();
    let create = out.create_index(js("n"), path("1"), PLAIN);
    assert_eq!(refused(create), "TransactionInactiveError");
    assert_eq!(
        refused(out.delete_index(js("none"))),
        "TransactionInactiveError"
    );
    assert_eq!(refused(out.rename(js("in"))), "TransactionInactiveError");
    assert_eq!(refused(n.rename(js("u"))), "TransactionInactiveError");
    // Even to the name that it has.
    assert_eq!(refused(out.rename(js("out"))), "TransactionInactiveError");
    committed.wait().unwrap();
}

#[test]
fn a_new_name_must_be_free_and_the_old_one_always_is() {
    let place = place();
    let upgrade = place.upgrade();
    let out = store(&upgrade.transaction, "out");
    assert_eq!(refused(out.rename(js("in"))), "ConstraintError");
    assert_eq!(refused(out.rename(js("out"))), "nothing");
    assert_eq!(refused(out.rename(js("free"))), "nothing");
    assert_eq!(
        refused(upgrade.transaction.object_store(js("out"))),
        "NotFoundError"
    );
    let n = out.index(js("n")).unwrap();
    assert_eq!(refused(n.rename(js("u"))), "ConstraintError");
    assert_eq!(refused(n.rename(js("n"))), "nothing");
    assert_eq!(refused(n.rename(js("free"))), "nothing");
    assert_eq!(refused(out.index(js("n"))), "NotFoundError");
    out.delete_index(js("free")).unwrap();
    assert_eq!(refused(n.rename(js("n"))), "InvalidStateError");
    assert_eq!(refused(n.get(one())), "InvalidStateError");
    upgrade.transaction.commit().unwrap().wait().unwrap();
}

#[test]
fn an_unknown_index_is_not_found() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadOnly);
    let out = store(&transaction, "out");
    assert_eq!(refused(out.index(js("none"))), "NotFoundError");
    assert_eq!(refused(out.index(js("n"))), "nothing");
}

#[test]
fn records_that_break_a_new_unique_index_abort_the_upgrade_but_not_the_call() {
    let place = place();
    let (connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    for key in [1.0, 2.0] {
        let value = object(&[("same", 5.0)]);
        drop(
            store(&transaction, "out")
                .put(value, Some(Key::from(key)))
                .unwrap(),
        );
    }
    transaction.commit().unwrap().wait().unwrap();
    connection.close();
    let upgraded = place.open(2, |upgrade| {
        let out = store(&upgrade.transaction, "out");
        let before = out.count(KeyRange::all())?;
        out.create_index(js("same"), path("same"), UNIQUE)?;
        let after = out.count(KeyRange::all())?;
        assert_eq!(before.wait().unwrap(), 2);
        assert_eq!(refused(after.wait()), "AbortError");
        let finished = upgrade.transaction.finished().wait();
        assert_eq!(refused(finished), "ConstraintError");
        Ok(())
    });
    assert_eq!(refused(upgraded), "AbortError");
    assert_eq!(place.open(1, |_| Ok(())).unwrap().version(), 1);
}
