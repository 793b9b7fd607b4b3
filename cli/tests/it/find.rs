//! `larder find`: what is found is what a walk over the browser's own answer finds.

use std::collections::BTreeSet;
use std::path::Path;

use crate::support::{for_every, larder, run_script, stderr};
use larder_fixtures::Fixture;
use larder_fixtures::canonical::comparable;
use serde_json::Value;

/// Database, object store and primary key, as canonical JSON.
type Place = (String, String, String);

/// What is found, one JSON object a hit.
fn find(store: &Path, arguments: &[&str]) -> Vec<Value> {
    let fixed = ["--format", "json"].iter().map(AsRef::as_ref);
    let path = ["find".as_ref(), store.as_os_str()];
    let given = arguments.iter().map(AsRef::as_ref);
    let output = larder(path.into_iter().chain(given).chain(fixed));
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        stderr(&output)
    );
    let lines = output.stdout.split(|byte| *byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// Members have an order of their own in each document.
fn text(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    value.to_string()
}

fn place(hit: &Value) -> Place {
    (
        text(&hit["database"]),
        text(&hit["object_store"]),
        text(&hit["key"]),
    )
}

fn places(hits: &[Value]) -> BTreeSet<Place> {
    hits.iter().map(place).collect()
}

/// Every record that the browser showed.
fn records(databases: &Value) -> Vec<(Place, &Value)> {
    let mut all = Vec::new();
    for database in databases.as_array().unwrap() {
        for store in database["stores"].as_array().unwrap() {
            for record in store["records"].as_array().unwrap() {
                let place = (
                    text(&database["name"]),
                    text(&store["name"]),
                    text(&record[0]),
                );
                all.push((place, record));
            }
        }
    }
    all
}

/// Calls back for each object of JSON in a document.
fn objects<'v>(value: &'v Value, found: &mut dyn FnMut(&'v Value)) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| objects(item, found)),
        Value::Object(members) => {
            found(value);
            members.values().for_each(|member| objects(member, found));
        }
        _ => {}
    }
}

/// Strings and names of properties, as far as the document has them.
fn strings(record: &Value) -> Vec<&str> {
    let mut all = Vec::new();
    objects(record, &mut |object| {
        let is_string = ["string", "StringObject"]
            .map(Value::from)
            .contains(&object["t"]);
        all.extend(object["v"].as_str().filter(|_| is_string));
        // An element of an array is there by its number.
        let props = object["props"].as_array().into_iter().flatten();
        all.extend(
            props
                .filter_map(|prop| prop[0].as_str())
                .filter(|name| name.parse::<u64>().is_err()),
        );
    });
    all
}

/// Whether the document leaves out a part of the record, or says it in another way.
fn has_more(record: &Value) -> bool {
    let text = record.to_string();
    ["sha256", "\"hex\"", "utf16", "\"message\"", "\"source\""]
        .iter()
        .any(|part| text.contains(part))
}

fn texts_of(fixture: &Fixture) -> Result<(), String> {
    let (store, databases) = (fixture.open(), comparable(&fixture.expected()));
    let records = records(&databases);
    let every = records.len() / 3 + 1;
    for (_, record) in records.iter().step_by(every) {
        let Some(whole) = strings(record).into_iter().max_by_key(|text| text.len()) else {
            continue;
        };
        let chars: Vec<char> = whole.chars().collect();
        let needle: String = chars[chars.len() / 3..].iter().take(9).collect();
        // An option begins with a minus.
        if needle.is_empty() || needle.starts_with('-') || needle.contains('\0') {
            continue;
        }
        let naive = records
            .iter()
            .filter(|(_, record)| strings(record).iter().any(|text| text.contains(&needle)));
        let naive: BTreeSet<Place> = naive.map(|(place, _)| place.clone()).collect();
        let hits = find(&store.leveldb(), &[&needle]);
        let ours = places(&hits);
        if let Some(missing) = naive.difference(&ours).next() {
            return Err(format!(
                "{}: {needle:?} is not found in {missing:?}",
                fixture.name
            ));
        }
        // What is no string is in other words in the document, or not at all.
        let of_strings = hits
            .iter()
            .filter(|hit| hit["type"] == "string")
            .map(place)
            .collect::<BTreeSet<_>>();
        let known = records
            .iter()
            .filter(|(place, record)| naive.contains(place) || has_more(record));
        let known: BTreeSet<Place> = known.map(|(place, _)| place.clone()).collect();
        if let Some(needless) = of_strings.difference(&known).next() {
            return Err(format!(
                "{}: {needle:?} is found in {needless:?}",
                fixture.name
            ));
        }
    }
    Ok(())
}

#[test]
fn texts_are_found_where_the_browser_shows_them() {
    for_every(larder_fixtures::varied(), texts_of);
}

/// Names of canonical JSON and of the command.
const TYPES: [(&str, &str); 9] = [
    ("Blob", "blob"),
    ("File", "File"),
    ("Date", "Date"),
    ("Map", "Map"),
    ("Set", "Set"),
    ("RegExp", "RegExp"),
    ("ArrayBuffer", "ArrayBuffer"),
    ("BooleanObject", "Boolean"),
    ("CryptoKey", "CryptoKey"),
];

fn types_of(fixture: &Fixture) -> Result<(), String> {
    let (store, databases) = (fixture.open(), comparable(&fixture.expected()));
    let records = records(&databases);
    for (theirs, ours) in TYPES {
        let naive = records.iter().filter(|(_, record)| {
            let mut is_there = false;
            objects(&record[1], &mut |object| is_there |= object["t"] == theirs);
            is_there
        });
        let naive: BTreeSet<Place> = naive.map(|(place, _)| place.clone()).collect();
        let found = places(&find(&store.leveldb(), &["--type", ours]));
        if found != naive {
            let difference: Vec<&Place> = found.symmetric_difference(&naive).collect();
            return Err(format!("{}: {ours}: {difference:?}", fixture.name));
        }
    }
    Ok(())
}

#[test]
fn types_are_found_where_the_browser_shows_them() {
    for_every(larder_fixtures::varied(), types_of);
}

#[test]
fn a_key_is_found_in_object_stores_and_in_indexes() {
    let fixture = larder_fixtures::get("c156-lite");
    let (store, databases) = (fixture.open(), comparable(&fixture.expected()));
    for (t, v, key) in [
        ("number", "1", "1"),
        ("number", "20", "20"),
        ("string", "renamed", "renamed"),
        ("string", "key-01", "\"key-01\""),
        ("date", "4", "{\"date\": 4}"),
        ("string", "not there", "not there"),
    ] {
        let is_it = |key: &Value| key["t"] == t && key["v"] == v;
        let mut naive = BTreeSet::new();
        for database in databases.as_array().unwrap() {
            for store in database["stores"].as_array().unwrap() {
                let names = (text(&database["name"]), text(&store["name"]));
                let mut add = |index: &Value, key: &Value| {
                    naive.insert((names.clone(), text(index), text(key)));
                };
                let records = store["records"].as_array().unwrap();
                records
                    .iter()
                    .filter(|record| is_it(&record[0]))
                    .for_each(|record| add(&Value::Null, &record[0]));
                for index in store["indexes"].as_array().unwrap() {
                    let entries = index["entries"].as_array().unwrap().iter();
                    entries
                        .filter(|entry| is_it(&entry[0]))
                        .for_each(|entry| add(&index["name"], &entry[1]));
                }
            }
        }
        let hits = find(&store.leveldb(), &["--key", key]);
        let ours: BTreeSet<_> = hits
            .iter()
            .map(|hit| {
                let (database, store, key) = place(hit);
                (
                    (database, store),
                    text(hit.get("index").unwrap_or(&Value::Null)),
                    key,
                )
            })
            .collect();
        assert_eq!(ours, naive, "{key}");
        assert_eq!(naive.is_empty(), v == "not there");
    }
}

#[test]
fn ways_expressions_and_limits() {
    let store = larder_fixtures::get("c156-lite").open();
    let people = ["--database", "indexes", "--store", "people"];
    let with = |more: &[&str]| find(&store.leveldb(), &[&people[..], more].concat());
    let hits = with(&["u0.g2@example.test"]);
    assert_eq!(hits.len(), 1);
    assert_eq!(
        (&hits[0]["in"], &hits[0]["path"]),
        (&"value".into(), &".email".into())
    );
    assert_eq!(hits[0]["text"], "u0.g2@example.test");
    let names = with(&["EMAIL", "--ignore-case"]);
    assert!(
        names
            .iter()
            .all(|hit| hit["path"] == ".email" && hit["type"] == "property name")
    );
    assert_eq!(names.len(), 51);
    assert!(with(&["EMAIL"]).is_empty());
    let all = with(&["--regex", "^u[0-9]+[.]g2@"]);
    let is_of = |hit: &Value| hit["text"].as_str().unwrap().contains(".g2@");
    assert!(all.len() > 3 && all.iter().all(is_of));
    assert_eq!(
        with(&["--regex", "^u[0-9]+[.]g2@", "--limit", "3"]),
        all[..3]
    );
    assert!(with(&["--regex", "^u[0-9]+[.]g2@", "--limit", "0"]).is_empty());
}

#[test]
fn a_search_without_meaning_is_refused() {
    let store = larder_fixtures::get("c156-lite").open();
    let path = store.leveldb();
    for (arguments, words) in [
        (&[][..], "say one thing to look for"),
        (&["--regex", "("], "--regex: "),
        (&["--key", "true"], "--key: true is no key"),
        (&["text", "--type", "Blob"], "cannot be used with"),
    ] {
        let given = arguments.iter().map(AsRef::as_ref);
        let output = larder(["find".as_ref(), path.as_os_str()].into_iter().chain(given));
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}

#[test]
fn nothing_found_is_no_error_and_a_terminal_is_not_driven() {
    let dir = tempfile::tempdir().unwrap();
    let script = "indexedDB.open('a', 1).onupgradeneeded = event => event.target.result.createObjectStore('b').put('x\\x1b[31mred', 'k');";
    let folder = dir.path().join("IndexedDB");
    run_script(&folder, &[], script);
    let search = |text: &str| larder(["find".as_ref(), folder.as_os_str(), text.as_ref()]);
    let output = search("red");
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(
        shown.ends_with("\"a\" / \"b\" \"k\" : x\\u{1b}[31mred\n"),
        "{shown}"
    );
    let none = search("blue");
    assert_eq!((none.status.code(), none.stdout.len()), (Some(0), 0));
}
