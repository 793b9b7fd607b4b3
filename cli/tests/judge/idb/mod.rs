//! Programs of hosts with `larder-idb` in Larder's place: Chromium shows their stores as `larder-idb` does, and the
//! other way round.

mod document;
mod turn;

use larder_fixtures::canonical::databases_of;
use larder_fixtures::chromium::{Chromium, Store};
use serde_json::{Value, json};

use super::{agree, dumped, records, take_turns, theirs};
use larder_fixtures::random::Random;
use turn::Did;

/// What an idb that opens the store anew finds.
pub(crate) fn seen(store: &Store, random: &mut Random) -> Value {
    let storage = turn::storage(store, random);
    let found = document::document(&turn::factory(&storage, &store.origin));
    storage.close().unwrap();
    databases_of(json!({ "databases": found }))
}

/// A host's turn in place: what it did, and what it then saw of it itself.
pub(crate) fn host(store: &Store, random: &mut Random) -> (Vec<String>, Value) {
    let did = Did::default();
    let storage = turn::storage(store, random);
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
    take_turns("LARDER_IDB_ROUND_TRIPS", round);
}
