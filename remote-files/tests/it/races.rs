//! A writer that was taken for dead, and the process that takes its place: where the write of the one falls between the steps of the
//! other. The four cases are those that SlateDB's design of fencing (RFC 0001) goes through.

use crate::support::{Bench, LEASE, namespace, options, read, session};
use larder_leveldb::storage::{FileSystem, WritableFile};
use larder_remote_files::model::{Fate, Gate, Request};
use larder_remote_files::{Error, ErrorKind, RemoteFileSystem, Result};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The writer whose place is taken: a file of it, synced once.
struct Old {
    fs: RemoteFileSystem,
    file: Box<dyn WritableFile>,
}

impl Old {
    fn begin(bench: &Bench) -> Old {
        let fs = bench.writer(1).unwrap();
        let mut file = fs.create(Path::new("log")).unwrap();
        file.append(b"before ").unwrap();
        file.sync().unwrap();
        Old { fs, file }
    }

    fn write(&mut self) -> io::Result<()> {
        self.file.append(b"late")?;
        self.file.sync()
    }
}

type Action = Box<dyn FnMut() + Send>;

/// Before the request of this number, something happens.
struct At {
    state: Mutex<(Vec<Request>, usize, Action)>,
}

impl fmt::Debug for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("At")
    }
}

impl Gate for At {
    fn fate(&self, request: Request) -> Fate {
        let mut state = self.state.lock().unwrap();
        let (seen, at, action) = &mut *state;
        if seen.len() == *at {
            action();
        }
        seen.push(request);
        Fate::Served
    }
}

struct Outcome {
    /// What the old writer was given for its late write.
    late: io::Result<()>,
    taken: Result<RemoteFileSystem>,
    requests: Vec<Request>,
    bench: Bench,
}

/// The old writer's lease has run out; the new one takes the namespace, and the old one writes before the request of that number.
fn race(at: usize, wait: Duration) -> Outcome {
    let bench = Bench::new();
    let mut old = Old::begin(&bench);
    let late = Arc::new(Mutex::new(None));
    let written = Arc::clone(&late);
    let action: Action = Box::new(move || *written.lock().unwrap() = Some(old.write()));
    let gate = Arc::new(At {
        state: Mutex::new((Vec::new(), usize::MAX, action)),
    });
    let cluster = bench.cluster_of(bench.model.client_through(gate.clone()));
    let new = session(&cluster, 2).unwrap();
    *gate.state.lock().unwrap() = {
        let mut state = gate.state.lock().unwrap();
        (
            Vec::new(),
            at,
            std::mem::replace(&mut state.2, Box::new(|| ())),
        )
    };
    let taken = RemoteFileSystem::write(&new, &namespace(), options(), wait);
    let requests = gate.state.lock().unwrap().0.clone();
    let late = late
        .lock()
        .unwrap()
        .take()
        .expect("the old writer has written");
    Outcome {
        late,
        taken,
        requests,
        bench,
    }
}

/// How many requests of a taking that nothing comes between are before its commit.
fn before_commit() -> usize {
    let outcome = race(0, LEASE * 3);
    // The ones before are renewals of the taker's own lease.
    let commit = outcome
        .requests
        .iter()
        .rposition(|request| *request == Request::Commit);
    commit.unwrap()
}

fn is_fenced(late: io::Result<()>) {
    let error = late.unwrap_err();
    assert_eq!(
        Error::within(&error).unwrap().kind(),
        ErrorKind::Lost,
        "{error}"
    );
    assert!(
        error.to_string().contains("process 2 has taken it over"),
        "{error}"
    );
}

#[test]
fn a_write_before_the_taker_looks_is_there() {
    let outcome = race(0, LEASE * 3);
    outcome.late.unwrap();
    assert_eq!(
        read(&outcome.taken.unwrap(), "log").unwrap(),
        b"before late"
    );
}

#[test]
fn a_write_between_the_look_and_the_taking_makes_the_taker_begin_anew() {
    let commit = before_commit();
    // Before the holder is looked at for the last time, before the names are read, before the commit, and after its conditions were read: it conflicts.
    for at in commit - 4..=commit {
        let outcome = race(at, LEASE * 5);
        outcome.late.unwrap();
        assert_eq!(
            read(&outcome.taken.unwrap(), "log").unwrap(),
            b"before late",
            "{at}"
        );
    }
    // A writer that writes is alive, whatever its lease says.
    let outcome = race(commit, LEASE * 11 / 10);
    outcome.late.unwrap();
    assert_eq!(outcome.taken.unwrap_err().kind(), ErrorKind::Held);
    assert_eq!(
        read(&outcome.bench.reader(), "log").unwrap(),
        b"before late"
    );
}

#[test]
fn no_write_comes_between_the_taking_and_the_reading_of_the_names() {
    // They are one moment: the commit requires the lock that was seen with the names, and is the last request.
    let requests = race(0, LEASE * 3).requests;
    let last = [Request::Read, Request::BeginCommit, Request::Commit];
    assert!(requests.ends_with(&last), "{requests:?}");
}

#[test]
fn a_write_after_the_taking_is_refused_and_so_is_everything_else() {
    let bench = Bench::new();
    let mut old = Old::begin(&bench);
    let lock = old.fs.lock(Path::new("LOCK")).unwrap();
    assert!(lock.is_held().unwrap());
    let new = bench.writer(2).unwrap();
    crate::support::write(&new, "other", b"new").unwrap();
    is_fenced(old.write());
    assert!(!lock.is_held().unwrap());
    let path = Path::new("log");
    for late in [
        old.write(),
        old.fs.create(path).map(drop),
        old.fs.remove(path),
        old.fs.rename(path, Path::new("x")),
        old.fs.create_dir(Path::new("d")),
        old.file.truncate(0),
        old.fs.tick(),
        old.fs.close(),
    ] {
        is_fenced(late);
    }
    drop(old.file);
    assert_eq!(read(&new, "log").unwrap(), b"before ");
    assert_eq!(read(&new, "other").unwrap(), b"new");
}

#[test]
fn of_two_takers_one_takes_it_and_the_other_waits_for_that_one() {
    let bench = Bench::new();
    std::mem::forget(bench.writer(1).unwrap());
    let first = bench.writer(2).unwrap();
    let second =
        RemoteFileSystem::write(&bench.session(3), &namespace(), options(), LEASE / 2).unwrap_err();
    assert_eq!(second.kind(), ErrorKind::Held);
    assert!(
        second.to_string().contains("process 2 writes it (epoch 2)"),
        "{second}"
    );
    first.close().unwrap();
    assert_eq!(bench.writer(4).unwrap().epoch(), Some(3));
}
