//! The newest whole entry of each key, and whether something newer may be lost.
//!
//! Two walks side by side: over all entries, which withholds nothing, and over the rows that a careful reader would be shown.
//! A row that only the first one has is in doubt. Entries of unknown files count only where something of the store is lost.

use super::unknown_files::UnknownFiles;
use super::{ROWS_IN_DOUBT_LISTED_MAX, Repaired, RowInDoubt, RowsInDoubt};
use crate::doubt::Doubt;
use crate::entries::Entries;
use crate::error::Result;
use crate::internal_key::EntryKind;
use crate::iter::Iter;
use crate::read_state::ReadState;
use crate::snapshot::Snapshot;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Where a walk has come to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// A row.
    Row {
        /// Something newer may be lost.
        in_doubt: bool,
    },
    /// A key of which something is lost. An older row of it may follow.
    Lost,
}

/// Stands before the first row at the beginning.
#[derive(Debug)]
pub(super) struct RowWalk<'a> {
    state: Arc<ReadState>,
    unknown: &'a UnknownFiles,
    entries: Entries,
    sure: Iter,
    doubt: Doubt,
    started: bool,
    /// The user key of the entry before, and what is known of it.
    key: Option<Vec<u8>>,
    is_decided: bool,
    is_lost: bool,
    /// The greatest of all entries passed, also of those that became no row.
    greatest_sequence: u64,
    tables_up_to: u64,
}

impl<'a> RowWalk<'a> {
    pub(super) fn new(state: &Arc<ReadState>, sequence: u64, unknown: &'a UnknownFiles) -> Self {
        let snapshot = Snapshot::new(state.clone(), sequence);
        let mut sources = state.sources();
        sources.extend(unknown.sources());
        RowWalk {
            entries: Entries::of(state.core.order.clone(), sources, snapshot.sequence()),
            sure: snapshot.iter(),
            state: state.clone(),
            unknown,
            doubt: Doubt::default(),
            started: false,
            key: None,
            is_decided: false,
            is_lost: false,
            greatest_sequence: 0,
            tables_up_to: 0,
        }
    }

    /// To the next row or lost key. `None` at the end.
    pub(super) fn advance(&mut self) -> Result<Option<Step>> {
        if !self.started {
            self.started = true;
            self.sure.seek_to_first()?;
        }
        while self.entries.advance()? {
            self.note_table();
            self.enter_key();
            if self.is_decided {
                continue;
            }
            let is_unknown_file = self.unknown.has(self.entries.file_name());
            if !is_unknown_file {
                let sequence = self.entries.sequence();
                self.greatest_sequence = self.greatest_sequence.max(sequence);
            }
            if self.entries.kind() == EntryKind::Lost {
                // Decides nothing: it says only that what follows is in doubt.
                let is_first = !std::mem::replace(&mut self.is_lost, true);
                match is_first && !is_unknown_file {
                    true => return Ok(Some(Step::Lost)),
                    false => continue,
                }
            }
            let sure = self.sure_sequence()?;
            if is_unknown_file && (sure.is_some() || !self.may_be_lost()) {
                continue;
            }
            self.is_decided = true;
            if self.entries.kind() == EntryKind::Value {
                let in_doubt = sure != Some(self.entries.sequence());
                return Ok(Some(Step::Row { in_doubt }));
            }
        }
        Ok(None)
    }

    fn note_table(&mut self) {
        let sequence = self.entries.sequence();
        let name = self.entries.file_name();
        if sequence > self.tables_up_to && !name.ends_with(".log") && !self.unknown.has(name) {
            self.tables_up_to = sequence;
        }
    }

    /// The greatest sequence number of the store's own entries that were passed.
    pub(super) fn greatest_sequence(&self) -> u64 {
        self.greatest_sequence
    }

    /// The greatest sequence number in tables of the store, of the entries passed.
    pub(super) fn tables_up_to(&self) -> u64 {
        self.tables_up_to
    }

    fn enter_key(&mut self) {
        let user = self.state.core.order.user();
        let key = self.entries.key();
        let is_same = |before: &Vec<u8>| user.compare(before, key) == Ordering::Equal;
        if !self.key.as_ref().is_some_and(is_same) {
            let saved = self.key.get_or_insert_default();
            saved.clear();
            saved.extend_from_slice(key);
            (self.is_decided, self.is_lost) = (false, false);
        }
    }

    /// The sequence number of the row that is shown of this key, if one is.
    fn sure_sequence(&mut self) -> Result<Option<u64>> {
        let key = self.entries.key();
        let user = self.state.core.order.user();
        while self.sure.valid() && user.compare(self.sure.key(), key) == Ordering::Less {
            self.sure.next()?;
        }
        let is_there = self.sure.valid() && user.compare(self.sure.key(), key) == Ordering::Equal;
        Ok(is_there.then(|| self.sure.sequence()))
    }

    /// Whether an entry of this key may have been in a damaged part of the store.
    fn may_be_lost(&mut self) -> bool {
        let (core, version) = (&self.state.core, &self.state.version);
        self.is_lost || self.doubt.covers(core, version, self.entries.key())
    }

    pub(super) fn key(&self) -> &[u8] {
        self.entries.key()
    }

    pub(super) fn value(&self) -> Result<&[u8]> {
        self.entries.value()
    }

    pub(super) fn sequence(&self) -> u64 {
        self.entries.sequence()
    }

    pub(super) fn file_name(&self) -> &str {
        self.entries.file_name()
    }
}

/// The rows that come back. Those in doubt are listed on the way.
pub(super) struct KeptRows<'a> {
    walk: RowWalk<'a>,
    rows_in_doubt: RowsInDoubt,
    repaired: &'a mut Repaired,
    /// Files with rows that do not come back.
    left_out: BTreeSet<String>,
}

impl<'a> KeptRows<'a> {
    pub(super) fn new(
        walk: RowWalk<'a>,
        rows_in_doubt: RowsInDoubt,
        repaired: &'a mut Repaired,
    ) -> KeptRows<'a> {
        KeptRows {
            walk,
            rows_in_doubt,
            repaired,
            left_out: BTreeSet::new(),
        }
    }

    /// To the next row: whether there is one.
    pub(super) fn advance(&mut self) -> Result<bool> {
        while let Some(step) = self.walk.advance()? {
            let Step::Row {
                in_doubt: is_in_doubt,
            } = step
            else {
                continue;
            };
            if is_in_doubt {
                self.list();
            }
            if is_in_doubt && self.rows_in_doubt == RowsInDoubt::LeaveOut {
                self.left_out.insert(self.walk.file_name().to_owned());
                continue;
            }
            self.repaired.rows += 1;
            return Ok(true);
        }
        Ok(false)
    }

    fn list(&mut self) {
        self.repaired.in_doubt += 1;
        if self.repaired.rows_in_doubt.len() < ROWS_IN_DOUBT_LISTED_MAX {
            self.repaired.rows_in_doubt.push(RowInDoubt {
                key: self.walk.key().to_vec(),
                sequence: self.walk.sequence(),
                file: self.walk.file_name().to_owned(),
            });
        }
    }

    pub(super) fn key(&self) -> &[u8] {
        self.walk.key()
    }

    pub(super) fn value(&self) -> Result<&[u8]> {
        self.walk.value()
    }

    pub(super) fn sequence(&self) -> u64 {
        self.walk.sequence()
    }

    /// The greatest sequence number of all entries passed, and the files with rows that were left out.
    pub(super) fn finish(self) -> (u64, BTreeSet<String>) {
        (self.walk.greatest_sequence, self.left_out)
    }
}
