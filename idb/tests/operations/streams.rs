//! Cursors, pages and events as streams, beside the same as iterators.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use futures_executor::{block_on, block_on_stream};
use futures_util::stream::FusedStream;
use futures_util::{Stream, StreamExt, TryStreamExt};
use larder_idb::{
    ConnectionEvent, CursorDirection, ErrorName, Key, Origin, PageLimits, Result, TransactionMode,
};

use super::{THREADS, begin, finish, numbers, storage, store};

/// Everything from an object store of 2,500 numbers, of which pages of 1,000 are made.
const COUNT: u64 = 2_500;

#[test]
fn a_stream_of_steps_gives_what_the_iterator_gives() {
    let storage = storage(THREADS);
    let connection = numbers(&storage, COUNT);
    let transaction = begin(&connection, TransactionMode::ReadOnly);
    let s = store(&transaction, "s");
    for direction in [CursorDirection::Next, CursorDirection::Prev] {
        let cursor = || s.open_cursor(3.., direction).unwrap();
        let steps = cursor().steps().map(|cursor| cursor.unwrap().key());
        let stream = block_on_stream(cursor().step_stream());
        let stream: Vec<Key> = stream.map(|cursor| cursor.unwrap().key()).collect();
        assert_eq!(stream.len() as u64, COUNT - 3);
        assert_eq!(stream, steps.collect::<Vec<_>>());
    }
}

#[test]
fn the_record_of_a_streams_entry_can_be_deleted_and_a_move_of_it_ends_the_stream() {
    let storage = storage(THREADS);
    let connection = numbers(&storage, 6);
    let transaction = begin(&connection, TransactionMode::ReadWrite);
    let s = store(&transaction, "s");
    block_on(async {
        let mut entries = s.open_cursor(.., CursorDirection::Next)?.step_stream();
        for n in [0, 1] {
            let cursor = entries.try_next().await?.unwrap();
            assert_eq!(cursor.key(), Key::from(n));
            cursor.delete()?.await?;
            // What lies ahead and is deleted is passed over.
            s.delete(4)?.await?;
        }
        assert_eq!(s.count(..)?.await?, 3);
        let third = entries.try_next().await?.unwrap();
        third.advance(1)?.await?.unwrap();
        let error = entries.next().await.unwrap().unwrap_err();
        assert_eq!(error.name(), ErrorName::InvalidStateError);
        assert!(entries.is_terminated());
        assert!(entries.next().await.is_none());
        Result::Ok(())
    })
    .unwrap();
    finish(&transaction);
}

#[test]
fn a_stream_of_pages_gives_what_the_iterator_gives() {
    let storage = storage(THREADS);
    let connection = numbers(&storage, COUNT);
    let transaction = begin(&connection, TransactionMode::ReadOnly);
    let s = store(&transaction, "s");
    let pages = || {
        let limits = PageLimits::new().entries_max(1_000);
        s.pages(.., CursorDirection::Next, limits).unwrap()
    };
    let lens: Vec<usize> = (&pages())
        .into_iter()
        .map(|page| page.unwrap().len())
        .collect();
    let stream = pages().into_stream().map_ok(|page| page.len());
    assert_eq!(block_on(stream.try_collect::<Vec<_>>()).unwrap(), lens);
    assert_eq!(lens, [1_000, 1_000, 500]);

    let mut stream = pages().into_stream();
    assert!(!stream.is_terminated());
    finish(&transaction);
    let error = block_on(stream.next()).unwrap().unwrap_err();
    assert_eq!(error.name(), ErrorName::TransactionInactiveError);
    assert!(stream.is_terminated());
    assert!(block_on(stream.next()).is_none());
}

#[test]
fn a_stream_of_events_wakes_once_for_each_and_ends_with_the_connection() {
    let storage = storage(THREADS);
    let connection = numbers(&storage, 1);
    let events = connection.events();
    let mut stream = pin!(events.stream());
    let poll = |stream: &mut Pin<&mut _>| {
        Stream::poll_next(Pin::as_mut(stream), &mut Context::from_waker(Waker::noop()))
    };
    let first: Poll<Option<ConnectionEvent>> = poll(&mut stream);
    assert!(first.is_pending());
    let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
    let upgrading = factory.open("db", Some(2)).unwrap();
    let upgrading = upgrading.with_upgrade(|_| Ok(()));
    let Some(ConnectionEvent::VersionChange(change)) = block_on(stream.next()) else {
        panic!("the first event is not that of a newer version");
    };
    assert_eq!(change.new_version(), Some(2));
    assert!(poll(&mut stream).is_pending());
    drop(change);
    connection.close();
    upgrading.wait().unwrap();
    assert!(block_on(stream.next()).is_none());
}
