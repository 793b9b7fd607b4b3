//! The steps of a record on its way to another device.

use std::io::Write;
use std::path::Path;

use futures_executor::block_on;
use larder_fixtures::random::Random;
use larder_idb::{KeyRange, Value};
use larder_pages::Timestamp;
use larder_sync::{Mirror, MirrorOptions, create_from_page};

use crate::device::{Device, connect, factory};
use crate::measure::Measured;

/// In this order.
pub(crate) const NAMES: [&str; 6] = ["fill", "take", "upload", "copy", "download", "apply"];

/// Puts to a transaction.
const TRANSACTION_LEN: u32 = 1000;
const VALUE_LEN: usize = 1000;

/// Does a step in a folder.
pub(crate) fn step(name: &str, folder: &Path, records: u32, has_key: bool) -> Measured {
    let (first, second) = (Device::new(folder, 1), Device::new(folder, 2));
    let cloud = folder.join("cloud");
    match name {
        "fill" => fill(&first, records),
        "take" => take(&first, records),
        "upload" => {
            let mut sync = first.sync(&cloud, has_key);
            Measured::of(|| assert!(sync.upload().unwrap().segments > 0))
        }
        "copy" => {
            let to = folder.join("copy");
            Measured::of(|| copy(&cloud, &to))
        }
        "download" => {
            let mut sync = second.sync(&cloud, has_key);
            Measured::of(|| assert!(sync.download().unwrap().commits > 0))
        }
        "apply" => apply(&second, records),
        other => unreachable!("no step is called {other}"),
    }
}

/// Letters in no order, as a text that hardly repeats itself, and another one for each record.
fn value(random: &mut Random) -> Value {
    let letter = |_| char::from(b'a' + random.below(26) as u8);
    let text: String = (0..VALUE_LEN).map(letter).collect();
    Value::serialize(&serde_json::json!({ "text": text, "isRead": false })).unwrap()
}

fn fill(device: &Device, records: u32) -> Measured {
    let storage = device.storage();
    let connection = connect(&storage);
    let mut random = Random::new(1);
    let measured = Measured::of(|| {
        for start in (0..records).step_by(TRANSACTION_LEN as usize) {
            let options = larder_idb::TransactionOptions::default();
            let mode = larder_idb::TransactionMode::ReadWrite;
            let transaction = connection.transaction(["letters"], mode, options).unwrap();
            let store = transaction.object_store("letters").unwrap();
            for key in start..records.min(start + TRANSACTION_LEN) {
                let put = store.put(value(&mut random), Some(f64::from(key).into()));
                put.unwrap().detach();
            }
            transaction.commit().unwrap().wait().unwrap();
        }
    });
    storage.close().unwrap();
    measured
}

fn take(device: &Device, records: u32) -> Measured {
    let (storage, page) = (device.storage(), device.page());
    let connection = connect(&storage);
    let mirror = Mirror::new(&connection, &page, MirrorOptions::new());
    let mut mirror = block_on(mirror).unwrap();
    let measured = Measured::of(|| {
        let taken = block_on(mirror.take(Timestamp(1))).unwrap();
        assert_eq!(taken.put, u64::from(records));
    });
    storage.close().unwrap();
    measured
}

fn apply(device: &Device, records: u32) -> Measured {
    let (storage, page) = (device.storage(), device.page());
    let connection = block_on(create_from_page(&factory(&storage), "db", &page)).unwrap();
    let mirror = Mirror::new(&connection, &page, MirrorOptions::new().device_number(1));
    let mut mirror = block_on(mirror).unwrap();
    let measured = Measured::of(|| {
        let applied = block_on(mirror.apply(Timestamp(2))).unwrap();
        assert_eq!(applied.put, u64::from(records));
    });
    let reading = connection.transaction(
        ["letters"],
        larder_idb::TransactionMode::ReadOnly,
        larder_idb::TransactionOptions::default(),
    );
    let store = reading.unwrap().object_store("letters").unwrap();
    let count = store.count(KeyRange::all()).unwrap().wait().unwrap();
    assert_eq!(count as u32, records);
    storage.close().unwrap();
    measured
}

/// Copies the files of a folder, each with an fsync: a segment is little more than a MiB.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
            continue;
        }
        let bytes = std::fs::read(entry.path()).unwrap();
        let mut file = std::fs::File::create(to).unwrap();
        file.write_all(&bytes).unwrap();
        file.sync_all().unwrap();
    }
}
