//! What a version change makes of a database, said in statements.

use larder_backing_store::{DatabaseMetadata, IndexMetadata, ObjectStoreMetadata};
use rusqlite::{Connection, params};

use crate::notes;
use crate::schema::Schema;
use crate::write::statements::{insert_index, insert_object_store, note_name, utf16_le};

/// Keys that generators give at first.
const FIRST_GENERATED: i64 = 1;

/// Changes the tables to what `new` says, and `schema` with them.
pub(super) fn apply(
    connection: &Connection,
    schema: &mut Schema,
    new: &DatabaseMetadata,
) -> rusqlite::Result<()> {
    connection.execute_batch(notes::ARRAY_PATHS_TABLE)?;
    let old = std::mem::replace(&mut schema.metadata, new.clone());
    if old.version != new.version {
        let sql = "UPDATE indexed_db_metadata SET version = ?1";
        connection.execute(sql, [new.version.unwrap_or(0)])?;
    }
    for gone in &old.object_stores {
        if find(&new.object_stores, gone).is_none() {
            if schema.has_negative_zeros {
                connection.execute(notes::REMOVE_OF_STORE, [gone.id.get()])?;
            }
            delete_object_store(connection, gone)?;
            schema.index_ids.retain(|(store, ..)| *store != gone.id);
        }
    }
    for object_store in &new.object_stores {
        let store_id = object_store.id.get();
        let before = find(&old.object_stores, object_store);
        match before {
            None => {
                insert_object_store(connection, object_store, FIRST_GENERATED)?;
            }
            Some(before) if before.name != object_store.name => {
                let sql = "UPDATE object_stores SET name = ?2 WHERE id = ?1";
                let name = utf16_le(&object_store.name);
                connection.execute(sql, params![store_id, name])?;
                note_name(connection, (store_id, notes::NO_INDEX), &name)?;
            }
            Some(_) => {}
        }
        let indexes = before.map_or(&[][..], |before| &before.indexes);
        change_indexes(connection, schema, object_store, indexes)?;
    }
    notes::drop_if_empty(connection, notes::ARRAY_PATHS)
}

fn find<'a>(
    among: &'a [ObjectStoreMetadata],
    object_store: &ObjectStoreMetadata,
) -> Option<&'a ObjectStoreMetadata> {
    among.iter().find(|other| other.id == object_store.id)
}

/// Everything that is of the object store.
fn delete_object_store(
    connection: &Connection,
    gone: &ObjectStoreMetadata,
) -> rusqlite::Result<()> {
    for sql in [
        super::commit::HOLD_BLOBS_OF_STORE,
        "DELETE FROM records WHERE object_store_id = ?1",
        "DELETE FROM index_references WHERE object_store_id = ?1",
        "DELETE FROM indexes WHERE object_store_id = ?1",
        "DELETE FROM larder_array_paths WHERE object_store_id = ?1",
        "DELETE FROM object_stores WHERE id = ?1",
    ] {
        connection.execute(sql, [gone.id.get()])?;
    }
    Ok(())
}

fn change_indexes(
    connection: &Connection,
    schema: &mut Schema,
    object_store: &ObjectStoreMetadata,
    before: &[IndexMetadata],
) -> rusqlite::Result<()> {
    let (store, indexes) = (object_store.id, &object_store.indexes);
    for gone in before {
        if indexes.iter().any(|index| index.id == gone.id) {
            continue;
        }
        if let Some(in_file) = schema.index_in_file(store, gone.id) {
            for sql in [
                "DELETE FROM index_references WHERE object_store_id = ?1 AND index_id = ?2",
                "DELETE FROM indexes WHERE object_store_id = ?1 AND id = ?2",
                "DELETE FROM larder_array_paths WHERE object_store_id = ?1 AND index_id = ?2",
            ] {
                connection.execute(sql, [store.get(), in_file])?;
            }
        }
        let is_other = |(of, id, _): &(_, _, i64)| (*of, *id) != (store, gone.id);
        schema.index_ids.retain(is_other);
    }
    for index in indexes {
        match before.iter().find(|before| before.id == index.id) {
            None => {
                // Behind all that the file has: an id that the file gave to another index may lie above those that LevelDB knows it by.
                let of_store = schema.index_ids.iter().filter(|(of, ..)| *of == store);
                let greatest = of_store.map(|(.., in_file)| *in_file).max().unwrap_or(0);
                let in_file = index.id.get().max(greatest.saturating_add(1));
                insert_index(connection, (store.get(), in_file), index)?;
                schema.index_ids.push((store, index.id, in_file));
            }
            Some(before) if before.name != index.name => {
                if let Some(in_file) = schema.index_in_file(store, index.id) {
                    let sql = "UPDATE indexes SET name = ?3 WHERE object_store_id = ?1 AND id = ?2";
                    let name = utf16_le(&index.name);
                    connection.execute(sql, params![store.get(), in_file, name])?;
                    note_name(connection, (store.get(), in_file), &name)?;
                }
            }
            Some(_) => {}
        }
    }
    Ok(())
}
