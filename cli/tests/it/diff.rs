//! `larder diff`: what differs is what differs in the browsers' own answers, and a copy differs in nothing.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::{for_every, larder, run_script, stderr};
use larder_fixtures::Fixture;
use larder_fixtures::canonical::{comparable, with_large_stack};
use serde_json::{Value, json};

fn diff(a: &Path, b: &Path, options: &[&str]) -> Output {
    let mut arguments: Vec<OsString> = vec!["diff".into(), a.into(), b.into()];
    arguments.extend(options.iter().map(OsString::from));
    larder(arguments)
}

/// The differences, and the exit status.
fn differences(a: &Path, b: &Path, options: &[&str]) -> (Vec<Value>, Option<i32>) {
    let output = diff(a, b, &[options, &["--format", "json"]].concat());
    assert_eq!(stderr(&output), "");
    let lines = output.stdout.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    let list = lines.map(|line| serde_json::from_slice(line).unwrap());
    (list.collect(), output.status.code())
}

fn check(fixture: &Fixture) -> Result<(), String> {
    let source = fixture.copy();
    let to = tempfile::tempdir().unwrap();
    let origin = ["--origin", "https://other.example"].map(AsRef::as_ref);
    let paths = [source.leveldb(), to.path().to_owned()];
    let [from, into] = &paths;
    let copy = ["copy".as_ref(), from.as_os_str(), into.as_os_str()];
    assert!(larder(copy.into_iter().chain(origin)).status.success());
    for (a, b) in [(from, into), (into, from), (from, from)] {
        let output = diff(a, b, &[]);
        if !output.status.success() || !output.stdout.is_empty() {
            let shown = String::from_utf8_lossy(&output.stdout).into_owned();
            return Err(format!("{}: {shown}{}", fixture.name, stderr(&output)));
        }
    }
    Ok(())
}

#[test]
fn a_copy_of_every_golden_store_differs_in_nothing() {
    for_every(larder_fixtures::varied(), check);
}

/// Change, and where: names, and the key.
type Place = (&'static str, String, String, String);

fn text(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    value.to_string()
}

fn named<'v>(list: &'v Value, name: &Value) -> Option<&'v Value> {
    list.as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == *name)
}

/// Those of `a` with their partners, and the lone ones of `b`.
fn naive_pairs<'v>(a: &'v Value, b: &'v Value) -> Vec<(Option<&'v Value>, Option<&'v Value>)> {
    let of_a = a.as_array().unwrap().iter();
    let mut pairs: Vec<_> = of_a
        .map(|one| (Some(one), named(b, &one["name"])))
        .collect();
    let of_b = b.as_array().unwrap().iter();
    pairs.extend(
        of_b.filter(|one| named(a, &one["name"]).is_none())
            .map(|one| (None, Some(one))),
    );
    pairs
}

/// What the browsers' answers differ in, object store by object store.
fn naive(a: &Value, b: &Value) -> BTreeSet<Place> {
    let mut found = BTreeSet::new();
    let whole = |database: &Value, store: &Value| {
        (text(&database["name"]), text(&store["name"]), String::new())
    };
    for pair in naive_pairs(a, b) {
        let (one, other) = match pair {
            (Some(one), Some(other)) => (one, other),
            (Some(one), None) => {
                found.insert(("removed", text(&one["name"]), String::new(), String::new()));
                continue;
            }
            (_, other) => {
                found.insert((
                    "added",
                    text(&other.unwrap()["name"]),
                    String::new(),
                    String::new(),
                ));
                continue;
            }
        };
        if one["version"] != other["version"] {
            found.insert(("changed", text(&one["name"]), String::new(), String::new()));
        }
        for pair in naive_pairs(&one["stores"], &other["stores"]) {
            let (store, partner) = match pair {
                (Some(store), Some(partner)) => (store, partner),
                (lone_of_one, lone) => {
                    let change = if lone_of_one.is_some() {
                        "removed"
                    } else {
                        "added"
                    };
                    let (database, store, key) = whole(one, lone_of_one.or(lone).unwrap());
                    found.insert((change, database, store, key));
                    continue;
                }
            };
            let (database, name, _) = whole(one, store);
            let records = |store: &Value| -> Vec<(String, String)> {
                let list = store["records"].as_array().unwrap();
                list.iter()
                    .map(|record| (text(&record[0]), text(&record[1])))
                    .collect()
            };
            let (of_one, of_other) = (records(store), records(partner));
            for (key, value) in &of_one {
                let partner = of_other.iter().find(|(other, _)| other == key);
                match partner {
                    None => found.insert(("removed", database.clone(), name.clone(), key.clone())),
                    Some((_, other)) if other != value => {
                        found.insert(("changed", database.clone(), name.clone(), key.clone()))
                    }
                    _ => false,
                };
            }
            for (key, _) in of_other
                .iter()
                .filter(|(key, _)| of_one.iter().all(|(one, _)| one != key))
            {
                found.insert(("added", database.clone(), name.clone(), key.clone()));
            }
        }
    }
    found
}

/// Types of which the answers leave something out.
fn says_less(databases: &Value, place: &Place) -> bool {
    let stores = databases
        .as_array()
        .unwrap()
        .iter()
        .filter(|database| text(&database["name"]) == place.1);
    let stores = stores.flat_map(|database| database["stores"].as_array().unwrap());
    let records = stores.filter(|store| text(&store["name"]) == place.2);
    let records = records.flat_map(|store| store["records"].as_array().unwrap());
    let shown = records
        .filter(|record| text(&record[0]) == place.3)
        .map(ToString::to_string);
    let types = [
        "\"Error\"",
        "CryptoKey",
        "ImageBitmap",
        "DOMException",
        "FileSystem",
        "RTCCertificate",
        "immutable",
    ];
    shown
        .into_iter()
        .any(|record| types.iter().any(|kind| record.contains(kind)))
}

#[test]
fn stores_of_two_browsers_differ_where_their_browsers_say_so() {
    with_large_stack(|| {
        let mut changed = 0;
        for (a, b) in [
            ("c110-lite", "c156-lite"),
            ("c119-lite", "c143-lite"),
            ("c75-lite", "c92-lite"),
            ("c156-lite", "c64-lite"),
        ] {
            let (a, b) = (larder_fixtures::get(a), larder_fixtures::get(b));
            let (of_a, of_b) = (comparable(&a.expected()), comparable(&b.expected()));
            let (list, status) = differences(&a.copy().leveldb(), &b.copy().leveldb(), &[]);
            let ours: BTreeSet<Place> = list
                .iter()
                .filter(|one| {
                    ["database", "object store", "record"]
                        .map(Value::from)
                        .contains(&one["what"])
                })
                // Generators and key paths of object stores are looked at elsewhere.
                .filter(|one| one["what"] != "object store" || one["change"] != "changed")
                .map(|one| {
                    let change = ["removed", "added", "changed"]
                        .into_iter()
                        .find(|change| one["change"] == *change)
                        .unwrap();
                    let or_empty = |value: &Value| {
                        if value.is_null() {
                            String::new()
                        } else {
                            text(value)
                        }
                    };
                    (
                        change,
                        text(&one["database"]),
                        or_empty(&one["object_store"]),
                        or_empty(&one["key"]),
                    )
                })
                .collect();
            let theirs = naive(&of_a, &of_b);
            assert_eq!(status, Some(i32::from(!list.is_empty())));
            // 0 and -0 are one key; colours are compared though only the younger browser shows them.
            let is_exempt =
                |place: &&Place| place.2 == "\"zeros\"" || place.3.contains("\"ImageData\"");
            let missed: Vec<_> = theirs
                .difference(&ours)
                .filter(|place| !is_exempt(place))
                .collect();
            assert!(missed.is_empty(), "{} {}: {missed:#?}", a.name, b.name);
            let needless: Vec<_> = ours
                .difference(&theirs)
                .filter(|place| !says_less(&of_a, place) && place.2 != "\"zeros\"")
                .collect();
            assert!(needless.is_empty(), "{} {}: {needless:#?}", a.name, b.name);
            changed += theirs
                .iter()
                .filter(|place| place.0 == "changed" && !place.3.is_empty())
                .count();
        }
        assert!(changed > 5, "{changed}");
    });
}

/// A folder with the store that a script makes.
fn made(script: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let storage = dir.path().join("IndexedDB");
    run_script(&storage, &["--origin", "https://a.example"], script);
    dir
}

const ONE: &str = "
    const open = indexedDB.open('mail', 1);
    open.onupgradeneeded = () => {
      const s = open.result.createObjectStore('s', { autoIncrement: true });
      s.createIndex('by day', 'day');
      s.createIndex('old', 'old');
      s.put({ a: 1, gone: { deep: [1, 2] }, list: ['x', 'y'], same: new Date(5) }, 'k');
      s.put(new Map([['m', new Uint8Array([1, 2, 3])]]), 'map');
      s.put('lost', 'only here');
      s.put({ b: 1, c: 2 }, 'order');
      s.put(new Blob(['hello']), 'blob');
      s.put('equal', 'equal');
      s.put('zero', 0);
      open.result.createObjectStore('dropped').put(1, 1);
    };";

const OTHER: &str = "
    const open = indexedDB.open('mail', 2);
    open.onupgradeneeded = () => {
      const s = open.result.createObjectStore('s', { autoIncrement: true });
      s.createIndex('by day', 'day', { unique: true });
      s.createIndex('new', 'new');
      s.put({ a: '1', list: ['x', 'z', new Set([7])], same: new Date(5) }, 'k');
      s.put(new Map([['m', new Uint8Array([1, 2, 4])]]), 'map');
      s.put({ c: 2, b: 1 }, 'order');
      s.put(new Blob(['hallo']), 'blob');
      s.put('equal', 'equal');
      s.put('zero', -0);
      s.put('new', 3);
    };";

#[test]
fn each_property_is_named_with_what_it_was_and_is() {
    let (one, other) = (made(ONE), made(OTHER));
    let (list, status) = differences(one.path(), other.path(), &[]);
    assert_eq!(status, Some(1));
    let of = |what: &str, name: &str| -> Value {
        let is_it = |one: &&Value| {
            one["what"] == what
                && (one["key"]["v"] == name || one["index"] == name || name.is_empty())
        };
        let found = list
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("{what} {name}: {list:#?}"));
        json!([found["change"], found["properties"], found["records"]])
    };
    let shown = |kind: &str, text: &str| json!({ "type": kind, "text": text });
    let changed = |path: &str, from: Value, to: Value| json!({ "path": path, "change": "changed", "from": from, "to": to });
    assert_eq!(
        of("database", ""),
        json!([
            "changed",
            [changed(
                "version",
                shown("number", "1"),
                shown("number", "2")
            )],
            null
        ])
    );
    assert_eq!(
        of("index", "by day")[1],
        json!([changed(
            "unique",
            shown("boolean", "false"),
            shown("boolean", "true")
        )])
    );
    assert_eq!(of("index", "old")[0], "removed");
    assert_eq!(of("index", "new")[0], "added");
    assert_eq!(of("record", "only here")[0], "removed");
    assert_eq!(of("record", "3")[0], "added");
    assert_eq!(
        of("record", "k")[1],
        json!([
            changed(".a", shown("number", "1"), shown("string", "1")),
            { "path": ".gone", "change": "removed", "from": shown("Object", "Object") },
            changed(".list[1]", shown("string", "y"), shown("string", "z")),
            { "path": ".list[2]", "change": "added", "to": shown("Set", "Set") },
        ])
    );
    assert_eq!(
        of("record", "map")[1],
        json!([changed(
            "<value 0>",
            shown("bytes", "010203"),
            shown("bytes", "010204")
        )])
    );
    assert_eq!(
        of("record", "order")[1],
        json!([{ "path": "", "change": "changed" }])
    );
    assert_eq!(
        of("record", "0")[1],
        json!([changed("key", shown("key", "0"), shown("key", "-0"))])
    );
    let blob = &of("record", "blob")[1][0];
    // echo -n hello | sha256sum
    let digest =
        "5 bytes, SHA-256 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    assert_eq!(blob["from"], shown("Blob", digest));
    let dropped = list
        .iter()
        .find(|one| one["object_store"] == "dropped")
        .unwrap();
    assert_eq!(
        (&dropped["change"], &dropped["records"]),
        (&"removed".into(), &1.into())
    );
    assert!(!list.iter().any(|one| one["key"]["v"] == "equal"));

    let output = diff(one.path(), other.path(), &["--store", "s"]);
    let eyes = String::from_utf8(output.stdout).unwrap();
    for words in [
        "\n~ \"mail\" / \"s\" \"k\"\n    ~ .a: number 1 -> string 1\n    - .gone: Object\n",
        "\n- \"mail\" / \"s\" index \"old\"\n",
        "\n    ~ nextKey: number 1 -> number 4\n",
        "\n    ~ value differs in what has no text of its own\n",
    ] {
        assert!(eyes.contains(words), "{words}: {eyes}");
    }
    assert!(
        !eyes.contains("dropped") && !eyes.contains("version"),
        "{eyes}"
    );
}

#[test]
fn folders_of_stores_are_compared_place_by_place() {
    let (one, other) = (made(ONE), made(ONE));
    let store = |dir: &tempfile::TempDir, name: &str| -> PathBuf {
        dir.path()
            .join("IndexedDB")
            .join(format!("https_{name}.example_0.indexeddb.leveldb"))
    };
    let copy = |from: &tempfile::TempDir, to: &tempfile::TempDir, name: &str| {
        let origin = format!("https://{name}.example");
        let (from, to) = (store(from, "a"), to.path().join("IndexedDB"));
        let arguments = [
            "copy".as_ref(),
            from.as_os_str(),
            to.as_os_str(),
            "--origin".as_ref(),
            origin.as_ref(),
        ];
        assert!(larder(arguments).status.success());
    };
    copy(&one, &one, "b");
    copy(&one, &other, "b");
    copy(&one, &one, "left");
    copy(&one, &other, "right");
    let (list, status) = differences(one.path(), other.path(), &[]);
    assert_eq!(status, Some(1));
    let lines: Vec<Value> = list
        .iter()
        .map(|one| json!([one["what"], one["change"], one["path"]]))
        .collect();
    let path = |path: PathBuf| path.to_str().unwrap().to_owned();
    assert_eq!(
        lines,
        [
            json!(["store", "removed", path(store(&one, "left"))]),
            json!(["store", "added", path(store(&other, "right"))]),
        ]
    );
    let (list, status) = differences(one.path(), other.path(), &["--origin", "https://b.example"]);
    assert_eq!((list.len(), status), (0, Some(0)));
}

#[test]
fn databases_of_two_names_and_what_cannot_be_compared() {
    let store = larder_fixtures::get("c156-lite").open();
    let path = store.leveldb();
    let (list, _) = differences(
        &path,
        &path,
        &["--database", "values", "--with-database", "no_stores"],
    );
    assert!(
        list.iter()
            .any(|one| one["object_store"] == "v" && one["records"] == 75),
        "{list:?}"
    );
    assert!(list.iter().all(|one| one["database"] == "values"));
    let refused = |a: &Path, options: &[&str], words: &str| {
        let output = diff(a, &path, options);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{words}: {}",
            stderr(&output)
        );
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    };
    refused(
        &path,
        &["--database", "valves"],
        "no database \"valves\" in either",
    );
    refused(
        &path,
        &["--store", "valves"],
        "no object store \"valves\" in either",
    );
    let qt = larder_fixtures::get("qt5-order").open();
    refused(
        &qt.leveldb(),
        &[],
        "in the order of signed bytes: compare a copy",
    );
    let nothing = tempfile::tempdir().unwrap();
    let output = diff(&path, nothing.path(), &[]);
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn a_blob_that_cannot_be_read_is_named_and_is_no_difference() {
    let (one, other) = (
        larder_fixtures::get("c156-lite").copy(),
        larder_fixtures::get("c156-lite").open(),
    );
    let blobs = one.leveldb().with_extension("blob");
    fs::remove_dir_all(&blobs).unwrap();
    let output = diff(&one.leveldb(), &other.leveldb(), &["--database", "blobs"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    let said = stderr(&output);
    assert!(
        said.contains("database \"blobs\", object store \"kp\", key 1: "),
        "{said}"
    );
}
