//! Records by index keys, many one after the other.

use std::borrow::Borrow;
use std::ops::ControlFlow;

use larder_codec::row_key::RecordTable;
use larder_codec::versioned::{DataRow, ExistsRow, IndexRow};
use larder_codec::{DatabaseId, IndexId, Key, ObjectStoreId, RawKey};

use super::multi_get::decode;
use super::{EntryLookup, FoundRecord, Reads, has_two_forms, record_row_prefix};
use crate::cursor::{CursorDirection, Movement, OnStale};
use crate::error::{Error, Result};
use crate::key_range::KeyRange;
use crate::record::Record;
use crate::row_keys::RowKeys;

/// Reads any number of records through one index, and keeps its preparation from one read to the next. Made by
/// [`Reads::index_lookup`].
///
/// In a transaction that writes, each read sees what the transaction has written up to then.
#[derive(Debug)]
pub struct IndexLookup {
    reads: Reads,
    place: (DatabaseId, ObjectStoreId, IndexId),
    entries: EntryLookup,
    /// The first key that exists of a range of many keys.
    first: Vec<u8>,
}

impl IndexLookup {
    pub(super) fn new(reads: &Reads, place: (DatabaseId, ObjectStoreId, IndexId)) -> Self {
        Self {
            reads: reads.clone(),
            place,
            entries: EntryLookup::new(reads, place),
            first: Vec::new(),
        }
    }

    /// Reads the first record that the index has under a key in the range; whether there is one.
    ///
    /// # Errors
    /// If a row in the way cannot be read.
    pub fn get(&mut self, range: &KeyRange<'_>, record: &mut Record) -> Result<bool> {
        self.get_with(range, record, &mut |_| Ok(()))
    }

    /// Looks up like [`get`](Self::get); `on_stale` gets the keys of stale rows on the way.
    pub(crate) fn get_with(
        &mut self,
        range: &KeyRange<'_>,
        record: &mut Record,
        on_stale: OnStale<'_>,
    ) -> Result<bool> {
        record.clear();
        let (database_id, object_store_id, index_id) = self.place;
        let index_key = if let Some(key) = range.single() {
            key
        } else {
            let direction = CursorDirection::Next;
            let reads = &self.reads;
            let mut cursor =
                reads.index_entries_in(database_id, object_store_id, index_id, range, direction);
            if !cursor.go_with(Movement::Next, Some(&mut *on_stale))? {
                return Ok(false);
            }
            let index_key = cursor.index_key()?;
            self.first.clear();
            self.first.extend_from_slice(index_key.as_bytes());
            RawKey::decode_exact(&self.first)
                .map_err(|error| crate::Error::row(&[], "index entry", error))?
        };
        match self.entries.find(index_key, on_stale)? {
            Some(primary_key) => self
                .reads
                .get(database_id, object_store_id, primary_key, record),
            None => Ok(false),
        }
    }

    /// Reads the first record that the index has under each of these keys, which may come in any order and more than once. One call
    /// takes less time than a [`get`](Self::get) for each key.
    ///
    /// `found` is called once for each key, in any order. It gets the key's number, from 0, and the record, `None`, or the error of
    /// reading it.
    pub fn multi_get<K: Borrow<Key>>(
        &mut self,
        index_keys: &[K],
        found: impl FnMut(usize, Result<Option<FoundRecord<'_>>>),
    ) {
        self.multi_get_with(index_keys, &mut |_| Ok(()), found);
    }

    /// Looks up like [`multi_get`](Self::multi_get); `on_stale` gets the keys of stale rows on the way.
    pub(crate) fn multi_get_with<K: Borrow<Key>>(
        &mut self,
        index_keys: &[K],
        on_stale: OnStale<'_>,
        mut found: impl FnMut(usize, Result<Option<FoundRecord<'_>>>),
    ) {
        let Firsts { live, mut others } = self.live_firsts(index_keys, &mut found);
        self.reads.view().multi_get(&live.rows, |at, row| {
            let Some(&n) = live.numbers.get(at) else {
                return ControlFlow::Break(());
            };
            let row_key = live.rows.get(at);
            match row.and_then(|row| row.map(|row| decode(row_key, row)).transpose()) {
                Ok(row) => {
                    let primary_key = row_key.get(live.key_start..).unwrap_or_default();
                    let record = row.map(|row| row.value);
                    let record = record.map(|value| FoundRecord { primary_key, value });
                    found(n, Ok(record));
                }
                Err(_) => others.push(n),
            }
            ControlFlow::Continue(())
        });
        let (mut record, mut bytes) = (Record::new(), Vec::new());
        for n in others {
            bytes.clear();
            if let Some(index_key) = index_keys.get(n) {
                index_key.borrow().encode(&mut bytes);
            }
            let key = RawKey::decode_exact(&bytes);
            let is_there = key
                .map_err(|error| Error::row(&[], "index entry", error))
                .and_then(|key| self.get_with(&KeyRange::only(key), &mut record, &mut *on_stale));
            found(
                n,
                is_there.map(|is_there| is_there.then(|| FoundRecord::of(&record))),
            );
        }
    }

    /// Where the records lie that the first rows under these keys lead to, if these are live. Records that come with their rows are `found`.
    fn live_firsts<K: Borrow<Key>>(
        &mut self,
        index_keys: &[K],
        found: &mut impl FnMut(usize, Result<Option<FoundRecord<'_>>>),
    ) -> Firsts {
        let (database_id, object_store_id, _) = self.place;
        let mut firsts = Firsts::default();
        if self.reads.context.lost_writes {
            firsts.others.extend(0..index_keys.len());
            return firsts;
        }
        let [exists, data] = [RecordTable::Exists, RecordTable::Data]
            .map(|table| record_row_prefix(database_id, object_store_id, table));
        let mut asked = Rows::new(&exists, index_keys.len());
        let mut versions = Vec::with_capacity(index_keys.len());
        firsts.live = Rows::new(&data, index_keys.len());
        self.entries.first_rows(index_keys, |n, row, liveness| {
            let first = row.ok().flatten();
            let record = first.and_then(|first| first.record);
            let record = record.and_then(|record| DataRow::decode_exact(record).ok());
            let row = first.map(|first| IndexRow::decode_exact(first.value));
            match row {
                Some(Ok(row)) if !has_two_forms(row.primary_key) => {
                    let primary_key = row.primary_key.as_bytes();
                    if let Some(DataRow { version, value }) = record
                        && version == row.version
                    {
                        found(n, Ok(Some(FoundRecord { primary_key, value })));
                    } else if liveness.is_certain(row.version) {
                        firsts.live.push(&data, primary_key, n);
                    } else {
                        asked.push(&exists, primary_key, n);
                        versions.push(row.version);
                    }
                }
                _ => firsts.others.push(n),
            }
        });
        self.reads.view().multi_get(&asked.rows, |at, row| {
            let (Some(&n), Some(&version)) = (asked.numbers.get(at), versions.get(at)) else {
                return ControlFlow::Break(());
            };
            let exists = row.ok().flatten().map(ExistsRow::decode_exact);
            match exists == Some(Ok(ExistsRow { version })) {
                true => {
                    let row_key = asked.rows.get(at);
                    let primary_key = row_key.get(asked.key_start..).unwrap_or_default();
                    firsts.live.push(&data, primary_key, n);
                }
                false => firsts.others.push(n),
            }
            ControlFlow::Continue(())
        });
        firsts
    }
}

/// Records that index keys lead to, as far as their first rows say.
#[derive(Debug, Default)]
struct Firsts {
    live: Rows,
    /// The numbers of the other index keys, each of which is looked up alone: there is no row, or not in the usual form, or it is
    /// stale.
    others: Vec<usize>,
}

/// Rows of records.
#[derive(Debug, Default)]
struct Rows {
    rows: RowKeys,
    /// Where the primary key begins in the key of a row.
    key_start: usize,
    /// For each row, the number of the index key that leads to it.
    numbers: Vec<usize>,
}

impl Rows {
    fn new(prefix: &[u8], count: usize) -> Self {
        Self {
            rows: RowKeys::with_capacity(count),
            key_start: prefix.len(),
            numbers: Vec::with_capacity(count),
        }
    }

    fn push(&mut self, prefix: &[u8], primary_key: &[u8], number: usize) {
        self.rows
            .push(prefix, |out| out.extend_from_slice(primary_key));
        self.numbers.push(number);
    }
}
