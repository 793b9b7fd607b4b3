//! Small ordered rows with conditional atomic commits: names, locks and leases lie in them.
//!
//! # Contract
//! Checked by [`conformance::catalogue`](crate::conformance::catalogue).
//!
//! Keys are ordered as bytes. A commit is atomic and durable when it is acknowledged, and every later read sees it, from whichever
//! process (linearizable). All that one [`Catalogue::get`] or one [`Snapshot`] returns is of one revision: of some moment during the call, or
//! for a snapshot during its first read.
//!
//! A commit is made if every condition holds at that one moment, and otherwise changes nothing. Its keys are written at most once: a
//! range that is deleted has none of the keys that are put. It has at most [`WRITES_MAX`] writes and [`CONDITIONS_MAX`] conditions, and
//! [`COMMIT_LEN_MAX`] bytes of keys and values.
//!
//! # Outcomes
//! [`Outcome::Refused`] says that a condition did not hold. [`Unavailable`](crate::ErrorKind::Unavailable) says that nothing was changed and
//! nothing will be. [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) is everything else: the commit is made, or is not, *or is made later*,
//! when its conditions hold then. An implementation never makes one commit twice, and does not
//! send again by itself what may be made.

use crate::error::Result;
use std::fmt::Debug;
use std::ops::Range;
use std::time::Duration;

/// How many bytes a key may have.
pub const KEY_LEN_MAX: usize = 2500;
/// How many bytes a value may have.
pub const VALUE_LEN_MAX: usize = 80_000;
/// How many bytes the keys and values of a commit may have together.
pub const COMMIT_LEN_MAX: usize = 400_000;
/// How many writes a commit may have.
pub const WRITES_MAX: usize = 60;
/// How many conditions a commit may have.
pub const CONDITIONS_MAX: usize = 8;
/// How many rows of a page may be asked for.
pub const PAGE_ROWS_MAX: usize = 1000;

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The key.
    pub key: Vec<u8>,
    /// The value.
    pub value: Vec<u8>,
}

/// Rows of a range from its start, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// As many as were asked for, or fewer.
    pub rows: Vec<Row>,
    /// Whether the range may have more rows. A page that is not the last has one row at least.
    pub has_more: bool,
}

/// What must be so for a commit to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The row.
    pub key: Vec<u8>,
    /// Its value; `None`: there is no such row.
    pub expected: Option<Vec<u8>>,
}

/// A change of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Sets a row.
    Put(Row),
    /// Deletes a row, if it is there.
    Delete(Vec<u8>),
    /// Deletes the rows of a range.
    DeleteRange(Range<Vec<u8>>),
}

/// Conditions and changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// All of these must hold.
    pub conditions: Vec<Condition>,
    /// All of these are made.
    pub writes: Vec<Write>,
    /// One of the rows that are put may go by itself after a time.
    pub lasting: Option<Lasting>,
}

/// How long a row is needed if it is not put again. An engine that has leases deletes it then, or later; one that has none keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasting {
    /// The row, which the commit puts.
    pub key: Vec<u8>,
    /// The least time that it is there.
    pub time: Duration,
}

impl Commit {
    /// Adds a condition.
    pub fn require(&mut self, key: Vec<u8>, expected: Option<Vec<u8>>) {
        self.conditions.push(Condition { key, expected });
    }

    /// Adds a row to set.
    pub fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.writes.push(Write::Put(Row { key, value }));
    }

    /// Adds a row to delete.
    pub fn delete(&mut self, key: Vec<u8>) {
        self.writes.push(Write::Delete(key));
    }

    /// Whether every engine takes it.
    pub(crate) fn fits(&self) -> bool {
        self.writes.len() <= WRITES_MAX
            && self.conditions.len() <= CONDITIONS_MAX
            && self.len_bytes() <= COMMIT_LEN_MAX
    }

    /// Bytes of the keys and values.
    pub fn len_bytes(&self) -> usize {
        let conditions = self.conditions.iter();
        let conditions =
            conditions.map(|one| one.key.len() + one.expected.as_ref().map_or(0, Vec::len));
        let writes = self.writes.iter().map(|write| match write {
            Write::Put(row) => row.key.len() + row.value.len(),
            Write::Delete(key) => key.len(),
            Write::DeleteRange(range) => range.start.len() + range.end.len(),
        });
        conditions.sum::<usize>() + writes.sum::<usize>()
    }
}

/// What became of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is made and durable.
    Committed,
    /// A condition did not hold; nothing was changed.
    Refused,
}

/// The rows.
pub trait Catalogue: Send + Sync + Debug {
    /// The values of some rows, at one revision, in the order of the keys that were given.
    fn get(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>>;
    /// Begins to read at one revision.
    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>>;
    /// Makes a commit, if its conditions hold.
    fn commit(&self, commit: &Commit) -> Result<Outcome>;
}

/// Reading at one revision.
pub trait Snapshot: Debug {
    /// The first rows of a range, at most `rows_max` ([`PAGE_ROWS_MAX`]). Fails with
    /// [`SnapshotGone`](crate::ErrorKind::SnapshotGone) if the engine does not keep the revision any more.
    fn page(&mut self, range: &Range<Vec<u8>>, rows_max: usize) -> Result<Page>;
}
