//! What is known of indexes against asking the record's row of every index row: random programs, both ways.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use larder_codec::{DatabaseId, IndexId, Key, KeyPath, ObjectStoreId, Origin, RawKey};
use larder_fixtures::random::Random;
use larder_leveldb::storage::MemoryFileSystem;

use crate::cursor::{CursorDirection, IndexCursor, Movement, Page, PageLimits};
use crate::reads::Reads;
use crate::{
    Background, BackingStore, Clock, Durability, IndexKeys, IndexParameters, KeyRange, Maintenance,
    ObjectStoreParameters, Put, PutKey, PutMode, ReadTransaction, Record, Scope, StorePaths,
    WriteOptions, WriteTransaction,
};

const STORES: [i64; 2] = [1, 2];
const DIRECTIONS: [CursorDirection; 4] = [
    CursorDirection::Next,
    CursorDirection::NextUnique,
    CursorDirection::Prev,
    CursorDirection::PrevUnique,
];

#[derive(Debug, Default)]
struct Hand(AtomicI64);

impl Clock for Hand {
    fn now_us(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Longer than from one sweep to the next.
const LONG_US: i64 = 4 * 24 * 3_600_000_000;

struct World {
    clock: Arc<Hand>,
    fs: MemoryFileSystem,
    store: Option<BackingStore>,
    database: DatabaseId,
    /// By object store.
    indexes: [Vec<IndexId>; 2],
    random: Random,
    memory: usize,
    /// They go on seeing what was committed when they began.
    held: Vec<ReadTransaction>,
}

fn bytes(key: &Key) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    bytes
}

fn open(fs: &MemoryFileSystem, clock: &Arc<Hand>, memory: usize) -> BackingStore {
    let origin = Origin::from_url("https://a.example").unwrap();
    let mut options = WriteOptions::new(origin, Arc::clone(clock) as Arc<dyn Clock>);
    options.create_if_missing = true;
    options.background = Background::Caller;
    options.transaction_memory_bytes = memory;
    let paths = StorePaths::of_leveldb(Path::new("https_a.example_0.indexeddb.leveldb"));
    BackingStore::open(Arc::new(fs.clone()), paths, options).unwrap()
}

fn object_store(n: usize) -> ObjectStoreId {
    ObjectStoreId::new(STORES[n]).unwrap()
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let memory = [600, 3000, 1 << 20][random.below(3) as usize];
        let fs = MemoryFileSystem::new();
        let clock = Arc::new(Hand::default());
        let store = open(&fs, &clock, memory);
        let database = store.create_database(&"d".into()).unwrap();
        let mut upgrade = store
            .begin(Scope::VersionChange(database), Durability::Relaxed)
            .unwrap();
        for n in STORES {
            let parameters = ObjectStoreParameters {
                id: None,
                name: format!("{n}").as_str().into(),
                key_path: KeyPath::Null,
                auto_increment: n == 2,
            };
            upgrade.create_object_store(&parameters).unwrap();
        }
        upgrade.commit().unwrap();
        Self {
            clock,
            fs,
            store: Some(store),
            database,
            indexes: [Vec::new(), Vec::new()],
            random,
            memory,
            held: Vec::new(),
        }
    }

    fn store(&self) -> &BackingStore {
        self.store.as_ref().unwrap()
    }

    fn key(&mut self) -> Key {
        match self.random.below(12) {
            0 => Key::Number(-0.0),
            n if n < 9 => Key::Number(self.random.below(30) as f64),
            _ => self.random.below(9).to_string().as_str().into(),
        }
    }

    fn put(&mut self, write: &mut WriteTransaction, n: usize, ascending: Option<u64>) {
        let key = match ascending {
            Some(key) => Key::Number(key as f64),
            None => self.key(),
        };
        let key = bytes(&key);
        let lists: Vec<(IndexId, Vec<Vec<u8>>)> = (self.indexes[n].clone().into_iter())
            .map(|index_id| {
                let mut keys: Vec<u64> = (0..self.random.below(3))
                    .map(|_| self.random.below(12))
                    .collect();
                keys.sort_unstable();
                keys.dedup();
                let keys = keys.iter().map(|key| bytes(&Key::Number(*key as f64)));
                (index_id, keys.collect())
            })
            .collect();
        let raw: Vec<(IndexId, Vec<RawKey<'_>>)> = (lists.iter())
            .map(|(index_id, keys)| {
                let keys = keys.iter().map(|key| RawKey::decode_exact(key).unwrap());
                (*index_id, keys.collect())
            })
            .collect();
        let index_keys: Vec<IndexKeys<'_>> = (raw.iter())
            .map(|(index_id, keys)| IndexKeys {
                index_id: *index_id,
                keys,
            })
            .collect();
        let given = PutKey::Given(RawKey::decode_exact(&key).unwrap());
        let is_generated = n == 1 && self.random.below(4) == 0 && ascending.is_none();
        let put = Put {
            key: if is_generated {
                PutKey::Generated
            } else {
                given
            },
            value: b"value",
            mode: [
                PutMode::Put,
                PutMode::Put,
                PutMode::Add,
                PutMode::CursorUpdate,
            ][self.random.below(4) as usize],
            index_keys: &index_keys,
            external_objects: &[],
        };
        // One that is refused has written nothing.
        let _ = write.put(object_store(n), &put);
    }

    fn delete(&mut self, write: &mut WriteTransaction, n: usize) {
        let (mut a, mut b) = (bytes(&self.key()), bytes(&self.key()));
        if self.random.below(2) == 0 {
            b.clone_from(&a);
        }
        if RawKey::decode_exact(&a).unwrap() > RawKey::decode_exact(&b).unwrap() {
            std::mem::swap(&mut a, &mut b);
        }
        let [low, high] = [&a, &b].map(|key| RawKey::decode_exact(key).unwrap());
        let range = KeyRange {
            lower: std::ops::Bound::Included(low),
            upper: std::ops::Bound::Included(high),
        };
        write.delete(object_store(n), &range).unwrap();
    }

    fn write(&mut self) {
        let ids = STORES.map(|id| ObjectStoreId::new(id).unwrap());
        let scope = Scope::Stores(self.database, ids.into());
        let mut write = self.store().begin(scope, Durability::Relaxed).unwrap();
        for _ in 0..self.random.below(12) {
            let n = self.random.below(2) as usize;
            match self.random.below(24) {
                0 => _ = write.clear(object_store(n)).unwrap(),
                1..4 => self.delete(&mut write, n),
                4 => {
                    // More than are looked up.
                    for key in 0..self.random.below(200) {
                        for _ in 0..=self.random.below(2) {
                            self.put(&mut write, n, Some(key));
                        }
                    }
                }
                5..7 => self.compare_in_transaction(&mut write),
                7 => {
                    let read = self.store().read();
                    self.held.push(read);
                }
                _ => self.put(&mut write, n, None),
            }
        }
        self.compare_in_transaction(&mut write);
        match self.random.below(4) {
            0 => write.rollback(),
            _ => write.commit().unwrap(),
        }
    }

    fn upgrade(&mut self) {
        let scope = Scope::VersionChange(self.database);
        let mut write = self.store().begin(scope, Durability::Relaxed).unwrap();
        let before = self.indexes.clone();
        for _ in 0..=self.random.below(3) {
            let n = self.random.below(2) as usize;
            match self.random.below(4) {
                0 if !self.indexes[n].is_empty() => {
                    let at = self.random.below(self.indexes[n].len() as u64) as usize;
                    let index_id = self.indexes[n].remove(at);
                    write.delete_index(object_store(n), index_id).unwrap();
                }
                1 => self.put(&mut write, n, None),
                _ => self.create_index(&mut write, n),
            }
            self.compare_in_transaction(&mut write);
        }
        match self.random.below(4) {
            0 => {
                self.indexes = before;
                write.rollback();
            }
            _ => write.commit().unwrap(),
        }
    }

    fn upgrade_with_index(&mut self) {
        let scope = Scope::VersionChange(self.database);
        let mut write = self.store().begin(scope, Durability::Relaxed).unwrap();
        self.create_index(&mut write, 0);
        write.commit().unwrap();
    }

    /// And fills it.
    fn create_index(&mut self, write: &mut WriteTransaction, n: usize) {
        let name = self.random.below(1 << 60).to_string();
        let parameters = IndexParameters {
            id: None,
            name: name.as_str().into(),
            key_path: KeyPath::String("k".into()),
            unique: false,
            multi_entry: self.random.below(2) == 0,
        };
        let index_id = write.create_index(object_store(n), &parameters).unwrap();
        let mut records = write.records(self.database, object_store(n), CursorDirection::Next);
        let mut primary_keys = Vec::new();
        while records.next().unwrap() {
            primary_keys.push(records.primary_key_bytes().to_vec());
        }
        for primary_key in primary_keys {
            let key = bytes(&Key::Number(self.random.below(12) as f64));
            let keys = &[RawKey::decode_exact(&key).unwrap()];
            let primary_key = RawKey::decode_exact(&primary_key).unwrap();
            let index_keys = [IndexKeys { index_id, keys }];
            write
                .put_index_keys(object_store(n), primary_key, &index_keys)
                .unwrap();
        }
        self.indexes[n].push(index_id);
    }

    fn reopen(&mut self) {
        if let Some(store) = self.store.take()
            && self.random.below(3) > 0
        {
            store.close().unwrap();
        }
        self.store = Some(open(&self.fs, &self.clock, self.memory));
    }

    /// To its end, or up to some step: what is left of the sweep goes on later, with what is written until then.
    fn maintain(&mut self) {
        self.clock.0.fetch_add(LONG_US, Ordering::Relaxed);
        let steps_max = [2, 3, 100][self.random.below(3) as usize];
        for _ in 0..steps_max {
            if self.store().maintain().unwrap() != Maintenance::Step {
                return;
            }
        }
    }

    fn places(&self) -> Vec<(ObjectStoreId, IndexId)> {
        let indexes = self.indexes.iter().enumerate();
        let places = indexes.flat_map(|(n, indexes)| {
            let indexes = indexes.iter();
            indexes.map(move |index_id| (object_store(n), *index_id))
        });
        places.collect()
    }

    /// Both ways of reading each index.
    fn compare(&self, reads: &Reads) {
        for (id, index_id) in self.places() {
            let place = (self.database, id, index_id);
            for direction in DIRECTIONS {
                let expected = walk(&reads.naive(), place, direction, 1);
                for count in [1, 30] {
                    assert_eq!(walk(reads, place, direction, count), expected, "{place:?}");
                }
            }
            let count = |reads: &Reads| {
                reads
                    .count_by_index(self.database, id, index_id, &KeyRange::ALL)
                    .unwrap()
            };
            assert_eq!(count(reads), count(&reads.naive()));
            assert_eq!(gets(reads, place), gets(&reads.naive(), place));
        }
    }

    /// Both ways for a transaction that writes; then with the stale rows removed.
    fn compare_in_transaction(&mut self, write: &mut WriteTransaction) {
        let reads: Reads = (**write).clone();
        self.compare(&reads);
        if self.random.below(4) > 0 {
            return;
        }
        for (id, index_id) in self.places() {
            let place = (self.database, id, index_id);
            let (expected, _) = walk(&reads.naive(), place, CursorDirection::Next, 1);
            let (database, all) = (self.database, &KeyRange::ALL);
            let mut cursor =
                write.index_keys_in(database, id, index_id, all, CursorDirection::Next);
            let (mut page, mut found) = (Page::new(), Vec::new());
            let limits = PageLimits {
                entries_max: 7,
                bytes_max: 1 << 20,
            };
            loop {
                let is_more = write.fill(&mut cursor, &mut page, limits).unwrap();
                let entries = page.entries();
                found.extend(entries.map(|at| (at.key.to_vec(), at.primary_key.to_vec())));
                if !is_more {
                    break;
                }
            }
            assert_eq!(found, expected);
        }
        self.compare(&reads);
    }
}

/// Index key and primary key, or primary key and value.
type Entry = (Vec<u8>, Vec<u8>);

type Place = (DatabaseId, ObjectStoreId, IndexId);

fn walk(
    reads: &Reads,
    (database, id, index_id): Place,
    direction: CursorDirection,
    count: usize,
) -> (Vec<Entry>, Option<Entry>) {
    let mut cursor: IndexCursor =
        reads.index_keys_in(database, id, index_id, &KeyRange::ALL, direction);
    let mut found = Vec::new();
    while cursor.next_of(count).unwrap() {
        let (key, primary_key) = cursor.key_bytes().unwrap();
        assert!(cursor.value().is_empty() && cursor.version().is_some());
        found.push((key.to_vec(), primary_key.to_vec()));
    }
    // In pieces, too, some of which the visitor ends: then it stands on the entry that was shown last.
    let mut pieces = reads.index_keys_in(database, id, index_id, &KeyRange::ALL, direction);
    let mut shown = Vec::new();
    let show = |key: &[u8], primary_key: &[u8], shown: &mut Vec<Entry>| {
        shown.push((key.to_vec(), primary_key.to_vec()));
        match shown.len().is_multiple_of(11) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    while pieces
        .visit_keys(count.max(1), |key, primary_key| {
            show(key, primary_key, &mut shown)
        })
        .unwrap()
    {
        let (key, primary_key) = pieces.key_bytes().unwrap();
        assert!(pieces.value().is_empty() && pieces.version().is_some());
        assert_eq!(
            shown.last(),
            Some(&(key.to_vec(), primary_key.to_vec())),
            "{count} at a time"
        );
    }
    assert_eq!(shown, found, "{count} at a time");
    let mut behind_five = None;
    let mut again = reads.index_keys_in(database, id, index_id, &KeyRange::ALL, direction);
    let (at, behind) = (found.len() / 2, bytes(&Key::Number(5.0)));
    if at > 0 && again.go(Movement::Advance(at as u32)).unwrap() {
        assert_eq!(again.key_bytes().unwrap().1, found[at - 1].1);
        let there = again
            .index_key()
            .unwrap()
            .cmp(&RawKey::decode_exact(&behind).unwrap());
        let is_behind = match direction.is_forward() {
            true => there.is_lt(),
            false => there.is_gt(),
        };
        if is_behind
            && again
                .go(Movement::To(RawKey::decode_exact(&behind).unwrap()))
                .unwrap()
        {
            let (key, primary_key) = again.key_bytes().unwrap();
            behind_five = Some((key.to_vec(), primary_key.to_vec()));
        }
    }
    if at > 0 && !direction.is_unique() {
        let target = found[at].clone();
        let [key, primary_key] =
            [&target.0, &target.1].map(|key| RawKey::decode_exact(key).unwrap());
        let mut to = reads.index_keys_in(database, id, index_id, &KeyRange::ALL, direction);
        assert!(to.go(Movement::ToEntry(key, primary_key)).unwrap());
        assert_eq!(to.key_bytes().unwrap().1, target.1);
    }
    (found, behind_five)
}

type Gotten = Vec<Option<Entry>>;

fn gets(reads: &Reads, (database, id, index_id): Place) -> (Gotten, Gotten) {
    let mut lookup = reads.index_lookup(database, id, index_id);
    let keys: Vec<Key> = (0..13).map(|n| Key::Number(f64::from(n % 12))).collect();
    let mut record = Record::new();
    let one = |key: &Key| {
        let key = bytes(key);
        let range = KeyRange::only(RawKey::decode_exact(&key).unwrap());
        let found = lookup.get(&range, &mut record).unwrap();
        found.then(|| (record.primary_key_bytes().to_vec(), record.value().to_vec()))
    };
    let single: Gotten = keys.iter().map(one).collect();
    let mut many = vec![None; keys.len()];
    lookup.multi_get(&keys, |n, record| {
        let record = record.unwrap();
        many[n] = record.map(|record| (record.primary_key.to_vec(), record.value.to_vec()));
    });
    (single, many)
}

fn run(seed: u64) {
    let mut world = World::new(seed);
    for _ in 0..30 {
        match world.random.below(16) {
            0..3 => world.upgrade(),
            3 => {
                world.held.clear();
                world.reopen();
            }
            4..6 => world.maintain(),
            _ => world.write(),
        }
        let now = world.store().read();
        world.held.iter().chain([&now]).for_each(|read| {
            // Of indexes that came later, it has no rows.
            world.compare(read);
        });
        let kept = world.held.len().saturating_sub(3);
        world.held.drain(..kept);
    }
}

#[test]
fn what_is_known_of_indexes_changes_no_answer() {
    for seed in 0..8 {
        println!("seed {seed}");
        run(seed);
    }
}

#[test]
fn a_sweep_makes_an_index_known_and_what_changes_while_it_goes_on_is_suspect() {
    let mut world = World::new(1);
    world.upgrade_with_index();
    let (id, index_id) = world.places()[0];
    let place = (world.database, id, index_id);
    let suspects = |world: &World| {
        let facts = &world.store().core.context.index_facts;
        facts.suspects_at(place, facts.stamp())
    };
    let put = |world: &World, keys: std::ops::Range<u32>, shift: u32| {
        let scope = Scope::Stores(world.database, [id].into());
        let mut write = world.store().begin(scope, Durability::Relaxed).unwrap();
        for n in keys {
            let (key, index_key) = (bytes(&n.into()), bytes(&(n + shift).into()));
            let put = Put {
                key: PutKey::Given(RawKey::decode_exact(&key).unwrap()),
                value: b"value",
                mode: PutMode::Put,
                index_keys: &[IndexKeys {
                    index_id,
                    keys: &[RawKey::decode_exact(&index_key).unwrap()],
                }],
                external_objects: &[],
            };
            write.put(id, &put).unwrap();
        }
        write.commit().unwrap();
    };
    // Record n has version n + 2.
    put(&world, 0..1500, 0);
    world.store.take().unwrap().close().unwrap();
    world.store = Some(open(&world.fs, &world.clock, world.memory));
    put(&world, 1500..1501, 0);
    assert_eq!(suspects(&world), None);
    // The first step begins a sweep, the second looks at a thousand rows.
    for _ in 0..2 {
        assert_eq!(world.store().maintain().unwrap(), Maintenance::Step);
    }
    assert_eq!(suspects(&world), None);
    put(&world, 7..8, 1);
    put(&world, 1400..1401, 1);
    while world.store().maintain().unwrap() == Maintenance::Step {}
    let known = suspects(&world).unwrap();
    let all: Vec<i64> = (1..2000)
        .filter(|version| known.contains(*version))
        .collect();
    assert_eq!(all, [9, 1402]);
    world.compare(&world.store().read());
    world.clock.0.fetch_add(LONG_US, Ordering::Relaxed);
    while world.store().maintain().unwrap() == Maintenance::Step {}
    assert!(suspects(&world).unwrap().is_empty());
    world.compare(&world.store().read());
}
