//! The database as it was at a revision.

use larder_idb::codec::feed;
use larder_idb::codec::value::RevisionKind;
use larder_idb::{Cursor, Key, KeyRange, Transaction};

use crate::error::{Error, Result};
use crate::feed::{Feed, last, number_of, revision, store_number};
use crate::lookup::value_at;
use crate::mark::Marks;
use crate::revision::Revision;
use crate::value::RevisionValue;

/// The database at a revision: its records, not its indexes. What is shown stays the same whatever is written or cleaned up meanwhile.
#[derive(Debug, Clone)]
pub struct Past {
    transaction: Transaction,
    revision: u64,
}

impl Feed {
    /// The database as it was when this revision was the last one.
    ///
    /// # Errors
    /// [`Error::NotRetained`] if revisions behind it have been cleaned up, or there is no such revision yet; if the database fails.
    pub async fn at(&self, revision: u64) -> Result<Past> {
        let transaction = self.reading(true)?;
        let (first, last) = (
            Marks::read(&transaction).await?.cleaned,
            last(&transaction).await?,
        );
        if revision < first || revision > last {
            return Err(Error::NotRetained {
                revision,
                first,
                last,
            });
        }
        Ok(Past {
            transaction,
            revision,
        })
    }
}

impl Past {
    /// The revision.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// An object store, by the name that it has now.
    ///
    /// # Errors
    /// `NotFoundError` if there is none of this name.
    pub fn object_store(&self, name: &str) -> Result<PastObjectStore> {
        Ok(PastObjectStore {
            number: store_number(&self.transaction, name)?,
            past: self.clone(),
        })
    }
}

/// An object store at a revision.
#[derive(Debug, Clone)]
pub struct PastObjectStore {
    past: Past,
    number: i64,
}

impl PastObjectStore {
    /// The record of a key, if there was one: its last revision up to then, and its value.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn get(&self, key: impl Into<Key>) -> Result<Option<(Revision, RevisionValue)>> {
        let mut records = self.records(KeyRange::only(key.into())).await?;
        records.next().await
    }

    /// The records with keys in a range, in the order of the keys.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn records(&self, range: impl Into<KeyRange>) -> Result<PastRecords> {
        let range = range.into();
        let revisions = self.past.transaction.object_store(feed::REVISIONS)?;
        let of_store = |key: Key| Key::array(vec![Key::Number(self.number as f64), key]);
        let number = |number: i64| Key::array(vec![Key::Number(number as f64)]);
        use std::ops::Bound;
        let lower = match range.lower() {
            Bound::Included(key) => (of_store(key.clone())?, false),
            Bound::Excluded(key) => (of_store(key.clone())?, true),
            Bound::Unbounded => (number(self.number)?, true),
        };
        let upper = match range.upper() {
            Bound::Included(key) => (of_store(key.clone())?, false),
            Bound::Excluded(key) => (of_store(key.clone())?, true),
            Bound::Unbounded => (number(self.number + 1)?, true),
        };
        let range = KeyRange::bound(lower.0, upper.0, lower.1, upper.1)?;
        let index = revisions.index(feed::BY_RECORD)?;
        let direction = larder_idb::CursorDirection::Next;
        Ok(PastRecords {
            cursor: index.open_key_cursor(range, direction)?.await?,
            past: self.past.clone(),
        })
    }
}

/// A walk over the records of an object store at a revision.
#[derive(Debug)]
pub struct PastRecords {
    past: Past,
    cursor: Option<Cursor>,
}

impl PastRecords {
    /// The next record.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn next(&mut self) -> Result<Option<(Revision, RevisionValue)>> {
        while let Some(first) = self.cursor.take() {
            // The entries of a record are its revisions, ascending.
            let record = first.key();
            let mut found = None;
            let mut cursor = Some(first);
            while let Some(entry) = cursor.take_if(|entry| entry.key() == record) {
                let number = number_of(&entry.primary_key());
                if number <= self.past.revision {
                    found = Some(number);
                }
                cursor = entry.next()?.await?;
            }
            self.cursor = cursor;
            let Some(number) = found else {
                continue;
            };
            let transaction = &self.past.transaction;
            let Some(revision) = revision(transaction, number).await? else {
                continue;
            };
            if revision.kind() == RevisionKind::Removal {
                continue;
            }
            if let Some(value) = value_at(transaction, &revision).await? {
                return Ok(Some((revision, value)));
            }
        }
        Ok(None)
    }
}
