//! A cursor over the records of an object store.

use std::cmp::Ordering;

use larder_codec::row_key::RecordTable;
use larder_codec::versioned::{DataRow, ExistsRow};
use larder_codec::{DatabaseId, ObjectStoreId, RawKey, RecordVersion, compare, range};

use super::Direction;
use crate::error::{Error, ErrorKind, Result};
use crate::store::record_row_prefix;
use crate::view::{View, ViewIter};

/// Visits an object store's records. Primary keys are unique, so the unique directions are the plain ones.
///
/// See [`crate::Store::records`] for an example.
#[derive(Debug)]
pub struct RecordCursor {
    iter: ViewIter,
    forward: bool,
    started: bool,
    low: Vec<u8>,
    high: Vec<u8>,
    prefix: Vec<u8>,
    version: Option<RecordVersion>,
    value_start: usize,
    check: Option<ExistsCheck>,
}

/// Whether the record is the one its exists row speaks of. Asked only in a store that lost writes: there the data row
/// may be an older one that its lost successor no longer hides.
#[derive(Debug)]
struct ExistsCheck {
    view: View,
    prefix: Vec<u8>,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl RecordCursor {
    pub(crate) fn new(
        view: &View,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        direction: Direction,
        check_exists: bool,
    ) -> Self {
        let table = RecordTable::Data;
        Self {
            iter: view.iter(),
            forward: direction.is_forward(),
            started: false,
            low: range::table_low(database_id, object_store_id, table),
            high: range::table_high(database_id, object_store_id, table),
            prefix: record_row_prefix(database_id, object_store_id, table),
            version: None,
            value_start: 0,
            check: check_exists.then(|| ExistsCheck {
                view: view.clone(),
                prefix: record_row_prefix(database_id, object_store_id, RecordTable::Exists),
                key: Vec::new(),
                value: Vec::new(),
            }),
        }
    }

    /// Moves to the next record in the cursor's direction; `false` at the end.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] if a row cannot be read: call again to go on behind it. Anything else is final.
    #[expect(
        clippy::should_implement_trait,
        reason = "a lending cursor is no iterator"
    )]
    pub fn next(&mut self) -> Result<bool> {
        if !self.started {
            self.started = true;
            if self.forward {
                self.iter.seek(&self.low)?;
            } else {
                self.iter.seek_for_prev(&self.high)?;
            }
        } else if self.forward {
            self.iter.next()?;
        } else {
            self.iter.prev()?;
        }
        if !self.iter.valid() {
            return Ok(false);
        }
        let key = self.iter.key();
        if !key.starts_with(&self.prefix) {
            let inside = if self.forward {
                compare(key, &self.high) != Ordering::Greater
            } else {
                compare(key, &self.low) != Ordering::Less
            };
            return if inside {
                Err(Error::inconsistent(
                    key,
                    "record row with a malformed key prefix",
                ))
            } else {
                Ok(false)
            };
        }
        self.read_row()?;
        Ok(true)
    }

    fn read_row(&mut self) -> Result<()> {
        let (key, value) = (self.iter.key(), self.iter.value()?);
        let primary_key = key.get(self.prefix.len()..).unwrap_or_default();
        RawKey::decode_exact(primary_key)
            .map_err(|error| Error::row(key, "record row with an undecodable key", error))?;
        let row = DataRow::decode_exact(value)
            .map_err(|error| Error::row(key, "record row with an undecodable version", error))?;
        let version = row.version;
        self.version = Some(version);
        self.value_start = value.len() - row.value.len();
        match &mut self.check {
            Some(check) => check.check(key, primary_key, version),
            None => Ok(()),
        }
    }

    /// The primary key.
    ///
    /// # Errors
    /// Only when the cursor is not on a record.
    pub fn primary_key(&self) -> Result<RawKey<'_>> {
        let key = self.iter.key();
        RawKey::decode_exact(key.get(self.prefix.len()..).unwrap_or_default())
            .map_err(|error| Error::row(key, "the cursor is not on a record", error))
    }

    /// The LevelDB key of the record's row.
    #[must_use]
    pub fn row_key(&self) -> &[u8] {
        self.iter.key()
    }

    /// The record's version: it grows with every put into the object store. `None` when not on a record.
    #[must_use]
    pub fn version(&self) -> Option<RecordVersion> {
        self.version
    }

    /// The value's bytes, without the version: an envelope for [`larder_codec::value`].
    ///
    /// # Errors
    /// Only when the cursor is not on a record.
    pub fn value(&self) -> Result<&[u8]> {
        let value = self.iter.value()?;
        Ok(value.get(self.value_start..).unwrap_or_default())
    }
}

impl ExistsCheck {
    fn check(&mut self, row_key: &[u8], primary_key: &[u8], version: RecordVersion) -> Result<()> {
        self.key.clear();
        self.key.extend_from_slice(&self.prefix);
        self.key.extend_from_slice(primary_key);
        let found = match self.view.get_into(&self.key, &mut self.value) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::Corruption => {
                let what = "record withheld: a newer write of it may be lost";
                return Err(Error::inconsistent(row_key, what));
            }
            Err(error) => return Err(error),
        };
        let exists = found
            .then(|| ExistsRow::decode_exact(&self.value).ok())
            .flatten();
        if exists == Some(ExistsRow { version }) {
            return Ok(());
        }
        let what =
            "record withheld: its exists row is of another version, so a write of it is lost";
        Err(Error::inconsistent(row_key, what))
    }
}
