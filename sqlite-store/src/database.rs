//! One database's file: what is asked of its tables.
//!
//! Keys are read from indexes of SQLite's, and with them values; where these cannot be read, each by its row's id: what is damaged in a table is lost alone, and
//! has a key. A statement is asked for by its text, each time anew: so many look-ups are made with one ([`Database::look_up`]).

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
use crate::page::{Found, Page};
use crate::place::Place;
use crate::schema::Schema;
use crate::sql;
use crate::value::{Unpacker, encode_front};

/// Microseconds from 1601 to 1970: a file of which no time is known.
const UNIX_EPOCH_MICROS: i64 = 11_644_473_600_000_000;

/// Blobs are numbered from 2 in LevelDB, and from 1 here.
const NUMBER_OFFSET: i64 = 1;

/// SQLite's virtual machine runs so many thousand operations at most for one question: a page of keys takes one.
const KILO_OPERATIONS_MAX: u32 = 1_000_000;

/// A page takes no more rows when its values have so many bytes.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// Columns of an index's entry.
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

/// What came of looking for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Looked {
    /// The page's row with this number.
    Row(usize),
    /// There is none.
    Nothing,
    /// It could not be read so: looked for alone, it is found out what is wrong.
    Failed,
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

    /// So many rows at most from a place on, in a direction, into the page; those at the place itself only if it is `included`. Records come with their values,
    /// and with `brings_records` entries of an index with those of their records, if all of the page can be read.
    pub(crate) fn rows(
        &self,
        page: &mut Page,
        walk: Walk,
        from: &Place,
        (included, forward): (bool, bool),
        (count, brings_records): (usize, bool),
    ) -> Result<(), Error> {
        let has_values = match walk.kind {
            Kind::Data => true,
            Kind::Index(_) => brings_records,
            Kind::Exists | Kind::ExternalObjects => false,
        };
        let way = (included, forward);
        match self.page(page, walk, from, way, (count, has_values)) {
            // One by one, what is damaged is lost alone.
            Err(error) if has_values && error.kind() == ErrorKind::Corruption => {
                self.page(page, walk, from, way, (count, false))
            }
            done => done,
        }
    }

    fn page(
        &self,
        page: &mut Page,
        walk: Walk,
        from: &Place,
        (included, forward): (bool, bool),
        (count, with_values): (usize, bool),
    ) -> Result<(), Error> {
        page.clear();
        let mut values: Vec<Value> = vec![walk.object_store.into()];
        let is_index = matches!(walk.kind, Kind::Index(_));
        let (columns, table) = match walk.kind {
            Kind::Index(_) if with_values => (INDEX_COLUMNS, ENTRIES_WITH_RECORDS),
            Kind::Index(_) => (INDEX_COLUMNS, "index_references AS entry"),
            _ => ("entry.key, x'', row_id", "records AS entry"),
        };
        let value = match with_values {
            true => self.value_columns(),
            false => "",
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
            page.is_last = true;
            return Ok(());
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
            let mut unpacker = self.unpacker();
            while page.len_bytes() < PAGE_BYTES_MAX
                && let Some(row) = rows.next()?
            {
                let (key, record_key) = (row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?);
                page.push(key, record_key, row.get(2)?);
                if with_values {
                    push_value(page, &mut unpacker, row, 3)?;
                }
            }
            page.is_last = page.len() < count && page.len_bytes() < PAGE_BYTES_MAX;
            if self.has_negative_zeros.load(Ordering::Relaxed) {
                for n in 0..page.len() {
                    let exact = page.row(n).map(|row| exact(connection, walk.kind, row));
                    page.set_exact(n, exact.transpose()?.flatten());
                }
            }
            Ok(())
        })
    }

    /// Looks for records, or for the first entry of an index under each key, as many as have room in a page: what came of each. The rows have the keys of
    /// records alone, and values.
    ///
    /// What it finds in an index may have -0 in its keys, of which it says nothing: see [`has_exact_keys`](Self::has_exact_keys).
    pub(crate) fn look_up<'k>(
        &self,
        page: &mut Page,
        walk: Walk,
        keys: impl Iterator<Item = &'k [u8]>,
    ) -> Result<Vec<Looked>, Error> {
        page.clear();
        let value = self.value_columns();
        let (sql, index) = match walk.kind {
            Kind::Index(index) => (
                format!(
                    "SELECT record_row_id{value}, entry.record_key FROM {ENTRIES_WITH_RECORDS} WHERE entry.object_store_id = ?1 \
                     AND entry.key = ?2 AND index_id = ?3 ORDER BY entry.record_key LIMIT 1"
                ),
                Some(index),
            ),
            _ => (
                format!(
                    "SELECT row_id{value} FROM records WHERE object_store_id = ?1 AND key = ?2"
                ),
                None,
            ),
        };
        self.ask(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut unpacker = self.unpacker();
            statement.raw_bind_parameter(1, walk.object_store)?;
            if let Some(index) = index {
                statement.raw_bind_parameter(3, index)?;
            }
            let mut looked = Vec::new();
            for key in keys {
                statement.raw_bind_parameter(2, key)?;
                let mut rows = statement.raw_query();
                let found: rusqlite::Result<_> = match rows.next() {
                    Ok(None) => Ok(Looked::Nothing),
                    Ok(Some(row)) => (|| {
                        let record_key = match index {
                            Some(_) => row.get_ref(3)?.as_blob()?,
                            None => &[],
                        };
                        page.push(&[], record_key, row.get(0)?);
                        push_value(page, &mut unpacker, row, 1)?;
                        Ok(Looked::Row(page.len() - 1))
                    })(),
                    Err(error) => Err(error),
                };
                looked.push(found.unwrap_or(Looked::Failed));
                if page.len_bytes() >= PAGE_BYTES_MAX {
                    break;
                }
            }
            Ok(looked)
        })
    }

    /// Whether keys of rows may be others in LevelDB's coding than those in Chromium's tables.
    pub(crate) fn has_exact_keys(&self) -> bool {
        self.has_negative_zeros.load(Ordering::Relaxed)
    }

    /// The columns of a record's value, behind others.
    fn value_columns(&self) -> &'static str {
        match self.has_compression {
            true => ", value, compression_type",
            false => ", value, 0",
        }
    }

    fn unpacker(&self) -> MutexGuard<'_, Unpacker> {
        self.unpacker.lock().unwrap_or_else(PoisonError::into_inner)
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

/// The page's last row has the value in these columns of a statement's row; none if it cannot be unpacked, or is that of an entry whose record is not there, or is
/// not the one with its key.
fn push_value(
    page: &mut Page,
    unpacker: &mut Unpacker,
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<()> {
    let packed = match row.get_ref(column)? {
        ValueRef::Null => return Ok(()),
        packed => packed.as_blob()?,
    };
    let compression = row.get(column + 1)?;
    page.push_value(|out| {
        encode_front(out);
        unpacker.unpack(compression, packed, out)
    });
    Ok(())
}

/// The note of -0 in the keys of a row, if there is one.
fn exact(
    connection: &Connection,
    kind: Kind,
    found: Found<'_>,
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
        true => notes::exact_keys(connection, (row_id, index), key, record_key),
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
