//! Key generators: numbers that are generated, given, and asked for.

use larder_idb::{Key, TransactionMode};

use super::*;

fn put(store: &ObjectStore, key: Option<Key>) -> Result<Key> {
    store.put(unindexed(b"x"), key)?.wait()
}

fn generate(store: &ObjectStore) -> Result<Key> {
    store.generate_key()?.wait()
}

#[test]
fn numbers_that_a_host_asks_for_are_its_own_and_no_put_gets_them() {
    for name in ["auto", "auto-in"] {
        let place = place();
        let connection = place.connection();
        let transaction = begin(&connection, TransactionMode::ReadWrite);
        let store = store(&transaction, name);
        // Asked for one after the other, before anything is put under them.
        let first = store.generate_key().unwrap();
        let second = store.generate_key().unwrap();
        let third = store.put(unindexed(b"third"), None).unwrap();
        let [first, second] = [first, second].map(|request| request.wait().unwrap());
        assert_eq!([&first, &second], [&Key::from(1.0), &Key::from(2.0)]);
        assert_eq!(third.wait().unwrap(), Key::from(3.0));
        assert_eq!(put(&store, Some(second)).unwrap(), Key::from(2.0));
        assert_eq!(put(&store, Some(first)).unwrap(), Key::from(1.0));
        assert_eq!(bytes_of(&store, 3.0).unwrap(), b"third");
        assert_eq!(put(&store, None).unwrap(), Key::from(4.0));
        assert_eq!(put(&store, Some(10.5.into())).unwrap(), Key::from(10.5));
        assert_eq!(generate(&store).unwrap(), Key::from(11.0));
        transaction.commit().unwrap().wait().unwrap();
        connection.close();
        // The number is used up though nothing lies under it.
        let place = place.reopened();
        let transaction = begin(&place.connection(), TransactionMode::ReadWrite);
        let store = super::store(&transaction, name);
        assert_eq!(generate(&store).unwrap(), Key::from(12.0));
    }
}

#[test]
fn values_that_are_put_after_a_number_was_asked_for_are_indexed_under_the_key_they_get() {
    let place = place();
    let connection = place.open(1, |upgrade| {
        let parameters = ObjectStoreParameters::new()
            .key_path(path("id"))
            .auto_increment(true);
        let store = upgrade
            .transaction
            .create_object_store(js("s"), parameters)?;
        store.create_index(js("i"), path("id"), PLAIN).map(drop)
    });
    let transaction = begin(&connection.unwrap(), TransactionMode::ReadWrite);
    let store = store(&transaction, "s");
    let object = || Value::serialize(&std::collections::BTreeMap::<String, f64>::new()).unwrap();
    store.put(object(), None).unwrap().detach();
    assert_eq!(generate(&store).unwrap(), Key::from(2.0));
    store.put(object(), None).unwrap().detach();
    assert_eq!(entries(&store, "i"), pairs(&[(1.0, 1.0), (3.0, 3.0)]));
}

#[test]
fn an_abort_gives_back_the_numbers_that_a_host_has_asked_for() {
    let place = place();
    let connection = place.connection();
    for _ in 0..2 {
        let transaction = begin(&connection, TransactionMode::ReadWrite);
        let store = store(&transaction, "auto-in");
        assert_eq!(generate(&store).unwrap(), Key::from(1.0));
        assert_eq!(put(&store, None).unwrap(), Key::from(2.0));
        transaction.abort(None).unwrap();
    }
}

#[test]
fn there_is_no_number_to_ask_for_without_a_generator_or_behind_its_end() {
    let place = place();
    let connection = place.connection();
    let transaction = begin(&connection, TransactionMode::ReadWrite);
    for name in ["bare", "out", "in"] {
        let store = store(&transaction, name);
        assert_eq!(
            refused(store.generate_key()),
            "InvalidAccessError",
            "{name}"
        );
    }
    let auto = store(&transaction, "auto");
    let last = 9_007_199_254_740_992.0;
    put(&auto, Some((last - 1.0).into())).unwrap();
    assert_eq!(generate(&auto).unwrap(), Key::from(last));
    assert_eq!(refused(generate(&auto)), "ConstraintError");
    assert_eq!(refused(put(&auto, None)), "ConstraintError");
    drop(transaction);
    let transaction = begin(&connection, TransactionMode::ReadOnly);
    let auto = store(&transaction, "auto");
    assert_eq!(refused(auto.generate_key()), "ReadOnlyError");
}

#[test]
fn the_number_that_comes_next_is_read_and_set_and_both_are_the_transactions() {
    for name in ["auto", "auto-in"] {
        let place = place();
        let connection = place.connection();
        let transaction = begin(&connection, TransactionMode::ReadWrite);
        let store = store(&transaction, name);
        let next = || store.key_generator().unwrap().wait().unwrap();
        assert_eq!(next(), 1);
        assert_eq!(put(&store, Some(7.5.into())).unwrap(), Key::from(7.5));
        assert_eq!((next(), next()), (8, 8));
        store.set_key_generator(3).unwrap().wait().unwrap();
        assert_eq!(next(), 3);
        assert_eq!(put(&store, None).unwrap(), Key::from(3.0));
        assert_eq!(next(), 4);
        // In the order of the requests, also behind puts that run together.
        let puts = [put_later(&store, None), put_later(&store, None)];
        let set = store.set_key_generator(1 << 40).unwrap();
        let behind = put_later(&store, None);
        let keys = puts.map(|put| put.wait().unwrap());
        assert_eq!(keys, [Key::from(4.0), Key::from(5.0)]);
        set.wait().unwrap();
        assert_eq!(behind.wait().unwrap(), Key::from((1_u64 << 40) as f64));
        transaction.commit().unwrap().wait().unwrap();
        // An abort takes it back.
        let transaction = begin(&connection, TransactionMode::ReadWrite);
        let store = super::store(&transaction, name);
        store.set_key_generator(2).unwrap().wait().unwrap();
        transaction.abort(None).unwrap();
        drop((store, transaction));
        connection.close();
        let place = place.reopened();
        let transaction = begin(&place.connection(), TransactionMode::ReadOnly);
        let store = super::store(&transaction, name);
        let next = store.key_generator().unwrap().wait().unwrap();
        assert_eq!(next, (1 << 40) + 1, "{name}");
        assert_eq!(refused(store.set_key_generator(1)), "ReadOnlyError");
    }
}

fn put_later(store: &ObjectStore, key: Option<Key>) -> larder_idb::Request<Key> {
    store.put(unindexed(b"x"), key).unwrap()
}

#[test]
fn a_generator_is_set_within_its_numbers_and_where_there_is_one() {
    let place = place();
    let connection = place.connection();
    let transaction = begin(&connection, TransactionMode::ReadWrite);
    for name in ["bare", "out", "in"] {
        let store = store(&transaction, name);
        assert_eq!(refused(store.key_generator()), "InvalidAccessError");
        assert_eq!(refused(store.set_key_generator(1)), "InvalidAccessError");
    }
    let auto = store(&transaction, "auto");
    for number in [0, (1 << 53) + 2, u64::MAX] {
        assert_eq!(
            refused(auto.set_key_generator(number)),
            "DataError",
            "{number}"
        );
    }
    auto.set_key_generator(1 << 53).unwrap().wait().unwrap();
    assert_eq!(
        put(&auto, None).unwrap(),
        Key::from(9_007_199_254_740_992.0)
    );
    assert_eq!(auto.key_generator().unwrap().wait().unwrap(), (1 << 53) + 1);
    assert_eq!(refused(put(&auto, None)), "ConstraintError");
    auto.set_key_generator((1 << 53) + 1)
        .unwrap()
        .wait()
        .unwrap();
    assert_eq!(refused(put(&auto, None)), "ConstraintError");
}
