//! Stores that are not in use: closed after their time, opened again unnoticed.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use larder_idb::{Clock, ErrorKind, Maintenance, NewExternalObject, RowsInDoubt, WorkCallback};

use super::*;

/// Microseconds, as the test says, and whether it panics when asked.
#[derive(Debug)]
struct ByHand(AtomicI64, AtomicBool);

impl ByHand {
    fn new() -> Arc<Self> {
        let now_us = AtomicI64::new(13_400_000_000_000_000);
        Arc::new(Self(now_us, AtomicBool::new(false)))
    }

    fn advance(&self, by: Duration) {
        let by_us = i64::try_from(by.as_micros()).unwrap();
        self.0.fetch_add(by_us, Ordering::Relaxed);
    }
}

impl Clock for ByHand {
    fn now_us(&self) -> i64 {
        assert!(!self.1.load(Ordering::Relaxed), "the clock's panic");
        self.0.load(Ordering::Relaxed)
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// A storage, its files and its clock.
struct Setting {
    executor: Executor,
    storage: Storage,
    fs: Arc<MemoryFileSystem>,
    clock: Arc<ByHand>,
}

impl Setting {
    fn new(executor: Executor) -> Self {
        Self::with(executor, |_| {})
    }

    fn with(executor: Executor, change: impl FnOnce(&mut StorageOptions)) -> Self {
        let (fs, clock) = (Arc::new(MemoryFileSystem::new()), ByHand::new());
        let mut options = StorageOptions::new(fs.clone(), "idb", clock.clone());
        options.executor = executor;
        change(&mut options);
        let storage = Storage::new(options).unwrap();
        Self {
            executor,
            storage,
            fs,
            clock,
        }
    }

    /// So much later everything has been done that is due.
    fn later(&self, by: Duration) {
        self.clock.advance(by);
        self.storage.run_until_idle();
    }

    /// That much later the store is closed: at once where the caller drives. A thread may let go of it some moments after it has
    /// reported the end.
    fn frees_after(&self, by: Duration) {
        self.later(by);
        self.frees(|| self.later(2 * SECOND));
    }

    /// The store is closed; where threads do that, some moments later, in which the host may do something.
    fn frees(&self, meanwhile: impl Fn()) {
        let tries = match self.executor {
            Executor::Threads(_) => 10_000,
            _ => 0,
        };
        for _ in 0..tries {
            if self.is_free() {
                return;
            }
            std::thread::yield_now();
            meanwhile();
        }
        assert!(self.is_free(), "{:?}: it is open", self.executor);
    }

    /// Whether another storage can have the origin's store.
    fn is_free(&self) -> bool {
        let other = storage_on(self.fs.clone(), DRIVEN);
        match factory(&other).databases().wait() {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                false
            }
        }
    }
}

fn put_and_commit(connection: &Connection, value: &str) {
    let transaction = begin(connection, &["a"], TransactionMode::ReadWrite);
    drop(put(&transaction, "a", 1.0, value));
    commit(&transaction).unwrap();
}

#[test]
fn a_store_is_closed_when_it_was_idle_for_its_time_and_opened_again_unseen() {
    for executor in EXECUTORS {
        let setting = Setting::new(executor);
        let connection = open(&setting.storage).wait().unwrap();
        put_and_commit(&connection, "first");
        setting.later(100 * SECOND);
        assert!(!setting.is_free(), "a connection uses it");
        connection.close();
        setting.later(SECOND);
        assert!(!setting.is_free(), "{executor:?}: too soon");
        // A request begins the time anew.
        assert_eq!(
            factory(&setting.storage).databases().wait().unwrap().len(),
            1
        );
        setting.later(SECOND * 3 / 2);
        assert!(!setting.is_free(), "{executor:?}: it was used since");
        setting.frees_after(SECOND / 2);
        let connection = open(&setting.storage).wait().unwrap();
        assert_eq!(look(&connection, "a", 1.0).unwrap(), "first");
        put_and_commit(&connection, "second");
        drop(connection);
        setting.frees_after(2 * SECOND);
        setting.storage.close().unwrap();
    }
}

#[test]
fn every_request_opens_the_store_again() {
    for executor in EXECUTORS {
        let setting = Setting::new(executor);
        open(&setting.storage).wait().unwrap().close();
        let factory = factory(&setting.storage);
        let close = || {
            setting.frees_after(2 * SECOND);
        };
        close();
        assert_eq!(factory.databases().wait().unwrap()[0].version, 1);
        close();
        assert_eq!(factory.maintain().wait().unwrap(), Maintenance::Idle);
        close();
        factory.repair(RowsInDoubt::LeaveOut).wait().unwrap();
        drop(open(&setting.storage).wait().unwrap());
        // It is open, and blocks nothing.
        factory.repair(RowsInDoubt::LeaveOut).wait().unwrap();
        assert!(setting.is_free());
        let deleted = factory.delete_database("db").done().wait();
        assert_eq!(deleted.unwrap(), 1);
        close();
        // Closing it has done the rest.
        assert_eq!(factory.maintain().wait().unwrap(), Maintenance::Idle);
        assert!(!setting.is_free());
        factory.close().wait().unwrap();
        assert!(setting.is_free());
        factory.close().wait().unwrap();
    }
}

#[test]
fn a_connection_that_is_to_be_closed_keeps_the_store_until_its_transactions_have_ended() {
    for executor in EXECUTORS {
        let setting = Setting::new(executor);
        let connection = open(&setting.storage).wait().unwrap();
        let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
        put(&transaction, "a", 1.0, "kept").wait().unwrap();
        connection.close();
        setting.later(100 * SECOND);
        assert!(!setting.is_free());
        commit(&transaction).unwrap();
        setting.frees_after(2 * SECOND);
        // Handles that are left keep nothing, and fail.
        let store = transaction.object_store("a");
        assert!(store.is_err() || store.unwrap().get(Key::Number(1.0)).is_err());
        let connection = open(&setting.storage).wait().unwrap();
        assert_eq!(look(&connection, "a", 1.0).unwrap(), "kept");
    }
}

/// Writes a record with a blob and deletes it again: the value, which is all that is left of it.
fn hold_a_blob(connection: &Connection) -> larder_idb::StoredValue {
    let blob = NewExternalObject::Blob {
        mime_type: "text/plain".into(),
        content: Arc::new(b"the blob's content".to_vec()),
    };
    let value = Value::serialize("with a blob")
        .unwrap()
        .and_objects(vec![blob]);
    let transaction = begin(connection, &["a"], TransactionMode::ReadWrite);
    let store = transaction.object_store("a").unwrap();
    store.put(value, Some(Key::Number(1.0))).unwrap().detach();
    commit(&transaction).unwrap();
    let transaction = begin(connection, &["a"], TransactionMode::ReadWrite);
    let held = get(&transaction, "a", 1.0).wait().unwrap().unwrap();
    let store = transaction.object_store("a").unwrap();
    drop(store.delete(Key::Number(1.0)));
    commit(&transaction).unwrap();
    held
}

#[test]
fn a_blob_that_a_host_holds_keeps_the_store_open() {
    for executor in EXECUTORS {
        let setting = Setting::new(executor);
        let connection = open(&setting.storage).wait().unwrap();
        let held = hold_a_blob(&connection);
        connection.close();
        drop(connection);
        setting.later(100 * SECOND);
        assert!(!setting.is_free(), "{executor:?}");
        let mut content = String::new();
        let mut reader = held.objects()[0].open().unwrap();
        std::io::Read::read_to_string(&mut reader, &mut content).unwrap();
        assert_eq!(content, "the blob's content");
        drop(reader);
        drop(held);
        setting.frees_after(2 * SECOND);
    }
}

/// Several origins in a storage that the caller drives.
struct Visits {
    setting: Setting,
    origins: Vec<Origin>,
}

impl Visits {
    fn new(idle_stores_max: usize, idle_grace: Duration) -> Self {
        let setting = Setting::with(DRIVEN, |options| {
            options.idle_stores_max = idle_stores_max;
            options.idle_grace = idle_grace;
        });
        let origins = (0..10).map(|n| Origin::from_url(&format!("https://{n}.example")).unwrap());
        let origins = origins.collect();
        Self { setting, origins }
    }

    fn visit(&self, n: usize) -> Connection {
        let factory = self.setting.storage.factory(&self.origins[n]);
        open_of(&factory).wait().unwrap()
    }

    /// Those whose stores are open.
    fn open(&self) -> Vec<usize> {
        let is_open = |n: &usize| {
            let other = storage_on(self.setting.fs.clone(), DRIVEN);
            let databases = other.factory(&self.origins[*n]).databases();
            databases.wait().is_err()
        };
        (0..self.origins.len()).filter(is_open).collect()
    }
}

#[test]
fn opening_a_store_closes_idle_ones_before_and_those_that_become_idle_go_down_to_the_maximum() {
    let visits = Visits::new(3, 2 * SECOND);
    for n in 0..3 {
        visits.visit(n).close();
    }
    assert_eq!(visits.open(), [0, 1, 2]);
    // The one that has not been used for longest.
    let used = [3, 4].map(|n| visits.visit(n));
    assert_eq!(visits.open(), [1, 2, 3, 4]);
    for connection in used {
        connection.close();
    }
    visits.setting.storage.run_until_idle();
    assert_eq!(visits.open(), [2, 3, 4]);
}

#[test]
fn stores_that_blobs_readers_hold_are_not_counted_and_are_looked_at_no_more_than_once_a_second() {
    for idle_grace in [Duration::ZERO, 2 * SECOND] {
        let visits = Visits::new(2, idle_grace);
        let held = [0, 1, 2].map(|n| {
            let connection = visits.visit(n);
            let held = hold_a_blob(&connection);
            connection.close();
            held
        });
        // This would never end if they were looked at again and again.
        visits.setting.later(2 * SECOND);
        assert_eq!(visits.open(), [0, 1, 2]);
        for n in 3..6 {
            visits.visit(n).close();
        }
        let idle: &[usize] = match idle_grace.is_zero() {
            true => &[0, 1, 2],
            false => &[0, 1, 2, 4, 5],
        };
        visits.setting.storage.run_until_idle();
        assert_eq!(visits.open(), idle);
        drop(held);
        visits.setting.later(2 * SECOND);
        assert_eq!(visits.open(), [0_usize; 0]);
    }
}

#[test]
fn no_more_idle_stores_are_open_than_the_host_has_said() {
    for executor in EXECUTORS {
        let setting = Setting::with(executor, |options| options.idle_stores_max = 3);
        let origins: Vec<Origin> = (0..10)
            .map(|n| Origin::from_url(&format!("https://{n}.example")).unwrap())
            .collect();
        let visit = |origin| {
            let request = setting.storage.factory(origin).open("db", None);
            request.unwrap().connection().wait().unwrap()
        };
        let is_open = |origin: &Origin| {
            let other = storage_on(setting.fs.clone(), DRIVEN);
            other.factory(origin).databases().wait().is_err()
        };
        let used = visit(&origins[0]);
        for origin in &origins[1..] {
            visit(origin).close();
        }
        setting.storage.run_until_idle();
        let open = || -> Vec<bool> { origins.iter().map(is_open).collect() };
        if let Executor::Driven { .. } = executor {
            let expected = [0, 7, 8, 9];
            let expected: Vec<bool> = (0..10).map(|n| expected.contains(&n)).collect();
            assert_eq!(open(), expected);
        }
        let count = || open().into_iter().filter(|is_open| *is_open).count();
        let mut tries = 0;
        while count() > 4 {
            assert!(tries < 10_000, "{executor:?}: {} are open", count());
            tries += 1;
            std::thread::yield_now();
        }
        drop(used);
    }
}

#[test]
fn a_host_may_leave_stores_open_or_close_them_at_once() {
    for executor in EXECUTORS {
        let setting = Setting::with(executor, |options| options.idle_grace = Duration::MAX);
        open(&setting.storage).wait().unwrap().close();
        setting.later(Duration::from_secs(1 << 40));
        assert!(!setting.is_free());
        let setting = Setting::with(executor, |options| options.idle_grace = Duration::ZERO);
        open(&setting.storage).wait().unwrap().close();
        if let Executor::Driven { .. } = executor {
            setting.storage.run_until_idle();
        }
        // Threads need no help from the host.
        setting.frees(|| {});
    }
}

#[test]
fn a_clock_that_is_set_back_delays_the_end_by_no_more_than_the_grace_time() {
    for executor in EXECUTORS {
        let setting = Setting::new(executor);
        open(&setting.storage).wait().unwrap().close();
        setting.clock.0.fetch_sub(1_000_000_000, Ordering::Relaxed);
        setting.later(Duration::ZERO);
        assert!(!setting.is_free());
        setting.frees_after(2 * SECOND);
    }
}

#[test]
fn a_clock_that_panics_keeps_no_store_from_becoming_idle_and_the_time_begins_when_it_goes_again() {
    for executor in EXECUTORS {
        let setting = Setting::new(executor);
        let connection = open(&setting.storage).wait().unwrap();
        setting.clock.1.store(true, Ordering::Relaxed);
        connection.close();
        drop(connection);
        setting.storage.run_until_idle();
        setting.clock.1.store(false, Ordering::Relaxed);
        if let Executor::Driven { .. } = executor {
            setting.later(2 * SECOND);
            assert!(!setting.is_free(), "{executor:?}");
        }
        setting.frees_after(2 * SECOND);
    }
}

#[test]
fn an_idle_store_that_could_not_be_closed_whole_is_reported_at_the_end() {
    use larder_leveldb::storage::{Fault, FaultFileSystem};
    let cases = EXECUTORS
        .into_iter()
        .flat_map(|executor| [(executor, false), (executor, true)]);
    for (executor, is_storage_closed) in cases {
        let mut setting = Setting::new(executor);
        let faults = Arc::new(FaultFileSystem::new(setting.fs.clone()));
        let mut options = StorageOptions::new(faults.clone(), "idb", setting.clock.clone());
        options.executor = executor;
        setting.storage = Storage::new(options).unwrap();
        let connection = open(&setting.storage).wait().unwrap();
        put_and_commit(&connection, "relaxed");
        connection.close();
        drop(connection);
        faults.fail_at(Fault {
            operation: faults.operations(),
            kind: std::io::ErrorKind::Other,
            every_later_too: true,
        });
        setting.frees_after(2 * SECOND);
        faults.heal();
        if is_storage_closed {
            assert!(setting.storage.close().is_err(), "{executor:?}");
            continue;
        }
        let close = || factory(&setting.storage).close().wait();
        assert!(close().is_err(), "{executor:?}");
        assert!(close().is_ok(), "told once");
        setting.storage.close().unwrap();
    }
}

/// How often a host that drives was called.
fn counted(options: &mut StorageOptions) -> Arc<AtomicI64> {
    let calls = Arc::new(AtomicI64::new(0));
    let count = Arc::clone(&calls);
    options.on_work = Some(WorkCallback::new(move || {
        count.fetch_add(1, Ordering::SeqCst);
    }));
    calls
}

#[test]
fn a_host_that_drives_learns_when_a_store_is_to_be_closed_and_need_not_look_before() {
    let mut calls = None;
    let setting = Setting::with(DRIVEN, |options| calls = Some(counted(options)));
    let (storage, calls) = (&setting.storage, calls.unwrap());
    let is_called = || calls.swap(0, Ordering::SeqCst);
    let connection = open(storage).wait().unwrap();
    storage.run_until_idle();
    assert_eq!(storage.next_due(), None, "a connection uses it");
    is_called();
    connection.close();
    storage.run_until_idle();
    assert_eq!((is_called(), storage.next_due()), (1, Some(2 * SECOND)));
    setting.clock.advance(SECOND * 3 / 2);
    assert_eq!(storage.next_due(), Some(SECOND / 2));
    setting.clock.advance(SECOND / 2);
    assert_eq!(storage.next_due(), Some(Duration::ZERO));
    assert_eq!(is_called(), 0, "nothing has come");
    assert!(storage.run_one(), "closing is a step");
    assert!(setting.is_free());
    assert_eq!((storage.run_one(), storage.next_due()), (false, None));

    // A store that a step of its own has not made idle: what is dropped calls the host, too.
    let connection = open(storage).wait().unwrap();
    storage.run_until_idle();
    is_called();
    drop(connection);
    assert_eq!(is_called(), 1);
    storage.run_until_idle();
    assert_eq!(storage.next_due(), Some(2 * SECOND));
}

#[test]
fn next_due_has_the_stores_that_are_too_many_at_once_and_not_those_that_stay() {
    let setting = Setting::with(DRIVEN, |options| {
        options.idle_stores_max = 1;
        options.idle_grace = Duration::MAX;
    });
    let storage = &setting.storage;
    let connections: Vec<_> = ["https://a.example", "https://b.example"]
        .map(|url| open_of(&storage.factory(&Origin::from_url(url).unwrap())))
        .into_iter()
        .map(|request| request.wait().unwrap())
        .collect();
    storage.run_until_idle();
    for (number, connection) in connections.into_iter().enumerate() {
        connection.close();
        let mut steps = 0;
        while storage.next_due() == Some(Duration::ZERO) {
            assert!(storage.run_one(), "what is due is a step");
            steps += 1;
        }
        assert_eq!((storage.run_one(), storage.next_due()), (false, None));
        assert!(steps >= number, "{steps}");
    }
    assert!(setting.is_free(), "the first was closed for the second");
}

#[test]
fn next_due_has_a_store_that_a_blobs_reader_holds_once_more_a_second_later() {
    let setting = Setting::with(DRIVEN, |options| options.idle_grace = SECOND / 10);
    let storage = &setting.storage;
    let connection = open(storage).wait().unwrap();
    let value = hold_a_blob(&connection);
    connection.close();
    drop(connection);
    storage.run_until_idle();
    assert_eq!(storage.next_due(), Some(SECOND / 10));
    setting.later(SECOND / 10);
    assert!(!setting.is_free());
    assert_eq!(storage.next_due(), Some(SECOND));
    drop(value);
    setting.later(SECOND);
    assert!(setting.is_free());
    assert_eq!(storage.next_due(), None);
}
