//! Limits, filters, searches, hidden rows, downloads.

use larder_view::{Form, Refusal};
use serde_json::{Value, json};

use super::support::{Asked, Kept, Place, view};
use crate::support::{larder, run_script};

/// Database and object store of these names in a store.
fn place(viewed: &Asked<'_>, database: &str, object_store: &str) -> Place {
    let store = viewed.json("store", &json!({"store": 0})).unwrap();
    let named = |all: &Value, name: &str| {
        let all = all.as_array().unwrap();
        all.iter().find(|one| one["name"] == name).unwrap().clone()
    };
    let database = named(&store["databases"], database);
    let object_store = named(&database["objectStores"], object_store);
    Place {
        database: database["id"].as_i64().unwrap(),
        object_store: object_store["id"].as_i64().unwrap(),
        index: None,
    }
}

fn hex_of(viewed: &Asked<'_>, place: Place, key: &str) -> Value {
    let rows = viewed.all(place, "next", 500).unwrap();
    let found = rows
        .iter()
        .find(|row| row["primaryKey"]["v"] == key)
        .unwrap();
    found["primaryKeyHex"].clone()
}

#[test]
fn a_value_comes_with_limits_and_says_what_is_left_out() {
    let fixture = larder_fixtures::get("c156-lite").open();
    let viewer = view(fixture.dir());
    let viewed = Asked(&viewer);
    let place = place(&viewed, "values", "v");
    let key = hex_of(&viewed, place, "typed arrays");
    let whole = viewed.record(place, &key).unwrap();
    let count = |value: &Value| value["value"]["props"].as_array().unwrap().len();
    let asked = place.with(json!({"primaryKey": key, "nodes": 4, "bytes": 2}));
    let cut = viewed.json("record", &asked).unwrap();
    let left = cut["value"]["left"].as_u64().unwrap() as usize;
    assert!(left > 0 && count(&cut) > 0);
    assert_eq!(count(&cut) + left, count(&whole));
    assert!(cut.to_string().contains("\"cut\":true"), "{cut}");
    let big = super::content::place(&viewed, "blobs", "big");
    let key = hex_of(&viewed, big, "grown");
    let whole = viewed.record(big, &key).unwrap();
    let whole = whole["value"]["v"].as_str().unwrap();
    let cut = viewed
        .json(
            "record",
            &big.with(json!({"primaryKey": key, "strings": 10})),
        )
        .unwrap();
    assert_eq!(cut["value"]["v"], whole[..10]);
    assert_eq!(cut["value"]["units"], whole.len());
    assert_eq!(cut["value"]["cut"], true);
}

#[test]
fn ranges_and_filters_leave_out_what_they_say() {
    let fixture = larder_fixtures::get("c156-lite").open();
    let viewer = view(fixture.dir());
    let viewed = Asked(&viewer);
    let place = place(&viewed, "many", "rows");
    let all = viewed.all(place, "next", 500).unwrap();
    let keys = |page: &Value| -> Vec<Value> {
        let rows = page["records"].as_array().unwrap();
        rows.iter()
            .map(|row| row["primaryKey"]["v"].clone())
            .collect()
    };
    let (from, to) = (
        all.iter()
            .position(|row| row["primaryKey"]["v"] == "5")
            .unwrap()
            + 1,
        10,
    );
    let asked = json!({"limit": 500, "lower": {"text": "5", "open": true}, "upper": {"hex": all[to]["primaryKeyHex"]}});
    let page = viewed.json("records", &place.with(asked)).unwrap();
    let theirs: Vec<Value> = all[from..=to]
        .iter()
        .map(|row| row["primaryKey"]["v"].clone())
        .collect();
    assert_eq!(keys(&page), theirs);
    let asked = json!({"limit": 500, "filter": "OSLO"});
    let page = viewed.json("records", &place.with(asked)).unwrap();
    let oslo = all
        .iter()
        .filter(|row| row["value"].to_string().to_lowercase().contains("oslo"));
    let theirs: Vec<Value> = oslo.map(|row| row["primaryKey"]["v"].clone()).collect();
    assert!(theirs.len() > 3 && theirs.len() < all.len());
    assert_eq!(keys(&page), theirs);
    let malformed = viewed.ask(
        "records",
        &place.with(json!({"limit": 5, "lower": {"text": "{}"}})),
    );
    assert!(matches!(malformed.err(), Some(Refusal::Malformed(_))));
}

#[test]
fn a_search_finds_what_the_command_finds_and_ends_when_the_page_has_gone() {
    let fixture = larder_fixtures::get("c156-lite").open();
    let viewer = view(fixture.dir());
    let viewed = Asked(&viewer);
    for (kind, flag) in [
        ("text", None),
        ("regex", Some("--regex")),
        ("key", Some("--key")),
        ("type", Some("--type")),
    ] {
        let needle = match kind {
            "text" => "second",
            "regex" => "^k[0-9]",
            "key" => "3",
            _ => "Map",
        };
        let lines = viewed
            .lines("search", &json!({"text": needle, "kind": kind}))
            .unwrap();
        let hits: Vec<&Value> = lines.iter().filter_map(|line| line.get("hit")).collect();
        let arguments = flag.into_iter().chain([needle, "--format", "json"]);
        let path = ["find".as_ref(), fixture.dir().as_os_str()];
        let found = larder(path.into_iter().chain(arguments.map(AsRef::as_ref)));
        let found = found.stdout.iter().filter(|byte| **byte == b'\n').count();
        assert!(found > 0, "{needle}");
        assert_eq!(hits.len(), found.min(10_000), "{needle}");
        let last = lines.last().unwrap();
        assert_eq!(
            (&last["done"], &last["hits"]),
            (&json!(true), &json!(hits.len()))
        );
    }
    let mut kept = Kept::new();
    kept.room = 1;
    let asked = json!({"text": "e", "kind": "text"}).to_string();
    let gone = larder_view::Source::answer(viewed.0, "search", asked.as_bytes(), &mut kept);
    assert!(gone.is_err());
    assert!(
        kept.bytes.len() < 5_000,
        "{} bytes after the page had gone",
        kept.bytes.len()
    );
}

#[test]
fn rows_that_no_page_sees_are_shown_with_why() {
    let states = |name: &str| {
        let fixture = larder_fixtures::get(name).open();
        let viewer = view(fixture.dir());
        let viewed = Asked(&viewer);
        let mut rows = Vec::new();
        let mut asked = json!({"store": 0, "limit": 50});
        loop {
            let mut page = viewed.json("hidden", &asked).unwrap();
            rows.append(page["rows"].as_array_mut().unwrap());
            if page["more"] != true {
                break;
            }
            asked["after"] = page["after"].take();
        }
        rows
    };
    let count =
        |rows: &[Value], state: &str| rows.iter().filter(|row| row["state"] == state).count();
    let rows = states("c156-killed-spill");
    assert!(count(&rows, "undo") > 0);
    let rows = states("c156-lite");
    for state in ["overwritten", "deletion"] {
        assert!(count(&rows, state) > 0, "{state}");
    }
    // As many as the command says are not live.
    let fixture = larder_fixtures::get("c156-lite").open();
    let listed = larder([
        "rows".as_ref(),
        fixture.dir().as_os_str(),
        "--history".as_ref(),
        "--json".as_ref(),
    ]);
    let lines = listed
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let listed: Vec<Value> = lines
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    for state in ["stale", "deletion"] {
        assert_eq!(count(&rows, state), count(&listed, state), "{state}");
    }
    let (deleted, overwritten) = (count(&rows, "deleted"), count(&rows, "overwritten"));
    assert!(deleted > 0 && overwritten > 0);
    assert_eq!(deleted + overwritten, count(&listed, "overwritten"));
}

/// What a record was before it was overwritten and deleted.
#[test]
fn versions_that_pages_no_longer_see_are_shown_whole() {
    let folder = tempfile::tempdir().unwrap();
    let storage = folder.path().join("IndexedDB");
    run_script(&storage, &[], VERSIONS);
    let viewer = view(&storage);
    let viewed = Asked(&viewer);
    let asked = json!({"store": 0, "database": 1, "objectStore": 1, "limit": 50, "records": true});
    let page = viewed.json("hidden", &asked).unwrap();
    let rows: Vec<(&str, &str, &str)> = page["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let text = |value: &'_ Value| value.as_str().unwrap().to_owned().leak() as &str;
            (
                text(&row["state"]),
                text(&row["key"]),
                text(&row["record"]["value"]["text"]),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("deleted", "key 1", "{text: \"second\"}"),
            ("deleted", "key 1", "{text: \"first\"}"),
            ("overwritten", "key 2", "{text: \"before\"}"),
            ("overwritten", "key 3", "[blob or file]"),
        ]
    );
    let ask = |question: &str, row: &Value, more: Value| {
        let mut asked = row["record"].clone();
        asked.as_object_mut().unwrap().remove("value");
        asked["sequence"] = row["sequence"].clone();
        let more = more.as_object().unwrap().clone();
        asked.as_object_mut().unwrap().extend(more);
        viewed.json(question, &asked)
    };
    let parts = |row: &Value| ask("record", row, json!({})).unwrap();
    let first = parts(&page["rows"][1]);
    assert_eq!(
        (&first["past"], &first["problems"]),
        (&json!("deleted"), &json!([]))
    );
    assert_eq!(
        first["value"]["props"],
        json!([["text", {"t": "string", "v": "first"}]])
    );
    let json = ask("json", &page["rows"][0], json!({})).unwrap();
    assert_eq!(json["json"], "{\"text\":\"second\"}");
    let row = ask("row", &page["rows"][2], json!({})).unwrap();
    assert_eq!(row["sequence"], page["rows"][2]["sequence"]);
    assert_eq!(row["history"].as_array().unwrap().len(), 2);
    // Its own blob, and not that of the record that has taken its place.
    let with_blob = parts(&page["rows"][3]);
    assert_eq!(with_blob["past"], "overwritten");
    assert_eq!(
        (
            &with_blob["objects"][0]["type"],
            &with_blob["objects"][0]["size"]
        ),
        (&json!("text/plain"), &json!(5))
    );
    // The version that pages see is no past one, whichever way it is asked for.
    let now = &row["history"][0]["sequence"];
    let now = ask("record", &page["rows"][2], json!({"sequence": now})).unwrap();
    assert_eq!(
        (&now["past"], &now["value"]["props"][0][1]["v"]),
        (&Value::Null, &json!("after"))
    );
    let none = ask("record", &page["rows"][2], json!({"sequence": 1}));
    assert!(none.unwrap_err().contains("not in the files any more"));
}

/// In a store whose last transaction had not ended, what pages see is not the newest row of each key.
#[test]
fn what_is_taken_back_is_not_what_pages_see_and_what_they_see_is_not_hidden() {
    let fixture = larder_fixtures::get("c156-killed-spill").open();
    let viewer = view(fixture.dir());
    let viewed = Asked(&viewer);
    let asked = json!({"store": 0, "limit": 500, "records": true});
    let page = viewed.json("hidden", &asked).unwrap();
    let rows = page["rows"].as_array().unwrap();
    let (mut undone, mut seen) = (0, 0);
    for row in rows {
        let mut one = row["record"].clone();
        one.as_object_mut().unwrap().remove("value");
        let mut version = one.clone();
        version["sequence"] = row["sequence"].clone();
        let version = viewed.json("record", &version).unwrap();
        assert_eq!(version["past"], row["state"], "{row}");
        undone += usize::from(row["state"] == "undone");
        if let Ok(now) = viewed.json("row", &one) {
            assert_ne!(now["sequence"], row["sequence"], "{row}");
            seen += 1;
        }
    }
    assert!(undone > 100 && seen > 0, "{undone} undone, {seen} seen");
}

const VERSIONS: &str = "
    const opening = indexedDB.open('d');
    opening.onupgradeneeded = () => opening.result.createObjectStore('s');
    opening.onsuccess = async () => {
      const change = (work) => new Promise((resolve) => {
        const transaction = opening.result.transaction('s', 'readwrite');
        work(transaction.objectStore('s'));
        transaction.oncomplete = resolve;
      });
      await change((s) => {
        s.put({ text: 'first' }, 1);
        s.put({ text: 'before' }, 2);
        s.put([new Blob(['12345'], { type: 'text/plain' })], 3);
      });
      await change((s) => {
        s.put({ text: 'second' }, 1);
        s.put({ text: 'after' }, 2);
        s.put([new Blob(['x'], { type: 'text/html' })], 3);
      });
      await change((s) => s.delete(1));
    };";

#[test]
fn the_row_of_a_record_says_where_it_comes_from() {
    let fixture = larder_fixtures::get("c156-lite").open();
    let viewer = view(fixture.dir());
    let viewed = Asked(&viewer);
    let place = place(&viewed, "blobs", "big");
    let key = hex_of(&viewed, place, "grown");
    let row = viewed
        .json("row", &place.with(json!({"primaryKey": key})))
        .unwrap();
    let size = row["size"].as_u64().unwrap();
    let mut bytes = String::new();
    while (bytes.len() as u64) < size * 2 {
        let asked = place.with(json!({"primaryKey": key, "offset": bytes.len() / 2}));
        let part = viewed.json("row", &asked).unwrap();
        bytes.push_str(part["hex"].as_str().unwrap());
    }
    assert!(bytes.starts_with("ff1102"), "Snappy");
    assert_eq!(bytes.len() as u64, size * 2);
    assert!(row["envelope"].to_string().contains("Snappy"));
    assert_eq!(row["history"][0]["state"], "live");
    let rows = larder([
        "rows".as_ref(),
        fixture.dir().as_os_str(),
        "--json".as_ref(),
        "--hex".as_ref(),
    ]);
    let text = String::from_utf8(rows.stdout).unwrap();
    let line = text
        .lines()
        .find(|line| line.contains(row["rowKeyHex"].as_str().unwrap()))
        .unwrap();
    assert!(
        line.contains(&format!("\"sequence\":{}", row["sequence"])),
        "{line}"
    );
    assert!(
        line.contains(&bytes),
        "the bytes behind the record's version"
    );
}

#[test]
fn downloads_are_what_the_commands_write() {
    let fixture = larder_fixtures::get("c156-lite").open();
    let viewer = view(fixture.dir());
    let viewed = Asked(&viewer);
    let place = place(&viewed, "many", "rows");
    let kept = viewed
        .ask("download", &place.with(json!({"what": "jsonl"})))
        .unwrap();
    assert!(matches!(&kept.form, Form::Attachment { name, .. } if name == "rows.jsonl"));
    let dump = [
        "dump".as_ref(),
        fixture.dir().as_os_str(),
        "--format".as_ref(),
        "jsonl".as_ref(),
    ];
    let chosen = ["--database", "many", "--store", "rows"].map(AsRef::as_ref);
    let dumped = larder(dump.into_iter().chain(chosen));
    assert!(kept.bytes == dumped.stdout);
    let all = json!({"what": "archive", "store": 0});
    let kept = viewed.ask("download", &all).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("archive.jsonl");
    let exported = larder([
        "export".as_ref(),
        fixture.dir().as_os_str(),
        path.as_os_str(),
    ]);
    assert!(exported.status.success());
    assert!(kept.bytes == std::fs::read(&path).unwrap());
    // A blob's content, as an attachment and for a preview.
    let blobs = super::content::place(&viewed, "blobs", "b");
    let key = hex_of(&viewed, blobs, "blob 200k");
    let record = viewed
        .json("record", &blobs.with(json!({"primaryKey": key})))
        .unwrap();
    assert_eq!(record["objects"][0]["size"], 2000);
    let asked = |more: Value| {
        let mut asked = blobs.with(json!({"primaryKey": key, "object": 0}));
        asked
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        asked
    };
    let whole = viewed
        .ask("download", &asked(json!({"what": "blob"})))
        .unwrap();
    assert_eq!(whole.bytes.len(), 2000);
    let begin = viewed.ask("blob", &asked(json!({"length": 10}))).unwrap();
    assert_eq!(
        (begin.form, &begin.bytes[..]),
        (Form::Bytes, &whole.bytes[..10])
    );
    let missing = viewed.ask("blob", &asked(json!({"object": 7})));
    assert!(matches!(missing.err(), Some(Refusal::NotFound(_))));
}
