//! Any number of transactions, with memory for next to nothing, against maps in the comparator's order.

use std::collections::BTreeMap;

use quickcheck::{Arbitrary, Gen, QuickCheck};

use super::*;

/// A key in the rows' order.
#[derive(Debug, Clone)]
struct Key(Vec<u8>);

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(&self.0, &other.0)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

type Rows = BTreeMap<Key, Vec<u8>>;

/// Replaces the key's bytes, too: -0 and 0 are one key.
fn put(rows: &mut Rows, key: Vec<u8>, value: Vec<u8>) {
    rows.remove(&Key(key.clone()));
    rows.insert(Key(key), value);
}

fn listed(rows: &Rows) -> Vec<(Vec<u8>, Vec<u8>)> {
    rows.iter().map(|(k, v)| (k.0.clone(), v.clone())).collect()
}

const STORES: u8 = 3;

/// Key `n` of a store: 0 in both of its forms, the rest whole numbers.
fn model_key(store: u8, n: u8) -> Vec<u8> {
    match n % 24 {
        0 => key(store, 0),
        1 => {
            let mut bytes = key(store, 0);
            *bytes.last_mut().unwrap() = 0x80;
            bytes
        }
        n => key(store, n),
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Begin,
    Put(u8, u8),
    Delete(u8),
    DeleteRange(u8, u8, bool),
    Commit,
    Rollback,
    Drop,
    Read,
    CheckReaders,
    CheckWriter,
    Seek(u8),
    SeekForPrev(u8),
    Next,
    Prev,
    Reopen,
    CompactAll,
}

impl Arbitrary for Step {
    fn arbitrary(g: &mut Gen) -> Self {
        let (a, b) = (u8::arbitrary(g), u8::arbitrary(g));
        match u8::arbitrary(g) % 40 {
            0..=3 => Self::Begin,
            4..=13 => Self::Put(a, b),
            14..=16 => Self::Delete(a),
            17 => Self::DeleteRange(a, b, bool::arbitrary(g)),
            18..=19 => Self::Commit,
            20 => Self::Rollback,
            21 => Self::Drop,
            22 => Self::Read,
            23 => Self::CheckReaders,
            24..=25 => Self::CheckWriter,
            26..=27 => Self::Seek(a),
            28 => Self::SeekForPrev(a),
            29..=33 => Self::Next,
            34..=37 => Self::Prev,
            38 if a < 60 => Self::Reopen,
            39 if a < 60 => Self::CompactAll,
            _ => Self::Next,
        }
    }
}

struct Writer {
    transaction: WriteTransaction,
    /// The rows of its scope, as it sees them.
    rows: Rows,
    /// A cursor, and the row that it must be on.
    cursor: Option<(ViewIter, Key, Vec<u8>)>,
}

struct World {
    fs: MemoryFileSystem,
    store: BackingStore,
    memory_bytes: usize,
    committed: Rows,
    /// 0: a version change; else of the object store of that number.
    writers: [Option<Writer>; STORES as usize + 1],
    readers: Vec<(ReadTransaction, Rows)>,
}

fn scope_of(who: usize) -> Scope {
    match who {
        0 => Scope::VersionChange(DatabaseId::MIN),
        store => stores(&[store as i64]),
    }
}

fn is_of(who: usize, key: &Key) -> bool {
    who == 0 || usize::from(key.0[2]) == who
}

impl World {
    fn new(memory_bytes: usize) -> Self {
        let fs = MemoryFileSystem::new();
        Self {
            store: open_limited(Arc::new(fs.clone()), memory_bytes).unwrap(),
            fs,
            memory_bytes,
            committed: Rows::new(),
            writers: Default::default(),
            readers: Vec::new(),
        }
    }

    fn begin(&mut self, who: usize) {
        let is_taken = match who {
            0 => self.writers.iter().any(Option::is_some),
            _ => self.writers[0].is_some() || self.writers[who].is_some(),
        };
        match self.store.begin(scope_of(who), Durability::Relaxed) {
            Ok(transaction) => {
                assert!(!is_taken);
                let mut rows = self.committed.clone();
                rows.retain(|key, _| is_of(who, key));
                self.writers[who] = Some(Writer {
                    transaction,
                    rows,
                    cursor: None,
                });
            }
            Err(error) => assert!(is_taken && error.kind() == ErrorKind::Conflict, "{error}"),
        }
    }

    fn end(&mut self, who: usize, step: Step) {
        let Some(writer) = self.writers[who].take() else {
            return;
        };
        match step {
            Step::Commit => {
                writer.transaction.commit().unwrap();
                self.committed.retain(|key, _| !is_of(who, key));
                self.committed.extend(writer.rows);
            }
            Step::Rollback => writer.transaction.rollback(),
            _ => drop(writer.transaction),
        }
    }

    fn reopen(&mut self) {
        for who in 0..self.writers.len() {
            self.end(who, Step::Drop);
        }
        let fs = self.fs.clone();
        let other = World::new(0).store;
        std::mem::replace(&mut self.store, other).close().unwrap();
        self.check_undo_log_is_empty();
        self.store = open_limited(Arc::new(fs), self.memory_bytes).unwrap();
    }

    fn check_undo_log_is_empty(&self) {
        let paths = StorePaths::of_leveldb(Path::new("https_a.example_0.indexeddb.leveldb"));
        let fs = Arc::new(self.fs.clone());
        let store = crate::Store::open_read_only(fs, paths, crate::OpenOptions::default()).unwrap();
        assert!(store.recovery().is_empty());
        let mut iter = store.snapshot().unwrap().iter();
        iter.seek(&crate::view::SCOPES_PREFIX).unwrap();
        assert_eq!(iter.key(), [0, 0, 0, 0, 50, 0]);
        iter.next().unwrap();
        assert!(!iter.key().starts_with(&crate::view::SCOPES_PREFIX));
    }

    fn run(&mut self, who: usize, step: Step) {
        match step {
            Step::Begin => self.begin(who),
            Step::Commit | Step::Rollback | Step::Drop => self.end(who, step),
            Step::Read => {
                let read = self.store.read();
                self.readers.push((read, self.committed.clone()));
            }
            Step::CheckReaders => self.check_readers(),
            Step::Reopen => self.reopen(),
            Step::CompactAll => self.store.core.db.compact_range(None, None).unwrap(),
            _ => {
                if let Some(writer) = &mut self.writers[who] {
                    writer.run(who, step);
                }
            }
        }
    }

    fn check_readers(&mut self) {
        for (read, expected) in &self.readers {
            let found = rows(read.view());
            assert_eq!(found, listed(expected));
            for (key, value) in expected.iter().filter(|(key, _)| key.0[5..] != [0; 8]) {
                assert_eq!(read.view().get(&key.0).unwrap().as_ref(), Some(value));
            }
            let mut iter = read.view().iter();
            iter.seek_for_prev(&range::database_end(DatabaseId::MIN))
                .unwrap();
            for (key, value) in listed(expected).iter().rev() {
                assert_eq!((iter.key(), iter.value().unwrap()), (&**key, &**value));
                iter.prev().unwrap();
            }
        }
        self.readers.truncate(5);
    }
}

impl Writer {
    fn run(&mut self, who: usize, step: Step) {
        // A version change writes to all of them.
        let store_of = |n: u8| match who {
            0 => 1 + n / 24 % STORES,
            store => store as u8,
        };
        match step {
            Step::Put(n, len) => {
                let key = model_key(store_of(n), n);
                let value = vec![n ^ len; usize::from(len)];
                self.transaction.put_row(&key, &value).unwrap();
                put(&mut self.rows, key, value);
            }
            Step::Delete(n) => {
                let key = model_key(store_of(n), n);
                self.transaction.delete_row(&key).unwrap();
                self.rows.remove(&Key(key));
            }
            Step::DeleteRange(a, b, end_included) => {
                let (begin, end) = (model_key(store_of(a), a), model_key(store_of(b), b));
                self.transaction
                    .delete_rows(&begin, &end, end_included)
                    .unwrap();
                let (begin, end) = (Key(begin), Key(end));
                self.rows.retain(|key, _| {
                    !(begin <= *key && (*key < end || end_included && *key == end))
                });
            }
            Step::CheckWriter => self.check(who),
            Step::Seek(n) => {
                let key = Key(model_key(store_of(n), n));
                let mut iter = self.transaction.view().iter();
                iter.seek(&key.0).unwrap();
                let expected = self.rows.range(key..).next();
                self.cursor = on_row(iter, expected);
            }
            Step::SeekForPrev(n) => {
                let key = Key(model_key(store_of(n), n));
                let mut iter = self.transaction.view().iter();
                iter.seek_for_prev(&key.0).unwrap();
                let expected = self.rows.range(..=key).next_back();
                self.cursor = on_row(iter, expected);
            }
            Step::Next => {
                if let Some((mut iter, key, value)) = self.cursor.take() {
                    assert_eq!((iter.key(), iter.value().unwrap()), (&*key.0, &*value));
                    iter.next().unwrap();
                    let expected = self.rows.range(key.clone()..).find(|row| *row.0 != key);
                    self.cursor = on_row(iter, expected);
                }
            }
            Step::Prev => {
                if let Some((mut iter, key, value)) = self.cursor.take() {
                    assert_eq!((iter.key(), iter.value().unwrap()), (&*key.0, &*value));
                    iter.prev().unwrap();
                    let expected = self.rows.range(..key).next_back();
                    self.cursor = on_row(iter, expected);
                }
            }
            _ => {}
        }
    }

    fn check(&self, who: usize) {
        let mut found = rows(self.transaction.view());
        found.retain(|(key, _)| is_of(who, &Key(key.clone())));
        assert_eq!(found, listed(&self.rows));
        let view = self.transaction.view();
        for n in 2..24 {
            let key = model_key(who.max(1) as u8, n);
            let expected = self.rows.get(&Key(key.clone()));
            assert_eq!(view.get(&key).unwrap().as_ref(), expected);
        }
    }
}

/// The cursor, checked to be on the row. Beyond the rows of the scope nothing is said: there are others'.
fn on_row(iter: ViewIter, expected: Option<(&Key, &Vec<u8>)>) -> Option<(ViewIter, Key, Vec<u8>)> {
    let (key, value) = expected?;
    assert_eq!((iter.key(), iter.value().unwrap()), (&*key.0, &**value));
    Some((iter, key.clone(), value.clone()))
}

#[test]
fn any_steps_of_any_transactions_leave_what_maps_say() {
    fn law(steps: Vec<(u8, Step)>, memory: u16) -> bool {
        let memory_bytes = [0, 100, 1000, 1 << 20][usize::from(memory % 4)];
        let mut world = World::new(memory_bytes);
        for (who, step) in steps {
            world.run(usize::from(who % (STORES + 1)), step);
        }
        world.check_readers();
        world.reopen();
        world.run(1, Step::Read);
        world.check_readers();
        true
    }
    QuickCheck::new()
        .rng(Gen::new(600))
        .tests(150)
        .quickcheck(law as fn(_, _) -> _);
}
