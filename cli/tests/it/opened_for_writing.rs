//! The golden stores, opened for writing and closed, are still what the browsers that wrote them said.

use std::sync::Arc;

use larder_backing_store::{
    BackingStore, FixedClock, OpenOptions, SCHEMA_VERSION_MAX, Store, StorePaths, WriteOptions,
};
use larder_codec::Origin;
use larder_fixtures::Fixture;
use larder_leveldb::storage::DiskFileSystem;
use serde_json::Value;

use crate::support::{compare_with_browser, for_every};

fn leave_out_color_spaces(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(leave_out_color_spaces),
        Value::Object(members) => {
            members.remove("colorSpace");
            members.values_mut().for_each(leave_out_color_spaces);
        }
        _ => {}
    }
}

fn check(fixture: &Fixture) -> Result<(), String> {
    check_opened(fixture, false)?;
    check_opened(fixture, true)
}

fn check_opened(fixture: &Fixture, raise_schema: bool) -> Result<(), String> {
    let copy = fixture.copy();
    let paths = StorePaths::of_leveldb(&copy.leveldb());
    let origin = Origin::from_url(&fixture.origin).unwrap();
    let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
    let fs = Arc::new(DiskFileSystem::new());
    let store = Store::open_read_only(fs.clone(), paths.clone(), OpenOptions::default()).unwrap();
    options.raise_schema = raise_schema;
    let is_migrated = raise_schema && store.schema_version() != Some(SCHEMA_VERSION_MAX);
    drop(store);
    BackingStore::open(fs, paths, options)
        .and_then(BackingStore::close)
        .map_err(|error| format!("{}: {error}", fixture.name))?;
    compare_with_browser(fixture, &copy.leveldb(), |ours| {
        if is_migrated {
            // Shown as by a browser of schema 5, whose images have more members.
            leave_out_color_spaces(ours);
        }
    })
}

#[test]
fn every_golden_store_opened_for_writing_dumps_to_what_its_browser_showed() {
    for_every(larder_fixtures::varied(), check);
}
