//! The program `wpt` at an address of a distributed store: a suite of one file, whose database is there for the next run.
#![cfg(all(feature = "etcd", feature = "postgres"))]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]
#![expect(clippy::disallowed_methods, reason = "tests work on real folders")]

use larder_fixtures::servers::{Etcd, Postgres, Rados};
use std::path::Path;
use std::process::{Command, Output};

/// What of `testharness.js` the program uses.
const HARNESS: &str = "
const callbacks = [];
const tests = [];
self.setup = () => {};
self.add_completion_callback = (callback) => callbacks.push(callback);
self.done = () => {};
self.timeout = () => callbacks.forEach((callback) => callback(tests, { status: 0, message: null }));
self.passed = (name) => tests.push({ name, status: 0, message: null });
";

/// Puts one record more, and says how many there are.
const FILE: &str = "
const opened = indexedDB.open('notes', 1);
opened.onupgradeneeded = () => opened.result.createObjectStore('notes', { autoIncrement: true });
opened.onsuccess = () => {
  const notes = opened.result.transaction('notes', 'readwrite').objectStore('notes');
  notes.put('note');
  notes.count().onsuccess = (event) => passed(`records: ${event.target.result}`);
};
";

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A run of the suite's one file.
fn run(suite: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wpt"));
    command.args(arguments).args(["--form", "window", "a.any"]);
    command.env("WPT_DIR", suite).output().unwrap()
}

#[test]
fn databases_of_the_suite_lie_at_an_address() {
    let (Some(postgres), Some(etcd)) = (Postgres::shared(), Etcd::shared()) else {
        return;
    };
    let suite = tempfile::tempdir().unwrap();
    let suite = suite.path();
    write(&suite.join("resources/testharness.js"), HARNESS);
    write(&suite.join("IndexedDB/a.any.js"), FILE);
    let json = suite.join("results.json");
    let etcd = format!("etcd://{}", etcd.endpoints());
    let mut addresses = vec![postgres.new_database(), etcd];
    if cfg!(feature = "rados") {
        addresses.extend(Rados::shared().map(Rados::url));
    }
    for address in addresses {
        let url = format!("{address}/suite");
        for executor in [&[][..], &["--threads"]] {
            let namespace = format!("{url}/{}", executor.len());
            for count in 1..4 {
                let json = json.to_str().unwrap();
                let mut arguments = vec!["--storage", &namespace, "--json", json];
                arguments.extend(executor);
                let output = run(suite, &arguments);
                let said = String::from_utf8_lossy(&output.stdout);
                assert!(output.status.success(), "{said}");
                let results: serde_json::Value =
                    serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
                let name = &results[0]["tests"][0]["name"];
                assert_eq!(name, &format!("records: {count}"), "{results}");
            }
        }
        // Copies are of folders.
        let refused = run(suite, &["--storage", &url, "--keep", "copies"]);
        assert!(!refused.status.success());
        // Without a namespace the file's process fails, and the run with it.
        let refused = run(suite, &["--storage", &address]);
        assert!(!refused.status.success());
    }
}
