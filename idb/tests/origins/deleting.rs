//! Deleting: while in use, by time, for room.

use std::iter;

use larder_idb::{ConnectionEvent, DeletedOrigin, ErrorKind, ErrorName};

use super::*;

#[test]
fn an_origin_that_is_deleted_while_in_use_notifies_its_connections_and_leaves_nothing() {
    // With threads often: the request that comes after could overtake the deletion.
    for executor in iter::once(DRIVEN).chain(iter::repeat_n(THREADS, 30)) {
        let place = Place::new(executor);
        place.fill(2, 10);
        let connection = open(&place.factory(1)).unwrap();
        put(&connection, 1000).unwrap();
        let options = TransactionOptions::default();
        let transaction = connection
            .transaction(["a"], TransactionMode::ReadWrite, options)
            .unwrap();
        let store = transaction.object_store("a").unwrap();
        let get = store.get(Key::Number(1.0)).unwrap().wait().unwrap();
        let held = get.unwrap();
        let deleted = place.storage.delete_origin(&origin(1));
        // Asked for meanwhile: waits, and finds nothing.
        let again = place.factory(1).open("db", Some(1)).unwrap();
        let again = again.with_upgrade(|upgrade| {
            assert_eq!(upgrade.old_version, 0);
            Ok(())
        });
        deleted.wait().unwrap();
        assert_eq!(
            transaction.finished().wait().unwrap_err().name(),
            ErrorName::AbortError
        );
        let mut told = false;
        while let Some(event) = connection.events().try_next() {
            told |= matches!(event, ConnectionEvent::Close);
        }
        assert!(told && connection.is_close_pending());
        assert!(held.objects()[0].open().is_err(), "the blob is gone");
        let new = again.wait().unwrap();
        assert!(new.object_store_names().is_empty());
        drop((new, held, transaction, connection));
        place.storage.delete_origin(&origin(1)).wait().unwrap();
        assert_eq!(place.origins(), [origin(2)]);
        assert!(
            place
                .names()
                .iter()
                .all(|name| name.starts_with("https_o2."))
        );
        assert_eq!(place.factory(2).databases().wait().unwrap().len(), 1);
    }
}

#[test]
fn deleting_an_origin_takes_what_was_set_aside_and_its_flag_along() {
    let place = Place::new(DRIVEN);
    place.fill(1, 10);
    place.factory(1).set_persisted(true).wait().unwrap();
    let lost = Path::new("idb/https_o1.example_0.indexeddb.leveldb/lost");
    place.fs.create_dir(lost).unwrap();
    place.fs.create(&lost.join("000001.log")).unwrap();
    place.storage.delete_origin(&origin(1)).wait().unwrap();
    assert!(place.names().is_empty(), "{:?}", place.names());
    assert!(!place.factory(1).persisted().wait().unwrap());
    // None there is no error.
    place.storage.delete_origin(&origin(1)).wait().unwrap();
    place.fill(1, 10);
    assert_eq!(place.factory(1).databases().wait().unwrap().len(), 1);
}

#[test]
fn an_origin_that_another_process_holds_stays_and_keeps_no_other_from_being_deleted() {
    let place = Place::new(DRIVEN);
    place.clock.set(1000);
    for n in 1..=3 {
        place.fill(n, 10);
    }
    let lock = Path::new("idb/https_o2.example_0.indexeddb.leveldb/LOCK");
    let theirs = place.fs.lock(lock).unwrap();
    let error = place.storage.delete_origin(&origin(2)).wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    let all = place.storage.delete_modified_since(0).wait().unwrap();
    let done: Vec<bool> = all.iter().map(|deleted| deleted.result.is_ok()).collect();
    assert_eq!(done, [true, false, true]);
    drop(theirs);
    assert_eq!(place.origins(), [origin(2)]);
    assert_eq!(place.factory(2).databases().wait().unwrap().len(), 1);
}

fn of(deleted: &[DeletedOrigin]) -> Vec<Origin> {
    let all = deleted.iter();
    all.map(|deleted| deleted.info.origin.clone()).collect()
}

#[test]
fn what_was_written_since_a_time_is_deleted_and_what_was_only_read_is_not() {
    let place = Place::new(THREADS);
    for (n, time) in [(1, 1000), (2, 2000), (3, 3000)] {
        place.clock.set(time);
        place.fill(n, 10);
    }
    let old = open(&place.factory(1)).unwrap();
    place.clock.set(4000);
    let connection = open(&place.factory(4)).unwrap();
    let deleted = place.storage.delete_modified_since(2001).wait().unwrap();
    assert_eq!(of(&deleted), [origin(3), origin(4)]);
    assert!(connection.is_close_pending() && !old.is_close_pending());
    assert_eq!(place.origins(), [origin(1), origin(2)]);
    // A deletion of a database is a change, too.
    place.clock.set(5000);
    let database = place.factory(2).delete_database("db");
    database.done().wait().unwrap();
    let deleted = place.storage.delete_modified_since(5000).wait().unwrap();
    assert_eq!(of(&deleted), [origin(2)]);
}

#[test]
fn room_is_made_in_the_order_of_the_policy_but_not_of_what_is_used_or_persisted() {
    for executor in [DRIVEN, THREADS] {
        let place = Place::new(executor);
        for (n, time) in [(1, 5000), (2, 1000), (3, 2000), (4, 3000), (5, 4000)] {
            place.clock.set(time);
            place.fill(n, 100_000);
        }
        place.factory(2).set_persisted(true).wait().unwrap();
        let used = open(&place.factory(3)).unwrap();
        let total = place.storage.usage().wait().unwrap().total();
        let policy = |infos: &mut Vec<OriginInfo>| {
            infos.sort_by_key(|info| info.last_used_us);
        };
        let none = place.storage.evict(total, policy).wait().unwrap();
        assert!(none.is_empty());
        let one = place.storage.evict(total - 1, policy).wait().unwrap();
        assert_eq!(of(&one), [origin(4)]);
        // What the policy takes out stays.
        let kept = |infos: &mut Vec<OriginInfo>| infos.retain(|info| info.origin != origin(1));
        let one = place.storage.evict(0, kept).wait().unwrap();
        assert_eq!(of(&one), [origin(5)]);
        let rest = place.storage.evict(0, policy).wait().unwrap();
        assert_eq!(of(&rest), [origin(1)]);
        assert_eq!(place.origins(), [origin(2), origin(3)]);
        assert!(!used.is_close_pending());
        let failed = place.storage.evict(0, |_| panic!("a host's defect"));
        assert!(failed.wait().is_err());
    }
}

#[test]
fn a_deletion_that_fails_half_way_leaves_no_store_and_can_be_done_again() {
    let place = Place::new(DRIVEN);
    place.fill(1, 10);
    let files = Arc::new(larder_leveldb::storage::FaultFileSystem::new(
        Arc::clone(&place.fs) as _,
    ));
    let mut n = 1;
    loop {
        let mut options = StorageOptions::new(
            Arc::clone(&files) as _,
            "idb",
            Arc::clone(&place.clock) as _,
        );
        options.executor = DRIVEN;
        let storage = Storage::new(options).unwrap();
        files.fail_at(larder_leveldb::storage::Fault {
            operation: files.operations() + n,
            kind: std::io::ErrorKind::Other,
            every_later_too: true,
        });
        let deleted = storage.delete_origin(&origin(1)).wait();
        files.heal();
        if deleted.is_ok() {
            break;
        }
        let names = storage.factory(&origin(1)).databases().wait();
        // All of it, or nothing that a page could see.
        let names = names.map_or(0, |names| names.len());
        let is_listed = !storage.origins().wait().unwrap().is_empty();
        assert!(names <= 1 && (names == 0 || is_listed), "operation {n}");
        storage.delete_origin(&origin(1)).wait().unwrap();
        assert!(
            place.names().is_empty(),
            "operation {n}: {:?}",
            place.names()
        );
        storage.close().unwrap();
        place.fill(1, 10);
        n += 1;
    }
    assert!(n > 10, "{n} operations");
}
