//! Cases by name: those of the system that seed 002 describes, and what the model does not reach.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use futures_executor::block_on;
use larder_feed::{CleanUp, Error, Feed, ReadOptions, RevisionKind};
use larder_idb::{
    Database, ErrorName, JsString, Key, KeyRange, ObjectStoreParameters, Transaction,
    TransactionMode, TransactionOptions, Value,
};
use serde_json::{Value as Json, json};

/// A database with two object stores and a feed.
fn library() -> (Database, Feed) {
    let opening = Database::in_memory("library", 1, |upgrade| {
        for name in ["books", "loans"] {
            let parameters = ObjectStoreParameters::new();
            upgrade.transaction.create_object_store(name, parameters)?;
        }
        upgrade.transaction.set_change_feed(true)
    });
    let library = opening.unwrap().wait().unwrap();
    let feed = Feed::of(library.connection()).unwrap();
    (library, feed)
}

fn write(library: &Database, work: impl FnOnce(&Transaction)) {
    let transaction = library.write(["books", "loans"]).unwrap();
    work(&transaction);
    transaction.commit().unwrap().wait().unwrap();
}

fn put(library: &Database, store: &str, key: f64, value: &Json) {
    write(library, |transaction| {
        let store = transaction.object_store(store).unwrap();
        let value = Value::serialize(value).unwrap();
        store.put(value, Some(Key::Number(key))).unwrap().detach();
    });
}

fn remove(library: &Database, store: &str, key: f64) {
    write(library, |transaction| {
        let store = transaction.object_store(store).unwrap();
        store.delete(key).unwrap().detach();
    });
}

/// Numbers and kinds of what is retained.
fn retained(feed: &Feed, options: ReadOptions) -> Vec<(u64, RevisionKind)> {
    let mut reader = feed.read_from(0, options);
    let mut all = Vec::new();
    while let Some(batch) = block_on(reader.next()).unwrap() {
        let revisions = batch.revisions().iter();
        all.extend(revisions.map(|revision| (revision.number(), revision.kind())));
    }
    all
}

fn clean(feed: &Feed) {
    while block_on(feed.clean(CleanUp::new())).unwrap().is_more {}
}

use RevisionKind::{Creation, Modification, Removal};

#[test]
fn creating_modifying_and_removing_leave_one_two_and_two_revisions_and_clean_up_one_one_and_none() {
    let (library, feed) = library();
    put(&library, "books", 1.0, &json!({ "a": 1 }));
    assert_eq!(retained(&feed, ReadOptions::new()), [(1, Creation)]);
    put(&library, "books", 1.0, &json!({ "a": 2 }));
    assert_eq!(
        retained(&feed, ReadOptions::new()),
        [(1, Creation), (2, Modification)]
    );
    clean(&feed);
    assert_eq!(retained(&feed, ReadOptions::new()), [(2, Modification)]);
    remove(&library, "books", 1.0);
    assert_eq!(
        retained(&feed, ReadOptions::new()),
        [(2, Modification), (3, Removal)]
    );
    clean(&feed);
    assert_eq!(retained(&feed, ReadOptions::new()), []);
    // The last number is kept, and the next goes on.
    assert_eq!(block_on(feed.last()).unwrap(), 3);
    put(&library, "books", 1.0, &json!({ "a": 3 }));
    assert_eq!(retained(&feed, ReadOptions::new()), [(4, Creation)]);
}

#[test]
fn one_revision_number_counts_the_changes_of_all_object_stores() {
    let (library, feed) = library();
    put(&library, "books", 1.0, &json!({ "a": 1 }));
    put(&library, "loans", 1.0, &json!({ "b": 1 }));
    put(&library, "books", 1.0, &json!({ "a": 2 }));
    assert_eq!(block_on(feed.revisions_of("books", 1)).unwrap(), [1, 3]);
    assert_eq!(block_on(feed.revisions_of("loans", 1)).unwrap(), [2]);
    let third = block_on(feed.revision(3)).unwrap().unwrap();
    assert_eq!((third.kind(), third.key()), (Modification, Key::from(1)));
    assert_eq!(*third.object_store_name(), "books");
    assert!(block_on(feed.revision(4)).unwrap().is_none());
}

#[test]
fn revisions_sort_by_number_and_keys_that_are_multiples_of_256_are_apart() {
    let (library, feed) = library();
    for n in 1..=300 {
        put(&library, "books", f64::from(n % 3) * 256.0, &json!(n));
    }
    let numbers: Vec<u64> = retained(&feed, ReadOptions::new())
        .iter()
        .map(|(n, _)| *n)
        .collect();
    assert_eq!(numbers, (1..=300).collect::<Vec<_>>());
    clean(&feed);
    // Each record once, as it is now.
    let numbers: Vec<u64> = retained(&feed, ReadOptions::new())
        .iter()
        .map(|(n, _)| *n)
        .collect();
    assert_eq!(numbers, [298, 299, 300]);
}

#[test]
fn what_is_not_committed_is_in_no_feed() {
    let (library, feed) = library();
    let transaction = library.write("books").unwrap();
    let store = transaction.object_store("books").unwrap();
    let put = store
        .put(Value::serialize("Emma").unwrap(), Some(1.into()))
        .unwrap();
    put.wait().unwrap();
    assert_eq!(retained(&feed, ReadOptions::new()), []);
    transaction.abort(None).unwrap();
    assert!(transaction.finished().wait().is_err());
    assert_eq!(
        (
            retained(&feed, ReadOptions::new()),
            block_on(feed.last()).unwrap()
        ),
        (vec![], 0)
    );
}

#[test]
fn changed_properties_are_those_whose_values_differ() {
    let (library, feed) = library();
    put(
        &library,
        "books",
        1.0,
        &json!({ "gone": 1, "same": [1, { "x": 2 }], "title": "Emma" }),
    );
    put(
        &library,
        "books",
        1.0,
        &json!({ "new": null, "same": [1, { "x": 2 }], "title": "Persuasion" }),
    );
    put(&library, "books", 1.0, &json!(7));
    remove(&library, "books", 1.0);
    let changed = |number| block_on(feed.changed_properties(number)).unwrap();
    let names = |names: &[&str]| {
        Some(
            names
                .iter()
                .map(|name| JsString::from(*name))
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(changed(1), names(&["gone", "same", "title"]));
    assert_eq!(changed(2), names(&["new", "title", "gone"]));
    assert_eq!(changed(3), names(&[""]));
    assert_eq!(changed(4), names(&[]));
    assert_eq!(changed(5), None);
    // An array is no plain object.
    put(&library, "books", 1.0, &json!([1]));
    put(&library, "books", 1.0, &json!([2]));
    put(&library, "books", 1.0, &json!([2]));
    assert_eq!(changed(6), names(&[""]));
    assert_eq!(changed(7), names(&[]));
}

#[test]
fn transactions_are_told_apart_also_where_a_filter_leaves_out_their_ends() {
    let (library, feed) = library();
    for n in 1..=3 {
        write(&library, |transaction| {
            for (store, key) in [("books", 1.0), ("loans", n.into()), ("loans", 9.0)] {
                let store = transaction.object_store(store).unwrap();
                let value = Value::serialize(&n).unwrap();
                store.put(value, Some(Key::Number(key))).unwrap().detach();
            }
        });
    }
    let transactions = |options: ReadOptions| {
        let batch = block_on(feed.read_from(0, options).next())
            .unwrap()
            .unwrap();
        let transactions = batch.transactions().map(|transaction| {
            let revisions = transaction.revisions.iter();
            let numbers: Vec<u64> = revisions.map(|revision| revision.number()).collect();
            let is_one = transaction.committed_at_ms.is_some();
            (numbers, transaction.position, is_one)
        });
        transactions.collect::<Vec<_>>()
    };
    let all = [
        (vec![1, 2, 3], 3, true),
        (vec![4, 5, 6], 6, true),
        (vec![7, 8, 9], 9, true),
    ];
    assert_eq!(transactions(ReadOptions::new()), all);
    let books = [(vec![1], 3, true), (vec![4], 6, true), (vec![7], 9, true)];
    assert_eq!(
        transactions(ReadOptions::new().object_stores(["books"])),
        books
    );
    let third = [(vec![], 3, true), (vec![], 6, true), (vec![8], 9, true)];
    assert_eq!(
        transactions(ReadOptions::new().keys(KeyRange::only(3))),
        third
    );
    clean(&feed);
    // What clean-up has left: of each record the last.
    assert_eq!(
        transactions(ReadOptions::new()),
        [(vec![2, 5, 7, 8, 9], 9, true)]
    );
}

#[test]
fn a_filter_leaves_out_revisions_and_the_position_passes_them() {
    let (library, feed) = library();
    for n in 1..=4 {
        put(
            &library,
            if n % 2 == 0 { "loans" } else { "books" },
            f64::from(n),
            &json!(n),
        );
    }
    remove(&library, "books", 3.0);
    let from_source = TransactionOptions::new().from_source(true);
    let synced = library
        .connection()
        .transaction("books", TransactionMode::ReadWrite, from_source);
    let synced = synced.unwrap();
    let store = synced.object_store("books").unwrap();
    store
        .put(Value::serialize(&9).unwrap(), Some(9.into()))
        .unwrap()
        .detach();
    synced.commit().unwrap().wait().unwrap();
    let numbers = |options| -> Vec<u64> {
        retained(&feed, options)
            .iter()
            .map(|(number, _)| *number)
            .collect()
    };
    assert_eq!(numbers(ReadOptions::new().object_stores(["loans"])), [2, 4]);
    assert_eq!(numbers(ReadOptions::new().kinds([Removal])), [5]);
    assert_eq!(
        numbers(ReadOptions::new().keys(KeyRange::from(3..))),
        [3, 4, 5, 6]
    );
    assert_eq!(
        numbers(ReadOptions::new().without_source(true)),
        [1, 2, 3, 4, 5]
    );
    let mut reader = feed.read_from(0, ReadOptions::new().kinds([]));
    assert_eq!(block_on(reader.next()).unwrap().unwrap().position(), 6);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the reader waits in another thread, which is joined"
)]
fn a_live_reader_gets_what_is_committed_before_and_while_it_waits() {
    let (library, feed) = library();
    put(&library, "books", 1.0, &json!(1));
    let mut reader = feed.read_from(0, ReadOptions::new());
    assert_eq!(block_on(reader.next_live()).unwrap().position(), 1);
    // Committed after it was ready, before it waits.
    put(&library, "books", 2.0, &json!(2));
    put(&library, "books", 3.0, &json!(3));
    assert_eq!(block_on(reader.next_live()).unwrap().position(), 3);
    {
        let mut next = pin!(reader.next_live());
        let mut context = Context::from_waker(Waker::noop());
        // Its own reads are under way, and then it waits.
        for _ in 0..100 {
            assert!(next.as_mut().poll(&mut context).is_pending());
            std::thread::yield_now();
        }
        put(&library, "loans", 4.0, &json!(4));
        assert_eq!(block_on(next).unwrap().position(), 4);
    }
    // The end of the connection ends the waiting.
    let closing = library.connection().clone();
    let waiting = std::thread::spawn(move || block_on(reader.next_live()).map(drop));
    closing.close();
    let Err(Error::Database(error)) = waiting.join().unwrap() else {
        panic!("it goes on")
    };
    assert_eq!(error.name(), ErrorName::InvalidStateError);
}

#[test]
fn a_position_that_is_acknowledged_in_a_transaction_counts_if_that_is_committed() {
    let (library, feed) = library();
    put(&library, "books", 1.0, &json!(1));
    let consumer = block_on(feed.consumer("index")).unwrap();
    for commits in [false, true] {
        let transaction = consumer.transaction(&["loans"]).unwrap();
        let loans = transaction.object_store("loans").unwrap();
        loans
            .put(Value::serialize("seen").unwrap(), Some(1.into()))
            .unwrap()
            .detach();
        block_on(consumer.acknowledge_in(&transaction, 1)).unwrap();
        match commits {
            true => transaction.commit().unwrap().wait().unwrap(),
            false => transaction.abort(None).unwrap(),
        }
        let _ = transaction.finished().wait();
        assert_eq!(block_on(consumer.position()).unwrap(), u64::from(commits));
        let loans = library
            .read("loans")
            .unwrap()
            .object_store("loans")
            .unwrap();
        let count = loans.count(KeyRange::all()).unwrap().wait().unwrap();
        assert_eq!(count, u64::from(commits));
    }
    assert!(block_on(feed.remove_consumer("index")).unwrap());
    assert!(matches!(
        block_on(consumer.position()),
        Err(Error::NoConsumer { .. })
    ));
}

#[test]
fn a_consumer_that_was_left_behind_is_told_and_begins_anew() {
    let (library, feed) = library();
    put(&library, "books", 1.0, &json!(1));
    let consumer = block_on(feed.consumer("slow")).unwrap();
    block_on(consumer.acknowledge(1)).unwrap();
    remove(&library, "books", 1.0);
    put(&library, "books", 2.0, &json!(2));
    clean(&feed);
    assert_eq!(block_on(feed.cleaned()).unwrap(), 1, "it holds up clean-up");
    block_on(feed.clean(CleanUp::new().lag_max(1))).unwrap();
    let mut reader = block_on(consumer.read(ReadOptions::new())).unwrap();
    let error = block_on(reader.next()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::LeftBehind {
                position: 1,
                cleaned: 3
            }
        ),
        "{error}"
    );
    block_on(consumer.restart(0)).unwrap();
    let mut reader = block_on(consumer.read(ReadOptions::new())).unwrap();
    let batch = block_on(reader.next()).unwrap().unwrap();
    assert_eq!((batch.revisions().len(), batch.position()), (1, 3));
}

#[test]
fn the_feeds_object_stores_are_hidden_and_their_names_taken() {
    let (library, _) = library();
    assert_eq!(
        library.connection().object_store_names(),
        ["books", "loans"].map(JsString::from)
    );
    let error = library.read("larder.feed.revisions").unwrap_err();
    assert_eq!(error.name(), ErrorName::NotFoundError);
    let message = error.message();
    assert!(!message.contains("larder.feed.history"), "{message}");
    let reserved = TransactionOptions::new().reserved(true);
    let writing = library
        .connection()
        .transaction(
            "larder.feed.revisions",
            TransactionMode::ReadWrite,
            reserved,
        )
        .unwrap();
    let revisions = writing.object_store("larder.feed.revisions").unwrap();
    let put = revisions
        .put(Value::serialize(&1).unwrap(), Some(1.into()))
        .unwrap();
    assert!(put.wait().is_err(), "only commits write revisions");
    let opening = Database::in_memory("other", 1, |upgrade| {
        let made = ObjectStoreParameters::new();
        let taken = upgrade
            .transaction
            .create_object_store("larder.feed.mine", made);
        assert_eq!(taken.unwrap_err().name(), ErrorName::ConstraintError);
        upgrade.transaction.set_change_feed(true)?;
        let hidden = upgrade.transaction.object_store("larder.feed.history");
        assert_eq!(hidden.unwrap_err().name(), ErrorName::NotFoundError);
        let hidden = upgrade
            .transaction
            .delete_object_store("larder.feed.history");
        assert_eq!(hidden.unwrap_err().name(), ErrorName::NotFoundError);
        Ok(())
    });
    assert!(
        opening
            .unwrap()
            .wait()
            .unwrap()
            .connection()
            .has_change_feed()
    );
}

#[test]
fn a_key_too_deep_for_the_feeds_keys_is_refused_and_the_next_is_not() {
    let (library, feed) = library();
    let nested = |depth| (0..depth).fold(Key::from(1), |key, _| Key::array(vec![key]).unwrap());
    for (depth, is_taken) in [(1998, true), (1999, false)] {
        let transaction = library.write("books").unwrap();
        let store = transaction.object_store("books").unwrap();
        let put = store
            .put(Value::serialize(&1).unwrap(), Some(nested(depth)))
            .unwrap();
        assert_eq!(put.wait().is_ok(), is_taken, "{depth}");
        let _ = transaction.commit().map(larder_idb::Request::wait);
    }
    assert_eq!(
        block_on(feed.revisions_of("books", nested(1998))).unwrap(),
        [1]
    );
}

#[test]
fn a_batch_has_whole_transactions_however_long_these_are() {
    let (library, feed) = library();
    // Pages of reading end in the midst of the second, and of the fourth.
    let lens = [1000_i32, 2500, 1, 40];
    let mut ends = Vec::new();
    for len in lens {
        write(&library, |transaction| {
            let store = transaction.object_store("books").unwrap();
            for n in 0..len {
                let value = Value::serialize(&n).unwrap();
                store.put(value, Some(n.into())).unwrap().detach();
            }
        });
        ends.push(ends.last().unwrap_or(&0) + u64::from(len.unsigned_abs()));
    }
    let mut reader = feed.read_from(0, ReadOptions::new());
    let (mut last, mut positions) = (0, Vec::new());
    while let Some(batch) = block_on(reader.next()).unwrap() {
        for revision in batch.revisions() {
            assert_eq!(revision.number(), last + 1);
            last += 1;
        }
        assert_eq!(batch.position(), last);
        positions.push(last);
    }
    assert_eq!(Some(&last), ends.last());
    assert!(
        positions.iter().all(|end| ends.contains(end)),
        "{positions:?} are not all of {ends:?}"
    );
    assert!(positions.len() > 1, "{positions:?}");
}

#[test]
fn revisions_of_one_upgrade_have_the_names_that_the_object_store_had_at_the_time() {
    let opening = Database::in_memory("library", 1, |upgrade| {
        let transaction = &upgrade.transaction;
        transaction.set_change_feed(true)?;
        let books = transaction.create_object_store("books", ObjectStoreParameters::new())?;
        for (n, name) in ["novels", "poems", "books"].into_iter().enumerate() {
            books
                .put(Value::serialize(&n)?, Some((n as f64).into()))?
                .detach();
            books.rename(name)?;
        }
        books.put(Value::serialize(&3)?, Some(3.into()))?.detach();
        Ok(())
    });
    let library = opening.unwrap().wait().unwrap();
    let feed = Feed::of(library.connection()).unwrap();
    let mut reader = feed.read_from(0, ReadOptions::new());
    let batch = block_on(reader.next()).unwrap().unwrap();
    let found = batch.revisions().iter().map(|at| {
        (
            at.number(),
            at.object_store_name().to_string_lossy(),
            at.committed_at_ms().is_some(),
        )
    });
    let found: Vec<_> = found.collect();
    let expected = [
        (1, "books", false),
        (2, "novels", false),
        (3, "poems", false),
        (4, "books", true),
    ];
    let expected = expected.map(|(number, name, ends)| (number, name.to_owned(), ends));
    assert_eq!(found, expected);
    assert!(block_on(reader.next()).unwrap().is_none());
    assert_eq!(block_on(feed.revisions_of("books", 2)).unwrap(), [3]);
}

/// What a page finds in the consumer's record, as JSON.
fn consumer_record(library: &Database, name: &str) -> String {
    let options = TransactionOptions::new().reserved(true);
    let mode = TransactionMode::ReadOnly;
    let names = "larder.feed.consumers";
    let transaction = library.connection().transaction(names, mode, options);
    let transaction = transaction.unwrap();
    let found = transaction.object_store(names).unwrap().get(name).unwrap();
    let found = found.wait().unwrap().unwrap();
    serde_json::to_string(&found.tree().unwrap()).unwrap()
}

#[test]
fn a_consumer_notes_bytes_of_its_own_with_its_position() {
    let (library, feed) = library();
    put(&library, "books", 1.0, &json!(1));
    put(&library, "books", 2.0, &json!(2));
    let consumer = block_on(feed.consumer("mirror")).unwrap();
    assert_eq!(consumer_record(&library, "mirror"), "[0,0]");
    assert_eq!(block_on(consumer.note()).unwrap(), None);
    let note = |position, note: &[u8], is_committed: bool| {
        let transaction = consumer.transaction(&["books"]).unwrap();
        let noting = consumer.acknowledge_noting_in(&transaction, position, note);
        block_on(noting).unwrap();
        match is_committed {
            true => transaction.commit().unwrap().wait().unwrap(),
            false => transaction.abort(None).unwrap(),
        }
    };
    note(1, b"one", true);
    // The base64 of "one".
    assert_eq!(
        consumer_record(&library, "mirror"),
        r#"[1,0,{"$arraybuffer":"b25l"}]"#
    );
    note(2, b"two", false);
    assert_eq!(block_on(consumer.position()).unwrap(), 1);
    assert_eq!(block_on(consumer.note()).unwrap().unwrap(), b"one");
    // Acknowledging a position alone keeps it, and so does clean-up.
    block_on(consumer.acknowledge(2)).unwrap();
    clean(&feed);
    assert_eq!(block_on(consumer.position()).unwrap(), 2);
    assert_eq!(block_on(consumer.note()).unwrap().unwrap(), b"one");
    assert_eq!(
        block_on(feed.consumers()).unwrap(),
        [("mirror".to_owned(), 2)]
    );
    note(2, b"", true);
    assert_eq!(block_on(consumer.note()).unwrap().unwrap(), b"");
    block_on(consumer.restart(0)).unwrap();
    assert_eq!(block_on(consumer.note()).unwrap(), None);
    block_on(feed.remove_consumer("mirror")).unwrap();
    let gone = block_on(consumer.note());
    assert!(matches!(gone, Err(Error::NoConsumer { .. })), "{gone:?}");
}

#[test]
fn a_view_shows_the_feed_and_the_records_as_they_are_together() {
    let (library, feed) = library();
    put(&library, "books", 1.0, &json!(1));
    let view = feed.view().unwrap();
    assert_eq!(block_on(feed.last_in(&view)).unwrap(), 1);
    put(&library, "books", 1.0, &json!(2));
    remove(&library, "books", 1.0);
    put(&library, "loans", 1.0, &json!(3));
    let mut reader = feed.read_from(0, ReadOptions::new().values(true));
    let batch = block_on(reader.next_in(&view)).unwrap().unwrap();
    assert_eq!((batch.position(), batch.revisions().len()), (1, 1));
    assert!(block_on(reader.next_in(&view)).unwrap().is_none());
    assert_eq!(block_on(feed.last_in(&view)).unwrap(), 1);
    let books = view.object_store("books").unwrap();
    assert!(block_on(books.get(1).unwrap()).unwrap().is_some());
    // It goes on from there in another one.
    let batch = block_on(reader.next()).unwrap().unwrap();
    assert_eq!(batch.position(), 4);
}
