//! What scripts find beside IndexedDB: the script host's own tests hold in a page of Chromium, too.

use std::path::Path;

use larder_fixtures::chromium;
use serde_json::json;

use crate::ORIGIN;

/// Those scripts of `js-host/tests/scripts` that also use what a page has.
const SCRIPTS: [&str; 7] = [
    "broadcast_channel",
    "dedicated_worker",
    "numbers",
    "performance",
    "realms_databases",
    "subtle_crypto",
    "web_storage",
];

/// Runs the prelude and the test, and gives what went wrong and the number of checks.
const IN_PAGE: &str = r#"
const wrong = [];
const made = new Promise((resolve) => {
  console.error = (text) => wrong.push(String(text));
  console.log = (text) => {
    const found = /^checks made: (\d+)$/.exec(text);
    if (found !== null) resolve(Number(found[1]));
  };
});
for (const source of args) (0, eval)(source);
return [await made, wrong];
"#;

#[test]
fn the_script_hosts_tests_of_what_is_no_database_hold_in_a_page() {
    let Some(chromium) = chromium::shared() else {
        return;
    };
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../js-host/tests/scripts");
    let read = |name: &str| std::fs::read_to_string(scripts.join(name)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for name in SCRIPTS {
        // In a scope of its own: each has helpers of the same names.
        let test = format!("{{ {} }}", read(&format!("{name}.js")));
        let args = json!([read("prelude/checks.js"), test]);
        let page = chromium.run_in_profile(folder.path(), ORIGIN, IN_PAGE, &args);
        let page = page.unwrap();
        assert_eq!(page[1], json!([]), "{name}");
        assert!(page[0].as_u64().unwrap() > 5, "{name}: {page}");
    }
}
