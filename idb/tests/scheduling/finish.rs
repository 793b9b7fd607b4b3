//! The end of a storage that lets what runs come to its end.

use larder_idb::{ConnectionEvent, ErrorName, OpenEvent};

use super::*;

/// A storage on these files, a connection, and a log of its events.
fn connected(fs: &Arc<MemoryFileSystem>, executor: Executor) -> (Storage, Connection, Log) {
    let storage = storage_on(fs.clone(), executor);
    let connection = open(&storage).wait().unwrap();
    let log = Log::default();
    let copy = log.clone();
    connection.events().on_event(move |event| {
        copy.note(match event {
            ConnectionEvent::VersionChange(_) => "versionchange",
            ConnectionEvent::Close => "close",
        });
    });
    (storage, connection, log)
}

fn refused<T>(result: Result<T>) -> Option<ErrorName> {
    result.err().map(|error| error.name())
}

/// What another storage finds, which can open the store: this one has closed it.
fn found(fs: &Arc<MemoryFileSystem>) -> Vec<Option<String>> {
    let storage = storage_on(fs.clone(), DRIVEN);
    let connection = open(&storage).wait().unwrap();
    let found = [1.0, 2.0, 3.0].map(|key| look(&connection, "a", key));
    connection.close();
    storage.close().unwrap();
    found.into()
}

fn texts(texts: [&str; 3]) -> Vec<Option<String>> {
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    texts.map(text).into()
}

#[test]
fn what_has_begun_ends_as_it_would_have_and_nothing_new_begins() {
    for executor in EXECUTORS {
        let fs = Arc::new(MemoryFileSystem::new());
        let (storage, connection, events) = connected(&fs, executor);
        let idle = storage.factory(&Origin::from_url("https://idle.example").unwrap());
        open_of(&idle).wait().unwrap().close();
        let running = begin(&connection, &["a"], TransactionMode::ReadWrite);
        let behind = begin(&connection, &["a"], TransactionMode::ReadWrite);
        put(&running, "a", 1.0, "running").wait().unwrap();
        let mut finished = storage.finish();

        let names = ["a"];
        let options = TransactionOptions::default();
        let refusal = refused(connection.transaction(names, TransactionMode::ReadOnly, options));
        let invalid = Some(ErrorName::InvalidStateError);
        assert_eq!(refusal, invalid, "{executor:?}");
        let factory = factory(&storage);
        assert_eq!(refused(factory.open("db", None)), invalid);
        let deleted = factory.delete_database("db").done().wait();
        assert_eq!(refused(deleted), invalid);
        assert_eq!(refused(factory.databases().wait()), invalid);
        assert_eq!(refused(idle.databases().wait()), invalid);
        let other = storage.factory(&Origin::from_url("https://new.example").unwrap());
        assert_eq!(refused(other.databases().wait()), invalid);

        put(&running, "a", 2.0, "running").wait().unwrap();
        commit(&running).unwrap();
        storage.run_until_idle();
        assert!(finished.try_take().is_none(), "one transaction is left");
        drop(put(&behind, "a", 3.0, "behind"));
        commit(&behind).unwrap();
        finished.wait().unwrap();
        assert!(events.entries().is_empty(), "nothing was done by force");
        assert!(connection.events().wait_next().is_none());
        assert_eq!(found(&fs), texts(["running", "running", "behind"]));
        storage.close().unwrap();
    }
}

#[test]
fn a_storage_with_nothing_under_way_is_finished_at_once() {
    for executor in EXECUTORS {
        let fs = Arc::new(MemoryFileSystem::new());
        storage_on(fs.clone(), executor).finish().wait().unwrap();
        let (storage, connection, _) = connected(&fs, executor);
        storage.finish().wait().unwrap();
        assert_eq!(found(&fs), texts(["", "", ""]));
        storage.finish().wait().unwrap();
        assert!(connection.is_close_pending());
        storage.clone().close().unwrap();
        storage.finish().wait().unwrap();
    }
}

#[test]
fn finishing_ends_though_its_request_is_dropped() {
    for executor in EXECUTORS {
        let fs = Arc::new(MemoryFileSystem::new());
        let (storage, connection, _) = connected(&fs, executor);
        let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
        drop(put(&transaction, "a", 1.0, "x"));
        drop(storage.finish());
        // The end of the commit is not looked at either.
        transaction.commit().unwrap().detach();
        storage.run_until_idle();
        // Threads need a moment.
        while storage_on(fs.clone(), DRIVEN)
            .factory(&Origin::from_url("https://a.example").unwrap())
            .databases()
            .wait()
            .is_err()
        {
            std::thread::yield_now();
        }
        assert_eq!(found(&fs), texts(["x", "", ""]));
    }
}

#[test]
fn a_host_that_has_waited_long_enough_closes_what_is_left_by_force() {
    for executor in EXECUTORS {
        let fs = Arc::new(MemoryFileSystem::new());
        let (storage, connection, events) = connected(&fs, executor);
        let committed = begin(&connection, &["a"], TransactionMode::ReadWrite);
        drop(put(&committed, "a", 1.0, "committed"));
        commit(&committed).unwrap();
        let stays = begin(&connection, &["a"], TransactionMode::ReadWrite);
        put(&stays, "a", 2.0, "x").wait().unwrap();
        let finished = storage.finish();
        storage.run_until_idle();
        assert!(!finished.is_done());
        storage.close().unwrap();
        finished.wait().unwrap();
        let ended = stays.finished().wait();
        assert_eq!(refused(ended), Some(ErrorName::AbortError));
        assert_eq!(events.entries(), ["close"], "{executor:?}");
        assert_eq!(found(&fs), texts(["committed", "", ""]));
    }
}

#[test]
fn an_upgrade_under_way_is_made_and_requests_behind_it_are_refused() {
    for executor in EXECUTORS {
        let fs = Arc::new(MemoryFileSystem::new());
        let storage = storage_on(fs.clone(), executor);
        let factory = factory(&storage);
        let request = factory.open("db", Some(3)).unwrap();
        let behind = factory.open("db", Some(4)).unwrap().connection();
        let deletion = factory.delete_database("db").done();
        let Some(OpenEvent::UpgradeNeeded(upgrade)) = request.events().wait_next() else {
            panic!("no upgrade");
        };
        let finished = storage.finish();
        let parameters = ObjectStoreParameters::default();
        let transaction = &upgrade.transaction;
        transaction.create_object_store("a", parameters).unwrap();
        transaction.commit().unwrap().wait().unwrap();
        let Some(OpenEvent::Done(opened)) = request.events().wait_next() else {
            panic!("no end");
        };
        assert_eq!(refused(opened), Some(ErrorName::AbortError));
        let invalid = Some(ErrorName::InvalidStateError);
        assert_eq!(refused(behind.wait()), invalid, "{executor:?}");
        assert_eq!(refused(deletion.wait()), invalid);
        finished.wait().unwrap();
        storage.close().unwrap();

        let storage = storage_on(fs, executor);
        let databases = storage_databases(&storage);
        assert_eq!(databases, [("db".into(), 3)]);
    }
}

fn storage_databases(storage: &Storage) -> Vec<(JsString, u64)> {
    let infos = factory(storage).databases().wait().unwrap();
    let pairs = infos.into_iter().map(|info| (info.name, info.version));
    pairs.collect()
}

#[test]
fn a_request_that_waits_for_connections_to_be_closed_is_refused_when_they_are() {
    for executor in EXECUTORS {
        let fs = Arc::new(MemoryFileSystem::new());
        let (storage, connection, events) = connected(&fs, executor);
        let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
        let waiting = factory(&storage).open("db", Some(2)).unwrap();
        let Some(OpenEvent::Blocked { .. }) = waiting.events().wait_next() else {
            panic!("not blocked");
        };
        let finished = storage.finish();
        drop(put(&transaction, "a", 1.0, "x"));
        commit(&transaction).unwrap();
        let Some(OpenEvent::Done(opened)) = waiting.events().wait_next() else {
            panic!("no end");
        };
        assert_eq!(refused(opened), Some(ErrorName::InvalidStateError));
        finished.wait().unwrap();
        assert_eq!(events.entries(), ["versionchange"]);
        assert_eq!(found(&fs), texts(["x", "", ""]), "{executor:?}");
    }
}

#[test]
fn a_store_that_could_not_be_closed_whole_is_reported_at_the_end_of_finishing() {
    use larder_leveldb::storage::{Fault, FaultFileSystem};
    for executor in EXECUTORS {
        for has_transaction in [false, true] {
            let faults = Arc::new(FaultFileSystem::new(Arc::new(MemoryFileSystem::new())));
            let storage = storage_on(faults.clone(), executor);
            let connection = open(&storage).wait().unwrap();
            let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
            drop(put(&transaction, "a", 1.0, "relaxed"));
            commit(&transaction).unwrap();
            let reading =
                has_transaction.then(|| begin(&connection, &["a"], TransactionMode::ReadOnly));
            faults.fail_at(Fault {
                operation: faults.operations(),
                kind: std::io::ErrorKind::Other,
                every_later_too: true,
            });
            let finished = storage.finish();
            drop(reading);
            assert!(finished.wait().is_err(), "{executor:?}");
            faults.heal();
            storage.close().unwrap();
        }
    }
}
