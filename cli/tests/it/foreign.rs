//! Values of other engines, as the commands show them.

use std::path::Path;
use std::sync::Arc;

use larder_idb::{
    DATA_VERSION_MAX, DiskFileSystem, FixedClock, NewExternalObject, ObjectStoreParameters, Origin,
    Storage, StorageOptions, Upgrade, Value,
};
use serde_json::{Value as Json, json};

use crate::support::{larder, stderr};

const ORIGIN: &str = "https://library.example";

/// "out" has a short value of gecko, a plain one, and a compressed one of webkit; "generated" one with a key that is put in.
fn make(upgrade: &Upgrade) -> larder_idb::Result<()> {
    let out = upgrade
        .transaction
        .create_object_store("out", ObjectStoreParameters::default())?;
    let gecko = || Value::foreign("gecko", 8, b"opaque", []);
    out.put(gecko()?, Some(1.0.into()))?.detach();
    out.put(Value::serialize("plain")?, Some(2.0.into()))?
        .detach();
    let webkit = Value::foreign("webkit", 15, &[7; 70_000], [])?;
    out.put(webkit, Some(3.0.into()))?.detach();
    let blob = NewExternalObject::Blob {
        mime_type: "text/plain".into(),
        content: Arc::new(b"beside it".to_vec()),
    };
    let value = Value::foreign("webkit", 15, b"with a blob", [])?;
    out.put(value.and_objects(vec![blob]), Some(4.0.into()))?
        .detach();
    let parameters = ObjectStoreParameters::new()
        .key_path("id")
        .auto_increment(true);
    let generated = upgrade
        .transaction
        .create_object_store("generated", parameters)?;
    generated.put(gecko()?, None)?.detach();
    Ok(())
}

fn library(folder: &Path) {
    let (fs, clock) = (
        Arc::new(DiskFileSystem::new()),
        Arc::new(FixedClock::default()),
    );
    let mut options = StorageOptions::new(fs, folder, clock);
    options.new_store_version = DATA_VERSION_MAX;
    let storage = Storage::new(options).unwrap();
    let factory = storage.factory(&Origin::from_url(ORIGIN).unwrap());
    let request = factory.open("library", Some(1)).unwrap();
    request.with_upgrade(make).wait().unwrap().close();
    storage.close().unwrap();
}

/// What a command prints, and nothing on standard error.
fn said(arguments: &[&str], folder: &Path) -> String {
    let output = larder([arguments, &[folder.to_str().unwrap()]].concat());
    assert_eq!(
        (output.status.code(), &*stderr(&output)),
        (Some(0), ""),
        "{arguments:?}"
    );
    String::from_utf8(output.stdout).unwrap()
}

fn lines(text: &str) -> Vec<Json> {
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn values_of_other_engines_are_shown_with_the_engine_and_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    library(folder.path());

    let text = said(&["dump", "--format", "text"], folder.path());
    let hex = "07".repeat(500);
    let whole = r#"{"larder:engine":"gecko","larder:format":8,"larder:bytes":{"$arraybuffer":"b3BhcXVl"},"id":1}"#;
    for line in [
        "  1  gecko (format 8), 6 bytes: 6f7061717565".to_owned(),
        "  2  \"plain\"".to_owned(),
        format!("  3  webkit (format 15), 70000 bytes: {hex}…"),
        // Nothing that stands behind the bytes is left out.
        format!("  1  gecko (format 8), 6 bytes: {whole}"),
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "{line} is not in {text}"
        );
    }

    let (_, blob) = text
        .split_once("  4  webkit (format 15), 11 bytes: ")
        .unwrap();
    let blob = blob.lines().nth(1).unwrap();
    assert!(
        blob.contains("text/plain") && blob.contains("9 B"),
        "{blob}"
    );

    let rows = said(&["rows"], folder.path());
    let shown = |what: &str| rows.lines().filter(|line| line.contains(what)).count();
    assert_eq!(shown(", gecko (format 8), value of "), 2, "{rows}");
    assert_eq!(shown(", webkit (format 15), value of "), 2, "{rows}");
    assert_eq!(shown(", value of "), 5, "{rows}");

    let listed = said(&["ls"], folder.path());
    assert!(
        listed.contains(", values of gecko and webkit\n"),
        "{listed}"
    );
    let listed = &lines(&said(&["ls", "--json"], folder.path()))[0];
    let stores = &listed["databases"][0]["object_stores"];
    let engines: Vec<&Json> = (0..2).map(|n| &stores[n]["engines"]).collect();
    assert_eq!(engines, [&json!(["gecko", "webkit"]), &json!(["gecko"])]);
}

#[test]
fn programs_read_values_of_other_engines_as_the_objects_that_they_are() {
    let folder = tempfile::tempdir().unwrap();
    library(folder.path());
    let jsonl = lines(&said(&["dump", "--format", "jsonl"], folder.path()));
    let bytes = json!({ "$arraybuffer": "b3BhcXVl" });
    let gecko = json!({ "larder:engine": "gecko", "larder:format": 8, "larder:bytes": bytes });
    let values: Vec<&Json> = jsonl.iter().map(|line| &line["value"]).collect();
    assert!(values.contains(&&gecko), "{values:?}");
    let blobs = jsonl.iter().filter_map(|line| line["external"].as_array());
    let types: Vec<&Json> = blobs.flatten().map(|blob| &blob["type"]).collect();
    assert_eq!(types, ["text/plain"]);
    let canonical = lines(&said(&["dump", "--format", "canonical"], folder.path()));
    let stores = &canonical[0]["databases"][0]["stores"];
    let text = |text: &str| json!({ "t": "string", "v": text });
    let number = |number: &str| json!({ "t": "number", "v": number });
    let buffer =
        json!({ "t": "ArrayBuffer", "id": 1, "bytes": { "len": 6, "hex": "6f7061717565" } });
    let props = json!([
        ["larder:engine", text("gecko")],
        ["larder:format", number("8")],
        ["larder:bytes", buffer],
        ["id", number("1")],
    ]);
    let value = &stores[0]["records"][0][1];
    assert_eq!(value, &json!({ "t": "Object", "id": 0, "props": props }));
}

#[test]
fn a_script_that_makes_an_index_over_them_gets_an_error_with_their_engine_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let stores = folder.path().join("IndexedDB");
    library(&stores);
    let before = said(&["dump", "--format", "canonical"], &stores);
    let script = folder.path().join("script.js");
    let source = "
        const opening = indexedDB.open('library', 2);
        opening.onupgradeneeded = () => {
          const upgrade = opening.transaction;
          upgrade.onabort = () => console.log(upgrade.error.name, upgrade.error.message);
          upgrade.objectStore('out').createIndex('i', 'x');
        };
        opening.onerror = () => console.log(opening.error.name);";
    std::fs::write(&script, source).unwrap();
    let output = larder([
        "run",
        "--storage",
        stores.to_str().unwrap(),
        "--origin",
        ORIGIN,
        script.to_str().unwrap(),
    ]);
    let reported = String::from_utf8(output.stdout).unwrap();
    let expected = "DataError the record with key 1: the value is one of gecko (format 8): only its host can say which keys it has in a new index
AbortError
";
    assert_eq!(reported, expected);
    assert_eq!(said(&["dump", "--format", "canonical"], &stores), before);
}
