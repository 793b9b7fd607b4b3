//! Cursors (specification, 2.10) and "iterate a cursor" (6.8), found by looking through all records of the source.

use std::cmp::Ordering;

use super::key::{self, Key, Range};
use super::store::Record;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Next,
    NextUnique,
    Prev,
    PrevUnique,
}

#[derive(Clone, Debug)]
pub(crate) struct Cursor {
    /// The transaction that it belongs to; the store and the index come next.
    pub(crate) transaction: usize,
    pub(crate) store: usize,
    pub(crate) index: Option<usize>,
    pub(crate) direction: Direction,
    pub(crate) range: Range,
    pub(crate) key_only: bool,
    pub(crate) position: Option<Key>,
    pub(crate) object_store_position: Option<Key>,
    pub(crate) got_value: bool,
    /// What it shows: `None` when it has run out.
    pub(crate) record: Option<Record>,
}

impl Cursor {
    /// "The cursor's effective key": the primary key.
    pub(crate) fn effective_key(&self) -> Option<&Key> {
        match self.index {
            None => self.position.as_ref(),
            Some(_) => self.object_store_position.as_ref(),
        }
    }

    /// "Iterate a cursor". Whether there was a record.
    pub(crate) fn iterate(
        &mut self,
        records: &[Record],
        key: Option<&Key>,
        primary_key: Option<&Key>,
        count: u32,
    ) -> bool {
        for _ in 0..count {
            let Some(found) = self.find(records, key, primary_key) else {
                self.record = None;
                if self.index.is_some() {
                    self.object_store_position = None;
                }
                return false;
            };
            self.position = Some(found.key.clone());
            if self.index.is_some() {
                self.object_store_position = Some(found.primary_key.clone());
            }
            self.record = Some(found);
        }
        self.got_value = true;
        true
    }

    fn find(
        &self,
        records: &[Record],
        key: Option<&Key>,
        primary_key: Option<&Key>,
    ) -> Option<Record> {
        let is_beyond = match self.direction {
            Direction::Next | Direction::NextUnique => Ordering::Greater,
            Direction::Prev | Direction::PrevUnique => Ordering::Less,
        };
        let mut candidates: Vec<&Record> = records
            .iter()
            .filter(|record| self.is_requested(record, key, primary_key, is_beyond))
            .filter(|record| self.is_unvisited(record, is_beyond))
            .filter(|record| self.range.includes(&record.key))
            .collect();
        if is_beyond == Ordering::Less {
            candidates.reverse();
        }
        let found = candidates.first()?;
        if self.direction == Direction::PrevUnique {
            return records.iter().find(|r| r.key == found.key).cloned();
        }
        Some((*found).clone())
    }

    fn is_requested(
        &self,
        record: &Record,
        key: Option<&Key>,
        primary_key: Option<&Key>,
        is_beyond: Ordering,
    ) -> bool {
        let Some(key) = key else { return true };
        let order = key::compare(&record.key, key);
        match primary_key {
            Some(primary_key) if order == Ordering::Equal => {
                let order = key::compare(&record.primary_key, primary_key);
                order == is_beyond || order == Ordering::Equal
            }
            _ => order == is_beyond || order == Ordering::Equal,
        }
    }

    fn is_unvisited(&self, record: &Record, is_beyond: Ordering) -> bool {
        let Some(position) = &self.position else {
            return true;
        };
        let order = key::compare(&record.key, position);
        let is_unique = matches!(
            self.direction,
            Direction::NextUnique | Direction::PrevUnique
        );
        match &self.object_store_position {
            Some(at) if order == Ordering::Equal && !is_unique => {
                key::compare(&record.primary_key, at) == is_beyond
            }
            _ => order == is_beyond,
        }
    }
}

/// What a cursor would visit from begin to end: "retrieve multiple items" (6.2, 6.3) in that direction.
pub(crate) fn walk(records: &[Record], range: &Range, direction: Direction) -> Vec<Record> {
    let in_range = || records.iter().filter(|record| range.includes(&record.key));
    let mut walked: Vec<Record> = match direction {
        Direction::Next => return in_range().cloned().collect(),
        Direction::Prev => return in_range().rev().cloned().collect(),
        Direction::NextUnique | Direction::PrevUnique => Vec::new(),
    };
    for record in in_range() {
        if walked.last().is_none_or(|last| last.key != record.key) {
            walked.push(record.clone());
        }
    }
    if direction == Direction::PrevUnique {
        walked.reverse();
    }
    walked
}
