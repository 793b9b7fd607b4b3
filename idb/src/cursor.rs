//! Cursors (specification, 2.10 and 4.9).
//!
//! The specification's cursor moves under its holder. Here a [`Cursor`] is one position, which stays what it is, and a
//! move gives another: so key and value can be read at any time, and whether "the cursor has a value" is known without
//! regard to what other threads do.

mod steps;

pub use steps::Steps;

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Atomic};

use larder_backing_store::{CursorDirection, PutMode};
use larder_codec::{Key, RawKey};

use crate::error::{Error, ErrorName, Result};
use crate::execution::{Length, TransactionMode};
use crate::inline_key;
use crate::key_range::{KeyRange, raw_key};
use crate::operation::{self, Landed, PutRequest, Step, Walk, WalkPage, Wanted};
use crate::request::Request;
use crate::transaction::Transaction;
use crate::value::records::Record;
use crate::value::{StoredValue, Value};

/// A cursor at a record or index entry. Clones are at the same entry.
///
/// A move is a request, and its result the cursor at the entry that was reached. Once a move has been asked for, this one
/// can still be read, but moves, updates and deletes no more: `InvalidStateError`, as when a page continues twice.
///
/// ```
/// # use larder_idb::{CursorDirection, ObjectStore, Result};
/// # fn each(store: &ObjectStore) -> Result<()> {
/// // `.await` in place of `.wait()` leaves the thread to others.
/// let mut next = store.open_cursor(.., CursorDirection::Next)?.wait()?;
/// while let Some(cursor) = next {
///     println!("{:?}", cursor.key());
///     next = cursor.next()?.wait()?;
/// }
/// # Ok(())
/// # }
/// ```
///
/// [`Request::steps`] is that loop as an iterator.
#[derive(Clone)]
pub struct Cursor {
    page: Arc<Page>,
    /// Where in the page.
    at: usize,
    /// How many moves had been asked for when this position was reached.
    moves: u64,
}

/// What the positions share whose entries were read at once.
struct Page {
    shared: Arc<Shared>,
    entries: WalkPage,
}

struct Shared {
    transaction: Transaction,
    walk: Walk,
    moves: AtomicU64,
}

impl Cursor {
    /// Opens one at the first entry.
    pub(crate) fn open(transaction: Transaction, walk: Walk) -> Result<Request<Option<Self>>> {
        let shared = Arc::new(Shared {
            transaction: transaction.clone(),
            walk,
            moves: AtomicU64::new(0),
        });
        transaction.core().submit_holding(move |execution| {
            let entries = shared.walk.begin(execution)?;
            Ok(entries.map(|entries| Self::at_page(shared, entries, 0)))
        })
    }

    fn at_page(shared: Arc<Shared>, entries: WalkPage, moves: u64) -> Self {
        let page = Arc::new(Page { shared, entries });
        Self { page, at: 0, moves }
    }

    fn shared(&self) -> &Shared {
        &self.page.shared
    }

    /// The transaction.
    #[must_use]
    pub fn transaction(&self) -> &Transaction {
        &self.shared().transaction
    }

    /// The direction in which it moves.
    #[must_use]
    pub fn direction(&self) -> CursorDirection {
        self.shared().walk.direction
    }

    /// Whether it has no values.
    #[must_use]
    pub fn is_key_cursor(&self) -> bool {
        self.shared().walk.wanted == Wanted::Keys
    }

    /// The index key, or the primary key if it is over an object store.
    #[must_use]
    pub fn key(&self) -> Key {
        self.record().key()
    }

    /// The key in its encoded bytes.
    #[must_use]
    pub fn raw_key(&self) -> RawKey<'_> {
        self.record().raw_key()
    }

    /// The record's key.
    #[must_use]
    pub fn primary_key(&self) -> Key {
        self.record().primary_key()
    }

    /// The record's key in its encoded bytes.
    #[must_use]
    pub fn raw_primary_key(&self) -> RawKey<'_> {
        self.record().raw_primary_key()
    }

    /// The record's value when the cursor came here; `None` if it was opened for keys.
    #[must_use]
    pub fn value(&self) -> Option<StoredValue> {
        (!self.is_key_cursor()).then(|| self.record().stored_value())
    }

    /// Key, primary key and value, borrowed.
    #[must_use]
    pub fn record(&self) -> Record<'_> {
        self.page.entries.records.entry(self.at)
    }

    /// Moves to the next entry: what the specification calls `continue()`. The request gives `None` behind the last one.
    /// [`Request::steps`] does it in a loop.
    ///
    /// # Errors
    /// `TransactionInactiveError`; `InvalidStateError` if what it is over has been deleted, or it was moved before.
    pub fn next(&self) -> Result<Request<Option<Self>>> {
        self.advance(1)
    }

    /// Moves to the first entry with this key or behind it, in the cursor's direction: what the specification calls `continue(key)`.
    ///
    /// # Errors
    /// As [`next`](Self::next); then `DataError` for a key that is not ahead of the cursor's.
    pub fn continue_to(&self, key: impl Into<Key>) -> Result<Request<Option<Self>>> {
        self.continue_to_key(key.into())
    }

    fn continue_to_key(&self, key: Key) -> Result<Request<Option<Self>>> {
        self.check_active_and_there()?;
        self.check_has_value()?;
        if self.ahead(key_order(&key, self.raw_key())?) != Ordering::Greater {
            return Err(not_ahead());
        }
        self.go(Step::To(key))
    }

    /// Moves, over an index and in the directions that are not unique, to the first entry with this key and primary key or behind it.
    ///
    /// # Errors
    /// `TransactionInactiveError`; `InvalidStateError` if what it is over has been deleted; `InvalidAccessError` if that
    /// is no index or the direction is unique; `InvalidStateError` if it was moved before; `DataError` for keys that are
    /// not ahead.
    pub fn continue_primary_key(
        &self,
        key: impl Into<Key>,
        primary_key: impl Into<Key>,
    ) -> Result<Request<Option<Self>>> {
        self.continue_to_entry(key.into(), primary_key.into())
    }

    fn continue_to_entry(&self, key: Key, primary_key: Key) -> Result<Request<Option<Self>>> {
        self.check_active_and_there()?;
        if self.shared().walk.source.index.is_none() {
            let what = "the cursor is not over an index";
            return Err(Error::new(ErrorName::InvalidAccessError, what));
        }
        if self.direction().is_unique() {
            let what = "the cursor shows each index key once; continue_primary_key needs the direction Next or Prev";
            return Err(Error::new(ErrorName::InvalidAccessError, what));
        }
        self.check_has_value()?;
        let order = key_order(&key, self.raw_key())?;
        let order = order.then(key_order(&primary_key, self.raw_primary_key())?);
        if self.ahead(order) != Ordering::Greater {
            return Err(not_ahead());
        }
        self.go(Step::ToEntry(key, primary_key))
    }

    /// Moves by so many entries. The request gives `None` if there are fewer.
    ///
    /// # Errors
    /// `TypeError` for 0; `TransactionInactiveError`; `InvalidStateError` if what it is over has been deleted, or it was
    /// moved before.
    pub fn advance(&self, count: u32) -> Result<Request<Option<Self>>> {
        if count == 0 {
            let what = "a cursor advances by one entry or more";
            return Err(Error::new(ErrorName::TypeError, what));
        }
        self.check_active_and_there()?;
        self.check_has_value()?;
        self.go(Step::Advance(count))
    }

    /// Puts a value in the place of the record's. If the record is gone by then, it is put anew.
    ///
    /// # Errors
    /// `TransactionInactiveError`; `ReadOnlyError`; `InvalidStateError` if what it is over has been deleted, it was moved
    /// before, or it was opened for keys; `DataError` if keys are in-line and the value has another than the record (a value of
    /// [another engine](Value::foreign) gets the record's). The request as [`ObjectStore::put`](crate::ObjectStore::put).
    pub fn update(&self, mut value: Value) -> Result<Request<Key>> {
        self.check_writable()?;
        let cell = &self.shared().walk.source.store;
        let key = self.primary_key();
        value.fit(self.transaction().store_versions())?;
        let has_key_inside = cell.uses_inline_keys() && !value.is_foreign();
        if has_key_inside && inline_key::of_value(cell, &value)?.as_ref() != Some(&key) {
            return Err(Error::data(format!(
                "the value has another key than the record at {}",
                cell.shown_path()
            )));
        }
        let mode = PutMode::CursorUpdate;
        let is_upgrade = self.transaction().mode() == TransactionMode::VersionChange;
        let request = PutRequest::new(is_upgrade, cell, value, Some(key), mode)?;
        let cell = Arc::clone(cell);
        self.transaction()
            .core()
            .submit(Length::Long, move |execution| {
                operation::put(execution, &cell, request)
            })
    }

    /// Deletes the record.
    ///
    /// # Errors
    /// `TransactionInactiveError`; `ReadOnlyError`; `InvalidStateError` if what it is over has been deleted, it was moved
    /// before, or it was opened for keys.
    pub fn delete(&self) -> Result<Request<()>> {
        self.check_writable()?;
        let cell = Arc::clone(&self.shared().walk.source.store);
        let range = KeyRange::only(self.primary_key());
        self.transaction()
            .core()
            .submit(Length::Long, move |execution| {
                operation::delete(execution, &cell, &range)
            })
    }

    fn check_active_and_there(&self) -> Result<()> {
        self.transaction().core().check_active()?;
        self.check_there()
    }

    fn check_there(&self) -> Result<()> {
        if self.shared().walk.source.is_deleted() {
            let what = "the object store or index of the cursor has been deleted";
            return Err(Error::new(ErrorName::InvalidStateError, what));
        }
        Ok(())
    }

    fn check_has_value(&self) -> Result<()> {
        match self.shared().moves.load(Atomic::Acquire) == self.moves {
            true => Ok(()),
            false => Err(moved()),
        }
    }

    fn check_writable(&self) -> Result<()> {
        self.transaction().core().check_active()?;
        self.transaction().check_writes()?;
        self.check_there()?;
        self.check_has_value()?;
        if self.is_key_cursor() {
            let what = "the cursor was opened for keys and has no values: open it with open_cursor";
            return Err(Error::new(ErrorName::InvalidStateError, what));
        }
        Ok(())
    }

    /// An order of keys, as seen in the direction.
    fn ahead(&self, order: Ordering) -> Ordering {
        match self.direction().is_forward() {
            true => order,
            false => order.reverse(),
        }
    }

    /// Asks for a move, of which there can be one from each position.
    fn go(&self, step: Step) -> Result<Request<Option<Self>>> {
        let (at, was, moves) = (self.at, self.moves, self.moves + 1);
        // Another thread may have moved it since that was looked at.
        let counter = &self.shared().moves;
        counter
            .compare_exchange(was, moves, Atomic::AcqRel, Atomic::Acquire)
            .map_err(|_| moved())?;
        let page = Arc::clone(&self.page);
        let walk = &self.shared().walk;
        if self.transaction().core().is_idle()
            && let Some(found) = walk.step_in_page(&page.entries, at, &step)
        {
            let cursor = found.map(|at| Self { page, at, moves });
            return Ok(self.transaction().core().completed(Ok(cursor)));
        }
        self.transaction().core().submit_holding(move |execution| {
            let walk = &page.shared.walk;
            Ok(match walk.step(execution, &page.entries, at, &step)? {
                Landed::InPage(at) => Some(Self { page, at, moves }),
                Landed::Ahead(entries) => {
                    let shared = Arc::clone(&page.shared);
                    Some(Self::at_page(shared, entries, moves))
                }
                Landed::Nowhere => None,
            })
        })
    }
}

fn key_order(key: &Key, here: RawKey<'_>) -> Result<Ordering> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    Ok(raw_key(&bytes)?.cmp(&here))
}

fn moved() -> Error {
    Error::new(
        ErrorName::InvalidStateError,
        "the cursor is being moved or is behind its last record; wait for the request that moves it",
    )
}

fn not_ahead() -> Error {
    Error::data("the key to continue to is not ahead of the cursor, in its direction")
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor")
            .field("entry", &self.record())
            .field("direction", &self.direction())
            .finish_non_exhaustive()
    }
}
