//! Pages in memory, beside maps.

mod crash;
mod fanout;
mod inspection;
mod rows;
mod sync;

use super::*;
use crate::object::Priority;
use larder_fixtures::random::Random;
use larder_leveldb::storage::MemoryFileSystem;
use larder_leveldb::{Background, Durability, Options};
pub(crate) use rows::check_rows;
use std::collections::BTreeMap;

/// Everything in one thread, a table after each few writes.
pub(crate) fn options() -> PageOptions {
    PageOptions {
        db: Options {
            background: Background::Caller,
            write_buffer_bytes: 64 << 10,
            ..Options::default()
        },
        ..PageOptions::default()
    }
}

pub(crate) fn open_with(options: PageOptions) -> Page {
    Page::open(
        Arc::new(MemoryFileSystem::new()),
        Path::new("page"),
        options,
    )
    .unwrap()
}

pub(crate) fn open() -> Page {
    open_with(options())
}

pub(crate) type Map = BTreeMap<Vec<u8>, Vec<u8>>;

pub(crate) fn content(page: &Page, commit: &Commit) -> Map {
    let snapshot = page.snapshot(commit, b"");
    let mut map = Map::new();
    let mut from = Vec::new();
    loop {
        let limits = ListLimits {
            count_max: 17,
            bytes_max: 40_000,
        };
        let listed = snapshot.list_entries(&from, limits).unwrap();
        map.extend(
            listed
                .entries
                .into_iter()
                .map(|entry| (entry.key, entry.value.unwrap())),
        );
        match listed.next {
            Some(next) => from = next,
            None => return map,
        }
    }
}

/// A value of some length, often long enough for several pieces.
pub(crate) fn value(random: &mut Random) -> Vec<u8> {
    let len = [3, 20, 33, 500, 9000, 90_000][random.below(6) as usize];
    let mut noise = Random::new(random.below(40));
    (0..len).map(|_| noise.next() as u8).collect()
}

/// Random changes of a journal and a map alike.
pub(crate) fn change(random: &mut Random, journal: &mut Journal, map: &mut Map, keys: u64) {
    for _ in 0..random.below(8) {
        let key = format!("key{}", random.below(keys)).into_bytes();
        let value = value(random);
        match random.below(12) {
            0..3 => {
                journal.delete(&key).unwrap();
                map.remove(&key);
            }
            3 => {
                journal
                    .put_stream(&key, &value[..], Priority::Lazy)
                    .unwrap();
                map.insert(key, value);
            }
            4 if random.below(4) == 0 => {
                journal.clear();
                map.clear();
            }
            _ => {
                journal.put(&key, &value).unwrap();
                map.insert(key, value);
            }
        }
    }
}

#[test]
fn commits_hold_what_a_map_holds_and_collection_takes_the_rest_as_was_said_before() {
    let mut gone = (0, 0);
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let policy = [
            CollectPolicy::EagerRootNodes,
            CollectPolicy::EagerLiveReferences,
        ];
        let page = open_with(PageOptions {
            collect: policy[random.below(2) as usize],
            prune: [PrunePolicy::Never, PrunePolicy::LocalImmediate][random.below(2) as usize],
            fanout: [Fanout::Of256, Fanout::Of16][random.below(2) as usize],
            ..options()
        });
        let mut history: Vec<(Commit, Map)> = vec![(Commit::first(), Map::new())];
        let mut held = Vec::new();
        for step in 0..30 {
            let (base, map) = history.last().unwrap();
            let (mut map, mut journal) = (map.clone(), page.begin_on(base));
            change(&mut random, &mut journal, &mut map, 40);
            if random.below(5) == 0 {
                continue;
            }
            let commit = page.commit(journal, Timestamp(step)).unwrap();
            assert_eq!(page.heads(), std::slice::from_ref(&commit), "seed {seed}");
            if random.below(4) == 0 {
                held.push((page.snapshot(&commit, b""), map.clone()));
            }
            history.push((commit, map));
            if random.below(6) == 0 {
                for id in page.unsynced_commits().unwrap() {
                    page.mark_synced(&[], &[id]).unwrap();
                }
            }
            if random.below(4) == 0 {
                let would = page.collectable().unwrap();
                assert_eq!(page.prune().unwrap(), would.commits, "seed {seed}");
                assert_eq!(page.collect().unwrap(), would.collected, "seed {seed}");
                gone.0 += would.commits;
                gone.1 += would.collected.pieces;
                check_rows(&page, true);
            }
        }
        let (head, map) = history.last().unwrap();
        assert_eq!(content(&page, head), *map, "seed {seed}");
        for (snapshot, map) in held {
            for (key, value) in &map {
                assert_eq!(
                    snapshot.get(key).unwrap().as_ref(),
                    Some(value),
                    "seed {seed}"
                );
            }
        }
        page.prune().unwrap();
        page.collect().unwrap();
        check_rows(&page, true);
        for (commit, map) in &history {
            if page.commit_by_id(commit.id()).unwrap().is_some() {
                assert_eq!(content(&page, commit), *map, "seed {seed}");
            }
        }
    }
    assert!(
        gone.0 > 20 && gone.1 > 400,
        "little was collected: {gone:?}"
    );
}

#[test]
fn changes_that_change_nothing_are_no_commit() {
    let page = open();
    let mut journal = page.begin().unwrap();
    journal.delete(b"a").unwrap();
    assert_eq!(page.commit(journal, Timestamp(1)).unwrap(), Commit::first());
    let mut journal = page.begin().unwrap();
    journal.put(b"a", &[1; 50]).unwrap();
    let one = page.commit(journal, Timestamp(2)).unwrap();
    let mut journal = page.begin().unwrap();
    journal.clear();
    journal.put(b"a", &[1; 50]).unwrap();
    assert_eq!(page.commit(journal, Timestamp(3)).unwrap(), one);
    assert_eq!(
        (one.generation(), one.parents()),
        (1, &[CommitId::FIRST][..])
    );
    let mut journal = page.begin().unwrap();
    journal.clear();
    let two = page.commit(journal, Timestamp(4)).unwrap();
    assert_eq!(two.root(), Tree::empty_root());
    check_rows(&page, false);
}

#[test]
fn nothing_is_written_before_the_commit() {
    let page = open();
    let before = page.0.db.latest_sequence();
    let mut journal = page.begin().unwrap();
    for i in 0..100_u8 {
        journal.put(&[i], &[i; 100]).unwrap();
    }
    assert_eq!(page.0.db.latest_sequence(), before);
    let commit = page.commit(journal, Timestamp(1)).unwrap();
    check_rows(&page, false);
    let mut journal = page.begin().unwrap();
    journal
        .put_stream(b"film", std::io::repeat(7).take(5_000_000), Priority::Eager)
        .unwrap();
    assert!(page.0.db.latest_sequence() > before);
    drop(journal);
    assert_eq!(page.heads(), [commit]);
    assert!(page.collect().unwrap().pieces > 0);
    check_rows(&page, true);
}

use std::io::Read;

#[test]
fn values_are_read_in_parts_and_shared_by_reference() {
    let page = open();
    let noise: Vec<u8> = {
        let mut random = Random::new(3);
        (0..3_000_000).map(|_| random.next() as u8).collect()
    };
    let value = page.create_value(&noise[..]).unwrap();
    page.collect().unwrap();
    let mut journal = page.begin().unwrap();
    journal.put_value(b"one", &value, Priority::Eager).unwrap();
    journal.put_value(b"two", &value, Priority::Lazy).unwrap();
    drop(value);
    page.collect().unwrap();
    let commit = page.commit(journal, Timestamp(1)).unwrap();
    let snapshot = page.snapshot(&commit, b"");
    let part = snapshot.get_part(b"two", -1_000_000, 10).unwrap().unwrap();
    assert_eq!(part, noise[2_000_000..2_000_010]);
    let mut all = Vec::new();
    snapshot
        .open(b"one")
        .unwrap()
        .unwrap()
        .read_to_end(&mut all)
        .unwrap();
    assert!(all == noise);
    page.collect().unwrap();
    check_rows(&page, true);
    let other = open();
    let value = other.create_value(&b"x"[..]).unwrap();
    let error = page
        .begin()
        .unwrap()
        .put_value(b"k", &value, Priority::Eager)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
}

/// Bytes, with a collection before each part of them.
struct Collecting<'a>(&'a Page, &'a [u8], u64);

impl Read for Collecting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.2 += self.0.collect().unwrap().pieces;
        self.1.read(buffer)
    }
}

#[test]
fn a_collection_takes_nothing_of_a_value_that_is_being_written() {
    // More than an index has room for, and a stretch that comes again and again.
    let mut value = Random::new(4).bytes(8 << 20);
    let film = value[..2 << 20].to_vec();
    value.extend_from_slice(&film);
    value.extend_from_slice(&[0; 2 << 20]);
    let page = open_with(PageOptions {
        collect: CollectPolicy::EagerLiveReferences,
        ..options()
    });
    let mut collecting = Collecting(&page, &value, 0);
    let reference = page.create_value(&mut collecting).unwrap();
    assert_eq!(collecting.2, 0, "pieces were collected");
    let mut journal = page.begin().unwrap();
    let put = journal.put_value(b"film", &reference, Priority::Eager);
    put.unwrap();
    drop(reference);
    let commit = page.commit(journal, Timestamp(1)).unwrap();
    page.collect().unwrap();
    let found = page.snapshot(&commit, b"").get(b"film").unwrap().unwrap();
    assert!(found == value);
    check_rows(&page, true);
}

#[test]
fn keys_are_as_long_as_the_setting_says() {
    let page = open();
    let mut journal = page.begin().unwrap();
    journal.put(&[1; 256], b"v").unwrap();
    assert_eq!(
        journal.put(&[1; 257], b"v").unwrap_err().kind(),
        ErrorKind::Usage
    );
    assert_eq!(
        journal.delete(&[1; 257]).unwrap_err().kind(),
        ErrorKind::Usage
    );
    let page = open_with(PageOptions {
        key_len_max: usize::MAX,
        ..options()
    });
    let mut journal = page.begin().unwrap();
    journal.put(&vec![1; KEY_LEN_MAX], b"v").unwrap();
    assert!(journal.put(&vec![1; KEY_LEN_MAX + 1], b"v").is_err());
    let commit = page.commit(journal, Timestamp(1)).unwrap();
    assert_eq!(
        page.snapshot(&commit, b"")
            .get(&vec![1; KEY_LEN_MAX])
            .unwrap()
            .unwrap(),
        b"v"
    );
}

#[test]
fn a_snapshot_has_its_prefix_and_lists_come_in_parts() {
    let page = open();
    let mut journal = page.begin().unwrap();
    for i in 0..50 {
        journal
            .put(format!("a{i:02}").as_bytes(), &[i; 100])
            .unwrap();
        journal
            .put(format!("b{i:02}").as_bytes(), &[i; 10])
            .unwrap();
    }
    let commit = page.commit(journal, Timestamp(1)).unwrap();
    let snapshot = page.snapshot(&commit, b"b");
    assert_eq!(snapshot.get(b"a01").unwrap(), None);
    let limits = |count_max, bytes_max| ListLimits {
        count_max,
        bytes_max,
    };
    let keys = snapshot.list_keys(b"", limits(3, 1000)).unwrap();
    assert_eq!(keys.entries, [b"b00", b"b01", b"b02"]);
    assert_eq!(keys.next.as_deref(), Some(&b"b03"[..]));
    let entries = snapshot.list_entries(b"b48", limits(30, 1)).unwrap();
    assert_eq!(
        (entries.entries.len(), entries.next),
        (1, Some(b"b49".to_vec()))
    );
    let entries = snapshot.list_entries(b"b49", limits(1, 1)).unwrap();
    assert_eq!((entries.entries.len(), entries.next), (1, None));
    assert_eq!(
        snapshot
            .list_keys(b"c", limits(1, 1))
            .unwrap()
            .entries
            .len(),
        0
    );
}

#[test]
fn a_watcher_gets_all_changes_of_its_prefix_together() {
    let page = open();
    let (mut mine, mut yours) = (page.connect().unwrap(), page.connect().unwrap());
    let mut watcher = yours.watch(b"b");
    let woken = Arc::new(Mutex::new(0));
    let count = woken.clone();
    watcher.on_change(move || *locked(&count) += 1);
    mine.put(b"a", b"1", Timestamp(1)).unwrap();
    assert_eq!(watcher.next_change(10).unwrap(), None);
    mine.begin().unwrap();
    for key in [b"b1", b"b2", b"b3", b"c1"] {
        mine.put(key, b"2", Timestamp(0)).unwrap();
    }
    assert_eq!(watcher.next_change(10).unwrap(), None, "not committed");
    mine.commit_transaction(Timestamp(2)).unwrap();
    mine.delete(b"b2", Timestamp(3)).unwrap();
    assert_eq!(
        yours.begin().unwrap_err().kind(),
        ErrorKind::Usage,
        "changes are waiting"
    );
    let change = watcher.next_change(1).unwrap().unwrap();
    assert_eq!(
        (change.changed[0].key.as_slice(), change.state),
        (&b"b1"[..], PageChangeState::PartialStarted)
    );
    mine.put(b"b9", b"later", Timestamp(4)).unwrap();
    let change = watcher.next_change(1).unwrap().unwrap();
    assert_eq!(
        (change.changed[0].key.as_slice(), change.state),
        (&b"b3"[..], PageChangeState::PartialCompleted)
    );
    let change = watcher.next_change(10).unwrap().unwrap();
    assert_eq!(
        (change.changed[0].key.as_slice(), change.state),
        (&b"b9"[..], PageChangeState::Completed)
    );
    mine.clear(Timestamp(5)).unwrap();
    let change = watcher.next_change(10).unwrap().unwrap();
    assert_eq!((change.deleted.len(), change.timestamp), (3, Timestamp(5)));
    assert_eq!(watcher.next_change(10).unwrap(), None);
    assert_eq!(*locked(&woken), 5, "a commit each");
    yours.begin().unwrap();
    mine.put(b"b4", b"x", Timestamp(6)).unwrap();
    assert_eq!(
        watcher.next_change(10).unwrap(),
        None,
        "the transaction's state stays"
    );
    yours.roll_back();
    assert_eq!(watcher.next_change(10).unwrap().unwrap().changed.len(), 1);
}

#[test]
fn two_transactions_make_two_heads_and_each_stays_on_its_branch() {
    let page = open();
    let (mut one, mut two) = (page.connect().unwrap(), page.connect().unwrap());
    one.begin().unwrap();
    two.begin().unwrap();
    one.put(b"k", b"one", Timestamp(0)).unwrap();
    two.put(b"k", b"two", Timestamp(0)).unwrap();
    let first = one.commit_transaction(Timestamp(1)).unwrap();
    let second = two.commit_transaction(Timestamp(2)).unwrap();
    assert_eq!(page.heads(), [first.clone(), second.clone()]);
    assert_eq!((one.commit(), two.commit()), (first, second));
    page.merge(&mut crate::MergePolicy::LastOneWins).unwrap();
    assert_eq!(one.commit(), two.commit());
    assert_eq!(one.snapshot(b"").get(b"k").unwrap().unwrap(), b"two");
    assert!(one.transaction().is_err() && one.commit_transaction(Timestamp(3)).is_err());
    check_rows(&page, false);
}
