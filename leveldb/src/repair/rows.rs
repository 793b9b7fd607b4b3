//! The newest whole entry of each key, and whether something newer may be lost.
//!
//! Two walks side by side: over all entries, which withholds nothing, and over the rows that a careful reader would be shown. A row
//! that only the first one has is in doubt.

use super::{ROWS_IN_DOUBT_LISTED_MAX, Repaired, RowInDoubt, RowsInDoubt};
use crate::entries::Entries;
use crate::error::Result;
use crate::internal_key::{EntryKind, InternalOrder};
use crate::iter::Iter;
use crate::snapshot::Snapshot;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Stands before the first row at the beginning.
#[derive(Debug)]
pub(super) struct RowWalk {
    order: InternalOrder,
    entries: Entries,
    sure: Iter,
    started: bool,
    /// The user key that was decided last.
    decided: Option<Vec<u8>>,
    /// Of all entries passed, also those that became no row.
    greatest_sequence: u64,
}

impl RowWalk {
    pub(super) fn new(snapshot: &Snapshot, order: InternalOrder) -> RowWalk {
        RowWalk {
            order,
            entries: snapshot.entries(),
            sure: snapshot.iter(),
            started: false,
            decided: None,
            greatest_sequence: 0,
        }
    }

    /// To the next row: whether it is in doubt. `None` at the end.
    fn advance(&mut self) -> Result<Option<bool>> {
        if !self.started {
            self.started = true;
            self.sure.seek_to_first()?;
        }
        while self.entries.advance()? {
            self.greatest_sequence = self.greatest_sequence.max(self.entries.sequence());
            let is_older = |decided: &Vec<u8>| {
                self.order.user().compare(decided, self.entries.key()) == Ordering::Equal
            };
            // What is lost decides nothing: it says only that what follows is in doubt.
            if self.entries.kind() == EntryKind::Lost || self.decided.as_ref().is_some_and(is_older)
            {
                continue;
            }
            let decided = self.decided.get_or_insert_default();
            decided.clear();
            decided.extend_from_slice(self.entries.key());
            if self.entries.kind() == EntryKind::Value {
                return self.is_in_doubt().map(Some);
            }
        }
        Ok(None)
    }

    fn is_in_doubt(&mut self) -> Result<bool> {
        let key = self.entries.key();
        let user = self.order.user();
        while self.sure.valid() && user.compare(self.sure.key(), key) == Ordering::Less {
            self.sure.next()?;
        }
        let is_sure = self.sure.valid()
            && self.sure.sequence() == self.entries.sequence()
            && user.compare(self.sure.key(), key) == Ordering::Equal;
        Ok(!is_sure)
    }

    fn key(&self) -> &[u8] {
        self.entries.key()
    }

    fn value(&self) -> Result<&[u8]> {
        self.entries.value()
    }

    fn sequence(&self) -> u64 {
        self.entries.sequence()
    }

    fn file_name(&self) -> &str {
        self.entries.file_name()
    }
}

/// The rows that come back. Those in doubt are listed on the way.
pub(super) struct KeptRows<'a> {
    walk: RowWalk,
    rows_in_doubt: RowsInDoubt,
    repaired: &'a mut Repaired,
    /// Files with rows that do not come back.
    left_out: BTreeSet<String>,
}

impl<'a> KeptRows<'a> {
    pub(super) fn new(
        walk: RowWalk,
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
        while let Some(is_in_doubt) = self.walk.advance()? {
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
