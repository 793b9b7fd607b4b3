//! Events that several take from one queue: callbacks, futures, calls that look.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use larder_idb::ConnectionEvent;

use super::*;

/// A connection, and a request that announces a version change to it with its next step.
fn announced(storage: &Storage) -> (Connection, larder_idb::OpenRequest) {
    let connection = open(storage).wait().unwrap();
    storage.run_until_idle();
    let request = factory(storage).open("db", Some(2)).unwrap();
    (connection, request)
}

fn name(event: &ConnectionEvent) -> &'static str {
    match event {
        ConnectionEvent::VersionChange(_) => "version change",
        ConnectionEvent::Close => "close",
    }
}

#[test]
fn a_callback_stays_though_its_event_was_taken_by_another_thread() {
    let storage = storage(DRIVEN);
    let (connection, _request) = announced(&storage);
    let log = Log::default();
    let copy = log.clone();
    connection
        .events()
        .on_event(move |event| copy.note(name(&event)));
    assert!(storage.run_one());
    assert!(connection.events().try_next().is_some());
    storage.run_until_idle();
    factory(&storage).force_close(None).detach();
    storage.run_until_idle();
    assert_eq!(log.entries(), ["close"]);
}

#[test]
fn a_callback_that_another_was_registered_in_place_of_is_not_called_again() {
    let storage = storage(DRIVEN);
    let (connection, _request) = announced(&storage);
    let log = Log::default();
    let (first, second, events) = (log.clone(), log.clone(), connection.events());
    connection.events().on_event(move |event| {
        first.note(format!("first: {}", name(&event)));
        let second = second.clone();
        events.on_event(move |event| second.note(format!("second: {}", name(&event))));
    });
    storage.run_until_idle();
    factory(&storage).force_close(None).detach();
    storage.run_until_idle();
    assert_eq!(log.entries(), ["first: version change", "second: close"]);
}

#[derive(Default)]
struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn all_futures_of_the_next_event_are_woken_and_those_that_were_dropped_are_not() {
    let storage = storage(DRIVEN);
    let (connection, _request) = announced(&storage);
    let events = connection.events();
    let counts: [Arc<Count>; 3] = Default::default();
    let [first, second, dropped] = counts
        .each_ref()
        .map(|count| Waker::from(Arc::clone(count)));
    let poll = |future: &mut std::pin::Pin<&mut larder_idb::NextEvent<'_, _>>, waker: &Waker| {
        future.as_mut().poll(&mut Context::from_waker(waker))
    };
    let (mut one, mut two) = (pin!(events.next()), pin!(events.next()));
    {
        let mut three = pin!(events.next());
        assert!(poll(&mut three, &dropped).is_pending());
    }
    assert!(poll(&mut one, &first).is_pending());
    assert!(poll(&mut two, &second).is_pending());
    storage.run_until_idle();
    let woken = counts
        .each_ref()
        .map(|count| count.0.load(Ordering::Relaxed));
    assert_eq!(woken, [1, 1, 0]);
    let Poll::Ready(Some(ConnectionEvent::VersionChange(_))) = poll(&mut two, &second) else {
        panic!("no event");
    };
    assert!(poll(&mut one, &first).is_pending(), "the other took it");
}
