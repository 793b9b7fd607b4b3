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

pub(crate) fn content(engine: &mut Engine, fs: &RemoteFileSystem) {
    const PARTS: usize = 16;
    let part = noise(CHUNK * CHUNKS_AT_ONCE);
    let mut file = fs.create(Path::new("table")).unwrap();
    let (mut ours, mut raw) = (0.0, 0.0);
    let cluster = engine.cluster.clone();
    let requests = || cluster.statistics().requests();
    let before = requests();
    for number in 0..PARTS {
        ours += ms(|| {
            file.append(&part).unwrap();
            file.sync().unwrap();
        });
        raw += ms(|| (engine.raw_write)(number));
    }
    drop(file);
    let kb = (PARTS * part.len()) as f64 / 1e3;
    let rate = |ms: f64| kb / ms;
    println!(
        "{}: filling {:.0} MB/s, raw {:.0} MB/s: {:.2}x; {} requests in place of {PARTS}",
        engine.name,
        rate(ours),
        rate(raw),
        rate(ours) / rate(raw),
        requests() - before
    );
    let reader = RemoteFileSystem::read(&engine.cluster, fs.namespace(), Options::default());
    let reader = reader.unwrap();
    let mut buffer = vec![0; 256 << 10];
    let before = requests();
    let ours = ms(|| {
        let mut file = reader.open_sequential(Path::new("table")).unwrap();
        while file.read(&mut buffer).unwrap() > 0 {}
    });
    let read = requests() - before;
    let raw = ms(|| assert_eq!((engine.raw_read)(), PARTS * part.len()));
    println!(
        "{}: a scan {:.0} MB/s, raw {:.0} MB/s: {:.2}x; {read} requests in place of {PARTS}",
        engine.name,
        rate(ours),
        rate(raw),
        rate(ours) / rate(raw)
    );
}
