//! Reading: beside a writer, after a deletion, from the cache, with few requests.

use crate::support::{Bench, LEASE, namespace, options, read, write};
use larder_leveldb::storage::{FileSystem, RandomFile};
use larder_remote_files::{
    Blobs, Catalogue, Clock, Commit, Error, ErrorKind, Options, RemoteFileSystem,
};
use std::io;
use std::path::Path;

fn content(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 256) as u8).collect()
}

fn whole(file: &dyn RandomFile) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; file.len()? as usize];
    let mut at = 0;
    while at < bytes.len() {
        match file.read_at(at as u64, &mut bytes[at..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => at += n,
        }
    }
    Ok(bytes)
}

fn kind(error: &io::Error) -> ErrorKind {
    Error::within(error).unwrap().kind()
}

#[test]
fn a_reader_elsewhere_sees_the_last_sync() {
    let bench = Bench::new();
    let (fs, reader) = (bench.writer(1).unwrap(), bench.reader());
    let content = content(1000);
    let mut file = fs.create(Path::new("log")).unwrap();
    file.sync().unwrap();
    for end in [10, 30, 99, 100, 101, 450, 450, 1000] {
        let synced = file_len(&reader);
        file.append(&content[synced..end]).unwrap();
        file.flush().unwrap();
        assert_eq!(read(&reader, "log").unwrap(), &content[..synced]);
        let before = reader.open_random(Path::new("log")).unwrap();
        file.sync().unwrap();
        assert_eq!(read(&reader, "log").unwrap(), &content[..end]);
        assert_eq!(read(&fs, "log").unwrap(), &content[..end]);
        // A handle has the file as it was, wherever its bytes have gone meanwhile.
        assert_eq!(whole(&*before).unwrap(), &content[..synced]);
    }
    assert!(reader.lock_holder(Path::new("log")).unwrap().is_some());
    let error = reader.create(Path::new("x")).map(drop).unwrap_err();
    assert_eq!(kind(&error), ErrorKind::ReadOnly);
    assert_eq!(error.kind(), io::ErrorKind::ReadOnlyFilesystem);
}

fn file_len(reader: &RemoteFileSystem) -> usize {
    reader.metadata(Path::new("log")).unwrap().len_bytes as usize
}

#[test]
fn a_file_deleted_under_a_reader_is_there_for_the_grace_and_then_gone() {
    let bench = Bench::new();
    let (fs, reader) = (bench.writer(1).unwrap(), bench.reader());
    let content = content(950);
    write(&fs, "table", &content).unwrap();
    let open = |fs: &RemoteFileSystem| fs.open_random(Path::new("table")).unwrap();
    let (first, second, own) = (open(&reader), open(&reader), open(&fs));
    fs.remove(Path::new("table")).unwrap();
    bench
        .clock
        .wait(options().grace - std::time::Duration::from_millis(1));
    fs.tick().unwrap();
    assert_eq!(whole(&*first).unwrap(), content);
    bench.clock.wait(options().grace);
    fs.tick().unwrap();
    // A handle of the writer's process keeps it.
    let elsewhere = RemoteFileSystem::read(&bench.cluster(), &namespace(), options()).unwrap();
    assert_eq!(whole(&*own).unwrap(), content);
    assert!(elsewhere.open_random(Path::new("table")).is_err());
    drop(own);
    fs.tick().unwrap();
    let mut buffer = [0; 10];
    // What is in the reader's cache is right whatever happens.
    assert_eq!(second.read_at(0, &mut buffer).unwrap(), 10);
    let late = bench.reader();
    write(&fs, "table", &content).unwrap();
    let third = open(&late);
    fs.remove(Path::new("table")).unwrap();
    assert_eq!(fs.collect_garbage().unwrap(), 1);
    let error = third.read_at(0, &mut buffer).unwrap_err();
    assert_eq!(
        (kind(&error), error.kind()),
        (ErrorKind::Gone, io::ErrorKind::StaleNetworkFileHandle)
    );
    assert!(
        error.to_string().contains("open the store again"),
        "{error}"
    );
}

#[test]
fn damaged_content_is_an_error_and_never_other_bytes() {
    let bench = Bench::new();
    let fs = bench.writer(1).unwrap();
    write(&fs, "table", &content(350)).unwrap();
    let (client, namespace) = (bench.model.client(), namespace());
    let blob = client.list(&namespace, None, 1).unwrap()[0];
    let mut segment = client.read(&namespace, blob, 100..101).unwrap().remove(0);
    segment.bytes[50] ^= 1;
    client.append(&namespace, blob, &[segment]).unwrap();
    let file = bench.reader().open_random(Path::new("table")).unwrap();
    let mut buffer = [0; 100];
    assert_eq!(file.read_at(0, &mut buffer).unwrap(), 100);
    let error = file.read_at(100, &mut buffer).unwrap_err();
    assert_eq!(
        (kind(&error), error.kind()),
        (ErrorKind::Corruption, io::ErrorKind::InvalidData)
    );
    assert!(error.to_string().contains("at offset 100"), "{error}");
}

#[test]
fn a_row_that_does_not_decode_is_an_error() {
    let bench = Bench::new();
    write(&bench.writer(1).unwrap(), "file", b"x").unwrap();
    let client = bench.model.client();
    let mut commit = Commit::default();
    commit.put(b"\x02test\0\x01\0file".to_vec(), vec![1, 1, 0]);
    client.commit(&commit).unwrap();
    let error = read(&bench.reader(), "file").unwrap_err();
    assert_eq!(kind(&error), ErrorKind::Corruption);
    assert_eq!(bench.writer(2).unwrap_err().kind(), ErrorKind::Corruption);
}

#[test]
fn a_small_sync_is_one_commit_and_a_rename_moves_no_content() {
    let bench = Bench::new();
    let fs = bench.writer(1).unwrap();
    let own = bench.session(9);
    let fs_of_own = RemoteFileSystem::write(
        &own,
        &larder_remote_files::Namespace::new("own").unwrap(),
        Options::default(),
        LEASE,
    )
    .unwrap();
    let mut log = fs_of_own.create(Path::new("log")).unwrap();
    let before = own.cluster().statistics();
    for _ in 0..10 {
        log.append(&[7; 100]).unwrap();
        log.sync().unwrap();
    }
    let after = own.cluster().statistics();
    assert_eq!(after.commits - before.commits, 10);
    assert_eq!((after.blob_writes, after.reads - before.reads), (0, 0));
    drop(fs);
    write(&fs_of_own, "big", &content(3 << 20)).unwrap();
    let before = own.cluster().statistics();
    fs_of_own
        .rename(Path::new("big"), Path::new("renamed"))
        .unwrap();
    write(&fs_of_own, "other", b"x").unwrap();
    fs_of_own
        .rename(Path::new("other"), Path::new("renamed"))
        .unwrap();
    fs_of_own.remove(Path::new("renamed")).unwrap();
    let after = own.cluster().statistics();
    // Two renames and a sync. What was made and removed comes with the next one.
    assert_eq!(after.commits - before.commits, 3);
    fs_of_own.sync_dir(Path::new("")).unwrap();
    fs_of_own.sync_dir(Path::new("")).unwrap();
    let after = own.cluster().statistics();
    assert_eq!(after.commits - before.commits, 4);
    assert_eq!(after.blob_writes, before.blob_writes);
    assert_eq!(after.conflicts + after.retries, 0);
}

#[test]
fn memory_and_requests_of_reading_are_bounded() {
    let bench = Bench::new();
    let own = bench.session(1);
    let options = Options {
        cache_len_max: 4 << 20,
        ..Options::default()
    };
    let fs = RemoteFileSystem::write(&own, &namespace(), options.clone(), LEASE).unwrap();
    let content = content(5 << 20);
    write(&fs, "table", &content).unwrap();
    assert!(fs.cached_bytes() <= 4 << 20);
    let cluster = bench.cluster();
    let reader = RemoteFileSystem::read(&cluster, &namespace(), options).unwrap();
    assert_eq!(read(&reader, "table").unwrap(), content);
    assert!(reader.cached_bytes() <= 4 << 20);
    let scan = cluster.statistics();
    // 80 chunks: 3, 12, 15, 15, 15, 15, 5.
    assert!(scan.blob_reads <= 24, "{scan:?}");
    assert!(scan.blob_read_bytes < content.len() as u64 * 2, "{scan:?}");
    // A cache of two chunks: what is read ahead is not read again.
    let poor = Options {
        cache_len_max: 128 << 10,
        ..Options::default()
    };
    let cluster_of_poor = bench.cluster();
    let poor = RemoteFileSystem::read(&cluster_of_poor, &namespace(), poor).unwrap();
    assert_eq!(read(&poor, "table").unwrap(), content);
    assert_eq!(cluster_of_poor.statistics().blob_reads, 80);
    // Here and there, no chunk behind another: one request for each, and none again.
    let file = reader.open_random(Path::new("table")).unwrap();
    let mut buffer = [0; 4096];
    for (round, requests) in [(0, 3), (1, 3)] {
        for offset in [100, 270_000, 140_000] {
            assert_eq!(file.read_at(offset, &mut buffer).unwrap(), 4096);
            assert_eq!(buffer[..], content[offset as usize..offset as usize + 4096]);
        }
        let now = cluster.statistics();
        assert_eq!(now.blob_reads - scan.blob_reads, requests, "round {round}");
    }
}

#[test]
fn a_namespace_of_a_hundred_files_is_taken_in_two_requests() {
    let bench = Bench::new();
    let fs = bench.writer(1).unwrap();
    fs.create_dir(Path::new("db")).unwrap();
    for number in 0..100 {
        write(&fs, &format!("db/{number:06}.ldb"), &content(250)).unwrap();
    }
    fs.close().unwrap();
    let own = bench.session(2);
    let before = own.cluster().statistics().requests();
    let fs = RemoteFileSystem::write(&own, &namespace(), options(), LEASE).unwrap();
    assert_eq!(fs.list(Path::new("db")).unwrap().len(), 100);
    // All rows, and the lock.
    assert_eq!(own.cluster().statistics().requests() - before, 2);
    assert_eq!(own.cluster().namespaces().unwrap(), [namespace()]);
}

#[test]
fn what_a_dead_process_has_left_unnamed_is_collected() {
    let bench = Bench::new();
    let fs = bench.writer(1).unwrap();
    write(&fs, "kept", &content(500)).unwrap();
    let mut file = fs.create(Path::new("unfinished")).unwrap();
    file.append(&content(3 << 20)).unwrap();
    std::mem::forget((file, fs));
    let client = bench.model.client();
    assert_eq!(client.list(&namespace(), None, 9).unwrap().len(), 2);
    let new = bench.writer(2).unwrap();
    assert!(new.metadata(Path::new("unfinished")).is_err());
    new.tick().unwrap();
    assert_eq!(client.list(&namespace(), None, 9).unwrap().len(), 1);
    assert_eq!(read(&new, "kept").unwrap(), content(500));
}
