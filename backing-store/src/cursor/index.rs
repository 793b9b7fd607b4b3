//! A cursor over the live entries of an index.
//!
//! Overwritten and deleted records leave their index rows behind. A row is live if the data row of its primary key has
//! the row's version; the others are stale and skipped. A transaction that writes removes those it meets
//! ([`crate::WriteTransaction::go`]). Where rows are known to be live (decision 41), a cursor without values asks no records' rows.

mod visit;

use std::cmp::Ordering;

use larder_codec::compare::compare_user_keys;
use larder_codec::row_key::RecordTable;
use larder_codec::{DatabaseId, IndexId, KeyPrefix, ObjectStoreId, RawKey, RecordVersion};

use super::index_row::{IndexRow, raw_key, read_data};
use super::live_versions::LiveVersions;
use super::page::{Page, PageLimits};
use super::range_rows::{RangeRows, Row};
use super::rows_ahead::RowsAhead;
use super::{CursorDirection, Movement};
use crate::error::{Error, ErrorKind, Result};
use crate::key_range::KeyRange;
use crate::reads::{Liveness, Reads, get_row, record_row_prefix};
use crate::view::View;

/// Visits an index's live entries.
#[derive(Debug)]
pub struct IndexCursor {
    rows: RangeRows,
    direction: CursorDirection,
    view: View,
    /// Whether the exists rows are asked which rows are live, and only where that is not known: then there are no values.
    keys_only: bool,
    liveness: Liveness,
    /// For a long walk over rows of which this is not known.
    live_versions: LiveVersions,
    data_prefix: Vec<u8>,
    /// The data row's key: the prefix, and the primary key as the index row's value has it.
    data_key: Vec<u8>,
    /// The data row's value.
    data: Vec<u8>,
    place: Option<Place>,
    /// For the unique directions: the index key that was visited last, and the one being looked for the first entry of.
    last_key: Vec<u8>,
    stage: Stage,
    /// The lowest row that a descending unique walk has come to: see [`IndexCursor::check_descent`].
    lowest: Vec<u8>,
    stale_rows: u64,
    /// Rows that were passed because many entries are wanted.
    ahead: Option<Box<RowsAhead>>,
}

/// For fewer entries rows are not passed.
const AHEAD_MIN: usize = 4;
/// And no more at once without values.
const KEYS_AHEAD_MAX: usize = 512;

/// Where things lie in the live row and its data row.
#[derive(Debug, Clone, Copy)]
struct Place {
    index_key_len: usize,
    /// Where the primary key begins in the row's value, if the record's row was not asked.
    primary_start: Option<usize>,
    value_start: usize,
    version: RecordVersion,
}

/// How far a descending unique move has come; it goes on there after a row that could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Descends to a live row with another key than the last.
    Descending,
    /// Such a row was met, and its key is `last_key`: goes on through all with that key, because what is stale among
    /// them is to be removed.
    Clearing,
    /// Ascends from the first row of that key to the first live one.
    Ascending,
}

/// What is done with stale rows: called with the key of each.
pub(crate) type OnStale<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

impl IndexCursor {
    pub(crate) fn new(
        reads: &Reads,
        database_id: DatabaseId,
        object_store_id: ObjectStoreId,
        index_id: IndexId,
        range: &KeyRange<'_>,
        direction: CursorDirection,
        keys_only: bool,
    ) -> Self {
        let mut prefix = Vec::new();
        KeyPrefix::of_index(database_id, object_store_id, index_id).encode(&mut prefix);
        let table = match keys_only {
            true => RecordTable::Exists,
            false => RecordTable::Data,
        };
        Self {
            rows: RangeRows::new(reads.view(), prefix, range, direction.is_forward()),
            direction,
            view: reads.view().clone(),
            keys_only,
            liveness: Liveness::new(reads, (database_id, object_store_id, index_id)),
            #[cfg(test)]
            live_versions: match reads.is_naive() {
                true => LiveVersions::given_up(),
                false => LiveVersions::new(),
            },
            #[cfg(not(test))]
            live_versions: LiveVersions::new(),
            data_prefix: record_row_prefix(database_id, object_store_id, table),
            data_key: Vec::new(),
            data: Vec::new(),
            place: None,
            last_key: Vec::new(),
            stage: Stage::Descending,
            lowest: Vec::new(),
            stale_rows: 0,
            ahead: None,
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
        self.go(Movement::Next)
    }

    /// Moves to the next entry, like [`IndexCursor::next`], when the caller will read `count` entries from here on. Of
    /// what is committed, the records of several entries are then looked up at once, which takes less time. Only in the
    /// directions that are not unique.
    ///
    /// # Errors
    /// As [`IndexCursor::next`].
    pub fn next_of(&mut self, count: usize) -> Result<bool> {
        self.pass_rows(count);
        self.next()
    }

    /// Moves; `false` at the end.
    ///
    /// # Errors
    /// As [`IndexCursor::next`]; [`ErrorKind::Usage`] for a target that is not behind the cursor, for a number of 0, and
    /// for [`Movement::ToEntry`] in a unique direction.
    pub fn go(&mut self, movement: Movement<'_>) -> Result<bool> {
        self.go_with(movement, None)
    }

    /// Moves on and puts every entry into `page`, which is emptied first, until a limit is reached; `false` if the end
    /// was.
    ///
    /// # Errors
    /// As [`IndexCursor::next`]; the page holds the entries before the one that cannot be read.
    pub fn fill(&mut self, page: &mut Page, limits: PageLimits) -> Result<bool> {
        self.fill_with(page, limits, None)
    }

    pub(crate) fn fill_with(
        &mut self,
        page: &mut Page,
        limits: PageLimits,
        mut on_stale: Option<OnStale<'_>>,
    ) -> Result<bool> {
        page.clear();
        while page.has_room(limits) {
            self.pass_rows(limits.entries_max - page.len());
            if !self.go_with(Movement::Next, reborrow(&mut on_stale))? {
                return Ok(false);
            }
            let (index_key, primary_key) = self.key_bytes()?;
            page.push(
                0,
                Some(index_key),
                primary_key,
                self.version(),
                self.value(),
            );
        }
        Ok(true)
    }

    /// Moves, and passes stale rows to `on_stale`; all of them on the way, if there is such a function.
    pub(crate) fn go_with(
        &mut self,
        movement: Movement<'_>,
        mut on_stale: Option<OnStale<'_>>,
    ) -> Result<bool> {
        let count = movement.count()?;
        let mut target = match movement {
            Movement::To(key) => Some((key, None)),
            Movement::ToEntry(key, primary_key) => Some((key, Some(primary_key))),
            Movement::Next | Movement::Advance(_) => None,
        };
        if let Some((key, primary_key)) = target {
            self.check_target(key, primary_key)?;
        }
        for count in (1..=count).rev() {
            if count > 1 && target.is_none() {
                self.pass_rows(usize::try_from(count).unwrap_or(usize::MAX));
            }
            let on_stale = reborrow(&mut on_stale);
            let found = match self.direction {
                CursorDirection::Next | CursorDirection::Prev | CursorDirection::NextUnique => {
                    self.go_plain(target.take(), on_stale)?
                }
                CursorDirection::PrevUnique => self.go_prev_unique(target.take(), on_stale)?,
            };
            if !found {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn check_target(&self, key: RawKey<'_>, primary_key: Option<RawKey<'_>>) -> Result<()> {
        if primary_key.is_some() && self.direction.is_unique() {
            let what = "a cursor of a unique direction cannot continue to a primary key";
            return Err(Error::new(ErrorKind::Usage, what));
        }
        if self.place.is_none() {
            return Ok(());
        }
        let order = |a: RawKey<'_>, b: RawKey<'_>| {
            let order = self.rows.order();
            order.compare_user_keys(a.as_bytes(), b.as_bytes())
        };
        let mut place_to_target = order(self.index_key()?, key);
        if let Some(primary_key) = primary_key {
            place_to_target = place_to_target.then(order(self.primary_key()?, primary_key));
        }
        self.direction.check_target(place_to_target)
    }

    fn go_plain(
        &mut self,
        mut target: Option<(RawKey<'_>, Option<RawKey<'_>>)>,
        mut on_stale: Option<OnStale<'_>>,
    ) -> Result<bool> {
        let is_unique = self.direction.is_unique();
        if is_unique {
            self.keep_key();
        }
        self.place = None;
        if let Some(ahead) = &mut self.ahead {
            if target.is_some() {
                if ahead.is_on_row() || !ahead.is_empty() {
                    self.rows.go_back();
                }
                ahead.clear();
            } else if self.next_passed(reborrow(&mut on_stale))? {
                return Ok(true);
            }
        }
        loop {
            let found = match target.take() {
                Some((key, primary_key)) => self.rows.step_to(key, primary_key)?,
                None => self.rows.step()?,
            };
            if !found {
                return Ok(false);
            }
            let is_repeated = is_unique && self.has_last_key();
            // A cursor without `on_stale` need not find out whether a row that it skips is live.
            if is_repeated && on_stale.is_none() {
                continue;
            }
            if let Some(place) = self.read_row(reborrow(&mut on_stale))?
                && !is_repeated
            {
                self.place = Some(place);
                return Ok(true);
            }
        }
    }

    /// Moves to the first live row of the next lower key that has one.
    fn go_prev_unique(
        &mut self,
        mut target: Option<(RawKey<'_>, Option<RawKey<'_>>)>,
        mut on_stale: Option<OnStale<'_>>,
    ) -> Result<bool> {
        if self.stage == Stage::Descending {
            self.keep_key();
        }
        self.place = None;
        if target.is_some() {
            self.lowest.clear();
        }
        loop {
            match self.stage {
                Stage::Descending => {
                    let found = match target.take() {
                        Some((key, _)) => self.rows.step_to(key, None)?,
                        None => self.rows.step()?,
                    };
                    if !found {
                        return Ok(false);
                    }
                    let is_repeated = self.has_last_key();
                    if !is_repeated {
                        self.check_descent()?;
                    } else if on_stale.is_none() {
                        continue;
                    }
                    if self.read_row(reborrow(&mut on_stale))?.is_some() && !is_repeated {
                        self.take_key();
                        self.stage = Stage::Clearing;
                    }
                }
                Stage::Clearing => {
                    if on_stale.is_some() && self.rows.step()? && self.has_last_key() {
                        self.read_row(reborrow(&mut on_stale))?;
                    } else {
                        self.rows.seek_first_of(&self.last_key)?;
                        self.stage = Stage::Ascending;
                        if self.ascend(reborrow(&mut on_stale))? {
                            return Ok(true);
                        }
                    }
                }
                Stage::Ascending => {
                    self.rows.step_up()?;
                    if self.ascend(reborrow(&mut on_stale))? {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// The walk descends from where each search for a key's first row has led to. Where keys are not in their order, or blocks
    /// lie about theirs, a search passes over rows and leads back up: then the walk would never end, or take the same way once
    /// for each key. So a row that is not below all that were come to before ends it, with an error.
    fn check_descent(&mut self) -> Result<()> {
        if !self.lowest.is_empty() && !self.rows.is_below(&self.lowest) {
            self.rows.end();
            let what = "row is not where a search for it leads to: what is left of the index is not read in this direction";
            return Err(Error::inconsistent(&self.lowest, what));
        }
        self.lowest.clear();
        self.lowest.extend_from_slice(self.rows.key());
        Ok(())
    }

    /// Looks at a row on the way up.
    fn ascend(&mut self, on_stale: Option<OnStale<'_>>) -> Result<bool> {
        if self.rows.is_on_row() && self.has_last_key() {
            self.place = self.read_row(on_stale)?;
            if self.place.is_some() {
                self.stage = Stage::Descending;
                return Ok(true);
            }
        } else {
            // The live row that was met cannot be read any more: on to the next key.
            self.rows.seek_first_of(&self.last_key)?;
            self.stage = Stage::Descending;
        }
        Ok(false)
    }

    /// Remembers the key that the cursor leaves.
    fn keep_key(&mut self) {
        if self.place.is_some() {
            self.take_key();
        }
    }

    fn take_key(&mut self) {
        self.last_key.clear();
        if let Ok((key, _)) = RawKey::decode(self.rows.tail()) {
            self.last_key.extend_from_slice(key.as_bytes());
        }
    }

    fn has_last_key(&self) -> bool {
        !self.last_key.is_empty()
            && compare_user_keys(self.rows.tail(), &self.last_key) == Ordering::Equal
    }

    /// So many entries are wanted: if that is many and none of the rows that were passed is left, passes the next ones.
    #[inline]
    fn pass_rows(&mut self, count: usize) {
        let is_left = self.ahead.as_ref().is_some_and(|ahead| !ahead.is_empty());
        if count < AHEAD_MIN || is_left || self.direction.is_unique() {
            return;
        }
        let asks_few = self.liveness.is_mostly_certain() || self.live_versions.is_complete();
        if self.keys_only && asks_few {
            return;
        }
        if self.view.is_committed() {
            let ahead = self.ahead.get_or_insert_default();
            let rows_max = match self.keys_only {
                // Soon the versions of all records are read ([`LiveVersions`]).
                true => KEYS_AHEAD_MAX,
                false => usize::MAX,
            };
            let (view, rows, prefix) = (&self.view, &mut self.rows, &self.data_prefix);
            let passed = match !self.keys_only && rows.bring_records() {
                true => ahead.pass_with_records(rows, count, prefix),
                false => ahead.pass(view, rows, (count, rows_max), prefix),
            };
            self.note_asked(passed);
        }
    }

    /// So many rows were asked about.
    #[inline]
    fn note_asked(&mut self, count: usize) {
        if self.keys_only && self.view.is_committed() {
            let (view, prefix) = (&self.view, &self.data_prefix);
            self.live_versions.note_asked(count as u64, view, prefix);
        }
    }

    /// To the next live one of the rows that were passed; `false` if none is left.
    fn next_passed(&mut self, mut on_stale: Option<OnStale<'_>>) -> Result<bool> {
        let Some(ahead) = &mut self.ahead else {
            return Ok(false);
        };
        while ahead.next()? {
            let (Some((row_key, data_key)), Some((index_key_len, version))) =
                (ahead.keys(), ahead.entry())
            else {
                break;
            };
            let data = match ahead.record() {
                Some(data) => data,
                None => {
                    let primary_key = raw_key(row_key, &data_key[self.data_prefix.len()..])?;
                    let found = get_row(&self.view, data_key, primary_key, &mut self.data)?;
                    found.then_some(&*self.data)
                }
            };
            if let Some(data) = data {
                let (found_version, value_start) = read_data(data, data_key, self.keys_only)?;
                if found_version == version {
                    self.place = Some(Place {
                        index_key_len,
                        primary_start: None,
                        value_start,
                        version,
                    });
                    return Ok(true);
                }
            }
            self.stale_rows += 1;
            if let Some(on_stale) = &mut on_stale {
                on_stale(row_key)?;
            }
        }
        Ok(false)
    }

    /// Reads the row; `None` if it is stale.
    fn read_row(&mut self, on_stale: Option<OnStale<'_>>) -> Result<Option<Place>> {
        let (key, value) = (self.rows.key(), self.rows.value()?);
        let row = IndexRow::read(Row {
            key,
            tail: self.rows.tail_of(key),
            value,
        })?;
        let is_live = match self.keys_only {
            true if self.liveness.is_certain(row.version) => Some(true),
            true => self.live_versions.is_live(row.version, row.primary_key),
            false => None,
        };
        if is_live == Some(true) {
            return Ok(Some(Place {
                index_key_len: row.index_key_len,
                primary_start: Some(value.len() - row.primary_key.as_bytes().len()),
                value_start: usize::MAX,
                version: row.version,
            }));
        }
        self.data_key.clear();
        self.data_key.extend_from_slice(&self.data_prefix);
        row.primary_key.encode(&mut self.data_key);
        let asks = is_live.is_none();
        if asks && self.keys_only && self.view.is_committed() {
            let (view, prefix) = (&self.view, &self.data_prefix);
            self.live_versions.note_asked(1, view, prefix);
        }
        if asks && get_row(&self.view, &self.data_key, row.primary_key, &mut self.data)? {
            let (version, value_start) = read_data(&self.data, &self.data_key, self.keys_only)?;
            if version == row.version {
                return Ok(Some(Place {
                    index_key_len: row.index_key_len,
                    primary_start: None,
                    value_start,
                    version,
                }));
            }
        }
        self.stale_rows += 1;
        if let Some(on_stale) = on_stale {
            on_stale(key)?;
        }
        Ok(None)
    }

    /// The keys of the row and of its record's row.
    #[inline]
    fn row_keys(&self) -> (&[u8], &[u8]) {
        let passed = self.ahead.as_ref().and_then(|ahead| ahead.keys());
        passed.unwrap_or_else(|| (self.rows.key(), &self.data_key))
    }

    /// The index key of the entry.
    ///
    /// # Errors
    /// Only when the cursor is not on an entry.
    pub fn index_key(&self) -> Result<RawKey<'_>> {
        raw_key(self.row_keys().0, self.key_bytes()?.0)
    }

    /// The primary key of the entry's record.
    ///
    /// # Errors
    /// Only when the cursor is not on an entry.
    pub fn primary_key(&self) -> Result<RawKey<'_>> {
        raw_key(self.row_keys().0, self.key_bytes()?.1)
    }

    /// The bytes of index key and primary key.
    ///
    /// # Errors
    /// Only when the cursor is not on an entry.
    pub fn key_bytes(&self) -> Result<(&[u8], &[u8])> {
        let Some(place) = self.place else {
            let what = "the cursor is not on an entry";
            return Err(Error::new(ErrorKind::Usage, what));
        };
        let (row_key, data_key) = self.row_keys();
        let index_key = self.rows.tail_of(row_key).get(..place.index_key_len);
        let primary_key = match place.primary_start {
            Some(start) => self.rows.value()?.get(start..),
            None => data_key.get(self.data_prefix.len()..),
        };
        Ok((
            index_key.unwrap_or_default(),
            primary_key.unwrap_or_default(),
        ))
    }

    /// The version of the entry's record; `None` when not on an entry.
    #[must_use]
    pub fn version(&self) -> Option<RecordVersion> {
        self.place.map(|place| place.version)
    }

    /// The record's value without its version; empty when not on an entry.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        let passed = self.ahead.as_ref().and_then(|ahead| ahead.record());
        let data = passed.flatten().unwrap_or(&self.data);
        let start = self.place.map(|place| place.value_start);
        start
            .and_then(|start| data.get(start..))
            .unwrap_or_default()
    }

    /// How many stale rows the cursor has met. Chromium cleans up in a session after 1,000 of one cursor, if it is
    /// configured to.
    #[must_use]
    pub const fn stale_rows(&self) -> u64 {
        self.stale_rows
    }
}

/// Lends the callee for one call.
fn reborrow<'a>(on_stale: &'a mut Option<OnStale<'_>>) -> Option<OnStale<'a>> {
    match on_stale {
        Some(on_stale) => Some(&mut **on_stale),
        None => None,
    }
}
