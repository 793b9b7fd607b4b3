//! Beside programs that know nothing of the feed: when the two are compared, and what happens if the feed's own rows were touched.

use std::sync::Arc;

use larder_backing_store::{BackingStore, CaughtUp, FixedClock, StorePaths, WriteOptions};
use larder_feed::{CleanUp, Error, Progress, ReadOptions, Revision, RevisionKind, Sent};
use larder_idb::codec::{DatabaseId, Origin};
use larder_idb::{Key, MemoryFileSystem, TransactionMode, TransactionOptions};
use larder_leveldb::storage::CrashImage;

use crate::host::Host;
use crate::naive::{Naive, Step};
use crate::others::{self, FOLDER};
use crate::program::compare;

/// A closed store with a feed and some records, and the model of it.
fn tracked(fs: &MemoryFileSystem) -> (Naive, i64) {
    let mut naive = Naive::default();
    let mut host = Host::open(Arc::new(fs.clone()), false).unwrap();
    let steps = vec![Step::Create("a".into()), Step::Feed(true)];
    host.upgrade(&steps, &naive.names, false).unwrap();
    naive.commit(&steps, false);
    commit(
        &host,
        &mut naive,
        &[Step::Put(0, 1, 1), Step::Put(0, 2, 2), Step::Put(0, 3, 3)],
    );
    commit(
        &host,
        &mut naive,
        &[Step::Put(0, 1, 4), Step::Delete(0, 3, 3)],
    );
    let number = host.number_of("a");
    host.storage.close().unwrap();
    (naive, number)
}

fn commit(host: &Host, naive: &mut Naive, steps: &[Step]) {
    let transaction = host.begin(false, steps, &naive.names, false).unwrap();
    host.wait(transaction.commit().unwrap()).unwrap();
    naive.commit(steps, false);
}

/// What catching up does to a store that is closed.
fn caught_up(fs: &MemoryFileSystem) -> CaughtUp {
    let origin = Origin::from_url("https://a.example").unwrap();
    let options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
    let paths = StorePaths::of_leveldb(FOLDER.as_ref());
    let store = BackingStore::open(Arc::new(fs.clone()), paths, options).unwrap();
    let done = store.catch_up(DatabaseId::MIN).unwrap();
    assert_eq!(
        store.catch_up(DatabaseId::MIN).unwrap(),
        CaughtUp::default()
    );
    store.close().unwrap();
    done
}

const NOTHING: CaughtUp = CaughtUp {
    compared: false,
    changed: false,
};

#[test]
fn where_nobody_has_written_since_the_store_was_closed_nothing_is_compared() {
    let fs = MemoryFileSystem::new();
    let (naive, number) = tracked(&fs);
    assert_eq!(caught_up(&fs), NOTHING);
    // Nor where the database was not used, and another was.
    let host = Host::open(Arc::new(fs.clone()), false).unwrap();
    host.storage.close().unwrap();
    let mut options = larder_idb::StorageOptions::new(
        Arc::new(fs.clone()),
        "/store",
        Arc::new(FixedClock::default()),
    );
    options.executor = larder_idb::Executor::Driven { seed: None };
    let storage = larder_idb::Storage::new(options).unwrap();
    let origin = larder_idb::Origin::from_url("https://a.example").unwrap();
    let opening = storage.factory(&origin).open("another", Some(1)).unwrap();
    opening.connection().wait().unwrap();
    storage.close().unwrap();
    assert_eq!(caught_up(&fs), NOTHING);
    // Another program has opened it, and written nothing.
    others::write(Arc::new(fs.clone()), &[], &[(0, number)].into());
    assert_eq!(caught_up(&fs), NOTHING);
    compare(&Host::open(Arc::new(fs), false).unwrap(), &naive).unwrap();
}

#[test]
fn after_a_crash_they_are_compared_once_and_are_equal() {
    let fs = MemoryFileSystem::new();
    let (mut naive, _) = tracked(&fs);
    let host = Host::open(Arc::new(fs.clone()), false).unwrap();
    commit(&host, &mut naive, &[Step::Put(0, 7, 7)]);
    let image = fs.crash_image(CrashImage::KeepWritten);
    drop(host);
    let compared = CaughtUp {
        compared: true,
        changed: false,
    };
    assert_eq!(caught_up(&image), compared);
    assert_eq!(caught_up(&image), NOTHING);
    compare(&Host::open(Arc::new(image), false).unwrap(), &naive).unwrap();
}

#[test]
fn a_transaction_that_writes_catches_up_first() {
    let fs = MemoryFileSystem::new();
    let (mut naive, number) = tracked(&fs);
    let steps = [Step::Put(0, 1, 6), Step::Put(0, 9, 7)];
    others::write(Arc::new(fs.clone()), &steps, &[(0, number)].into());
    naive.others(&steps);
    let changed = CaughtUp {
        compared: true,
        changed: true,
    };
    assert_eq!(caught_up(&fs.crash_image(CrashImage::KeepWritten)), changed);
    let origin = Origin::from_url("https://a.example").unwrap();
    let options = WriteOptions::new(origin, Arc::new(FixedClock::default()));
    let paths = StorePaths::of_leveldb(FOLDER.as_ref());
    let store = BackingStore::open(Arc::new(fs.clone()), paths, options).unwrap();
    let scope = larder_backing_store::Scope::VersionChange(DatabaseId::MIN);
    let transaction = store.begin(scope, larder_backing_store::Durability::Relaxed);
    transaction.unwrap().rollback();
    store.close().unwrap();
    assert_eq!(caught_up(&fs), NOTHING);
    compare(&Host::open(Arc::new(fs), false).unwrap(), &naive).unwrap();
}

/// A feed of which a row was touched: it begins anew, and its consumers are left behind.
fn begins_anew(touch: impl Fn(&[u8], &[u8]) -> Option<Vec<u8>>) {
    let fs = MemoryFileSystem::new();
    let (mut naive, _) = tracked(&fs);
    let host = Host::open(Arc::new(fs.clone()), false).unwrap();
    let feed = host.feed().unwrap();
    let consumer = host.wait(feed.consumer("c")).unwrap();
    assert_eq!(host.wait(feed.last()).unwrap(), 5);
    host.wait(consumer.acknowledge(5)).unwrap();
    let revisions = host.reserved("larder.feed.revisions").number().unwrap();
    host.storage.close().unwrap();
    others::touch(Arc::new(fs.clone()), revisions, touch);
    let host = Host::open(Arc::new(fs), false).unwrap();
    let feed = host.feed().unwrap();
    let consumer = host.wait(feed.consumer("c")).unwrap();
    let mut reader = host.wait(consumer.read(ReadOptions::new())).unwrap();
    let told = host.wait(reader.next());
    assert!(
        matches!(
            told,
            Err(Error::LeftBehind {
                position: 5,
                cleaned: 6
            })
        ),
        "{told:?}"
    );
    host.wait(consumer.restart(0)).unwrap();
    let mut reader = host.wait(consumer.read(ReadOptions::new())).unwrap();
    let batch = host.wait(reader.next()).unwrap().unwrap();
    let found = batch.revisions().iter();
    let found: Vec<_> = found.map(|at| (at.number(), at.kind(), at.key())).collect();
    let creation = RevisionKind::Creation;
    // In the order in which the records were put.
    assert_eq!(
        found,
        [(7, creation, Key::from(2)), (8, creation, Key::from(1))]
    );
    assert_eq!(host.wait(feed.last()).unwrap(), 8);
    assert_eq!(host.count_of("larder.feed.history"), 0);
    assert_eq!(host.wait(feed.revisions_of("a", 1)).unwrap(), [8]);
    // And goes on.
    commit(&host, &mut naive, &[Step::Put(0, 2, 9)]);
    assert_eq!(host.wait(feed.revisions_of("a", 2)).unwrap(), [7, 9]);
    while host.wait(feed.clean(CleanUp::new())).unwrap().is_more {}
    let found = crate::host::records(&host).unwrap();
    let found: Vec<_> = found
        .into_iter()
        .map(|((_, key), value)| (key, value))
        .collect();
    assert_eq!(found, [(1, 4), (2, 9)]);
}

#[test]
fn a_feed_of_which_a_record_is_gone_begins_anew() {
    // The record of the first three.
    let first = Key::encode_number(3.0);
    begins_anew(|key, _| key.ends_with(&first).then(Vec::new));
}

#[test]
fn a_feed_of_which_a_record_is_something_else_begins_anew() {
    begins_anew(|_, value| {
        let at = value.windows(7).position(|part| part == b"changes")?;
        let mut other = value.to_vec();
        other[at] = b'C';
        Some(other)
    });
}

#[test]
fn what_was_is_lost_with_what_others_overwrite_and_what_is_undefined_is_not() {
    let fs = MemoryFileSystem::new();
    let (mut naive, number) = tracked(&fs);
    let steps = [Step::Put(0, 1, 6), Step::Delete(0, 2, 2)];
    others::write(Arc::new(fs.clone()), &steps, &[(0, number)].into());
    naive.others(&steps);
    let host = Host::open(Arc::new(fs), false).unwrap();
    compare(&host, &naive).unwrap();
    let feed = host.feed().unwrap();
    assert_eq!(host.wait(feed.revisions_of("a", 1)).unwrap(), [1, 4, 6]);
    assert_eq!(host.wait(feed.revisions_of("a", 2)).unwrap(), [2, 7]);
    // What had been overwritten before is in the history as ever.
    let revision = |number| host.wait(feed.revision(number)).unwrap().unwrap();
    let is_known = [1, 2, 4, 6].map(|number| revision(number).value().is_some());
    assert_eq!(is_known, [true, false, false, true]);
    assert_eq!(host.wait(feed.changed_properties(6)).unwrap(), None);
    let past = host.wait(feed.at(5)).unwrap();
    let store = host.wait(past.object_store("a")).unwrap();
    let told = host.wait(store.get(1));
    let is_told = matches!(
        told,
        Err(Error::NotRetained {
            revision: 5,
            first: 6,
            last: 7
        })
    );
    assert!(is_told, "{told:?}");
    // Writers wait for those that read.
    drop((past, store));
    // A value that is undefined, with a later one over it.
    let mut undefined = Vec::new();
    let mut builder = larder_idb::codec::value::Builder::begin(&mut undefined);
    builder.undefined();
    let needs = builder.end();
    for value in [
        larder_idb::Value::from_written(undefined, needs),
        larder_idb::Value::serialize("later").unwrap(),
    ] {
        let (mode, options) = (TransactionMode::ReadWrite, TransactionOptions::new());
        let transaction = host.connection.transaction("a", mode, options).unwrap();
        let store = transaction.object_store("a").unwrap();
        store.put(value, Some(Key::from(5))).unwrap().detach();
        host.wait(transaction.commit().unwrap()).unwrap();
    }
    assert!(revision(8).value().is_some());
}

#[test]
fn a_value_that_others_have_overwritten_cannot_go_back_to_the_source() {
    let fs = MemoryFileSystem::new();
    let (_, number) = tracked(&fs);
    let steps = [Step::Put(0, 1, 7), Step::Put(0, 2, 8)];
    others::write(Arc::new(fs.clone()), &steps, &[(0, number)].into());
    let host = Host::open(Arc::new(fs), false).unwrap();
    let consumer = host.wait(host.feed().unwrap().consumer("source")).unwrap();
    let options = ReadOptions::new().values(true);
    let mut write_back = host.wait(consumer.write_back(options)).unwrap();
    let mut progress = Vec::new();
    while let Some(made) = host
        .wait(write_back.next(async |_: &Revision| Sent::Done))
        .unwrap()
    {
        progress.push(made);
    }
    let (done, skipped) = (Progress::Done, Progress::Skipped);
    assert_eq!(
        progress,
        [
            done(1),
            skipped(2),
            done(3),
            skipped(4),
            done(5),
            done(6),
            done(7)
        ]
    );
    assert_eq!(write_back.skipped(), 2);
}
