//! Changes that go back to the source: what a sink is handed, beside a plain list of what was done here.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use larder_feed::{
    BackOff, CleanUp, Consumer, Error, Feed, Progress, ReadOptions, Revision, RevisionKind, Sent,
    WriteBack,
};
use larder_fixtures::random::Random;
use larder_idb::{
    Connection, Executor, Key, MemoryFileSystem, ObjectStoreParameters, Origin, Storage,
    StorageOptions, SystemClock, TransactionMode, TransactionOptions, Value,
};

use crate::host::wait;

/// A copy of a source, and what the source is handed.
struct Copy {
    storage: Storage,
    connection: Connection,
}

impl Copy {
    fn open(fs: &Arc<MemoryFileSystem>) -> Self {
        let mut options = StorageOptions::new(fs.clone(), "/store", Arc::new(SystemClock));
        options.executor = Executor::Driven { seed: None };
        let storage = Storage::new(options).unwrap();
        let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
        let opening = factory.open("mail", Some(1)).unwrap();
        let opening = opening.with_upgrade(|upgrade| {
            for name in ["messages", "folders"] {
                let parameters = ObjectStoreParameters::new();
                upgrade.transaction.create_object_store(name, parameters)?;
            }
            upgrade.transaction.set_change_feed(true)
        });
        let connection = opening.wait().unwrap();
        Self {
            storage,
            connection,
        }
    }

    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        wait(&self.storage, future)
    }

    fn feed(&self) -> Feed {
        Feed::of(&self.connection).unwrap()
    }

    fn consumer(&self) -> Consumer {
        self.wait(self.feed().consumer("source")).unwrap()
    }

    fn write_back(&self) -> WriteBack {
        let options = ReadOptions::new().values(true);
        self.wait(self.consumer().write_back(options)).unwrap()
    }

    /// A transaction of puts, or of deletions where there is no number.
    fn write(&self, from_source: bool, changes: &[(&str, u64, Option<u64>)]) {
        let options = TransactionOptions::new().from_source(from_source);
        let mode = TransactionMode::ReadWrite;
        let transaction = self
            .connection
            .transaction(["messages", "folders"], mode, options)
            .unwrap();
        for (store, key, value) in changes {
            let store = transaction.object_store(*store).unwrap();
            let key = Key::Number(*key as f64);
            match value {
                Some(value) => store
                    .put(Value::serialize(value).unwrap(), Some(key))
                    .unwrap()
                    .detach(),
                None => store.delete(key).unwrap().detach(),
            }
        }
        self.wait(transaction.commit().unwrap()).unwrap();
    }
}

/// What a sink is handed: number, object store, key, and what kind of change.
type Handed = (u64, String, u64, RevisionKind);

fn handed(revision: &Revision) -> Handed {
    let Key::Number(key) = revision.key() else {
        panic!("{:?}", revision.key());
    };
    let name = revision.object_store_name().to_string_lossy();
    (revision.number(), name, key as u64, revision.kind())
}

/// All that there is, to a sink that takes everything.
fn all(copy: &Copy, write_back: &mut WriteBack) -> Vec<Handed> {
    let mut list = Vec::new();
    let mut sink = async |revision: &Revision| {
        list.push(handed(revision));
        Sent::Done
    };
    while copy.wait(write_back.next(&mut sink)).unwrap().is_some() {}
    list
}

#[test]
fn changes_from_here_reach_the_source_and_those_from_the_source_do_not() {
    let copy = Copy::open(&Arc::new(MemoryFileSystem::new()));
    let mut write_back = copy.write_back();
    copy.write(true, &[("messages", 1, Some(1)), ("messages", 2, Some(2))]);
    copy.write(false, &[("messages", 1, Some(3)), ("folders", 1, Some(4))]);
    copy.write(true, &[("messages", 2, None)]);
    copy.write(false, &[("messages", 1, None)]);
    let name = |name: &str| name.to_owned();
    let expected = [
        (3, name("messages"), 1, RevisionKind::Modification),
        (4, name("folders"), 1, RevisionKind::Creation),
        (6, name("messages"), 1, RevisionKind::Removal),
    ];
    assert_eq!(all(&copy, &mut write_back), expected);
    assert_eq!(copy.wait(copy.consumer().position()).unwrap(), 6);
    // What comes from the source last is no reason to keep anything.
    copy.write(true, &[("folders", 2, Some(1))]);
    assert_eq!(all(&copy, &mut write_back), []);
    assert_eq!(copy.wait(copy.consumer().position()).unwrap(), 7);
}

#[test]
fn a_failure_holds_up_what_is_behind_it_and_waits_longer_each_time() {
    let copy = Copy::open(&Arc::new(MemoryFileSystem::new()));
    let back_off = BackOff {
        first: Duration::from_secs(2),
        most: Duration::from_secs(7),
    };
    let mut write_back = copy.write_back().with_back_off(back_off);
    copy.write(false, &[("messages", 1, Some(1)), ("messages", 2, Some(2))]);
    let mut step = |sent: Sent| {
        let mut number = None;
        let progress = write_back.next(async |revision: &Revision| {
            number = Some(revision.number());
            sent
        });
        let progress = copy.wait(progress).unwrap().unwrap();
        (number.unwrap(), progress)
    };
    for seconds in [2, 4, 7, 7] {
        let wait = Duration::from_secs(seconds);
        assert_eq!(
            step(Sent::Failed),
            (1, Progress::Failed { revision: 1, wait })
        );
    }
    assert_eq!(step(Sent::Done), (1, Progress::Done(1)));
    // The next begins with the first wait.
    let wait = Duration::from_secs(2);
    assert_eq!(
        step(Sent::Failed),
        (2, Progress::Failed { revision: 2, wait })
    );
    assert_eq!(step(Sent::Refused), (2, Progress::Skipped(2)));
    assert_eq!(write_back.skipped(), 1);
    assert_eq!(copy.wait(copy.consumer().position()).unwrap(), 2);
}

#[test]
fn clean_up_waits_for_the_source_or_says_that_it_has_not() {
    let copy = Copy::open(&Arc::new(MemoryFileSystem::new()));
    let mut write_back = copy.write_back();
    for value in 0..5 {
        copy.write(false, &[("messages", 1, Some(value))]);
    }
    copy.wait(copy.feed().clean(CleanUp::new())).unwrap();
    assert_eq!(all(&copy, &mut write_back).len(), 5);
    for value in 0..5 {
        copy.write(false, &[("messages", 1, Some(value))]);
    }
    copy.wait(copy.feed().clean(CleanUp::new().lag_max(2)))
        .unwrap();
    let done = write_back.next(async |_: &Revision| Sent::Done);
    let error = copy.wait(done).unwrap_err();
    assert!(
        matches!(
            error,
            Error::LeftBehind {
                position: 5,
                cleaned: 10
            }
        ),
        "{error}"
    );
    // Every record anew, as it is now.
    let consumer = copy.consumer();
    copy.wait(consumer.restart(0)).unwrap();
    assert_eq!(all(&copy, &mut copy.write_back()).len(), 1);
}

/// Random transactions of both sides, a sink that fails and refuses, a program that ends at any time, and clean-up.
fn run(seed: u64) {
    let mut random = Random::new(seed);
    let fs = Arc::new(MemoryFileSystem::new());
    let mut copy = Copy::open(&fs);
    let mut write_back = copy.write_back();
    // What was done here, by number; and in which transaction.
    let mut done_here: Vec<(u64, u64)> = Vec::new();
    let (mut number, mut transaction) = (0, 0);
    let mut exists = BTreeSet::new();
    // What the sink has settled, in the order in which it did.
    let mut settled: Vec<u64> = Vec::new();
    for _ in 0..80 {
        match random.below(10) {
            0..4 => {
                let from_source = random.below(3) == 0;
                let mut changes = Vec::new();
                for _ in 0..1 + random.below(40) {
                    let key = random.below(6);
                    let is_put = random.below(3) > 0;
                    let was_there = exists.remove(&key);
                    let changed = is_put || was_there;
                    if is_put {
                        exists.insert(key);
                    }
                    changes.push(("messages", key, is_put.then_some(number)));
                    if changed {
                        number += 1;
                        if !from_source {
                            done_here.push((number, transaction));
                        }
                    }
                }
                transaction += 1;
                copy.write(from_source, &changes);
            }
            4..8 => {
                for _ in 0..random.below(60) {
                    let sent = [Sent::Done, Sent::Done, Sent::Refused, Sent::Failed];
                    let sent = sent[random.below(4) as usize];
                    let mut given = None;
                    let progress = write_back.next(async |revision: &Revision| {
                        given = Some(revision.number());
                        sent
                    });
                    let progress = copy.wait(progress).unwrap();
                    let next = done_here.get(settled.len()).map(|(number, _)| *number);
                    assert_eq!(given, next, "seed {seed}");
                    let Some(given) = given else {
                        assert_eq!(progress, None, "seed {seed}");
                        break;
                    };
                    if sent != Sent::Failed {
                        settled.push(given);
                    }
                }
            }
            8 => {
                drop(write_back);
                let Copy { storage, .. } = copy;
                storage.close().unwrap();
                copy = Copy::open(&fs);
                write_back = copy.write_back();
                // A transaction that is not settled whole comes again from its beginning.
                let next = done_here.get(settled.len()).map(|(_, of)| *of);
                let begun = done_here.iter().position(|(_, of)| Some(*of) == next);
                settled.truncate(begun.unwrap_or(settled.len()));
            }
            _ => {
                copy.wait(copy.feed().clean(CleanUp::new())).unwrap();
            }
        }
    }
    let rest = all(&copy, &mut write_back);
    settled.extend(rest.iter().map(|(number, ..)| *number));
    let expected: Vec<u64> = done_here.iter().map(|(number, _)| *number).collect();
    assert_eq!(settled, expected, "seed {seed}");
}

#[test]
fn random_changes_of_both_sides_reach_the_source_once_and_in_order() {
    let (first, count) = (
        crate::setting("LARDER_SEED", 1),
        crate::setting("LARDER_SEEDS", 50),
    );
    (first..first + count).for_each(run);
    println!("{count} programs from seed {first}");
}
