//! The part of a store that is copied: by name, and what that is in ids.

use std::collections::{BTreeMap, BTreeSet};

use larder_backing_store::{DatabaseMetadata, Error, ErrorKind, Store};
use larder_codec::{DatabaseId, JsString, ObjectStoreId, Origin, RawKey, compare, feed};

use crate::display::Quoted;
use crate::feed_notes::{FeedNotes, object_store_named};

/// A part of a store; all of it by default.
#[derive(Debug, Clone, Default)]
pub struct Part {
    /// Only databases of these names; all if it is empty.
    pub databases: Vec<JsString>,
    /// Only object stores of these names; all if it is empty. A change feed goes with the whole of its database only, as it would
    /// say of every record that is not there that it was removed; its own object stores can be named, as others.
    pub object_stores: Vec<JsString>,
    /// Only records with primary keys in this span. Without names of object stores, a change feed stays behind.
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
    /// Rows that say something of this LevelDB alone.
    pub(super) feed_notes: FeedNotes,
    /// How many change feeds stay behind.
    feeds_left: u64,
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
            .map(|database| (database, stores(database, part)))
            .filter(|(_, stores)| !matches!(stores, Stores::These(none) if none.is_empty()))
            .collect();
        let is_all = part.databases.is_empty() && part.object_stores.is_empty();
        if !is_all {
            check_names(part, &with_stores)?;
        }
        let mut feed_notes = FeedNotes::default();
        for (database, _) in &with_stores {
            feed_notes.add(database);
        }
        let leaves_feed = |(database, stores): &&(&DatabaseMetadata, Stores)| {
            let revisions = object_store_named(database, feed::REVISIONS);
            revisions.is_some_and(|revisions| !stores.has(revisions.id))
        };
        Ok(Self {
            is_all: is_all && part.keys.is_all(),
            feed_notes,
            feeds_left: with_stores.iter().filter(leaves_feed).count() as u64,
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
            || self
                .databases
                .get(&database)
                .is_some_and(|stores| stores.has(store))
    }

    /// How many change feeds of databases that are copied, or a part of them, are not.
    pub(super) const fn feeds_left(&self) -> u64 {
        self.feeds_left
    }
}

impl Stores {
    fn has(&self, id: ObjectStoreId) -> bool {
        match self {
            Self::All => true,
            Self::These(stores) => stores.contains(&id),
        }
    }
}

fn stores(database: &DatabaseMetadata, part: &Part) -> Stores {
    let names = &part.object_stores;
    let has_feed = database
        .object_stores
        .iter()
        .any(|store| feed::is_reserved(&store.name));
    if names.is_empty() && (part.keys.is_all() || !has_feed) {
        return Stores::All;
    }
    let is_wanted = |name: &JsString| match names.is_empty() {
        true => !feed::is_reserved(name),
        false => names.contains(name),
    };
    let stores = database.object_stores.iter();
    let wanted = stores.filter(|store| is_wanted(&store.name));
    Stores::These(wanted.map(|store| store.id).collect())
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
