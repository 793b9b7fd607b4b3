//! The parts of a store's rows, in order: rows of metadata, and of each object store the tables and indexes that a LevelDB store has.

use std::sync::Arc;

use larder_backing_store::{Error, ErrorKind};
use larder_codec::external_object::encode_all;
use larder_codec::primitive::var_int;
use larder_codec::row_key::RecordTable;
use larder_codec::versioned::{ExistsRow, IndexRow};
use larder_codec::{DatabaseId, IndexId, KeyPrefix, ObjectStoreId, RawKey, range, sortable};

use crate::database::{Database, Kind, Looked, Walk};
use crate::page::{Found, Page};
use crate::place::{self, Place};
use crate::schema::Schema;
use crate::value::{encode_front, record_version};

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
        page: &mut Page,
        from: &Place,
        way: (bool, bool),
        asked: (usize, bool),
    ) -> Result<(), Error> {
        self.database.rows(page, self.walk, from, way, asked)
    }

    /// Whether rows of this table can be looked up many at once, by [`look_up`](Self::look_up).
    pub(crate) fn looks_up_many(&self) -> bool {
        match self.walk.kind {
            Kind::Data => true,
            // A note may say that the entry found has not the key that was looked for.
            Kind::Index(_) => !self.database.has_exact_keys(),
            Kind::Exists | Kind::ExternalObjects => false,
        }
    }

    /// Looks for the rows of records with these keys, or for the first entry under each, which have the prefix: what came of each, as far as one page has room.
    pub(crate) fn look_up(&self, page: &mut Page, keys: &[&[u8]]) -> Result<Vec<Looked>, Error> {
        let (mut sorted, mut ends) = (Vec::new(), Vec::with_capacity(keys.len()));
        for key in keys {
            let tail = key.strip_prefix(&*self.prefix).unwrap_or_default();
            place::push_key(tail, &mut sorted)?;
            ends.push(sorted.len());
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let ranges = starts.zip(ends.iter().copied());
        let sorted = ranges.map(|(start, end)| sorted.get(start..end).unwrap_or_default());
        self.database.look_up(page, self.walk, sorted)
    }

    /// Whether the value of a row that was read is the row's value in LevelDB: else it is that of the record that the row leads to.
    pub(crate) fn is_of_records(&self) -> bool {
        self.walk.kind == Kind::Data
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

    /// The key and the value of the row that is made of what was found. Of one that cannot be read, `key` is left as far as it could. A value that was found is
    /// not copied: [`Found::value`] of a record's row.
    pub(crate) fn make(
        &self,
        found: Found<'_>,
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<(), Error> {
        key.clear();
        value.clear();
        key.extend_from_slice(&self.prefix);
        self.push_key(found.key, found.exact.map(|exact| &*exact.key), key)?;
        match self.walk.kind {
            Kind::Data if found.value.is_some() => {}
            Kind::Data => {
                encode_front(value);
                let read = self.database.value(found.row_id, value);
                read.map_err(|error| error.with_key(key))?;
            }
            Kind::Exists => {
                let version = record_version();
                ExistsRow { version }.encode(value);
            }
            Kind::ExternalObjects => {
                let objects = self.database.objects(found.row_id);
                encode_all(&objects.map_err(|error| error.with_key(key))?, value);
            }
            Kind::Index(_) => {
                var_int::encode(0, key);
                let from = key.len();
                let exact = found.exact.map(|exact| &*exact.record_key);
                self.push_key(found.record_key, exact, key)?;
                self.push_entry(key.get(from..).unwrap_or_default(), value)?;
            }
        }
        Ok(())
    }

    /// The value of an entry that was found by [`look_up`](Self::look_up).
    pub(crate) fn entry(&self, found: Found<'_>, value: &mut Vec<u8>) -> Result<(), Error> {
        let mut primary = Vec::new();
        self.push_key(found.record_key, None, &mut primary)?;
        value.clear();
        self.push_entry(&primary, value)
    }

    /// The value of the entry that leads to the record with this key.
    fn push_entry(&self, primary: &[u8], value: &mut Vec<u8>) -> Result<(), Error> {
        let primary_key =
            RawKey::decode_exact(primary).map_err(|error| self.undecodable(&error))?;
        let version = record_version();
        IndexRow {
            version,
            primary_key,
        }
        .encode(value);
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
        sortable::recode_exact(sorted, out).map_err(|error| self.undecodable(&error))
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
