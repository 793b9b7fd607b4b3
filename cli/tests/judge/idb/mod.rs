//! Programs of hosts with `larder-idb` in Larder's place: Chromium shows their stores as `larder-idb` does, and the
//! other way round.

mod document;
mod turn;

use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium::{self, Chromium, Store};
use serde_json::{Value, json};

use super::{ORIGIN, agree, check_entries, dumped, records, setting, theirs};
use larder_fixtures::random::Random;
use turn::Did;

/// What an idb that opens the store anew finds.
fn seen(store: &Store, random: &mut Random) -> Value {
    let storage = turn::storage(store.leveldb.parent().unwrap(), random);
    let found = document::document(&turn::factory(&storage, &store.origin));
    storage.close().unwrap();
    databases_of(json!({ "databases": found }))
}

/// A host's turn in place: what it did, and what it then saw of it itself.
fn host(store: &Store, random: &mut Random) -> (Vec<String>, Value) {
    let did = Did::default();
    let storage = turn::storage(store.leveldb.parent().unwrap(), random);
    let factory = turn::factory(&storage, &store.origin);
    for _ in 0..1 + random.below(5) {
        turn::take(&factory, random, &did);
    }
    let found = document::document(&factory);
    storage.close().unwrap();
    let did = did.lock().unwrap().clone();
    (did, databases_of(json!({ "databases": found })))
}

fn round(
    chromium: &Chromium,
    store: &Store,
    random: &mut Random,
    out: &std::path::Path,
    what: &str,
) -> (Store, usize) {
    let (did, found) = host(store, random);
    let what = format!("{what}, after {did:?}");
    agree(
        &seen(store, random),
        &found,
        &format!("{what}: idb, then idb before it was closed"),
    );
    agree(
        &dumped(store),
        &found,
        &format!("{what}: the dump, then idb"),
    );
    agree(&found, &databases_of(chromium.dump(store).unwrap()), &what);
    let arguments = theirs::arguments(random.next());
    let changed = chromium
        .run(store, theirs::SCRIPT, &arguments, out)
        .unwrap();
    let ours = seen(&changed.store, random);
    agree(
        &ours,
        &databases_of(changed.value),
        &format!("{what}, and Chromium's turn"),
    );
    (changed.store, records(&ours))
}

#[test]
fn chromium_shows_what_programs_of_idb_left_and_idb_what_chromium_made_of_it() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let (rounds, seed) = (
            setting("LARDER_IDB_ROUND_TRIPS", 12),
            setting("LARDER_SEED", 1),
        );
        println!("seed {seed}, {rounds} rounds");
        let mut random = Random::new(seed);
        let mut dir = tempfile::tempdir().unwrap();
        let mut store = Store::within(dir.path(), ORIGIN);
        let (mut most, mut entries) = (0, 0);
        for n in 0..rounds {
            if n > 0 && n.is_multiple_of(25) {
                // From nothing again.
                dir = tempfile::tempdir().unwrap();
                store = Store::within(dir.path(), ORIGIN);
            }
            let out = dir.path().join(format!("after {n}"));
            let what = format!("seed {seed}, round {n}");
            let (after, count) = round(chromium, &store, &mut random, &out, &what);
            (store, most) = (after, most.max(count));
            entries = entries.max(check_entries(&dumped(&store), &what));
        }
        assert!(
            most > 20 && entries > 20,
            "{most} records and {entries} index entries at most: too few to tell anything"
        );
        println!("{rounds} round trips agreed; {most} records at most");
    });
}
