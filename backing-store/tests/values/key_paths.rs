//! Evaluating key paths on stored values gives the keys that Chromium stored beside them.

use std::collections::BTreeMap;

use larder_backing_store::{CursorDirection, DatabaseMetadata, ObjectStoreMetadata, Store};
use larder_codec::value::{Decoder, Envelope, Evaluated, Evaluator, ParsedKeyPath, Payload};
use larder_codec::{Key, RawKey};

use crate::stores::{each_object_store, each_value, open};

/// What was counted over all stores.
#[derive(Debug, Default)]
struct Count {
    primary_keys: usize,
    generated: usize,
    index_entries: usize,
    multi_entry: usize,
}

/// Index keys by primary key, of every index of an object store.
type Entries = Vec<BTreeMap<Key, Vec<Key>>>;

#[test]
fn primary_keys_and_index_keys_are_those_that_chromium_stored() {
    let mut count = Count::default();
    for fixture in larder_fixtures::all() {
        let (_files, store) = open(&fixture);
        each_object_store(&store, |database, object_store| {
            let mut entries = entries(&store, database, object_store);
            let name = format!("{} {}", fixture.name, object_store.name);
            each_value(&store, database, object_store, |key, stored| {
                let name = format!("{name} {key:?}");
                check_record(
                    (&store, database, object_store),
                    (key, &stored.payload),
                    &mut entries,
                    &mut count,
                    &name,
                );
            });
        });
    }
    println!("{count:?}");
    assert!(count.primary_keys > 25_000, "{count:?}");
    assert!(count.generated > 100, "{count:?}");
    assert!(count.index_entries > 70_000, "{count:?}");
    assert!(count.multi_entry > 20_000, "{count:?}");
}

fn entries(
    store: &Store,
    database: &DatabaseMetadata,
    object_store: &ObjectStoreMetadata,
) -> Entries {
    let of_index = |index: &larder_backing_store::IndexMetadata| {
        let mut entries = BTreeMap::<_, Vec<_>>::new();
        let mut cursor = store.index_entries(
            database.id,
            object_store.id,
            index.id,
            CursorDirection::Next,
        );
        while cursor.next().unwrap() {
            let primary_key = cursor.primary_key().unwrap().to_key();
            let index_key = cursor.index_key().unwrap().to_key();
            entries.entry(primary_key).or_default().push(index_key);
        }
        entries
    };
    object_store.indexes.iter().map(of_index).collect()
}

fn check_record(
    (store, database, object_store): (&Store, &DatabaseMetadata, &ObjectStoreMetadata),
    (raw_key, payload): (RawKey<'_>, &Payload<'_>),
    entries: &mut Entries,
    count: &mut Count,
    name: &str,
) {
    let key = raw_key.to_key();
    let objects = store.external_objects(database.id, object_store.id, raw_key);
    let objects = objects.unwrap();
    let mut evaluator = Evaluator::new();
    let mut injected = Vec::new();
    let mut buffer = Vec::new();
    let mut payload = *payload;
    if let Some(path) = ParsedKeyPath::new(&object_store.key_path) {
        match evaluator.evaluate(&path, &payload, &objects).unwrap() {
            Evaluated::Key(found) => assert_eq!(found, key, "{name}"),
            Evaluated::Missing if object_store.auto_increment => {
                assert_eq!(evaluator.can_inject(&path, &payload), Ok(true), "{name}");
                let done = evaluator.inject(&path, &key, &payload, &mut injected);
                assert_eq!(done, Ok(true), "{name}");
                let Ok(Envelope::Inline(whole)) = Envelope::peel(&injected, &mut buffer) else {
                    panic!("{name}")
                };
                payload = whole;
                let found = evaluator.evaluate(&path, &payload, &objects).unwrap();
                assert_eq!(found, Evaluated::Key(key.clone()), "{name}");
                count.generated += 1;
            }
            other => panic!("{name}: {other:?}"),
        }
        count.primary_keys += 1;
    }
    let tree = Decoder::new().decode(&payload).unwrap();
    for (index, entries) in object_store.indexes.iter().zip(entries) {
        let path = ParsedKeyPath::new(&index.key_path).unwrap();
        // Chromium 75 made no entry if a part of an array was generated; 83 and later do.
        if name.starts_with("c75-lite generated") && index.name == "id and n" {
            assert_eq!(entries.len(), 0, "{name}");
            continue;
        }
        let keys = evaluator.index_keys(&path, index.multi_entry, &payload, &objects);
        let stored = entries.remove(&key).unwrap_or_default();
        assert_eq!(keys.as_ref(), Ok(&stored), "{name} {}", index.name);
        let naive = tree.index_keys(&path, index.multi_entry, &objects);
        assert_eq!(naive, stored, "{name} {}", index.name);
        count.index_entries += stored.len();
        count.multi_entry += if index.multi_entry { stored.len() } else { 0 };
    }
}
