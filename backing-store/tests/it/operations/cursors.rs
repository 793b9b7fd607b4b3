//! Cursors beside the reference's.

use std::ops::Bound;

use larder_backing_store::{
    CursorDirection, IndexCursor, KeyRange, Movement, Page, PageLimits, Reads, RecordCursor,
    WriteTransaction,
};
use larder_codec::{IndexId, Key, ObjectStoreId, RawKey};

use super::model::{Cursor, Database, Range, Store};
use super::run::{database, key, with_range};
use super::support::bytes;

const DIRECTIONS: [CursorDirection; 4] = [
    CursorDirection::Next,
    CursorDirection::NextUnique,
    CursorDirection::Prev,
    CursorDirection::PrevUnique,
];

enum Real {
    Records(Box<RecordCursor>),
    Index(Box<IndexCursor>),
}

/// A cursor and its twin.
pub(super) struct OpenCursor {
    pub(super) store: i64,
    index: Option<i64>,
    real: Real,
    model: Cursor,
}

fn real_cursor(
    reads: &Reads,
    store: i64,
    index: Option<i64>,
    range: &Range,
    direction: CursorDirection,
) -> Real {
    let store = ObjectStoreId::new(store).unwrap();
    with_range(range, |range| match index {
        None => Real::Records(Box::new(reads.records_in(
            database(),
            store,
            range,
            direction,
        ))),
        Some(index) => Real::Index(Box::new(reads.index_entries_in(
            database(),
            store,
            IndexId::new(index).unwrap(),
            range,
            direction,
        ))),
    })
}

/// The walk without values.
fn keys_cursor(reads: &Reads, store: i64, index: Option<i64>, direction: CursorDirection) -> Real {
    let (store, range) = (ObjectStoreId::new(store).unwrap(), KeyRange::ALL);
    match index {
        None => Real::Records(Box::new(reads.keys_in(
            database(),
            store,
            &range,
            direction,
        ))),
        Some(index) => Real::Index(Box::new(reads.index_keys_in(
            database(),
            store,
            IndexId::new(index).unwrap(),
            &range,
            direction,
        ))),
    }
}

impl Real {
    /// Where it stands, with the value there.
    fn entry(&self) -> ((Key, Key), Vec<u8>) {
        match self {
            Self::Records(cursor) => {
                let key = cursor.primary_key().unwrap().to_key();
                let value = cursor.value().unwrap();
                if let Some(pinned) = cursor.pinned_value() {
                    assert_eq!(*pinned, *value);
                }
                ((key.clone(), key), value.to_vec())
            }
            Self::Index(cursor) => {
                let key = cursor.index_key().unwrap().to_key();
                let primary_key = cursor.primary_key().unwrap().to_key();
                ((key, primary_key), cursor.value().to_vec())
            }
        }
    }
}

impl OpenCursor {
    pub(super) fn new(
        reads: &Reads,
        store: i64,
        index: Option<i64>,
        range: Range,
        direction: u8,
    ) -> Self {
        let direction = DIRECTIONS[usize::from(direction) % 4];
        Self {
            store,
            index,
            real: real_cursor(reads, store, index, &range, direction),
            model: Cursor {
                range,
                direction,
                at: None,
                ended: false,
            },
        }
    }

    /// One move of any kind on both, of a cursor of this transaction if there is one: whether it stands on an entry.
    pub(super) fn go(
        &mut self,
        transaction: Option<&mut WriteTransaction>,
        store: &Store,
        how: (u8, u8),
    ) -> bool {
        let (target, primary_key) = (key(how.0), key(how.1));
        let (target_bytes, primary_bytes) = (bytes(&target), bytes(&primary_key));
        let raw = RawKey::decode_exact(&target_bytes).unwrap();
        let raw_primary = RawKey::decode_exact(&primary_bytes).unwrap();
        let with_primary = self.index.is_some() && !self.model.direction.is_unique();
        let (movement, times, target) = match how.1 % 5 {
            0 => (Movement::Advance(3), 3, None),
            1 => (Movement::To(raw), 1, Some((target, None))),
            2 if with_primary => (
                Movement::ToEntry(raw, raw_primary),
                1,
                Some((target, Some(primary_key))),
            ),
            _ => (Movement::Next, 1, None),
        };
        let moved = match (&mut self.real, movement) {
            (Real::Records(cursor), _) => cursor.go(movement),
            // How many more are wanted is of no consequence.
            (Real::Index(cursor), Movement::Next) if how.0.is_multiple_of(4) => {
                cursor.next_of(how.1.into())
            }
            (Real::Index(cursor), _) => match transaction {
                // Half of the moves remove stale rows.
                Some(transaction) if !how.0.is_multiple_of(2) => transaction.go(cursor, movement),
                _ => cursor.go(movement),
            },
        };
        if let (Some(target), Some(at)) = (&target, &self.model.at)
            && !is_ahead(self.model.direction, at, target)
        {
            assert!(moved.is_err(), "a target that is not behind the cursor");
            return true;
        }
        let entries = store.entries(self.index);
        let mut expected = None;
        for _ in 0..times {
            expected = self.model.go(&entries, target.as_ref());
        }
        assert_eq!(moved.unwrap(), expected.is_some());
        let is_on_entry = expected.is_some();
        if let Some(expected) = expected {
            let value = store.records[&expected.1].value.clone();
            assert_eq!(self.real.entry(), (expected, value));
        }
        is_on_entry
    }
}

fn is_ahead(
    direction: CursorDirection,
    at: &(Key, Key),
    (key, primary_key): &(Key, Option<Key>),
) -> bool {
    let order = match primary_key {
        None => at.0.cmp(key),
        Some(primary_key) => at.cmp(&(key.clone(), primary_key.clone())),
    };
    order.is_lt() && direction.is_forward() || order.is_gt() && !direction.is_forward()
}

/// Every store and index, walked in each direction, step by step, by moves of all kinds, and page by page.
pub(super) fn check_all_cursors(reads: &Reads, model: &Database) {
    for (id, store) in &model.stores {
        let indexes = store.indexes.keys().map(|index| Some(*index));
        for index in std::iter::once(None).chain(indexes) {
            for direction in DIRECTIONS {
                check_walk(reads, *id, store, index, direction);
            }
            for seed in 0..12 {
                let whole = (Bound::Unbounded, Bound::Unbounded);
                let mut cursor = OpenCursor::new(reads, *id, index, whole, seed);
                let mut how = (seed.wrapping_mul(31), seed.wrapping_mul(89));
                for _ in 0..30 {
                    if !cursor.go(None, store, how) {
                        break;
                    }
                    // Mostly to the next, wanting many.
                    how = (
                        how.1.wrapping_add(67),
                        how.0.wrapping_mul(5).wrapping_add(3),
                    );
                    how.0 &= if how.1 < 170 { !3 } else { !0 };
                }
            }
        }
    }
}

fn check_walk(
    reads: &Reads,
    id: i64,
    store: &Store,
    index: Option<i64>,
    direction: CursorDirection,
) {
    let whole = (Bound::Unbounded, Bound::Unbounded);
    let mut model = Cursor {
        range: whole.clone(),
        direction,
        at: None,
        ended: false,
    };
    let entries = store.entries(index);
    let expected: Vec<_> = std::iter::from_fn(|| model.go(&entries, None)).collect();
    let mut real = real_cursor(reads, id, index, &whole, direction);
    let mut found = Vec::new();
    let next = |real: &mut Real| match real {
        Real::Records(cursor) => cursor.next().unwrap(),
        Real::Index(cursor) => cursor.next().unwrap(),
    };
    while next(&mut real) {
        found.push(real.entry().0);
    }
    assert!(!next(&mut real), "what has ended stays so");
    assert_eq!(found, expected);
    let mut keys = keys_cursor(reads, id, index, direction);
    let mut found = Vec::new();
    while next(&mut keys) {
        let (entry, value) = keys.entry();
        assert_eq!(value, b"", "values are not read");
        found.push(entry);
    }
    assert_eq!(found, expected);
    let mut pages = Vec::new();
    let mut page = Page::new();
    let limits = PageLimits::new().entries_max(9).bytes_max(300);
    let mut real = real_cursor(reads, id, index, &whole, direction);
    loop {
        let more = match &mut real {
            Real::Records(cursor) => cursor.fill(&mut page, limits).unwrap(),
            Real::Index(cursor) => cursor.fill(&mut page, limits).unwrap(),
        };
        let decoded = |bytes| Key::decode_exact(bytes).unwrap();
        for entry in page.entries() {
            let primary_key = decoded(entry.primary_key);
            assert_eq!(entry.value, store.records[&primary_key].value);
            pages.push((decoded(entry.key), primary_key));
        }
        if !more {
            break;
        }
    }
    assert_eq!(pages, expected);
}
