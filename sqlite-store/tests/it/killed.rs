//! A process that is killed at any moment leaves whole transactions, and all that it was promised.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use larder_backing_store::blob::NewExternalObject;
use larder_backing_store::{
    BackingStore, CursorDirection, Durability, FixedClock, KeyRange, ObjectStoreParameters, Put,
    PutKey, PutMode, RaiseDataVersion, Scope, WriteOptions,
};
use larder_codec::external_object::ExternalObject;
use larder_codec::{DatabaseId, JsString, Key, KeyPath, ObjectStoreId, Origin, RawKey};
use larder_fixtures::random::Random;
use larder_leveldb::storage::DiskFileSystem;

/// The variable that gives the child its folder.
const CHILD: &str = "LARDER_SQLITE_CHILD";
const STORES: [&str; 2] = ["a", "b"];

fn open(dir: &Path) -> (BackingStore, DatabaseId) {
    let origin = Origin::from_url("http://127.0.0.1:18917").unwrap();
    let mut options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
    options.raise_data_version = RaiseDataVersion::WhenNeeded;
    options.create_if_missing = true;
    let fs = Arc::new(DiskFileSystem::new());
    let store = larder_sqlite_store::open_for_writing(fs, dir, options).unwrap();
    let id = store.create_database(&JsString::from("d")).unwrap();
    (store, id)
}

/// The object stores, which are made by the first version change.
fn object_stores(store: &BackingStore, id: DatabaseId) -> Vec<ObjectStoreId> {
    let databases = store.databases().unwrap();
    let found = databases.into_iter().find(|database| database.id == id);
    let stores = found.map(|database| database.object_stores);
    stores
        .unwrap_or_default()
        .iter()
        .map(|store| store.id)
        .collect()
}

fn make(store: &BackingStore, id: DatabaseId) {
    let mut change = store
        .begin(Scope::VersionChange(id), Durability::Strict)
        .unwrap();
    change.set_version(1).unwrap();
    for name in STORES {
        let parameters = ObjectStoreParameters {
            id: None,
            name: name.into(),
            key_path: KeyPath::Null,
            auto_increment: false,
        };
        change.create_object_store(&parameters).unwrap();
    }
    change.commit().unwrap();
}

/// The value of round `n`: a number, behind bytes that do not pack well now and then.
fn value(n: u32, random: &mut Random) -> Vec<u8> {
    let mut value = vec![0xff, 0x15, 0xff, 0x0f];
    value.extend(n.to_le_bytes());
    let len = random.index(2000);
    value.extend((0..len).map(|_| random.below(256) as u8));
    value
}

fn number(value: &[u8]) -> u32 {
    u32::from_le_bytes(value[4..8].try_into().unwrap())
}

#[test]
fn a_child_that_writes_without_end_does_nothing_without_its_parent() {
    let Some(dir) = std::env::var_os(CHILD) else {
        return;
    };
    let (store, id) = open(Path::new(&dir));
    if object_stores(&store, id).is_empty() {
        make(&store, id);
    }
    let stores = object_stores(&store, id);
    let mut n = last(&store, id, stores[0]).map_or(0, |last| last + 1);
    let mut random = Random::new(u64::from(n));
    loop {
        let durability = match random.one_in(3) {
            true => Durability::Strict,
            false => Durability::Relaxed,
        };
        let scope = Scope::Stores(id, [stores[0], stores[1]].into());
        let mut transaction = store.begin(scope, durability).unwrap();
        // All records of both object stores get the number of the round; some come and some go.
        for object_store in &stores {
            transaction.delete(*object_store, &KeyRange::ALL).unwrap();
            for key in 0..1 + random.below(20) {
                let key = encoded(key as f64);
                let objects = match random.one_in(8) {
                    true => vec![NewExternalObject::Blob {
                        mime_type: "".into(),
                        content: Arc::new(n.to_le_bytes().to_vec()),
                    }],
                    false => Vec::new(),
                };
                let put = Put {
                    key: PutKey::Given(RawKey::decode_exact(&key).unwrap()),
                    value: &value(n, &mut random),
                    mode: PutMode::Put,
                    index_keys: &[],
                    external_objects: &objects,
                };
                transaction.put(*object_store, &put).unwrap();
            }
        }
        transaction.commit().unwrap();
        // Standard output is the parent's pipe: the test harness takes what is printed.
        writeln!(std::io::stdout().lock(), "committed {n}").unwrap();
        n += 1;
    }
}

fn encoded(number: f64) -> Vec<u8> {
    let mut bytes = Vec::new();
    Key::Number(number).encode(&mut bytes);
    bytes
}

/// The number that all records of an object store have.
fn last(store: &BackingStore, id: DatabaseId, object_store: ObjectStoreId) -> Option<u32> {
    let read = store.read();
    let mut records = read.records(id, object_store, CursorDirection::Next);
    let mut found = None;
    while records.next().unwrap() {
        let n = number(records.value().unwrap());
        assert_eq!(*found.get_or_insert(n), n, "two rounds in one object store");
        let objects = read
            .external_objects(id, object_store, records.primary_key().unwrap())
            .unwrap();
        for object in objects {
            let ExternalObject::Blob(blob) = object else {
                panic!("{object:?}");
            };
            let mut reader = read.open_blob(id, &blob).unwrap();
            let mut content = Vec::new();
            reader.read_to_end(&mut content).unwrap();
            assert_eq!(content, n.to_le_bytes());
        }
    }
    found
}

/// A process is killed after fewer transactions than that and a moment.
const ROUNDS_MAX: usize = 30;

#[test]
fn what_a_killed_process_leaves_is_whole_and_has_what_it_was_promised() {
    let kills = std::env::var("LARDER_KILLS").map_or(8, |kills| kills.parse().unwrap());
    let seed = std::env::var("LARDER_SEED").map_or(1, |seed| seed.parse().unwrap());
    println!("seed {seed}, {kills} kills");
    let mut random = Random::new(seed);
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("http_127.0.0.1_18917");
    let mut most = 0;
    for kill in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "killed::a_child_that_writes_without_end_does_nothing_without_its_parent",
                "--exact",
                "--nocapture",
            ])
            .env(CHILD, &dir)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut committed = output
            .lines()
            .map_while(std::result::Result::ok)
            .filter_map(|line| line.strip_prefix("committed ").and_then(|n| n.parse().ok()));
        // So many transactions, however slow the machine is, and then somewhere in the next ones.
        let before = committed.by_ref().take(random.index(ROUNDS_MAX)).last();
        std::thread::sleep(Duration::from_millis(random.below(30)));
        assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
        child.kill().unwrap();
        child.wait().unwrap();
        let promised: Option<u32> = committed.last().or(before);
        let (store, id) = open(&dir);
        let stores = object_stores(&store, id);
        let found: Vec<_> = stores.iter().map(|of| last(&store, id, *of)).collect();
        let what = format!("seed {seed}, kill {kill}: promised {promised:?}, found {found:?}");
        assert!(found.windows(2).all(|two| two[0] == two[1]), "{what}");
        let found = found.first().copied().flatten();
        assert!(found >= promised, "{what}");
        most = most.max(found.unwrap_or(0));
        store.close().unwrap();
    }
    assert!(most > 20, "{most} rounds at most: too few to tell anything");
    println!("{kills} kills left whole transactions; {most} rounds");
}
