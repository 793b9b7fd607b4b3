//! A crash, and a failure, at every single file operation of a workload.
//!
//! Every batch also writes its own number under one key, so what is found after reopening says up to which batch it must be
//! whole.

use larder_leveldb::storage::{CrashImage, Fault, FaultFileSystem, FileSystem, MemoryFileSystem};
use larder_leveldb::table::TableOptions;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Background, Db, Durability, Options, Result};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

const BATCHES: u32 = 110;
const NUMBER: &[u8] = b"number of the last batch";

fn options() -> Options {
    Options {
        create_if_missing: true,
        write_buffer_bytes: 3000,
        table_file_bytes: 2500,
        open_tables_max: 5,
        table: TableOptions {
            block_len: 400,
            ..TableOptions::default()
        },
        background: Background::Caller,
        ..Options::default()
    }
}

/// What was acknowledged: the last batch, and the last one that is durable.
#[derive(Clone, Copy, Debug, Default)]
struct Acknowledged {
    any: u32,
    strict: u32,
}

fn mix(n: u32) -> u32 {
    (n ^ (n >> 15)).wrapping_mul(0x85eb_ca6b).rotate_left(13)
}

/// The rows of a batch. Some values do not pack.
fn rows(batch: u32) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let mut rows = vec![(NUMBER.to_vec(), Some(batch.to_be_bytes().to_vec()))];
    for i in 0..mix(batch) % 7 {
        let random = mix(batch * 16 + i);
        let key = format!("key {:02}", random % 40).into_bytes();
        let value = (0..random % 300).map(|n| mix(n ^ random) as u8).collect();
        rows.push((key, (!random.is_multiple_of(5)).then_some(value)));
    }
    rows
}

fn model(batch: u32) -> Map {
    let mut map = Map::new();
    for (key, value) in (1..=batch).flat_map(rows) {
        match value {
            Some(value) => drop(map.insert(key, value)),
            None => drop(map.remove(&key)),
        }
    }
    map
}

fn work(db: &Db, acknowledged: &mut Acknowledged) -> Result<()> {
    for batch in acknowledged.any + 1..=BATCHES {
        let mut writer = BatchWriter::new();
        for (key, value) in rows(batch) {
            match value {
                Some(value) => writer.put(&key, &value),
                None => writer.delete(&key),
            }
        }
        let strict = batch % 5 == 0;
        let durability = if strict {
            Durability::Strict
        } else {
            Durability::Relaxed
        };
        db.write(&mut writer, durability)?;
        acknowledged.any = batch;
        if strict {
            acknowledged.strict = batch;
        }
        if batch % 9 == 0 {
            db.do_background_work()?;
        }
        if batch == 60 {
            db.compact_range(None, None)?;
            acknowledged.strict = batch;
        }
    }
    Ok(())
}

fn run(fs: &Arc<FaultFileSystem>, acknowledged: &mut Acknowledged) -> Result<Option<Db>> {
    let dir = Path::new("db");
    let db = Db::open(fs.clone(), dir, options())?;
    work(&db, acknowledged).map_or_else(|_| Ok(Some(db)), |()| Ok(None))
}

fn content(db: &Db) -> Map {
    let mut iter = db.iter();
    let mut map = Map::new();
    iter.seek_to_first().unwrap();
    while iter.valid() {
        map.insert(iter.key().to_vec(), iter.value().unwrap().to_vec());
        iter.next().unwrap();
    }
    map
}

/// The number of the batch up to which everything is there, and nothing else.
fn prefix(db: &Db) -> u32 {
    let found = content(db);
    let number = found
        .get(NUMBER)
        .map_or(0, |bytes| u32::from_be_bytes(bytes[..].try_into().unwrap()));
    assert!(
        found == model(number),
        "not what it was after batch {number}"
    );
    for n in 0..40 {
        let key = format!("key {n:02}").into_bytes();
        assert_eq!(db.get(&key).unwrap().as_ref(), found.get(&key));
    }
    number
}

fn operations() -> u64 {
    let fs = Arc::new(FaultFileSystem::new(Arc::new(MemoryFileSystem::new())));
    let mut acknowledged = Acknowledged::default();
    assert!(run(&fs, &mut acknowledged).unwrap().is_none());
    assert_eq!(acknowledged.any, BATCHES);
    fs.operations()
}

#[test]
fn after_a_crash_at_any_operation_a_prefix_is_there_with_all_that_was_acknowledged() {
    let total = operations();
    println!("{total} operations");
    assert!(total > 1000);
    let mut torn_prefixes = std::collections::BTreeSet::new();
    for n in 1..=total {
        let memory = Arc::new(MemoryFileSystem::new());
        let fs = Arc::new(FaultFileSystem::new(memory.clone()));
        fs.fail_at(Fault {
            operation: n,
            kind: io::ErrorKind::Other,
            every_later_too: true,
        });
        let mut acknowledged = Acknowledged::default();
        // Held while the images are taken: nothing is tidied up before.
        let _db = run(&fs, &mut acknowledged);
        for (image, at_least) in [
            (CrashImage::KeepWritten, acknowledged.any),
            (CrashImage::LoseUnsynced, acknowledged.strict),
            (CrashImage::Tear { seed: n }, acknowledged.strict),
            (CrashImage::Tear { seed: n + total }, acknowledged.strict),
        ] {
            let after = Arc::new(memory.crash_image(image));
            let opened = Db::open(after.clone(), Path::new("db"), options());
            let db = opened.unwrap_or_else(|error| panic!("operation {n}, {image:?}: {error}"));
            let number = prefix(&db);
            assert!(
                number >= at_least,
                "operation {n}, {image:?}: {number} of {at_least}"
            );
            if matches!(image, CrashImage::Tear { .. }) && number > at_least {
                torn_prefixes.insert(number);
            }
            if n % 16 == 0 {
                let mut again = Acknowledged {
                    any: number,
                    strict: number,
                };
                work(&db, &mut again).unwrap();
                assert_eq!(prefix(&db), BATCHES);
                db.close().unwrap();
                no_strangers(&after);
            }
        }
    }
    assert!(
        torn_prefixes.len() > 5,
        "torn tails are there at all: {torn_prefixes:?}"
    );
}

/// A store that has no work left consists of what its files say and nothing else.
fn no_strangers(fs: &Arc<MemoryFileSystem>) {
    let db = Db::open(fs.clone(), Path::new("db"), options()).unwrap();
    let mut expected: Vec<String> = db.files().into_iter().map(|file| file.name).collect();
    expected.extend(["CURRENT".to_owned(), "LOCK".to_owned()]);
    let names = fs.list(Path::new("db")).unwrap();
    let names = names.into_iter().map(|name| name.into_string().unwrap());
    let is_single = |name: &String| name.starts_with("MANIFEST-") || name.ends_with(".log");
    let (single, mut others): (Vec<String>, Vec<String>) = names.partition(is_single);
    others.sort();
    expected.sort();
    assert_eq!((single.len(), others), (2, expected));
}

#[test]
fn after_a_failure_of_any_operation_reads_go_on_and_nothing_acknowledged_is_lost() {
    let total = operations();
    let mut refused = 0;
    for n in 1..=total {
        let kind = if n % 2 == 0 {
            io::ErrorKind::StorageFull
        } else {
            io::ErrorKind::Other
        };
        let memory = Arc::new(MemoryFileSystem::new());
        let fs = Arc::new(FaultFileSystem::new(memory.clone()));
        fs.fail_at(Fault {
            operation: n,
            kind,
            every_later_too: n % 3 == 0,
        });
        let mut acknowledged = Acknowledged::default();
        let ran = run(&fs, &mut acknowledged);
        fs.heal();
        if let Ok(Some(db)) = ran {
            refused += 1;
            assert_eq!(prefix(&db), acknowledged.any, "operation {n}");
            let error = db
                .put(b"k", b"v", Durability::Relaxed)
                .map_err(|error| error.kind());
            // A failed read of a table in a compaction, for instance, also stops the writes.
            assert_eq!(
                error,
                Err(larder_leveldb::ErrorKind::Closed),
                "operation {n}"
            );
            assert!(db.close().is_err(), "operation {n}");
        }
        let db = Db::open(memory, Path::new("db"), options());
        let db = db.unwrap_or_else(|error| panic!("operation {n}: {error}"));
        let number = prefix(&db);
        assert!(
            number >= acknowledged.any && number <= acknowledged.any + 1,
            "operation {n}: {number}, {acknowledged:?}"
        );
        if n % 16 == 0 {
            work(
                &db,
                &mut Acknowledged {
                    any: number,
                    strict: 0,
                },
            )
            .unwrap();
            assert_eq!(prefix(&db), BATCHES);
        }
    }
    assert!(refused > total / 2, "{refused} of {total}");
}
