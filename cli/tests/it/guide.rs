//! The commands of `docs/guide-sync.md`, one block after the other, in a folder that has what the guide says: a laptop's store, and nothing of the phone's.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use larder_idb::{
    GetAllOptions, KeyRange, ObjectStoreParameters, Origin, Storage, StorageOptions, SystemClock,
    TransactionMode, TransactionOptions, Value,
};
use larder_leveldb::storage::DiskFileSystem;
use serde_json::{Value as Json, json};

fn storage(device: &Path) -> Storage {
    let options = StorageOptions::new(
        Arc::new(DiskFileSystem::new()),
        device,
        Arc::new(SystemClock),
    );
    Storage::new(options).unwrap()
}

fn origin() -> Origin {
    Origin::from_url("https://app.example").unwrap()
}

/// What a program on the device does: puts people, makes the database if it is not there.
fn put(device: &Path, people: &[(&str, Json)]) {
    let storage = storage(device);
    let opening = storage
        .factory(&origin())
        .open("contacts", Some(1))
        .unwrap();
    let opening = opening.with_upgrade(|upgrade| {
        let parameters = ObjectStoreParameters::new();
        upgrade
            .transaction
            .create_object_store("people", parameters)?;
        Ok(())
    });
    let connection = opening.wait().unwrap();
    let options = TransactionOptions::default();
    let writing = connection.transaction(["people"], TransactionMode::ReadWrite, options);
    let writing = writing.unwrap();
    let store = writing.object_store("people").unwrap();
    for (key, person) in people {
        let value = Value::serialize(person).unwrap();
        store.put(value, Some((*key).into())).unwrap().detach();
    }
    writing.commit().unwrap().wait().unwrap();
    storage.close().unwrap();
}

/// The people on the device, by their names.
fn people(device: &Path) -> BTreeMap<String, Json> {
    let storage = storage(device);
    let opening = storage.factory(&origin()).open("contacts", None).unwrap();
    let connection = opening.connection().wait().unwrap();
    let options = TransactionOptions::default();
    let reading = connection.transaction(["people"], TransactionMode::ReadOnly, options);
    let store = reading.unwrap().object_store("people").unwrap();
    let records = store
        .get_all(KeyRange::all(), GetAllOptions::new())
        .unwrap();
    let records = records.wait().unwrap();
    let people = records.iter().map(|record| {
        let person: Json = record.deserialize().unwrap();
        (person["name"].as_str().unwrap().to_owned(), person)
    });
    let people = people.collect();
    storage.close().unwrap();
    people
}

/// What the lines print.
fn run(block: &str, folder: &Path) -> String {
    let larder = Path::new(env!("CARGO_BIN_EXE_larder")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-e", "-c", block])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", larder.display()))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{block}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn commands_of_the_guide_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let guide = fs::read_to_string(root.join("docs/guide-sync.md")).unwrap();
    let blocks = guide.split("```sh\n").skip(1);
    let blocks: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
    let [first, later, settled] = blocks[..] else {
        panic!("three blocks of commands: {blocks:?}");
    };
    let folder = tempfile::tempdir().unwrap();
    let device = |name: &str| folder.path().join(name);
    let (laptop, phone) = (device("laptop"), device("phone"));
    let ada = |town: &str| ("ada", json!({ "name": "Ada", "town": town }));
    let other = |name: &str| (name.to_owned(), json!({ "name": name }));

    fs::create_dir(&laptop).unwrap();
    put(&laptop, &[ada("London")]);
    run(first, folder.path());
    assert_eq!(
        people(&phone),
        BTreeMap::from([("Ada".into(), ada("London").1)])
    );

    put(&laptop, &[ada("Oxford"), ("grace", other("Grace").1)]);
    put(&phone, &[ada("Paris"), ("alan", other("Alan").1)]);
    let printed = run(later, folder.path());
    // The phone's round was the later one.
    let all = BTreeMap::from([
        ("Ada".into(), ada("Paris").1),
        other("Alan"),
        other("Grace"),
    ]);
    assert_eq!(people(&laptop), all);
    assert_eq!(people(&phone), all);
    let conflicts = printed.lines().filter(|line| line.starts_with('{'));
    let conflicts: Vec<Json> = conflicts
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(conflicts.len(), 1, "{printed}");
    assert_eq!(conflicts[0]["store"], "people");
    assert!(conflicts[0]["kept"].to_string().contains("Paris"));
    assert!(conflicts[0]["other"].to_string().contains("Oxford"));

    run(settled, folder.path());
    assert_eq!(people(&phone), all);
    for (device, name) in [(&laptop, "laptop"), (&phone, "phone")] {
        let again = format!("larder sync {name} --cloud shared --key key --conflicts");
        assert_eq!(run(&again, folder.path()), "", "{}", device.display());
    }
}
