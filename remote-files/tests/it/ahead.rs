//! What is sent for before it is asked for.

use crate::support::{Bench, LEASE, namespace, write};
use larder_leveldb::storage::{FileSystem, RandomFile};
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
use std::thread::{self, ThreadId};
use std::time::Duration;

const CHUNK: u64 = 64 << 10;
/// Bytes that one call has.
const CALL: u64 = 15 * CHUNK;

/// Blobs that say what of them is read, and by which thread, and fail where they are asked to.
#[derive(Debug)]
struct Watched {
    inner: ModelClient,
    reads: Mutex<Sender<(u64, ThreadId)>>,
    /// Reads of these offsets fail, once each.
    failing: Mutex<BTreeSet<u64>>,
}

impl Blobs for Watched {
    fn append(&self, namespace: &Namespace, blob: u64, segments: &[Segment]) -> Result<()> {
        self.inner.append(namespace, blob, segments)
    }

    fn read(&self, namespace: &Namespace, blob: u64, offsets: Range<u64>) -> Result<Vec<Segment>> {
        let fails = self.failing.lock().unwrap().remove(&offsets.start);
        let read = (offsets.start, thread::current().id());
        self.reads.lock().unwrap().send(read).ok();
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

/// A reader of files, and the offsets that it fetches from.
struct Watching {
    fs: RemoteFileSystem,
    blobs: Arc<Watched>,
    reads: Receiver<(u64, ThreadId)>,
}

fn content(len: u64) -> Vec<u8> {
    (0..len)
        .map(|at| (at * 7 + at / 256 + at / 65_536) as u8)
        .collect()
}

/// A reader of files with some contents: `0`, `1` and so on.
fn watching(contents: &[&[u8]], options: Options) -> Watching {
    let bench = Bench::new();
    let writer = bench.writer_with(1, Options::default());
    for (number, content) in contents.iter().enumerate() {
        write(&writer, &number.to_string(), content).unwrap();
    }
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
    fn open(&self, number: u64) -> Arc<dyn RandomFile> {
        let path = number.to_string();
        self.fs.open_random(Path::new(&path)).unwrap()
    }

    /// The offsets of the next fetches, whichever thread makes them.
    fn next(&self, count: usize) -> BTreeSet<u64> {
        let next = |_| self.reads.recv_timeout(Duration::from_secs(60)).unwrap().0;
        (0..count).map(next).collect()
    }

    /// The offsets of all fetches that were not seen yet, ascending, when no thread is left.
    fn rest(self) -> Vec<u64> {
        drop(self.fs);
        // Neither a thread nor the file system has the connection any more.
        assert_eq!(Arc::strong_count(&self.blobs), 1);
        let mut rest: Vec<u64> = self.reads.try_iter().map(|(offset, _)| offset).collect();
        rest.sort_unstable();
        rest
    }
}

/// Reads a chunk, and finds it as it must be.
fn read_chunk(file: &dyn RandomFile, chunk: u64, content: &[u8]) {
    let mut buffer = vec![0; CHUNK as usize];
    let at = chunk * CHUNK;
    let n = file.read_at(at, &mut buffer).unwrap();
    assert!(n > 0, "{chunk}");
    assert!(
        buffer[..n] == content[at as usize..at as usize + n],
        "{chunk}"
    );
}

#[test]
fn what_follows_is_on_its_way_while_a_file_is_read_in_order() {
    let content = content(6 * CALL + 10_000);
    let watching = watching(&[&content], Options::default());
    let file = watching.open(0);
    let read = |chunk| read_chunk(&*file, chunk, &content);
    (0..15).for_each(read);
    // 1, 4 and the rest of a call, with which others are sent for.
    let starts = [0, CHUNK, 5 * CHUNK, CALL, 2 * CALL];
    assert_eq!(watching.next(5), BTreeSet::from(starts));
    read(15);
    assert_eq!(watching.next(1), BTreeSet::from([3 * CALL]));
    read(30);
    assert_eq!(watching.next(1), BTreeSet::from([4 * CALL]));
    (16..90).for_each(read);
    assert_eq!(watching.next(2), BTreeSet::from([5 * CALL, 6 * CALL]));
    read(90);
    read(3);
    drop(file);
    assert_eq!(watching.rest(), [0; 0], "something came twice");
}

#[test]
fn what_follows_and_cannot_be_had_is_asked_for_again_and_nothing_else() {
    let content = content(7 * CALL);
    let watching = watching(&[&content], Options::default());
    let failing = [2 * CALL, 4 * CALL];
    watching.blobs.failing.lock().unwrap().extend(failing);
    let file = watching.open(0);
    (0..105).for_each(|chunk| read_chunk(&*file, chunk, &content));
    drop(file);
    let mut expected = vec![0, CHUNK, 5 * CHUNK];
    expected.extend((1..7).map(|call| call * CALL));
    expected.extend(failing);
    expected.sort_unstable();
    assert_eq!(watching.rest(), expected);
}

#[test]
fn gets_amid_a_scan_neither_disturb_it_nor_send_for_what_lies_between() {
    let content = content(12 * CALL);
    let watching = watching(&[&content], Options::default());
    let file = watching.open(0);
    let read = |chunk| read_chunk(&*file, chunk, &content);
    (0..20).for_each(read);
    // Its end, which then is in memory; and a place far behind the scan.
    read(179);
    read(179);
    read(131);
    (20..60).for_each(read);
    drop(file);
    // The scan has come to the fourth call, and two more were sent for.
    let mut expected = vec![0, CHUNK, 5 * CHUNK, 131 * CHUNK, 179 * CHUNK];
    expected.extend((1..6).map(|call| call * CALL));
    expected.sort_unstable();
    assert_eq!(watching.rest(), expected);
}

#[test]
fn threads_that_read_one_file_share_what_was_sent_for() {
    let content = content(20 * CALL);
    let watching = watching(&[&content], Options::default());
    let file = watching.open(0);
    (0..15).for_each(|chunk| read_chunk(&*file, chunk, &content));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (15..300).for_each(|chunk| read_chunk(&*file, chunk, &content)));
        }
    });
    drop(file);
    let reads = watching.rest();
    // Each call is fetched; a thread that comes to one before it is sent for may fetch it itself.
    let calls: BTreeSet<u64> = reads.iter().copied().collect();
    assert!((1..20).all(|call| calls.contains(&(call * CALL))));
    // 22 without such a thread, and some 60 if none waited for what is under way.
    assert!(reads.len() < 32, "{reads:?}");
}

#[test]
fn one_fetch_at_once_is_one_and_a_small_cache_has_no_room_for_more() {
    let content = content(4 * CALL);
    let one = Options {
        fetches_at_once: 1,
        ..Options::default()
    };
    let small = Options {
        cache_len_max: 1 << 20,
        ..Options::default()
    };
    for options in [one, small] {
        let watching = watching(&[&content], options);
        let file = watching.open(0);
        (0..60).for_each(|chunk| read_chunk(&*file, chunk, &content));
        drop(file);
        let reads: Vec<_> = watching.reads.try_iter().collect();
        assert!(reads.len() >= 6, "{reads:?}");
        let own = thread::current().id();
        assert!(reads.iter().all(|(_, thread)| *thread == own), "{reads:?}");
        assert_eq!(watching.rest(), [0; 0]);
    }
}

#[test]
fn a_scan_leaves_word_for_one_file_when_it_has_come_to_the_end() {
    let content = content(2 * CALL);
    let watching = watching(&[&*content; 5], Options::default());
    let file = watching.open(0);
    (0..29).for_each(|chunk| read_chunk(&*file, chunk, &content));
    watching.next(4);
    // It has not come to the end, so a get in another file is a get.
    let get = |number| read_chunk(&*watching.open(number), 0, &content);
    get(1);
    read_chunk(&*watching.open(1), 1, &content);
    read_chunk(&*file, 29, &content);
    get(2);
    // A whole call, and the other one was sent for. Now it is used up.
    read_chunk(&*watching.open(2), 14, &content);
    get(3);
    get(4);
    drop(file);
    assert_eq!(watching.rest(), [0, 0, 0, 0, CHUNK, CALL]);
}

#[test]
fn a_file_that_grows_while_it_is_read_is_read_as_it_is() {
    let bench = Bench::new();
    let content = content(9 * CALL);
    let small = Options {
        cache_len_max: 6 << 20,
        ..Options::default()
    };
    let fs = bench.writer_with(1, small);
    let mut file = fs.create(Path::new("log")).unwrap();
    let mut at = 0;
    for step in [700_000, 3_000_000, 100, 64 << 10, 1_500_000, 99, 3_000_000] {
        let end = (at + step).min(content.len());
        file.append(&content[at..end]).unwrap();
        file.sync().unwrap();
        at = end;
        let reader = fs.open_random(Path::new("log")).unwrap();
        let (mut from, mut buffer) = (0, vec![0; 100_000]);
        while from < at {
            let n = reader.read_at(from as u64, &mut buffer).unwrap();
            assert!(
                n > 0 && buffer[..n] == content[from..from + n],
                "{from} of {at}"
            );
            from += n;
        }
    }
    drop(file);
    fs.close().unwrap();
    assert!(crate::support::read(&bench.reader(), "log").unwrap() == content[..at]);
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
