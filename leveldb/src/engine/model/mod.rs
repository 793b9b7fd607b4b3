//! Laws that hold at every read while threads write, and memtables become tables, and tables are merged.
//!
//! What every snapshot shows is compared with the logs: they, and they alone, say what was written with which sequence number.
//! With plain threads the workload is large and the timing the machine's; with `--cfg shuttle` it is small and runs under
//! thousands of schedules.

mod kept_logs;
mod paused;
mod pooled;

use crate::iter::Iter;
use crate::snapshot::Snapshot;
use crate::storage::{CrashImage, Fault, FaultFileSystem, MemoryFileSystem};
use crate::sync::thread;
use crate::write_batch::{BatchWriter, Operation};
use crate::{BlockCache, Db, Durability, Options};
use kept_logs::{KeptLogs, Record};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// What a reader saw at a sequence number.
type Seen = Vec<(u64, Rows)>;

/// Runs a body with seeds: with as many schedules as there are iterations under Shuttle.
#[cfg(shuttle)]
fn explore(iterations: usize, body: impl Fn(u64) + Send + Sync + 'static) {
    use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
    let body = Arc::new(body);
    let run = |scheduler: Box<dyn Scheduler + Send>| {
        let body = body.clone();
        let mut config = shuttle::Config::new();
        config.stack_size = 1 << 20;
        shuttle::Runner::new(scheduler, config).run(move || body(1));
    };
    let seed = std::env::var("LARDER_MODEL_SEED").map_or(1, |seed| seed.parse().unwrap());
    println!("schedules of seed {seed}");
    run(Box::new(RandomScheduler::new_from_seed(seed, iterations)));
    run(Box::new(PctScheduler::new_from_seed(seed, 4, iterations)));
}

#[cfg(not(shuttle))]
fn explore(_iterations: usize, body: impl Fn(u64)) {
    for seed in 1..=if cfg!(miri) { 1 } else { 4 } {
        println!("seed {seed}");
        body(seed);
    }
}

/// One number for a run with threads, another for every schedule.
const fn size(threads: u32, model: u32) -> u32 {
    if cfg!(any(shuttle, miri)) {
        model
    } else {
        threads
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

fn options() -> Options {
    Options {
        create_if_missing: true,
        // Under Shuttle an atomic takes more room, and so does a node.
        write_buffer_bytes: size(4000, 2500) as usize,
        table_file_bytes: 3000,
        // By their first digit.
        group_prefix_len: Some(|key| key.len().min(5)),
        block_cache: BlockCache::new(10_000),
        open_tables_max: 4,
        ..Options::default()
    }
}

fn open(fs: Arc<KeptLogs>) -> Db {
    Db::open(fs, Path::new("db"), options()).unwrap()
}

fn key(random: &mut Random) -> Vec<u8> {
    format!("key {}", random.below(size(30, 4).into())).into_bytes()
}

fn rows(mut iter: Iter, forward: bool) -> Rows {
    let mut rows = Rows::new();
    let mut pinned = Vec::new();
    if forward {
        iter.seek_to_first().unwrap();
    } else {
        iter.seek_to_last().unwrap();
    }
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().unwrap().to_vec()));
        pinned.push(iter.pinned_value());
        if forward {
            iter.next().unwrap();
        } else {
            iter.prev().unwrap();
        }
    }
    drop(iter);
    for ((key, value), pinned) in rows.iter().zip(pinned) {
        if let Some(pinned) = pinned {
            assert_eq!(*pinned, **value, "{key:?}");
        }
    }
    rows
}

/// Everything that reading a snapshot can show agrees with itself.
fn look(snapshot: &Snapshot, random: &mut Random) -> Rows {
    let forward = rows(snapshot.iter(), true);
    let mut backward = rows(snapshot.iter(), false);
    backward.reverse();
    assert_eq!(forward, backward, "at {}", snapshot.sequence());
    let value_of = |key: &[u8]| {
        let at = forward.binary_search_by(|(other, _)| other[..].cmp(key));
        at.ok().map(|at| &forward[at].1)
    };
    for _ in 0..size(10, 2) {
        let key = key(random);
        let got = snapshot.get(&key).unwrap();
        assert_eq!(got.as_ref(), value_of(&key), "at {}", snapshot.sequence());
    }
    turn_round(snapshot, &forward, random);
    forward
}

/// Steps to and fro, and seeks between.
fn turn_round(snapshot: &Snapshot, expected: &Rows, random: &mut Random) {
    let mut iter = snapshot.iter();
    let mut at = expected.len();
    for _ in 0..size(40, 6) {
        if at < expected.len() && random.below(4) > 0 {
            if random.below(2) == 0 {
                iter.next().unwrap();
                at += 1;
            } else {
                iter.prev().unwrap();
                at = at.checked_sub(1).unwrap_or(expected.len());
            }
        } else {
            let key = key(random);
            if random.below(2) == 0 {
                iter.seek(&key).unwrap();
                at = expected.partition_point(|(other, _)| *other < key);
            } else {
                iter.seek_for_prev(&key).unwrap();
                let after = expected.partition_point(|(other, _)| *other <= key);
                at = after.checked_sub(1).unwrap_or(expected.len());
            }
        }
        let found = (iter.key(), iter.value().unwrap());
        let nothing = (&[][..], &[][..]);
        let row = expected.get(at);
        assert_eq!(
            found,
            row.map_or(nothing, |(key, value)| (&key[..], &value[..])),
            "at {}",
            snapshot.sequence()
        );
    }
}

/// A writer: rows of its own number before and after each batch's others, seen by itself at once.
fn write(db: &Db, thread: u64, count: u32, random: &mut Random) -> Seen {
    let mut seen = Seen::new();
    let name = |end: &str| format!("{end} of writer {thread}").into_bytes();
    for n in 1..=count {
        let number = n.to_be_bytes();
        let mut batch = BatchWriter::new();
        batch.put(&name("begin"), &number);
        for _ in 0..random.below(3) {
            let key = key(random);
            if random.below(3) == 0 {
                batch.delete(&key);
            } else {
                let len = random.below(size(300, 30).into()) as usize;
                batch.put(
                    &key,
                    &[&[thread as u8][..], &number, &vec![n as u8; len]].concat(),
                );
            }
        }
        batch.put(&name("end"), &number);
        let durability = match random.below(3) {
            0 => Durability::Strict,
            _ => Durability::Relaxed,
        };
        db.write(&mut batch, durability).unwrap();
        let snapshot = db.snapshot();
        for end in ["begin", "end"] {
            let got = snapshot.get(&name(end)).unwrap();
            assert_eq!(got.as_deref(), Some(&number[..]), "after it was written");
        }
        if random.below(20) == 0 {
            seen.push((snapshot.sequence(), look(&snapshot, random)));
        }
    }
    seen
}

/// A reader: snapshots show the same later, also when all else has moved on.
fn read(db: &Db, is_done: &AtomicBool, random: &mut Random) -> (Seen, Vec<(Snapshot, Rows)>) {
    let mut seen = Seen::new();
    let mut held: Vec<(Snapshot, Rows)> = Vec::new();
    let mut last = 0;
    for _ in 0..size(5000, 2) {
        let snapshot = db.snapshot();
        assert!(snapshot.sequence() >= last, "time goes back");
        last = snapshot.sequence();
        // Begun before others, and ended after them.
        let mut slow = snapshot.iter();
        slow.seek_to_first().unwrap();
        let rows = look(&snapshot, random);
        for (key, value) in &rows {
            assert_eq!((slow.key(), slow.value().unwrap()), (&key[..], &value[..]));
            slow.next().unwrap();
        }
        assert!(!slow.valid());
        if held.len() < 8 {
            held.push((snapshot, rows.clone()));
        } else {
            let at = random.below(8) as usize;
            let (old, expected) = std::mem::replace(&mut held[at], (snapshot, rows.clone()));
            assert_eq!(look(&old, random), expected, "at {}", old.sequence());
        }
        seen.push((last, rows));
        if is_done.load(Ordering::Relaxed) {
            break;
        }
    }
    (seen, held)
}

fn compact(db: &Db, is_done: &AtomicBool, random: &mut Random) {
    for n in 0..size(1000, 1) {
        match n % 4 {
            0 => db.compact_range(None, None).unwrap(),
            1 => db.flush().unwrap(),
            2 => drop(db.do_background_work().unwrap()),
            _ => {
                let (from, to) = (key(random), key(random));
                let (from, to) = (from.clone().min(to.clone()), from.max(to));
                db.compact_range(Some(&from), Some(&to)).unwrap();
            }
        }
        if is_done.load(Ordering::Relaxed) {
            break;
        }
    }
}

/// What was seen is what the logs say was there.
fn check(records: &[Record], mut seen: Seen) -> BTreeMap<Vec<u8>, Vec<u8>> {
    seen.sort_by_key(|(sequence, _)| *sequence);
    let mut map = BTreeMap::new();
    let (mut sequence, mut at) = (0, 0);
    let mut check = |sequence: u64, map: &BTreeMap<Vec<u8>, Vec<u8>>| {
        while let Some((_, rows)) = seen.get(at).filter(|(s, _)| *s == sequence) {
            let expected = map.iter().map(|(key, value)| (key.clone(), value.clone()));
            assert!(expected.eq(rows.iter().cloned()), "at {sequence}: {rows:?}");
            at += 1;
        }
    };
    check(0, &map);
    for record in records {
        assert_eq!(record.sequence, sequence + 1, "a gap, or twice");
        for (key, value) in &record.operations {
            match value {
                Some(value) => drop(map.insert(key.clone(), value.clone())),
                None => drop(map.remove(key)),
            }
        }
        sequence += record.operations.len() as u64;
        check(sequence, &map);
    }
    assert_eq!(at, seen.len(), "a snapshot within a batch, or after all");
    map
}

#[test]
fn every_snapshot_shows_what_the_logs_say_was_written_up_to_it() {
    explore(size(0, 400) as usize, |seed| {
        let fs = Arc::new(KeptLogs::default());
        let db = open(fs.clone());
        let is_done = AtomicBool::new(false);
        let writers = u64::from(size(3, 2));
        let (mut seen, held) = thread::scope(|scope| {
            let (db, is_done) = (&db, &is_done);
            let readers: Vec<_> = (0..u64::from(size(2, 1)))
                .map(|n| scope.spawn(move || read(db, is_done, &mut Random(seed * 50 + n))))
                .collect();
            let compactor = scope.spawn(move || compact(db, is_done, &mut Random(seed * 90)));
            let writers: Vec<_> = (0..writers)
                .map(|n| {
                    let random = seed * 70 + n;
                    scope.spawn(move || write(db, n, size(1500, 3), &mut Random(random)))
                })
                .collect();
            let (mut seen, mut held) = (Seen::new(), Vec::new());
            for writer in writers {
                seen.extend(writer.join().unwrap());
            }
            is_done.store(true, Ordering::Relaxed);
            for reader in readers {
                let (more, snapshots) = reader.join().unwrap();
                seen.extend(more);
                held.extend(snapshots);
            }
            compactor.join().unwrap();
            (seen, held)
        });
        let mut random = Random(seed);
        let last = db.snapshot();
        seen.push((last.sequence(), look(&last, &mut random)));
        db.close().unwrap();
        let map = check(&fs.records(), seen);
        // Another handle removes what the first one's readers still read.
        let db = open(fs.clone());
        db.compact_range(None, None).unwrap();
        assert!(look(&db.snapshot(), &mut random).into_iter().eq(map));
        for (snapshot, rows) in held {
            assert_eq!(look(&snapshot, &mut random), rows);
        }
    });
}

/// What each of some writers, one batch each, got as a result: whether it was acknowledged.
fn write_until_a_fault(memory: &MemoryFileSystem, operation: u64) -> Vec<bool> {
    let fs = Arc::new(FaultFileSystem::new(Arc::new(memory.clone())));
    let opened = Db::open(fs.clone(), Path::new("db"), options());
    let db = opened.unwrap();
    fs.fail_at(Fault {
        operation: fs.operations() + operation,
        kind: io::ErrorKind::StorageFull,
        every_later_too: false,
    });
    let reported = Mutex::new(vec![false; size(600, 8) as usize]);
    let writers = size(6, 4) as usize;
    thread::scope(|scope| {
        for writer in 0..writers {
            let (db, reported) = (&db, &reported);
            let count = reported.lock().unwrap().len();
            scope.spawn(move || {
                for n in (writer..count).step_by(writers) {
                    let durability =
                        [Durability::Relaxed, Durability::Strict][(n / writers + n) % 2];
                    let written = db.put(&key_of(n), b"v", durability);
                    reported.lock().unwrap()[n] = written.is_ok();
                    if written.is_ok()
                        && durability == Durability::Strict
                        && n as u32 % size(31, 3) == 1
                    {
                        survives_a_power_cut(memory, n);
                    }
                }
            });
        }
        // No thread waits for it for ever.
        scope.spawn(|| (0..size(300, 3)).all(|_| db.flush().is_ok()));
    });
    fs.heal();
    let reported = reported.into_inner().unwrap();
    let count = |rows: Rows| rows.len();
    let acknowledged = reported.iter().filter(|reported| **reported).count();
    let shown = count(rows(db.iter(), true));
    assert!(shown >= acknowledged, "{shown} of {acknowledged}");
    reported
}

fn key_of(n: usize) -> Vec<u8> {
    format!("{n:06}{}", "k".repeat(50)).into_bytes()
}

fn survives_a_power_cut(memory: &MemoryFileSystem, n: usize) {
    let after = Arc::new(memory.crash_image(CrashImage::LoseUnsynced));
    let db = Db::open_read_only(after, Path::new("db"), options()).unwrap();
    assert!(db.get(&key_of(n)).unwrap().is_some(), "{n} is lost");
}

#[test]
fn writers_that_share_a_group_all_get_its_true_result_when_it_fails() {
    explore(size(0, 150) as usize, |seed| {
        for operation in (0..size(120, 12)).map(|n| u64::from(n) + seed) {
            let memory = MemoryFileSystem::new();
            let reported = write_until_a_fault(&memory, operation);
            let db = Db::open(Arc::new(memory), Path::new("db"), options()).unwrap();
            for (n, is_acknowledged) in reported.iter().enumerate() {
                let is_there = db.get(&key_of(n)).unwrap().is_some();
                assert!(is_there || !is_acknowledged, "{n}, fault at {operation}");
            }
        }
    });
}
