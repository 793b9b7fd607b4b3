//! Many records of an object store at once, by their primary keys.

use std::borrow::Borrow;
use std::ops::ControlFlow;

use larder_codec::row_key::RecordTable;
use larder_codec::versioned::DataRow;
use larder_codec::{DatabaseId, Key, ObjectStoreId, RawKey};

use super::records::has_zero;
use super::{Reads, record_row_prefix};
use crate::error::{Error, Result};
use crate::key_range::KeyRange;
use crate::record::Record;
use crate::row_keys::RowKeys;

/// A record, lent for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundRecord<'a> {
    /// The bytes of its primary key.
    pub primary_key: &'a [u8],
    /// The value's bytes, without the version: an envelope for [`larder_codec::value`].
    pub value: &'a [u8],
}

impl<'a> FoundRecord<'a> {
    pub(super) fn of(record: &'a Record) -> Self {
        Self {
            primary_key: record.primary_key_bytes(),
            value: record.value(),
        }
    }
}

impl Reads {
    /// The best number of keys for one call of [`Reads::multi_get`] or [`IndexLookup::multi_get`](crate::IndexLookup::multi_get), for a
    /// caller that has more of them. The more keys a call has, the more of their records lie in one block of the engine, which is
    /// then read once ([`Snapshot::lookups_together`](larder_leveldb::Snapshot::lookups_together)).
    #[must_use]
    pub fn lookups_together(&self) -> usize {
        self.view.lookups_together()
    }

    /// Reads the records with these primary keys, which may come in any order and more than once. One call takes less time than a
    /// [`Reads::get_in`] for each key ([`Snapshot::multi_get`](larder_leveldb::Snapshot::multi_get)).
    ///
    /// `found` is called once for each key, in any order. It gets the key's number, from 0, and the record, `None`, or the error of
    /// reading it.
    pub fn multi_get<K: Borrow<Key>>(
        &self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        primary_keys: &[K],
        mut found: impl FnMut(usize, Result<Option<FoundRecord<'_>>>),
    ) {
        let prefix = record_row_prefix(database_id, object_store_id, RecordTable::Data);
        let mut rows = RowKeys::with_capacity(primary_keys.len());
        for primary_key in primary_keys {
            rows.push(&prefix, |out| primary_key.borrow().encode(out));
        }
        let mut record = Record::new();
        self.view.multi_get(&rows, |n, row| {
            let row_key = rows.get(n);
            let primary_key = row_key.get(prefix.len()..).unwrap_or_default();
            let bad_key = |error| Error::row(row_key, "record row", error);
            let has_other_forms = |key: &K| may_have_other_forms(key.borrow(), primary_key);
            if self.context.lost_writes || primary_keys.get(n).is_some_and(has_other_forms) {
                let is_there = RawKey::decode_exact(primary_key)
                    .map_err(bad_key)
                    .and_then(|key| {
                        let range = KeyRange::only(key);
                        self.get_in(database_id, object_store_id, &range, &mut record)
                    });
                found(
                    n,
                    is_there.map(|is_there| is_there.then(|| FoundRecord::of(&record))),
                );
                return ControlFlow::Continue(());
            }
            found(
                n,
                row.and_then(|row| match row {
                    Some(row) => {
                        let value = decode(row_key, row)?.value;
                        Ok(Some(FoundRecord { primary_key, value }))
                    }
                    // There is no record under what is no key, such as NaN, but that is an error.
                    None => RawKey::decode_exact(primary_key)
                        .map(|_| None)
                        .map_err(bad_key),
                }),
            );
            ControlFlow::Continue(())
        });
    }
}

/// Whether a record with a key that is equal to this one may lie under other bytes.
fn may_have_other_forms(key: &Key, bytes: &[u8]) -> bool {
    match key {
        Key::Number(number) | Key::Date(number) => *number == 0.0,
        Key::String(_) | Key::Binary(_) => false,
        Key::Array(_) => has_zero(bytes),
    }
}

/// Takes a record's row apart.
pub(super) fn decode<'a>(row_key: &[u8], row: &'a [u8]) -> Result<DataRow<'a>> {
    DataRow::decode_exact(row).map_err(|error| {
        let what = "record row with an undecodable version";
        Error::row(row_key, what, error)
    })
}
