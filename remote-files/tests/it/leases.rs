//! Sessions and locks: when a namespace can be taken over, and what becomes of the process that has lost it.

use crate::support::{Bench, LEASE, namespace, options, read, session, write};
use larder_leveldb::storage::FileSystem;
use larder_remote_files::model::{Fate, Gate, ModelClock, Request};
use larder_remote_files::{
    Blobs, Clock, Error, ErrorKind, Keeper, Namespace, Options, RemoteFileSystem, Segment, Session,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A process that dies: it gives nothing back.
fn dead_writer(bench: &Bench, number: u8) {
    let fs = bench.writer(number).unwrap();
    write(&fs, "file", b"of the dead").unwrap();
    std::mem::forget(fs);
}

/// A keeper has a handle of what was closed until its next round.
#[test]
fn what_was_closed_is_taken_again_while_there_are_handles_of_it() {
    let bench = Bench::new();
    let session = bench.session(1);
    let take = || RemoteFileSystem::write(&session, &namespace(), options(), LEASE);
    let first = take().unwrap();
    let left = first.clone();
    assert_eq!(take().unwrap_err().kind(), ErrorKind::Held);
    write(&first, "file", b"first").unwrap();
    first.close().unwrap();
    let second = take().unwrap();
    write(&left, "file", b"late").unwrap_err();
    // That handle's end does not let go of the second's place.
    drop(left);
    assert_eq!(take().unwrap_err().kind(), ErrorKind::Held);
    assert_eq!(read(&second, "file").unwrap(), b"first");
    second.close().unwrap();
    take().unwrap();
}

#[test]
fn a_lock_is_taken_over_after_the_full_lease_by_the_takers_clock_and_not_before() {
    let bench = Bench::new();
    dead_writer(&bench, 1);
    // Long ago, but the taker has not seen it.
    bench.clock.wait(LEASE * 100);
    let new = bench.session(2);
    let take = |wait| RemoteFileSystem::write(&new, &namespace(), options(), wait);
    let began = bench.clock.monotonic();
    let error = take(LEASE * 9 / 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Held);
    assert!(
        error.to_string().contains("process 1 writes it (epoch 1)"),
        "{error}"
    );
    let fs = take(LEASE * 2).unwrap();
    assert!(
        bench.clock.monotonic() - began >= LEASE * 19 / 10,
        "the second attempt begins anew"
    );
    assert_eq!(
        (fs.epoch(), read(&fs, "file").unwrap()),
        (Some(2), b"of the dead".to_vec())
    );
}

#[test]
fn a_namespace_that_was_closed_is_taken_at_once() {
    let bench = Bench::new();
    let fs = bench.writer(1).unwrap();
    write(&fs, "file", b"x").unwrap();
    fs.close().unwrap();
    let new = bench.session(2);
    let fs = RemoteFileSystem::write(&new, &namespace(), options(), Duration::ZERO).unwrap();
    assert_eq!(fs.epoch(), Some(2));
    // Without being closed, by the last handle that goes.
    drop(fs);
    drop(new);
    let again = bench.session(3);
    RemoteFileSystem::write(&again, &namespace(), options(), Duration::ZERO).unwrap();
    assert_eq!(bench.clock.monotonic(), Duration::ZERO);
}

#[test]
fn one_process_writes_a_namespace_once() {
    let bench = Bench::new();
    let own = bench.session(1);
    let take = || RemoteFileSystem::write(&own, &namespace(), options(), LEASE * 9);
    let fs = take().unwrap();
    let error = take().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Held);
    assert!(
        error.to_string().contains("close its other handle"),
        "{error}"
    );
    fs.close().unwrap();
    take().unwrap();
}

#[test]
fn a_session_that_has_run_out_is_lost_with_all_its_namespaces() {
    let bench = Bench::new();
    let old = bench.session(1);
    let other = Namespace::new("other").unwrap();
    let first = RemoteFileSystem::write(&old, &namespace(), options(), LEASE).unwrap();
    let second = RemoteFileSystem::write(&old, &other, options(), LEASE).unwrap();
    bench.writer(2).unwrap();
    // Its row is gone: the other namespace needs no waiting.
    let before = bench.clock.monotonic();
    let new = bench.session(3);
    RemoteFileSystem::write(&new, &other, options(), Duration::ZERO).unwrap();
    assert_eq!(bench.clock.monotonic(), before);
    assert_eq!(old.renew().unwrap_err().kind(), ErrorKind::Lost);
    assert!(old.is_lost());
    for fs in [first, second] {
        let error = fs.create_dir(Path::new("d")).unwrap_err();
        assert_eq!(
            Error::within(&error).unwrap().kind(),
            ErrorKind::Lost,
            "{error}"
        );
    }
    let error = RemoteFileSystem::write(&old, &Namespace::new("third").unwrap(), options(), LEASE)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost);
}

#[test]
fn a_process_that_stood_still_and_was_not_missed_goes_on() {
    let bench = Bench::new();
    let own = bench.session(1);
    let fs = RemoteFileSystem::write(&own, &namespace(), options(), LEASE).unwrap();
    let lock = fs.lock(Path::new("LOCK")).unwrap();
    bench.clock.wait(LEASE * 50);
    assert!(lock.is_held().unwrap());
    write(&fs, "file", b"x").unwrap();
    own.renew().unwrap();
}

#[test]
fn a_lock_that_was_lost_is_noticed_when_the_lease_has_run_out_even_if_nothing_is_written() {
    let bench = Bench::new();
    let fs = bench.writer(1).unwrap();
    let lock = fs.lock(Path::new("LOCK")).unwrap();
    bench.writer(2).unwrap();
    assert!(!lock.is_held().unwrap());
}

#[test]
fn a_keeper_renews_until_it_is_stopped() {
    let bench = Bench::new();
    let own = bench.session(1);
    let keeper = Keeper::start(own.clone(), Duration::from_millis(1)).unwrap();
    for _ in 0..20 {
        bench.clock.advance(LEASE / 2);
        while own.due_in().is_zero() {
            std::thread::yield_now();
        }
    }
    keeper.stop();
    bench.clock.advance(LEASE / 2);
    assert!(own.due_in().is_zero());
    own.renew().unwrap();
    assert!(!own.due_in().is_zero());
}

#[test]
fn a_keeper_commits_what_was_flushed() {
    let bench = Bench::new();
    let own = session(&bench.cluster(), 1).unwrap();
    let fs = RemoteFileSystem::write(&own, &namespace(), options(), LEASE).unwrap();
    let keeper = Keeper::start(own, Duration::from_millis(1)).unwrap();
    keeper.add(&fs);
    let mut file = fs.create(Path::new("log")).unwrap();
    file.sync().unwrap();
    file.append(b"flushed").unwrap();
    file.flush().unwrap();
    assert_eq!(read(&fs, "log").unwrap(), b"flushed");
    assert_eq!(read(&bench.reader(), "log").unwrap(), b"");
    bench.clock.advance(options().flush_delay);
    while read(&bench.reader(), "log").unwrap() != b"flushed" {
        std::thread::yield_now();
    }
    keeper.stop();
}

/// Time passes with each blob that is deleted.
#[derive(Debug)]
struct SlowDeletions(Arc<ModelClock>);

impl Gate for SlowDeletions {
    fn fate(&self, request: Request) -> Fate {
        if request == Request::Delete {
            self.0.advance(Duration::from_secs(1));
        }
        Fate::Served
    }
}

#[test]
fn a_keeper_renews_however_much_there_is_to_delete() {
    let bench = Bench::new();
    let gate = SlowDeletions(bench.clock.clone());
    let cluster = bench.cluster_of(bench.model.client_through(Arc::new(gate)));
    let own = session(&cluster, 1).unwrap();
    let name = |number: usize| Namespace::new(format!("n{number}")).unwrap();
    let open = |number| {
        let no_grace = Options {
            grace: Duration::ZERO,
            ..options()
        };
        let fs = RemoteFileSystem::write(&own, &name(number), no_grace, LEASE).unwrap();
        for file in ["a", "b", "c", "d"] {
            write(&fs, file, b"x").unwrap();
            fs.remove(Path::new(file)).unwrap();
        }
        fs.sync_dir(Path::new("")).unwrap();
        fs
    };
    let all: Vec<RemoteFileSystem> = (0..8).map(open).collect();
    let keeper = Keeper::start(own.clone(), Duration::from_millis(1)).unwrap();
    all.iter().for_each(|fs| keeper.add(fs));
    while cluster.statistics().blob_deletes < 32 {
        std::thread::yield_now();
    }
    keeper.stop();
    let lease = cluster.holder(&name(0)).unwrap().unwrap().lease.unwrap();
    // 32 seconds, in four at a time; due is a renewal after 3.3.
    assert!(lease.renewals >= 7, "{}", lease.renewals);
}

#[test]
fn a_tick_deletes_a_hundred_blobs_and_the_next_one_goes_on() {
    let bench = Bench::new();
    let blobs = || bench.model.client().list(&namespace(), None, 1000).unwrap();
    let old = bench.writer(1).unwrap();
    for number in 0..120 {
        write(&old, &format!("{number}"), &[7; 60]).unwrap();
    }
    old.close().unwrap();
    // What a process that died has never named.
    let client = bench.model.client();
    let unnamed = Segment {
        offset: 0,
        bytes: b"unnamed".to_vec(),
    };
    for number in 0..30 {
        let blob = (1 << 32) + 1000 + number;
        let segments = std::slice::from_ref(&unnamed);
        client.append(&namespace(), blob, segments).unwrap();
    }
    let new = bench.writer(2).unwrap();
    for name in new.list(Path::new("")).unwrap() {
        new.remove(Path::new(&name)).unwrap();
    }
    new.sync_dir(Path::new("")).unwrap();
    bench.clock.wait(options().grace);
    assert_eq!(blobs().len(), 150);
    new.tick().unwrap();
    assert_eq!(blobs().len(), 50);
    new.tick().unwrap();
    assert!(blobs().is_empty(), "{:?}", blobs());
}

#[test]
fn a_process_that_counts_as_dead_is_so_in_all_its_namespaces() {
    let bench = Bench::new();
    let old = bench.session(1);
    let name = |name: &str| Namespace::new(name).unwrap();
    let take = |session: &Session, namespace: &str, wait| {
        RemoteFileSystem::write(session, &name(namespace), options(), wait)
    };
    let _one = take(&old, "one", LEASE).unwrap();
    let other = take(&old, "other", LEASE).unwrap();
    let new = bench.session(2);
    let error = take(&new, "other", Duration::ZERO).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Held);
    assert!(bench.cluster().unlock(&name("one")).unwrap().is_some());
    let taken = take(&new, "other", Duration::ZERO).unwrap();
    assert_eq!(old.renew().unwrap_err().kind(), ErrorKind::Lost);
    assert!(write(&other, "file", b"stale").is_err());
    assert!(taken.list(Path::new("")).unwrap().is_empty());
}

#[test]
fn a_namespace_is_taken_away_from_its_holder_without_waiting() {
    let bench = Bench::new();
    let cluster = bench.cluster();
    assert_eq!(cluster.holder(&namespace()).unwrap(), None);
    assert_eq!(cluster.unlock(&namespace()).unwrap(), None);
    let old = bench.writer(1).unwrap();
    write(&old, "file", b"x").unwrap();
    let holder = cluster.holder(&namespace()).unwrap().unwrap();
    assert_eq!((&*holder.label, holder.epoch), ("process 1", 1));
    assert_eq!(holder.lease.unwrap().duration, LEASE);
    assert_eq!(cluster.unlock(&namespace()).unwrap(), Some(holder));
    assert_eq!(cluster.holder(&namespace()).unwrap(), None);
    let before = bench.clock.monotonic();
    let new = bench.writer(2).unwrap();
    assert_eq!(bench.clock.monotonic(), before);
    assert_eq!(
        (new.epoch(), read(&new, "file").unwrap()),
        (Some(3), b"x".to_vec())
    );
    let error = write(&old, "file", b"stale").unwrap_err();
    assert_eq!(Error::within(&error).unwrap().kind(), ErrorKind::Lost);
    assert_eq!(read(&new, "file").unwrap(), b"x");
}
