//! A cursor over the records of an object store.

use larder_codec::row_key::RecordTable;
use larder_codec::versioned::{DataRow, ExistsRow};
use larder_codec::{DatabaseId, ObjectStoreId, RawKey, RecordVersion};
use larder_leveldb::PinnedBytes;

use super::page::{Page, PageLimits};
use super::range_rows::{RangeRows, Row};
use super::{CursorDirection, Movement};
use crate::error::{Error, ErrorKind, Result};
use crate::key_range::KeyRange;
use crate::reads::{ExistsCheck, Reads, record_row_prefix};

/// Visits an object store's records. Primary keys are unique, so the unique directions are the plain ones.
///
/// See [`crate::Store`] for an example.
#[derive(Debug)]
pub struct RecordCursor {
    rows: RangeRows,
    direction: CursorDirection,
    /// Whether it walks over the exists rows, which have the keys and no values.
    keys_only: bool,
    /// On a record.
    valid: bool,
    version: Option<RecordVersion>,
    value_start: usize,
    check: Option<ExistsCheck>,
}

impl RecordCursor {
    pub(crate) fn new(
        reads: &Reads,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        range: &KeyRange<'_>,
        direction: CursorDirection,
    ) -> Self {
        Self {
            check: reads.exists_check(database_id, object_store_id),
            ..Self::over(
                reads,
                (database_id, object_store_id),
                range,
                direction,
                false,
            )
        }
    }

    /// Visits the records of the range and reads no values: these are empty. In a store that lost writes, exists rows
    /// alone say too little.
    pub(crate) fn over_keys(
        reads: &Reads,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        range: &KeyRange<'_>,
        direction: CursorDirection,
    ) -> Self {
        if reads.exists_check(database_id, object_store_id).is_some() {
            return Self::new(reads, database_id, object_store_id, range, direction);
        }
        Self::over(
            reads,
            (database_id, object_store_id),
            range,
            direction,
            true,
        )
    }

    fn over(
        reads: &Reads,
        (database_id, object_store_id): (DatabaseId, ObjectStoreId),
        range: &KeyRange<'_>,
        direction: CursorDirection,
        keys_only: bool,
    ) -> Self {
        let table = match keys_only {
            true => RecordTable::Exists,
            false => RecordTable::Data,
        };
        let prefix = record_row_prefix(database_id, object_store_id, table);
        Self {
            rows: RangeRows::new(reads.view(), prefix, range, direction.is_forward()),
            direction,
            keys_only,
            valid: false,
            version: None,
            value_start: 0,
            check: None,
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
    #[inline]
    pub fn next(&mut self) -> Result<bool> {
        self.valid = false;
        self.rows.move_on()?;
        self.arrive()
    }

    /// Moves on over so many records, or to the end: how many there were.
    ///
    /// # Errors
    /// As [`RecordCursor::next`].
    pub fn pass(&mut self, count_max: u64) -> Result<u64> {
        for count in 0..count_max {
            if !self.next()? {
                return Ok(count);
            }
        }
        Ok(count_max)
    }

    /// Moves; `false` at the end.
    ///
    /// # Errors
    /// As [`RecordCursor::next`]; [`ErrorKind::Usage`] for a target that is not behind the cursor, for a number of 0, and
    /// for [`Movement::ToEntry`].
    pub fn go(&mut self, movement: Movement<'_>) -> Result<bool> {
        match movement {
            Movement::ToEntry(..) => {
                let what = "a cursor over records has no index key";
                Err(Error::new(ErrorKind::Usage, what))
            }
            Movement::To(key) => {
                if self.valid {
                    let order = self.rows.order();
                    let place = self.primary_key()?;
                    let to_target = order.compare_user_keys(place.as_bytes(), key.as_bytes());
                    self.direction.check_target(to_target)?;
                }
                self.valid = false;
                self.rows.seek_to(key, None)?;
                self.arrive()
            }
            Movement::Next | Movement::Advance(_) => {
                let count = u64::from(movement.count()?);
                Ok(self.pass(count)? == count)
            }
        }
    }

    /// Moves on and puts every record into `page`, which is emptied first, until a limit is reached; `false` if the end
    /// was.
    ///
    /// # Errors
    /// As [`RecordCursor::next`]; the page holds the records before the one that cannot be read.
    pub fn fill(&mut self, page: &mut Page, limits: PageLimits) -> Result<bool> {
        page.clear();
        while page.has_room(limits) {
            if !self.next()? {
                return Ok(false);
            }
            let (key, version) = (self.primary_key_bytes(), self.version);
            page.push(0, None, key, version, self.value()?);
        }
        Ok(true)
    }

    /// Reads the row that was reached; whether it is one of the range.
    #[inline]
    fn arrive(&mut self) -> Result<bool> {
        let Some(Row { key, tail, value }) = self.rows.settle()? else {
            return Ok(false);
        };
        let primary_key = RawKey::decode_exact(tail)
            .map_err(|error| Error::row(key, "record row with an undecodable key", error))?;
        if self.keys_only {
            let row = ExistsRow::decode_exact(value)
                .map_err(|error| Error::row(key, "exists row", error))?;
            self.version = Some(row.version);
            self.value_start = value.len();
        } else {
            let row = DataRow::decode_exact(value).map_err(|error| {
                Error::row(key, "record row with an undecodable version", error)
            })?;
            self.version = Some(row.version);
            self.value_start = value.len() - row.value.len();
            if let Some(check) = &mut self.check {
                check.check(key, primary_key, row.version)?;
            }
        }
        self.valid = true;
        Ok(true)
    }

    /// The primary key.
    ///
    /// # Errors
    /// Only when the cursor is not on a record.
    pub fn primary_key(&self) -> Result<RawKey<'_>> {
        if !self.valid {
            let what = "the cursor is not on a record";
            return Err(Error::new(ErrorKind::Usage, what));
        }
        let not_a_key = |error| Error::row(self.row_key(), "the cursor is not on a record", error);
        RawKey::decode_exact(self.rows.tail()).map_err(not_a_key)
    }

    /// The bytes of the primary key; of no meaning when not on a record.
    #[must_use]
    pub fn primary_key_bytes(&self) -> &[u8] {
        self.rows.tail()
    }

    /// The LevelDB key of the record's row.
    #[must_use]
    pub fn row_key(&self) -> &[u8] {
        self.rows.key()
    }

    pub(crate) fn row_value(&self) -> Result<&[u8]> {
        self.rows.value()
    }

    /// The record's version: it grows with every put into the object store. `None` when not on a record.
    #[must_use]
    pub fn version(&self) -> Option<RecordVersion> {
        self.version.filter(|_| self.valid)
    }

    /// The value's bytes, without the version: an envelope for [`larder_codec::value`].
    ///
    /// # Errors
    /// If the value lies in a log, is large and cannot be read from there.
    pub fn value(&self) -> Result<&[u8]> {
        let value = self.rows.value()?;
        Ok(value.get(self.value_start..).unwrap_or_default())
    }

    /// The current value, uncopied, where the engine has it in one piece of memory. `None` if it cannot be had so, as
    /// short values that were written lately and what a transaction has written itself, and when not on a record.
    #[must_use]
    pub fn pinned_value(&self) -> Option<PinnedBytes> {
        let row = self.rows.pinned_value().filter(|_| self.valid)?;
        Some(row.part(self.value_start, usize::MAX))
    }
}
