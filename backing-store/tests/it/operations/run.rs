//! Does on a store and on the reference what the numbers say, transaction by transaction.

use std::ops::Bound;

use larder_backing_store::{
    BackingStore, Durability, ErrorKind, IndexKeys, KeyRange, ReadTransaction, Scope,
};
use larder_codec::{DatabaseId, IndexId, Key, ObjectStoreId, RawKey};
use larder_leveldb::storage::{CrashImage, MemoryFileSystem};

use super::check::{blob_count, check, check_blobs};
use super::cursors::check_all_cursors;
use super::model::{Database, Range, Refused, Store};
use super::session::Session;
use super::support::{blob_file_count, bytes, open};

/// What is done, and to what.
pub(super) type Step = (u8, u8, u8, u8);

/// Above 2^32, as object store ids now and then.
const DATABASE: i64 = 1 << 35;

pub(super) fn database() -> DatabaseId {
    DatabaseId::new(DATABASE).unwrap()
}

/// Both sides.
pub(super) struct Run {
    fs: MemoryFileSystem,
    store: Option<BackingStore>,
    model: Database,
}

/// A few keys of every type, among them pairs that are equal and differ in bytes.
pub(super) fn key(n: u8) -> Key {
    let array = |elements| Key::array(elements).unwrap();
    match n % 20 {
        0 => Key::Number(-0.0),
        1 => Key::Number(0.0),
        2 => Key::Number(1.5),
        3 => Key::Number(9_007_199_254_740_992.0),
        4 => Key::Number(f64::INFINITY),
        5 => Key::Number(-7.0),
        6 => Key::Date(0.0),
        7 => Key::Date(-1e12),
        8 => "".into(),
        9 => "a".into(),
        10 => "ab".into(),
        11 => Key::Binary(vec![]),
        12 => Key::Binary(vec![0xff]),
        13 => array(vec![]),
        14 => array(vec![Key::Number(0.0)]),
        15 => array(vec![Key::Number(-0.0), "x".into()]),
        n => Key::Number(f64::from(n)),
    }
}

/// Keys that a record with this value has in an index: none, one, or three.
pub(super) fn index_keys_of(index: i64, value: &[u8]) -> Vec<Key> {
    let n = value
        .first()
        .copied()
        .unwrap_or(0)
        .wrapping_add(index as u8);
    let first = n / 3 % 7;
    match n % 3 {
        0 => vec![],
        1 => vec![key(first)],
        // Three that are neighbours, none of them equal.
        _ => (0..3).map(|i| key(8 + (first + i) % 7)).collect(),
    }
}

pub(super) fn range(step: Step) -> Range {
    let (mut a, mut b) = (key(step.1), key(step.2));
    if a > b {
        std::mem::swap(&mut a, &mut b);
    }
    match step.3 % 8 {
        0 => (Bound::Included(a.clone()), Bound::Included(a)),
        1 => (Bound::Included(a), Bound::Included(b)),
        2 => (Bound::Excluded(a), Bound::Included(b)),
        3 => (Bound::Included(a), Bound::Excluded(b)),
        4 => (Bound::Excluded(a), Bound::Excluded(b)),
        5 => (Bound::Unbounded, Bound::Excluded(b)),
        6 => (Bound::Excluded(a), Bound::Unbounded),
        _ => (Bound::Unbounded, Bound::Unbounded),
    }
}

fn raw(bound: &Bound<Vec<u8>>) -> Bound<RawKey<'_>> {
    let key = |bytes| RawKey::decode_exact(bytes).unwrap();
    bound.as_ref().map(|bytes: &Vec<u8>| key(bytes))
}

/// Calls `work` with the range in bytes.
pub(super) fn with_range<T>(range: &Range, work: impl FnOnce(&KeyRange<'_>) -> T) -> T {
    let bytes = |bound: &Bound<Key>| bound.as_ref().map(bytes);
    let (lower, upper) = (bytes(&range.0), bytes(&range.1));
    let range = KeyRange {
        lower: raw(&lower),
        upper: raw(&upper),
    };
    work(&range)
}

/// Calls `work` with index keys in bytes.
pub(super) fn with_index_keys<T>(
    index_keys: &[(i64, Key)],
    work: impl FnOnce(&[IndexKeys<'_>]) -> T,
) -> T {
    let encoded: Vec<(i64, Vec<u8>)> = index_keys
        .iter()
        .map(|(id, key)| (*id, bytes(key)))
        .collect();
    let keys: Vec<(i64, RawKey<'_>)> = encoded
        .iter()
        .map(|(id, key)| (*id, RawKey::decode_exact(key).unwrap()))
        .collect();
    let raw: Vec<RawKey<'_>> = keys.iter().map(|(_, key)| *key).collect();
    let mut lists = Vec::new();
    let mut from = 0;
    while from < keys.len() {
        let id = keys[from].0;
        let len = keys[from..].iter().take_while(|(of, _)| *of == id).count();
        lists.push(IndexKeys {
            index_id: IndexId::new(id).unwrap(),
            keys: &raw[from..from + len],
        });
        from += len;
    }
    work(&lists)
}

pub(super) fn all_index_keys(store: &Store, value: &[u8]) -> Vec<(i64, Key)> {
    let keys = |id: &i64| {
        let id = *id;
        index_keys_of(id, value)
            .into_iter()
            .map(move |key| (id, key))
    };
    store.indexes.keys().flat_map(keys).collect()
}

pub(super) fn refused<T: std::fmt::Debug>(
    result: larder_backing_store::Result<T>,
) -> Result<T, Refused> {
    result.map_err(|error| {
        assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
        Refused
    })
}

pub(super) fn store_id(id: i64) -> ObjectStoreId {
    ObjectStoreId::new(id).unwrap()
}

impl Run {
    pub(super) fn new() -> Self {
        let fs = MemoryFileSystem::new();
        Self {
            store: Some(open(&fs)),
            fs,
            model: Database::default(),
        }
    }

    fn store(&self) -> &BackingStore {
        self.store.as_ref().unwrap()
    }

    /// One transaction, or two at once that write different object stores.
    pub(super) fn transaction(&mut self, steps: &[Step]) {
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
            return;
        };
        match first.1 % 8 {
            0 => self.reopen(),
            4 => self.cut_off(),
            _ => {}
        }
        let before = self.store().read();
        let saved = self.model.clone();
        let mut sessions = self.begin(*first);
        for step in steps {
            // In a version change all steps are one transaction's.
            let whose = usize::from(step.0 >= 128) % sessions.len();
            sessions[whose].step(*step);
        }
        if last.3 % 8 == 1 {
            drop(before);
            let image = self.fs.crash_image(CrashImage::KeepWritten);
            drop(sessions);
            return self.open_image(image);
        }
        for (n, session) in sessions.into_iter().enumerate().rev() {
            if (last.3 >> (2 * n)) % 4 == 0 {
                session.rollback();
            } else {
                session.commit(&mut self.model);
            }
            check(&self.store().read(), &self.model);
        }
        let after: ReadTransaction = self.store().read();
        check_blobs(&after, &self.model);
        check_all_cursors(&after, &self.model);
        check(&before, &saved);
        check_blobs(&before, &saved);
    }

    fn begin(&self, first: Step) -> Vec<Session> {
        let ids: Vec<i64> = self.model.stores.keys().copied().collect();
        let scopes: Vec<&[i64]> = match &*ids {
            [] => vec![],
            _ if first.0.is_multiple_of(3) => vec![],
            [one, other] if first.2.is_multiple_of(2) => {
                vec![std::slice::from_ref(one), std::slice::from_ref(other)]
            }
            all => vec![all],
        };
        let begin = |scope| self.store().begin(scope, Durability::Relaxed).unwrap();
        if scopes.is_empty() {
            let transaction = begin(Scope::VersionChange(database()));
            return vec![Session::new(transaction, None, &self.model)];
        }
        let sessions = scopes.into_iter().map(|ids| {
            let stores = ids.iter().map(|id| store_id(*id)).collect();
            let transaction = begin(Scope::Stores(database(), stores));
            Session::new(transaction, Some(ids.to_vec()), &self.model)
        });
        sessions.collect()
    }

    fn reopen(&mut self) {
        self.store.take().unwrap().close().unwrap();
        self.check_files(&self.fs);
        self.store = Some(open(&self.fs));
    }

    /// Cuts the run off, as if the process had been killed now.
    fn cut_off(&mut self) {
        let image = self.fs.crash_image(CrashImage::KeepWritten);
        self.open_image(image);
    }

    fn open_image(&mut self, image: MemoryFileSystem) {
        self.store = Some(open(&image));
        // What a crash has left is seen as recovered before it is.
        check(&self.store().read(), &self.model);
        self.store().settle().unwrap();
        self.check_files(&image);
        self.fs = image;
        let reads = self.store().read();
        check(&reads, &self.model);
        check_blobs(&reads, &self.model);
    }

    /// Every blob has a file, and every file a blob.
    fn check_files(&self, fs: &MemoryFileSystem) {
        assert_eq!(blob_file_count(fs), blob_count(&self.model));
    }
}
