//! The rows of metadata that a LevelDB store would have.

use larder_codec::primitive::{boolean, int, string, var_int};
use larder_codec::row_key::{
    DatabaseField, DatabaseKey, GlobalKey, IndexField, IndexMetadataKey, ObjectStoreField,
    ObjectStoreMetadataKey,
};
use larder_codec::{DataVersion, DatabaseId, IndexId, JsString, KeyPath, compare};

use larder_backing_store::{DatabaseMetadata, SCHEMA_VERSION_MAX};

use crate::parts::Rows;
use crate::schema::Schema;
use crate::value::RECORD_VERSION;

/// Keys that generators give at first.
const FIRST_GENERATED: i64 = 1;

/// The first number that LevelDB gives a blob.
const FIRST_BLOB: i64 = 2;

/// Rows of the whole store.
pub(crate) fn of_store(databases: &[&DatabaseMetadata], data_version: Option<DataVersion>) -> Rows {
    let mut rows = Rows::new();
    let mut put = |key: GlobalKey, value: &dyn Fn(&mut Vec<u8>)| {
        push(&mut rows, |out| key.encode(out), value);
    };
    put(GlobalKey::SchemaVersion, &|out| {
        int::encode(SCHEMA_VERSION_MAX, out)
    });
    let greatest = databases.iter().map(|database| database.id.get()).max();
    put(GlobalKey::MaxDatabaseId, &|out| {
        int::encode(greatest.unwrap_or(0), out)
    });
    if let Some(version) = data_version {
        put(GlobalKey::DataVersion, &|out| version.encode(out));
    }
    for database in databases {
        let (origin, name) = (database.origin.clone(), database.name.clone());
        put(GlobalKey::DatabaseName { origin, name }, &|out| {
            int::encode(database.id.get(), out)
        });
    }
    sorted(rows)
}

/// Rows of a database.
pub(crate) fn of_database(schema: &Schema) -> Rows {
    let mut rows = Rows::new();
    let database = &schema.metadata;
    let database_id = database.id;
    let mut field = |field: DatabaseField, value: &dyn Fn(&mut Vec<u8>)| {
        push(
            &mut rows,
            |out| DatabaseKey { database_id, field }.encode(out),
            value,
        );
    };
    let stores = &database.object_stores;
    let greatest = stores.iter().map(|store| store.id.get()).max();
    field(DatabaseField::OriginName, &|out| {
        string::encode(&database.origin, out)
    });
    field(DatabaseField::DatabaseName, &|out| {
        string::encode(&database.name, out)
    });
    field(DatabaseField::StringVersion, &|out| {
        string::encode(&JsString::from(""), out)
    });
    field(DatabaseField::MaxObjectStoreId, &|out| {
        int::encode(greatest.unwrap_or(0), out)
    });
    let version = database.version.unwrap_or(0);
    field(DatabaseField::UserVersion, &|out| {
        var_int::encode(version, out)
    });
    let next_blob = schema.blob_max.saturating_add(FIRST_BLOB);
    field(DatabaseField::BlobNumberGenerator, &|out| {
        var_int::encode(next_blob, out)
    });
    for store in stores {
        let name = DatabaseField::ObjectStoreName(store.name.clone());
        field(name, &|out| int::encode(store.id.get(), out));
    }
    for store in stores {
        let next_key = schema.next_keys.iter().find(|(id, _)| *id == store.id);
        let next_key = next_key.map_or(FIRST_GENERATED, |(_, next)| *next);
        let max_index = store.indexes.iter().map(|index| index.id).max();
        let max_index = max_index.unwrap_or(IndexId::MIN).get();
        for field in ObjectStoreField::ALL {
            let key = ObjectStoreMetadataKey {
                database_id,
                object_store_id: store.id,
                field,
            };
            push(&mut rows, |out| key.encode(out), &|out| match field {
                ObjectStoreField::Name => string::encode(&store.name, out),
                ObjectStoreField::KeyPath => store.key_path.encode(out),
                ObjectStoreField::AutoIncrement => boolean::encode(store.auto_increment, out),
                ObjectStoreField::Evictable => boolean::encode(false, out),
                ObjectStoreField::LastVersion => int::encode(RECORD_VERSION, out),
                ObjectStoreField::MaxIndexId => int::encode(max_index, out),
                ObjectStoreField::HasKeyPath => {
                    boolean::encode(store.key_path != KeyPath::Null, out)
                }
                ObjectStoreField::KeyGenerator => int::encode(next_key, out),
            });
        }
        for index in &store.indexes {
            for field in IndexField::ALL {
                let key = IndexMetadataKey {
                    database_id,
                    object_store_id: store.id,
                    index_id: index.id,
                    field,
                };
                push(&mut rows, |out| key.encode(out), &|out| match field {
                    IndexField::Name => string::encode(&index.name, out),
                    IndexField::Unique => boolean::encode(index.unique, out),
                    IndexField::KeyPath => index.key_path.encode(out),
                    IndexField::MultiEntry => boolean::encode(index.multi_entry, out),
                });
            }
        }
    }
    sorted(rows)
}

fn push(rows: &mut Rows, key: impl FnOnce(&mut Vec<u8>), value: &dyn Fn(&mut Vec<u8>)) {
    let mut row = (Vec::new(), Vec::new());
    key(&mut row.0);
    value(&mut row.1);
    rows.push(row);
}

fn sorted(mut rows: Rows) -> Rows {
    rows.sort_by(|(a, _), (b, _)| compare(a, b));
    rows
}

/// The id of the nth database.
pub(crate) fn database_id(n: usize) -> Option<DatabaseId> {
    DatabaseId::new(i64::try_from(n).ok()?.checked_add(1)?)
}
