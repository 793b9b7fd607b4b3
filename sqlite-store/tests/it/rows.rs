//! Rows of real stores, walked over in every way.

use larder_backing_store::CursorDirection::{Next, Prev};
use larder_codec::compare;

use crate::support::{files, open, rows_of};

#[test]
fn rows_come_in_order_and_every_seek_finds_what_a_search_in_all_of_them_finds() {
    for name in ["s156-lite", "s143-lite", "s156-odd"] {
        let files = files(name);
        let all = rows_of(&files);
        assert!(
            all.is_sorted_by(|(a, _), (b, _)| compare(a, b).is_lt()),
            "{name}"
        );
        let store = open(&files).unwrap();
        let step = larder_fixtures::sampled(3);
        for (n, (key, value)) in all.iter().enumerate().step_by(step) {
            let mut rows = store.rows();
            rows.seek(key).unwrap();
            assert!(rows.next().unwrap(), "{name}: row {n}");
            assert_eq!((rows.key(), rows.value().unwrap()), (&**key, &**value));
            let next = all.get(n + 1).map(|(key, _)| &**key);
            let found = rows.next().unwrap().then(|| rows.key());
            assert_eq!(found, next, "{name}: behind row {n}");
        }
        println!("{name}: {} rows", all.len());
    }
}

#[test]
fn cursors_in_both_directions_see_the_same() {
    let store = open(&files("s156-lite")).unwrap();
    let mut count = 0;
    for database in store.databases(&mut Vec::new()).unwrap() {
        for object_store in &database.object_stores {
            let keys = |direction| {
                let mut records = store.records(database.id, object_store.id, direction);
                let mut keys = Vec::new();
                while records.next().unwrap() {
                    keys.push(records.primary_key().unwrap().as_bytes().to_vec());
                }
                keys
            };
            let (forward, mut backward) = (keys(Next), keys(Prev));
            backward.reverse();
            assert_eq!(forward, backward);
            count += forward.len();
        }
    }
    assert!(count > 300, "{count} records");
}
