//! FoundationDB's rules, as the model has them.

use crate::support::Bench;
use larder_remote_files::model::{Fate, Gate, Request};
use larder_remote_files::{
    Blobs, Catalogue, Clock, Commit, ErrorKind, Namespace, Outcome, Segment, Write,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn put(key: &[u8], value: &[u8]) -> Commit {
    let mut commit = Commit::default();
    commit.put(key.to_vec(), value.to_vec());
    commit
}

#[test]
fn keys_values_and_transactions_have_their_limits() {
    let client = Bench::new().model.client();
    // One byte of the key is the model's own.
    for (key_len, value_len, is_taken) in [
        (9_999, 100_000, true),
        (10_000, 1, false),
        (1, 100_001, false),
    ] {
        let done = Catalogue::commit(&client, &put(&vec![b'k'; key_len], &vec![0; value_len]));
        match is_taken {
            true => assert_eq!(done.unwrap(), Outcome::Committed),
            false => assert_eq!(done.unwrap_err().kind(), ErrorKind::TooLarge),
        }
    }
    for (count, is_taken) in [(99, true), (101, false)] {
        let mut commit = Commit::default();
        (0..count).for_each(|at| commit.put(vec![at], vec![0; 99_990]));
        assert_eq!(client.commit(&commit).is_ok(), is_taken, "{count}");
    }
}

#[test]
fn a_snapshot_lives_five_seconds() {
    let bench = Bench::new();
    let client = bench.model.client();
    let all = b"a".to_vec()..b"z".to_vec();
    let mut snapshot = client.snapshot().unwrap();
    snapshot.page(&all, 1).unwrap();
    bench.clock.wait(Duration::from_secs(5));
    snapshot.page(&all, 1).unwrap();
    bench.clock.wait(Duration::from_millis(1));
    assert_eq!(
        snapshot.page(&all, 1).unwrap_err().kind(),
        ErrorKind::SnapshotGone
    );
}

/// Does something before a commit whose conditions were read, and lets it have a fate.
#[derive(Debug)]
struct Between {
    bench: Bench,
    fate: Fate,
    wait: Duration,
    writes: bool,
    count: AtomicUsize,
}

impl Gate for Between {
    fn fate(&self, request: Request) -> Fate {
        if !matches!(request, Request::Commit | Request::Append)
            || self.count.fetch_add(1, Ordering::Relaxed) > 0
        {
            return Fate::Served;
        }
        self.bench.clock.wait(self.wait);
        if self.writes {
            self.bench
                .model
                .client()
                .commit(&put(b"row", b"other"))
                .unwrap();
        }
        self.fate
    }
}

fn between(
    fate: Fate,
    wait: Duration,
    writes: bool,
) -> (Bench, larder_remote_files::Result<Outcome>) {
    let bench = Bench::new();
    let gate = Between {
        bench: bench.clone(),
        fate,
        wait,
        writes,
        count: AtomicUsize::new(0),
    };
    let client = bench.model.client_through(Arc::new(gate));
    let mut commit = put(b"row", b"own");
    commit.require(b"row".to_vec(), None);
    let outcome = client.commit(&commit);
    (bench, outcome)
}

fn row(bench: &Bench) -> Option<Vec<u8>> {
    bench
        .model
        .client()
        .get(&[b"row".to_vec()])
        .unwrap()
        .remove(0)
}

#[test]
fn a_commit_conflicts_when_what_it_has_read_was_written_since() {
    let (bench, outcome) = between(Fate::Served, Duration::ZERO, true);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(row(&bench).as_deref(), Some(&b"other"[..]));
}

#[test]
fn a_commit_that_takes_longer_than_five_seconds_is_not_made() {
    let (bench, outcome) = between(Fate::Served, Duration::from_millis(5001), false);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(row(&bench), None);
}

#[test]
fn a_commit_of_unknown_outcome_is_made_or_not_or_later() {
    let late = Duration::from_secs(3);
    for (fate, at_once, later) in [
        (Fate::ReplyLost, true, true),
        (Fate::RequestLost, false, false),
        (Fate::Late(late), false, true),
    ] {
        let (bench, outcome) = between(fate, Duration::ZERO, false);
        assert_eq!(
            outcome.unwrap_err().kind(),
            ErrorKind::OutcomeUnknown,
            "{fate:?}"
        );
        assert_eq!(row(&bench).is_some(), at_once, "{fate:?}");
        bench.clock.wait(late);
        assert_eq!(row(&bench).is_some(), later, "{fate:?}");
    }
    // What comes late finds its conditions as they are then.
    let (bench, _) = between(Fate::Late(late), Duration::ZERO, false);
    bench.model.client().commit(&put(b"row", b"other")).unwrap();
    bench.clock.wait(late);
    assert_eq!(row(&bench).as_deref(), Some(&b"other"[..]));
}

#[test]
fn a_late_segment_makes_a_deleted_blob_anew() {
    let bench = Bench::new();
    let gate = Between {
        bench: bench.clone(),
        fate: Fate::Late(Duration::from_secs(1)),
        wait: Duration::ZERO,
        writes: false,
        count: AtomicUsize::new(0),
    };
    let client = bench.model.client_through(Arc::new(gate));
    let namespace = Namespace::new("n").unwrap();
    let segment = Segment {
        offset: 0,
        bytes: b"x".to_vec(),
    };
    assert!(client.append(&namespace, 7, &[segment]).is_err());
    client.delete(&namespace, 7).unwrap();
    assert!(client.list(&namespace, None, 9).unwrap().is_empty());
    bench.clock.wait(Duration::from_secs(2));
    assert_eq!(client.list(&namespace, None, 9).unwrap(), [7]);
}

#[test]
fn a_range_is_deleted_in_one_write() {
    let client = Bench::new().model.client();
    for key in [b"a", b"b", b"c"] {
        client.commit(&put(key, b"v")).unwrap();
    }
    let mut commit = Commit::default();
    commit
        .writes
        .push(Write::DeleteRange(b"a".to_vec()..b"c".to_vec()));
    client.commit(&commit).unwrap();
    let rows = client
        .get(&[b"a".to_vec(), b"b".to_vec(), b"c".to_vec()])
        .unwrap();
    assert_eq!(rows, [None, None, Some(b"v".to_vec())]);
}
