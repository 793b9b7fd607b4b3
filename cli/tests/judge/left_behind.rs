//! Chromium finds in each store below the folder that `LARDER_STORES` names what `larder dump` finds there.
//!
//! This is for stores that a run of the conformance suite on disk leaves behind, each in a folder of its own, and for
//! the copies that it takes before a test deletes its database (`--keep`): Chromium shows no difference between a store
//! that was wiped and one without a database, so at least one must have some. See CONTRIBUTING.md.

use std::path::{Path, PathBuf};

use larder_backing_store::StorePaths;
use larder_codec::Origin;
use larder_fixtures::canonical::{databases_of, first_difference, with_large_stack};
use larder_fixtures::chromium::{self, Store};

use crate::{dumped, records};

/// The LevelDB folders below a folder, by name.
fn leveldb_folders(dir: &Path, found: &mut Vec<PathBuf>) {
    let entries = dir.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    for folder in folders {
        match folder.to_string_lossy().ends_with(".indexeddb.leveldb") {
            true => found.push(folder),
            false => leveldb_folders(&folder, found),
        }
    }
}

#[test]
#[ignore = "needs stores that something else has left behind"]
fn chromium_opens_every_store_that_was_left_behind() {
    with_large_stack(|| {
        let Some(dir) = std::env::var_os("LARDER_STORES") else {
            println!("skipped: LARDER_STORES does not name a folder of stores");
            return;
        };
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let mut found = Vec::new();
        leveldb_folders(dir.as_ref(), &mut found);
        let (mut all_records, mut databases, mut full, mut differ) = (0, 0, 0, Vec::new());
        for leveldb in &found {
            let paths = StorePaths::of_leveldb(leveldb);
            let origin = paths.identifier().and_then(Origin::from_identifier);
            let store = Store {
                leveldb: leveldb.clone(),
                blob: paths.blob.clone(),
                origin: origin.unwrap().to_string(),
            };
            let ours = dumped(&store);
            all_records += records(&ours);
            let own = ours.as_array().map_or(0, Vec::len);
            databases += own;
            full += usize::from(own > 0);
            let what = leveldb.display().to_string();
            match chromium.dump(&store) {
                Ok(document) => {
                    let theirs = databases_of(document);
                    if let Some(difference) = first_difference(&ours, &theirs, "databases") {
                        differ.push(format!("{what}: {difference}"));
                    }
                }
                Err(error) => differ.push(format!("{what}: {error}")),
            }
        }
        let count = found.len();
        println!(
            "{count} stores, {full} with databases: {databases} databases, {all_records} records"
        );
        assert!(full > 0, "no stores with databases there");
        assert!(
            differ.is_empty(),
            "ours, then the page's: {}",
            differ.join("\n")
        );
    });
}
