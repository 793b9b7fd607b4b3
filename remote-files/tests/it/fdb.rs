//! FoundationDB's rules: all laws, on a double of its C library below the real crate `foundationdb`, and what the double can be ordered to do.
//!
//! FoundationDB itself was run nowhere. With a real `libfdb_c` these tests are skipped, but for the laws: they run on the cluster whose connection string
//! is in `LARDER_FDB`.

use crate::laws;
use crate::setting::Setting;
use crate::support::namespace;
use foundationdb::{Database, FdbError, Transaction};
use larder_fdb::Place;
use larder_remote_files::{
    Address, Blobs, Catalogue, Clock, Commit, ErrorKind, FoundationDb, FoundationDbOptions,
    Namespace, Outcome, Segment, SystemClock,
};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The number of an error that FoundationDB has not; the double says what it is.
const DOUBLE: i32 = -740;

fn is_double() -> bool {
    FdbError::from_code(DOUBLE).message().contains("double")
}

/// Whatever it takes, and no test of these is of time.
fn options() -> FoundationDbOptions {
    FoundationDbOptions::new().request_time_max(Duration::from_secs(60))
}

fn number() -> u32 {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

/// Rows of its own: a cluster of the double's, or a room of a real one.
fn setting() -> Option<Setting> {
    if let Some(double) = Double::new() {
        return Some(Setting::of_server(double.engine(options())));
    }
    let Ok(cluster) = std::env::var("LARDER_FDB") else {
        println!("skipped: libfdb_c is not the double, and LARDER_FDB names no cluster");
        return None;
    };
    let room = format!("larder test {} {}", std::process::id(), number());
    let engine = FoundationDb::connect(Some(&cluster), options().room(&room));
    Some(Setting::of_server(engine.unwrap()))
}

laws::of_engine!(setting, 120);

/// A cluster of the double's, and the way to order something there.
struct Double {
    connection: String,
    database: Database,
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let (mut future, mut context) = (pin!(future), Context::from_waker(Waker::noop()));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(result) => return result,
            Poll::Pending => std::thread::sleep(Duration::from_micros(200)),
        }
    }
}

impl Double {
    fn new() -> Option<Double> {
        is_double().then(|| {
            let connection = format!("test{}:1@double:1", number());
            let database = larder_fdb::open(&Place::Cluster(&connection)).unwrap();
            Double {
                connection,
                database,
            }
        })
    }

    fn engine(&self, options: FoundationDbOptions) -> FoundationDb {
        FoundationDb::connect(Some(&self.connection), options).unwrap()
    }

    fn transaction(&self) -> Transaction {
        self.database.create_trx().unwrap()
    }

    fn set(&self, key: &[u8], value: &[u8]) {
        let transaction = self.transaction();
        transaction.set(key, value);
        wait(transaction.commit()).unwrap();
    }

    fn order(&self, what: &str, value: &str) {
        self.set(&order_key(what), value.as_bytes());
    }

    /// How many commits were sent.
    fn count(&self) -> u64 {
        let count = wait(self.transaction().get(&order_key("count"), true));
        let count = count.unwrap().unwrap();
        std::str::from_utf8(&count).unwrap().parse().unwrap()
    }

    /// All keys that there are.
    fn keys(&self) -> Vec<Vec<u8>> {
        let all = foundationdb::RangeOption::from(b"".to_vec()..b"\xff".to_vec());
        let found = wait(self.transaction().get_range(&all, 1, true)).unwrap();
        found.iter().map(|row| row.key().to_vec()).collect()
    }
}

fn order_key(what: &str) -> Vec<u8> {
    [b"\xff\xff/double/", what.as_bytes()].concat()
}

fn put(key: &[u8], value: &[u8]) -> Commit {
    let mut commit = Commit::default();
    commit.put(key.to_vec(), value.to_vec());
    commit
}

fn get(engine: &FoundationDb, key: &[u8]) -> Option<Vec<u8>> {
    engine.get(&[key.to_vec()]).unwrap().remove(0)
}

fn segment(offset: u64, len: usize) -> Segment {
    Segment {
        offset,
        bytes: vec![offset as u8; len],
    }
}

/// As much as one call may have, which is two transactions.
fn mebibyte() -> Vec<Segment> {
    (0..15).map(|at| segment(at * 65_536, 65_540)).collect()
}

#[test]
fn a_commit_whose_outcome_is_unknown_is_sent_once() {
    let Some(double) = Double::new() else { return };
    let (engine, patient) = (double.engine(options()), double.engine(options()));
    let hasty =
        double.engine(FoundationDbOptions::new().request_time_max(Duration::from_millis(50)));
    for (number, (engine, fate, is_made)) in [
        (&engine, "1021:made", true),
        (&engine, "1021:lost", false),
        (&engine, "1039:made", true),
        (&engine, "1039:lost", false),
        (&engine, "1025:made", true),
        (&engine, "1510:lost", false),
        (&hasty, "mute:made", true),
        (&hasty, "mute:lost", false),
    ]
    .into_iter()
    .enumerate()
    {
        let key = [number as u8];
        let before = double.count();
        double.order("commits", fate);
        let error = engine.commit(&put(&key, b"new")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{fate}: {error}");
        assert!(error.may_pass(), "{fate}: {error}");
        assert_eq!(double.count() - before, 1, "{fate}");
        assert_eq!(get(&patient, &key).is_some(), is_made, "{fate}");
    }
}

#[test]
fn a_commit_that_is_made_later_is_made_if_its_conditions_hold_then() {
    let Some(double) = Double::new() else { return };
    let engine = double.engine(options());
    engine.commit(&put(b"lock", b"1")).unwrap();
    let hasty =
        double.engine(FoundationDbOptions::new().request_time_max(Duration::from_millis(500)));
    for (key, sender, fate, is_overtaken) in [
        (b"a", &engine, "1021:held", false),
        (b"b", &engine, "1021:held", true),
        (b"c", &hasty, "mute:held", false),
        (b"d", &hasty, "mute:held", true),
    ] {
        let lock = get(&engine, b"lock");
        let mut late = put(key, b"late");
        late.require(b"lock".to_vec(), lock);
        double.order("commits", fate);
        let error = sender.commit(&late).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
        assert_eq!(get(&engine, key), None);
        if is_overtaken {
            engine.commit(&put(b"lock", key)).unwrap();
        }
        double.order("release", "");
        assert_eq!(get(&engine, key).is_none(), is_overtaken);
    }
}

#[test]
fn a_commit_that_has_conflicted_reads_its_conditions_anew_a_few_times() {
    let Some(double) = Double::new() else { return };
    let engine = double.engine(options());
    double.order("commits", "1020 1020");
    let outcome = engine.commit(&put(b"row", b"1")).unwrap();
    assert_eq!((outcome, double.count()), (Outcome::Committed, 3));
    double.order("commits", &"1020 ".repeat(5));
    let error = engine.commit(&put(b"row", b"2")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert_eq!(double.count(), 8);
    assert_eq!(get(&engine, b"row"), Some(b"1".to_vec()));
    // It compares what is there by then. The first attempt is made although its reply says otherwise, as another process' commit would be.
    double.order("commits", "1020:made");
    let mut next = put(b"row", b"3");
    next.require(b"row".to_vec(), Some(b"1".to_vec()));
    assert_eq!(engine.commit(&next).unwrap(), Outcome::Refused);
    assert_eq!(double.count(), 9);
}

/// What FoundationDB says is not made is said to be so, and is not sent again.
#[test]
fn a_commit_that_is_not_made_for_certain_says_so() {
    let Some(double) = Double::new() else { return };
    let engine = double.engine(options());
    for (code, kind) in [
        (1007, ErrorKind::Unavailable),
        (1037, ErrorKind::Unavailable),
        (1038, ErrorKind::Unavailable),
        (1213, ErrorKind::Unavailable),
        (6000, ErrorKind::Denied),
    ] {
        let before = double.count();
        double.order("commits", &code.to_string());
        let error = engine.commit(&put(b"row", b"1")).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(&format!("({code})")), "{error}");
        assert_eq!(double.count() - before, 1);
    }
    // Before it is sent.
    double.order("reads", "1009");
    let mut commit = put(b"row", b"1");
    commit.require(b"none".to_vec(), None);
    let error = engine.commit(&commit).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert_eq!(double.count(), 5);
    assert_eq!(get(&engine, b"row"), None);
}

#[test]
fn a_snapshot_is_of_one_version_until_that_is_too_old() {
    let Some(double) = Double::new() else { return };
    let engine = double.engine(options());
    let all = b"a".to_vec()..b"z".to_vec();
    for key in [b"a", b"b", b"c"] {
        engine.commit(&put(key, b"old")).unwrap();
    }
    let mut snapshot = engine.snapshot().unwrap();
    assert_eq!(snapshot.page(&all, 1).unwrap().rows.len(), 1);
    engine.commit(&put(b"b", b"new")).unwrap();
    double.order("age", "2500");
    let page = snapshot.page(&all, 9).unwrap();
    assert!(page.rows.len() == 3 && page.rows.iter().all(|row| row.value == b"old"));
    double.order("reads", "1009");
    let error = snapshot.page(&all, 9).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    double.order("age", "3000");
    let error = snapshot.page(&all, 9).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::SnapshotGone, "{error}");
    assert!(error.may_pass(), "{error}");
    let page = engine.snapshot().unwrap().page(&all, 9).unwrap();
    assert_eq!(page.rows[1].value, b"new");
}

#[test]
fn what_is_larger_than_foundationdb_takes_is_not_sent() {
    let Some(double) = Double::new() else { return };
    let engine = double.engine(options());
    let mut large = Commit::default();
    for number in 0..101u8 {
        large.put(vec![number], vec![0; 99_000]);
    }
    for commit in [
        put(b"value", &[0; 100_001]),
        put(&[1; 10_000], b"key"),
        large,
    ] {
        let error = engine.commit(&commit).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    }
    let error = engine.append(&namespace(), 1, &[segment(0, 100_001)]);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::TooLarge);
    assert_eq!((double.count(), double.keys()), (0, Vec::new()));
    engine.commit(&put(b"value", &[0; 100_000])).unwrap();
}

#[test]
fn an_append_of_several_transactions_may_be_there_in_part_and_is_repeated() {
    let Some(double) = Double::new() else { return };
    let (engine, all) = (double.engine(options()), mebibyte());
    let read = || engine.read(&namespace(), 1, 0..1 << 20).unwrap();
    for (fates, found) in [
        ("usual 1021:lost", 13),
        ("1021:lost usual", 2),
        ("usual 1007", 13),
        ("1021:made 1021:made", 15),
    ] {
        double.order("commits", fates);
        let error = engine.append(&namespace(), 1, &all).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{fates}: {error}");
        assert_eq!(read().len(), found, "{fates}");
        assert_eq!(engine.list(&namespace(), None, 9).unwrap(), [1], "{fates}");
        engine.append(&namespace(), 1, &all).unwrap();
        assert_eq!(read(), all, "{fates}");
        engine.delete(&namespace(), 1).unwrap();
        assert_eq!(double.keys(), Vec::<Vec<u8>>::new(), "{fates}");
    }
    double.order("commits", "1021:lost");
    engine.append(&namespace(), 1, &all[..1]).unwrap_err();
    assert!(read().is_empty());
}

#[test]
fn a_segment_that_comes_after_its_blob_was_deleted_is_listed() {
    let Some(double) = Double::new() else { return };
    let engine = double.engine(options());
    double.order("commits", "1021:held");
    engine
        .append(&namespace(), 5, &[segment(0, 10)])
        .unwrap_err();
    engine.delete(&namespace(), 5).unwrap();
    assert!(engine.list(&namespace(), None, 9).unwrap().is_empty());
    double.order("release", "");
    assert_eq!(engine.list(&namespace(), None, 9).unwrap(), [5]);
    engine.delete(&namespace(), 5).unwrap();
    assert!(engine.read(&namespace(), 5, 0..10).unwrap().is_empty());
}

/// A transaction has its time from its beginning, and what is asked later is not answered.
#[test]
fn what_takes_several_requests_is_one_transaction_or_several() {
    let Some(double) = Double::new() else { return };
    let engine = double.engine(options());
    for blob in 0..8 {
        engine.append(&namespace(), blob, &[segment(0, 9)]).unwrap();
    }
    let hasty = double.engine(FoundationDbOptions::new().request_time_max(Duration::from_secs(1)));
    double.order("reply", "1");
    double.order("slow", "300");
    // A page for each blob: more than the time of one transaction.
    let numbers = hasty.list(&namespace(), None, 9).unwrap();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
    double.order("slow", "1200");
    let error = hasty.get(&[b"row".to_vec()]).unwrap_err();
    assert!(error.to_string().contains("no answer in time"), "{error}");
}

/// Conflicts go on for as long as one request may take, not for as many times that as there are attempts.
#[test]
fn a_commit_that_conflicts_again_and_again_has_one_time() {
    let Some(double) = Double::new() else { return };
    let hasty =
        double.engine(FoundationDbOptions::new().request_time_max(Duration::from_millis(900)));
    double.order("commits", &"1020 ".repeat(5));
    double.order("slow", "400");
    let mut commit = put(b"row", b"1");
    commit.require(b"row".to_vec(), None);
    let error = hasty.commit(&commit).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    // The third has not the time for its read.
    assert!(double.count() <= 2, "{}", double.count());
}

/// A reply has as many rows as the cluster likes.
#[test]
fn both_contracts_are_kept_when_replies_are_small() {
    let Some(double) = Double::new() else { return };
    for reply in ["1", "3000"] {
        double.order("reply", reply);
        laws::contracts(&Setting::of_server(double.engine(options())));
    }
}

#[test]
fn a_cluster_that_does_not_answer_is_given_up_after_its_time() {
    let Some(double) = Double::new() else { return };
    let options = || FoundationDbOptions::new().request_time_max(Duration::from_millis(100));
    let engine = double.engine(options());
    double.order("silent", "1");
    let clock = SystemClock::new();
    let began = clock.monotonic();
    let all = b"a".to_vec()..b"z".to_vec();
    let mut required = put(b"row", b"1");
    required.require(b"row".to_vec(), None);
    for (error, kind) in [
        (
            engine.get(&[b"row".to_vec()]).map(drop),
            ErrorKind::Unavailable,
        ),
        (
            engine.snapshot().unwrap().page(&all, 9).map(drop),
            ErrorKind::Unavailable,
        ),
        (engine.commit(&required).map(drop), ErrorKind::Unavailable),
        (
            engine.commit(&put(b"row", b"1")).map(drop),
            ErrorKind::OutcomeUnknown,
        ),
        (
            engine.append(&namespace(), 1, &mebibyte()),
            ErrorKind::OutcomeUnknown,
        ),
        (
            engine.read(&namespace(), 1, 0..1 << 20).map(drop),
            ErrorKind::Unavailable,
        ),
        (engine.delete(&namespace(), 1), ErrorKind::OutcomeUnknown),
        (
            engine.list(&namespace(), None, 9).map(drop),
            ErrorKind::Unavailable,
        ),
    ] {
        let error = error.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(
            error
                .to_string()
                .contains("FoundationDB at double:1: no answer in time"),
            "{error}"
        );
    }
    let error = FoundationDb::connect(Some(&double.connection), options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(
        error.to_string().contains("is the cluster running"),
        "{error}"
    );
    // Nine times its time, and what a busy machine adds.
    let took = clock.monotonic().saturating_sub(began);
    assert!(took < Duration::from_secs(10), "{took:?}");
    double.order("silent", "0");
    assert_eq!(get(&engine, b"row"), None);
}

#[test]
fn what_cannot_be_opened_says_why() {
    if Double::new().is_none() {
        return;
    }
    for (cluster, room, why) in [
        (Some("nothing"), "larder", "DESCRIPTION:ID@HOST:PORT"),
        (Some("a\0:1@h:1"), "larder", "byte 00"),
        (Some("test:1@double:1"), "a\0", "no name of a room"),
    ] {
        let error = FoundationDb::connect(cluster, options().room(room)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert!(error.to_string().contains(why), "{error}");
    }
    let has_file = std::env::var_os("FDB_CLUSTER_FILE").is_some()
        || ["fdb.cluster", "/etc/foundationdb/fdb.cluster"]
            .iter()
            .any(|path| std::path::Path::new(path).exists());
    if !has_file {
        let address = Address::parse("fdb:///notes").unwrap();
        let clock = std::sync::Arc::new(SystemClock::new());
        let error = address.connect(None, clock).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
        assert!(error.to_string().contains("FDB_CLUSTER_FILE"), "{error}");
    }
}

#[test]
fn rooms_have_nothing_in_common() {
    let Some(double) = Double::new() else { return };
    let (one, other) = (
        double.engine(options().room("a")),
        double.engine(options().room("ar")),
    );
    one.commit(&put(b"row", b"1")).unwrap();
    one.append(&namespace(), 1, &[segment(0, 9)]).unwrap();
    assert_eq!(get(&other, b"row"), None);
    laws::contracts(&Setting::of_server(other));
    assert_eq!(get(&one, b"row"), Some(b"1".to_vec()));
    assert_eq!(one.list(&namespace(), None, 9).unwrap(), [1]);
}

/// The keys of docs/format/remote-files.md, "In FoundationDB".
#[test]
fn keys_are_those_of_the_document() {
    let Some(double) = Double::new() else { return };
    let engine = double.engine(options());
    let name = Namespace::new("ns").unwrap();
    engine.commit(&put(b"\x02ns\0\x04", b"lock")).unwrap();
    engine
        .append(&name, 0x1_0000_0002, &[segment(65_536, 4)])
        .unwrap();
    let hex = |key: &Vec<u8>| {
        key.iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let keys: Vec<String> = double.keys().iter().map(hex).collect();
    let room = "026c617264657200";
    assert_eq!(
        keys,
        [
            format!("{room}626e73000000000100000002"),
            format!("{room}72026e730004"),
            format!("{room}736e730000000001000000020000000000010000"),
        ]
    );
}

#[test]
fn a_key_that_is_none_is_damage() {
    let Some(double) = Double::new() else { return };
    let engine = double.engine(options());
    double.set(b"\x02larder\0btest\0\x05", b"");
    double.set(b"\x02larder\0stest\0\0\0\0\0\0\0\0\x07\0", b"");
    let error = engine.list(&namespace(), None, 9).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    let error = engine.read(&namespace(), 7, 0..9).map(drop);
    // A key before all offsets is not in the range.
    assert!(error.is_ok());
    double.set(
        b"\x02larder\0stest\0\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x01\x01",
        b"",
    );
    let error = engine.read(&namespace(), 7, 0..9).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
}

/// By chance, the same for one seed: conflicts, old versions, and unknown results of commits that are made, lost, or made later.
#[test]
fn the_laws_hold_while_requests_fail() {
    for seed in 1..=3 {
        let Some(double) = Double::new() else { return };
        double.order("chance", &format!("{seed} 20"));
        let setting = Setting::of_server(double.engine_patiently());
        laws::file_system(&setting);
        let Some(double) = Double::new() else { return };
        double.order("chance", &format!("{seed} 20"));
        laws::dying(&Setting::of_server(double.engine_patiently()), 60);
    }
}

impl Double {
    /// Connects while requests fail.
    fn engine_patiently(&self) -> FoundationDb {
        let mut tries = 0;
        loop {
            match FoundationDb::connect(Some(&self.connection), options()) {
                Ok(engine) => return engine,
                Err(error) => assert!(error.may_pass() && tries < 50, "{error}"),
            }
            tries += 1;
        }
    }
}
