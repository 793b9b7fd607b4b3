//! `stores`, `store`, `objectStores`: the tree beside the records.

use larder_backing_store::{DatabaseMetadata, ObjectStoreMetadata, StorePaths};
use larder_codec::{JsString, KeyPath, feed};
use larder_view::{Answer, Refusal};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer_json;
use super::asked::{OfStore, read};
use super::stores::{OpenStore, Stores};
use crate::damage::Total;
use crate::feed_notes::object_store_named;
use crate::sizes::BLOB_DEPTH_MAX;
use crate::store_origin::shown;

/// So many object stores of a database come at once.
const OBJECT_STORES_MAX: usize = 500;

/// What lies below PATH.
pub(super) fn stores(
    stores: &Stores,
    notes: &[String],
    answer: &mut dyn Answer,
) -> Result<(), Refusal> {
    let all = stores.paths().enumerate();
    let all: Vec<Value> = all
        .map(|(number, paths)| place(stores, number, paths))
        .collect();
    let path = crate::remote::shown(&stores.path);
    answer_json(
        answer,
        &json!({"path": path, "stores": all, "notes": notes}),
    )
}

/// A store without a look into it.
fn place(stores: &Stores, number: usize, paths: &StorePaths) -> Value {
    let (bytes, _, unreadable) = stores.sizes_below(&paths.leveldb, 0);
    let (blob_bytes, blob_files, _) = stores.sizes_below(&paths.blob, BLOB_DEPTH_MAX);
    let name = paths.leveldb.file_name().unwrap_or_default();
    let origin = paths.identifier().map(shown);
    let mut place = json!({
        "store": number,
        "origin": origin.unwrap_or_else(|| name.to_string_lossy().into_owned()),
        "path": paths.leveldb.display().to_string(),
        "form": if paths.is_sqlite() { "SQLite" } else { "LevelDB" },
        "bytes": bytes,
        "blobBytes": blob_bytes,
        "blobFiles": blob_files,
    });
    if let Some(bucket) = paths.bucket() {
        place["bucket"] = bucket.into();
    }
    if let Some(why) = unreadable {
        place["unreadable"] = why.into();
    }
    place
}

/// A store as it stands now.
pub(super) fn store(
    stores: &Stores,
    asked: &Value,
    answer: &mut dyn Answer,
) -> Result<(), Refusal> {
    let OfStore { store: number } = read(asked)?;
    stores.refresh(number)?;
    let open = stores.open(number)?;
    let store = &open.store;
    let mut place = place(stores, number, store.paths());
    place["generation"] = open.generation.into();
    place["origin"] = open.origin.shown.clone().into();
    place["databases"] = open
        .names
        .databases()
        .iter()
        .map(|one| database(&open, one))
        .collect();
    place["notes"] = open.notes.clone().into();
    place["problems"] = open.problems.clone().into();
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            place[name] = value;
        }
    };
    add("bucketName", open.origin.name().map(Value::from));
    add(
        "topLevelSite",
        open.origin.top_level_site().map(Value::from),
    );
    add("schemaVersion", store.schema_version().map(Value::from));
    add(
        "blinkVersion",
        store.data_version().map(|version| version.blink.into()),
    );
    add(
        "v8Version",
        store.data_version().map(|version| version.v8.into()),
    );
    add("inUse", stores.in_use(number)?.map(Value::from));
    let damage = Total::of(&open.damage(), 0);
    add("damage", (!damage.is_none()).then(|| damage.text().into()));
    answer_json(answer, &place)
}

fn database(open: &OpenStore, database: &DatabaseMetadata) -> Value {
    let all = &database.object_stores;
    let first = all.iter().take(OBJECT_STORES_MAX);
    let mut listed = json!({
        "id": database.id.get(),
        "name": name(&database.name),
        "version": database.version,
        "feed": object_store_named(database, feed::REVISIONS).is_some(),
        "count": all.len(),
        "objectStores": first.map(|store| object_store(open, database, store)).collect::<Value>(),
        "more": all.len() > OBJECT_STORES_MAX,
    });
    if let Some(owner) = open.origin.other_owner(database) {
        listed["origin"] = owner.into();
    }
    listed
}

/// The next object stores of a database.
pub(super) fn object_stores(
    stores: &Stores,
    asked: &Value,
    answer: &mut dyn Answer,
) -> Result<(), Refusal> {
    #[derive(Deserialize)]
    struct Asked {
        store: usize,
        database: i64,
        after: i64,
    }
    let Asked {
        store,
        database,
        after,
    } = read(asked)?;
    let open = stores.open(store)?;
    let database = open.database(database)?;
    let behind = database
        .object_stores
        .partition_point(|store| store.id.get() <= after);
    let rest = database.object_stores.get(behind..).unwrap_or_default();
    let some = rest.iter().take(OBJECT_STORES_MAX);
    let some: Value = some
        .map(|store| object_store(&open, database, store))
        .collect();
    answer_json(
        answer,
        &json!({"objectStores": some, "more": rest.len() > OBJECT_STORES_MAX}),
    )
}

fn object_store(
    open: &OpenStore,
    database: &DatabaseMetadata,
    store: &ObjectStoreMetadata,
) -> Value {
    let indexes = store.indexes.iter().map(|index| {
        json!({
            "id": index.id.get(),
            "name": name(&index.name),
            "keyPath": key_path(&index.key_path),
            "unique": index.unique,
            "multiEntry": index.multi_entry,
        })
    });
    let mut listed = json!({
        "id": store.id.get(),
        "name": name(&store.name),
        "keyPath": key_path(&store.key_path),
        "autoIncrement": store.auto_increment,
        "indexes": indexes.collect::<Value>(),
    });
    if store.auto_increment
        && let Ok(next) = open.store.key_generator(database.id, store.id)
    {
        listed["nextKey"] = next.into();
    }
    listed
}

/// A name, which need not be text.
pub(super) fn name(name: &JsString) -> Value {
    serde_json::to_value(name).unwrap_or_default()
}

fn key_path(path: &KeyPath) -> Value {
    match path {
        KeyPath::Null => Value::Null,
        KeyPath::String(path) => name(path),
        KeyPath::Array(paths) => paths.iter().map(name).collect(),
    }
}

/// `state`: of stores that have been opened. None is opened for it.
pub(super) fn state(stores: &Stores, answer: &mut dyn Answer) -> Result<(), Refusal> {
    let mut all = Vec::new();
    for (number, generation) in stores.generations() {
        let mut state = json!({"store": number, "generation": generation});
        if let Some(holder) = stores.in_use(number)? {
            state["inUse"] = holder.into();
        }
        all.push(state);
    }
    answer_json(answer, &json!({"stores": all}))
}
