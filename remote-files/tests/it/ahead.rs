//! What is sent for before it is asked for.

use crate::support::{Bench, LEASE, namespace, write};
use larder_leveldb::storage::FileSystem;
use larder_leveldb::{Background, Db, Durability, Options as DbOptions};
use larder_remote_files::model::ModelClient;
use larder_remote_files::{
    Blobs, Cluster, Error, ErrorKind, Namespace, Options, RemoteFileSystem, Result, Segment,
};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const CHUNK: u64 = 64 << 10;
/// Bytes of what one call has.
const CALL: u64 = 15 * CHUNK;

/// Blobs that say what of them is read, and fail where they are asked to.
#[derive(Debug)]
struct Watched {
    inner: ModelClient,
    reads: Mutex<Sender<u64>>,
    /// Reads of these offsets fail, once each.
    failing: Mutex<BTreeSet<u64>>,
}

impl Blobs for Watched {
    fn append(&self, namespace: &Namespace, blob: u64, segments: &[Segment]) -> Result<()> {
        self.inner.append(namespace, blob, segments)
    }

    fn read(&self, namespace: &Namespace, blob: u64, offsets: Range<u64>) -> Result<Vec<Segment>> {
        let fails = self.failing.lock().unwrap().remove(&offsets.start);
        self.reads.lock().unwrap().send(offsets.start).ok();
        match fails {
            // One that is not tried again by the client itself.
            true => Err(Error::new(ErrorKind::Corruption, "as it was asked to")),
            false => self.inner.read(namespace, blob, offsets),
        }
    }

    fn delete(&self, namespace: &Namespace, blob: u64) -> Result<()> {
        self.inner.delete(namespace, blob)
    }

    fn list(
        &self,
        namespace: &Namespace,
        after: Option<u64>,
        count_max: usize,
    ) -> Result<Vec<u64>> {
        self.inner.list(namespace, after, count_max)
    }
}

/// A reader of a file `table`, and the offsets that it fetches from.
struct Watching {
    fs: RemoteFileSystem,
    blobs: Arc<Watched>,
    reads: Receiver<u64>,
}

fn content(len: u64) -> Vec<u8> {
    (0..len)
        .map(|at| (at * 7 + at / 256 + at / 65_536) as u8)
        .collect()
}

fn watching(content: &[u8], options: Options) -> Watching {
    let bench = Bench::new();
    let writer = bench.writer_with(1, Options::default());
    write(&writer, "table", content).unwrap();
    writer.close().unwrap();
    let (sender, reads) = channel();
    let blobs = Arc::new(Watched {
        inner: bench.model.client(),
        reads: Mutex::new(sender),
        failing: Mutex::default(),
    });
    let catalogue = Arc::new(bench.model.client());
    let cluster = Cluster::new(catalogue, blobs.clone(), bench.clock.clone(), LEASE);
    let fs = RemoteFileSystem::read(&cluster, &namespace(), options).unwrap();
    Watching { fs, blobs, reads }
}

impl Watching {
    /// Reads of the next fetches, whichever thread makes them.
    fn next(&self, count: usize) -> BTreeSet<u64> {
        let next = |_| self.reads.recv_timeout(Duration::from_secs(60)).unwrap();
        (0..count).map(next).collect()
    }
}

#[test]
fn what_follows_is_on_its_way_while_a_file_is_read_in_order() {
    let content = content(6 * CALL + 10_000);
    let watching = watching(&content, Options::default());
    let file = watching.fs.open_random(Path::new("table")).unwrap();
    let mut buffer = vec![0; CHUNK as usize];
    let mut read = |chunk: u64| {
        let at = chunk * CHUNK;
        let n = file.read_at(at, &mut buffer).unwrap();
        assert_eq!(buffer[..n], content[at as usize..at as usize + n]);
    };
    (0..15).for_each(&mut read);
    // 1, 2, 4 and 8 chunks: no whole call was fetched at once.
    let starts = [0, 1, 3, 7].map(|chunk| chunk * CHUNK);
    assert_eq!(watching.next(4), BTreeSet::from(starts));
    read(15);
    assert_eq!(watching.next(3), BTreeSet::from([CALL, 2 * CALL, 3 * CALL]));
    read(30);
    assert_eq!(watching.next(1), BTreeSet::from([4 * CALL]));
    (16..90).for_each(&mut read);
    assert_eq!(watching.next(2), BTreeSet::from([5 * CALL, 6 * CALL]));
    read(90);
    read(3);
    assert!(watching.reads.try_recv().is_err(), "something came twice");
}

#[test]
fn what_follows_and_cannot_be_had_is_asked_for_again() {
    let content = content(6 * CALL);
    let watching = watching(&content, Options::default());
    let failing = [2 * CALL, 4 * CALL];
    watching.blobs.failing.lock().unwrap().extend(failing);
    let bytes = crate::support::read(&watching.fs, "table").unwrap();
    assert!(bytes == content);
    assert!(watching.blobs.failing.lock().unwrap().is_empty());
}

#[test]
fn one_fetch_at_once_is_one_and_a_small_cache_has_no_room_for_more() {
    let content = content(4 * CALL);
    let one = Options {
        fetches_at_once: 1,
        ..Options::default()
    };
    let small = Options {
        cache_len_max: 2 << 20,
        ..Options::default()
    };
    for options in [one, small] {
        let watching = watching(&content, options);
        let mut file = watching.fs.open_sequential(Path::new("table")).unwrap();
        let mut buffer = vec![0; CHUNK as usize];
        for _ in 0..16 {
            assert!(file.read(&mut buffer).unwrap() > 0);
        }
        assert_eq!(watching.reads.try_iter().last(), Some(CALL));
        for _ in 16..60 {
            assert!(file.read(&mut buffer).unwrap() > 0);
        }
        assert_eq!(watching.reads.try_iter().last(), Some(3 * CALL));
    }
}

/// A table is as large as two calls. Of each the end is fetched when it is opened, and then two calls, not one chunk after the other.
#[test]
fn a_scan_goes_on_in_the_next_table_as_it_was() {
    let bench = Bench::new();
    let fs = bench.writer_with(1, Options::default());
    let options = DbOptions {
        create_if_missing: true,
        background: Background::Caller,
        table_file_bytes: 2 << 20,
        ..DbOptions::default()
    };
    let db = Db::open(Arc::new(fs), Path::new("db"), options.clone()).unwrap();
    let mut random = larder_fixtures::random::Random::new(1);
    for number in 0..90_000_u32 {
        let value: Vec<u8> = (0..200).map(|_| random.next() as u8).collect();
        db.put(&number.to_be_bytes(), &value, Durability::Relaxed)
            .unwrap();
    }
    db.compact_range(None, None).unwrap();
    drop(db);
    let cluster = bench.cluster();
    let fs = RemoteFileSystem::read(&cluster, &namespace(), Options::default()).unwrap();
    let tables = fs.list(Path::new("db")).unwrap();
    let is_table = |name: &&std::ffi::OsString| name.to_string_lossy().ends_with(".ldb");
    let tables = tables.iter().filter(is_table).count() as u64;
    assert!((8..=12).contains(&tables), "{tables}");
    let db = Db::open_read_only(Arc::new(fs), Path::new("db"), options).unwrap();
    let before = cluster.statistics().blob_reads;
    assert_eq!(db.range(..).filter(|row| row.is_ok()).count(), 90_000);
    let requests = cluster.statistics().blob_reads - before;
    println!("{requests} reads of {tables} tables");
    assert!(requests <= tables * 4 + 4, "{requests}");
}
