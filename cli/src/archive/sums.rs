//! Which indexes have other entries than follow from the values.
//!
//! Each side is added up ([`Sum`]), the entries with the versions of their records first, as verify does: where no row is stale, no record
//! is looked up.

use larder_backing_store::{DatabaseMetadata, ObjectStoreMetadata};
use larder_codec::external_object::ExternalObject;
use larder_codec::value::{Foreign, Tree};
use larder_codec::versioned::IndexRow;
use larder_codec::{RawKey, RecordVersion, RowKey, range};

use crate::scan::{Scan, Stop};
use crate::verify::{ExpectedKeys, Sum};

/// What the values of an object store say of its indexes.
pub(super) struct IndexCheck {
    expected: Vec<ExpectedKeys>,
    /// Some values say nothing: those of other engines, and what cannot be read.
    pub(super) is_unsure: bool,
}

impl IndexCheck {
    pub(super) fn new(object_store: &ObjectStoreMetadata) -> Self {
        let indexes = object_store.indexes.iter();
        Self {
            expected: indexes
                .map(|index| ExpectedKeys::new(object_store, index))
                .collect(),
            is_unsure: false,
        }
    }

    pub(super) fn take(
        &mut self,
        tree: &Tree<'_>,
        objects: &[ExternalObject],
        key: RawKey<'_>,
        version: Option<RecordVersion>,
    ) {
        if self.expected.is_empty() {
            return;
        }
        let Some(version) = version.filter(|_| Foreign::of_tree(tree).is_none()) else {
            self.is_unsure = true;
            return;
        };
        for expected in &mut self.expected {
            expected.take(tree, objects, key, version);
        }
    }

    /// The places of the indexes whose entries do not follow from the values.
    pub(super) fn different(
        self,
        scan: &mut Scan<'_>,
        database: &DatabaseMetadata,
        object_store: &ObjectStoreMetadata,
    ) -> Result<Vec<usize>, Stop> {
        let mut different = Vec::new();
        for (n, (index, expected)) in object_store.indexes.iter().zip(&self.expected).enumerate() {
            let place = (database.id, object_store.id, index.id);
            if self.is_unsure
                || (rows(scan, place)? != expected.sum() && live(scan, place)? != expected.sum())
            {
                different.push(n);
            }
        }
        Ok(different)
    }
}

type Place = (
    larder_codec::DatabaseId,
    larder_codec::ObjectStoreId,
    larder_codec::IndexId,
);

/// The sum of all rows of an index.
fn rows(scan: &mut Scan<'_>, (database, store, index): Place) -> Result<Sum, Stop> {
    let mut sum = Sum::default();
    let mut rows = scan.store.rows();
    rows.seek(&range::index_entries_low(database, store, index))?;
    while scan.advance(|| rows.next())? {
        let Ok(RowKey::IndexData(key)) = RowKey::decode_exact(rows.key()) else {
            break;
        };
        if (key.database_id, key.object_store_id, key.index_id) != (database, store, index) {
            break;
        }
        if let Ok(row) = IndexRow::decode_exact(rows.value()?) {
            let parts = [key.index_key.as_bytes(), row.primary_key.as_bytes()];
            sum.add(&parts, row.version.get());
        }
    }
    Ok(sum)
}

/// The sum of the rows that a cursor visits.
fn live(scan: &mut Scan<'_>, (database, store, index): Place) -> Result<Sum, Stop> {
    let next = larder_backing_store::CursorDirection::Next;
    let mut entries = scan.store.index_entries(database, store, index, next);
    let mut sum = Sum::default();
    while scan.advance(|| entries.next())? {
        let (index_key, primary_key) = entries.key_bytes()?;
        let version = entries.version().map_or(0, RecordVersion::get);
        sum.add(&[index_key, primary_key], version);
    }
    Ok(sum)
}
