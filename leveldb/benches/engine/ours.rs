//! Larder, timed: does what `engine.cc` does, in the same order.

use super::idb_like::IdbLike;
use super::run::{Job, Measured};
use larder_leveldb::storage::DiskFileSystem;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Db, Durability, Identity, KeyFacts, Options, Snapshot};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(crate) fn run(job: &Job) -> Measured {
    let mut measured = match &*job.mode {
        "open" => open_and_get(job),
        "readers" => readers(job),
        "beside" => beside(job),
        "seq" | "random" | "overwrite" => write(job),
        _ => read(job),
    };
    measured.peak = peak_bytes();
    measured
}

/// Options with the facts about keys that Larder's backing store gives the engine, as far as they are needed for the keys here: numbers.
fn idb_like_options() -> Options {
    let mut options = Options::new(Arc::new(IdbLike));
    options.key_facts = Some(KeyFacts {
        identity: |_| Identity::Bytes,
        head: |key| {
            let prefix = key
                .first_chunk()
                .map_or(0, |four| u32::from_be_bytes(*four));
            let number = key
                .last_chunk()
                .map_or(0.0, |eight| f64::from_le_bytes(*eight));
            // None is negative.
            (u128::from(prefix) << 96) | (u128::from(number.to_bits()) << 32)
        },
    });
    options
}

fn clock(id: rustix::time::ClockId) -> u64 {
    let time = rustix::time::clock_gettime(id);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn cpu() -> u64 {
    clock(rustix::time::ClockId::ProcessCPUTime)
}

fn wall() -> u64 {
    clock(rustix::time::ClockId::Monotonic)
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

/// Values are cut from it; it packs to about one half.
fn pool() -> Vec<u8> {
    let (mut random, mut bytes) = (Random(1), Vec::new());
    while bytes.len() < 1 << 20 {
        let piece: Vec<u8> = (0..16).map(|_| b' ' + (random.next() % 95) as u8).collect();
        bytes.extend([&piece[..], &piece[..]].concat());
    }
    bytes
}

/// `between`: a key that is not in the store.
fn make_key(key: &mut Vec<u8>, n: u64, job: &Job, between: bool) {
    key.clear();
    if job.kind == "idb" {
        let number = n as f64 + if between { 0.5 } else { 0.0 };
        key.extend_from_slice(&[0, 1, 1, 1, 3]);
        key.extend_from_slice(&number.to_le_bytes());
        return;
    }
    write!(key, "{n:016}").unwrap();
    if between {
        key.push(b'x');
    }
}

fn open(job: &Job) -> Db {
    let mut options = match &*job.kind {
        "idb" => idb_like_options(),
        _ => Options::default(),
    };
    options.create_if_missing = true;
    Db::open(Arc::new(DiskFileSystem::new()), &job.dir, options).unwrap()
}

/// Background work has ended when the process has used next to no CPU time three times in a row.
fn wait_until_idle() {
    let (mut last, mut quiet) = (cpu(), 0);
    while quiet < 3 {
        std::thread::sleep(Duration::from_millis(100));
        let now = cpu();
        quiet = if now - last > 1_000_000 { 0 } else { quiet + 1 };
        last = now;
    }
}

fn write(job: &Job) -> Measured {
    let (is_seq, is_overwrite) = (job.mode == "seq", job.mode == "overwrite");
    let values = pool();
    let mut random = Random(1);
    let mut measured = Measured::default();
    let (wall_before, cpu_before) = (wall(), cpu());
    let db = open(job);
    let total = if is_overwrite {
        2 * job.count
    } else {
        job.count
    };
    let mut batch = BatchWriter::new();
    let mut key = Vec::new();
    for i in (0..total).step_by(job.extra as usize) {
        for j in i..total.min(i + job.extra) {
            let n = if is_seq { j } else { random.next() % job.count };
            make_key(&mut key, n, job, false);
            let at = (j * 131) as usize % (values.len() - job.value_len);
            batch.put(&key, &values[at..at + job.value_len]);
        }
        let before = wall();
        db.write(&mut batch, Durability::Relaxed).unwrap();
        measured.longest = measured.longest.max(wall() - before);
    }
    if is_overwrite {
        db.compact_range(None, None).unwrap();
    }
    measured.wall = wall() - wall_before;
    wait_until_idle();
    db.close().unwrap();
    measured.cpu = cpu() - cpu_before;
    measured.rows = total;
    measured
}

fn add(measured: &mut Measured, key: &[u8], value: &[u8]) {
    measured.rows += 1;
    measured.bytes +=
        (key.len() + value.len()) as u64 + value.last().map_or(0, |byte| u64::from(byte & 1));
}

/// Gets of keys that are there, or, `between`, are not.
fn gets(db: &Db, job: &Job, seed: u64, operations: u64, between: bool, measured: &mut Measured) {
    let mut random = Random(seed);
    let (mut key, mut value) = (Vec::new(), Vec::new());
    for _ in 0..operations {
        make_key(&mut key, random.next() % job.count, job, between);
        if db.get_into(&key, &mut value).unwrap() {
            add(measured, &key, &value);
        }
    }
}

fn read(job: &Job) -> Measured {
    let db = open(job);
    let mut measured = Measured::default();
    let (wall_before, cpu_before) = (wall(), cpu());
    match &*job.mode {
        "get" => gets(&db, job, 1, job.extra, false, &mut measured),
        "miss" => gets(&db, job, 1, job.extra, true, &mut measured),
        "scan" => scan(&db.snapshot(), &mut measured),
        "reverse" => reverse(&db.snapshot(), &mut measured),
        _ => seeks(&db.snapshot(), job, &mut measured),
    }
    measured.wall = wall() - wall_before;
    measured.cpu = cpu() - cpu_before;
    db.close().unwrap();
    measured
}

fn scan(snapshot: &Snapshot, measured: &mut Measured) {
    let mut iter = snapshot.iter();
    iter.seek_to_first().unwrap();
    while iter.valid() {
        add(measured, iter.key(), iter.value().unwrap());
        iter.next().unwrap();
    }
}

fn reverse(snapshot: &Snapshot, measured: &mut Measured) {
    let mut iter = snapshot.iter();
    iter.seek_to_last().unwrap();
    while iter.valid() {
        add(measured, iter.key(), iter.value().unwrap());
        iter.prev().unwrap();
    }
}

fn seeks(snapshot: &Snapshot, job: &Job, measured: &mut Measured) {
    let mut iter = snapshot.iter();
    let mut random = Random(1);
    let mut key = Vec::new();
    for _ in 0..job.extra {
        make_key(&mut key, random.next() % job.count, job, false);
        iter.seek(&key).unwrap();
        let mut steps = 0;
        while iter.valid() && steps < 10 {
            add(measured, iter.key(), iter.value().unwrap());
            iter.next().unwrap();
            steps += 1;
        }
    }
}

fn open_and_get(job: &Job) -> Measured {
    let mut measured = Measured::default();
    let (wall_before, cpu_before) = (wall(), cpu());
    let db = open(job);
    gets(&db, job, 1, 1, false, &mut measured);
    measured.wall = wall() - wall_before;
    measured.cpu = cpu() - cpu_before;
    db.close().unwrap();
    measured
}

/// `extra` threads, each with gets of its own.
fn readers(job: &Job) -> Measured {
    let db = open(job);
    let mut measured = Measured::default();
    gets(&db, job, 99, 20_000, false, &mut Measured::default());
    let (wall_before, cpu_before) = (wall(), cpu());
    std::thread::scope(|scope| {
        let reader = |i| {
            let db = &db;
            scope.spawn(move || {
                let mut each = Measured::default();
                gets(db, job, i + 1, 100_000, false, &mut each);
                each.rows
            })
        };
        let threads: Vec<_> = (0..job.extra).map(reader).collect();
        for thread in threads {
            measured.rows += thread.join().unwrap();
        }
    });
    measured.wall = wall() - wall_before;
    measured.cpu = cpu() - cpu_before;
    db.close().unwrap();
    measured
}

/// A reader; if `extra` is 1, while another thread overwrites as fast as it can. CPU time is the reader's own.
#[expect(clippy::disallowed_methods, reason = "measures time")]
fn beside(job: &Job) -> Measured {
    let db = open(job);
    let stop = AtomicBool::new(false);
    let mut measured = Measured::default();
    gets(&db, job, 99, 20_000, false, &mut Measured::default());
    let values = pool();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let (mut random, mut key, mut i) = (Random(1), Vec::new(), 0);
            while job.extra == 1 && !stop.load(Ordering::Relaxed) {
                make_key(&mut key, random.next() % job.count, job, false);
                let at = i * 131 % (values.len() - job.value_len);
                let value = &values[at..at + job.value_len];
                db.put(&key, value, Durability::Relaxed).unwrap();
                i += 1;
            }
            i as u64
        });
        let started = Instant::now();
        let cpu_before = clock(rustix::time::ClockId::ThreadCPUTime);
        while started.elapsed() < Duration::from_millis(1500) {
            let seed = measured.rows + 1;
            gets(&db, job, seed, 1000, false, &mut measured);
        }
        measured.wall = started.elapsed().as_nanos() as u64;
        measured.cpu = clock(rustix::time::ClockId::ThreadCPUTime) - cpu_before;
        stop.store(true, Ordering::Relaxed);
        measured.bytes = writer.join().unwrap();
    });
    db.close().unwrap();
    measured
}

/// The most memory that was resident.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
