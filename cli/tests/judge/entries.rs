//! How many entries an index must have, by the values of its object store alone: of rows that are missing, Larder and
//! Chromium would say the same.
//!
//! A naive reading of canonical documents: what of a value is a key (specification, 7.3 and 7.4), by counting, without
//! any of the keys' contents. Properties that are no own ones: `length` of strings and arrays, and the attributes of
//! blobs and files.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::stores;

/// Values nest no deeper than this, or are cyclic, and no keys.
const DEPTH_MAX: usize = 100;

/// A store and an index in which Chromium 75 put no entries: it looked for an array of keys in the value before the generated
/// key, which is one of them, was there.
const WITHOUT_GENERATED_KEYS: (&str, &str) = ("c75-lite", "id and n");

/// All indexes have the entries that their object stores' values ask for: how many these are.
pub(crate) fn check_entries(databases: &Value, what: &str) -> usize {
    let mut sum = 0;
    for store in stores(databases) {
        let values = || list(&store["records"]).iter().map(|record| &record[1]);
        for index in list(&store["indexes"]) {
            if index["name"] == WITHOUT_GENERATED_KEYS.1 && what == WITHOUT_GENERATED_KEYS.0 {
                continue;
            }
            let expected: usize = values().map(|value| entries_of(index, value)).sum();
            assert_eq!(
                list(&index["entries"]).len(),
                expected,
                "{what}: entries of {} of {}",
                index["name"],
                store["name"]
            );
            sum += expected;
        }
    }
    sum
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// How many entries one record has.
fn entries_of(index: &Value, root: &Value) -> usize {
    let key_of = |path: &Value| Some(key(root, &follow(root, path.as_str()?)?, 0)?.to_string());
    if let Some(paths) = index["keyPath"].as_array() {
        return usize::from(paths.iter().all(|path| key_of(path).is_some()));
    }
    let found = index["keyPath"]
        .as_str()
        .and_then(|path| follow(root, path));
    match found.map(|found| resolved(root, &found)) {
        Some(array) if index["multiEntry"] == true && array["t"] == "Array" => {
            let elements = list(&array["props"]).iter();
            let elements = elements.filter(|element| is_position(&element[0]));
            let keys = elements.filter_map(|element| key(root, &element[1], 0));
            keys.map(|key| key.to_string())
                .collect::<BTreeSet<_>>()
                .len()
        }
        _ => usize::from(key_of(&index["keyPath"]).is_some()),
    }
}

fn is_position(name: &Value) -> bool {
    name.as_str()
        .is_some_and(|name| name.parse::<u32>().is_ok())
}

/// What a key path leads to.
fn follow(root: &Value, path: &str) -> Option<Value> {
    let mut at = root.clone();
    for name in path.split('.').filter(|name| !name.is_empty()) {
        at = resolved(root, &at);
        let is_given = matches!(
            (at["t"].as_str()?, name),
            ("string" | "StringObject" | "Array", "length")
                | ("Blob" | "File", "size" | "type")
                | ("File", "name" | "lastModified")
        );
        let own = || {
            list(&at["props"])
                .iter()
                .find(|property| property[0] == name)
        };
        at = match is_given {
            // Whichever: they are counted.
            true => json!({ "t": "number", "v": "0" }),
            false => own()?[1].clone(),
        };
    }
    Some(at)
}

/// What a reference refers to.
fn resolved(root: &Value, value: &Value) -> Value {
    match value["t"] == "ref" {
        true => find(root, &value["id"]).unwrap_or(&Value::Null).clone(),
        false => value.clone(),
    }
}

fn find<'a>(value: &'a Value, id: &Value) -> Option<&'a Value> {
    match value {
        Value::Array(items) => items.iter().find_map(|item| find(item, id)),
        Value::Object(members) if members.get("id") == Some(id) && value["t"] != "ref" => {
            Some(value)
        }
        Value::Object(members) => members.values().find_map(|member| find(member, id)),
        _ => None,
    }
}

/// Something that is the same for equal keys, if a value is one.
fn key(root: &Value, value: &Value, depth: usize) -> Option<Value> {
    if depth > DEPTH_MAX {
        return None;
    }
    let mut value = resolved(root, value);
    match value["t"].as_str()? {
        "number" | "Date" if value["v"] == "NaN" => return None,
        "number" if value["v"] == "-0" => value["v"] = "0".into(),
        "number" | "Date" | "string" => {}
        "Array" => {
            let length = value["length"].to_string();
            let length: usize = length.trim_matches('"').parse().ok()?;
            let elements = list(&value["props"]).iter();
            let elements = elements.filter(|element| is_position(&element[0]));
            let keys = elements.map(|element| key(root, &element[1], depth + 1));
            let keys: Vec<Value> = keys.collect::<Option<_>>()?;
            return (keys.len() == length).then(|| keys.into());
        }
        // Of bytes.
        binary if binary == "ArrayBuffer" || binary == "DataView" || binary.ends_with("Array") => {}
        _ => return None,
    }
    value.as_object_mut()?.remove("id");
    Some(value)
}
