//! One upgrade in the hands of several threads.

use std::sync::Barrier;

use larder_idb::{ErrorName, IndexParameters, KeyPath, OpenEvent, OpenRequest, Upgrade};

use super::*;

/// A database "db" that is being upgraded.
fn upgrading(storage: &Storage, version: u64) -> (OpenRequest, Upgrade) {
    let request = factory(storage).open("db", Some(version)).unwrap();
    loop {
        match request.events().wait_next() {
            Some(OpenEvent::UpgradeNeeded(upgrade)) => return (request, upgrade),
            Some(OpenEvent::Blocked { .. }) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Calls it on two threads at the same time: what both gave.
fn twice<T: Send>(call: impl Fn() -> T + Sync) -> [T; 2] {
    let start = Barrier::new(2);
    let call = || {
        start.wait();
        call()
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(call);
        [call(), other.join().unwrap()]
    })
}

/// Exactly one has done it, and the other heard why it could not.
fn check_one(done: [Result<()>; 2], why: ErrorName) {
    let errors = done.into_iter().filter_map(Result::err);
    let names: Vec<_> = errors.map(|error| error.name()).collect();
    assert_eq!(names, [why]);
}

#[test]
fn of_two_threads_that_change_the_same_name_one_does_and_the_other_gets_an_error() {
    let storage = storage(EXECUTORS[0]);
    let (request, upgrade) = upgrading(&storage, 1);
    let transaction = &upgrade.transaction;
    let create = |name: &JsString| {
        let parameters = ObjectStoreParameters::default();
        transaction.create_object_store(name, parameters)
    };
    let stays = create(&"stays".into()).unwrap();
    for number in 0..500 {
        let name: JsString = (&*format!("store {number}")).into();
        check_one(
            twice(|| create(&name).map(drop)),
            ErrorName::ConstraintError,
        );
        let path = || KeyPath::String("p".into());
        let index = || {
            let options = IndexParameters::default();
            stays.create_index(&name, path(), options).map(drop)
        };
        check_one(twice(index), ErrorName::ConstraintError);
        match number % 3 {
            0 => {
                let delete = || transaction.delete_object_store(&name);
                check_one(twice(delete), ErrorName::NotFoundError);
                let delete = || stays.delete_index(&name);
                check_one(twice(delete), ErrorName::NotFoundError);
            }
            1 => {
                // Each another one, to the same name.
                let other: JsString = (&*format!("other {number}")).into();
                let new: JsString = (&*format!("new {number}")).into();
                let both = [
                    create(&other).unwrap(),
                    transaction.object_store(&name).unwrap(),
                ];
                let next = Mutex::new(both.into_iter());
                let rename = || {
                    let store = next.lock().unwrap().next().unwrap();
                    store.rename(&new)
                };
                check_one(twice(rename), ErrorName::ConstraintError);
            }
            _ => {}
        }
    }
    let names = transaction.object_store_names();
    let index_names = stays.index_names();
    transaction.commit().unwrap().wait().unwrap();
    drop((stays, upgrade, request));
    // What was committed can be opened: no name is there twice.
    let opened = factory(&storage).open("db", None).unwrap();
    let connection = opened.connection().wait().unwrap();
    assert_eq!(connection.object_store_names(), names);
    let transaction = begin(&connection, &["stays"], TransactionMode::ReadOnly);
    let stays = transaction.object_store("stays").unwrap();
    assert_eq!(stays.index_names(), index_names);
}

#[test]
fn nothing_that_a_thread_creates_beside_an_abort_outlives_it() {
    let storage = storage(EXECUTORS[0]);
    for round in 0..1000_u32 {
        let (request, upgrade) = upgrading(&storage, 1);
        let start = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                for _ in 0..round % 100 {
                    std::hint::spin_loop();
                }
                upgrade.transaction.abort(None).unwrap();
            });
            start.wait();
            let mut made = Vec::new();
            for number in 0.. {
                let name: JsString = (&*format!("{number}")).into();
                let parameters = ObjectStoreParameters::default();
                match upgrade.transaction.create_object_store(&name, parameters) {
                    Ok(store) => made.push(store),
                    Err(error) => {
                        let is_over = matches!(
                            error.name(),
                            ErrorName::TransactionInactiveError | ErrorName::InvalidStateError
                        );
                        assert!(is_over, "{error}");
                        break;
                    }
                }
            }
            let _ = upgrade.transaction.finished().wait();
            let left = upgrade.connection.object_store_names();
            assert!(left.is_empty(), "round {round}: {left:?}");
            assert!(made.iter().all(larder_idb::ObjectStore::is_deleted));
        });
        drop((upgrade, request));
    }
}
