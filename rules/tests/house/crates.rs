//! Which crate may import which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::{architecture, metadata, root};

/// By folder: the folders of the packages of ours that each may import.
fn allowed() -> BTreeMap<String, BTreeSet<String>> {
    let arrows = architecture("## Which room may import which");
    arrows
        .iter()
        .map(|line| {
            let (from, to) = line.split_once("->").unwrap();
            let to = to.split(',').map(str::trim);
            let to = to.filter(|name| !name.is_empty() && *name != "nothing of ours");
            (from.trim().to_owned(), to.map(str::to_owned).collect())
        })
        .collect()
}

/// What cargo says of it.
fn found() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let folder = |package: &Value| {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        let folder = manifest.parent().unwrap().strip_prefix(root()).unwrap();
        folder.to_str().unwrap().to_owned()
    };
    let folders: BTreeMap<&str, String> = packages
        .iter()
        .map(|package| (package["name"].as_str().unwrap(), folder(package)))
        .collect();
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            let ours = dependencies
                .filter(|dependency| dependency["kind"].is_null())
                .filter_map(|dependency| folders.get(dependency["name"].as_str().unwrap()));
            (folder(package), ours.cloned().collect())
        })
        .collect()
}

#[test]
fn packages_import_what_the_architecture_says() {
    let (allowed, found) = (allowed(), found());
    assert!(allowed.len() > 5, "the arrows were not found: {allowed:?}");
    assert_eq!(found, allowed, "cargo, then ARCHITECTURE.md");
}
