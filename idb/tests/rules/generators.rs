//! Key generators (specification, 2.11).

use larder_idb::{GetAllOptions, Key, KeyRange, ObjectStore, TransactionMode, Value};

use super::support::*;

const TOP: f64 = 9_007_199_254_740_992.0;

fn generated(store: &ObjectStore, value: Value) -> Result<Key, &'static str> {
    let request = store.put(value, None).unwrap();
    request.wait().map_err(|error| error.name().as_str())
}

fn put_at(store: &ObjectStore, key: Key) {
    store.put(text("x"), Some(key)).unwrap().wait().unwrap();
}

#[test]
fn a_generator_begins_at_1_and_neither_deleting_nor_clearing_sets_it_back() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let auto = store(&transaction, "auto");
    assert_eq!(generated(&auto, text("x")), Ok(Key::from(1.0)));
    assert_eq!(generated(&auto, text("x")), Ok(Key::from(2.0)));
    auto.delete(Key::from(2.0)).unwrap().wait().unwrap();
    assert_eq!(generated(&auto, text("x")), Ok(Key::from(3.0)));
    auto.clear().unwrap().wait().unwrap();
    assert_eq!(generated(&auto, text("x")), Ok(Key::from(4.0)));
}

#[test]
fn only_greater_numbers_move_a_generator_and_it_goes_on_behind_their_whole_part() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let auto = store(&transaction, "auto");
    put_at(&auto, Key::from(5.9));
    assert_eq!(generated(&auto, text("x")), Ok(Key::from(6.0)));
    put_at(&auto, Key::from(3.0));
    put_at(&auto, Key::from(-7.0));
    put_at(&auto, Key::from("100"));
    put_at(&auto, Key::Date(1e6));
    put_at(&auto, Key::array(vec![Key::from(1e6)]).unwrap());
    assert_eq!(generated(&auto, text("x")), Ok(Key::from(7.0)));
    put_at(&auto, Key::from(8.0));
    assert_eq!(generated(&auto, text("x")), Ok(Key::from(9.0)));
}

#[test]
fn a_generator_is_used_up_after_2_to_the_53() {
    for last in [TOP, 1e300, f64::INFINITY] {
        let place = place();
        let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
        let auto = store(&transaction, "auto");
        put_at(&auto, Key::from(TOP - 1.0));
        assert_eq!(generated(&auto, text("x")), Ok(Key::from(TOP)), "{last}");
        assert_eq!(
            generated(&auto, text("x")),
            Err("ConstraintError"),
            "{last}"
        );
        // Keys that are given are as welcome as ever.
        put_at(&auto, Key::from(last));
        put_at(&auto, Key::from(1.0));
        assert_eq!(
            generated(&auto, text("x")),
            Err("ConstraintError"),
            "{last}"
        );
    }
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let auto = store(&transaction, "auto");
    put_at(&auto, Key::from(f64::INFINITY));
    assert_eq!(generated(&auto, text("x")), Err("ConstraintError"));
}

#[test]
fn a_failed_request_does_not_move_a_generator() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let auto = store(&transaction, "auto");
    assert_eq!(generated(&auto, object(&[("u", 1.0)])), Ok(Key::from(1.0)));
    assert_eq!(
        generated(&auto, object(&[("u", 1.0)])),
        Err("ConstraintError")
    );
    let given = auto
        .put(object(&[("u", 1.0)]), Some(Key::from(50.0)))
        .unwrap();
    assert_eq!(refused(given.wait()), "ConstraintError");
    assert_eq!(generated(&auto, text("x")), Ok(Key::from(2.0)));
}

#[test]
fn a_generated_key_is_put_into_the_value_and_its_indexes_see_it() {
    let place = place();
    place.connection().close();
    let upgrade = place.open(2, |upgrade| {
        let store = store(&upgrade.transaction, "auto-in");
        store.create_index(js("by id"), path("id"), UNIQUE)?;
        store.put(object(&[("x", 5.0)]), None)?.wait()?;
        let found = store
            .index(js("by id"))?
            .get(Key::from(1.0))?
            .wait()?
            .unwrap();
        let found: std::collections::BTreeMap<String, f64> = found.deserialize()?;
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [("id".into(), 1.0), ("x".into(), 5.0)]
        );
        // A key that is there moves the generator.
        store.put(object(&[("id", 10.0)]), None)?.wait()?;
        assert_eq!(generated(&store, object(&[])), Ok(Key::from(11.0)));
        let by_id = store.index(js("by id"))?;
        let entries = by_id.get_all_keys(KeyRange::all(), GetAllOptions::default())?;
        let entries = entries.wait()?;
        let entries: Vec<_> = entries
            .iter()
            .map(|entry| (entry.key(), entry.primary_key()))
            .collect();
        assert_eq!(
            entries,
            [1.0, 10.0, 11.0].map(|id| (Key::from(id), Key::from(id)))
        );
        Ok(())
    });
    upgrade.unwrap();
}
