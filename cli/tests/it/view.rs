//! `larder view`: what the page is answered is what the browser said, page by page, in four directions.

mod content;
mod looks;
mod support;

use std::collections::BTreeMap;

use larder_fixtures::Fixture;
use larder_fixtures::canonical::{comparable, databases_of, first_difference};
use serde_json::{Value, json};

use crate::support::for_every;
use support::{Asked, Place, view};

/// Names are text, or objects; members of objects have an order of their own.
fn text(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    value.to_string()
}

/// What a cursor over an index visits, in a direction, as the browser says it: positions in `entries`.
fn visited(index: &Value, direction: &str) -> Vec<Value> {
    let entries = index["entries"].as_array().unwrap();
    match &index["orders"][direction] {
        Value::Array(positions) => positions
            .iter()
            .map(|at| entries[at.as_u64().unwrap() as usize].clone())
            .collect(),
        order if order == "reverse" => entries.iter().rev().cloned().collect(),
        // `next` itself is not listed.
        _ => entries.clone(),
    }
}

fn check_object_store(viewed: &Asked<'_>, place: Place, expected: &Value) -> Result<(), String> {
    let records = expected["records"].as_array().unwrap();
    for (direction, limit) in [
        ("next", 7),
        ("prev", 500),
        ("nextunique", 1),
        ("prevunique", 3),
    ] {
        // In few pages where there are many records.
        let rows = viewed.all(place, direction, limit.max(records.len() / 20))?;
        let keys: Vec<&Value> = rows.iter().map(|row| &row["primaryKey"]).collect();
        let mut theirs: Vec<&Value> = records.iter().map(|record| &record[0]).collect();
        if direction.starts_with("prev") {
            theirs.reverse();
        }
        if keys != theirs {
            return Err(format!(
                "{direction} by {limit}: {} keys, not {}",
                keys.len(),
                theirs.len()
            ));
        }
    }
    for (row, record) in viewed.all(place, "next", 500)?.iter().zip(records) {
        if record[1]["t"] == "UNREADABLE" {
            continue;
        }
        let whole = viewed.record(place, &row["primaryKeyHex"])?;
        let ours = &whole["value"];
        if let Some(difference) = difference(ours, &record[1]) {
            return Err(format!("key {}: {difference}", row["primaryKey"]));
        }
    }
    Ok(())
}

/// What is only in one of the forms: contents of blobs, digests, what no script is shown.
fn difference(ours: &Value, theirs: &Value) -> Option<String> {
    fn common(value: &Value) -> Value {
        match value {
            Value::Array(items) => items.iter().map(common).collect(),
            Value::Object(members) if members.contains_key("sha256") => {
                json!({"len": members.get("len")})
            }
            Value::Object(members) => {
                let is_blob = members.contains_key("object")
                    || matches!(
                        members.get("t").and_then(Value::as_str),
                        Some("Blob" | "File")
                    );
                let is_cut = |name: &str| {
                    matches!(name, "units" | "sha256_utf16le" | "cut")
                        || (matches!(name, "v" | "utf16") && members.contains_key("units"))
                };
                let only_here = |name: &str| {
                    matches!(
                        name,
                        "stack" | "stored" | "immutable" | "lengthTracking" | "colorSpace"
                    )
                };
                let kept = members.iter().filter(|(name, _)| {
                    !(is_cut(name)
                        || only_here(name)
                        || is_blob && matches!(&***name, "bytes" | "object" | "size"))
                });
                kept.map(|(name, value)| (name.clone(), common(value)))
                    .collect()
            }
            other => other.clone(),
        }
    }
    /// A string that the browser's answer has as a digest is whole here.
    fn shorten(ours: &mut Value, theirs: &Value) {
        match (ours, theirs) {
            (Value::Object(ours), Value::Object(theirs)) => {
                if theirs.contains_key("units") {
                    ours.remove("v");
                    ours.remove("utf16");
                }
                if theirs.contains_key("sha256") {
                    ours.remove("hex");
                    ours.remove("cut");
                }
                for (name, value) in ours.iter_mut() {
                    if let Some(theirs) = theirs.get(name) {
                        shorten(value, theirs);
                    }
                }
            }
            (Value::Array(ours), Value::Array(theirs)) => {
                ours.iter_mut()
                    .zip(theirs)
                    .for_each(|(ours, theirs)| shorten(ours, theirs));
            }
            _ => {}
        }
    }
    let mut ours = databases_of(json!({"databases": ours}));
    shorten(&mut ours, theirs);
    first_difference(&common(&ours), &common(theirs), "")
}

fn check_index(viewed: &Asked<'_>, place: Place, expected: &Value) -> Result<(), String> {
    let count = expected["entries"].as_array().unwrap().len();
    for (direction, limit) in [
        ("next", 3),
        ("nextunique", 2),
        ("prev", 5),
        ("prevunique", 500),
    ] {
        let rows = viewed.all(place, direction, limit.max(count / 20))?;
        let ours: Vec<Value> = rows
            .iter()
            .map(|row| json!([row["key"], row["primaryKey"]]))
            .collect();
        let theirs = visited(expected, direction);
        if ours != theirs {
            return Err(format!(
                "{direction} by {limit}: {} entries, not {}",
                ours.len(),
                theirs.len()
            ));
        }
    }
    Ok(())
}

fn check(fixture: &Fixture) -> Result<(), String> {
    let open = fixture.copy();
    let viewed = view(open.dir());
    let viewed = Asked(&viewed);
    let expected = comparable(&fixture.expected());
    let store = viewed
        .json("store", &json!({"store": 0}))
        .map_err(|error| format!("{}: {error}", fixture.name))?;
    let ours = store["databases"].as_array().unwrap();
    let ours = ours
        .iter()
        .filter(|database| !database["version"].is_null());
    let ours: BTreeMap<String, &Value> = ours
        .map(|database| (text(&database["name"]), database))
        .collect();
    let theirs = expected.as_array().unwrap();
    assert_eq!(ours.len(), theirs.len(), "{}", fixture.name);
    for database in theirs {
        let listed = ours[&text(&database["name"])];
        let at =
            |what: &str, error| format!("{}: {} {what}: {error}", fixture.name, database["name"]);
        assert_eq!(
            listed["version"].to_string(),
            database["version"].as_str().unwrap()
        );
        for object_store in database["stores"].as_array().unwrap() {
            let all = listed["objectStores"].as_array().unwrap();
            let found = all
                .iter()
                .find(|one| one["name"] == object_store["name"])
                .unwrap();
            let name = object_store["name"].to_string();
            assert_eq!(found["keyPath"], object_store["keyPath"], "{name}");
            let place = Place {
                database: listed["id"].as_i64().unwrap(),
                object_store: found["id"].as_i64().unwrap(),
                index: None,
            };
            check_object_store(&viewed, place, object_store).map_err(|error| at(&name, error))?;
            for index in object_store["indexes"].as_array().unwrap() {
                let all = found["indexes"].as_array().unwrap();
                let one = all.iter().find(|one| one["name"] == index["name"]).unwrap();
                let place = Place {
                    index: one["id"].as_i64(),
                    ..place
                };
                let name = format!("{name} {}", index["name"]);
                check_index(&viewed, place, index).map_err(|error| at(&name, error))?;
            }
        }
    }
    Ok(())
}

#[test]
fn what_is_shown_is_what_the_browser_said() {
    for_every(larder_fixtures::varied(), check);
}

#[cfg(feature = "sqlite")]
#[test]
fn what_is_shown_of_sqlite_files_is_what_the_browser_said() {
    for_every(larder_fixtures::in_sqlite(), check);
}
