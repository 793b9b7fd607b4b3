//! A crash at every single file operation of workloads with flushes, compactions and reopenings.
//!
//! Every batch also writes its own number under one key, so what is found after reopening says up to which batch it must be
//! whole.

use crate::support::sampled;
use larder_leveldb::storage::{CrashImage, Fault, FaultFileSystem, FileSystem, MemoryFileSystem};
use larder_leveldb::table::TableOptions;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{
    Background, Db, Durability, Error, Ingestion, Options, Result, TailKind, TornTail,
};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

pub(crate) const BATCHES: u32 = 110;
/// Batches of the workload in which every operation crashes an image, but no image goes on.
const MANY_BATCHES: u32 = 1500;
const NUMBER: &[u8] = b"number of the last batch";

pub(crate) fn options() -> Options {
    Options {
        create_if_missing: true,
        write_buffer_bytes: 3000,
        group_prefix_len: Some(|key| key.len().min(5)),
        table_file_bytes: 2500,
        open_tables_max: 5,
        manifest_bytes: 400,
        table: TableOptions {
            block_len: 400,
            ..TableOptions::default()
        },
        background: Background::Caller,
        ..Options::default()
    }
}

/// What was acknowledged: the last batch, and the last one that is durable.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    any: AtomicU32,
    strict: AtomicU32,
}

impl Acknowledged {
    pub(crate) fn upto(batch: u32) -> Acknowledged {
        Acknowledged {
            any: AtomicU32::new(batch),
            strict: AtomicU32::new(batch),
        }
    }

    pub(crate) fn any(&self) -> u32 {
        self.any.load(Ordering::Relaxed)
    }

    pub(crate) fn strict(&self) -> u32 {
        self.strict.load(Ordering::Relaxed)
    }

    fn say(&self, batch: u32, is_strict: bool) {
        self.any.store(batch, Ordering::Relaxed);
        if is_strict {
            self.strict.store(batch, Ordering::Relaxed);
        }
    }
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

/// One batch in so many is ingested.
const INGESTED: u32 = 31;

/// Writes a batch as tables: two runs, of which the second has the last word on some keys, and others that are dropped.
fn ingest(db: &Db, batch: u32) -> Result<()> {
    let rows: BTreeMap<_, _> = rows(batch).into_iter().collect();
    let as_rows = |rows: &BTreeMap<Vec<u8>, Option<Vec<u8>>>| -> Vec<_> {
        let row = |(key, value): (&Vec<u8>, &Option<Vec<u8>>)| (key.clone(), value.clone());
        rows.iter().map(row).collect()
    };
    let (first, last) = (as_rows(&rows), as_rows(&rows));
    let mut dropped = db.ingest(b"mark")?;
    add(&mut dropped, first.iter().map(|(key, _)| (&**key, None)))?;
    drop(dropped);
    let mut ingestion = db.ingest(b"mark")?;
    add(
        &mut ingestion,
        first.iter().map(|(key, _)| (&**key, Some(&b"first"[..]))),
    )?;
    add(
        &mut ingestion,
        last.iter().map(|(key, value)| (&**key, value.as_deref())),
    )?;
    ingestion.install()
}

/// Adds rows in tables of few keys each.
fn add<'r>(
    ingestion: &mut Ingestion,
    rows: impl Iterator<Item = (&'r [u8], Option<&'r [u8]>)>,
) -> Result<()> {
    ingestion.add(rows, |_, next| {
        next.last().is_some_and(|byte| byte.is_multiple_of(4))
    })
}

/// Writes batches, up to one, with compactions between.
pub(crate) fn work(db: &Db, acknowledged: &Acknowledged, upto: u32) -> Result<()> {
    for batch in acknowledged.any() + 1..=upto {
        if batch % INGESTED == 0 {
            ingest(db, batch)?;
            acknowledged.say(batch, true);
            // Its tables are merged now, so that no later write has to wait for that.
            while db.do_background_work()? {}
            continue;
        }
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
        acknowledged.say(batch, strict);
        if batch % 9 == 0 {
            db.do_background_work()?;
        }
        if batch % 97 == 60 {
            db.compact_range(None, None)?;
            acknowledged.say(batch, true);
        }
    }
    Ok(())
}

/// How a run ended.
pub(crate) enum Ran {
    /// All was done.
    Through,
    /// With an error, and the handle that gave it.
    Failed(Box<Db>, Error),
    /// Opening or closing failed.
    Without,
}

/// Opens the store, writes and closes it, more than once.
fn run(fs: &Arc<FaultFileSystem>, acknowledged: &Acknowledged, batches: u32) -> Ran {
    run_in(fs, Path::new("db"), acknowledged, batches)
}

pub(crate) fn run_in(
    fs: &Arc<FaultFileSystem>,
    dir: &Path,
    acknowledged: &Acknowledged,
    batches: u32,
) -> Ran {
    for upto in (batches % 71..batches).step_by(71).chain([batches]) {
        let Ok(db) = Db::open(fs.clone(), dir, options()) else {
            return Ran::Without;
        };
        if let Err(error) = work(&db, acknowledged, upto) {
            return Ran::Failed(Box::new(db), error);
        }
        if db.close().is_err() {
            return Ran::Without;
        }
        acknowledged.say(upto, true);
    }
    Ran::Through
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
pub(crate) fn prefix(db: &Db) -> u32 {
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

pub(crate) fn operations(batches: u32) -> u64 {
    let fs = Arc::new(FaultFileSystem::new(Arc::new(MemoryFileSystem::new())));
    let acknowledged = Acknowledged::default();
    assert!(matches!(run(&fs, &acknowledged, batches), Ran::Through));
    assert_eq!(acknowledged.any(), batches);
    fs.operations()
}

#[test]
fn after_a_crash_at_any_operation_a_prefix_is_there_with_all_that_was_acknowledged() {
    let total = operations(BATCHES);
    println!("{total} file operations");
    assert!(total > 1000);
    let mut torn_prefixes = std::collections::BTreeSet::new();
    let mut ends = Vec::new();
    for n in 1..=total {
        let memory = Arc::new(MemoryFileSystem::new());
        let fs = Arc::new(FaultFileSystem::new(memory.clone()));
        fs.fail_at(Fault {
            operation: n,
            kind: io::ErrorKind::Other,
            every_later_too: true,
        });
        let acknowledged = Acknowledged::default();
        // Held while the images are taken: nothing is tidied up before.
        let _ran = run(&fs, &acknowledged, BATCHES);
        let mut images = vec![
            (CrashImage::KeepWritten, acknowledged.any()),
            (CrashImage::LoseUnsynced, acknowledged.strict()),
        ];
        images.extend(CrashImage::POWER_CUTS.map(|model| (model(n), acknowledged.strict())));
        for (image, at_least) in images {
            let after = Arc::new(memory.crash_image(image));
            let opened = Db::open(after.clone(), Path::new("db"), options());
            let db = opened.unwrap_or_else(|error| panic!("operation {n}, {image:?}: {error}"));
            let number = prefix(&db);
            assert!(
                number >= at_least,
                "operation {n}, {image:?}: {number} of {at_least}"
            );
            if number > at_least {
                torn_prefixes.insert(number);
            }
            ends.extend(db.torn_tails().iter().map(|tail| tail.kind));
            for tail in db.torn_tails() {
                is_aside(&after, tail);
            }
            if n % 16 == 0 {
                work(&db, &Acknowledged::upto(number), BATCHES).unwrap();
                assert_eq!(prefix(&db), BATCHES);
                db.close().unwrap();
                let after: Arc<dyn FileSystem> = after;
                no_unknown_files(&after, Path::new("db"));
            }
        }
    }
    assert!(
        torn_prefixes.len() > 5,
        "torn tails are there at all: {torn_prefixes:?}"
    );
    for kind in [
        TailKind::Cut,
        TailKind::Zeros,
        TailKind::Holes,
        TailKind::AfterLoss,
    ] {
        let count = ends.iter().filter(|end| **end == kind).count();
        println!("{kind:?}: {count}");
        assert!(count > 10, "{kind:?}");
    }
}

/// What is not read is kept, unless it is only zeros, or the mark with which a log begins.
fn is_aside(fs: &MemoryFileSystem, tail: &TornTail) {
    let is_kept = match tail.kind {
        TailKind::Zeros => false,
        TailKind::AfterLoss => tail.len_bytes > 19,
        _ => true,
    };
    assert_eq!(tail.set_aside.is_some(), is_kept, "{tail}");
    if let Some(path) = &tail.set_aside {
        let len = fs.metadata(&Path::new("db").join(path)).unwrap().len_bytes;
        assert_eq!(len, tail.len_bytes, "{tail}");
    }
}

/// Opens what a crash leaves: up to which batch all is there, and nothing else.
fn survivor(memory: &MemoryFileSystem, image: CrashImage, models: &[Map]) -> u32 {
    let after = Arc::new(memory.crash_image(image));
    let db = Db::open(after, Path::new("db"), options());
    let db = db.unwrap_or_else(|error| panic!("{image:?}: {error}"));
    let found = content(&db);
    let number = found
        .get(NUMBER)
        .map_or(0, |bytes| u32::from_be_bytes(bytes[..].try_into().unwrap()));
    assert!(
        found == models[number as usize],
        "{image:?}: not what it was after batch {number}"
    );
    number
}

#[test]
fn thousands_of_operations_can_each_be_the_last_one_before_a_crash() {
    let mut models = vec![Map::new()];
    for batch in 1..=MANY_BATCHES {
        let mut map = models[models.len() - 1].clone();
        for (key, value) in rows(batch) {
            match value {
                Some(value) => drop(map.insert(key, value)),
                None => drop(map.remove(&key)),
            }
        }
        models.push(map);
    }
    let writes: usize = (1..=MANY_BATCHES).map(|batch| rows(batch).len()).sum();
    let memory = Arc::new(MemoryFileSystem::new());
    let fs = Arc::new(FaultFileSystem::new(memory.clone()));
    let acknowledged = Arc::new(Acknowledged::default());
    let (before, images) = (acknowledged.clone(), Arc::new(AtomicU64::new(0)));
    let (counted, stride) = (images.clone(), sampled(15) as u64);
    // A panic in here is the test's: it comes up through the engine.
    fs.watch(move |n| {
        if !n.is_multiple_of(stride) {
            return;
        }
        let (any, strict) = (before.any(), before.strict());
        let model = CrashImage::POWER_CUTS[n as usize % CrashImage::POWER_CUTS.len()];
        let mut kept = vec![(model(n), strict)];
        match n % 2 {
            0 => kept.push((CrashImage::KeepWritten, any)),
            _ => kept.push((CrashImage::LoseUnsynced, strict)),
        }
        for (image, at_least) in kept {
            let number = survivor(&memory, image, &models);
            assert!(
                number >= at_least && number <= any + 1,
                "operation {n}, {image:?}: {number}, {before:?}"
            );
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert!(matches!(
        run(&fs, &acknowledged, MANY_BATCHES),
        Ran::Through
    ));
    println!(
        "{writes} writes, {} file operations, {} images of crashes",
        fs.operations(),
        images.load(Ordering::Relaxed)
    );
    assert!(writes > 5000 && fs.operations() > 5000);
}

/// A store that has no work left consists of what its files say and nothing else.
pub(crate) fn no_unknown_files(fs: &Arc<dyn FileSystem>, dir: &Path) {
    let db = Db::open(fs.clone(), dir, options()).unwrap();
    let mut expected: Vec<String> = db.files().into_iter().map(|file| file.name).collect();
    expected.extend(["CURRENT".to_owned(), "LOCK".to_owned()]);
    let names = fs.list(dir).unwrap();
    let names = names.into_iter().map(|name| name.into_string().unwrap());
    // What is set aside stays.
    let names = names.filter(|name| name != "lost");
    let is_single = |name: &String| name.starts_with("MANIFEST-") || name.ends_with(".log");
    let (single, mut others): (Vec<String>, Vec<String>) = names.partition(is_single);
    others.sort();
    expected.sort();
    assert_eq!((single.len(), others), (2, expected));
}
