//! Clean-up: what it leaves in the store's rows, beneath what transactions show, and that what it has begun on stays whole.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use larder_backing_store::IdbComparator;
use larder_feed::{CleanUp, ReadOptions};
use larder_idb::codec::KeyPrefix;
use larder_idb::{
    FileSystem, Key, MemoryFileSystem, Origin, TransactionMode, TransactionOptions, Value,
};
use larder_leveldb::{Background, Db, Options};

use crate::host::{Host, number_of};
use crate::naive::Step;
use crate::others;

/// A database with a feed, and the object stores 0 and 1.
fn open(fs: &Arc<MemoryFileSystem>) -> (Host, BTreeMap<u64, String>) {
    let mut host = Host::open(Arc::clone(fs) as Arc<dyn FileSystem>, false).unwrap();
    let steps = [
        Step::Create("a".into()),
        Step::Create("b".into()),
        Step::Feed(true),
    ];
    host.upgrade(&steps, &BTreeMap::new(), false).unwrap();
    (host, [(0, "a".into()), (1, "b".into())].into())
}

fn commit(host: &Host, names: &BTreeMap<u64, String>, steps: &[Step]) {
    let transaction = host.begin(false, steps, names, false).unwrap();
    host.wait(transaction.commit().unwrap()).unwrap();
}

/// Cleans up all but so many of the last revisions; how many have gone.
fn clean(host: &Host, keep: u64) -> u64 {
    let options = CleanUp::new().keep_revisions(keep);
    let mut gone = 0;
    loop {
        let step = host.wait(host.feed().unwrap().clean(options)).unwrap();
        gone += step.revisions;
        if !step.is_more {
            return gone;
        }
    }
}

/// How many rows an object store of the feed has, by their table: 1 and 2 for the records, 3 for external objects, 31 for its index.
fn rows(fs: &Arc<MemoryFileSystem>, host: &Host, name: &str) -> Vec<(u32, usize)> {
    let id = host.reserved(name).number().unwrap().unsigned_abs();
    let origin = Origin::from_url("https://a.example").unwrap();
    let folder = Path::new("/store").join(origin.leveldb_folder_name());
    let mut options = Options::new(Arc::new(IdbComparator));
    options.background = Background::Caller;
    let db = Db::open_read_only(Arc::clone(fs) as _, &folder, options).unwrap();
    let mut iter = db.iter();
    iter.seek_to_first().unwrap();
    let mut counts = BTreeMap::new();
    while iter.valid() {
        let (prefix, _) = KeyPrefix::decode(iter.key()).unwrap();
        if prefix.object_store == id && prefix.index != 0 {
            *counts.entry(prefix.index).or_default() += 1;
        }
        iter.next().unwrap();
    }
    counts.into_iter().collect()
}

#[test]
fn what_goes_leaves_no_row_in_any_table() {
    let fs = Arc::new(MemoryFileSystem::new());
    let (host, names) = open(&fs);
    let revisions = || rows(&fs, &host, "larder.feed.revisions");
    let history = || rows(&fs, &host, "larder.feed.history");
    // The first value has a blob.
    commit(&host, &names, &[Step::Put(0, 1, 5), Step::Put(1, 1, 2)]);
    assert_eq!(revisions(), [(1, 1), (2, 1), (31, 2)]);
    assert_eq!(history(), []);
    commit(&host, &names, &[Step::Put(0, 1, 3), Step::Put(0, 2, 4)]);
    assert_eq!(revisions(), [(1, 2), (2, 2), (31, 3)]);
    assert_eq!(history(), [(1, 1), (3, 1)]);
    // One revision of two goes: its record stays, with both entries.
    assert_eq!(clean(&host, 0), 1);
    assert_eq!(revisions(), [(1, 2), (2, 2), (31, 3)]);
    assert_eq!(history(), []);
    commit(&host, &names, &[Step::Clear(0), Step::Clear(1)]);
    assert_eq!(revisions(), [(1, 3), (2, 3), (31, 5)]);
    assert_eq!(history(), [(1, 3)]);
    assert_eq!(clean(&host, 0), 6);
    assert_eq!(revisions(), []);
    assert_eq!(history(), []);
}

/// A store whose history has exists rows, as commits wrote them once, and as a page writes them.
#[test]
fn a_history_with_exists_rows_is_read_and_leaves_none() {
    let fs = Arc::new(MemoryFileSystem::new());
    let (host, names) = open(&fs);
    commit(&host, &names, &[Step::Put(0, 1, 1), Step::Put(0, 2, 2)]);
    commit(&host, &names, &[Step::Put(0, 1, 3)]);
    let number = host.reserved("larder.feed.history").number().unwrap();
    host.storage.close().unwrap();
    others::add_exists_rows(Arc::clone(&fs) as _, number);
    let host = Host::open(Arc::clone(&fs) as _, false).unwrap();
    let history = || rows(&fs, &host, "larder.feed.history");
    assert_eq!(history(), [(1, 1), (2, 1)]);
    commit(&host, &names, &[Step::Put(0, 2, 4)]);
    assert_eq!(history(), [(1, 2), (2, 1)]);
    // Keys alone find both, a walk as well as a look-up.
    assert_eq!(host.count_of("larder.feed.history"), 2);
    let feed = host.feed().unwrap();
    for (revision, expected) in [(2, [1, 2]), (3, [3, 2]), (4, [3, 4])] {
        let past = host.wait(feed.at(revision)).unwrap();
        let past = host.wait(past.object_store("a")).unwrap();
        for (key, number) in [1, 2].into_iter().zip(expected) {
            let (_, value) = host.wait(past.get(key)).unwrap().unwrap();
            assert_eq!(number_of(&value), number);
        }
    }
    assert_eq!(clean(&host, 0), 2);
    assert_eq!(history(), []);
}

#[test]
fn a_step_of_clean_up_ends_sooner_where_keys_are_long() {
    let fs = Arc::new(MemoryFileSystem::new());
    let (host, _) = open(&fs);
    for turn in 0..2 {
        let (mode, options) = (TransactionMode::ReadWrite, TransactionOptions::new());
        let transaction = host.connection.transaction("a", mode, options).unwrap();
        let store = transaction.object_store("a").unwrap();
        for number in 0..10_u8 {
            let key = Key::Binary(vec![number; 100 << 10]);
            let value = Value::serialize(&turn).unwrap();
            store.put(value, Some(key)).unwrap().detach();
        }
        host.wait(transaction.commit().unwrap()).unwrap();
    }
    let feed = host.feed().unwrap();
    let (mut gone, mut most) = (0, 0);
    loop {
        let step = host.wait(feed.clean(CleanUp::new())).unwrap();
        gone += step.revisions;
        most = most.max(step.revisions);
        if !step.is_more {
            break;
        }
    }
    assert_eq!(gone, 10);
    assert!(most <= 3, "{most} in one step");
}

#[test]
fn a_transaction_in_whose_midst_clean_up_stops_is_one_batch() {
    let fs = Arc::new(MemoryFileSystem::new());
    let (host, names) = open(&fs);
    // More records of revisions than a page of reading, and than a step of clean-up looks at.
    let steps: Vec<Step> = (0..2500).map(|key| Step::Put(0, key, 1)).collect();
    commit(&host, &names, &steps);
    assert_eq!(clean(&host, 1500), 0);
    let feed = host.feed().unwrap();
    assert_eq!(host.wait(feed.cleaned()).unwrap(), 1000);
    for position in [0, 1000, 1001] {
        let mut reader = feed.read_from(position, ReadOptions::new());
        let batch = host.wait(reader.next()).unwrap().unwrap();
        let found = batch.revisions().iter();
        let found: Vec<u64> = found.map(larder_feed::Revision::number).collect();
        assert_eq!(found, (position + 1..=2500).collect::<Vec<_>>());
        let ends = batch.revisions().iter();
        let ends = ends.filter(|at| at.committed_at_ms().is_some());
        let ends: Vec<u64> = ends.map(larder_feed::Revision::number).collect();
        assert_eq!(ends, [2500]);
        assert!(host.wait(reader.next()).unwrap().is_none());
    }
}
