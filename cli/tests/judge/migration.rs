//! Chromium's own migration from LevelDB to SQLite files, and `larder copy`, on the same stores: both show all that the format can say, and the copy brings
//! the rest back.

use larder_fixtures::canonical::with_large_stack;
use larder_fixtures::chromium::{self, Store};
use serde_json::Value;

use crate::golden::store_of;
use crate::sqlite::{Unsaid, as_in_sqlite, larder_copy};
use crate::{NOT_MIGRATED_BY_CHROMIUM, agree, dumped, leave_out_color_spaces, records};

/// A sample; with `LARDER_MIGRATIONS` all are taken, and it is said which the browser cannot migrate: a minute or two for some of them.
const SAMPLE: [&str; 2] = ["c156", "c156-lite"];

#[test]
fn chromiums_migration_loses_what_the_copy_brings_back_and_nothing_else() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared_migrating() else {
            return;
        };
        let takes_all = std::env::var_os("LARDER_MIGRATIONS").is_some();
        let (mut all, mut lost, mut stores) = (0, Unsaid::default(), 0);
        let mut failed = 0;
        println!("| store | records | key paths that a migration loses | -0 in keys | the copy |");
        println!("|---|---:|---:|---:|---:|");
        for fixture in larder_fixtures::all() {
            let name = &*fixture.name;
            if name == NOT_MIGRATED_BY_CHROMIUM || !(takes_all || SAMPLE.contains(&name)) {
                continue;
            }
            let opened = fixture.open();
            let original = store_of(&fixture, &opened.leveldb());
            let out = tempfile::tempdir().unwrap();
            let script = "await indexedDB.databases(); return null;";
            let migrated = chromium.run(&original, script, &Value::Null, out.path());
            let (to, back) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            larder_copy(&original.leveldb, to.path(), "sqlite");
            larder_copy(to.path(), back.path(), "leveldb");
            let mut shown = dumped(&original);
            let mut brought_back = dumped(&Store::within(back.path(), &fixture.origin));
            [&mut shown, &mut brought_back]
                .into_iter()
                .for_each(leave_out_color_spaces);
            agree(&brought_back, &shown, &format!("{name}, copied and back"));
            let unsaid = as_in_sqlite(&mut shown);
            let migrated = match migrated {
                Ok(migrated) => migrated.store,
                Err(why) => {
                    assert!(takes_all, "{name}: {why}");
                    let why = why.lines().next().unwrap_or_default();
                    println!("| {name} | {} | none: {why} | | 0 |", records(&shown));
                    failed += 1;
                    continue;
                }
            };
            let mut theirs = dumped(&migrated);
            assert_eq!(as_in_sqlite(&mut theirs), Unsaid::default(), "{name}");
            leave_out_color_spaces(&mut theirs);
            agree(&shown, &theirs, &format!("{name}, migrated"));
            println!(
                "| {name} | {} | {} | {} | 0 |",
                records(&shown),
                unsaid.paths,
                unsaid.zeros
            );
            all += records(&shown);
            lost.paths += unsaid.paths;
            lost.zeros += unsaid.zeros;
            stores += 1;
        }
        println!(
            "{stores} stores, {all} records: the migration lost {lost:?}, the copy nothing; {failed} stores that it did not migrate"
        );
        assert!(stores >= SAMPLE.len() && lost.paths > 0 && lost.zeros > 0);
    });
}
