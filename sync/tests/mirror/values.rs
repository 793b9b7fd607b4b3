//! Values: of Chromiums of different ages, of other engines, and long ones in bounded memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use larder_idb::{
    DiskFileSystem, Executor, FixedClock, JsString, NewExternalObject, ObjectStoreParameters,
    Origin, Storage, StorageOptions, Upgrade, Value,
};
use larder_sync::{MirrorOptions, Reason};

use crate::device::{Device, page, quiet};

/// What a browser said is in a store: by database and object store, the values by their keys' texts.
fn said(name: &str) -> BTreeMap<(String, String), BTreeMap<String, String>> {
    let json = larder_fixtures::get(name).expected_json();
    let mut said = BTreeMap::new();
    for database in json["databases"].as_array().unwrap() {
        for store in database["objectStores"]
            .as_array()
            .or(database["stores"].as_array())
            .unwrap()
        {
            let records = store["records"].as_array().unwrap().iter();
            let records = records.map(|record| (record[0].to_string(), record[1].to_string()));
            let place = (database["name"].to_string(), store["name"].to_string());
            said.insert(place, records.collect());
        }
    }
    said
}

/// A device on a copy of a browser's store, whose database has a change feed.
fn device(fixture: &larder_fixtures::OpenFixture, origin: &str, name: &JsString) -> Device {
    let folder = fixture.leveldb().parent().unwrap().to_owned();
    let fs = Arc::new(DiskFileSystem::new());
    let mut options = StorageOptions::new(fs, folder, Arc::new(FixedClock::default()));
    options.executor = Executor::Driven { seed: None };
    let storage = Storage::new(options).unwrap();
    let factory = storage.factory(&Origin::from_url(origin).unwrap());
    let opening = factory.open_to_change(name).unwrap();
    let opening = opening.with_upgrade(|upgrade| upgrade.transaction.set_change_feed(true));
    Device {
        connection: opening.wait().unwrap(),
        storage,
        page: page(),
        options: MirrorOptions::new(),
    }
}

/// The judge is what the two browsers said of their stores: where that is alike, the entries must be, and where it differs they are conflicts.
#[test]
fn equal_values_of_chromiums_of_different_ages_meet_without_a_conflict() {
    let (old, new) = (said("c64-lite"), said("c156-lite"));
    let names = ["blobs", "indexes", "keys", "lifecycle", "many", "values"];
    let (mut alike, mut different) = (0, 0);
    for name in names {
        let fixtures = ["c64-lite", "c156-lite"].map(larder_fixtures::get);
        let copies = fixtures.each_ref().map(larder_fixtures::Fixture::copy);
        let devices: Vec<Device> = (fixtures.iter().zip(&copies))
            .map(|(fixture, copy)| device(copy, &fixture.origin, &name.into()))
            .collect();
        let taken: Vec<_> = devices.iter().map(|device| device.take(1)).collect();
        // One has a handle, which stays where it is.
        let mut skipped = taken.iter().flat_map(|taken| &taken.skipped);
        assert!(
            skipped.all(|skipped| skipped.reason == Reason::Handle),
            "{taken:?}"
        );
        devices[1].page.pull_from(&devices[0].page, false).unwrap();
        let mirror = devices[1].mirror();
        mirror.merge().unwrap();
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for conflict in mirror.conflicts().unwrap() {
            let store = conflict.object_store.to_string_lossy();
            *found
                .entry(serde_json::to_string(&store).unwrap())
                .or_default() += 1;
        }
        let quoted = serde_json::to_string(name).unwrap();
        for ((database, store), records) in old.iter().filter(|((of, _), _)| *of == quoted) {
            let others = &new[&(database.clone(), store.clone())];
            let shared = records.iter().filter(|(key, _)| others.contains_key(*key));
            let differing = shared
                .clone()
                .filter(|(key, value)| others[*key] != **value)
                .count();
            alike += shared.count() - differing;
            different += differing;
            let conflicts = found.remove(store).unwrap_or(0);
            assert_eq!(conflicts, differing, "{database} {store}");
        }
        assert!(found.is_empty(), "{name}: {found:?}");
    }
    println!("{alike} records alike, {different} not");
    assert!(alike > 700, "{alike}");
}

/// A value of another engine's is a value like others, where no index asks for its keys.
#[test]
fn values_of_other_engines_pass_where_no_index_asks_for_their_keys() {
    fn upgrade(upgrade: &Upgrade) -> larder_idb::Result<()> {
        let by_id = || ObjectStoreParameters::new().key_path("id");
        let transaction = &upgrade.transaction;
        transaction.create_object_store("bare", by_id())?;
        let indexed = transaction.create_object_store("indexed", by_id())?;
        let parameters = larder_idb::IndexParameters::new();
        indexed.create_index("by x", larder_idb::KeyPath::from("x"), parameters)?;
        transaction.set_change_feed(true)
    }
    let (desk, pocket) = (
        Device::new(MirrorOptions::new(), upgrade),
        Device::new(MirrorOptions::new().device_number(1), upgrade),
    );
    let transaction = desk.begin();
    let bare = transaction.object_store("bare").unwrap();
    let value = Value::foreign("gecko", 8, b"\x03\x00", []).unwrap();
    bare.put(value, Some("a".into())).unwrap().wait().unwrap();
    let indexed = transaction.object_store("indexed").unwrap();
    let value = Value::foreign("gecko", 8, b"\x04", [("by x".into(), vec![1.into()])]).unwrap();
    indexed
        .put(value, Some("b".into()))
        .unwrap()
        .wait()
        .unwrap();
    desk.commit(transaction);
    let taken = desk.take(1);
    assert_eq!((taken.put, taken.skipped.len()), (1, 1));
    assert_eq!(taken.skipped[0].reason, Reason::Foreign);
    quiet(&[&desk, &pocket], &mut 1);
    let transaction = pocket.begin();
    let bare = transaction.object_store("bare").unwrap();
    let found = bare.get("a").unwrap().wait().unwrap().unwrap();
    assert_eq!(found.foreign().unwrap().bytes(), b"\x03\x00");
    drop((bare, transaction));
    assert_eq!(pocket.content().len(), 1);
}

/// The bytes are written down from `docs/format/sync.md`.
#[test]
fn entries_are_as_the_format_says() {
    fn upgrade(upgrade: &Upgrade) -> larder_idb::Result<()> {
        let by_id = ObjectStoreParameters::new().key_path("i");
        let transaction = &upgrade.transaction;
        transaction.create_object_store("a", ObjectStoreParameters::new())?;
        let b = transaction.create_object_store("b", by_id.auto_increment(true))?;
        let unique = larder_idb::IndexParameters::new().unique(true);
        b.create_index("x", larder_idb::KeyPath::from(["y"]), unique)?;
        transaction.set_change_feed(true)
    }
    let desk = Device::of_version(MirrorOptions::new(), 300, upgrade);
    let transaction = desk.begin();
    let a = transaction.object_store("a").unwrap();
    let value = Value::serialize(&true).unwrap();
    a.put(value.clone(), Some(1.into())).unwrap().detach();
    let file = NewExternalObject::File {
        mime_type: "t".into(),
        content: Arc::new(b"content".to_vec()),
        name: "n".into(),
        last_modified_micros: -2,
    };
    let value = value.and_objects(vec![file]);
    a.put(value, Some("k".into())).unwrap().detach();
    drop(a);
    desk.commit(transaction);
    desk.take(1);
    let head = desk.page.heads().pop().unwrap();
    let snapshot = desk.page.snapshot(&head, b"");
    let wire = b"\x12\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0fT";
    let expected: [(&[u8], Vec<u8>); 5] = [
        (
            b"r\x50\x30b\0\x10\xbf\xf0\0\0\0\0\0\0\0",
            [b"\x01", &wire[..], b"\0"].concat(),
        ),
        (
            b"r\x50\x30b\0\x30l\0\0",
            [
                b"\x01",
                &wire[..],
                b"\x01\x01\x01t\0\x07\x01n\0\xfe\xff\xff\xff\xff\xff\xff\xffcontent",
            ]
            .concat(),
        ),
        (b"s", b"\xac\x02".to_vec()),
        (b"s\x30b\0", b"\0\0\0".to_vec()),
        (
            b"s\x30c\0",
            b"\x01\x01i\0\x01\x01\x01x\0\x02\x01\x01y\0\x01\0".to_vec(),
        ),
    ];
    let found: Vec<_> = (snapshot.entries(b"").unwrap())
        .map(|entry| {
            let key = entry.unwrap().key;
            let value = snapshot.get(&key).unwrap().unwrap();
            (key, value)
        })
        .collect();
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(key, value)| (key.to_vec(), value))
        .collect();
    assert_eq!(found, expected);
}
