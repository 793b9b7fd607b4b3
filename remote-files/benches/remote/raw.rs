//! Files beside raw calls that do the same bytes, by turns: strict commits, filling, reading.

use crate::engines::{CHUNK, CHUNKS_AT_ONCE, Engine, noise};
use crate::work::{median, ms};
use larder_leveldb::storage::FileSystem;
use larder_remote_files::{Options, RemoteFileSystem};
use std::path::Path;

const COMMITS: usize = 300;

pub(crate) fn commits(engine: &mut Engine, fs: &RemoteFileSystem) {
    let mut log = fs.create(Path::new("log")).unwrap();
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for number in 0..COMMITS {
        // By turns, so that whatever else the machine does meets both.
        ours.push(ms(|| {
            log.append(&[7; 100]).unwrap();
            log.sync().unwrap();
        }));
        raw.push(ms(|| (engine.raw_commit)(number)));
    }
    let (ours, raw) = (median(ours), median(raw));
    println!(
        "{}: a strict commit {:.2} ms, a raw one {:.2} ms: {:.2}x",
        engine.name,
        ours,
        raw,
        ours / raw
    );
}

/// Parts of a file. Each is as much as one call may have.
const PARTS: usize = 16;

pub(crate) fn content(engine: &mut Engine, fs: &RemoteFileSystem) {
    // As the engine writes a table.
    filling(engine, fs, "table", 0, false);
    // As a log is written by large strict transactions.
    filling(engine, fs, "log of parts", PARTS, true);
    scan(engine, fs, "table");
}

/// Raw parts are numbered from `first` on.
fn filling(engine: &mut Engine, fs: &RemoteFileSystem, name: &str, first: usize, syncs_each: bool) {
    let part = noise(CHUNK * CHUNKS_AT_ONCE);
    let mut file = fs.create(Path::new(name)).unwrap();
    let (mut ours, mut raw) = (0.0, 0.0);
    let cluster = engine.cluster.clone();
    let requests = || cluster.statistics().requests();
    let earlier = requests();
    for number in 0..PARTS {
        ours += ms(|| {
            file.append(&part).unwrap();
            if syncs_each || number + 1 == PARTS {
                file.sync().unwrap();
            }
        });
        raw += ms(|| (engine.raw_write)(first + number));
    }
    drop(file);
    println!(
        "{}: filling, {}, {:.0} MB/s, raw {:.0} MB/s: {:.2}x; {} requests in place of {PARTS}",
        engine.name,
        if syncs_each {
            "a sync for each part"
        } else {
            "one sync"
        },
        rate(ours, PARTS),
        rate(raw, PARTS),
        raw / ours,
        requests() - earlier
    );
}

/// MB a second.
fn rate(ms: f64, parts: usize) -> f64 {
    (parts * CHUNK * CHUNKS_AT_ONCE) as f64 / 1e3 / ms
}

fn scan(engine: &mut Engine, fs: &RemoteFileSystem, name: &str) {
    let cluster = engine.cluster.clone();
    let requests = || cluster.statistics().requests();
    let reader = RemoteFileSystem::read(&engine.cluster, fs.namespace(), Options::default());
    let reader = reader.unwrap();
    let mut buffer = vec![0; 256 << 10];
    let before = requests();
    let ours = ms(|| {
        let mut file = reader.open_sequential(Path::new(name)).unwrap();
        while file.read(&mut buffer).unwrap() > 0 {}
    });
    let read = requests() - before;
    // What both fillings have written.
    let raw_parts = 2 * PARTS;
    let raw = ms(|| assert_eq!((engine.raw_read)(), raw_parts * CHUNK * CHUNKS_AT_ONCE));
    println!(
        "{}: a scan {:.0} MB/s, raw {:.0} MB/s: {:.2}x; {read} requests in place of {PARTS}",
        engine.name,
        rate(ours, PARTS),
        rate(raw, raw_parts),
        rate(ours, PARTS) / rate(raw, raw_parts)
    );
}
