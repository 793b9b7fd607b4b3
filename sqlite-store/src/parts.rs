//! The parts of a store's rows, in order: rows of metadata, and of each object store the tables and indexes that a LevelDB store has.

use std::sync::Arc;

use larder_backing_store::{Error, ErrorKind, RowIter, RowSource};
use larder_codec::external_object::encode_all;
use larder_codec::primitive::var_int;
use larder_codec::row_key::RecordTable;
use larder_codec::versioned::{DataRow, ExistsRow, IndexRow};
use larder_codec::{
    DatabaseId, IndexId, KeyPrefix, ObjectStoreId, RawKey, RecordVersion, range, sortable,
};

use crate::cursor::Cursor;
use crate::database::{Database, Found, Walk};
use crate::place::{self, Place};
use crate::schema::Schema;

/// The version that all records have: the first that LevelDB gives. No entry of an index is stale.
pub(crate) const RECORD_VERSION: i64 = 2;

/// Keys and values.
pub(crate) type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// A part.
#[derive(Debug)]
pub(crate) struct Part {
    /// At or before its first row.
    pub(crate) low: Vec<u8>,
    /// At or behind its last row.
    pub(crate) high: Vec<u8>,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    Rows(Rows),
    Table(Table),
}

/// The rows that are made of one of SQLite's.
#[derive(Debug)]
pub(crate) struct Table {
    database: Arc<Database>,
    kind: Kind,
    pub(crate) walk: Walk,
    pub(crate) prefix: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Data,
    ExternalObjects,
    Exists,
    Index,
}

/// All parts of a store.
#[derive(Debug, Clone)]
pub(crate) struct Parts(pub(crate) Arc<Vec<Part>>);

impl RowSource for Parts {
    fn iter(&self) -> Box<dyn RowIter> {
        Box::new(Cursor::new(Arc::clone(&self.0)))
    }
}

impl Part {
    pub(crate) fn of_rows(rows: Rows) -> Option<Self> {
        Some(Self {
            low: rows.first()?.0.clone(),
            high: rows.last()?.0.clone(),
            content: Content::Rows(rows),
        })
    }

    /// The parts of a database's object stores, in order.
    pub(crate) fn of_object_stores(database: &Arc<Database>, schema: &Schema) -> Vec<Self> {
        let id = schema.metadata.id;
        let mut parts = Vec::new();
        for store in &schema.metadata.object_stores {
            let object_store = store.id.get();
            let mut table = |table, kind, walk| {
                parts.push(Self::of_table(database, id, store.id, table, kind, walk))
            };
            let records = Walk::Records { object_store };
            table(RecordTable::Data, Kind::Data, records);
            table(RecordTable::Exists, Kind::Exists, records);
            if schema.has_blobs {
                let walk = Walk::WithObjects { object_store };
                table(RecordTable::ExternalObject, Kind::ExternalObjects, walk);
            }
            for (_, index_id, index) in schema.index_ids.iter().filter(|(of, ..)| *of == store.id) {
                let walk = Walk::Index {
                    object_store,
                    index: *index,
                };
                parts.push(Self::of_index(database, id, store.id, *index_id, walk));
            }
        }
        parts
    }

    fn of_table(
        database: &Arc<Database>,
        id: DatabaseId,
        store: ObjectStoreId,
        table: RecordTable,
        kind: Kind,
        walk: Walk,
    ) -> Self {
        let mut prefix = Vec::new();
        KeyPrefix::of_object_store(id, store, table.index_number()).encode(&mut prefix);
        Self {
            low: range::table_low(id, store, table),
            high: range::table_high(id, store, table),
            content: Content::Table(Table {
                database: Arc::clone(database),
                kind,
                walk,
                prefix,
            }),
        }
    }

    fn of_index(
        database: &Arc<Database>,
        id: DatabaseId,
        store: ObjectStoreId,
        index: IndexId,
        walk: Walk,
    ) -> Self {
        let mut prefix = Vec::new();
        let number = u32::try_from(index.get()).unwrap_or(u32::MAX);
        KeyPrefix::of_object_store(id, store, number).encode(&mut prefix);
        Self {
            low: range::index_entries_low(id, store, index),
            high: range::index_entries_high(id, store, index),
            content: Content::Table(Table {
                database: Arc::clone(database),
                kind: Kind::Index,
                walk,
                prefix,
            }),
        }
    }
}

impl Table {
    /// The place that a row's key leads to, which has the prefix.
    pub(crate) fn place(&self, key: &[u8]) -> Result<Place, Error> {
        let tail = key.strip_prefix(&*self.prefix).unwrap_or_default();
        match self.kind {
            Kind::Index => place::of_entry(tail),
            Kind::Data | Kind::ExternalObjects | Kind::Exists => place::of_record(tail),
        }
    }

    pub(crate) fn rows(
        &self,
        from: &Place,
        included: bool,
        forward: bool,
        count: usize,
    ) -> Result<Vec<Found>, Error> {
        self.database
            .rows(self.walk, from, included, forward, count)
    }

    /// The row that is made of what was found. Of one that cannot be read, `key` is left as far as it could.
    pub(crate) fn make(
        &self,
        found: &Found,
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<(), Error> {
        key.clear();
        value.clear();
        key.extend_from_slice(&self.prefix);
        self.push_key(&found.key, key)?;
        let version = RecordVersion::new(RECORD_VERSION).unwrap_or(RecordVersion::MIN);
        match self.kind {
            Kind::Data => {
                DataRow {
                    version,
                    value: &[],
                }
                .encode(value);
                let read = self.database.value(found.row_id, value);
                read.map_err(|error| error.with_key(key))?;
            }
            Kind::Exists => ExistsRow { version }.encode(value),
            Kind::ExternalObjects => {
                let objects = self.database.objects(found.row_id);
                encode_all(&objects.map_err(|error| error.with_key(key))?, value);
            }
            Kind::Index => {
                var_int::encode(0, key);
                let from = key.len();
                self.push_key(&found.record_key, key)?;
                let primary = key.get(from..).unwrap_or_default();
                let primary_key =
                    RawKey::decode_exact(primary).map_err(|error| self.undecodable(&error))?;
                IndexRow {
                    version,
                    primary_key,
                }
                .encode(value);
            }
        }
        Ok(())
    }

    fn push_key(&self, sorted: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let key = sortable::decode_exact(sorted).map_err(|error| self.undecodable(&error))?;
        key.encode(out);
        Ok(())
    }

    fn undecodable(&self, error: &larder_codec::Error) -> Error {
        let what = format!(
            "{}: the key of a row: {error}",
            self.database.path.display()
        );
        Error::new(ErrorKind::Corruption, what).with_key(&self.prefix)
    }

    /// What is said when the rows behind a place cannot be listed.
    pub(crate) fn lost(&self, error: Error) -> Error {
        error.with_key(&self.prefix)
    }
}
