//! Golden stores before Chromium.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{LazyLock, OnceLock};

use larder_backing_store::StorePaths;
use larder_fixtures::Fixture;
use larder_fixtures::canonical::databases_of;
use larder_fixtures::chromium::{Chromium, Store};
use serde_json::Value;

/// The store of a fixture, or what has become of it, in this folder.
pub(crate) fn store_of(fixture: &Fixture, leveldb: &Path) -> Store {
    let paths = StorePaths::of_leveldb(leveldb);
    Store {
        leveldb: paths.leveldb,
        blob: paths.blob,
        origin: fixture.origin.clone(),
    }
}

/// What a page finds in a store.
pub(crate) fn shown(chromium: &Chromium, store: &Store) -> Value {
    databases_of(chromium.dump(store).unwrap())
}

/// What a page of the shared Chromium finds in a golden store as it is. Many tests compare with it: it is asked once. A copy's files have the times
/// that the browser's had, which early Chromiums show as those of their Files.
pub(crate) fn shown_golden(chromium: &Chromium, fixture: &Fixture) -> &'static Value {
    static SHOWN: LazyLock<BTreeMap<String, OnceLock<Value>>> = LazyLock::new(|| {
        let names = larder_fixtures::all().into_iter();
        let names = names.map(|fixture| (fixture.name, OnceLock::new()));
        names.collect()
    });
    SHOWN[&fixture.name]
        .get_or_init(|| shown(chromium, &store_of(fixture, &fixture.copy().leveldb())))
}
