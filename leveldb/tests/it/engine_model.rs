//! The writing engine against sorted maps: random calls, snapshots that live on, reopenings.

use larder_leveldb::storage::MemoryFileSystem;
use larder_leveldb::table::TableOptions;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{
    Background, BackgroundPool, BackgroundWork, BlockCache, Db, Durability, Iter, Options, Snapshot,
};
use quickcheck::{Arbitrary, Gen, QuickCheck};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

#[derive(Clone, Debug)]
enum Call {
    Write(Vec<(Vec<u8>, Option<Vec<u8>>)>, bool),
    DeleteRange(Vec<u8>, Vec<u8>),
    /// Deletes a range, and makes room of it.
    Reclaim(Vec<u8>, Vec<u8>),
    Flush,
    CompactRange(Option<Vec<u8>>, Option<Vec<u8>>),
    Work,
    Reopen,
    TakeSnapshot,
    DropSnapshot(usize),
    CheckSnapshot(usize),
}

fn key(g: &mut Gen) -> Vec<u8> {
    let n = u16::arbitrary(g) % 80;
    format!("{}{n}", &"prefix"[..usize::from(n) % 7]).into_bytes()
}

fn value(g: &mut Gen) -> Vec<u8> {
    let len = if u8::arbitrary(g) < 3 {
        50_000
    } else {
        usize::from(u8::arbitrary(g))
    };
    (0..len as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

impl Arbitrary for Call {
    fn arbitrary(g: &mut Gen) -> Call {
        let row = |g: &mut Gen| (key(g), (u8::arbitrary(g) % 3 > 0).then(|| value(g)));
        let bound = |g: &mut Gen| bool::arbitrary(g).then(|| key(g));
        match u8::arbitrary(g) % 32 {
            0 => Call::Flush,
            1 => Call::CompactRange(bound(g), bound(g)),
            2 | 3 => Call::Reopen,
            4 => match bool::arbitrary(g) {
                true => Call::DeleteRange(key(g), key(g)),
                false => Call::Reclaim(key(g), key(g)),
            },
            5 | 6 => Call::TakeSnapshot,
            7 => Call::DropSnapshot(usize::arbitrary(g)),
            8 | 9 => Call::CheckSnapshot(usize::arbitrary(g)),
            10..14 => Call::Work,
            _ => {
                let count = if bool::arbitrary(g) {
                    1
                } else {
                    u8::arbitrary(g) % 30
                };
                Call::Write((0..count).map(|_| row(g)).collect(), bool::arbitrary(g))
            }
        }
    }
}

fn options(background: Background) -> Options {
    Options {
        create_if_missing: true,
        write_buffer_bytes: 3000,
        group_prefix_len: Some(|key| key.len().min(1)),
        table_file_bytes: 4000,
        block_cache: BlockCache::new(20_000),
        open_tables_max: 4,
        table: TableOptions {
            block_len: 300,
            ..TableOptions::default()
        },
        background,
        ..Options::default()
    }
}

fn rows(mut iter: Iter, forward: bool) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    if forward {
        iter.seek_to_first().unwrap();
    } else {
        iter.seek_to_last().unwrap();
    }
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().unwrap().to_vec()));
        if forward {
            iter.next().unwrap();
        } else {
            iter.prev().unwrap();
        }
    }
    rows
}

fn check(snapshot: &Snapshot, map: &Map) {
    let expected: Vec<_> = map.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    assert!(rows(snapshot.iter(), true) == expected, "forward");
    let mut backward = rows(snapshot.iter(), false);
    backward.reverse();
    assert!(backward == expected, "backward");
    for n in 0..80u16 {
        let key = format!("{}{n}", &"prefix"[..usize::from(n) % 7]).into_bytes();
        assert_eq!(
            snapshot.get(&key).unwrap().as_ref(),
            map.get(&key),
            "get {n}"
        );
    }
}

/// Turns round at random, from every place.
fn walk(snapshot: &Snapshot, map: &Map, turns: &[bool]) {
    let expected: Vec<_> = map.keys().collect();
    let mut iter = snapshot.iter();
    iter.seek_to_first().unwrap();
    let mut at = 0;
    for forward in turns {
        if !iter.valid() {
            iter.seek_to_first().unwrap();
            at = 0;
        }
        if expected.is_empty() {
            assert!(!iter.valid());
            return;
        }
        assert_eq!(iter.key(), expected[at]);
        if *forward {
            iter.next().unwrap();
            at += 1;
        } else {
            iter.prev().unwrap();
            at = at.wrapping_sub(1);
        }
        assert_eq!(iter.valid(), at < expected.len());
    }
}

/// Runs most of the work on a thread of its own each, and drops the rest.
#[derive(Debug, Default)]
struct Unsteady(AtomicUsize);

impl BackgroundPool for Unsteady {
    #[expect(
        clippy::disallowed_methods,
        reason = "it ends when the store is closed, at the latest"
    )]
    fn run_soon(&self, work: BackgroundWork) {
        if self.0.fetch_add(1, Ordering::Relaxed) % 3 < 2 {
            drop(std::thread::spawn(|| work.run()));
        }
    }
}

fn agrees(background: Background, calls: Vec<Call>, turns: Vec<bool>) -> bool {
    let fs = Arc::new(MemoryFileSystem::new());
    let dir = Path::new("db");
    let mut db = Db::open(fs.clone(), dir, options(background.clone())).unwrap();
    let mut map = Map::new();
    let mut snapshots: Vec<(Snapshot, Map)> = Vec::new();
    for call in calls {
        match call {
            Call::Write(rows, strict) => {
                let mut batch = BatchWriter::new();
                for (key, value) in rows {
                    match value {
                        Some(value) => {
                            batch.put(&key, &value);
                            map.insert(key, value);
                        }
                        None => {
                            batch.delete(&key);
                            map.remove(&key);
                        }
                    }
                }
                let durability = if strict {
                    Durability::Strict
                } else {
                    Durability::Relaxed
                };
                db.write(&mut batch, durability).unwrap();
            }
            Call::DeleteRange(from, to) => {
                let deleted = db.delete_range(&from, &to, Durability::Relaxed).unwrap();
                let before = map.len();
                map.retain(|key, _| *key < from || *key >= to);
                assert_eq!(deleted as usize, before - map.len());
            }
            Call::Reclaim(from, to) => {
                db.delete_range(&from, &to, Durability::Strict).unwrap();
                map.retain(|key, _| *key < from || *key >= to);
                db.forget_deleted(&from, &to).unwrap();
                db.reclaim().unwrap();
            }
            Call::Flush => db.flush().unwrap(),
            Call::CompactRange(from, to) => {
                db.compact_range(from.as_deref(), to.as_deref()).unwrap();
            }
            Call::Work => drop(db.do_background_work().unwrap()),
            Call::Reopen => {
                db.close().unwrap();
                db = Db::open(fs.clone(), dir, options(background.clone())).unwrap();
            }
            Call::TakeSnapshot => snapshots.push((db.snapshot(), map.clone())),
            Call::DropSnapshot(n) if !snapshots.is_empty() => {
                snapshots.swap_remove(n % snapshots.len());
            }
            Call::CheckSnapshot(n) if !snapshots.is_empty() => {
                let (snapshot, map) = &snapshots[n % snapshots.len()];
                check(snapshot, map);
            }
            Call::DropSnapshot(_) | Call::CheckSnapshot(_) => {}
        }
    }
    check(&db.snapshot(), &map);
    walk(&db.snapshot(), &map, &turns);
    for (snapshot, map) in snapshots {
        check(&snapshot, &map);
    }
    db.close().unwrap();
    let reader = Db::open_read_only(fs, dir, Options::default()).unwrap();
    check(&reader.snapshot(), &map);
    true
}

fn drive(background: Background) {
    fn of(background: Background) -> fn(Vec<Call>, Vec<bool>) -> bool {
        match background {
            Background::Thread => |calls, turns| agrees(Background::Thread, calls, turns),
            Background::Caller => |calls, turns| agrees(Background::Caller, calls, turns),
            Background::Pool(_) => |calls, turns| {
                agrees(
                    Background::Pool(Arc::new(Unsteady::default())),
                    calls,
                    turns,
                )
            },
        }
    }
    QuickCheck::new()
        .rng(Gen::new(400))
        .tests(60)
        .quickcheck(of(background));
}

#[test]
fn a_store_whose_caller_does_the_work_agrees_with_a_map() {
    drive(Background::Caller);
}

#[test]
fn a_store_with_a_thread_agrees_with_a_map() {
    drive(Background::Thread);
}

#[test]
fn a_store_on_a_pool_that_drops_some_of_the_work_agrees_with_a_map() {
    drive(Background::Pool(Arc::new(Unsteady::default())));
}
