//! Ends of ranges: keys that are looked up and never stored (`docs/FORMAT.md`, 4.8).
//!
//! Each function gives the bytes of one end. Rows of a class lie between its low end and its high or
//! end key under [`crate::compare()`].

use crate::idb_key::{RawKey, TAG_MAX, TAG_MIN};
use crate::ids::{DatabaseId, IndexId, ObjectStoreId};
use crate::js_string::JsString;
use crate::prefix::{AFTER_EXTERNAL_OBJECTS_INDEX, KeyPrefix};
use crate::primitive::{string_with_length, var_int};
use crate::row_key::{RecordTable, metadata, tag};

/// The first key a database can have; the same of the next id ends it.
#[must_use]
pub fn database_low(database_id: DatabaseId) -> Vec<u8> {
    metadata_type(KeyPrefix::of_database(database_id), 0)
}

/// The end (excluded) of everything a database has.
#[must_use]
pub fn database_end(database_id: DatabaseId) -> Vec<u8> {
    // The greatest id is one below the greatest number.
    let database = database_id.get().cast_unsigned().saturating_add(1);
    let next = KeyPrefix {
        database,
        ..KeyPrefix::GLOBAL
    };
    metadata_type(next, 0)
}

/// Below all names of databases of an origin.
#[must_use]
pub fn database_names_low(origin: &JsString) -> Vec<u8> {
    database_name(origin)
}

/// Above all names of databases of an origin.
#[must_use]
pub fn database_names_end(origin: &JsString) -> Vec<u8> {
    let mut units = origin.units().to_vec();
    units.push(1);
    database_name(&JsString::from_units(units))
}

/// Below all rows of metadata of all object stores.
#[must_use]
pub fn all_object_stores_low(database_id: DatabaseId) -> Vec<u8> {
    object_store_metadata(database_id, 0, 0)
}

/// Above all rows of metadata of all object stores.
#[must_use]
pub fn all_object_stores_high(database_id: DatabaseId) -> Vec<u8> {
    object_store_metadata(database_id, i64::MAX, tag::METADATA_END)
}

/// The first row of metadata of an object store.
#[must_use]
pub fn object_store_low(database_id: DatabaseId, object_store_id: ObjectStoreId) -> Vec<u8> {
    object_store_metadata(database_id, object_store_id.get(), 0)
}

/// Above all rows of metadata of an object store.
#[must_use]
pub fn object_store_high(database_id: DatabaseId, object_store_id: ObjectStoreId) -> Vec<u8> {
    object_store_metadata(database_id, object_store_id.get(), tag::METADATA_END)
}

/// Below all rows of metadata of all indexes of an object store.
#[must_use]
pub fn all_indexes_low(database_id: DatabaseId, object_store_id: ObjectStoreId) -> Vec<u8> {
    index_metadata(database_id, object_store_id, 0, 0)
}

/// Above all rows of metadata of all indexes of an object store.
#[must_use]
pub fn all_indexes_high(database_id: DatabaseId, object_store_id: ObjectStoreId) -> Vec<u8> {
    index_metadata(database_id, object_store_id, i64::MAX, tag::METADATA_END)
}

/// The first row of metadata of an index.
#[must_use]
pub fn index_low(
    database_id: DatabaseId,
    object_store_id: ObjectStoreId,
    index_id: IndexId,
) -> Vec<u8> {
    index_metadata(database_id, object_store_id, index_id.get(), 0)
}

/// Above all rows of metadata of an index.
#[must_use]
pub fn index_high(
    database_id: DatabaseId,
    object_store_id: ObjectStoreId,
    index_id: IndexId,
) -> Vec<u8> {
    index_metadata(
        database_id,
        object_store_id,
        index_id.get(),
        tag::METADATA_END,
    )
}

/// Below all rows of an object store, whichever table or index they belong to.
#[must_use]
pub fn object_store_rows_low(database_id: DatabaseId, object_store_id: ObjectStoreId) -> Vec<u8> {
    table_prefix(database_id, object_store_id, 0)
}

/// Above all rows of an object store, whichever table or index they belong to (excluded).
#[must_use]
pub fn object_store_rows_end(database_id: DatabaseId, object_store_id: ObjectStoreId) -> Vec<u8> {
    let mut out = Vec::new();
    KeyPrefix {
        object_store: object_store_id.get().cast_unsigned().saturating_add(1),
        ..KeyPrefix::of_database(database_id)
    }
    .encode(&mut out);
    out
}

/// Below all rows of one of an object store's tables.
///
/// For external objects this is the bare prefix, as Chromium writes it; for the two others the
/// sentinel follows. Both sort below every user key.
#[must_use]
pub fn table_low(
    database_id: DatabaseId,
    object_store_id: ObjectStoreId,
    table: RecordTable,
) -> Vec<u8> {
    let mut out = table_prefix(database_id, object_store_id, table.index_number());
    if table != RecordTable::ExternalObject {
        out.push(TAG_MIN);
    }
    out
}

/// Above all rows of one of an object store's tables.
///
/// For external objects this is the bare prefix of the number after theirs, which no row has.
#[must_use]
pub fn table_high(
    database_id: DatabaseId,
    object_store_id: ObjectStoreId,
    table: RecordTable,
) -> Vec<u8> {
    if table == RecordTable::ExternalObject {
        return table_prefix(database_id, object_store_id, AFTER_EXTERNAL_OBJECTS_INDEX);
    }
    let mut out = table_prefix(database_id, object_store_id, table.index_number());
    out.push(TAG_MAX);
    out
}

/// Below all entries of an index.
#[must_use]
pub fn index_entries_low(
    database_id: DatabaseId,
    object_store_id: ObjectStoreId,
    index_id: IndexId,
) -> Vec<u8> {
    let mut out = Vec::new();
    KeyPrefix::of_index(database_id, object_store_id, index_id).encode(&mut out);
    out.extend_from_slice(&[TAG_MIN, 0, TAG_MIN]);
    out
}

/// Above all entries of an index.
#[must_use]
pub fn index_entries_high(
    database_id: DatabaseId,
    object_store_id: ObjectStoreId,
    index_id: IndexId,
) -> Vec<u8> {
    let mut out = Vec::new();
    KeyPrefix::of_index(database_id, object_store_id, index_id).encode(&mut out);
    out.push(TAG_MAX);
    var_int::encode(i64::MAX, &mut out);
    out.push(TAG_MAX);
    out
}

/// Below all of an index's entries with this index key that name their primary key.
#[must_use]
pub fn index_key_low(
    database_id: DatabaseId,
    object_store_id: ObjectStoreId,
    index_id: IndexId,
    index_key: RawKey<'_>,
) -> Vec<u8> {
    let mut out = Vec::new();
    KeyPrefix::of_index(database_id, object_store_id, index_id).encode(&mut out);
    index_key.encode(&mut out);
    out.extend_from_slice(&[0, TAG_MIN]);
    out
}

fn metadata_type(prefix: KeyPrefix, tag: u8) -> Vec<u8> {
    let mut out = Vec::new();
    prefix.encode(&mut out);
    out.push(tag);
    out
}

fn database_name(origin: &JsString) -> Vec<u8> {
    let mut out = metadata_type(KeyPrefix::GLOBAL, tag::DATABASE_NAME);
    string_with_length::encode(origin, &mut out);
    string_with_length::encode(&JsString::default(), &mut out);
    out
}

fn object_store_metadata(database_id: DatabaseId, object_store_id: i64, field: u8) -> Vec<u8> {
    let mut out = Vec::new();
    metadata::encode_object_store(database_id, object_store_id, field, &mut out);
    out
}

fn index_metadata(
    database_id: DatabaseId,
    object_store_id: ObjectStoreId,
    index_id: i64,
    field: u8,
) -> Vec<u8> {
    let mut out = Vec::new();
    metadata::encode_index(
        database_id,
        object_store_id.get(),
        index_id,
        field,
        &mut out,
    );
    out
}

fn table_prefix(database_id: DatabaseId, object_store_id: ObjectStoreId, index: u32) -> Vec<u8> {
    let mut out = Vec::new();
    KeyPrefix::of_object_store(database_id, object_store_id, index).encode(&mut out);
    out
}
