//! An index: four metadata rows, the last optional.

use std::ops::RangeInclusive;

use larder_codec::primitive::{boolean, string};
use larder_codec::row_key::{IndexField, IndexMetadataKey, RowKey};
use larder_codec::{DatabaseId, IndexId, JsString, KeyPath, ObjectStoreId, range};

use super::rows::scan;
use crate::error::{Error, Result};
use crate::view::View;

/// One index.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexMetadata {
    /// Its id.
    pub id: IndexId,
    /// Its name.
    pub name: JsString,
    /// Its key path.
    pub key_path: KeyPath,
    /// Whether no two records may have the same key.
    pub unique: bool,
    /// Whether an array gives one entry for each of its members.
    pub multi_entry: bool,
}

/// What the rows of one index say, before anything is concluded from it.
#[derive(Debug, Default)]
pub(super) struct Rows {
    name: Option<JsString>,
    key_path: Option<KeyPath>,
    unique: Option<bool>,
    multi_entry: Option<bool>,
}

/// The rows of all indexes of these object stores, index by index, in the order of their stores' and their own ids.
pub(super) fn read_index_rows(
    view: &View,
    database_id: DatabaseId,
    object_stores: RangeInclusive<ObjectStoreId>,
    problems: &mut Vec<Error>,
) -> Result<Vec<(ObjectStoreId, IndexId, Rows)>> {
    let mut indexes: Vec<(ObjectStoreId, IndexId, Rows)> = Vec::new();
    let low = range::all_indexes_low(database_id, *object_stores.start());
    let high = range::all_indexes_high(database_id, *object_stores.end());
    scan(view, &low, &high, problems, |row, value| {
        let RowKey::IndexMetadata(key) = row else {
            return Ok(());
        };
        let (store_id, index_id) = (key.object_store_id, key.index_id);
        let last = indexes.last().map(|(store, index, _)| (*store, *index));
        if last != Some((store_id, index_id)) {
            indexes.push((store_id, index_id, Rows::default()));
        }
        match indexes.last_mut() {
            Some((_, _, rows)) => rows.take(key.field, value),
            None => Ok(()),
        }
    })?;
    Ok(indexes)
}

/// An index whose object store is not there.
pub(super) fn orphan(
    database_id: DatabaseId,
    object_store_id: ObjectStoreId,
    index_id: IndexId,
) -> Error {
    let mut key = Vec::new();
    IndexMetadataKey {
        database_id,
        object_store_id,
        index_id,
        field: IndexField::Name,
    }
    .encode(&mut key);
    let what = format!("index {index_id} is of object store {object_store_id}, which is not there");
    Error::inconsistent(&key, what)
}

impl Rows {
    fn take(&mut self, field: IndexField, value: &[u8]) -> larder_codec::Result<()> {
        match field {
            IndexField::Name => self.name = Some(string::decode_exact(value)?),
            IndexField::Unique => self.unique = Some(boolean::decode_exact(value)?),
            IndexField::KeyPath => self.key_path = Some(KeyPath::decode_exact(value)?),
            IndexField::MultiEntry => self.multi_entry = Some(boolean::decode_exact(value)?),
        }
        Ok(())
    }

    pub(super) fn conclude(
        self,
        key: impl Fn(IndexField) -> IndexMetadataKey,
        problems: &mut Vec<Error>,
    ) -> Option<IndexMetadata> {
        let mut missing = |field: IndexField, what: &str| {
            let mut bytes = Vec::new();
            key(field).encode(&mut bytes);
            problems.push(Error::inconsistent(&bytes, what));
        };
        let Some(name) = self.name else {
            missing(
                IndexField::Name,
                "the index has no name row; it is left out",
            );
            return None;
        };
        if self.unique.is_none() {
            missing(
                IndexField::Unique,
                "the index has no unique row; not unique is assumed",
            );
        }
        if self.key_path.is_none() {
            missing(
                IndexField::KeyPath,
                "the index has no key path row; null is assumed",
            );
        }
        Some(IndexMetadata {
            id: key(IndexField::Name).index_id,
            name,
            key_path: self.key_path.unwrap_or(KeyPath::Null),
            unique: self.unique.unwrap_or(false),
            // Absent in stores from before there were such indexes.
            multi_entry: self.multi_entry.unwrap_or(false),
        })
    }
}
