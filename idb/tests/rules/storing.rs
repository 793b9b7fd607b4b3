//! "Store a record into an object store" (specification, 6.1), deletions (6.4, 6.6), and what a failed request leaves (5.6).

use larder_idb::{GetAllOptions, Index, Key, KeyRange, ObjectStore, TransactionMode};

use super::support::*;

fn key(number: f64) -> Key {
    Key::from(number)
}

fn keys(store: &ObjectStore) -> Vec<Key> {
    let all = store
        .get_all_keys(KeyRange::all(), GetAllOptions::default())
        .unwrap();
    all.wait()
        .unwrap()
        .iter()
        .map(|entry| entry.primary_key())
        .collect()
}

fn entries(index: &Index) -> Vec<(Key, Key)> {
    let all = index
        .get_all(KeyRange::all(), GetAllOptions::default())
        .unwrap();
    let all = all.wait().unwrap();
    all.iter()
        .map(|entry| (entry.key(), entry.primary_key()))
        .collect()
}

#[test]
fn add_fails_where_put_overwrites_and_index_entries_follow() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let out = store(&transaction, "out");
    let n = index(&transaction, "out", "n");
    out.add(object(&[("n", 1.0)]), Some(key(1.0)))
        .unwrap()
        .detach();
    let again = out.add(object(&[("n", 2.0)]), Some(key(1.0))).unwrap();
    assert_eq!(refused(again.wait()), "ConstraintError");
    assert_eq!(entries(&n), [(key(1.0), key(1.0))]);
    assert_eq!(
        refused(
            out.put(object(&[("n", 2.0)]), Some(key(1.0)))
                .unwrap()
                .wait()
        ),
        "nothing"
    );
    assert_eq!(entries(&n), [(key(2.0), key(1.0))]);
    assert_eq!(
        refused(out.put(text("x"), Some(key(1.0))).unwrap().wait()),
        "nothing"
    );
    assert_eq!(entries(&n), []);
}

#[test]
fn a_failed_request_takes_back_its_own_work_and_nothing_else() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let out = store(&transaction, "out");
    let (n, u) = (
        index(&transaction, "out", "n"),
        index(&transaction, "out", "u"),
    );
    drop(
        out.put(object(&[("n", 1.0), ("u", 1.0)]), Some(key(1.0)))
            .unwrap(),
    );
    drop(
        out.put(object(&[("n", 2.0), ("u", 2.0)]), Some(key(2.0)))
            .unwrap(),
    );
    // It would overwrite record 2, and meets record 1 in the unique index.
    let failed = out
        .put(object(&[("n", 3.0), ("u", 1.0)]), Some(key(2.0)))
        .unwrap();
    assert_eq!(refused(failed.wait()), "ConstraintError");
    assert_eq!(keys(&out), [key(1.0), key(2.0)]);
    assert_eq!(entries(&n), [(key(1.0), key(1.0)), (key(2.0), key(2.0))]);
    assert_eq!(entries(&u), [(key(1.0), key(1.0)), (key(2.0), key(2.0))]);
}

#[test]
fn a_record_does_not_stand_in_its_own_way_in_a_unique_index() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let out = store(&transaction, "out");
    for n in [1.0, 2.0] {
        let put = out
            .put(object(&[("n", n), ("u", 5.0)]), Some(key(1.0)))
            .unwrap();
        assert_eq!(refused(put.wait()), "nothing");
    }
    let other = out.put(object(&[("u", 5.0)]), Some(key(2.0))).unwrap();
    assert_eq!(refused(other.wait()), "ConstraintError");
}

#[test]
fn a_multi_entry_index_has_each_key_of_the_list_once() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let out = store(&transaction, "out");
    let m = index(&transaction, "out", "m");
    drop(
        out.put(listing("m", &[3.0, 1.0, 3.0, f64::NAN]), Some(key(1.0)))
            .unwrap(),
    );
    assert_eq!(entries(&m), [(key(1.0), key(1.0)), (key(3.0), key(1.0))]);
    out.put(listing("m", &[]), Some(key(2.0))).unwrap().detach();
    out.put(object(&[("m", 2.0)]), Some(key(3.0)))
        .unwrap()
        .detach();
    assert_eq!(
        entries(&m),
        [
            (key(1.0), key(1.0)),
            (key(2.0), key(3.0)),
            (key(3.0), key(1.0))
        ]
    );
}

#[test]
fn a_list_is_one_key_of_an_index_that_is_not_multi_entry() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let out = store(&transaction, "out");
    out.put(listing("n", &[2.0, 1.0]), Some(key(1.0)))
        .unwrap()
        .detach();
    drop(
        out.put(listing("n", &[2.0, f64::NAN]), Some(key(2.0)))
            .unwrap(),
    );
    let list = Key::array(vec![key(2.0), key(1.0)]).unwrap();
    assert_eq!(
        entries(&index(&transaction, "out", "n")),
        [(list, key(1.0))]
    );
}

#[test]
fn deleting_takes_the_whole_range_and_its_index_entries() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let out = store(&transaction, "out");
    for number in [1.0, 2.0, 3.0, 4.0] {
        drop(
            out.put(object(&[("n", number)]), Some(key(number)))
                .unwrap(),
        );
    }
    let range = KeyRange::bound(key(2.0), key(4.0), false, true).unwrap();
    out.delete(range).unwrap().wait().unwrap();
    assert_eq!(keys(&out), [key(1.0), key(4.0)]);
    let n = index(&transaction, "out", "n");
    assert_eq!(entries(&n), [(key(1.0), key(1.0)), (key(4.0), key(4.0))]);
    // Nothing there is nothing wrong.
    out.delete(key(9.0)).unwrap().wait().unwrap();
    out.clear().unwrap().wait().unwrap();
    assert!(keys(&out).is_empty() && entries(&n).is_empty());
}

#[test]
fn requests_are_executed_in_the_order_in_which_they_were_made() {
    let place = place();
    let (_connection, transaction) = place.transaction(TransactionMode::ReadWrite);
    let out = store(&transaction, "out");
    let mut counts = Vec::new();
    for number in 0..40 {
        out.put(text("x"), Some(key(f64::from(number))))
            .unwrap()
            .detach();
        counts.push(out.count(KeyRange::all()).unwrap());
    }
    let cleared = out.clear().unwrap();
    let last = out.count(KeyRange::all()).unwrap();
    assert_eq!(last.wait().unwrap(), 0);
    assert!(cleared.is_done());
    for (before, count) in counts.into_iter().enumerate() {
        assert_eq!(count.wait().unwrap(), before as u64 + 1);
    }
}
