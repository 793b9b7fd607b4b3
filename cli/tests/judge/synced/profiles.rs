//! What pages wrote in one profile comes to another, whole; and a profile that a browser has open is left alone.

use std::time::Duration;

use larder_fixtures::canonical::{databases_of, with_large_stack};
use larder_fixtures::chromium;
use serde_json::{Value, json};

use super::alike;
use super::device::{Device, Host};
use crate::libraries::{generate, installed};
use crate::scripts::write_script;
use crate::{agree, records};

/// Values of all kinds, blobs, and values around the sizes where Chromium changes their form, as the golden stores have them.
const BUILD: &str = r#"
fixture.builders = {};
for (const source of args) (0, eval)(source);
const skipped = [await fixture.builders.values(), await fixture.builders.blobs(3000)];
await fixture.builders.large(false);
return skipped;
"#;

/// The one value of those that stays on its device.
const HANDLES: &str = "file system handles";

fn page(name: &str) -> String {
    std::fs::read_to_string(generate().join("page").join(name)).unwrap()
}

fn devices(chromium: &'static chromium::Chromium, dir: &std::path::Path) -> [Device; 2] {
    let cloud = ["--cloud".into(), dir.join("cloud").into()];
    ["A", "B"].map(|name| Device::new(name, Host::Page(chromium), dir, &cloud))
}

fn dump(device: &Device) -> Value {
    alike(databases_of(
        device.run("return fixture.dump();", &Value::Null),
    ))
}

fn without_handles(mut databases: Value) -> Value {
    for database in databases.as_array_mut().unwrap() {
        for store in database["stores"].as_array_mut().unwrap() {
            let at =
                |records: &Vec<Value>| records.iter().position(|record| record[0]["v"] == HANDLES);
            if let Some(at) = at(store["records"].as_array().unwrap()) {
                store["records"].as_array_mut().unwrap().remove(at);
                store["count"] = json!(store["count"].as_u64().unwrap() - 1);
            }
        }
    }
    databases
}

#[test]
fn values_of_all_kinds_come_to_a_profile_that_has_no_database() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let dir = tempfile::tempdir().unwrap();
        let [one, two] = devices(chromium, dir.path());
        let sources = ["tools.js", "build-values.js", "build-blobs.js"].map(page);
        let skipped = one.run(BUILD, &json!(sources));
        assert_eq!(skipped, json!([[], []]), "this Chromium has every kind");
        two.run("return null;", &Value::Null);
        for database in ["values", "blobs", "large"] {
            for device in [&one, &two] {
                let said = device.sync(database, &[]);
                // Each round names the records that are not alike.
                let (code, words) = match (database, device.name) {
                    ("values", "A") => (
                        1,
                        "a handle of the File System Access API stays on its device",
                    ),
                    _ => (0, ""),
                };
                assert_eq!(
                    said.code,
                    Some(code),
                    "{database}, {}: {said:?}",
                    device.name
                );
                assert!(
                    said.err.contains(words) && said.err.is_empty() == words.is_empty(),
                    "{said:?}"
                );
            }
        }
        let (here, there) = (dump(&one), dump(&two));
        let all = records(&here);
        agree(
            &without_handles(here),
            &there,
            "what A's page shows, and B's",
        );
        assert_eq!(records(&there), all - 1);
        println!("{all} records, all but one on both");
    });
}

/// What an app on PouchDB finds: documents, attachments, a conflict, a view.
const LOOK: &str = r#"
for (const source of args) (0, eval)(source);
const db = new PouchDB("notes", { adapter: "idb" });
const all = await db.allDocs({ include_docs: true, conflicts: true, attachments: true });
const found = await db.query("by_tag");
const made = await db.post({ by: "a look" });
await db.remove(made.id, made.rev);
await db.close();
return { rows: all.rows, found: found.rows };
"#;

const APP: &str = r#"
for (const source of args) (0, eval)(source);
return fixture.runApp("idb");
"#;

#[test]
fn an_app_on_pouchdb_finds_its_notes_in_another_profile() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let Some(npm) = installed() else { return };
        let library = npm.path().join("node_modules/pouchdb/dist/pouchdb.js");
        let library = std::fs::read_to_string(library).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let [one, two] = devices(chromium, dir.path());
        one.run(
            APP,
            &json!([page("app-content.js"), library, page("app-pouchdb.js")]),
        );
        two.run("return null;", &Value::Null);
        let databases = dump(&one);
        let mut count = 0;
        for database in databases.as_array().unwrap() {
            for device in [&one, &two] {
                let said = device.sync(database["name"].as_str().unwrap(), &[]);
                assert_eq!((said.code, &*said.err), (Some(0), ""), "{said:?}");
            }
            count += 1;
        }
        agree(&dump(&one), &databases, "A's databases before and after");
        agree(&databases, &dump(&two), "A's databases, and B's");
        let found = [&one, &two].map(|device| device.run(LOOK, &json!([library])));
        assert_eq!(found[0], found[1]);
        let rows = found[0]["rows"].as_array().unwrap().len();
        assert!(
            rows > 50 && count > 1,
            "{rows} documents in {count} databases"
        );
        println!(
            "{rows} documents in {count} databases, {} records",
            records(&databases)
        );
    });
}

/// Opens the database, and holds it until there is a file in the profile.
const HOLD: &str = r#"
const opening = indexedDB.open("notes", 1);
opening.onupgradeneeded = () => opening.result.createObjectStore("s").put("here", 1);
await new Promise((resolve) => { opening.onsuccess = resolve; });
while (!(await fetch("/let go")).ok) await new Promise((resolve) => setTimeout(resolve, 20));
opening.result.close();
return null;
"#;

#[test]
fn a_store_that_a_browser_has_open_is_not_synced_and_nothing_is_changed() {
    let Some(chromium) = chromium::shared() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let [one, _] = devices(chromium, dir.path());
    std::thread::scope(|scope| {
        let page = scope.spawn(|| one.run(HOLD, &Value::Null));
        // The lock was taken before that is written.
        let current = one.store().leveldb.join("CURRENT");
        while !current.exists() {
            assert!(!page.is_finished(), "the page has opened no database");
            std::thread::sleep(Duration::from_millis(5));
        }
        let said = one.sync("notes", &[]);
        write_script(&one.path.join("let go"), "");
        page.join().unwrap();
        assert_eq!((said.code, &*said.out), (Some(2), ""), "{said:?}");
        assert!(
            said.err.contains("open") && said.err.lines().count() == 1,
            "{said:?}"
        );
        println!("{}", said.err);
    });
    let cloud = dir.path().join("cloud");
    let segments = cloud.read_dir().map_or(0, Iterator::count);
    assert_eq!(segments, 0, "nothing went up");
    let databases = one.run("return fixture.dump();", &Value::Null)["databases"].clone();
    let stores = databases[0]["stores"].as_array().unwrap();
    assert_eq!(
        (stores.len(), &stores[0]["name"]),
        (1, &json!("s")),
        "no feed was turned on"
    );
    // Closed, it is.
    let said = one.sync("notes", &[]);
    assert_eq!((said.code, &*said.err), (Some(0), ""), "{said:?}");
}
