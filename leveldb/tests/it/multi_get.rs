//! Many lookups and seeks at once find what each finds alone, whatever lies where.

use crate::store::{get_file, put_file};
use larder_leveldb::storage::{CrashImage, FaultFileSystem, FileSystem, MemoryFileSystem};
use larder_leveldb::table::TableOptions;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{
    Background, BlockCache, BytewiseComparator, Comparator, Db, Durability, Identity, KeyFacts,
    OnDamage, Options, Snapshot,
};
use quickcheck::{Gen, QuickCheck};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

const DIR: &str = "db";

/// In the order of bytes, but of keys that begin with `s` the last byte means nothing.
#[derive(Debug)]
struct Careless;

fn meaning(key: &[u8]) -> &[u8] {
    match key {
        [b's', rest @ .., _] => &key[..rest.len() + 1],
        _ => key,
    }
}

impl Comparator for Careless {
    fn name(&self) -> &str {
        "careless"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        meaning(a).cmp(meaning(b))
    }

    fn shorten_separator(&self, _: &mut Vec<u8>, _: &[u8]) {}

    fn shorten_successor(&self, _: &mut Vec<u8>) {}
}

const FACTS: KeyFacts = KeyFacts {
    identity: |key| match key.first() {
        Some(b'k') => Identity::Bytes,
        Some(b'g') if key.len() > 1 => Identity::Grouped(2),
        _ => Identity::Several,
    },
    head: |key| u128::from(key.first().copied().unwrap_or(0)) << 120,
};

/// The ways in which memtables are looked up.
#[derive(Clone, Copy, Debug)]
enum Order {
    Filtered,
    Hashed,
    Careless,
}

impl Order {
    fn options(self, on_damage: OnDamage) -> Options {
        let comparator: Arc<dyn Comparator> = match self {
            Order::Filtered | Order::Hashed => Arc::new(BytewiseComparator),
            Order::Careless => Arc::new(Careless),
        };
        Options {
            create_if_missing: true,
            write_buffer_bytes: 8000,
            table_file_bytes: 3000,
            block_cache: BlockCache::new(2000),
            table: TableOptions {
                block_len: 300,
                ..TableOptions::default()
            },
            background: Background::Caller,
            on_damage,
            key_facts: match self {
                Order::Filtered => None,
                Order::Hashed | Order::Careless => Some(FACTS),
            },
            ..Options::new(comparator)
        }
    }

    fn meaning(self, key: &[u8]) -> &[u8] {
        match self {
            Order::Filtered | Order::Hashed => key,
            Order::Careless => meaning(key),
        }
    }
}

fn key(n: u8) -> Vec<u8> {
    match n % 3 {
        0 => [b"k".repeat(usize::from(n % 4 + 1)), vec![n]].concat(),
        1 => vec![b'g', n % 5, n],
        _ => vec![b's', n / 16, n],
    }
}

/// A value of any length: in a memtable's node, in a chunk, or longer than a block.
fn value(n: usize) -> Vec<u8> {
    let len = [0, 3, 100, 256, 257, 900][n % 6];
    (0..len).map(|at| (at + n) as u8).collect()
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// A store with entries in memtables and tables, and snapshots with what they show.
fn store(order: Order, steps: &[(u8, u8)]) -> (Arc<MemoryFileSystem>, Db, Vec<(Snapshot, Model)>) {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = Db::open(fs.clone(), Path::new(DIR), order.options(OnDamage::Fail)).unwrap();
    let mut model = Model::new();
    let mut snapshots = vec![(db.snapshot(), Model::new())];
    for (n, &(what, name)) in steps.iter().enumerate() {
        let key = key(name);
        let mut batch = BatchWriter::new();
        match what % 8 {
            0 => {
                batch.delete(&key);
                model.remove(order.meaning(&key));
            }
            _ => {
                batch.put(&key, &value(n));
                model.insert(order.meaning(&key).to_vec(), value(n));
            }
        }
        db.write(&mut batch, Durability::Relaxed).unwrap();
        match what {
            0..10 => snapshots.push((db.snapshot(), model.clone())),
            10..20 => while db.do_background_work().unwrap() {},
            20..22 => db.compact_range(None, None).unwrap(),
            _ => {}
        }
    }
    snapshots.push((db.snapshot(), model));
    (fs, db, snapshots)
}

fn said<T>(result: larder_leveldb::Result<T>) -> Result<T, String> {
    result.map_err(|error| format!("{:?} {error}", error.kind()))
}

/// Each of many lookups gives what it gives alone, in their order.
fn gets_agree(snapshot: &Snapshot, names: &[u8]) {
    let keys: Vec<Vec<u8>> = names.iter().map(|&n| key(n)).collect();
    // Damage that a lookup finds makes rows of earlier ones doubtful, too: all of it is found first.
    keys.iter().for_each(|key| drop(snapshot.get(key)));
    let mut all = vec![None; keys.len()];
    snapshot.multi_get(keys.iter().map(Vec::as_slice), |n, value| {
        let value = said(value.map(|value| value.map(<[u8]>::to_vec)));
        assert_eq!(all[n].replace(value), None, "each once");
        ControlFlow::Continue(())
    });
    let alone = keys.iter().map(|key| Some(said(snapshot.get(key))));
    assert_eq!(all, alone.collect::<Vec<_>>());
    // It stops where the callback returns `Break`.
    let mut count = 0;
    snapshot.multi_get(keys.iter().map(Vec::as_slice), |_, _| {
        count += 1;
        match count <= keys.len() / 2 {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    assert_eq!(count, keys.len().min(keys.len() / 2 + 1));
}

/// Each of many seeks leads where it leads alone.
fn seeks_agree(snapshot: &Snapshot, names: &[u8]) {
    let prefix = |n: &u8| match n % 4 {
        0 => vec![b'g', n % 7],
        1 => vec![b's', n / 16],
        2 => key(*n),
        _ => key(*n)[..1].to_vec(),
    };
    let prefixes: Vec<Vec<u8>> = names.iter().map(prefix).collect();
    let mut all = vec![None; prefixes.len()];
    let mut iter = snapshot.iter();
    iter.multi_seek(prefixes.iter().map(Vec::as_slice), |n, row| {
        let row = row.map(|row| row.map(|(key, value)| (key.to_vec(), value.to_vec())));
        assert_eq!(all[n].replace(said(row)), None, "each once");
        ControlFlow::Continue(())
    });
    assert!(!iter.valid());
    let alone = prefixes.iter().map(|prefix| {
        let mut iter = snapshot.iter();
        Some(said((|| {
            iter.seek(prefix)?;
            let value = iter.value()?.to_vec();
            let is_of_it = iter.valid() && iter.key().starts_with(prefix);
            Ok(is_of_it.then(|| (iter.key().to_vec(), value)))
        })()))
    });
    assert_eq!(all, alone.collect::<Vec<_>>());
}

fn damaged(fs: &MemoryFileSystem, at: u32) {
    let tables = fs.list(Path::new(DIR)).unwrap().into_iter();
    let mut tables: Vec<_> = tables
        .filter(|name| Path::new(name).extension().is_some_and(|end| end == "ldb"))
        .collect();
    tables.sort();
    if tables.is_empty() {
        return;
    }
    let path = Path::new(DIR).join(&tables[at as usize % tables.len()]);
    let mut bytes = get_file(fs, &path);
    let at = at as usize / 7 % bytes.len();
    bytes[at] ^= 0x10;
    put_file(fs, &path, &bytes);
}

#[test]
fn many_at_once_find_what_each_finds_alone() {
    fn law(which: u8, steps: Vec<(u8, u8)>, names: Vec<u8>, damage_at: u32) {
        let order = [Order::Filtered, Order::Hashed, Order::Careless][usize::from(which % 3)];
        let (fs, db, snapshots) = store(order, &steps);
        for (snapshot, model) in &snapshots {
            gets_agree(snapshot, &names);
            seeks_agree(snapshot, &names);
            // Filters of tables know bytes: under other bytes of a key a lookup may miss it.
            let is_sure = |key: &[u8]| order.meaning(key) == key;
            for key in names.iter().map(|&n| key(n)).filter(|key| is_sure(key)) {
                assert_eq!(snapshot.get(&key).unwrap().as_ref(), model.get(&key));
            }
        }
        drop((db, snapshots));
        let fs = fs.crash_image(CrashImage::KeepWritten);
        damaged(&fs, damage_at);
        let fs = Arc::new(fs);
        for on_damage in [OnDamage::Fail, OnDamage::Skip] {
            let options = order.options(on_damage);
            let reads = Db::open_read_only(fs.clone(), Path::new(DIR), options.clone());
            let writes = match on_damage {
                OnDamage::Fail => Db::open(fs.clone(), Path::new(DIR), options).ok(),
                OnDamage::Skip => None,
            };
            for db in reads.ok().into_iter().chain(writes) {
                gets_agree(&db.snapshot(), &names);
                seeks_agree(&db.snapshot(), &names);
            }
        }
    }
    // The first lookup is of a key beyond its table, which the filter does not exclude; the second one finds the table damaged.
    law(0, vec![(1, 0), (20, 150)], vec![234, 0], 0);
    // Many steps, so that there are tables of several levels.
    QuickCheck::new()
        .tests(60)
        .rng(Gen::new(200))
        .quickcheck(law as fn(u8, Vec<(u8, u8)>, Vec<u8>, u32));
}

#[test]
fn a_block_is_read_once_for_all_keys_in_it() {
    const ROWS: usize = 2000;
    let fs = Arc::new(FaultFileSystem::new(Arc::new(MemoryFileSystem::new())));
    let options = Options {
        create_if_missing: true,
        // Indexes and filters have their place beside it, and few of the data blocks have one in it.
        block_cache: BlockCache::new(40_000),
        ..Options::default()
    };
    let db = Db::open(fs.clone(), Path::new(DIR), options).unwrap();
    let keys: Vec<Vec<u8>> = (0..ROWS)
        .map(|n| format!("key {n:06}").into_bytes())
        .collect();
    let mut batch = BatchWriter::new();
    for (n, key) in keys.iter().enumerate() {
        batch.put(key, format!("{:0100}", n * 7919 % 1009).as_bytes());
    }
    db.write(&mut batch, Durability::Relaxed).unwrap();
    db.compact_range(None, None).unwrap();
    let snapshot = db.snapshot();
    let scattered = || (0..ROWS).map(|n| &*keys[n * 997 % ROWS]);
    let operations = |look: &mut dyn FnMut()| {
        let before = fs.operations();
        look();
        fs.operations() - before
    };
    // Opens the tables.
    snapshot.multi_get(scattered(), |_, _| ControlFlow::Continue(()));
    let mut count = 0;
    let together = operations(&mut || {
        snapshot.multi_get(scattered(), |n, value| {
            let row = n * 997 % ROWS * 7919 % 1009;
            assert_eq!(value.unwrap().unwrap(), format!("{row:0100}").as_bytes());
            count += 1;
            ControlFlow::Continue(())
        });
    });
    assert_eq!(count, ROWS);
    let alone = operations(&mut || {
        for key in scattered() {
            assert!(snapshot.get(key).unwrap().is_some());
        }
    });
    let mut iter = snapshot.iter();
    iter.seek(&keys[0]).unwrap();
    let sought = operations(&mut || {
        iter.multi_seek(scattered(), |n, row| {
            assert_eq!(row.unwrap().unwrap().0, keys[n * 997 % ROWS]);
            ControlFlow::Continue(())
        });
    });
    let blocks = (ROWS * 130 / 4096) as u64;
    assert!(together <= blocks, "{together} of {blocks}");
    assert!(sought <= blocks, "{sought} of {blocks}");
    assert!(alone > 10 * blocks, "{alone} of {blocks}");
}
