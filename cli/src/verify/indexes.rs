//! Index rows beside records, both ways: each key that a value has is in the index, and each live index row is of such a value.

use std::collections::BTreeMap;

use larder_backing_store::{CursorDirection, Error, IndexMetadata, ObjectStoreMetadata, StoreRows};
use larder_codec::external_object::ExternalObject;
use larder_codec::row_key::IndexDataKey;
use larder_codec::value::{ParsedKeyPath, Tree};
use larder_codec::versioned::IndexRow;
use larder_codec::{IndexId, Key, KeyPath, RawKey, RecordVersion, RowKey, compare};

use super::finding::Place;
use super::records::Values;
use super::sum::Sum;
use super::{Check, Checker, FullIndexId, StoreId};
use crate::display::ShownKey;

/// The sum of an index's rows.
#[derive(Debug, Default)]
pub(super) struct IndexSums {
    rows: Sum,
    last_key: Vec<u8>,
    /// Whether two rows that follow one another have one index key.
    has_equal_keys: bool,
}

impl IndexSums {
    pub(super) const fn is_empty(&self) -> bool {
        self.rows.count() == 0
    }

    pub(super) fn take(&mut self, index_key: RawKey<'_>, entry: &IndexRow<'_>) {
        let key = index_key.as_bytes();
        self.has_equal_keys |= !self.is_empty() && self.last_key == key;
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        let primary_key = entry.primary_key.as_bytes();
        self.rows.add(&[key, primary_key], entry.version.get());
    }
}

/// The sum of the rows that an index should have.
pub(crate) struct ExpectedKeys {
    id: IndexId,
    path: Option<ParsedKeyPath>,
    multi_entry: bool,
    unique: bool,
    /// A part of the keys is the generated primary key, which old Chromiums do not see.
    has_generated_part: bool,
    rows: Sum,
    buffer: Vec<u8>,
}

impl ExpectedKeys {
    pub(crate) fn new(store: &ObjectStoreMetadata, index: &IndexMetadata) -> Self {
        let has_generated_part = match (&store.key_path, &index.key_path) {
            (KeyPath::String(own), KeyPath::Array(parts)) => {
                store.auto_increment && parts.contains(own)
            }
            _ => false,
        };
        Self {
            has_generated_part,
            id: index.id,
            path: ParsedKeyPath::new(&index.key_path),
            multi_entry: index.multi_entry,
            unique: index.unique,
            rows: Sum::default(),
            buffer: Vec::new(),
        }
    }

    pub(super) fn keys(&self, tree: &Tree<'_>, objects: &[ExternalObject]) -> Vec<Key> {
        let keys = |path| tree.index_keys(path, self.multi_entry, objects);
        self.path.as_ref().map_or_else(Vec::new, keys)
    }

    /// The sum of what was taken.
    pub(crate) const fn sum(&self) -> Sum {
        self.rows
    }

    pub(crate) fn take(
        &mut self,
        tree: &Tree<'_>,
        objects: &[ExternalObject],
        primary_key: RawKey<'_>,
        version: RecordVersion,
    ) {
        for key in self.keys(tree, objects) {
            self.buffer.clear();
            key.encode(&mut self.buffer);
            self.rows
                .add(&[&self.buffer, primary_key.as_bytes()], version.get());
        }
    }
}

impl Checker<'_> {
    /// Compares an object store's indexes with its values.
    pub(super) fn compare_indexes(
        &mut self,
        id: StoreId,
        mut values: Values<'_>,
        found: BTreeMap<FullIndexId, IndexSums>,
    ) -> Result<(), Error> {
        for n in 0..values.expected.len() {
            let Some(expected) = values.expected.get(n) else {
                continue;
            };
            let (index, unique, rows) = (expected.id, expected.unique, expected.rows);
            let none = IndexSums::default();
            let sums = found.get(&(id.0, id.1, index)).unwrap_or(&none);
            let is_equal = values.unknown == 0 && sums.rows == rows;
            // The usual case: nothing was overwritten or deleted since the index rows were swept.
            if is_equal && !(unique && sums.has_equal_keys) {
                continue;
            }
            let live = self.live_rows((id.0, id.1, index), unique)?;
            self.verdict.counts.stale_index_rows += sums.rows.count().saturating_sub(live.count());
            if is_equal || (values.unknown == 0 && live == rows) {
                continue;
            }
            let missing = self.missing_entries(id, n, &mut values)?;
            if values.unknown == 0 && live.count() == rows.count().saturating_sub(missing) {
                continue;
            }
            self.needless_entries(id, n, &mut values)?;
        }
        Ok(())
    }

    /// The sum of the index's live rows. Those that a unique index must not have are named.
    fn live_rows(&mut self, id: FullIndexId, unique: bool) -> Result<Sum, Error> {
        let (database, store, index) = id;
        let next = CursorDirection::Next;
        let mut entries = self.store.index_entries(database, store, index, next);
        let mut live = Sum::default();
        let mut last = Vec::new();
        loop {
            match entries.next() {
                Ok(true) => {}
                Ok(false) => return Ok(live),
                // Named by the walk over all rows.
                Err(error) if error.kind() == larder_backing_store::ErrorKind::Corruption => {
                    continue;
                }
                Err(error) => return Err(error),
            }
            let (index_key, primary_key) = entries.key_bytes()?;
            if unique && live.count() > 0 && compare::compare_user_keys(index_key, &last).is_eq() {
                let row = row_of(id, index_key, primary_key);
                let what = "the index is unique, and two records have this key";
                self.row(Check::Index, &row, what);
            }
            last.clear();
            last.extend_from_slice(index_key);
            let version = entries.version().map_or(0, RecordVersion::get);
            live.add(&[index_key, primary_key], version);
        }
    }

    /// Names the keys of values that the index does not have: how many they are.
    fn missing_entries(
        &mut self,
        (database, store): StoreId,
        n: usize,
        values: &mut Values<'_>,
    ) -> Result<u64, Error> {
        let Some(expected) = values.expected.get(n) else {
            return Ok(0);
        };
        let (index, has_generated_part) = (expected.id, expected.has_generated_part);
        let mut missing = 0;
        let mut lookup = self.store.rows();
        let next = CursorDirection::Next;
        let mut records = self.store.records(database, store, next);
        loop {
            match records.next() {
                Ok(true) => {}
                Ok(false) => return Ok(missing),
                Err(error) if error.kind() == larder_backing_store::ErrorKind::Corruption => {
                    continue;
                }
                Err(error) => return Err(error),
            }
            let primary_key = records.primary_key()?;
            let Ok(Some(keys)) = values.index_keys(primary_key, records.value()?, n) else {
                continue;
            };
            for key in keys {
                let mut bytes = Vec::new();
                key.encode(&mut bytes);
                let row = row_of((database, store, index), &bytes, primary_key.as_bytes());
                if !is_there(&mut lookup, &row, records.version())? {
                    missing += 1;
                    let place = Place::of_row(self.names.place(&row));
                    let what = format!(
                        "the record with the primary key {} is missing from the index",
                        ShownKey(primary_key)
                    );
                    match has_generated_part {
                        false => self.fault(Check::Index, place, what),
                        true => {
                            let why = "a generated key is part of the index key, which Chromium 75 does not see";
                            self.note(Check::Index, place, format!("{what}: {why}"));
                        }
                    }
                }
            }
        }
    }

    /// Names live rows of an index whose records' values do not have the key.
    fn needless_entries(
        &mut self,
        (database, store): StoreId,
        n: usize,
        values: &mut Values<'_>,
    ) -> Result<(), Error> {
        let Some(index) = values.expected.get(n).map(|expected| expected.id) else {
            return Ok(());
        };
        let next = CursorDirection::Next;
        let mut entries = self.store.index_entries(database, store, index, next);
        loop {
            match entries.next() {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) if error.kind() == larder_backing_store::ErrorKind::Corruption => {
                    continue;
                }
                Err(error) => return Err(error),
            }
            let (index_key, primary_key) = (entries.index_key()?, entries.primary_key()?);
            let Ok(Some(keys)) = values.index_keys(primary_key, entries.value(), n) else {
                continue;
            };
            let has_key = keys.iter().any(|key| {
                let mut bytes = Vec::new();
                key.encode(&mut bytes);
                compare::compare_user_keys(&bytes, index_key.as_bytes()).is_eq()
            });
            if !has_key {
                let id = (database, store, index);
                let row = row_of(id, index_key.as_bytes(), primary_key.as_bytes());
                let what = format!(
                    "the record with the primary key {} does not have this key, and the index says so",
                    ShownKey(primary_key)
                );
                self.row(Check::Index, &row, what);
            }
        }
    }
}

/// The key of an index row.
fn row_of((database, store, index): FullIndexId, index_key: &[u8], primary_key: &[u8]) -> Vec<u8> {
    let mut row = Vec::new();
    if let (Ok(index_key), Ok(primary_key)) = (
        RawKey::decode_exact(index_key),
        RawKey::decode_exact(primary_key),
    ) {
        IndexDataKey::new(database, store, index, index_key, primary_key).encode(&mut row);
    }
    row
}

/// Whether an index has a row of this version. There may be several with other sequence numbers.
pub(crate) fn is_there(
    lookup: &mut StoreRows,
    row: &[u8],
    version: Option<RecordVersion>,
) -> Result<bool, Error> {
    let mut last = row.to_vec();
    if let Ok(RowKey::IndexData(entry)) = RowKey::decode_exact(row) {
        last.clear();
        entry.with_sequence(i64::MAX).encode(&mut last);
    }
    lookup.seek_near(row, &last)?;
    while lookup.next()? && is_same_entry(lookup.key(), row) {
        let entry = IndexRow::decode_exact(lookup.value()?);
        if entry.is_ok_and(|entry| Some(entry.version) == version) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether two index rows are of one index key and primary key.
fn is_same_entry(a: &[u8], b: &[u8]) -> bool {
    let (Ok(RowKey::IndexData(a)), Ok(RowKey::IndexData(b))) =
        (RowKey::decode_exact(a), RowKey::decode_exact(b))
    else {
        return false;
    };
    let is_same = |a: RawKey<'_>, b: RawKey<'_>| {
        compare::compare_user_keys(a.as_bytes(), b.as_bytes()).is_eq()
    };
    let of_index = |key: &IndexDataKey<'_>| (key.database_id, key.object_store_id, key.index_id);
    let primary_keys = a.primary_key().zip(b.primary_key());
    of_index(&a) == of_index(&b)
        && is_same(a.index_key, b.index_key)
        && primary_keys.is_some_and(|(a, b)| is_same(a, b))
}
