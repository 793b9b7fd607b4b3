//! Connections on their way to the host. The host cannot listen to a connection that it has not received yet. So no connection blocks a
//! version change before the host could listen.

use larder_idb::{ConnectionEvent, OpenEvent, OpenRequest};

use super::*;

/// A request whose connection is there, to a database of version 1, and one behind it that asks for version 2.
fn two_requests(storage: &Storage) -> (OpenRequest, OpenRequest) {
    drop(open(storage).wait().unwrap());
    let factory = factory(storage);
    let first = factory.open("db", None).unwrap();
    let second = factory.open("db", Some(2)).unwrap();
    (first, second)
}

/// With each executor.
fn in_each(law: impl Fn(&Storage, OpenRequest, OpenRequest)) {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let (first, second) = two_requests(&storage);
        law(&storage, first, second);
    }
}

/// Whether a request is blocked.
fn is_blocked(request: &OpenRequest) -> bool {
    let event = request.events().wait_next();
    matches!(event, Some(OpenEvent::Blocked { .. }))
}

/// Closes a connection when it gets a `versionchange` event.
fn close_on_versionchange(connection: Connection) {
    let events = connection.events();
    events.on_event(move |event| {
        if matches!(event, ConnectionEvent::VersionChange(_)) {
            connection.close();
        }
    });
}

/// Whether a request gets to its upgrade without having been blocked.
fn is_upgraded_at_once(request: &OpenRequest) -> bool {
    matches!(
        request.events().wait_next(),
        Some(OpenEvent::UpgradeNeeded(_))
    )
}

#[test]
fn a_connection_that_is_not_taken_yet_is_not_passed_over() {
    let storage = storage(DRIVEN);
    let (first, second) = two_requests(&storage);
    storage.run_until_idle();
    assert!(second.events().try_next().is_none(), "it waits");
    let Some(OpenEvent::Done(Ok(connection))) = first.events().try_next() else {
        panic!("not opened");
    };
    close_on_versionchange(connection);
    assert!(is_upgraded_at_once(&second));
}

#[test]
fn a_connection_s_request_may_be_looked_at_late() {
    let storage = storage(DRIVEN);
    let (first, second) = two_requests(&storage);
    let mut first = first.connection();
    storage.run_until_idle();
    assert!(second.events().try_next().is_none(), "it waits");
    close_on_versionchange(first.try_take().unwrap().unwrap());
    assert!(is_upgraded_at_once(&second));
}

#[test]
fn a_callback_that_is_given_a_connection_has_time_to_listen() {
    for is_late in [false, true] {
        in_each(|storage, first, second| {
            let first = first.connection();
            while is_late && !first.is_done() {
                storage.run_one();
            }
            first.on_done(|connection| close_on_versionchange(connection.unwrap()));
            assert!(is_upgraded_at_once(&second));
        });
    }
}

#[test]
fn a_callback_for_events_that_gets_the_connection_has_time_to_listen() {
    in_each(|_, first, second| {
        first.events().on_event(|event| {
            if let OpenEvent::Done(connection) = event {
                close_on_versionchange(connection.unwrap());
            }
        });
        assert!(is_upgraded_at_once(&second));
    });
}

#[test]
fn a_connection_without_a_listener_blocks() {
    in_each(|_, first, second| {
        let connection = first.connection().wait().unwrap();
        assert!(is_blocked(&second));
        drop(connection);
        assert!(is_upgraded_at_once(&second));
    });
}

#[test]
fn a_connection_that_is_not_taken_goes_with_its_request() {
    in_each(|storage, first, second| {
        storage.run_until_idle();
        drop(first);
        assert!(is_upgraded_at_once(&second));
    });
}

/// The host has the connection of an upgrade before the request has ended.
#[test]
fn a_connection_of_an_upgrade_is_notified_though_the_requests_end_is_not_looked_at() {
    for executor in EXECUTORS {
        let storage = storage(executor);
        let factory = factory(&storage);
        let first = factory.open("db", None).unwrap();
        let second = factory.open("db", Some(2)).unwrap();
        let Some(OpenEvent::UpgradeNeeded(upgrade)) = first.events().wait_next() else {
            panic!("no upgrade");
        };
        let connection = upgrade.connection.clone();
        upgrade.transaction.commit().unwrap().wait().unwrap();
        drop((upgrade, first));
        assert!(is_blocked(&second));
        drop(connection);
        assert!(is_upgraded_at_once(&second));
    }
}
