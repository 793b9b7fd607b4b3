//! Damage in a person's terms: which database, object store and key, and how much of it there is in all.
//!
//! One missing table makes hundreds of rows doubtful. The first few of a kind are named, the rest are counted.

use std::collections::HashMap;
use std::fmt::Write as _;

use larder_backing_store::{DatabaseMetadata, Error, Store};
use larder_codec::row_key::{
    DatabaseField, GlobalKey, IndexMetadataKey, ObjectStoreMetadataKey, RowKey,
};
use larder_codec::{DatabaseId, IndexId, ObjectStoreId};
use larder_leveldb::{Damage, KeyRange};
use serde::Serialize;

use crate::display::{Hex, Quoted, ShownKey, Size};
use crate::report::Report;

/// So many problems of one kind in one place are named, unless all are wanted.
const NAMED_MAX: u64 = 10;

/// So many kinds of problems are told apart in one store; of the others each is reported.
const KINDS_MAX: usize = 10_000;

/// Longest key that is shown whole, in characters.
const KEY_SHOWN_MAX: usize = 200;

/// What rows belong to, by name as far as the store's metadata can be read, else by number.
pub(crate) struct Names(Vec<DatabaseMetadata>);

impl Names {
    pub(crate) fn of(store: &Store) -> Self {
        // What cannot be read is reported when it is read for good.
        Self(store.databases(&mut Vec::new()).unwrap_or_default())
    }

    /// The databases that could be read.
    pub(crate) fn databases(&self) -> &[DatabaseMetadata] {
        &self.0
    }

    /// Where a row belongs, and which row of that place it is.
    fn place(&self, row: &[u8]) -> (String, String) {
        let Ok(key) = RowKey::decode_exact(row) else {
            return ("rows of no known form".into(), format!("row {}", Hex(row)));
        };
        match key {
            RowKey::Global(GlobalKey::DatabaseName { name, .. }) => {
                ("list of databases".into(), Quoted(&name).to_string())
            }
            RowKey::Global(key) => ("the store's own rows".into(), format!("{key:?}")),
            RowKey::Scopes(key) => ("undo log".into(), format!("{key:?}")),
            RowKey::Database(key) => (
                self.database(key.database_id),
                match key.field {
                    DatabaseField::ObjectStoreName(name) => {
                        format!("name {} of an object store", Quoted(&name))
                    }
                    DatabaseField::IndexName(_, name) => {
                        format!("name {} of an index", Quoted(&name))
                    }
                    field => format!("its {field:?}"),
                },
            ),
            RowKey::ObjectStoreMetadata(ObjectStoreMetadataKey {
                database_id,
                object_store_id,
                field,
            }) => (
                self.object_store(database_id, object_store_id),
                format!("its {field:?}"),
            ),
            RowKey::IndexMetadata(IndexMetadataKey {
                database_id,
                object_store_id,
                index_id,
                field,
            }) => (
                self.index(database_id, object_store_id, index_id),
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
    pub(crate) fn row(&self, row: &[u8]) -> String {
        let (place, row) = self.place(row);
        format!("{place}, {row}")
    }

    /// What is damaged in a file, with the rows between which entries are lost.
    pub(crate) fn damage(&self, damage: &Damage) -> String {
        let mut damage = damage.clone();
        let range = damage.key_range.take();
        let mut text = damage.to_string();
        if let Some(KeyRange { low, high }) = range {
            text.push_str("; it may have had rows ");
            match (low, high) {
                (None, None) => text.push_str("of everything"),
                (Some(low), Some(high)) => {
                    let ((place, first), (other, last)) = (self.place(&low), self.place(&high));
                    // Writing to a String cannot fail, here and below.
                    let _ = match place == other {
                        true => write!(text, "of {place}, from {first} to {last}"),
                        false => write!(text, "from {place}, {first}, to {other}, {last}"),
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

/// A key for eyes, cut if it is long.
fn shown_key(key: ShownKey<'_>) -> String {
    let mut text = key.to_string();
    if let Some((end, _)) = text.char_indices().nth(KEY_SHOWN_MAX) {
        text.truncate(end);
        text.push('…');
    }
    format!("key {text}")
}

/// What one store's damage comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Total {
    /// Damaged places in LevelDB's files; a missing file is one.
    places: usize,
    /// Bytes of those files that cannot be used.
    bytes: u64,
    /// Rows, values and blobs that could not be read.
    unreadable: u64,
    /// How often an older row was not shown because what is lost may have overwritten or deleted it.
    withheld: u64,
}

impl Total {
    pub(crate) fn is_none(&self) -> bool {
        *self == Self::default()
    }

    pub(crate) fn text(&self) -> String {
        let mut parts = Vec::new();
        if self.places > 0 {
            let count = count(self.places as u64, "place", "places");
            parts.push(match self.bytes {
                0 => format!("{count} in LevelDB's files"),
                bytes => format!("{count} in LevelDB's files ({})", Size(bytes)),
            });
        }
        if self.unreadable > 0 {
            let what = count(self.unreadable, "row or value", "rows or values");
            parts.push(format!("{what} could not be read"));
        }
        if self.withheld > 0 {
            let rows = count(self.withheld, "older row", "older rows");
            parts.push(format!("{rows} withheld"));
        }
        parts.join(", ")
    }
}

fn count(number: u64, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// The problems of one store as they come: named, or counted.
pub(crate) struct Tally {
    /// The store's folder.
    store: String,
    names: Names,
    named_max: u64,
    /// How many of each kind there were, by place and problem.
    kinds: HashMap<(String, String), u64>,
    /// The kinds in the order in which they came.
    order: Vec<(String, String)>,
    unreadable: u64,
}

impl Tally {
    pub(crate) fn new(store: &Store, names: Names, all: bool) -> Self {
        Self {
            store: store.paths().leveldb.display().to_string(),
            names,
            named_max: if all { u64::MAX } else { NAMED_MAX },
            kinds: HashMap::new(),
            order: Vec::new(),
            unreadable: 0,
        }
    }

    /// A row that could not be read.
    pub(crate) fn error(&mut self, report: &mut Report, error: &Error) {
        match error.key() {
            Some(key) => self.row(report, key, &error.without_row().to_string()),
            None => {
                self.unreadable += 1;
                report.damage(&self.store, error);
            }
        }
    }

    /// A row of which something cannot be decoded.
    pub(crate) fn row(&mut self, report: &mut Report, row: &[u8], what: &str) {
        let (place, row) = self.names.place(row);
        self.problem(report, place, &row, what);
    }

    /// Something of a row, which lies at `place`.
    pub(crate) fn problem(&mut self, report: &mut Report, place: String, row: &str, what: &str) {
        self.unreadable += 1;
        let text = format!("{place}, {row}: {what}");
        let kind = (place, what.to_owned());
        if let Some(count) = self.kinds.get_mut(&kind) {
            *count += 1;
            if *count > self.named_max {
                return;
            }
        } else if self.kinds.len() < KINDS_MAX {
            self.order.push(kind.clone());
            self.kinds.insert(kind, 1);
        }
        report.damage(&self.store, text);
    }

    pub(crate) fn total(&self, store: &Store) -> Total {
        let damage = store.db().damage();
        Total {
            places: damage.len(),
            bytes: damage.iter().map(|damage| damage.len_bytes).sum(),
            unreadable: self.unreadable,
            withheld: damage.iter().map(|damage| damage.withheld).sum(),
        }
    }

    /// Reports what was only counted, the damaged places of files, which are known when everything has been read, and the total.
    pub(crate) fn finish(self, report: &mut Report, store: &Store) {
        let total = self.total(store);
        for kind in &self.order {
            let more = self.kinds[kind].saturating_sub(self.named_max);
            if more > 0 {
                let (place, what) = kind;
                report.damage(
                    &self.store,
                    format_args!("{place}: {more} more: {what} (--verbose names all)"),
                );
            }
        }
        for damage in store.db().damage() {
            report.damage(&self.store, self.names.damage(&damage));
        }
        if !total.is_none() {
            report.damage(&self.store, format_args!("in all: {}", total.text()));
        }
    }
}
