//! A database: its name row and its fields.

use std::collections::BTreeSet;

use larder_codec::primitive::var_int;
use larder_codec::row_key::{
    DatabaseField, DatabaseKey, GlobalKey, IndexField, IndexMetadataKey, ObjectStoreField,
    ObjectStoreMetadataKey,
};
use larder_codec::{DatabaseId, JsString, KeyPath};

use super::name::{DatabaseName, database_id, read_database_names, shared};
use super::named_ids::NamedIds;
use super::object_store::{ObjectStoreMetadata, read_object_stores};
use crate::error::{Error, Result};
use crate::view::View;

/// One database of an origin.
#[derive(Debug, Clone, PartialEq)]
pub struct DatabaseMetadata {
    /// Its id.
    pub id: DatabaseId,
    /// The origin's identifier as the name row has it: `https_example.com_0@1`.
    pub origin: JsString,
    /// Its name.
    pub name: JsString,
    /// Its version; `None` while no version change has ever been committed. Chromium does not show such a database.
    pub version: Option<i64>,
    /// Its object stores, in order of id.
    pub object_stores: Vec<ObjectStoreMetadata>,
}

/// All databases in the order of their name rows: by origin, then by name.
pub(crate) fn read_databases(
    view: &View,
    problems: &mut Vec<Error>,
) -> Result<Vec<DatabaseMetadata>> {
    read_database_names(view, problems)?
        .into_iter()
        .map(|database| read_metadata(view, database, problems))
        .collect()
}

/// The database that a name row speaks of.
pub(crate) fn read_database(
    view: &View,
    named_ids: &NamedIds,
    origin: &JsString,
    name: &JsString,
    problems: &mut Vec<Error>,
) -> Result<Option<DatabaseMetadata>> {
    let Some(Some(id)) = read_id(view, origin, name, problems)? else {
        return Ok(None);
    };
    let (origin, name) = (origin.clone(), name.clone());
    let database = DatabaseName { id, origin, name };
    if named_ids.has_twice(view, id)? {
        problems.push(shared(&database));
    }
    read_metadata(view, database, problems).map(Some)
}

/// The version alone, which is all that deleting a damaged database needs: 0 if it has none or that cannot be read;
/// `None` if there is no database of the name.
pub(crate) fn read_database_version(
    view: &View,
    origin: &JsString,
    name: &JsString,
    problems: &mut Vec<Error>,
) -> Result<Option<i64>> {
    let Some(id) = read_id(view, origin, name, problems)? else {
        return Ok(None);
    };
    let version = match id {
        Some(id) => read_version(view, id, problems)?,
        None => None,
    };
    Ok(Some(version.unwrap_or(0)))
}

/// The id in a name row: nothing if there is no such row, and nothing in it if the row cannot be read.
fn read_id(
    view: &View,
    origin: &JsString,
    name: &JsString,
    problems: &mut Vec<Error>,
) -> Result<Option<Option<DatabaseId>>> {
    let mut key = Vec::new();
    GlobalKey::DatabaseName {
        origin: origin.clone(),
        name: name.clone(),
    }
    .encode(&mut key);
    let Some(value) = view.get(&key)? else {
        return Ok(None);
    };
    let id = database_id(&value).map_err(|error| {
        let what = "metadata row with an undecodable value";
        problems.push(Error::row(&key, what, error));
    });
    Ok(Some(id.ok()))
}

fn read_metadata(
    view: &View,
    database: DatabaseName,
    problems: &mut Vec<Error>,
) -> Result<DatabaseMetadata> {
    let DatabaseName { id, origin, name } = database;
    let known = problems.len();
    let version = read_version(view, id, problems)?;
    let is_version_known = known == problems.len();
    let object_stores = read_object_stores(view, id, problems)?;
    if version.is_none() && is_version_known && !object_stores.is_empty() {
        // An upgrade from there would take it for new, and aborting that would delete it.
        let what = "the database has object stores and no version";
        problems.push(Error::inconsistent(&version_key(id), what));
    }
    check_names(id, &object_stores, problems);
    Ok(DatabaseMetadata {
        id,
        origin,
        name,
        version,
        object_stores,
    })
}

/// Two entries of one name cannot both be used, and an index without a key path has no keys. Our own writes never make
/// such rows; rows that another program wrote may be so.
fn check_names(
    database_id: DatabaseId,
    object_stores: &[ObjectStoreMetadata],
    problems: &mut Vec<Error>,
) {
    let mut names = BTreeSet::new();
    for store in object_stores {
        let object_store_id = store.id;
        if !names.insert(&store.name) {
            let mut key = Vec::new();
            ObjectStoreMetadataKey {
                database_id,
                object_store_id,
                field: ObjectStoreField::Name,
            }
            .encode(&mut key);
            let what = "another object store has the same name";
            problems.push(Error::inconsistent(&key, what));
        }
        let mut index_names = BTreeSet::new();
        for index in &store.indexes {
            let mut check = |is_good: bool, field, what: &str| {
                if !is_good {
                    let mut key = Vec::new();
                    IndexMetadataKey {
                        database_id,
                        object_store_id,
                        index_id: index.id,
                        field,
                    }
                    .encode(&mut key);
                    problems.push(Error::inconsistent(&key, what));
                }
            };
            let is_first = index_names.insert(&index.name);
            check(
                is_first,
                IndexField::Name,
                "another index has the same name",
            );
            let has_path = index.key_path != KeyPath::Null;
            check(has_path, IndexField::KeyPath, "the index has no key path");
        }
    }
}

fn version_key(database_id: DatabaseId) -> Vec<u8> {
    let mut key = Vec::new();
    let field = DatabaseField::UserVersion;
    DatabaseKey { database_id, field }.encode(&mut key);
    key
}

/// 0 is what creation writes before the first version change commits, and what an aborted one leaves.
pub(crate) fn read_version(
    view: &View,
    id: DatabaseId,
    problems: &mut Vec<Error>,
) -> Result<Option<i64>> {
    let key = version_key(id);
    let value = match view.get(&key) {
        Ok(value) => value,
        Err(error) if error.kind() == crate::ErrorKind::Corruption => {
            problems.push(error);
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let Some(value) = value else {
        problems.push(Error::inconsistent(&key, "the database has no version row"));
        return Ok(None);
    };
    match var_int::decode_exact(&value) {
        Ok(version) => Ok(Some(version).filter(|version| *version > 0)),
        Err(error) => {
            problems.push(Error::row(&key, "version of the database", error));
            Ok(None)
        }
    }
}
