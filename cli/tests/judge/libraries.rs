//! Libraries that pages use, from npm, on `larder run`: what their apps leave is what they leave in a real Chromium.
//!
//! The apps that made the golden stores of `fixtures/apps` (their content is seeded) run here as they ran there, so
//! Chromium's own answers are the expectation. Two more, in `libraries/`, check as they go. Chromium opens what every one of
//! them left. The packages are installed as the fixtures' lock says, into a folder that goes away.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium::{self, Store};
use serde_json::Value;

use crate::{agree, dumped, records};

struct App {
    name: &'static str,
    /// Below `node_modules`.
    libraries: &'static [&'static str],
    script: &'static str,
    /// What the app is called with.
    adapter: Option<&'static str>,
    expected: Expected,
}

/// What a store must hold.
#[derive(PartialEq)]
enum Expected {
    /// What the app checks itself.
    Checked,
    /// What the golden store of this name holds.
    Golden,
    /// Equal to the golden document, but the library takes versions of databases from the clock.
    GoldenButVersions,
}

const APPS: [App; 7] = [
    App {
        name: "dexie",
        libraries: &["dexie/dist/dexie.js"],
        script: "app-dexie.js",
        adapter: None,
        expected: Expected::Golden,
    },
    App {
        name: "localforage",
        libraries: &["localforage/dist/localforage.js"],
        script: "app-localforage.js",
        adapter: None,
        expected: Expected::Golden,
    },
    App {
        name: "pouchdb",
        libraries: &["pouchdb/dist/pouchdb.js"],
        script: "app-pouchdb.js",
        adapter: Some("idb"),
        expected: Expected::Golden,
    },
    App {
        name: "pouchdb-indexeddb",
        libraries: &[
            "pouchdb/dist/pouchdb.js",
            "pouchdb/dist/pouchdb.indexeddb.js",
        ],
        script: "app-pouchdb.js",
        adapter: Some("indexeddb"),
        expected: Expected::GoldenButVersions,
    },
    App {
        name: "y-indexeddb",
        libraries: &[],
        script: "app-yjs.mjs",
        adapter: None,
        expected: Expected::Golden,
    },
    App {
        name: "idb",
        libraries: &["idb/build/umd.js"],
        script: "idb.js",
        adapter: None,
        expected: Expected::Checked,
    },
    App {
        name: "idb-keyval",
        libraries: &["idb-keyval/dist/umd.js"],
        script: "idb-keyval.js",
        adapter: None,
        expected: Expected::Checked,
    },
];

/// Where the apps of the golden stores are, and the lock of what they use.
pub(crate) fn generate() -> std::path::PathBuf {
    larder_fixtures::root().join("generate")
}

/// A folder with the packages and every script; `None`, with a word, if they cannot be had here.
pub(crate) fn installed() -> Option<tempfile::TempDir> {
    let dir = tempfile::tempdir().unwrap();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judge/libraries");
    let files = ["package.json", "package-lock.json", "page/app-content.js"]
        .map(|name| generate().join(name));
    let scripts = [
        "stand-ins.js",
        "run.js",
        "imports.mjs",
        "requires.cjs",
        "workers.mjs",
        "dexie-in-worker.js",
        "followed.js",
    ];
    let scripts = scripts.map(|name| own.join(name));
    let apps = APPS.iter().map(|app| match app.expected {
        Expected::Checked => own.join(app.script),
        _ => generate().join("page").join(app.script),
    });
    for file in files.into_iter().chain(scripts).chain(apps) {
        std::fs::copy(&file, dir.path().join(file.file_name().unwrap())).unwrap();
    }
    let npm = Command::new("npm")
        .args([
            "ci",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--prefer-offline",
        ])
        .current_dir(dir.path())
        .output();
    let why = match npm {
        Ok(output) if output.status.success() => return Some(dir),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    assert!(
        std::env::var_os("LARDER_REQUIRE_PEERS").is_none(),
        "npm: {why}"
    );
    println!("skipped: npm: {why}");
    None
}

/// Runs an app to its end.
fn run(app: &App, dir: &Path, storage: &Path, origin: &str) {
    let adapter = dir.join("adapter.js");
    let mut command = Command::new(env!("CARGO_BIN_EXE_larder"));
    command
        .args(["run", "--origin", origin, "--storage"])
        .arg(storage);
    let mut preload = |script: PathBuf| {
        command.arg("--preload").arg(script);
    };
    preload(dir.join("stand-ins.js"));
    preload(dir.join("app-content.js"));
    for name in app.libraries {
        preload(dir.join("node_modules").join(name));
    }
    if let Some(name) = app.adapter {
        let mut file = tempfile::Builder::new()
            .suffix(".js")
            .tempfile_in(dir)
            .unwrap();
        std::io::Write::write_all(&mut file, format!("self.adapter = '{name}';").as_bytes())
            .unwrap();
        file.persist(&adapter).unwrap();
        preload(adapter);
    }
    preload(dir.join(app.script));
    let output = command.arg(dir.join("run.js")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", app.name);
    assert!(
        output.stdout.ends_with(b"done\n"),
        "{} did not come to its end: {said}",
        app.name
    );
}

fn forget_versions(databases: &mut Value) {
    for database in databases.as_array_mut().into_iter().flatten() {
        database["version"] = Value::Null;
    }
}

#[test]
fn apps_on_libraries_leave_what_they_leave_in_chromium_and_chromium_opens_it() {
    with_large_stack(|| {
        let Some(dir) = installed() else { return };
        for (n, app) in APPS.iter().enumerate() {
            let origin = format!("http://127.0.0.1:{}", 18_940 + n);
            let storage = dir.path().join("storage").join(app.name);
            run(app, dir.path(), &storage, &origin);
            let store = Store::within(&storage, &origin);
            let ours = dumped(&store);
            if let Some(chromium) = chromium::shared() {
                let theirs = databases_of(chromium.dump(&store).unwrap());
                agree(&ours, &theirs, app.name);
            }
            let count = records(&ours);
            if app.expected != Expected::Checked {
                let mut golden = databases_of(larder_fixtures::get(app.name).expected_json());
                let mut ours = ours;
                if app.expected == Expected::GoldenButVersions {
                    forget_versions(&mut ours);
                    forget_versions(&mut golden);
                }
                agree(
                    &ours,
                    &golden,
                    &format!("{} and what it left in Chromium", app.name),
                );
            }
            assert!(count > 5, "{}: {count} records", app.name);
            println!("{}: {count} records agreed", app.name);
        }
    });
}

#[test]
fn packages_are_imported_and_required_by_their_names() {
    let Some(dir) = installed() else { return };
    let run = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["run", "--preload", "stand-ins.js", "imports.mjs"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&run.stderr);
    let said = String::from_utf8_lossy(&run.stdout);
    assert_eq!(
        said.lines().collect::<Vec<_>>(),
        [
            "dexie 2 true",
            "idb 2",
            "idb-keyval 5",
            "localforage asyncStorage 1",
            "pouchdb idb b",
            "yjs 1",
            "required 1,2,function,function,function",
        ],
        "{told}"
    );
    assert!(run.status.success(), "{told}");
}

#[test]
fn a_library_in_a_worker_and_in_its_maker_has_one_database() {
    let Some(dir) = installed() else { return };
    for threads in [None, Some("--threads")] {
        let run = Command::new(env!("CARGO_BIN_EXE_larder"))
            .arg("run")
            .args(threads)
            .arg("workers.mjs")
            .current_dir(dir.path())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&run.stderr);
        let said = String::from_utf8_lossy(&run.stdout);
        let lines: Vec<_> = said.lines().collect();
        let expected = ["added 1", "found 1 ann", "seen Ann,Bob", "deleted"];
        assert_eq!(lines, expected, "{told}");
        assert!(run.status.success(), "{told}");
    }
}

/// The records of a database as dumps show them, by object store and key: those that a page may see.
fn shown(store: &Store) -> BTreeMap<(String, String), Value> {
    let dump = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["dump", "--format", "jsonl"])
        .arg(&store.leveldb)
        .output()
        .unwrap();
    assert!(
        dump.status.success(),
        "{}",
        String::from_utf8_lossy(&dump.stderr)
    );
    let lines = String::from_utf8(dump.stdout).unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let records = lines.map(|line| {
        (
            (
                line["store"].as_str().unwrap().to_owned(),
                line["key"].to_string(),
            ),
            line["value"].clone(),
        )
    });
    records
        .filter(|((store, _), _)| !store.starts_with("larder.feed."))
        .collect()
}

/// Two runs of each app, the second one followed from outside: what the feed says comes to what is there, transaction by transaction.
#[test]
fn apps_on_libraries_are_followed_by_their_change_feeds() {
    let Some(dir) = installed() else { return };
    let followed = |name, libraries, adapter| App {
        name,
        libraries,
        script: "followed.js",
        adapter,
        expected: Expected::Checked,
    };
    let apps = [
        followed("dexie", APPS[0].libraries, None),
        followed("pouchdb", APPS[2].libraries, Some("idb")),
        followed("pouchdb-indexeddb", APPS[3].libraries, Some("indexeddb")),
    ];
    for (n, app) in apps.iter().enumerate() {
        let origin = format!("http://127.0.0.1:{}", 18_960 + n);
        let storage = dir.path().join("followed").join(app.name);
        run(app, dir.path(), &storage, &origin);
        let store = Store::within(&storage, &origin);
        let feed = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_larder"));
            command.arg("feed").args(arguments).arg(&store.leveldb);
            command
        };
        let on = feed(&["on"]).output().unwrap();
        assert!(
            on.status.success(),
            "{}",
            String::from_utf8_lossy(&on.stderr)
        );
        let begun: Value = serde_json::from_slice(&on.stdout).unwrap();
        let begun = begun["last"].as_u64().unwrap();
        let before = shown(&store);
        assert_eq!(begun, before.len() as u64, "each record is a revision");
        let mut tail = feed(&["tail", "--follow", "--values", "-n", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
        run(app, dir.path(), &storage, &origin);
        let after = shown(&store);
        let ls = feed(&["ls"]).output().unwrap();
        let last: Value = serde_json::from_slice(&ls.stdout).unwrap();
        let last = last["last"].as_u64().unwrap();
        let (mut found, mut transactions) = (before, 0);
        for number in begun + 1..=last {
            let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            assert_eq!(line["revision"], number, "{}: {line}", app.name);
            let of = (
                line["store"].as_str().unwrap().to_owned(),
                line["key"].to_string(),
            );
            match line["operation"].as_str().unwrap() {
                "removal" => assert!(found.remove(&of).is_some(), "{line}"),
                operation => {
                    let was = found.insert(of, line["value"].clone());
                    assert_eq!(was.is_none(), operation == "creation", "{line}");
                }
            }
            transactions += u32::from(line.get("committed").is_some());
        }
        tail.kill().unwrap();
        tail.wait().unwrap();
        assert_eq!(found, after, "{}", app.name);
        let revisions = last - begun;
        assert!(
            transactions > 20 && revisions > 40,
            "{revisions} in {transactions}"
        );
        println!(
            "{}: {revisions} revisions of {transactions} transactions came to what is there",
            app.name
        );
    }
}
