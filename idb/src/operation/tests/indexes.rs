//! Index keys: beside those that the tree of each value gives, and filled later beside filled at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use larder_backing_store::CursorDirection;
use larder_codec::value::Decoder;
use larder_codec::{JsString, Key, KeyPath};
use serde::Serialize;

use super::super::{GetAll, Wanted, create_index, delete, delete_index, get_all};
use super::put_value;
use larder_fixtures::random::Random;

use super::{Bed, Execution, IndexCell, StoreCell, Value, by, make_index, make_store};
use crate::error::ErrorName;
use crate::key_range::KeyRange;

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum Any {
    Number(f64),
    Text(&'static str),
    Nothing(()),
    Truth(bool),
    Many(Vec<Any>),
    Object(BTreeMap<&'static str, Any>),
}

fn any(random: &mut Random, depth: u32) -> Any {
    match random.below(if depth == 0 { 4 } else { 7 }) {
        0 => Any::Number(random.below(4) as f64 - 1.0),
        1 => Any::Text(["", "a", "ab"][random.below(3) as usize]),
        2 => Any::Nothing(()),
        3 => Any::Truth(true),
        4 => Any::Many(
            (0..random.below(4))
                .map(|_| any(random, depth - 1))
                .collect(),
        ),
        _ => {
            let names = ["a", "b", "length"];
            let named = names.iter().filter(|_| random.below(2) == 0).copied();
            let named: Vec<_> = named.collect();
            Any::Object(
                named
                    .into_iter()
                    .map(|name| (name, any(random, depth - 1)))
                    .collect(),
            )
        }
    }
}

fn paths() -> Vec<(KeyPath, bool)> {
    let one = |path: &str| KeyPath::String(path.into());
    let array = KeyPath::Array(vec!["a".into(), "b".into()]);
    vec![
        (one("a"), false),
        (one("a"), true),
        (one("a.b"), false),
        (one("b.length"), true),
        (one(""), true),
        (array, false),
    ]
}

/// Index key and primary key of every entry.
fn entries(
    execution: &mut Execution,
    store: &Arc<StoreCell>,
    index: &Arc<IndexCell>,
) -> Vec<(Key, Key)> {
    let ask = GetAll {
        source: by(store, index),
        range: KeyRange::all(),
        direction: CursorDirection::Next,
        wanted: Wanted::Keys,
        count: 0,
    };
    let found = get_all(execution, &ask).unwrap();
    found
        .iter()
        .map(|entry| (entry.key(), entry.primary_key()))
        .collect()
}

#[test]
fn indexes_have_the_keys_that_the_trees_of_the_values_have() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let bed = Bed::new();
        let mut execution = bed.upgrade();
        let store = make_store(&mut execution, "s", KeyPath::Null, false);
        let made = |execution: &mut Execution, when: &str| -> Vec<Arc<IndexCell>> {
            let cells = paths()
                .into_iter()
                .enumerate()
                .map(|(at, (path, multi_entry))| {
                    let name = JsString::from(&*format!("{when} {at}"));
                    let cell = Arc::new(IndexCell::new(name.clone(), path, false, multi_entry));
                    create_index(execution, &store, &cell, name.clone(), None).unwrap();
                    store.add_index(&name, Arc::clone(&cell));
                    cell
                });
            cells.collect()
        };
        let before = made(&mut execution, "before");
        let mut kept: BTreeMap<u64, Value> = BTreeMap::new();
        for _ in 0..random.below(30) {
            let key = random.below(12);
            let primary_key = Key::Number(key as f64);
            if random.below(5) == 0 {
                delete(&mut execution, &store, &primary_key.into()).unwrap();
                kept.remove(&key);
                continue;
            }
            let value = Value::serialize(&any(&mut random, 3)).unwrap();
            put_value(&mut execution, &store, value.clone(), Some(primary_key)).unwrap();
            kept.insert(key, value);
        }
        let after = made(&mut execution, "after");
        for (cell, later) in before.iter().zip(&after) {
            let mut expected = Vec::new();
            for (key, value) in &kept {
                let payload = larder_codec::value::Payload::read(value.bytes()).unwrap();
                let tree = Decoder::new().decode(&payload).unwrap();
                let path = cell.path.as_ref().unwrap();
                for index_key in tree.index_keys(path, cell.multi_entry, &[]) {
                    expected.push((index_key, Key::Number(*key as f64)));
                }
            }
            expected.sort();
            assert_eq!(
                entries(&mut execution, &store, cell),
                expected,
                "seed {seed}"
            );
            assert_eq!(
                entries(&mut execution, &store, later),
                expected,
                "seed {seed}"
            );
        }
    }
}

#[test]
fn a_unique_index_over_records_that_share_a_key_is_refused_wherever_they_lie() {
    let bed = Bed::new();
    let mut execution = bed.upgrade();
    let store = make_store(&mut execution, "s", KeyPath::Null, false);
    for number in 0..2_500_u32 {
        let value = Value::serialize(&[number % 2_499]).unwrap();
        put_value(
            &mut execution,
            &store,
            value,
            Some(f64::from(number).into()),
        )
        .unwrap();
    }
    let refused = make_index(&mut execution, &store, "i", "0", (true, false));
    assert_eq!(refused.unwrap_err().name(), ErrorName::ConstraintError);
    delete(&mut execution, &store, &2_499.0.into()).unwrap();
    let index = make_index(&mut execution, &store, "again", "0", (true, false)).unwrap();
    assert_eq!(entries(&mut execution, &store, &index).len(), 2_499);
    delete_index(&mut execution, &store, &index).unwrap();
    store.remove_index(&"again".into());
    let value = Value::serialize(&[0_u32]).unwrap();
    let free = put_value(&mut execution, &store, value, Some(9_999.0.into()));
    assert!(free.is_ok(), "an index that was deleted forbids nothing");
}
