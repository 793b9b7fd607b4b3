//! Names for rows: the database, object store, index and key that a row belongs to.

use std::fmt::Write as _;

use larder_codec::row_key::{
    DatabaseField, GlobalKey, IndexMetadataKey, ObjectStoreMetadataKey, RowKey,
};
use larder_codec::shown::{Hex, Quoted, ShownKey};
use larder_codec::{DatabaseId, IndexId, JsString, Key, ObjectStoreId, RawKey};
use larder_leveldb::{Damage, KeyRange};

use crate::metadata::DatabaseMetadata;
use crate::reads::Reads;

/// Longest key that is shown whole, in characters.
const KEY_SHOWN_MAX: usize = 200;

/// What a row belongs to.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct RowPlace {
    /// The database's name, if the row is of one and its metadata can be read.
    pub database: Option<JsString>,
    /// The object store's name, if the row is of one and its metadata can be read.
    pub object_store: Option<JsString>,
    /// The index's name, if the row is of one and its metadata can be read.
    pub index: Option<JsString>,
    /// The record's primary key, or the entry's index key.
    pub key: Option<Key>,
    /// Where the row belongs, in words: names in quotes, numbers where there are none.
    pub place: String,
    /// Which row of that place it is, in words.
    pub row: String,
}

/// What rows belong to, by name as far as the store's metadata can be read, else by number.
#[derive(Debug, Clone)]
pub struct RowNames(Vec<DatabaseMetadata>);

impl From<Vec<DatabaseMetadata>> for RowNames {
    /// The names in metadata that has been read.
    fn from(databases: Vec<DatabaseMetadata>) -> Self {
        Self(databases)
    }
}

impl RowNames {
    /// The names, as far as the rows of metadata can be read.
    #[must_use]
    pub fn of(reads: &Reads) -> Self {
        // What cannot be read is reported when it is read for good.
        Self(reads.databases(&mut Vec::new()).unwrap_or_default())
    }

    /// The databases that could be read.
    #[must_use]
    pub fn databases(&self) -> &[DatabaseMetadata] {
        &self.0
    }

    /// Where a row belongs, and which row of that place it is.
    #[must_use]
    pub fn place(&self, row: &[u8]) -> RowPlace {
        let Ok(key) = RowKey::decode_exact(row) else {
            return RowPlace {
                place: "rows of no known form".into(),
                row: format!("row {}", Hex(row)),
                ..RowPlace::default()
            };
        };
        let (place, row) = self.words(&key, row);
        let (database, object_store, index, key) = ids(&key);
        let database = database.and_then(|id| self.find(id));
        let object_store = database.and_then(|database| {
            let mut stores = database.object_stores.iter();
            stores.find(|store| Some(store.id) == object_store)
        });
        let index = object_store.and_then(|store| {
            let mut indexes = store.indexes.iter();
            indexes.find(|other| Some(other.id) == index)
        });
        RowPlace {
            database: database.map(|database| database.name.clone()),
            object_store: object_store.map(|store| store.name.clone()),
            index: index.map(|index| index.name.clone()),
            key: key.map(|key| key.to_key()),
            place,
            row,
        }
    }

    fn words(&self, key: &RowKey<'_>, row: &[u8]) -> (String, String) {
        match key {
            RowKey::Global(GlobalKey::DatabaseName { name, .. }) => {
                ("list of databases".into(), Quoted(name).to_string())
            }
            RowKey::Global(key) => ("the store's own rows".into(), format!("{key:?}")),
            RowKey::Scopes(key) => ("undo log".into(), format!("{key:?}")),
            RowKey::Database(key) => (
                self.database(key.database_id),
                match &key.field {
                    DatabaseField::ObjectStoreName(name) => {
                        format!("name {} of an object store", Quoted(name))
                    }
                    DatabaseField::IndexName(_, name) => {
                        format!("name {} of an index", Quoted(name))
                    }
                    field => format!("its {field:?}"),
                },
            ),
            RowKey::ObjectStoreMetadata(ObjectStoreMetadataKey {
                database_id,
                object_store_id,
                field,
            }) => (
                self.object_store(*database_id, *object_store_id),
                format!("its {field:?}"),
            ),
            RowKey::IndexMetadata(IndexMetadataKey {
                database_id,
                object_store_id,
                index_id,
                field,
            }) => (
                self.index(*database_id, *object_store_id, *index_id),
                format!("its {field:?}"),
            ),
            RowKey::Record(key) => (
                self.object_store(key.database_id, key.object_store_id),
                shown_key(ShownKey(key.key)),
            ),
            RowKey::IndexData(key) => (
                self.index(key.database_id, key.object_store_id, key.index_id),
                shown_key(ShownKey(key.index_key)),
            ),
            RowKey::Unknown(_) => ("rows of no known kind".into(), format!("row {}", Hex(row))),
        }
    }

    fn database(&self, id: DatabaseId) -> String {
        match self.find(id) {
            Some(database) => format!("database {}", Quoted(&database.name)),
            None => format!("database {id}"),
        }
    }

    fn find(&self, id: DatabaseId) -> Option<&DatabaseMetadata> {
        self.0.iter().find(|database| database.id == id)
    }

    fn object_store(&self, database: DatabaseId, id: ObjectStoreId) -> String {
        let mut stores = self
            .find(database)
            .into_iter()
            .flat_map(|database| &database.object_stores);
        let text = self.database(database);
        match stores.find(|store| store.id == id) {
            Some(store) => format!("{text}, object store {}", Quoted(&store.name)),
            None => format!("{text}, object store {id}"),
        }
    }

    fn index(&self, database: DatabaseId, object_store: ObjectStoreId, id: IndexId) -> String {
        let mut indexes = self
            .find(database)
            .into_iter()
            .flat_map(|database| &database.object_stores)
            .filter(|store| store.id == object_store)
            .flat_map(|store| &store.indexes);
        let text = self.object_store(database, object_store);
        match indexes.find(|index| index.id == id) {
            Some(index) => format!("{text}, index {}", Quoted(&index.name)),
            None => format!("{text}, index {id}"),
        }
    }

    /// Which row it is.
    #[must_use]
    pub fn row(&self, row: &[u8]) -> String {
        let RowPlace { place, row, .. } = self.place(row);
        format!("{place}, {row}")
    }

    /// What is damaged in a file, with the rows between which entries are lost.
    #[must_use]
    pub fn damage(&self, damage: &Damage) -> String {
        let mut damage = damage.clone();
        let range = damage.key_range.take();
        let mut text = damage.to_string();
        if let Some(KeyRange { low, high }) = range {
            text.push_str("; it may have had rows ");
            match (low, high) {
                (None, None) => text.push_str("of everything"),
                (Some(low), Some(high)) => {
                    let (first, last) = (self.place(&low), self.place(&high));
                    let (place, other) = (&first.place, &last.place);
                    // Writing to a String cannot fail, here and below.
                    let _ = match place == other {
                        true => write!(text, "of {place}, from {} to {}", first.row, last.row),
                        false => write!(
                            text,
                            "from {place}, {}, to {other}, {}",
                            first.row, last.row
                        ),
                    };
                }
                (Some(low), None) => {
                    let _ = write!(text, "from {} on", self.row(&low));
                }
                (None, Some(high)) => {
                    let _ = write!(text, "up to {}", self.row(&high));
                }
            }
        }
        text
    }
}

type Ids<'a> = (
    Option<DatabaseId>,
    Option<ObjectStoreId>,
    Option<IndexId>,
    Option<RawKey<'a>>,
);

fn ids<'a>(key: &RowKey<'a>) -> Ids<'a> {
    match key {
        RowKey::Database(key) => (Some(key.database_id), None, None, None),
        RowKey::ObjectStoreMetadata(key) => {
            (Some(key.database_id), Some(key.object_store_id), None, None)
        }
        RowKey::IndexMetadata(key) => (
            Some(key.database_id),
            Some(key.object_store_id),
            Some(key.index_id),
            None,
        ),
        RowKey::Record(key) => (
            Some(key.database_id),
            Some(key.object_store_id),
            None,
            Some(key.key),
        ),
        RowKey::IndexData(key) => (
            Some(key.database_id),
            Some(key.object_store_id),
            Some(key.index_id),
            Some(key.index_key),
        ),
        _ => (None, None, None, None),
    }
}

/// A key for eyes, cut if it is long.
fn shown_key(key: ShownKey<'_>) -> String {
    let mut text = key.to_string();
    if let Some((end, _)) = text.char_indices().nth(KEY_SHOWN_MAX) {
        text.truncate(end);
        text.push('…');
    }
    format!("key {text}")
}
