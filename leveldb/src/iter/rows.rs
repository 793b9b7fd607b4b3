//! The rows of a range as a Rust iterator.

use super::Iter;
use crate::bounds::Bounds;
use crate::error::Result;
use crate::read_state::ReadState;
use std::cmp::Ordering;
use std::iter::FusedIterator;
use std::sync::Arc;

/// The rows of a range, keys ascending from the front, descending from the back: key and value, both copied. Made by
/// [`Snapshot::range`](crate::Snapshot::range) and [`Db::range`](crate::Db::range). For rows that are not copied, or positions
/// within the range, see [`Iter`].
///
/// It shows the snapshot's rows, whatever is written meanwhile, and keeps what it reads from alive. Each row comes once, from the
/// front or from the back. An error is the last item.
///
/// ```
/// # use larder_leveldb::{Db, Durability, Options, Result, storage::MemoryFileSystem};
/// # use std::{path::Path, sync::Arc};
/// # let options = Options { create_if_missing: true, ..Options::default() };
/// # let db = Db::open(Arc::new(MemoryFileSystem::new()), Path::new("fruit"), options)?;
/// for fruit in ["apple", "pear", "plum"] {
///     db.put(fruit.as_bytes(), b"ripe", Durability::Relaxed)?;
/// }
/// let snapshot = db.snapshot();
/// let backward: Vec<_> = snapshot.range("apple".."plum").rev().collect::<Result<_>>()?;
/// assert_eq!(backward[0].0, b"pear");
/// assert_eq!(backward.len(), 2);
/// # Ok::<(), larder_leveldb::Error>(())
/// ```
#[derive(Debug)]
pub struct Rows {
    state: Arc<ReadState>,
    sequence: u64,
    bounds: Arc<Bounds>,
    /// On the row that came last from the front, once there was one.
    front: Option<Iter>,
    /// On the row that came last from the back, once there was one.
    back: Option<Iter>,
    has_ended: bool,
}

type Row = (Vec<u8>, Vec<u8>);

impl Rows {
    pub(crate) fn new(state: Arc<ReadState>, sequence: u64, bounds: Bounds) -> Rows {
        Rows {
            state,
            sequence,
            bounds: Arc::new(bounds),
            front: None,
            back: None,
            has_ended: false,
        }
    }

    fn iter(&self) -> Iter {
        Iter::new(self.state.clone(), self.sequence, Some(self.bounds.clone()))
    }

    fn step_front(&mut self) -> Result<Option<Row>> {
        let front = match self.front.take() {
            Some(mut front) => {
                front.next()?;
                front
            }
            None => {
                let mut front = self.iter();
                front.seek_to_first()?;
                front
            }
        };
        let front = self.front.insert(front);
        row(front, self.back.as_ref(), Ordering::Less)
    }

    fn step_back(&mut self) -> Result<Option<Row>> {
        let back = match self.back.take() {
            Some(mut back) => {
                back.prev()?;
                back
            }
            None => {
                let mut back = self.iter();
                back.seek_to_last()?;
                back
            }
        };
        let back = self.back.insert(back);
        row(back, self.front.as_ref(), Ordering::Greater)
    }

    fn give(&mut self, row: Result<Option<Row>>) -> Option<Result<Row>> {
        self.has_ended = !matches!(row, Ok(Some(_)));
        row.transpose()
    }
}

/// A copy of the row that one end has come to, if there is one that has not come from the other end: its key is on this side of the
/// other end's.
fn row(end: &Iter, other: Option<&Iter>, side: Ordering) -> Result<Option<Row>> {
    let order = &end.state.core.order;
    let has_come = |other: &Iter| order.compare_user(end.key(), other.key()) != side;
    if !end.valid() || other.is_some_and(has_come) {
        return Ok(None);
    }
    Ok(Some((end.key().to_vec(), end.value()?.to_vec())))
}

impl Iterator for Rows {
    type Item = Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let row = self.step_front();
        self.give(row)
    }
}

impl DoubleEndedIterator for Rows {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let row = self.step_back();
        self.give(row)
    }
}

impl FusedIterator for Rows {}
