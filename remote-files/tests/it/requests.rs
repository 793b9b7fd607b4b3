//! How many round trips a store costs, counted; and what is staged for the sake of few of them.

use crate::support::{Bench, LEASE, namespace, options, read, session, write};
use larder_leveldb::storage::FileSystem;
use larder_leveldb::{Background, Db, Durability, Options as DbOptions};
use larder_remote_files::{Cluster, Options, RemoteFileSystem};
use std::io;
use std::path::Path;
use std::sync::Arc;

fn db_options() -> DbOptions {
    DbOptions {
        create_if_missing: true,
        trusts_order: true,
        background: Background::Caller,
        ..DbOptions::default()
    }
}

fn key(number: u32) -> [u8; 4] {
    number.wrapping_mul(2_654_435_761).to_be_bytes()
}

/// A store of so many records of 200 bytes that nothing makes smaller, in tables of a size.
fn fill(bench: &Bench, records: u32, table_bytes: usize) -> usize {
    let fs = bench.writer_with(1, Options::default());
    let options = DbOptions {
        write_buffer_bytes: table_bytes * 2,
        table_file_bytes: table_bytes as u64,
        ..db_options()
    };
    let db = Db::open(Arc::new(fs.clone()), Path::new("db"), options).unwrap();
    let mut random = larder_fixtures::random::Random::new(1);
    for number in 0..records {
        let value: Vec<u8> = (0..200).map(|_| random.next() as u8).collect();
        db.put(&key(number), &value, Durability::Relaxed).unwrap();
    }
    db.compact_range(None, None).unwrap();
    drop(db);
    let files = fs.list(Path::new("db")).unwrap().len();
    fs.close().unwrap();
    files
}

fn open(cluster: &Cluster, number: u8) -> Db {
    let session = session(cluster, number).unwrap();
    let fs = RemoteFileSystem::write(&session, &namespace(), Options::default(), LEASE).unwrap();
    Db::open(Arc::new(fs), Path::new("db"), db_options()).unwrap()
}

#[test]
fn a_store_of_a_hundred_files_is_opened_in_ten_round_trips() {
    let bench = Bench::new();
    let files = fill(&bench, 4000, 5000);
    assert!(files >= 100, "{files}");
    let cluster = bench.cluster();
    let db = open(&cluster, 2);
    let requests = cluster.statistics().requests();
    println!("{files} files opened in {requests} round trips");
    assert!(requests <= 10, "{requests}");
    assert!(db.get(&key(7)).unwrap().is_some());
}

/// What is written in bulk is in calls that are full, and each of them is one read: an object of S3 is neither small nor read in two parts.
#[test]
fn what_is_written_in_bulk_is_read_as_it_was_written() {
    let bench = Bench::new();
    let cluster = bench.cluster();
    let session = session(&cluster, 1).unwrap();
    let fs = RemoteFileSystem::write(&session, &namespace(), Options::default(), LEASE).unwrap();
    let mut file = fs.create(Path::new("table")).unwrap();
    let requests = || cluster.statistics().requests();
    let part = vec![7; 10_000];
    let before = requests();
    // 60 chunks and a part of one, of which 15 are one call. The fourth call is full when the file is synced.
    for _ in 0..394 {
        file.append(&part).unwrap();
    }
    assert_eq!(requests() - before, 3);
    // That one with the rest, and the commit.
    file.sync().unwrap();
    assert_eq!(requests() - before, 5);
    drop(file);
    let cluster = bench.cluster();
    let reader = RemoteFileSystem::read(&cluster, &namespace(), Options::default()).unwrap();
    let mut file = reader.open_sequential(Path::new("table")).unwrap();
    let before = cluster.statistics().requests();
    let (mut buffer, mut len) = (vec![0; 1 << 20], 0);
    loop {
        match file.read(&mut buffer).unwrap() {
            0 => break,
            n => len += n,
        }
    }
    assert_eq!(len, 3_940_000);
    // Two of the first call, one of each other, and the place of the content.
    println!("{} requests", cluster.statistics().requests() - before);
    assert!(cluster.statistics().requests() - before <= 7);
}

#[test]
fn a_get_is_two_round_trips_and_one_when_the_tables_index_is_in_memory() {
    let bench = Bench::new();
    fill(&bench, 6000, 4 << 20);
    let cluster = bench.cluster();
    let db = open(&cluster, 2);
    // 6000 records in one table of 20 chunks: no two of these lie in chunks side by side, which would be the beginning of a scan.
    let mut keys: Vec<[u8; 4]> = (0..6000).map(key).collect();
    keys.sort_unstable();
    let trips_of = |nth: usize| {
        let before = cluster.statistics().requests();
        assert!(db.get(&keys[nth]).unwrap().is_some());
        cluster.statistics().requests() - before
    };
    assert_eq!(trips_of(2900), 2);
    // The last one's block lies in two chunks.
    let others = [4900, 3900, 1900, 900];
    assert_eq!(others.map(trips_of), [1; 4]);
    assert_eq!(others.map(trips_of), [0; 4]);
}

/// A scan reads ahead, also in each of the tables that it goes through at once.
#[test]
fn a_scan_of_a_store_is_few_requests() {
    let bench = Bench::new();
    fill(&bench, 24_000, 4 << 20);
    let cluster = bench.cluster();
    let db = open(&cluster, 2);
    let before = cluster.statistics().requests();
    assert_eq!(db.range(..).filter(Result::is_ok).count(), 24_000);
    let requests = cluster.statistics().requests() - before;
    println!("{requests} requests for 5 MB");
    assert!(requests <= 14, "{requests}");
}

#[test]
fn names_that_were_made_or_removed_come_with_the_next_commit_and_never_after_it() {
    let bench = Bench::new();
    let (fs, reader) = (bench.writer(1).unwrap(), bench.reader());
    write(&fs, "old", b"old").unwrap();
    let is_there = |fs: &RemoteFileSystem, name: &str| fs.metadata(Path::new(name)).is_ok();
    let mut made = fs.create(Path::new("made")).unwrap();
    fs.remove(Path::new("old")).unwrap();
    assert!(is_there(&fs, "made") && !is_there(&fs, "old"));
    assert!(!is_there(&reader, "made") && is_there(&reader, "old"));
    write(&fs, "other", b"other").unwrap();
    assert!(is_there(&reader, "made") && !is_there(&reader, "old"));
    // A sync of nothing new, of a file whose name waits.
    let mut empty = fs.create(Path::new("empty")).unwrap();
    assert!(!is_there(&reader, "empty"));
    empty.sync().unwrap();
    assert!(is_there(&reader, "empty"));
    // After the delay by itself; and when it is closed.
    fs.create_dir(Path::new("dir")).unwrap();
    fs.tick().unwrap();
    assert!(!is_there(&reader, "dir"));
    larder_remote_files::Clock::wait(&*bench.clock, options().flush_delay);
    fs.tick().unwrap();
    assert!(is_there(&reader, "dir"));
    made.append(b"made").unwrap();
    drop((made, empty));
    fs.remove_dir(Path::new("dir")).unwrap();
    fs.close().unwrap();
    assert!(!is_there(&reader, "dir"));
    assert_eq!(read(&reader, "made").unwrap(), b"made");
}

#[test]
fn many_names_are_more_than_one_commit() {
    let bench = Bench::new();
    let fs = bench.writer(1).unwrap();
    for number in 0..500 {
        drop(fs.create(Path::new(&format!("{number}"))).unwrap());
        if number % 3 == 0 {
            fs.remove(Path::new(&format!("{number}"))).unwrap();
        }
    }
    fs.sync_dir(Path::new("")).unwrap();
    assert_eq!(bench.reader().list(Path::new("")).unwrap().len(), 333);
}

/// The catalogue still has the name: another process finds the file whole.
#[test]
fn content_whose_name_is_removed_in_memory_only_is_not_deleted() {
    let bench = Bench::new();
    let content = vec![7; 1000];
    write(&bench.writer(1).unwrap(), "table", &content).unwrap();
    let second = bench.writer(2).unwrap();
    second.remove(Path::new("table")).unwrap();
    second.tick().unwrap();
    std::mem::forget(second);
    let third = bench.writer(3).unwrap();
    assert_eq!(read(&third, "table").unwrap(), content);
    third.remove(Path::new("table")).unwrap();
    assert_eq!(third.collect_garbage().unwrap(), 1);
    let error = read(&third, "table").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}
