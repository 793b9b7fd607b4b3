//! Storage buckets of a real profile: the command has their names from it.

use std::process::Command;

use larder_fixtures::chromium;
use serde_json::{Value, json};

use crate::ORIGIN;

const MAKE: &str = r#"
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
const make = async (factory, text) => {
  const opening = factory.open("db");
  opening.onupgradeneeded = () => opening.result.createObjectStore("s").put(text, 1);
  (await done(opening)).close();
};
await make(indexedDB, "of no name");
for (const name of ["drafts", "inbox"]) await make((await navigator.storageBuckets.open(name)).indexedDB, name);
return null;
"#;

fn larder(arguments: &[&str]) -> (bool, String, String) {
    let larder = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        larder.status.success(),
        text(larder.stdout),
        text(larder.stderr),
    )
}

#[test]
fn buckets_have_the_names_that_the_page_gave_them() {
    let Some(chromium) = chromium::shared() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let profile = dir.path().join("profile");
    let made = chromium.run_in_profile(&profile, ORIGIN, MAKE, &json!(null));
    made.unwrap();
    let profile = profile.to_str().unwrap();
    let (is_well, listed, told) = larder(&["ls", profile, "--json"]);
    assert!(is_well && told.is_empty(), "{told}");
    let listed: Vec<Value> = listed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut buckets: Vec<_> = listed
        .iter()
        .filter(|store| store["origin"] == ORIGIN)
        .map(|store| (store["bucket_name"].as_str(), store["bucket"].as_str()))
        .collect();
    buckets.sort_unstable();
    let [
        (None, None),
        (Some("drafts"), Some(drafts)),
        (Some("inbox"), Some(inbox)),
    ] = buckets[..]
    else {
        panic!("{buckets:?}");
    };

    let (_, listed, _) = larder(&["ls", profile, "--origin", ORIGIN]);
    for heading in [
        format!("{ORIGIN}\n"),
        format!("{ORIGIN} (bucket {drafts} \"drafts\")\n"),
        format!("{ORIGIN} (bucket {inbox} \"inbox\")\n"),
    ] {
        assert!(listed.contains(&heading), "{heading}: {listed}");
    }
    for wanted in ["inbox", inbox] {
        let (is_well, dumped, told) = larder(&["dump", profile, "--bucket", wanted]);
        assert!(is_well && dumped.contains("inbox"), "{dumped} {told}");
        assert!(!dumped.contains("of no name") && !dumped.contains("drafts"));
    }
    let (is_well, _, told) = larder(&["dump", profile, "--bucket", "outbox"]);
    assert!(
        !is_well && told.contains("no store of bucket outbox here"),
        "{told}"
    );
}
