//! The database as it was at a revision.

use std::ops::Bound;

use larder_idb::codec::feed::{self, HistoryKey};
use larder_idb::{Cursor, CursorDirection, GetAllOptions, Key, KeyRange, ObjectStore, Transaction};

use crate::error::{Error, Result};
use crate::feed::{Feed, last};
use crate::lookup::{revision_after, value_at};
use crate::mark::Marks;
use crate::revision::{Revision, number_of, revision_of_version, revisions_at, version_key};
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
    /// `NotFoundError` if there is none of this name; if the database fails.
    pub async fn object_store(&self, name: &str) -> Result<PastObjectStore> {
        let records = self.transaction.object_store(name)?;
        let number = records.number()?;
        Ok(PastObjectStore {
            version: version_at(&self.transaction, number, self.revision).await?,
            number,
            records,
            past: self.clone(),
        })
    }
}

/// The greatest version that an object store's retained revisions up to this one have given; 0 if there is none.
async fn version_at(transaction: &Transaction, number: i64, revision: u64) -> Result<i64> {
    let index = transaction.object_store(feed::REVISIONS)?;
    let index = index.index(feed::BY_VERSION)?;
    // The versions below which the entries are of records up to the revision, and from which they are of later ones.
    let (mut low, mut high) = (0_i64, 1_i64 << 53);
    let mut version = 0;
    while low < high {
        let middle = low + (high - low) / 2;
        let lower = version_key(number, middle as f64)?;
        let upper = version_key(number, high as f64)?;
        let range = KeyRange::bound(lower, upper, false, true)?;
        let options = GetAllOptions::new().count(1);
        let found = index.get_all_keys(range, options)?.await?;
        let entry = found.get(0);
        let place = entry.and_then(|entry| {
            let (_, end) = feed::decode_version(entry.raw_key())?;
            Some((end.get(), number_of(&entry.primary_key())))
        });
        match place {
            Some((end, last)) if last <= revision => {
                version = end;
                low = end + 1;
            }
            _ => high = middle,
        }
    }
    // The next record may have some up to there, and later ones.
    let found = revisions_at(transaction, number, low, |of, _| of <= revision).await?;
    let last = found.last().map(|revision| revision.version().get());
    Ok(last.unwrap_or(version))
}

/// An object store at a revision.
#[derive(Debug, Clone)]
pub struct PastObjectStore {
    past: Past,
    number: i64,
    /// Up to here its versions are of the revision and of those before.
    version: i64,
    records: ObjectStore,
}

impl PastObjectStore {
    /// The record of a key, if there was one: its last revision up to then, and its value.
    ///
    /// # Errors
    /// Those of [`PastRecords::next`].
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
        let history = self.past.transaction.object_store(feed::HISTORY)?;
        let number = Key::Number(self.number as f64);
        let of = |rest: Vec<Key>| Key::array([vec![number.clone()], rest].concat());
        // An array is greater than all keys that are none, and one with more elements than what it begins with.
        let last = |key: &Key| of(vec![key.clone(), f64::INFINITY.into()]);
        let lower = match range.lower() {
            Bound::Included(key) => of(vec![key.clone()])?,
            Bound::Excluded(key) => last(key)?,
            Bound::Unbounded => of(vec![])?,
        };
        let upper = match range.upper() {
            Bound::Included(key) => last(key)?,
            Bound::Excluded(key) => of(vec![key.clone()])?,
            Bound::Unbounded => Key::array(vec![Key::Number((self.number + 1) as f64)])?,
        };
        let of_history = KeyRange::bound(lower, upper, false, false)?;
        let direction = CursorDirection::Next;
        Ok(PastRecords {
            history: history.open_key_cursor(of_history, direction)?.await?,
            cursor: self.records.open_key_cursor(range, direction)?.await?,
            object_store: self.clone(),
        })
    }
}

/// A walk over the records of an object store at a revision: those that are there now, and those of the history, side by side.
#[derive(Debug)]
pub struct PastRecords {
    object_store: PastObjectStore,
    history: Option<Cursor>,
    cursor: Option<Cursor>,
}

impl PastRecords {
    /// The next record.
    ///
    /// # Errors
    /// [`Error::NotRetained`] if a program without the feed, such as a browser, has overwritten or removed what the record
    /// was then; if the database fails.
    pub async fn next(&mut self) -> Result<Option<(Revision, RevisionValue)>> {
        while let Some((key, version)) = self.next_version().await? {
            let PastObjectStore {
                past,
                number,
                version: at,
                records,
            } = &self.object_store;
            let version = match version {
                Some(version) => Some(version),
                None => records
                    .record_version(key)?
                    .await?
                    .filter(|version| version <= at),
            };
            let Some(version) = version else {
                continue;
            };
            let transaction = &past.transaction;
            let found = revision_of_version(transaction, *number, version).await?;
            let Some(revision) = found else {
                continue;
            };
            if let Some(value) = value_at(transaction, &revision).await? {
                return Ok(Some((revision, value)));
            }
            // It is lost: the record can be shown from where the feed goes on.
            return Err(Error::NotRetained {
                revision: past.revision,
                first: revision_after(transaction, &revision).await?,
                last: last(transaction).await?,
            });
        }
        Ok(None)
    }

    /// The next key, and the version that its record had if the history has it.
    async fn next_version(&mut self) -> Result<Option<(Key, Option<i64>)>> {
        let of_history = self.history.as_ref().map(history_key).transpose()?;
        let of_records = self.cursor.as_ref().map(Cursor::primary_key);
        let key = match (&of_history, of_records) {
            (None, None) => return Ok(None),
            (None, Some(key)) => key,
            (Some((key, ..)), None) => key.clone(),
            (Some((key, ..)), Some(of_records)) => of_records.min(key.clone()),
        };
        let at = self.object_store.version;
        let mut version = None;
        while let Some(cursor) = self.history.take() {
            let (of, since, until) = history_key(&cursor)?;
            if of != key {
                self.history = Some(cursor);
                break;
            }
            if since <= at && at < until {
                version = Some(since);
            }
            self.history = cursor.next()?.await?;
        }
        if let Some(cursor) = self.cursor.take_if(|cursor| cursor.primary_key() == key) {
            self.cursor = cursor.next()?.await?;
        }
        Ok(Some((key, version)))
    }
}

/// The record's key, and the versions that begin and end what it was.
fn history_key(cursor: &Cursor) -> Result<(Key, i64, i64)> {
    let key = HistoryKey::decode_exact(cursor.raw_primary_key().as_bytes())?;
    Ok((key.key.to_key(), key.since.get(), key.until.get()))
}
