//! The connection queue: versions, version changes, blocked requests, upgrades, deletion, closing (5.1 to 5.3, 5.7, 5.8).

use larder_backing_store::{BackingStore, StorePaths, WriteOptions};
use larder_idb::{ConnectionEvent, DeleteEvent, ErrorName, Maintenance, OpenEvent, Upgrade};

use super::*;

fn open_version(storage: &Storage, version: u64) -> larder_idb::OpenRequest {
    factory(storage).open("db", Some(version)).unwrap()
}

fn upgrade_of(event: Option<OpenEvent>) -> Upgrade {
    match event {
        Some(OpenEvent::UpgradeNeeded(upgrade)) => upgrade,
        other => panic!("{other:?}"),
    }
}

fn end_of(event: Option<OpenEvent>) -> Result<Connection> {
    match event {
        Some(OpenEvent::Done(result)) => result,
        other => panic!("{other:?}"),
    }
}

fn name_of<T>(result: Result<T>) -> ErrorName {
    match result {
        Ok(_) => panic!("no error"),
        Err(error) => error.name(),
    }
}

/// The databases that a store's rows name.
fn names_in(fs: Arc<MemoryFileSystem>) -> Vec<String> {
    let origin = Origin::from_url("https://a.example").unwrap();
    let folder = std::path::Path::new("idb").join(origin.leveldb_folder_name());
    let paths = StorePaths::of_leveldb(&folder);
    let options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
    let store = BackingStore::open(fs, paths, options).unwrap();
    let databases = store.databases().unwrap();
    let names = databases
        .iter()
        .map(|database| database.name.to_string_lossy());
    names.collect()
}

#[test]
fn versions_that_no_database_can_have_are_type_errors() {
    let storage = storage(DRIVEN);
    for version in [0, 1 << 53] {
        let refused = factory(&storage).open("db", Some(version));
        assert_eq!(name_of(refused), ErrorName::TypeError);
    }
    assert!(factory(&storage).open("db", Some((1 << 53) - 1)).is_ok());
}

#[test]
fn a_new_database_has_the_version_asked_for_or_1_and_a_lower_one_is_refused() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let factory = factory(&storage);
        assert!(factory.databases().wait().unwrap().is_empty());
        let first = factory.open("first", None).unwrap().connection();
        let second = factory.open("second", Some(7)).unwrap().connection();
        assert_eq!(first.wait().unwrap().version(), 1);
        assert_eq!(second.wait().unwrap().version(), 7);
        let lower = factory.open("second", Some(6)).unwrap().connection();
        assert_eq!(name_of(lower.wait()), ErrorName::VersionError);
        let as_it_is = factory.open("second", None).unwrap();
        assert_eq!(end_of(as_it_is.events().wait_next()).unwrap().version(), 7);
        assert!(as_it_is.events().wait_next().is_none());
        let listed = factory.databases().wait().unwrap();
        let listed: Vec<_> = listed
            .iter()
            .map(|info| (info.name.to_string_lossy(), info.version))
            .collect();
        assert_eq!(listed, [("first".to_owned(), 1), ("second".to_owned(), 7)]);
    }
}

#[test]
fn other_connections_are_notified_and_then_waited_for() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let listening = open(&storage).wait().unwrap();
        let deaf = open(&storage).wait().unwrap();
        let closing = open(&storage).wait().unwrap();
        let left = begin(&closing, &["a"], TransactionMode::ReadWrite);
        closing.close();
        let events = listening.events();
        assert!(events.try_next().is_none());
        let request = open_version(&storage, 3);
        let Some(ConnectionEvent::VersionChange(change)) = events.wait_next() else {
            panic!("not told");
        };
        assert_eq!((change.old_version(), change.new_version()), (1, Some(3)));
        storage.run_until_idle();
        assert!(
            request.events().try_next().is_none(),
            "the event is being dispatched"
        );
        change.dispatched();
        let blocked = request.events().wait_next();
        let is_it = matches!(
            blocked,
            Some(OpenEvent::Blocked {
                old_version: 1,
                new_version: 3
            })
        );
        assert!(is_it, "{blocked:?}");
        listening.close();
        deaf.close();
        storage.run_until_idle();
        assert!(
            request.events().try_next().is_none(),
            "a transaction is left"
        );
        drop(left);
        let upgrade = upgrade_of(request.events().wait_next());
        assert_eq!((upgrade.old_version, upgrade.new_version), (1, 3));
        // It got the event, too, but without a listener. A connection that was closing got none.
        let told = deaf.events().try_next();
        assert!(
            matches!(told, Some(ConnectionEvent::VersionChange(_))),
            "{told:?}"
        );
        assert!(closing.events().try_next().is_none());
    }
}

#[test]
fn connections_that_close_on_versionchange_do_not_block() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let closer = connection.clone();
        connection.events().on_event(move |event| {
            if matches!(event, ConnectionEvent::VersionChange(_)) {
                closer.close();
            }
        });
        let request = open_version(&storage, 2);
        let upgrade = upgrade_of(request.events().wait_next());
        upgrade.transaction.commit().unwrap().wait().unwrap();
        assert_eq!(end_of(request.events().wait_next()).unwrap().version(), 2);
        assert!(connection.is_close_pending());
    }
}

#[test]
fn during_an_upgrade_the_connection_makes_no_transactions() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        open(&storage).wait().unwrap();
        let request = open_version(&storage, 2);
        let upgrade = upgrade_of(request.events().wait_next());
        let make = |connection: &Connection| {
            let options = TransactionOptions::default();
            connection.transaction(["a"], TransactionMode::ReadOnly, options)
        };
        assert_eq!(
            name_of(make(&upgrade.connection)),
            ErrorName::InvalidStateError
        );
        assert_eq!(upgrade.transaction.mode(), TransactionMode::VersionChange);
        assert_eq!(upgrade.transaction.object_store_names().len(), 3);
        upgrade.transaction.commit().unwrap().wait().unwrap();
        let connection = end_of(request.events().wait_next()).unwrap();
        assert!(connection == upgrade.connection && make(&connection).is_ok());
    }
}

#[test]
fn an_upgrade_that_is_aborted_leaves_a_database_as_it_was() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        open(&storage).wait().unwrap();
        let request = open_version(&storage, 9);
        let upgrade = upgrade_of(request.events().wait_next());
        let transaction = &upgrade.transaction;
        transaction.delete_object_store("a").unwrap();
        let parameters = ObjectStoreParameters::default();
        let created = transaction.create_object_store("d", parameters).unwrap();
        assert_eq!(upgrade.connection.version(), 9);
        transaction.abort(None).unwrap();
        // At once.
        assert_eq!(upgrade.connection.version(), 1);
        assert!(created.is_deleted());
        assert_eq!(upgrade.connection.object_store_names().len(), 3);
        assert_eq!(
            name_of(end_of(request.events().wait_next())),
            ErrorName::AbortError
        );
        assert!(upgrade.connection.is_close_pending());
        let connection = open(&storage).wait().unwrap();
        assert_eq!(connection.version(), 1);
        assert_eq!(connection.object_store_names(), ["a", "b", "c"]);
    }
}

#[test]
fn an_upgrade_that_is_aborted_leaves_no_database_that_was_not_there() {
    for executor in EXECUTORS {
        let fs = Arc::new(MemoryFileSystem::new());
        let storage = storage_on(fs.clone(), executor);
        let request = factory(&storage).open("new", Some(4)).unwrap();
        let failed = request.with_upgrade(|upgrade| {
            let parameters = ObjectStoreParameters::default();
            upgrade.transaction.create_object_store("a", parameters)?;
            Err(larder_idb::Error::new(ErrorName::DataError, "on purpose"))
        });
        let error = failed.wait().unwrap_err();
        assert_eq!(error.name(), ErrorName::AbortError);
        assert!(error.message().contains("on purpose"), "{error}");
        assert!(factory(&storage).databases().wait().unwrap().is_empty());
        let request = factory(&storage).open("new", None).unwrap();
        let upgrade = upgrade_of(request.events().wait_next());
        assert_eq!((upgrade.old_version, upgrade.new_version), (0, 1));
        assert!(upgrade.connection.object_store_names().is_empty());
        upgrade.transaction.abort(None).unwrap();
        assert_eq!(upgrade.connection.version(), 0);
        drop((upgrade, request));
        storage.close().unwrap();
        assert_eq!(names_in(fs), [""; 0]);
    }
}

#[test]
fn closing_during_an_upgrade_lets_it_commit_and_fails_the_request() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let request = open_version(&storage, 5);
        let upgrade = upgrade_of(request.events().wait_next());
        upgrade.connection.close();
        let parameters = ObjectStoreParameters::default();
        upgrade
            .transaction
            .create_object_store("z", parameters)
            .unwrap();
        upgrade.transaction.commit().unwrap().wait().unwrap();
        assert_eq!(
            name_of(end_of(request.events().wait_next())),
            ErrorName::AbortError
        );
        let connection = factory(&storage).open("db", None).unwrap().connection();
        let connection = connection.wait().unwrap();
        assert_eq!(connection.version(), 5);
        assert_eq!(connection.object_store_names(), ["z"]);
    }
}

#[test]
fn the_transaction_of_an_upgrade_completes_before_the_request_succeeds() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let log = Log::default();
        let request = open_version(&storage, 5);
        let (noting, ended) = (log.clone(), log.clone());
        request.events().on_event(move |event| match event {
            OpenEvent::UpgradeNeeded(upgrade) => {
                noting.note("upgradeneeded");
                let parameters = ObjectStoreParameters::default();
                let store = upgrade.transaction.create_object_store("z", parameters);
                let value = Value::serialize("x").unwrap();
                let put = store.unwrap().put(value, Some(Key::Number(1.0))).unwrap();
                noting.watch("put", put);
                noting.watch("complete", upgrade.transaction.finished());
                upgrade.transaction.commit().unwrap().detach();
            }
            OpenEvent::Done(Ok(_)) => ended.note("success"),
            other => panic!("{other:?}"),
        });
        drop(request);
        // Behind it in the queue.
        open_version(&storage, 5).connection().wait().unwrap();
        storage.close().unwrap();
        assert_eq!(
            log.entries(),
            ["upgradeneeded", "put", "complete", "success"]
        );
    }
}

#[test]
fn requests_of_one_database_are_dealt_with_in_order() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let log = Log::default();
        let factory = factory(&storage);
        // The one that opens keeps the next waiting until its connection goes, unless it need not.
        log.watch("open 1", factory.open("db", Some(1)).unwrap().connection());
        log.watch("delete", factory.delete_database("db").done());
        log.watch("open 3", factory.open("db", Some(3)).unwrap().connection());
        log.watch("open 2", factory.open("db", Some(2)).unwrap().connection());
        let last = factory.open("db", Some(4)).unwrap().connection();
        assert_eq!(last.wait().unwrap().version(), 4);
        storage.close().unwrap();
        assert_eq!(
            log.entries(),
            ["open 1", "delete", "open 3", "open 2: VersionError"]
        );
    }
}

#[test]
fn deleting_waits_for_connections_and_gives_the_version() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let factory = factory(&storage);
        assert_eq!(factory.delete_database("nowhere").done().wait().unwrap(), 0);
        let connection = open(&storage).wait().unwrap();
        let events = connection.events();
        assert!(events.try_next().is_none());
        let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
        let request = factory.delete_database("db");
        let Some(ConnectionEvent::VersionChange(change)) = events.wait_next() else {
            panic!("not told");
        };
        assert_eq!((change.old_version(), change.new_version()), (1, None));
        drop(change);
        let blocked = request.events().wait_next();
        assert!(
            matches!(blocked, Some(DeleteEvent::Blocked { old_version: 1 })),
            "{blocked:?}"
        );
        connection.close();
        put(&transaction, "a", 1.0, "x").wait().unwrap();
        commit(&transaction).unwrap();
        let done = request.events().wait_next();
        assert!(matches!(done, Some(DeleteEvent::Done(Ok(1)))), "{done:?}");
        assert!(request.events().wait_next().is_none());
        assert!(factory.databases().wait().unwrap().is_empty());
        let connection = open(&storage).wait().unwrap();
        assert_eq!(look(&connection, "a", 1.0), None);
    }
}

#[test]
fn a_connection_is_closed_when_its_last_handle_goes() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
        let store = transaction.object_store("a").unwrap();
        drop((connection, transaction));
        let request = factory(&storage).delete_database("db").done();
        storage.run_until_idle();
        assert!(!request.is_done());
        drop(store);
        assert_eq!(request.wait().unwrap(), 1);
    }
}

#[test]
fn what_is_let_go_of_in_the_midst_of_an_upgrade_is_aborted() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        // Before and after the host has heard of it.
        drop(open_version(&storage, 2));
        let request = open_version(&storage, 3);
        let upgrade = upgrade_of(request.events().wait_next());
        assert_eq!(upgrade.old_version, 0);
        drop(upgrade);
        assert_eq!(
            name_of(end_of(request.events().wait_next())),
            ErrorName::AbortError
        );
        assert!(factory(&storage).databases().wait().unwrap().is_empty());
    }
}

#[test]
fn closing_by_force_aborts_and_notifies() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let connection = open(&storage).wait().unwrap();
        let other = factory(&storage).open("other", None).unwrap().connection();
        let other = other.wait().unwrap();
        let committed = begin(&connection, &["b"], TransactionMode::ReadWrite);
        put(&committed, "b", 1.0, "kept").on_done(|_| ());
        let committed = committed.commit().unwrap();
        let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
        put(&transaction, "a", 1.0, "lost").wait().unwrap();
        let finished = transaction.finished();
        factory(&storage).force_close(Some(&"db".into())).detach();
        assert_eq!(name_of(finished.wait()), ErrorName::AbortError);
        let refused = transaction
            .object_store("a")
            .and_then(|store| store.clear());
        assert!(refused.is_err());
        assert!(matches!(
            connection.events().wait_next(),
            Some(ConnectionEvent::Close)
        ));
        assert!(connection.events().wait_next().is_none());
        committed.wait().unwrap();
        assert!(connection.is_close_pending() && !other.is_close_pending());
        let connection = open(&storage).wait().unwrap();
        assert_eq!(look(&connection, "a", 1.0), None);
        assert_eq!(look(&connection, "b", 1.0).unwrap(), "kept");
    }
}

#[test]
fn closing_by_force_ends_behind_the_callbacks_and_waits_for_no_host_that_looks_by_itself() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let (idle, busy, unheard) = (open(&storage), open(&storage), open(&storage));
        let (idle, busy, unheard) = (
            idle.wait().unwrap(),
            busy.wait().unwrap(),
            unheard.wait().unwrap(),
        );
        let log = Log::default();
        for (name, connection) in [("idle", &idle), ("busy", &busy)] {
            let log = log.clone();
            connection.events().on_event(move |_| {
                std::thread::sleep(std::time::Duration::from_millis(5));
                log.note(name);
            });
        }
        let transaction = begin(&busy, &["a"], TransactionMode::ReadWrite);
        put(&transaction, "a", 1.0, "lost").detach();
        factory(&storage).force_close(None).wait().unwrap();
        let mut heard = log.entries();
        heard.sort();
        assert_eq!(heard, ["busy", "idle"]);
        assert!(unheard.events().try_next().is_some());
        // There is nothing left to close.
        factory(&storage).force_close(None).wait().unwrap();
    }
}

#[test]
fn closing_the_store_lets_others_have_it_and_it_is_opened_again_when_needed() {
    for executor in EXECUTORS {
        let fs = Arc::new(MemoryFileSystem::new());
        let storage = storage_on(fs.clone(), executor);
        let connection = open(&storage).wait().unwrap();
        let stale = begin(&connection, &["a"], TransactionMode::ReadOnly);
        let neighbour = storage_on(fs, executor);
        let refused = factory(&neighbour).open("db", None).unwrap().connection();
        assert_eq!(
            refused.wait().unwrap_err().kind(),
            larder_idb::ErrorKind::Conflict
        );
        factory(&storage).close().wait().unwrap();
        // Though the host has handles still.
        assert!(stale.connection().events().try_next().is_some());
        open(&neighbour).wait().unwrap();
        factory(&neighbour).close().wait().unwrap();
        factory(&neighbour).close().wait().unwrap();
        let connection = open(&storage).wait().unwrap();
        assert_eq!(look(&connection, "a", 1.0), None);
    }
}

#[test]
fn a_storage_that_is_closed_opens_nothing() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let factory = factory(&storage);
        let connection = open(&storage).wait().unwrap();
        let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
        let request = put(&transaction, "a", 1.0, "x");
        let pending = factory.open("db", Some(2)).unwrap();
        storage.close().unwrap();
        drop(request.wait());
        assert!(transaction.is_finished());
        assert!(matches!(
            connection.events().try_next(),
            Some(ConnectionEvent::VersionChange(_) | ConnectionEvent::Close)
        ));
        let refused = name_of(factory.open("db", None));
        assert_eq!(refused, ErrorName::InvalidStateError);
        assert_eq!(
            name_of(factory.delete_database("db").done().wait()),
            ErrorName::InvalidStateError
        );
        let mut last = None;
        while let Some(event) = pending.events().wait_next() {
            last = Some(event);
        }
        assert!(end_of(last).is_err());
    }
}

#[test]
fn what_a_deleted_database_leaves_goes_step_by_step_when_the_host_says_so() {
    for executor in EXECUTORS {
        let storage = storage_on(Arc::new(MemoryFileSystem::new()), executor);
        let factory = factory(&storage);
        assert_eq!(factory.maintain().wait().unwrap(), Maintenance::Idle);
        let connection = open(&storage).wait().unwrap();
        let transaction = begin(&connection, &["a"], TransactionMode::ReadWrite);
        for n in 0..2_500 {
            drop(put(&transaction, "a", f64::from(n), "value"));
        }
        commit(&transaction).unwrap();
        connection.close();
        factory.delete_database("db").done().wait().unwrap();
        let mut steps = 0;
        loop {
            match factory.maintain().wait().unwrap() {
                Maintenance::Step => steps += 1,
                Maintenance::Idle => break,
                Maintenance::Waiting => panic!("nobody writes"),
            }
        }
        assert!(steps >= 3, "{steps} steps for 5,000 rows");
    }
}

#[test]
fn transactions_may_begin_as_soon_as_an_upgrade_is_reported_committed() {
    for executor in EXECUTORS {
        for is_committed in [true, false] {
            let storage = storage(executor);
            let heard = Arc::new(Mutex::new(None));
            let to = Arc::clone(&heard);
            let request = factory(&storage).open("db", None).unwrap();
            let opened = request.with_upgrade(move |upgrade| {
                let transaction = &upgrade.transaction;
                let parameters = ObjectStoreParameters::default();
                transaction.create_object_store("a", parameters)?;
                let connection = upgrade.connection.clone();
                transaction.finished().on_done(move |ended| {
                    let options = TransactionOptions::default();
                    let begun = connection.transaction(["a"], TransactionMode::ReadOnly, options);
                    *to.lock().unwrap() = Some((ended.is_ok(), begun.is_ok()));
                });
                if is_committed {
                    Ok(())
                } else {
                    transaction.abort(None)
                }
            });
            assert_eq!(opened.wait().is_ok(), is_committed, "{executor:?}");
            let heard = *heard.lock().unwrap();
            assert_eq!(heard, Some((is_committed, is_committed)), "{executor:?}");
        }
    }
}
