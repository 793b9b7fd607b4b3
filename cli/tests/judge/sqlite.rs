//! What `larder copy` makes of a store in SQLite files is for Chromium, as a LevelDB store, what its browser showed of the files.

use std::process::Command;

use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium::{self, Store};

use crate::{agree, records};

/// A sample; `LARDER_WHOLE` takes all.
const SAMPLE: [&str; 3] = ["s156-lite", "s156-odd", "s156-killed-blob"];

#[test]
fn stores_taken_from_sqlite_files_are_the_same_to_chromium() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let takes_all = std::env::var_os("LARDER_WHOLE").is_some();
        let (mut all, mut stores) = (0, 0);
        for fixture in larder_fixtures::in_sqlite() {
            let name = &*fixture.name;
            if !(takes_all || SAMPLE.contains(&name)) {
                continue;
            }
            let to = tempfile::tempdir().unwrap();
            let output = Command::new(env!("CARGO_BIN_EXE_larder"))
                .arg("copy")
                .args([fixture.open().dir(), to.path()])
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{said}");
            let ours = Store::within(to.path(), &fixture.origin);
            let ours = databases_of(chromium.dump(&ours).unwrap());
            let theirs = databases_of(fixture.expected_json());
            agree(&ours, &theirs, name);
            all += records(&theirs);
            stores += 1;
        }
        println!("{all} records of {stores} stores agreed");
        assert!(all > 1000);
    });
}
