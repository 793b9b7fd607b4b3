//! The rows under `r` as a catalogue.

use super::{FoundationDb, errors, next, rows_of};
use crate::catalogue::{Catalogue, Commit, Outcome, Page, Row, Snapshot, Write};
use crate::clock::{Clock, SystemClock};
use crate::error::{Error, ErrorKind, Result};
use foundationdb::{FdbError, Transaction};
use std::ops::Range;
use std::time::Duration;

/// How often the conditions of a commit are read that conflicts with others each time. It is not made then, which the caller may try again.
const ATTEMPTS_MAX: usize = 5;

/// What an attempt to commit came to.
enum Attempt {
    Done(Outcome),
    /// Another commit has written what this one has read. This one is not made.
    Conflict,
}

impl FoundationDb {
    /// Values of rows, all of one version. They are asked for at once. The transaction is made only if they are still so then.
    fn values<'a>(
        &self,
        transaction: &Transaction,
        keys: impl Iterator<Item = &'a Vec<u8>>,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let asked = keys.map(|key| transaction.get(&self.shared.room.row(key), false));
        let asked: Vec<_> = asked.collect();
        let values = asked.into_iter().map(|value| {
            let value = self.wait(value, errors::of)?;
            Ok(value.map(|value| value.to_vec()))
        });
        values.collect()
    }

    fn write(&self, transaction: &Transaction, write: &Write) {
        let room = &self.shared.room;
        match write {
            Write::Put(row) => transaction.set(&room.row(&row.key), &row.value),
            Write::Delete(key) => transaction.clear(&room.row(key)),
            Write::DeleteRange(range) if range.start < range.end => {
                let keys = room.rows(range);
                transaction.clear_range(&keys.start, &keys.end);
            }
            Write::DeleteRange(_) => {}
        }
    }

    fn attempt(&self, commit: &Commit, time_max: Duration) -> Result<Attempt> {
        let transaction = self.begin_within(time_max)?;
        let conditions = commit.conditions.iter();
        let values = self.values(&transaction, conditions.map(|condition| &condition.key))?;
        let mut pairs = commit.conditions.iter().zip(&values);
        if !pairs.all(|(condition, value)| condition.expected == *value) {
            return Ok(Attempt::Done(Outcome::Refused));
        }
        for write in &commit.writes {
            self.write(&transaction, write);
        }
        let mut error = None;
        let of_commit = |why: FdbError| {
            error = Some(why);
            errors::of_commit(why)
        };
        match self.wait(transaction.commit(), of_commit) {
            Ok(_) => Ok(Attempt::Done(Outcome::Committed)),
            Err(_) if error.is_some_and(errors::is_conflict) => Ok(Attempt::Conflict),
            Err(error) => Err(error),
        }
    }
}

impl Catalogue for FoundationDb {
    fn get(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        let transaction = self.begin()?;
        self.values(&transaction, keys.iter())
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>> {
        Ok(Box::new(FoundationDbSnapshot {
            engine: self,
            version: None,
        }))
    }

    /// FoundationDB has no leases: a row stays until it is deleted.
    fn commit(&self, commit: &Commit) -> Result<Outcome> {
        let clock = SystemClock::new();
        let (began, time_max) = (clock.monotonic(), self.shared.time_max);
        // All of them within the time of one.
        for _ in 0..ATTEMPTS_MAX {
            let passed = clock.monotonic().saturating_sub(began);
            let Some(left) = time_max.checked_sub(passed) else {
                break;
            };
            if let Attempt::Done(outcome) = self.attempt(commit, left)? {
                return Ok(outcome);
            }
        }
        let what = format!("{self:?}: other commits have come before this one each time");
        Err(Error::new(ErrorKind::Unavailable, what))
    }
}

/// Pages of one version, which FoundationDB keeps for 5 seconds. Each is a transaction of its own, so that each has its own time.
#[derive(Debug)]
struct FoundationDbSnapshot<'a> {
    engine: &'a FoundationDb,
    /// `None`: the first page is still to be read.
    version: Option<i64>,
}

impl Snapshot for FoundationDbSnapshot<'_> {
    fn page(&mut self, range: &Range<Vec<u8>>, rows_max: usize) -> Result<Page> {
        if range.start >= range.end || rows_max == 0 {
            return Ok(Page::default());
        }
        let (engine, room) = (self.engine, &self.engine.shared.room);
        let transaction = engine.begin()?;
        if let Some(version) = self.version {
            transaction.set_read_version(version);
        }
        // Both at once.
        let version = transaction.get_read_version();
        let rows = transaction.get_range(&rows_of(room.rows(range), rows_max), 1, true);
        let version = engine.wait(version, errors::of_page)?;
        let found = engine.wait(rows, errors::of_page)?;
        let rows = found.iter().map(|row| {
            Ok(Row {
                key: room.of_row(row.key())?.to_vec(),
                value: row.value().to_vec(),
            })
        });
        let rows = rows.collect::<Result<Vec<Row>>>()?;
        let last = found.last().map(|row| row.key());
        let has_more = next(last, found.more())?.is_some();
        self.version = Some(version);
        Ok(Page { rows, has_more })
    }
}
