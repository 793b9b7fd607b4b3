//! A cursor over the live entries of an index.
//!
//! Overwritten and deleted records leave their index rows behind. A row is live if the data row of its primary key has
//! the row's version; the others are stale and skipped.

use std::cmp::Ordering;

use larder_codec::row_key::RecordTable;
use larder_codec::versioned::DataRow;
use larder_codec::{DatabaseId, IndexId, ObjectStoreId, RawKey, RecordVersion, compare, range};

use super::Direction;
use crate::error::{Error, ErrorKind, Result};
use crate::store::{IndexRow, index_row, record_row_prefix};
use crate::view::{View, ViewIter};

/// Visits an index's live entries.
#[derive(Debug)]
pub struct IndexCursor {
    rows: LiveRows,
    direction: Direction,
    /// What the cursor stands on.
    current: Entry,
    /// For `PrevUnique`: the first row of the next key, met while looking for the end of this one.
    ahead: Option<Entry>,
    valid: bool,
}

/// A live entry, copied out of its rows.
#[derive(Debug, Default, Clone)]
struct Entry {
    index_key: Vec<u8>,
    primary_key: Vec<u8>,
    /// The data row's value.
    data: Vec<u8>,
    value_start: usize,
    version: Option<RecordVersion>,
}

impl IndexCursor {
    pub(crate) fn new(
        view: &View,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        index_id: IndexId,
        direction: Direction,
    ) -> Self {
        Self {
            rows: LiveRows::new(
                view,
                database_id,
                object_store_id,
                index_id,
                direction.is_forward(),
            ),
            direction,
            current: Entry::default(),
            ahead: None,
            valid: false,
        }
    }

    /// Moves to the next entry in the cursor's direction; `false` at the end.
    ///
    /// # Errors
    /// [`ErrorKind::Corruption`] if a row cannot be read: call again to go on behind it. Anything else is final.
    #[expect(
        clippy::should_implement_trait,
        reason = "a lending cursor is no iterator"
    )]
    pub fn next(&mut self) -> Result<bool> {
        match self.direction {
            Direction::Next | Direction::Prev => self.valid = self.rows.next(&mut self.current)?,
            Direction::NextUnique => self.next_unique()?,
            Direction::PrevUnique => self.prev_unique()?,
        }
        Ok(self.valid)
    }

    fn next_unique(&mut self) -> Result<()> {
        let mut entry = Entry::default();
        while self.rows.next(&mut entry)? {
            if !self.valid || !same_key(&entry, &self.current) {
                self.current = entry;
                self.valid = true;
                return Ok(());
            }
        }
        self.valid = false;
        Ok(())
    }

    /// Goes back through all rows of one key; the last one met is the first in ascending order.
    fn prev_unique(&mut self) -> Result<()> {
        let mut best = match self.ahead.take() {
            Some(entry) => entry,
            None => {
                let mut entry = Entry::default();
                if !self.rows.next(&mut entry)? {
                    self.valid = false;
                    return Ok(());
                }
                entry
            }
        };
        loop {
            let mut entry = Entry::default();
            match self.rows.next(&mut entry) {
                Ok(true) if same_key(&entry, &best) => best = entry,
                Ok(true) => {
                    self.ahead = Some(entry);
                    break;
                }
                Ok(false) => break,
                Err(error) => {
                    self.ahead = Some(best);
                    return Err(error);
                }
            }
        }
        self.current = best;
        self.valid = true;
        Ok(())
    }

    /// The index key of the entry.
    ///
    /// # Errors
    /// Only when the cursor is not on an entry.
    pub fn index_key(&self) -> Result<RawKey<'_>> {
        self.raw(&self.current.index_key)
    }

    /// The primary key of the entry's record.
    ///
    /// # Errors
    /// Only when the cursor is not on an entry.
    pub fn primary_key(&self) -> Result<RawKey<'_>> {
        self.raw(&self.current.primary_key)
    }

    fn raw<'a>(&self, bytes: &'a [u8]) -> Result<RawKey<'a>> {
        if !self.valid {
            return Err(Error::new(
                ErrorKind::Usage,
                "the cursor is not on an entry",
            ));
        }
        RawKey::decode_exact(bytes).map_err(|error| Error::row(bytes, "index entry", error))
    }

    /// The version of the entry's record; `None` when not on an entry.
    #[must_use]
    pub fn version(&self) -> Option<RecordVersion> {
        self.current.version
    }

    /// The record's value without its version.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        self.current
            .data
            .get(self.current.value_start..)
            .unwrap_or_default()
    }
}

fn same_key(a: &Entry, b: &Entry) -> bool {
    a.index_key == b.index_key
        || match (
            RawKey::decode_exact(&a.index_key),
            RawKey::decode_exact(&b.index_key),
        ) {
            (Ok(a), Ok(b)) => a == b,
            _ => false,
        }
}

/// The index's rows in one direction, without the stale ones.
#[derive(Debug)]
struct LiveRows {
    view: View,
    iter: ViewIter,
    forward: bool,
    started: bool,
    low: Vec<u8>,
    high: Vec<u8>,
    data_prefix: Vec<u8>,
    data_key: Vec<u8>,
}

impl LiveRows {
    fn new(
        view: &View,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        index_id: IndexId,
        forward: bool,
    ) -> Self {
        Self {
            iter: view.iter(),
            view: view.clone(),
            forward,
            started: false,
            low: range::index_entries_low(database_id, object_store_id, index_id),
            high: range::index_entries_high(database_id, object_store_id, index_id),
            data_prefix: record_row_prefix(database_id, object_store_id, RecordTable::Data),
            data_key: Vec::new(),
        }
    }

    fn next(&mut self, entry: &mut Entry) -> Result<bool> {
        loop {
            self.step()?;
            if !self.iter.valid() || self.is_outside() {
                return Ok(false);
            }
            if self.read_row(entry)? {
                return Ok(true);
            }
        }
    }

    fn step(&mut self) -> Result<()> {
        if self.started {
            return if self.forward {
                self.iter.next()
            } else {
                self.iter.prev()
            };
        }
        self.started = true;
        if self.forward {
            self.iter.seek(&self.low)
        } else {
            self.iter.seek_for_prev(&self.high)
        }
    }

    fn is_outside(&self) -> bool {
        let key = self.iter.key();
        if self.forward {
            compare(key, &self.high) == Ordering::Greater
        } else {
            compare(key, &self.low) == Ordering::Less
        }
    }

    /// Reads the row; whether it is live.
    fn read_row(&mut self, entry: &mut Entry) -> Result<bool> {
        let row_key = self.iter.key();
        let IndexRow {
            index_key,
            primary_key,
            version,
        } = index_row(row_key, self.iter.value()?)?;
        self.data_key.clear();
        self.data_key.extend_from_slice(&self.data_prefix);
        self.data_key.extend_from_slice(primary_key.as_bytes());
        if !self.view.get_into(&self.data_key, &mut entry.data)? {
            return Ok(false);
        }
        let data = DataRow::decode_exact(&entry.data).map_err(|error| {
            Error::row(
                &self.data_key,
                "record row with an undecodable version",
                error,
            )
        })?;
        if data.version != version {
            return Ok(false);
        }
        entry.value_start = entry.data.len() - data.value.len();
        entry.version = Some(version);
        entry.index_key.clear();
        entry.index_key.extend_from_slice(index_key.as_bytes());
        entry.primary_key.clear();
        entry.primary_key.extend_from_slice(primary_key.as_bytes());
        Ok(true)
    }
}
