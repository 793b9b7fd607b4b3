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
use crate::database::{Database, Found, Kind, Page, Walk};
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

/// The rows that are made of one of SQLite's tables.
#[derive(Debug)]
pub(crate) struct Table {
    database: Arc<Database>,
    walk: Walk,
    /// What the rows' keys begin with.
    prefix: Vec<u8>,
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
        let mut parts = Vec::new();
        for store in &schema.metadata.object_stores {
            let of_store = OfStore {
                database,
                database_id: schema.metadata.id,
                id: store.id,
            };
            parts.push(of_store.table(RecordTable::Data, Kind::Data));
            parts.push(of_store.table(RecordTable::Exists, Kind::Exists));
            if schema.has_blobs {
                parts.push(of_store.table(RecordTable::ExternalObject, Kind::ExternalObjects));
            }
            let indexes = schema.index_ids.iter().filter(|(of, ..)| *of == store.id);
            parts.extend(indexes.map(|(_, id, in_file)| of_store.index(*id, *in_file)));
        }
        parts
    }
}

/// Makes the parts of one object store.
struct OfStore<'a> {
    database: &'a Arc<Database>,
    database_id: DatabaseId,
    id: ObjectStoreId,
}

impl OfStore<'_> {
    fn table(&self, table: RecordTable, kind: Kind) -> Part {
        let low = range::table_low(self.database_id, self.id, table);
        let high = range::table_high(self.database_id, self.id, table);
        self.part(low, high, table.index_number(), kind)
    }

    fn index(&self, id: IndexId, in_file: i64) -> Part {
        let low = range::index_entries_low(self.database_id, self.id, id);
        let high = range::index_entries_high(self.database_id, self.id, id);
        let number = u32::try_from(id.get()).unwrap_or(u32::MAX);
        self.part(low, high, number, Kind::Index(in_file))
    }

    fn part(&self, low: Vec<u8>, high: Vec<u8>, number: u32, kind: Kind) -> Part {
        let mut prefix = Vec::new();
        KeyPrefix::of_object_store(self.database_id, self.id, number).encode(&mut prefix);
        let walk = Walk {
            object_store: self.id.get(),
            kind,
        };
        let content = Content::Table(Table {
            database: Arc::clone(self.database),
            walk,
            prefix,
        });
        Part { low, high, content }
    }
}

fn record_version() -> RecordVersion {
    RecordVersion::new(RECORD_VERSION).unwrap_or(RecordVersion::MIN)
}

/// Appends what comes before the value in a record's row.
fn encode_front(row: &mut Vec<u8>) {
    DataRow {
        version: record_version(),
        value: &[],
    }
    .encode(row);
}

impl Table {
    /// Whether a row of this table may have the key.
    pub(crate) fn has_prefix_of(&self, key: &[u8]) -> bool {
        key.starts_with(&self.prefix)
    }

    /// The place that a row's key leads to, which has the prefix.
    pub(crate) fn place(&self, key: &[u8]) -> Result<Place, Error> {
        let tail = key.strip_prefix(&*self.prefix).unwrap_or_default();
        match self.walk.kind {
            Kind::Index(_) => place::of_entry(tail),
            Kind::Data | Kind::ExternalObjects | Kind::Exists => place::of_record(tail),
        }
    }

    pub(crate) fn rows(
        &self,
        from: &Place,
        way: (bool, bool),
        count: usize,
        brings_records: bool,
    ) -> Result<Page, Error> {
        let database = &self.database;
        database.rows(self.walk, from, way, count, brings_records)
    }

    /// The row of the record that an entry of an index leads to, if its value was read with the entry and can be unpacked; whether it was.
    pub(crate) fn record_of(&self, entry: &Found, record: &mut Vec<u8>) -> bool {
        let (Kind::Index(_), Some(packed)) = (self.walk.kind, &entry.value) else {
            return false;
        };
        record.clear();
        encode_front(record);
        // An error comes again where the record is looked up.
        self.database.unpack(packed, record).is_ok()
    }

    /// The value of the row with this key, which has the prefix, into the caller's buffer; whether there is one.
    pub(crate) fn get_into(&self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<bool>, Error> {
        let Place::At(sorted, _) = self.place(key)? else {
            return Ok(Some(false));
        };
        let version = record_version();
        let (database, object_store) = (&self.database, self.walk.object_store);
        value.clear();
        let is_there = match self.walk.kind {
            Kind::Data => {
                encode_front(value);
                database.value_of(object_store, &sorted, value)
            }
            Kind::Exists => {
                ExistsRow { version }.encode(value);
                database.has(object_store, &sorted)
            }
            Kind::ExternalObjects | Kind::Index(_) => return Ok(None),
        };
        is_there.map(Some).map_err(|error| error.with_key(key))
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
        let exact = found.exact.as_ref();
        self.push_key(&found.key, exact.map(|exact| &*exact.key), key)?;
        let version = record_version();
        match self.walk.kind {
            Kind::Data => {
                encode_front(value);
                let read = match &found.value {
                    Some(packed) => self.database.unpack(packed, value),
                    None => self.database.value(found.row_id, value),
                };
                read.map_err(|error| error.with_key(key))?;
            }
            Kind::Exists => ExistsRow { version }.encode(value),
            Kind::ExternalObjects => {
                let objects = self.database.objects(found.row_id);
                encode_all(&objects.map_err(|error| error.with_key(key))?, value);
            }
            Kind::Index(_) => {
                var_int::encode(0, key);
                let from = key.len();
                let exact = exact.map(|exact| &*exact.record_key);
                self.push_key(&found.record_key, exact, key)?;
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

    fn push_key(
        &self,
        sorted: &[u8],
        exact: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if let Some(exact) = exact {
            out.extend_from_slice(exact);
            return Ok(());
        }
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
