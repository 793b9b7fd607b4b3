//! `larder feed`: what it prints is what was done to the database, in order, also while another program writes.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use larder_backing_store::IdbComparator;
use larder_idb::{
    Connection, ObjectStoreParameters, Origin, Storage, StorageOptions, Transaction,
    TransactionMode, TransactionOptions, Value,
};
use larder_leveldb::storage::DiskFileSystem;
use larder_leveldb::{Db, Durability, Options};
use serde_json::{Value as Json, json};

use crate::support::{larder, stderr};

mod moved;

fn open(folder: &Path, names: &[&str]) -> (Storage, Vec<Connection>) {
    let storage = Storage::new(StorageOptions::on_disk(folder)).unwrap();
    let factory = storage.factory(&Origin::from_url("https://app.example").unwrap());
    let connections = names.iter().map(|name| {
        let opening = factory.open(*name, Some(1)).unwrap();
        let opening = opening.with_upgrade(|upgrade| {
            for name in ["books", "loans"] {
                let made = ObjectStoreParameters::new();
                upgrade.transaction.create_object_store(name, made)?;
            }
            upgrade.transaction.set_change_feed(true)
        });
        opening.wait().unwrap()
    });
    let connections = connections.collect();
    (storage, connections)
}

fn write(connection: &Connection, from_source: bool, work: impl FnOnce(&Transaction)) {
    let options = TransactionOptions::new().from_source(from_source);
    let mode = TransactionMode::ReadWrite;
    let transaction = connection.transaction(["books", "loans"], mode, options);
    let transaction = transaction.unwrap();
    work(&transaction);
    transaction.commit().unwrap().wait().unwrap();
}

fn put(transaction: &Transaction, store: &str, key: &str, value: &Json) {
    let store = transaction.object_store(store).unwrap();
    let value = Value::serialize(value).unwrap();
    store.put(value, Some(key.into())).unwrap().detach();
}

/// Three transactions, five revisions.
fn fill(connection: &Connection) {
    write(connection, false, |transaction| {
        put(transaction, "books", "a", &json!({ "title": "Emma" }));
        put(transaction, "loans", "a", &json!(1));
    });
    write(connection, true, |transaction| {
        put(transaction, "books", "a", &json!({ "title": "Persuasion" }));
    });
    write(connection, false, |transaction| {
        let loans = transaction.object_store("loans").unwrap();
        loans.delete("a").unwrap().detach();
        put(transaction, "books", "b", &json!([null, "x"]));
    });
}

fn feed(arguments: &[&str], store: &Path) -> Output {
    let feed = ["feed", arguments[0], store.to_str().unwrap()];
    larder([&feed, &arguments[1..]].concat())
}

/// What it prints, without the times of commits.
fn lines(arguments: &[&str], store: &Path) -> Vec<Json> {
    let output = feed(arguments, store);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        stderr(&output)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(line).collect()
}

fn line(text: &str) -> Json {
    let mut line: Json = serde_json::from_str(text).unwrap();
    if let Some(committed) = line.get_mut("committed") {
        assert!(committed.as_f64().unwrap() > 1.7e12, "{text}");
        *committed = json!(true);
    }
    line
}

fn refused(arguments: &[&str], store: &Path, code: i32) -> String {
    let output = feed(arguments, store);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    stderr(&output)
}

fn all() -> [Json; 5] {
    [
        json!({ "revision": 1, "operation": "creation", "store": "books", "key": "a", "value": { "title": "Emma" } }),
        json!({ "revision": 2, "operation": "creation", "store": "loans", "key": "a", "committed": true, "value": 1 }),
        json!({ "revision": 3, "operation": "modification", "store": "books", "key": "a", "fromSource": true, "committed": true, "value": { "title": "Persuasion" } }),
        json!({ "revision": 4, "operation": "removal", "store": "loans", "key": "a" }),
        json!({ "revision": 5, "operation": "creation", "store": "books", "key": "b", "committed": true, "value": [null, "x"] }),
    ]
}

fn without_values(lines: &[Json]) -> Vec<Json> {
    let mut lines = lines.to_vec();
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("value");
    }
    lines
}

fn store_in(folder: &Path) -> PathBuf {
    folder.join("https_app.example_0.indexeddb.leveldb")
}

#[test]
fn revisions_are_lines_and_a_consumer_gets_each_once_and_clean_up_leaves_what_it_waits_for() {
    let dir = tempfile::tempdir().unwrap();
    let store = store_in(dir.path());
    let (storage, connections) = open(dir.path(), &["library"]);
    fill(&connections[0]);
    // Another program has it open, for what only reads.
    let all = all();
    assert_eq!(lines(&["replay", "--values"], &store), all);
    assert_eq!(
        lines(&["replay", "--from", "3"], &store),
        without_values(&all[3..])
    );
    assert_eq!(lines(&["tail", "-n", "2", "--values"], &store), all[3..]);
    assert_eq!(
        lines(&["tail", "--store", "loans"], &store),
        without_values(&[all[1].clone(), all[3].clone()])
    );
    let in_use = refused(&["clean"], &store, 2);
    assert!(in_use.contains("has the store open"), "{in_use}");
    storage.close().unwrap();

    assert_eq!(
        lines(&["replay", "--consumer", "backup", "--values"], &store),
        all
    );
    assert_eq!(
        lines(&["replay", "--consumer", "backup"], &store),
        [] as [Json; 0]
    );
    let (storage, connections) = open(dir.path(), &["library"]);
    write(&connections[0], false, |transaction| {
        put(transaction, "books", "b", &json!(2))
    });
    storage.close().unwrap();
    let state = |cleaned: u64, position: u64| json!({ "database": "library", "last": 6, "cleaned": cleaned, "consumers": [{ "name": "backup", "position": position }] });
    assert_eq!(lines(&["ls"], &store), [state(0, 5)]);
    // The removal and what was before it, and what was overwritten; not the revision that is waited for.
    assert_eq!(lines(&["clean"], &store), [json!({ "revisions": 3 })]);
    assert_eq!(lines(&["ls"], dir.path()), [state(5, 5)]);
    let expected = json!({ "revision": 6, "operation": "modification", "store": "books", "key": "b", "committed": true });
    assert_eq!(
        lines(&["replay", "--consumer", "backup"], &store),
        [expected]
    );
    let behind = refused(&["replay", "--from", "1"], &store, 1);
    assert!(behind.contains("has been cleaned up"), "{behind}");
}

#[test]
fn a_follower_prints_what_is_committed_while_it_waits() {
    let dir = tempfile::tempdir().unwrap();
    let (storage, connections) = open(dir.path(), &["library"]);
    fill(&connections[0]);
    let mut follower = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["feed", "tail", "--follow", "--values"])
        .arg(store_in(dir.path()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut found = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut next = || line(&found.next().unwrap().unwrap());
    for expected in all() {
        assert_eq!(next(), expected);
    }
    for n in 6..9 {
        write(&connections[0], false, |transaction| {
            put(transaction, "loans", "c", &json!(n))
        });
        let line = next();
        assert_eq!((&line["revision"], &line["value"]), (&json!(n), &json!(n)));
    }
    follower.kill().unwrap();
    follower.wait().unwrap();
    storage.close().unwrap();
}

#[test]
fn what_has_no_feed_and_what_has_several_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let store = store_in(dir.path());
    let (storage, connections) = open(dir.path(), &["one", "two"]);
    fill(&connections[1]);
    storage.close().unwrap();
    let several = refused(&["tail"], &store, 2);
    assert!(
        several.contains("one, two") && several.contains("--database"),
        "{several}"
    );
    assert_eq!(
        lines(&["tail", "--database", "one"], &store),
        [] as [Json; 0]
    );
    assert_eq!(lines(&["tail", "--database", "two"], &store).len(), 5);
    assert_eq!(lines(&["ls"], &store).len(), 2);
    let none = refused(&["tail", "--database", "three"], &store, 3);
    assert!(none.contains("\"three\""), "{none}");
    let nothing = refused(&["ls"], &dir.path().join("none"), 3);
    assert!(nothing.contains("check the path"), "{nothing}");
    let other = dir.path().join("https_b.example_0.indexeddb.leveldb");
    let (storage, _) = open(&dir.path().join("b"), &["one"]);
    storage.close().unwrap();
    std::fs::rename(store_in(&dir.path().join("b")), &other).unwrap();
    let two = refused(&["ls"], dir.path(), 2);
    assert!(two.contains("one is read at a time"), "{two}");
}

#[test]
fn a_revision_that_cannot_be_read_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let store = store_in(dir.path());
    let (storage, connections) = open(dir.path(), &["library"]);
    fill(&connections[0]);
    storage.close().unwrap();
    let options = Options::new(Arc::new(IdbComparator));
    let db = Db::open(Arc::new(DiskFileSystem::new()), &store, options).unwrap();
    let mut iter = db.iter();
    iter.seek_to_first().unwrap();
    let is_revisions = |value: &[u8]| value.windows(8).any(|at| at == b"\x07changes");
    while !is_revisions(iter.value().unwrap()) {
        iter.next().unwrap();
    }
    let (key, value) = (iter.key().to_vec(), iter.value().unwrap().to_vec());
    let cut = &value[..value.len() - 1];
    db.put(&key, cut, Durability::Strict).unwrap();
    drop(iter);
    db.close().unwrap();
    let damage = refused(&["replay"], &store, 1);
    assert!(damage.contains("count of properties"), "{damage}");
}

#[test]
fn a_feed_is_turned_on_for_a_database_full_of_data_and_off() {
    let dir = tempfile::tempdir().unwrap();
    let store = store_in(dir.path());
    let (storage, connections) = open(dir.path(), &["library", "other"]);
    fill(&connections[0]);
    let in_use = refused(&["off", "--database", "library"], &store, 2);
    assert!(in_use.contains("has the store open"), "{in_use}");
    storage.close().unwrap();
    let which = ["--database", "library"];
    let with = |command: &'static str| [&[command], &which[..]].concat();
    assert_eq!(lines(&with("off"), &store), [] as [Json; 0]);
    let none = refused(&with("tail"), &store, 3);
    assert!(none.contains("larder feed ls"), "{none}");
    let state = json!({ "database": "library", "last": 2, "cleaned": 0, "consumers": [] });
    for _ in 0..2 {
        assert_eq!(lines(&with("on"), &store), std::slice::from_ref(&state));
    }
    let records = [
        json!({ "revision": 1, "operation": "creation", "store": "books", "key": "a", "value": { "title": "Persuasion" } }),
        json!({ "revision": 2, "operation": "creation", "store": "books", "key": "b", "committed": true, "value": [null, "x"] }),
    ];
    assert_eq!(
        lines(&[&with("replay")[..], &["--values"]].concat(), &store),
        records
    );
    let several = refused(&["on"], &store, 2);
    assert!(several.contains("(library, other)"), "{several}");
    let no_such = refused(&["on", "--database", "third"], &store, 3);
    assert!(no_such.contains("no database \"third\""), "{no_such}");
}
