//! `hidden`: rows that lie in the files and that no page sees.

use larder_backing_store::{RowPlace, SCHEMA_VERSION_MAX};
use larder_codec::row_key::{RecordKey, RecordTable, RowKey};
use larder_codec::versioned::DataRow;
use larder_codec::{DatabaseId, ObjectStoreId, RowValue, range};
use larder_leveldb::EntryKind;
use larder_view::{Answer, Refusal};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer_json;
use super::asked::{Hex, InStore, read};
use super::fate::{Fate, Fates};
use super::preview::Previewed;
use super::shown::limited;
use super::stores::{OpenStore, Stores, engine};
use crate::record::ValueReader;
use crate::rows::{State, class, state, value_text};

/// So many rows come at most, and so many are looked at for one answer.
const LIMIT_MAX: usize = 500;
const PASSED_MAX: usize = 50_000;
/// So many characters of a key and of a value are shown.
const TEXT_MAX: usize = 300;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    store: usize,
    database: Option<i64>,
    object_store: Option<i64>,
    index: Option<i64>,
    after: Option<Hex>,
    /// Nothing but records whose values are there.
    #[serde(default)]
    records: bool,
    limit: usize,
}

pub(super) fn hidden(
    stores: &Stores,
    asked: &Value,
    answer: &mut dyn Answer,
) -> Result<(), Refusal> {
    let asked: Asked = read(asked)?;
    let open = stores.open(asked.store)?;
    let Some(snapshot) = open.store.snapshot() else {
        // SQLite overwrites rows.
        return answer_json(answer, &json!({"rows": [], "more": false}));
    };
    let mut entries = snapshot.entries();
    let before = asked.after.as_ref().map(|after| &after.0);
    let first = before.cloned().or_else(|| low(&asked));
    if let Some(first) = first {
        entries.seek(&first);
    }
    let schema = open.store.schema_version().unwrap_or(SCHEMA_VERSION_MAX);
    let limit = asked.limit.clamp(1, LIMIT_MAX);
    let (mut rows, mut passed, mut more) = (Vec::new(), 0, false);
    // The key whose entries come now, the newest first. A page ends between two keys.
    let mut current: Vec<u8> = Vec::new();
    let mut fates = Fates::of(&open.store);
    while entries.advance().map_err(engine)? {
        let key = entries.key();
        // It was in the page before.
        if before.is_some_and(|before| key == before) {
            continue;
        }
        if key != current {
            if rows.len() >= limit || passed >= PASSED_MAX {
                more = true;
                break;
            }
            current.clear();
            current.extend_from_slice(key);
        }
        passed += 1;
        let decoded = RowKey::decode_exact(key);
        match decoded.as_ref().map(|row| place(row, &asked)) {
            Ok(Place::In) => {}
            Ok(Place::Beyond) => break,
            Ok(Place::Outside) => continue,
            Err(_) if asked.database.is_some() => continue,
            Err(_) => {}
        }
        let value = entries.value().map_err(engine)?;
        let fate = fates.next(&entries)?;
        let Some((state, why)) = hidden_state(&open, &decoded, fate, value) else {
            continue;
        };
        let record = match (&decoded, entries.kind()) {
            (Ok(RowKey::Record(key)), EntryKind::Value) if key.table == RecordTable::Data => {
                record(stores, &open, key, value)
            }
            _ => None,
        };
        if asked.records && record.is_none() {
            continue;
        }
        let RowPlace { place, row, .. } = open.names.place(key);
        let mut row = json!({
            "state": state,
            "class": decoded.as_ref().map_or("undecodable", class),
            "place": place,
            "key": match &decoded {
                Ok(_) => limited(row, TEXT_MAX),
                Err(error) => error.to_string(),
            },
            "sequence": entries.sequence(),
            "file": entries.file_name(),
            "why": why,
        });
        if let (Ok(decoded), EntryKind::Value) = (&decoded, entries.kind()) {
            row["value"] = match RowValue::decode_exact(decoded, value, schema) {
                Ok(value) => limited(value_text(&value), TEXT_MAX).into(),
                Err(error) => error.to_string().into(),
            };
        }
        if let Some(record) = record {
            row["record"] = record;
        }
        rows.push(row);
    }
    let mut page = json!({"rows": rows, "more": more});
    if more {
        page["after"] = stores.long_keys.shown(&current).into();
    }
    answer_json(answer, &page)
}

/// Where the rows that are asked for begin.
fn low(asked: &Asked) -> Option<Vec<u8>> {
    let database = DatabaseId::new(asked.database?)?;
    match asked.object_store.and_then(ObjectStoreId::new) {
        Some(object_store) => Some(range::object_store_rows_low(database, object_store)),
        None => Some(range::database_low(database)),
    }
}

enum Place {
    In,
    Outside,
    /// None that follow are asked for.
    Beyond,
}

fn place(row: &RowKey<'_>, asked: &Asked) -> Place {
    let Some(database) = asked.database else {
        return Place::In;
    };
    let (of, object_store, index) = match row {
        RowKey::Record(key) => (key.database_id, Some(key.object_store_id.get()), None),
        RowKey::IndexData(key) => {
            let index = Some(key.index_id.get());
            (key.database_id, Some(key.object_store_id.get()), index)
        }
        RowKey::ObjectStoreMetadata(key) => {
            (key.database_id, Some(key.object_store_id.get()), None)
        }
        RowKey::IndexMetadata(key) => (key.database_id, Some(key.object_store_id.get()), None),
        RowKey::Database(key) => (key.database_id, None, None),
        _ => return Place::Outside,
    };
    if of.get() > database {
        return Place::Beyond;
    }
    let is_wanted = of.get() == database
        && asked
            .object_store
            .is_none_or(|wanted| object_store == Some(wanted))
        && asked.index.is_none_or(|wanted| index == Some(wanted));
    match (is_wanted, asked.object_store, object_store) {
        (true, ..) => Place::In,
        (false, Some(wanted), Some(found)) if of.get() == database && found > wanted => {
            Place::Beyond
        }
        _ => Place::Outside,
    }
}

/// A record that the page can ask for whole, and its value in a line.
fn record(stores: &Stores, open: &OpenStore, row: &RecordKey<'_>, bytes: &[u8]) -> Option<Value> {
    let at = InStore {
        store: open.number,
        database: row.database_id.get(),
        object_store: row.object_store_id.get(),
        index: None,
    };
    let looked = open.looked(at).ok()?;
    let mut reader = ValueReader::new(looked.store, looked.database.id, looked.object_store);
    // A line has nothing of blobs.
    reader.set_objects(Vec::new());
    let mut record = json!({
        "store": at.store,
        "database": at.database,
        "objectStore": at.object_store,
        "primaryKey": stores.long_keys.shown(row.key.as_bytes()),
    });
    let value = DataRow::decode_exact(bytes).ok().and_then(|data| {
        let read = reader.read(row.key, data.value, |tree, objects| {
            Previewed { tree, objects }.to_json()
        });
        read.ok()
    });
    if let Some(value) = value {
        record["value"] = value;
    }
    Some(record)
}

/// The state of a row that a page does not see, and why it does not.
fn hidden_state(
    open: &OpenStore,
    decoded: &Result<RowKey<'_>, larder_codec::Error>,
    fate: Fate,
    value: &[u8],
) -> Option<(&'static str, &'static str)> {
    let why = match (fate, decoded) {
        (Fate::Lost, _) => return None,
        (Fate::Live | Fate::Undone, Ok(RowKey::Scopes(_))) => {
            return Some((
                "undo",
                "Chromium wrote it to be able to take back a transaction that has not ended, or to clean up behind one that has",
            ));
        }
        (Fate::Live, Ok(row)) if state(&open.store, row, value) == State::Stale => {
            return Some((
                "stale",
                "the record that it leads to has changed since, or is deleted: Chromium passes over it and removes it some day",
            ));
        }
        (Fate::Live, _) => return None,
        (Fate::Overwritten, _) => "a newer row of this key hides it",
        (Fate::Deleted, _) => "it was deleted, and its bytes are still there",
        (Fate::Deletion, _) => {
            "it says that the row was deleted; older ones of this key may follow"
        }
        (Fate::Undone, _) => {
            "its transaction had not ended when the browser did, and is taken back"
        }
    };
    Some((fate.name(), why))
}
