//! What `larder export` and `import` have taken there and back, and what a merge has made, is for Chromium what the source is.

use std::path::Path;
use std::process::Command;

use larder_fixtures::canonical::with_large_stack;
use larder_fixtures::chromium::{self, Store};
use larder_fixtures::sample_of;

use crate::golden::{shown, shown_golden};
use crate::{NOT_MIGRATED_BY_CHROMIUM, agree, records};

const OTHER_ORIGIN: &str = "http://127.0.0.1:18945";

/// A sample of ages; `LARDER_WHOLE` takes all.
const SAMPLE: [&str; 4] = ["c156-lite", "c131-lite", "c83-lite", "c156-killed-zero"];

fn larder(command: &str, from: &Path, to: &Path, options: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_larder"))
        .arg(command)
        .args([from, to])
        .args(options)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn archives_taken_back_and_merged_stores_are_the_same_to_chromium() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let mut all = 0;
        for fixture in sample_of(larder_fixtures::all(), &SAMPLE) {
            let name = &*fixture.name;
            if name == NOT_MIGRATED_BY_CHROMIUM {
                continue;
            }
            let source = fixture.copy();
            let dir = tempfile::tempdir().unwrap();
            let [archive, back, merged] =
                ["a.jsonl", "back", "merged"].map(|name| dir.path().join(name));
            let origin = ["--origin", OTHER_ORIGIN];
            larder("export", &source.leveldb(), &archive, &[]);
            larder("import", &archive, &back, &origin);
            let some = [&origin[..], &["--upper", "5"]].concat();
            larder("copy", &source.leveldb(), &merged, &some);
            let rest = [&origin[..], &["--on-conflict", "fail"]].concat();
            larder("copy", &source.leveldb(), &merged, &rest);
            let theirs = shown_golden(chromium, &fixture);
            for dir in [&back, &merged] {
                let ours = shown(chromium, &Store::within(dir, OTHER_ORIGIN));
                agree(&ours, theirs, name);
            }
            all += records(theirs);
        }
        println!("{all} records agreed, twice");
        assert!(all > 1000);
    });
}
