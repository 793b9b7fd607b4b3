//! An object store: eight metadata rows, the last two optional.

use std::ops::RangeInclusive;

use larder_codec::primitive::{boolean, int, string};
use larder_codec::row_key::{
    DatabaseField, DatabaseKey, IndexMetadataKey, ObjectStoreField, ObjectStoreMetadataKey, RowKey,
};
use larder_codec::{DatabaseId, IndexId, JsString, KeyPath, ObjectStoreId, range};

use super::index::{IndexMetadata, Rows as IndexRows, orphan, read_index_rows};
use super::rows::scan;
use crate::error::{Error, Result};
use crate::view::View;

/// One object store.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectStoreMetadata {
    /// Its id.
    pub id: ObjectStoreId,
    /// Its name.
    pub name: JsString,
    /// Its key path.
    pub key_path: KeyPath,
    /// Whether it has a key generator.
    pub auto_increment: bool,
    /// Its indexes, in order of id.
    pub indexes: Vec<IndexMetadata>,
}

/// What the rows of one store say, before anything is concluded from it.
#[derive(Debug, Default)]
struct Rows {
    name: Option<JsString>,
    key_path: Option<KeyPath>,
    auto_increment: Option<bool>,
    has_key_path: Option<bool>,
    /// The other two mandatory rows, whose values only writers need.
    last_version: bool,
    max_index_id: bool,
}

pub(crate) fn read_object_stores(
    view: &View,
    database_id: DatabaseId,
    problems: &mut Vec<Error>,
) -> Result<Vec<ObjectStoreMetadata>> {
    let all = ObjectStoreId::MIN..=ObjectStoreId::MAX;
    read_between(view, database_id, all, problems)
}

/// One object store of a database.
pub(crate) fn read_object_store(
    view: &View,
    database_id: DatabaseId,
    object_store_id: ObjectStoreId,
    problems: &mut Vec<Error>,
) -> Result<Option<ObjectStoreMetadata>> {
    let one = object_store_id..=object_store_id;
    let mut read = read_between(view, database_id, one, problems)?;
    Ok(read.pop())
}

/// The object store of a database that has a name, by its number.
pub(crate) fn object_store_named(
    view: &View,
    database_id: DatabaseId,
    name: &str,
) -> Result<Option<ObjectStoreId>> {
    let mut key = Vec::new();
    let field = DatabaseField::ObjectStoreName(name.into());
    DatabaseKey { database_id, field }.encode(&mut key);
    let Some(value) = view.get(&key)? else {
        return Ok(None);
    };
    let id =
        int::decode_exact(&value).map_err(|error| Error::row(&key, "object store name", error))?;
    match ObjectStoreId::new(id) {
        Some(id) => Ok(Some(id)),
        None => Err(Error::inconsistent(
            &key,
            format!("{id} is no object store id"),
        )),
    }
}

fn read_between(
    view: &View,
    database_id: DatabaseId,
    ids: RangeInclusive<ObjectStoreId>,
    problems: &mut Vec<Error>,
) -> Result<Vec<ObjectStoreMetadata>> {
    let mut stores: Vec<(ObjectStoreId, Rows)> = Vec::new();
    let low = range::object_store_low(database_id, *ids.start());
    let high = range::object_store_high(database_id, *ids.end());
    scan(view, &low, &high, problems, |row, value| {
        let RowKey::ObjectStoreMetadata(key) = row else {
            return Ok(());
        };
        if stores
            .last()
            .is_none_or(|(id, _)| *id != key.object_store_id)
        {
            stores.push((key.object_store_id, Rows::default()));
        }
        match stores.last_mut() {
            Some((_, rows)) => rows.take(key.field, value),
            None => Ok(()),
        }
    })?;
    let indexes = read_index_rows(view, database_id, ids, problems)?;
    let mut indexes = indexes.into_iter().peekable();
    let mut read = Vec::new();
    for (id, rows) in stores {
        while let Some((of, index_id, _)) = indexes.next_if(|(of, ..)| *of < id) {
            problems.push(orphan(database_id, of, index_id));
        }
        let own = std::iter::from_fn(|| indexes.next_if(|(of, ..)| *of == id));
        let own: Vec<_> = own.map(|(_, index_id, rows)| (index_id, rows)).collect();
        read.extend(rows.conclude(database_id, id, own, problems));
    }
    problems.extend(indexes.map(|(of, index_id, _)| orphan(database_id, of, index_id)));
    Ok(read)
}

impl Rows {
    fn take(&mut self, field: ObjectStoreField, value: &[u8]) -> larder_codec::Result<()> {
        match field {
            ObjectStoreField::Name => self.name = Some(string::decode_exact(value)?),
            ObjectStoreField::KeyPath => self.key_path = Some(KeyPath::decode_exact(value)?),
            ObjectStoreField::AutoIncrement => {
                self.auto_increment = Some(boolean::decode_exact(value)?);
            }
            ObjectStoreField::HasKeyPath => self.has_key_path = Some(boolean::decode_exact(value)?),
            ObjectStoreField::LastVersion => {
                int::decode_exact(value)?;
                self.last_version = true;
            }
            ObjectStoreField::MaxIndexId => {
                int::decode_exact(value)?;
                self.max_index_id = true;
            }
            ObjectStoreField::Evictable | ObjectStoreField::KeyGenerator => {}
        }
        Ok(())
    }

    fn conclude(
        self,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        indexes: Vec<(IndexId, IndexRows)>,
        problems: &mut Vec<Error>,
    ) -> Option<ObjectStoreMetadata> {
        let mut missing = |field: ObjectStoreField, what: &str| {
            let mut key = Vec::new();
            ObjectStoreMetadataKey {
                database_id,
                object_store_id,
                field,
            }
            .encode(&mut key);
            problems.push(Error::inconsistent(&key, what));
        };
        let Some(name) = self.name else {
            missing(
                ObjectStoreField::Name,
                "the object store has no name row; it is left out",
            );
            return None;
        };
        if self.key_path.is_none() {
            missing(
                ObjectStoreField::KeyPath,
                "the object store has no key path row; null is assumed",
            );
        }
        if self.auto_increment.is_none() {
            let what = "the object store has no auto-increment row; no key generator is assumed";
            missing(ObjectStoreField::AutoIncrement, what);
        }
        if !self.last_version {
            missing(
                ObjectStoreField::LastVersion,
                "the object store has no last version row",
            );
        }
        if !self.max_index_id {
            missing(
                ObjectStoreField::MaxIndexId,
                "the object store has no greatest index id row",
            );
        }
        let key_path = match (self.key_path, self.has_key_path) {
            // Before key paths were typed, an empty text with this flag off meant "none".
            (Some(KeyPath::String(path)), Some(false)) => {
                if !path.is_empty() {
                    let what = "the object store has a key path and a row that says it has none";
                    missing(ObjectStoreField::HasKeyPath, what);
                }
                KeyPath::Null
            }
            (Some(KeyPath::Null), Some(true)) => {
                let what = "the object store has no key path and a row that says it has one";
                missing(ObjectStoreField::HasKeyPath, what);
                KeyPath::Null
            }
            (path, _) => path.unwrap_or(KeyPath::Null),
        };
        let indexes = indexes.into_iter().filter_map(|(index_id, rows)| {
            let key = |field| IndexMetadataKey {
                database_id,
                object_store_id,
                index_id,
                field,
            };
            rows.conclude(key, problems)
        });
        Some(ObjectStoreMetadata {
            id: object_store_id,
            name,
            key_path,
            auto_increment: self.auto_increment.unwrap_or(false),
            indexes: indexes.collect(),
        })
    }
}
