//! Deletes stale index rows ("tombstones"): those whose version is not that of their record's exists row.
//!
//! A record that is overwritten or deleted leaves its index rows behind. Rows whose record has no exists row stay, as in
//! Chromium: reading passes over them.

use std::cmp::Ordering;

use larder_codec::row_key::{RecordKey, RecordTable};
use larder_codec::versioned::ExistsRow;
use larder_codec::{DatabaseId, IndexId, ObjectStoreId, compare, range};
use larder_leveldb::Durability;
use larder_leveldb::Snapshot;
use larder_leveldb::write_batch::BatchWriter;

use crate::backing_store::Core;
use crate::cursor::decode_value;
use crate::error::{Error, Result};
use crate::metadata::{DatabaseMetadata, read_databases};
use crate::view::View;

/// Rows that a round looks at, and a sweep, as in Chromium.
const ROUND_ROWS: u64 = 1000;
const SWEEP_ROWS: u64 = 10_000_000;

/// An index, and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    database_id: DatabaseId,
    object_store_id: ObjectStoreId,
    index_id: IndexId,
}

/// A sweep under way.
#[derive(Debug)]
pub(super) struct Sweep {
    /// The indexes that are left, the next one last.
    places: Vec<Place>,
    /// Where to go on in it.
    from: Option<Vec<u8>>,
    rows: u64,
}

impl Sweep {
    /// A sweep of all indexes, which begins at a random index of a random object store of a random database.
    pub(super) fn start(core: &Core) -> Result<Self> {
        // What cannot be read is not swept.
        let mut problems = Vec::new();
        let mut databases = read_databases(&View::committed(core.base(None)), &mut problems)?;
        for database in &mut databases {
            database
                .object_stores
                .retain(|store| !store.indexes.is_empty());
        }
        databases.retain(|database| !database.object_stores.is_empty());
        let mut places: Vec<Place> = databases.iter().flat_map(places_of).collect();
        if let Some(first) = random_place(core, &databases)
            && let Some(at) = places.iter().position(|place| *place == first)
        {
            places.rotate_left(at);
        }
        places.reverse();
        Ok(Self {
            places,
            from: None,
            rows: 0,
        })
    }

    /// Looks at the next rows and deletes the stale ones in one batch. Returns whether the sweep is done. No
    /// transaction may be writing.
    pub(super) fn round(&mut self, core: &Core) -> Result<bool> {
        let snapshot = core.snapshot();
        let mut batch = BatchWriter::new();
        let mut rows = 0;
        while let Some(place) = self.places.last().copied()
            && rows < ROUND_ROWS
        {
            rows += self.sweep_some(&snapshot, place, ROUND_ROWS - rows, &mut batch)?;
        }
        core.db.write(&mut batch, Durability::Relaxed)?;
        self.rows += rows;
        Ok(self.places.is_empty() || self.rows >= SWEEP_ROWS)
    }

    fn sweep_some(
        &mut self,
        snapshot: &Snapshot,
        place: Place,
        rows_max: u64,
        batch: &mut BatchWriter,
    ) -> Result<u64> {
        let Place {
            database_id,
            object_store_id,
            index_id,
        } = place;
        let low = range::index_entries_low(database_id, object_store_id, index_id);
        let high = range::index_entries_high(database_id, object_store_id, index_id);
        let from = self.from.take();
        let mut iter = snapshot.iter_near(&low, &high);
        iter.seek(from.as_deref().unwrap_or(&low))?;
        let mut rows = 0;
        while iter.valid() && compare(iter.key(), &high) != Ordering::Greater {
            if rows == rows_max {
                self.from = Some(iter.key().to_vec());
                return Ok(rows);
            }
            rows += 1;
            if is_stale(snapshot, place, iter.key(), iter.value()?)? {
                batch.delete(iter.key());
            }
            iter.next()?;
        }
        self.places.pop();
        Ok(rows)
    }
}

fn places_of(database: &DatabaseMetadata) -> impl Iterator<Item = Place> {
    database.object_stores.iter().flat_map(|store| {
        store.indexes.iter().map(|index| Place {
            database_id: database.id,
            object_store_id: store.id,
            index_id: index.id,
        })
    })
}

fn random_place(core: &Core, databases: &[DatabaseMetadata]) -> Option<Place> {
    let database = pick(core, databases)?;
    let store = pick(core, &database.object_stores)?;
    let index = pick(core, &store.indexes)?;
    Some(Place {
        database_id: database.id,
        object_store_id: store.id,
        index_id: index.id,
    })
}

fn pick<'a, T>(core: &Core, items: &'a [T]) -> Option<&'a T> {
    let at = core.random(items.len() as u64);
    items.get(usize::try_from(at).ok()?)
}

/// Rows that cannot be read are none of ours.
fn is_stale(snapshot: &Snapshot, place: Place, key: &[u8], value: &[u8]) -> Result<bool> {
    let Ok(row) = decode_value(key, value) else {
        return Ok(false);
    };
    let mut exists_key = Vec::new();
    RecordKey {
        database_id: place.database_id,
        object_store_id: place.object_store_id,
        table: RecordTable::Exists,
        key: row.primary_key,
    }
    .encode(&mut exists_key);
    let exists = snapshot
        .get(&exists_key)
        .map_err(|error| Error::from(error).with_key(&exists_key))?;
    let exists = exists.and_then(|exists| ExistsRow::decode_exact(&exists).ok());
    Ok(exists.is_some_and(|exists| exists.version != row.version))
}
