//! The rows by which change feeds know that nothing was written since they were right: they have the sequence number of their LevelDB
//! (`docs/format/feed.md`). Another LevelDB with the same rows counts anew, and could by chance come to the same number when the feed is
//! not right any more. So whatever writes rows into another one leaves these out.

use std::collections::BTreeSet;

use larder_backing_store::{DatabaseMetadata, ObjectStoreMetadata};
use larder_codec::{DatabaseId, JsString, ObjectStoreId, RawKey, feed};

/// Where they are.
#[derive(Debug, Default)]
pub(crate) struct FeedNotes(BTreeSet<(DatabaseId, ObjectStoreId)>);

impl FeedNotes {
    /// Those of a database as well.
    pub(crate) fn add(&mut self, database: &DatabaseMetadata) {
        let consumers = object_store_named(database, feed::CONSUMERS);
        let consumers = consumers.map(|consumers| (database.id, consumers.id));
        self.0.extend(consumers);
    }

    /// Whether the record of this key is one of them.
    pub(crate) fn has(&self, store: (DatabaseId, ObjectStoreId), key: RawKey<'_>) -> bool {
        self.0.contains(&store) && feed::is_sequence_key(key)
    }
}

/// An object store of a change feed, if the database has one.
pub(crate) fn object_store_named<'a>(
    database: &'a DatabaseMetadata,
    name: &str,
) -> Option<&'a ObjectStoreMetadata> {
    let name = JsString::from(name);
    database
        .object_stores
        .iter()
        .find(|store| store.name == name)
}
