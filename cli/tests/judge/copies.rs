//! What `larder copy` has copied, also under another origin, is for Chromium what the source is; of stores in Qt 5's order, which Chromium
//! does not find whole, all of it.

use std::path::Path;
use std::process::Command;

use larder_fixtures::canonical::with_large_stack;
use larder_fixtures::chromium::{self, Store};

use crate::golden::{shown, shown_golden, store_of};
use crate::{NOT_MIGRATED_BY_CHROMIUM, agree, dumped, records};

const OTHER_ORIGIN: &str = "http://127.0.0.1:18944";

fn copied(from: &Path, to: &Path) -> Store {
    let output = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["copy", "--origin", OTHER_ORIGIN])
        .args([from, to])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    Store::within(to, OTHER_ORIGIN)
}

#[test]
fn copies_of_golden_stores_under_another_origin_are_the_same_to_chromium() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let (mut stores, mut all) = (0, 0);
        for fixture in larder_fixtures::varied() {
            if fixture.name == NOT_MIGRATED_BY_CHROMIUM {
                continue;
            }
            let source = fixture.copy();
            let to = tempfile::tempdir().unwrap();
            let copy = copied(&source.leveldb(), to.path());
            let theirs = shown_golden(chromium, &fixture);
            agree(&shown(chromium, &copy), theirs, &fixture.name);
            stores += 1;
            all += records(theirs);
        }
        assert!(stores > 8 && all > 1_000, "{stores} stores, {all} records");
        println!("{stores} copies agreed, {all} records");
    });
}

#[test]
fn chromium_finds_every_record_of_a_copy_of_a_store_in_qt_5s_order() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        for fixture in larder_fixtures::in_another_order() {
            let source = fixture.open();
            let to = tempfile::tempdir().unwrap();
            let copy = copied(&source.leveldb(), to.path());
            let ours = dumped(&copy);
            let original = store_of(&fixture, &source.leveldb());
            assert_eq!(
                records(&ours),
                records(&dumped(&original)),
                "{}",
                fixture.name
            );
            agree(&ours, &shown(chromium, &copy), &fixture.name);
            println!("{}: {} records agreed", fixture.name, records(&ours));
        }
    });
}
