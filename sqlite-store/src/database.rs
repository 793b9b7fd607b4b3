//! One database's file: what is asked of its tables.
//!
//! Keys are read from indexes of SQLite's, and with them values; where these cannot be read, each by its row's id: what is damaged in a table is lost alone, and
//! has a key.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use larder_backing_store::{Error, ErrorKind};
use larder_codec::external_object::{BlobInfo, ExternalObject};
use larder_codec::{BlobNumber, JsString};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use crate::image::Image;
use crate::notes::{self, ExactKeys, NO_INDEX};
use crate::place::Place;
use crate::schema::Schema;
use crate::sql;
use crate::value::{Packed, Unpacker};

/// Microseconds from 1601 to 1970: a file of which no time is known.
const UNIX_EPOCH_MICROS: i64 = 11_644_473_600_000_000;

/// Blobs are numbered from 2 in LevelDB, and from 1 here.
const NUMBER_OFFSET: i64 = 1;

/// SQLite's virtual machine runs so many thousand operations at most for one question: a page of keys takes one.
const KILO_OPERATIONS_MAX: u32 = 1_000_000;

/// A page takes no more rows when its values have so many bytes.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// Columns of an index's entry: [`Found`] has them in this order.
const INDEX_COLUMNS: &str = "entry.key, entry.record_key, record_row_id";
/// Entries of indexes, each with the record that its row's id leads to if that has the key that the entry says.
const ENTRIES_WITH_RECORDS: &str = "index_references AS entry LEFT JOIN records ON records.row_id = record_row_id \
     AND records.object_store_id = entry.object_store_id AND records.key = entry.record_key";

/// An open database file.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) path: PathBuf,
    image: Mutex<Image>,
    /// Locked while `image` is, or alone.
    unpacker: Mutex<Unpacker>,
    kilo_operations: Arc<AtomicU32>,
    has_compression: bool,
    has_negative_zeros: AtomicBool,
}

/// A row of a table.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// Sortable.
    pub(crate) key: Vec<u8>,
    /// In an index, the record's key; else empty.
    pub(crate) record_key: Vec<u8>,
    /// The row of the record.
    pub(crate) row_id: i64,
    /// The keys in LevelDB's coding, where a note says that there is -0 in them.
    pub(crate) exact: Option<ExactKeys>,
    /// The value of a record, or in an index the one of the record that the entry leads to, if it was read with the key.
    pub(crate) value: Option<Packed>,
}

/// Rows in a row.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) rows: Vec<Found>,
    /// No more lie behind them.
    pub(crate) is_last: bool,
}

/// The rows of an object store that are walked over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Walk {
    pub(crate) object_store: i64,
    pub(crate) kind: Kind,
}

/// What LevelDB's rows of the kind have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The records.
    Data,
    /// Their keys alone.
    Exists,
    /// The blobs, files and handles of those that have any.
    ExternalObjects,
    /// The entries of an index with this id in the file.
    Index(i64),
}

impl Database {
    pub(crate) fn new(path: PathBuf, mut image: Image, schema: &Schema) -> rusqlite::Result<Self> {
        let kilo_operations = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&kilo_operations);
        let is_too_long = move || counted.fetch_add(1, Ordering::Relaxed) > KILO_OPERATIONS_MAX;
        image.connection.progress_handler(1000, Some(is_too_long))?;
        Ok(Self {
            path,
            image: Mutex::new(image),
            unpacker: Mutex::default(),
            kilo_operations,
            has_compression: schema.has_compression,
            has_negative_zeros: AtomicBool::new(schema.has_negative_zeros),
        })
    }

    /// What the file has become since.
    pub(crate) fn follow(&self, schema: &Schema) {
        self.has_negative_zeros
            .store(schema.has_negative_zeros, Ordering::Relaxed);
    }

    /// Begins to read the file as it is now, or ends that.
    pub(crate) fn hold(&self, is_held: bool) -> Result<(), Error> {
        self.ask(|connection| {
            if !is_held {
                return connection.prepare_cached("COMMIT")?.execute(()).map(drop);
            }
            connection.prepare_cached("BEGIN")?.execute(())?;
            // What is read is fixed by the first question.
            let sql = "SELECT EXISTS (SELECT 1 FROM meta)";
            connection
                .prepare_cached(sql)?
                .query_row((), |row| row.get::<_, bool>(0))
                .map(drop)
        })
    }

    fn image(&self) -> MutexGuard<'_, Image> {
        self.kilo_operations.store(0, Ordering::Relaxed);
        self.image.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        ask(&self.image().connection).map_err(|error| self.error(&error))
    }

    fn error(&self, error: &rusqlite::Error) -> Error {
        sql::error(&self.path, error)
    }

    /// So many rows at most from a place on, in a direction; those at the place itself only if it is `included`. Records come with their values, and with
    /// `brings_records` entries of an index with those of their records, if all of the page can be read.
    pub(crate) fn rows(
        &self,
        walk: Walk,
        from: &Place,
        (included, forward): (bool, bool),
        count: usize,
        brings_records: bool,
    ) -> Result<Page, Error> {
        let page = |with_values| self.page(walk, from, (included, forward), count, with_values);
        let has_values = match walk.kind {
            Kind::Data => true,
            Kind::Index(_) => brings_records,
            Kind::Exists | Kind::ExternalObjects => false,
        };
        match page(has_values) {
            // One by one, what is damaged is lost alone.
            Err(error) if has_values && error.kind() == ErrorKind::Corruption => page(false),
            page => page,
        }
    }

    fn page(
        &self,
        walk: Walk,
        from: &Place,
        (included, forward): (bool, bool),
        count: usize,
        with_values: bool,
    ) -> Result<Page, Error> {
        let mut values: Vec<Value> = vec![walk.object_store.into()];
        let is_index = matches!(walk.kind, Kind::Index(_));
        let (columns, table) = match walk.kind {
            Kind::Index(_) if with_values => (INDEX_COLUMNS, ENTRIES_WITH_RECORDS),
            Kind::Index(_) => (INDEX_COLUMNS, "index_references AS entry"),
            _ => ("entry.key, x'', row_id", "records AS entry"),
        };
        let value = match (with_values, self.has_compression) {
            (false, _) => "",
            (true, true) => ", value, compression_type",
            (true, false) => ", value, 0",
        };
        let among = match walk.kind {
            Kind::Index(index) => {
                values.push(index.into());
                " AND index_id = ?2"
            }
            Kind::ExternalObjects => {
                " AND EXISTS (SELECT 1 FROM blob_references WHERE record_row_id = entry.row_id)"
            }
            Kind::Data | Kind::Exists => "",
        };
        let Some(within) = within(from, (included, forward), is_index, &mut values) else {
            return Ok(Page {
                rows: Vec::new(),
                is_last: true,
            });
        };
        let way = if forward { "ASC" } else { "DESC" };
        let order = match is_index {
            true => format!("entry.key {way}, entry.record_key {way}"),
            false => format!("entry.key {way}"),
        };
        let sql = format!(
            "SELECT {columns}{value} FROM {table} WHERE entry.object_store_id = ?1{among}{within} ORDER BY {order} LIMIT {count}"
        );
        self.ask(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(params_from_iter(values))?;
            let (mut found, mut value_bytes) = (Vec::new(), 0);
            while value_bytes < PAGE_BYTES_MAX
                && let Some(row) = rows.next()?
            {
                let value = match with_values {
                    // An entry whose record is not there, or is not the one with its key.
                    true if is_index && row.get_ref(3)? == ValueRef::Null => None,
                    true => Some(Packed {
                        bytes: bytes(row.get_ref(3)?)?,
                        compression: row.get(4)?,
                    }),
                    false => None,
                };
                value_bytes += value.as_ref().map_or(0, |value| value.bytes.len());
                found.push(Found {
                    key: bytes(row.get_ref(0)?)?,
                    record_key: bytes(row.get_ref(1)?)?,
                    row_id: row.get(2)?,
                    exact: None,
                    value,
                });
            }
            if self.has_negative_zeros.load(Ordering::Relaxed) {
                for found in &mut found {
                    found.exact = exact(connection, walk.kind, found)?;
                }
            }
            Ok(Page {
                is_last: found.len() < count && value_bytes < PAGE_BYTES_MAX,
                rows: found,
            })
        })
    }

    fn unpacker(&self) -> MutexGuard<'_, Unpacker> {
        self.unpacker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a value that was read with its key, as [`value`](Self::value).
    pub(crate) fn unpack(&self, value: &Packed, out: &mut Vec<u8>) -> Result<(), Error> {
        let unpacked = self.unpacker().unpack(value.compression, &value.bytes, out);
        unpacked.map_err(|what| sql::damage(&self.path, &what))
    }

    /// Appends the value of a record, as LevelDB has it behind the version.
    pub(crate) fn value(&self, row_id: i64, out: &mut Vec<u8>) -> Result<(), Error> {
        let sql = match self.has_compression {
            true => "SELECT value, compression_type FROM records WHERE row_id = ?1",
            false => "SELECT value, 0 FROM records WHERE row_id = ?1",
        };
        let unpacked = self.ask(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let found = statement.query_row([row_id], |row| {
                let packed = row.get_ref(0)?.as_blob()?;
                Ok(self.unpacker().unpack(row.get(1)?, packed, out))
            });
            found.optional()
        })?;
        match unpacked {
            Some(Ok(())) => Ok(()),
            Some(Err(what)) => Err(sql::damage(&self.path, &what)),
            None => Err(sql::damage(&self.path, "the record's row is gone")),
        }
    }

    /// Appends the value of the record with this key, as [`value`](Self::value); whether there is one.
    pub(crate) fn value_of(
        &self,
        object_store: i64,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        let sql = match self.has_compression {
            true => {
                "SELECT value, compression_type FROM records WHERE object_store_id = ?1 AND key = ?2"
            }
            false => "SELECT value, 0 FROM records WHERE object_store_id = ?1 AND key = ?2",
        };
        let unpacked = self.ask(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let found = statement.query_row(params![object_store, key], |row| {
                let packed = row.get_ref(0)?.as_blob()?;
                Ok(self.unpacker().unpack(row.get(1)?, packed, out))
            });
            found.optional()
        })?;
        match unpacked {
            Some(Ok(())) => Ok(true),
            Some(Err(what)) => Err(sql::damage(&self.path, &what)),
            None => Ok(false),
        }
    }

    /// Whether there is a record with this key.
    pub(crate) fn has(&self, object_store: i64, key: &[u8]) -> Result<bool, Error> {
        let sql = "SELECT EXISTS (SELECT 1 FROM records WHERE object_store_id = ?1 AND key = ?2)";
        self.ask(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            statement.query_row(params![object_store, key], |row| row.get(0))
        })
    }

    /// What a record refers to: blobs and files in the order of their ids, then handles. Values number the two apart.
    pub(crate) fn objects(&self, record_row_id: i64) -> Result<Vec<ExternalObject>, Error> {
        let sql = "SELECT blobs.row_id, object_type, mime_type, size_bytes, file_name, last_modified, \
                   CASE object_type WHEN 2 THEN bytes END \
                   FROM blob_references JOIN blobs ON blobs.row_id = blob_row_id \
                   WHERE record_row_id = ?1 ORDER BY blobs.row_id";
        let rows = self.ask(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([record_row_id], |row| Ok(object(row)))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let (mut objects, mut handles) = (Vec::new(), Vec::new());
        for object in rows {
            match object.map_err(|error| self.error(&error))? {
                handle @ ExternalObject::FileSystemAccessHandle { .. } => handles.push(handle),
                object => objects.push(object),
            }
        }
        objects.append(&mut handles);
        Ok(objects)
    }

    /// The pieces of a blob: of each its number, from 0, and its length. Nothing if its bytes lie in a file of their own.
    pub(crate) fn pieces(&self, number: BlobNumber) -> Result<Option<Vec<(i64, u64)>>, Error> {
        let row_id = row_id(number);
        self.ask(|connection| {
            let sql = "SELECT length(bytes) FROM blobs WHERE row_id = ?1";
            let first: Option<Option<i64>> = connection
                .query_row(sql, [row_id], |row| row.get(0))
                .optional()?;
            let Some(first) = first else {
                return Ok(Some(Vec::new()));
            };
            let Some(first) = first else {
                return Ok(None);
            };
            let mut pieces = vec![(0, first.unsigned_abs())];
            let sql = "SELECT chunk_index, length(bytes) FROM overflow_blob_chunks \
                       WHERE blob_row_id = ?1 ORDER BY chunk_index";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([row_id])?;
            while let Some(row) = rows.next()? {
                pieces.push((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()));
            }
            Ok(Some(pieces))
        })
    }

    /// The bytes of a piece.
    pub(crate) fn piece(&self, number: BlobNumber, piece: i64) -> Result<Vec<u8>, Error> {
        let row_id = row_id(number);
        self.ask(|connection| {
            let first = |row: &Row<'_>| bytes(row.get_ref(0)?);
            if piece == 0 {
                let sql = "SELECT bytes FROM blobs WHERE row_id = ?1";
                return connection.prepare_cached(sql)?.query_row([row_id], first);
            }
            let sql = "SELECT bytes FROM overflow_blob_chunks WHERE blob_row_id = ?1 AND chunk_index = ?2";
            connection.prepare_cached(sql)?.query_row([row_id, piece], first)
        })
    }

    /// When a file was last modified; blobs have no time.
    pub(crate) fn last_modified(&self, number: BlobNumber) -> Result<Option<i64>, Error> {
        let row_id = row_id(number);
        self.ask(|connection| {
            let sql = "SELECT last_modified FROM blobs WHERE row_id = ?1";
            let found = connection
                .query_row(sql, [row_id], |row| row.get(0))
                .optional()?;
            Ok(found.flatten())
        })
    }

    /// The file of a blob whose bytes lie in none of the tables, as a migration from LevelDB leaves it.
    pub(crate) fn blob_path(&self, number: BlobNumber) -> PathBuf {
        let mut dir = self.path.as_os_str().to_owned();
        dir.push("_");
        Path::new(&dir).join(format!("{:x}", row_id(number)))
    }
}

/// The note of -0 in the keys of a row, if there is one.
fn exact(
    connection: &Connection,
    kind: Kind,
    found: &Found,
) -> rusqlite::Result<Option<ExactKeys>> {
    let index = match kind {
        Kind::Index(index) => index,
        _ => NO_INDEX,
    };
    let Found {
        key,
        record_key,
        row_id,
        ..
    } = found;
    match notes::may_have_zero(key) || notes::may_have_zero(record_key) {
        true => notes::exact_keys(connection, (*row_id, index), key, record_key),
        false => Ok(None),
    }
}

/// The number in LevelDB's terms of the blob with this row id.
pub(crate) fn number(row_id: i64) -> Option<BlobNumber> {
    BlobNumber::new(row_id.checked_add(NUMBER_OFFSET)?)
}

/// The row id of a blob in the file.
pub(crate) fn row_id(number: BlobNumber) -> i64 {
    number.get() - NUMBER_OFFSET
}

fn object(row: &Row<'_>) -> rusqlite::Result<ExternalObject> {
    let object_type: i64 = row.get(1)?;
    if object_type == 2 {
        let token = bytes(row.get_ref(6)?)?;
        return Ok(ExternalObject::FileSystemAccessHandle { token });
    }
    let row_id: i64 = row.get(0)?;
    let number = number(row_id).ok_or(rusqlite::Error::IntegralValueOutOfRange(0, row_id))?;
    let blob = BlobInfo {
        number,
        mime_type: text(row.get_ref(2)?)?,
        size_bytes: row.get::<_, Option<i64>>(3)?.unwrap_or(0),
    };
    match object_type {
        0 => Ok(ExternalObject::Blob(blob)),
        1 => Ok(ExternalObject::File {
            blob,
            name: text(row.get_ref(4)?)?,
            last_modified_micros: row.get::<_, Option<i64>>(5)?.unwrap_or(UNIX_EPOCH_MICROS),
        }),
        _ => Err(rusqlite::Error::IntegralValueOutOfRange(1, object_type)),
    }
}

/// Text in UTF-8, which may stand in a column as text or as bytes.
fn text(value: ValueRef<'_>) -> rusqlite::Result<JsString> {
    let bytes = match value {
        ValueRef::Null => &[],
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes,
        _ => value.as_str()?.as_bytes(),
    };
    Ok(JsString::from(&*String::from_utf8_lossy(bytes)))
}

fn bytes(value: ValueRef<'_>) -> rusqlite::Result<Vec<u8>> {
    Ok(value.as_blob()?.to_vec())
}

/// The condition that rows lie from a place on, with its values; nothing if none does.
fn within(
    from: &Place,
    (included, forward): (bool, bool),
    is_index: bool,
    values: &mut Vec<Value>,
) -> Option<String> {
    let at = values.len() + 1;
    let (less, greater) = match forward {
        true => (">", ">="),
        false => ("<", "<="),
    };
    Some(match from {
        Place::First if forward => String::new(),
        Place::Last if !forward => String::new(),
        Place::First | Place::Last => return None,
        // Going forward from before a key takes its rows in; going backward it does not. Behind it is the other way round.
        Place::Before(key) => {
            values.push(key.clone().into());
            format!(" AND entry.key {} ?{at}", if forward { ">=" } else { "<" })
        }
        Place::Behind(key) => {
            values.push(key.clone().into());
            format!(" AND entry.key {} ?{at}", if forward { ">" } else { "<=" })
        }
        Place::At(key, record_key) => {
            values.push(key.clone().into());
            let than = if included { greater } else { less };
            if !is_index {
                return Some(format!(" AND entry.key {than} ?{at}"));
            }
            values.push(record_key.clone().into());
            format!(
                " AND (entry.key, entry.record_key) {than} (?{at}, ?{})",
                at + 1
            )
        }
    })
}
