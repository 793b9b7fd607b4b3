//! `build-keys.js`, `key types`: key paths of every form, keys of every type, key generators.

use larder_backing_store::{ErrorKind, PutMode};
use larder_codec::{Key, KeyPath};

use super::*;

const GENERATED: i64 = 11;
const GENERATED_INLINE: i64 = 12;
const MOVED: i64 = 14;
const USED_UP: i64 = 15;
const ZEROS: i64 = 17;

fn create_stores(transaction: &mut WriteTransaction) {
    let key_paths = [
        ("none", KeyPath::Null),
        ("empty", path("")),
        ("id", path("id")),
        ("nested", path("a.b.c")),
        ("list", paths(&["x", "y"])),
        ("list of one", paths(&["x"])),
        ("list nested", paths(&["p.q", "r"])),
        ("length", path("length")),
        ("ключ", path("ключ")),
        ("dollar", path("$_1")),
    ];
    for (name, key_path) in key_paths {
        create_store(transaction, name, key_path, false);
    }
    create_store(transaction, "generated", KeyPath::Null, true);
    create_store(transaction, "generated inline", path("made.id"), true);
    create_store(transaction, "generated untouched", path("id"), true);
    create_store(transaction, "generator moved", KeyPath::Null, true);
    create_store(transaction, "generator used up", KeyPath::Null, true);
    create_store(transaction, "nothing", KeyPath::Null, false);
    create_store(transaction, "zeros", KeyPath::Null, false);
}

/// Puts records, `None` under generated keys; gives the numbers that were generated.
fn put_all(transaction: &mut WriteTransaction, store: i64, keys: &[Option<Key>]) -> Vec<i64> {
    let mut generated = Vec::new();
    for key in keys {
        let put = put(transaction, store, key.as_ref(), PutMode::Put, &vec![]).unwrap();
        generated.extend(put);
    }
    generated
}

fn generate(transaction: &mut WriteTransaction) {
    let number = |number: f64| Some(Key::Number(number));
    let text = |text: &str| Some(Key::from(text));
    let mut plain = vec![None, None, None, text("text"), number(10.75), None];
    plain.extend([number(2.0), number(-5.0)]);
    assert_eq!(put_all(transaction, GENERATED, &plain), [1, 2, 3, 11]);
    let inline = [None, None, number(40.0), text("own"), None];
    assert_eq!(put_all(transaction, GENERATED_INLINE, &inline), [1, 2, 41]);
    assert_eq!(put_all(transaction, MOVED, &[number(300.0), None]), [301]);
    put_all(transaction, USED_UP, &[number(9_007_199_254_740_992.0)]);
    let refused = put(transaction, USED_UP, None, PutMode::Put, &vec![]);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Constraint);
    put_all(transaction, ZEROS, &[number(0.0), number(-0.0)]);
}

#[test]
fn keys_of_every_type_and_key_generators_leave_the_rows_that_chromium_leaves() {
    for fixture in FIXTURES {
        let written = Written::new(fixture, "key types");
        let ours = Ours::new(written.id);
        ours.version_change(3, create_stores);
        for store in 1..=10 {
            ours.transact(&[store], |transaction| {
                for key in written.puts(store) {
                    put_ok(transaction, store, key, &vec![]);
                }
            });
        }
        let stores = [GENERATED, GENERATED_INLINE, MOVED, USED_UP, ZEROS];
        ours.transact(&stores, generate);
        let mut aborted = ours.begin(&[MOVED]);
        put_all(&mut aborted, MOVED, &[Some(Key::Number(5000.0)), None]);
        aborted.rollback();
        ours.assert_same(&written);
    }
}
