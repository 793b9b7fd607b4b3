//! The part of a store that is copied: by name, and what that is in ids.

use std::collections::{BTreeMap, BTreeSet};

use larder_backing_store::{DatabaseMetadata, Error, ErrorKind, Store};
use larder_codec::{DatabaseId, JsString, ObjectStoreId, Origin, RawKey, compare};

use crate::display::Quoted;

/// A part of a store; all of it by default.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// Only databases of these names; all if it is empty.
    pub databases: Vec<JsString>,
    /// Only object stores of these names; all if it is empty.
    pub object_stores: Vec<JsString>,
    /// Only records with primary keys in this span.
    pub keys: KeySpan,
}

/// Primary keys from the lower to the upper, both included, in their bytes; `None` where there is no end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySpan {
    /// The lower end.
    pub lower: Option<Vec<u8>>,
    /// The upper end.
    pub upper: Option<Vec<u8>>,
}

impl KeySpan {
    /// Whether a key is in the span.
    #[must_use]
    pub fn contains(&self, key: RawKey<'_>) -> bool {
        let key = key.as_bytes();
        let at_least = |low: &Vec<u8>| compare::compare_user_keys(low, key).is_le();
        let at_most = |high: &Vec<u8>| compare::compare_user_keys(key, high).is_le();
        self.lower.as_ref().is_none_or(at_least) && self.upper.as_ref().is_none_or(at_most)
    }

    fn is_all(&self) -> bool {
        *self == Self::default()
    }
}

/// What is copied, in ids.
#[derive(Debug)]
pub(super) struct Plan {
    /// Everything, rows of no known database too.
    is_all: bool,
    databases: BTreeMap<DatabaseId, Stores>,
    pub(super) keys: KeySpan,
    /// The origin in names, if it is another one.
    pub(super) origin: Option<JsString>,
}

#[derive(Debug)]
enum Stores {
    All,
    These(BTreeSet<ObjectStoreId>),
}

impl Plan {
    pub(super) fn new(store: &Store, part: &Part, origin: Option<&Origin>) -> Result<Self, Error> {
        // What cannot be read is copied as it is, or named when its rows come.
        let databases = store.databases(&mut Vec::new())?;
        let is_wanted = |database: &&DatabaseMetadata| {
            part.databases.is_empty() || part.databases.contains(&database.name)
        };
        let wanted = databases.iter().filter(is_wanted);
        let with_stores: Vec<_> = wanted
            .map(|database| (database, stores(database, &part.object_stores)))
            .filter(|(_, stores)| !matches!(stores, Stores::These(none) if none.is_empty()))
            .collect();
        let is_all = part.databases.is_empty() && part.object_stores.is_empty();
        if !is_all {
            check_names(part, &with_stores)?;
        }
        Ok(Self {
            is_all: is_all && part.keys.is_all(),
            databases: with_stores
                .into_iter()
                .map(|(database, stores)| (database.id, stores))
                .collect(),
            keys: part.keys.clone(),
            origin: origin.map(Origin::row_text),
        })
    }

    /// How many databases are copied.
    pub(super) fn databases(&self) -> u64 {
        self.databases.len() as u64
    }

    pub(super) const fn is_all(&self) -> bool {
        self.is_all
    }

    /// Whether a database is copied, or a part of it.
    pub(super) fn has_database(&self, id: DatabaseId) -> bool {
        self.is_all || self.databases.contains_key(&id)
    }

    /// Whether an object store is copied.
    pub(super) fn has_store(&self, database: DatabaseId, store: ObjectStoreId) -> bool {
        self.is_all
            || match self.databases.get(&database) {
                None => false,
                Some(Stores::All) => true,
                Some(Stores::These(stores)) => stores.contains(&store),
            }
    }
}

fn stores(database: &DatabaseMetadata, names: &[JsString]) -> Stores {
    if names.is_empty() {
        return Stores::All;
    }
    let stores = database.object_stores.iter();
    let named = stores.filter(|store| names.contains(&store.name));
    Stores::These(named.map(|store| store.id).collect())
}

/// A misspelt name must not look like an empty store.
fn check_names(part: &Part, found: &[(&DatabaseMetadata, Stores)]) -> Result<(), Error> {
    let missing = |kind: &str, name: &JsString| {
        let what = format!(
            "there is no {kind} {} here: larder ls lists what is there",
            Quoted(name)
        );
        Err(Error::new(ErrorKind::Usage, what))
    };
    for name in &part.object_stores {
        let mut stores = found
            .iter()
            .flat_map(|(database, _)| &database.object_stores);
        if !stores.any(|store| store.name == *name) {
            return missing("object store", name);
        }
    }
    for name in &part.databases {
        if !found.iter().any(|(database, _)| database.name == *name) {
            return missing("database", name);
        }
    }
    Ok(())
}
