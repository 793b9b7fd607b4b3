//! The rows of a store as of one moment.
//!
//! A moment takes a connection to a database's file when it first looks at it; or when a commit is about to change the file, since the commit
//! is later. So a transaction that touches one database costs one connection, and one that touches none costs nothing.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use larder_backing_store::{Error, OnFirstRow, OnRow, RowIter, RowSource};
use larder_codec::{DatabaseId, KeyPrefix};

use super::file::LiveFile;
use super::files::LiveFiles;
use super::reader::Reader;
use crate::cursor::Cursor;
use crate::lookups;
use crate::parts::Part;
use crate::rows::get_into;
use crate::schema::Schema;

/// What a moment has of a file: nothing if the file was made later, or is gone.
pub(super) type Held = Option<Arc<Reader>>;

/// The moment.
#[derive(Debug)]
pub(super) struct Moment {
    files: Arc<LiveFiles>,
    held: Mutex<Vec<(DatabaseId, Held)>>,
}

impl Moment {
    pub(super) fn new(files: Arc<LiveFiles>) -> Self {
        Self {
            files,
            held: Mutex::default(),
        }
    }

    fn held(&self) -> MutexGuard<'_, Vec<(DatabaseId, Held)>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn found(held: &[(DatabaseId, Held)], id: DatabaseId) -> Option<Held> {
        let mut held = held.iter();
        let (_, reader) = held.find(|(other, _)| *other == id)?;
        Some(reader.clone())
    }

    /// Looks at a database's file.
    fn reader(&self, id: DatabaseId) -> Result<Held, Error> {
        if let Some(reader) = Self::found(&self.held(), id) {
            return Ok(reader);
        }
        let Some(file) = self.files.get(id) else {
            return Ok(None);
        };
        let schema = file.turn();
        self.hold(&file, &schema, &mut None)
    }

    /// Looks at the file of the database that a row is of.
    fn reader_of(&self, key: &[u8]) -> Result<Held, Error> {
        database_of(key).map_or(Ok(None), |id| self.reader(id))
    }

    /// What it shows of that file, which it holds; an error comes again where a row is looked up.
    fn parts_of(&self, key: &[u8]) -> Option<Arc<Vec<Part>>> {
        let reader = self.reader_of(key).ok().flatten()?;
        Some(reader.parts())
    }

    /// Holds a file as it is, in its turn, unless it is held already. Several moments in one turn share the connection.
    pub(super) fn hold(
        &self,
        file: &Arc<LiveFile>,
        schema: &Arc<Schema>,
        shared: &mut Held,
    ) -> Result<Held, Error> {
        let mut held = self.held();
        if let Some(reader) = Self::found(&held, file.id) {
            return Ok(reader);
        }
        let reader = match shared {
            Some(reader) => Arc::clone(reader),
            None => Arc::clone(shared.insert(Arc::new(Reader::begin(file, schema)?))),
        };
        held.push((file.id, Some(Arc::clone(&reader))));
        Ok(Some(reader))
    }

    /// A file is not in it.
    pub(super) fn leave_out(&self, id: DatabaseId) {
        let mut held = self.held();
        if Self::found(&held, id).is_none() {
            held.push((id, None));
        }
    }
}

/// The database that a row is of.
fn database_of(key: &[u8]) -> Option<DatabaseId> {
    match key {
        // An id of one byte, as nearly all are.
        [prefix, id, ..] if prefix >> 5 == 0 => DatabaseId::new(i64::from(*id)),
        _ => KeyPrefix::decode(key).ok()?.0.database_id().ok(),
    }
}

/// The rows of records at a moment.
#[derive(Debug)]
pub(super) struct LiveRows(pub(super) Arc<Moment>);

impl RowSource for LiveRows {
    fn iter(&self) -> Box<dyn RowIter> {
        Box::new(LiveIter {
            moment: Arc::clone(&self.0),
            within: None,
            brings_records: false,
        })
    }

    fn get_into(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Error> {
        let reader = self.0.reader_of(key)?;
        reader.map_or(Ok(false), |reader| get_into(&reader.parts(), key, value))
    }

    fn multi_get(&self, keys: &mut dyn Iterator<Item = &[u8]>, found: OnRow<'_>) {
        let parts_of = |key: &[u8]| self.0.parts_of(key);
        let get_into = |key: &[u8], value: &mut Vec<u8>| self.get_into(key, value);
        lookups::multi_get(keys, found, &parts_of, get_into);
    }
}

/// A cursor over them. It stays in the database that it was sent to.
#[derive(Debug)]
struct LiveIter {
    moment: Arc<Moment>,
    /// The cursor, and what keeps its connection from being used for something else.
    within: Option<(DatabaseId, Cursor, Arc<Reader>)>,
    brings_records: bool,
}

impl LiveIter {
    /// The cursor over the database that has the row, if it is there.
    fn within_database_of(&mut self, key: &[u8]) -> Result<Option<&mut Cursor>, Error> {
        let id = database_of(key);
        if self.within.as_ref().map(|(at, ..)| *at) != id || id.is_none() {
            self.within = None;
            let reader = id.map_or(Ok(None), |id| self.moment.reader(id))?;
            if let (Some(id), Some(reader)) = (id, reader) {
                let mut cursor = Cursor::new(reader.parts());
                if self.brings_records {
                    cursor.bring_records();
                }
                self.within = Some((id, cursor, reader));
            }
        }
        Ok(self.within.as_mut().map(|(_, cursor, _)| cursor))
    }

    fn cursor(&self) -> Option<&Cursor> {
        self.within.as_ref().map(|(_, cursor, _)| cursor)
    }
}

impl RowIter for LiveIter {
    fn seek(&mut self, key: &[u8]) -> Result<(), Error> {
        let cursor = self.within_database_of(key)?;
        cursor.map_or(Ok(()), |cursor| cursor.seek(key))
    }

    fn seek_for_prev(&mut self, key: &[u8]) -> Result<(), Error> {
        let cursor = self.within_database_of(key)?;
        cursor.map_or(Ok(()), |cursor| cursor.seek_for_prev(key))
    }

    fn next(&mut self) -> Result<(), Error> {
        let cursor = self.within.as_mut();
        cursor.map_or(Ok(()), |(_, cursor, _)| cursor.next())
    }

    fn prev(&mut self) -> Result<(), Error> {
        let cursor = self.within.as_mut();
        cursor.map_or(Ok(()), |(_, cursor, _)| cursor.prev())
    }

    fn valid(&self) -> bool {
        self.cursor().is_some_and(RowIter::valid)
    }

    fn key(&self) -> &[u8] {
        self.cursor().map_or(&[], RowIter::key)
    }

    fn value(&self) -> &[u8] {
        self.cursor().map_or(&[], RowIter::value)
    }

    fn bring_records(&mut self) {
        self.brings_records = true;
        if let Some((_, cursor, _)) = &mut self.within {
            cursor.bring_records();
        }
    }

    fn record(&self) -> Option<&[u8]> {
        self.cursor().and_then(RowIter::record)
    }

    fn multi_seek(&mut self, prefixes: &mut dyn Iterator<Item = &[u8]>, found: OnFirstRow<'_>) {
        let moment = Arc::clone(&self.moment);
        lookups::multi_seek(prefixes, found, &|key| moment.parts_of(key), self);
    }
}
