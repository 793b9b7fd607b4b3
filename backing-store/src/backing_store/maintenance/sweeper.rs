//! Deletes stale index rows ("tombstones"): those whose version is not that of their record's exists row.
//!
//! A record that is overwritten or deleted leaves its index rows behind. Rows whose record has no exists row stay, as in
//! Chromium: reading passes over them.
//!
//! What a sweep has seen of an index is known from then on (decision 41): all rows are live but those that are left.

use std::cmp::Ordering;

use larder_codec::primitive::int;
use larder_codec::row_key::{ObjectStoreField, ObjectStoreMetadataKey, RecordKey, RecordTable};
use larder_codec::versioned::ExistsRow;
use larder_codec::{DatabaseId, IndexId, ObjectStoreId, compare, range};
use larder_leveldb::Durability;
use larder_leveldb::Snapshot;
use larder_leveldb::write_batch::BatchWriter;

use crate::backing_store::Core;
use crate::cursor::decode_value;
use crate::error::{Error, Result};
use crate::metadata::{DatabaseMetadata, read_databases};
use crate::staleness::IndexPlace;
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

impl Place {
    const fn of_index(self) -> IndexPlace {
        (self.database_id, self.object_store_id, self.index_id)
    }
}

/// What an index row turns out to be, with its version.
enum Row {
    Stale,
    Live(i64),
    WithoutRecord(i64),
    Undecodable,
}

/// A sweep under way.
#[derive(Debug)]
pub(super) struct Sweep {
    /// The indexes that are left, the next one last.
    places: Vec<Place>,
    /// Where to go on in it.
    from: Option<Vec<u8>>,
    rows: u64,
    /// Indexes of which the last rows were looked at in this round.
    done: Vec<Place>,
    /// Rows of records that are not there any more go, too.
    takes_all: bool,
}

impl Sweep {
    /// A sweep of all indexes, which begins at a random index of a random object store of a random database.
    pub(super) fn start(core: &Core) -> Result<Self> {
        // What cannot be read is not swept.
        let mut problems = Vec::new();
        let mut databases = read_databases(&View::committed(core.base()), &mut problems)?;
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
            done: Vec::new(),
            takes_all: false,
        })
    }

    /// Lets the sweep delete rows without a record, which Chromium leaves: those whose record has no exists row and no value either.
    pub(super) fn taking_all(self) -> Self {
        Self {
            takes_all: true,
            ..self
        }
    }

    /// Whether every index was looked at.
    pub(super) fn is_at_end(&self) -> bool {
        self.places.is_empty()
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
            rows += self.sweep_some(core, &snapshot, place, ROUND_ROWS - rows, &mut batch)?;
        }
        core.db.write(&mut batch, Durability::Relaxed)?;
        let facts = &core.context.index_facts;
        for place in self.done.drain(..) {
            facts.end_survey(place.of_index());
        }
        self.rows += rows;
        let is_done = self.places.is_empty() || self.rows >= SWEEP_ROWS;
        if is_done {
            facts.end_surveys();
        }
        Ok(is_done)
    }

    fn sweep_some(
        &mut self,
        core: &Core,
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
        let facts = &core.context.index_facts;
        let last_version = last_version(snapshot, place)?;
        let from = self.from.take();
        if from.is_none() {
            facts.begin_survey(place.of_index());
        }
        let mut iter = snapshot.iter_near(&low, &high);
        iter.seek(from.as_deref().unwrap_or(&low))?;
        let mut rows = 0;
        while iter.valid() && compare(iter.key(), &high) != Ordering::Greater {
            if rows == rows_max {
                self.from = Some(iter.key().to_vec());
                return Ok(rows);
            }
            rows += 1;
            match judge(snapshot, place, iter.key(), iter.value()?)? {
                Row::Stale => batch.delete(iter.key()),
                Row::WithoutRecord(_)
                    if self.takes_all
                        && has_no_value(snapshot, place, iter.key(), iter.value()?)? =>
                {
                    batch.delete(iter.key());
                }
                Row::Live(version) if version <= last_version => {}
                // A version that the object store has yet to give may not be among those that become suspect when records are replaced.
                Row::Live(version) | Row::WithoutRecord(version) => {
                    facts.suspect_in_survey(place.of_index(), version);
                }
                // Reading says so, whatever is known of the index.
                Row::Undecodable => {}
            }
            iter.next()?;
        }
        self.done.extend(self.places.pop());
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

/// The greatest version that the object store has given, as far as its metadata say.
fn last_version(snapshot: &Snapshot, place: Place) -> Result<i64> {
    let mut key = Vec::new();
    ObjectStoreMetadataKey {
        database_id: place.database_id,
        object_store_id: place.object_store_id,
        field: ObjectStoreField::LastVersion,
    }
    .encode(&mut key);
    let row = snapshot
        .get(&key)
        .map_err(|error| Error::from(error).with_key(&key))?;
    let version = row.and_then(|row| int::decode_exact(&row).ok());
    Ok(version.unwrap_or(0))
}

/// Whether the record of an index row has no data row.
fn has_no_value(snapshot: &Snapshot, place: Place, key: &[u8], value: &[u8]) -> Result<bool> {
    let Ok(row) = decode_value(key, value) else {
        return Ok(false);
    };
    let mut data_key = Vec::new();
    RecordKey {
        database_id: place.database_id,
        object_store_id: place.object_store_id,
        table: RecordTable::Data,
        key: row.primary_key,
    }
    .encode(&mut data_key);
    let data = snapshot.get(&data_key);
    Ok(data
        .map_err(|error| Error::from(error).with_key(&data_key))?
        .is_none())
}

fn judge(snapshot: &Snapshot, place: Place, key: &[u8], value: &[u8]) -> Result<Row> {
    let Ok(row) = decode_value(key, value) else {
        return Ok(Row::Undecodable);
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
    let version = row.version.get();
    Ok(match exists {
        Some(exists) if exists.version == row.version => Row::Live(version),
        Some(_) => Row::Stale,
        None => Row::WithoutRecord(version),
    })
}
