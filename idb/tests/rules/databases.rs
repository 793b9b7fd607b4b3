//! Factory and connection (specification, 4.3, 4.4).

use larder_codec::KeyPath;
use larder_idb::{Error, ErrorName, Origin, RowsInDoubt, TransactionMode, TransactionOptions};

use super::support::*;

#[test]
fn a_version_is_at_least_1_and_at_most_2_to_the_53_less_1() {
    let place = place();
    assert_eq!(refused(place.factory.open(js("db"), Some(0))), "TypeError");
    assert_eq!(
        refused(place.factory.open(js("db"), Some(1 << 53))),
        "TypeError"
    );
    let connection = place.open((1 << 53) - 1, |_| Ok(())).unwrap();
    assert_eq!(connection.version(), (1 << 53) - 1);
}

#[test]
fn an_opaque_origin_has_no_databases_and_no_store() {
    let place = place();
    let factory = place.storage.factory(&Origin::opaque());
    assert_eq!(refused(factory.open(js("db"), Some(1))), "SecurityError");
    assert_eq!(refused(factory.databases().wait()), "SecurityError");
    assert_eq!(refused(factory.maintain().wait()), "SecurityError");
    let repaired = factory.repair(RowsInDoubt::LeaveOut).wait();
    assert_eq!(refused(repaired), "SecurityError");
    let request = factory.delete_database(js("db"));
    place.storage.run_until_idle();
    match request.events().try_next() {
        Some(larder_idb::DeleteEvent::Done(Err(error))) => {
            assert_eq!(error.name(), ErrorName::SecurityError);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn opening_without_a_version_takes_the_one_that_is_there_or_makes_version_1() {
    let place = place();
    let open = || {
        place
            .factory
            .open(js("db"), None)
            .unwrap()
            .with_upgrade(|_| Ok(()))
            .wait()
    };
    let first = open().unwrap();
    assert_eq!(first.version(), 1);
    first.close();
    place.open(7, |_| Ok(())).unwrap().close();
    assert_eq!(open().unwrap().version(), 7);
}

#[test]
fn a_smaller_version_is_a_version_error_and_closes_no_connection() {
    let place = place();
    let connection = place.open(3, |_| Ok(())).unwrap();
    let events = connection.events();
    assert_eq!(refused(place.open(2, |_| Ok(()))), "VersionError");
    assert!(events.try_next().is_none() && !connection.is_close_pending());
}

#[test]
fn a_database_that_is_not_there_is_deleted_with_old_version_0() {
    let place = place();
    let request = place.factory.delete_database(js("none"));
    place.storage.run_until_idle();
    match request.events().try_next() {
        Some(larder_idb::DeleteEvent::Done(Ok(0))) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn databases_lists_committed_ones_with_their_versions() {
    let place = place();
    place.open(4, |_| Ok(())).unwrap();
    let aborted = place.factory.open(js("other"), Some(2)).unwrap();
    let no = |_: &_| Err(Error::new(ErrorName::DataError, "no"));
    assert_eq!(refused(aborted.with_upgrade(no).wait()), "AbortError");
    let all = place.factory.databases().wait().unwrap();
    let all: Vec<_> = all
        .into_iter()
        .map(|info| (info.name.to_string(), info.version))
        .collect();
    assert_eq!(all, [("db".to_owned(), 4)]);
}

#[test]
fn a_transaction_is_refused_in_the_order_of_the_steps() {
    let place = place();
    let connection = place.connection();
    let begin = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| js(name)).collect();
        refused(connection.transaction(
            &names,
            TransactionMode::ReadOnly,
            TransactionOptions::default(),
        ))
    };
    assert_eq!(begin(&["out", "none"]), "NotFoundError");
    assert_eq!(begin(&[]), "InvalidAccessError");
    assert_eq!(begin(&["out", "out", "in"]), "nothing");
    connection.close();
    assert_eq!(begin(&["none"]), "InvalidStateError");
    assert_eq!(begin(&[]), "InvalidStateError");
}

#[test]
fn a_connection_that_upgrades_makes_no_other_transaction() {
    let place = place();
    let upgrade = place.upgrade();
    let begin = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| js(name)).collect();
        let options = TransactionOptions::default();
        refused(
            upgrade
                .connection
                .transaction(&names, TransactionMode::ReadOnly, options),
        )
    };
    assert_eq!(begin(&["out"]), "InvalidStateError");
    assert_eq!(begin(&["none"]), "InvalidStateError");
    upgrade.transaction.commit().unwrap().wait().unwrap();
    assert_eq!(begin(&["out"]), "nothing");
}

#[test]
fn a_transactions_scope_has_each_name_once_and_sorted() {
    let place = place();
    let connection = place.connection();
    let names = ["out", "in", "out", "auto"].map(js);
    let options = TransactionOptions::default();
    let transaction = connection
        .transaction(&names, TransactionMode::ReadOnly, options)
        .unwrap();
    assert_eq!(
        transaction.object_store_names(),
        ["auto", "in", "out"].map(js)
    );
}

#[test]
fn creating_a_store_is_refused_in_the_order_of_the_steps() {
    let place = place();
    let connection = place.connection();
    let create = |transaction: &larder_idb::Transaction, name: &str, key_path, auto| {
        refused(transaction.create_object_store(js(name), parameters(key_path, auto)))
    };
    // Not an upgrade: before anything else that is wrong.
    let ordinary = begin(&connection, TransactionMode::ReadWrite);
    assert_eq!(
        create(&ordinary, "out", path("a b"), true),
        "InvalidStateError"
    );
    ordinary.abort(None).unwrap();
    connection.close();
    let upgrade = place.open(2, move |upgrade| {
        let transaction = &upgrade.transaction;
        assert_eq!(create(transaction, "out", path("a b"), true), "SyntaxError");
        assert_eq!(create(transaction, "out", paths(&[]), false), "SyntaxError");
        assert_eq!(
            create(transaction, "out", path(""), true),
            "ConstraintError"
        );
        assert_eq!(
            create(transaction, "x", path(""), true),
            "InvalidAccessError"
        );
        assert_eq!(
            create(transaction, "x", paths(&["a"]), true),
            "InvalidAccessError"
        );
        assert_eq!(create(transaction, "x", paths(&["a"]), false), "nothing");
        assert_eq!(
            create(transaction, "x", KeyPath::Null, false),
            "ConstraintError"
        );
        Ok(())
    });
    upgrade.unwrap();
}

#[test]
fn an_upgrade_that_is_committing_makes_and_deletes_no_store() {
    let place = place();
    let upgrade = place.upgrade();
    let transaction = &upgrade.transaction;
    let committed = transaction.commit().unwrap();
    let create = || transaction.create_object_store(js("x"), parameters(path("1"), false));
    assert_eq!(refused(create()), "TransactionInactiveError");
    let delete = || transaction.delete_object_store(js("none"));
    assert_eq!(refused(delete()), "TransactionInactiveError");
    committed.wait().unwrap();
    assert_eq!(refused(create()), "InvalidStateError");
    assert_eq!(refused(delete()), "InvalidStateError");
}

#[test]
fn deleting_a_store_is_refused_in_the_order_of_the_steps() {
    let place = place();
    let (connection, ordinary) = place.transaction(TransactionMode::ReadWrite);
    let delete = |transaction: &larder_idb::Transaction, name: &str| {
        refused(transaction.delete_object_store(js(name)))
    };
    assert_eq!(delete(&ordinary, "none"), "InvalidStateError");
    ordinary.abort(None).unwrap();
    connection.close();
    let upgrade = place.open(2, move |upgrade| {
        assert_eq!(delete(&upgrade.transaction, "none"), "NotFoundError");
        assert_eq!(delete(&upgrade.transaction, "out"), "nothing");
        assert_eq!(delete(&upgrade.transaction, "out"), "NotFoundError");
        assert_eq!(
            upgrade.connection.object_store_names(),
            ["auto", "auto-in", "in"].map(js)
        );
        Ok(())
    });
    upgrade.unwrap();
}

#[test]
fn an_upgrade_that_is_aborted_leaves_versions_and_names_as_they_were() {
    let place = place();
    let upgrade = place.upgrade();
    assert_eq!((upgrade.old_version, upgrade.new_version), (1, 2));
    let (transaction, connection) = (&upgrade.transaction, &upgrade.connection);
    let renamed = store(transaction, "out");
    renamed.rename(js("another")).unwrap();
    let made = transaction.create_object_store(js("x"), parameters(KeyPath::Null, false));
    let made = made.unwrap();
    transaction.delete_object_store(js("in")).unwrap();
    assert_eq!(connection.version(), 2);
    transaction.abort(None).unwrap();
    assert_eq!(connection.version(), 1);
    assert_eq!(
        connection.object_store_names(),
        ["auto", "auto-in", "in", "out"].map(js)
    );
    assert_eq!(renamed.name(), js("out"));
    assert!(made.is_deleted() && !renamed.is_deleted());
    assert_eq!(
        refused(made.get(larder_idb::Key::from(1.0))),
        "InvalidStateError"
    );
    assert_eq!(
        refused(renamed.get(larder_idb::Key::from(1.0))),
        "TransactionInactiveError"
    );
}

#[test]
fn a_new_database_whose_upgrade_is_aborted_has_version_0_and_is_not_there() {
    let place = place();
    let request = place.factory.open(js("db"), Some(5)).unwrap();
    place.storage.run_until_idle();
    let Some(larder_idb::OpenEvent::UpgradeNeeded(upgrade)) = request.events().try_next() else {
        panic!()
    };
    stores(&upgrade.transaction).unwrap();
    upgrade.transaction.abort(None).unwrap();
    assert_eq!(upgrade.connection.version(), 0);
    assert!(upgrade.connection.object_store_names().is_empty());
    place.storage.run_until_idle();
    match request.events().try_next() {
        Some(larder_idb::OpenEvent::Done(Err(error))) => {
            assert_eq!(error.name(), ErrorName::AbortError);
        }
        other => panic!("{other:?}"),
    }
    assert!(place.factory.databases().wait().unwrap().is_empty());
}
