//! Transactions: many that read, and any number that write as long as their scopes do not overlap.
//!
//! This file is the row level: rows as bytes. What a put or a clear of IndexedDB does with rows is not here.

mod read;
mod scope;

pub use read::ReadTransaction;
pub use scope::Scope;

use std::cmp::Ordering;
use std::sync::{Arc, Mutex};

use larder_codec::compare::compare;
use larder_leveldb::Durability;

use crate::backing_store::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::staging::ROW_LEN_MAX;
use crate::view::{Pending, View, locked};

/// A transaction that writes within a [`Scope`]: all of it is committed or nothing.
///
/// It sees what was committed when it began and, over it, what it wrote itself. Dropping it rolls it back.
#[derive(Debug)]
pub struct WriteTransaction {
    core: Arc<Core>,
    number: u64,
    scope: Scope,
    durability: Durability,
    pending: Arc<Mutex<Pending>>,
    view: View,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// A write to the engine failed; so will all others.
    Failed,
    Ended,
}

impl WriteTransaction {
    pub(crate) fn begin(core: Arc<Core>, scope: Scope, durability: Durability) -> Result<Self> {
        let number = core.enter(&scope)?;
        let pending = Arc::new(Mutex::new(Pending::new(core.base(Some(number)))));
        let durability = match scope {
            // As in Chromium, whatever was asked for.
            Scope::VersionChange(_) => Durability::Strict,
            Scope::Stores(..) => durability,
        };
        Ok(Self {
            core,
            number,
            scope,
            durability,
            view: View::transaction(Arc::clone(&pending)),
            pending,
            state: State::Open,
        })
    }

    /// What it may write.
    #[must_use]
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// What it sees: its own writes, too.
    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// Gives a row a value.
    pub(crate) fn put_row(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        debug_assert!(self.scope.covers(key), "row outside of the scope: {key:?}");
        if key.len().saturating_add(value.len()) > ROW_LEN_MAX {
            let what = format!("row of {} bytes; at most {ROW_LEN_MAX}", value.len());
            return Err(Error::new(ErrorKind::Usage, what).with_key(key));
        }
        self.check_open()?;
        locked(&self.pending).staging.put(key, value);
        Ok(())
    }

    /// Takes a row away, whether or not there is one.
    pub(crate) fn delete_row(&mut self, key: &[u8]) -> Result<()> {
        debug_assert!(self.scope.covers(key), "row outside of the scope: {key:?}");
        self.check_open()?;
        locked(&self.pending).staging.delete(key);
        Ok(())
    }

    /// Takes the rows from `begin` up to `end` away, and the one at `end` if that is included.
    pub(crate) fn delete_rows(
        &mut self,
        begin: &[u8],
        end: &[u8],
        end_included: bool,
    ) -> Result<()> {
        let mut iter = self.view.iter();
        iter.seek(begin)?;
        while iter.valid() {
            let order = compare(iter.key(), end);
            if order == Ordering::Greater || (order == Ordering::Equal && !end_included) {
                break;
            }
            self.delete_row(iter.key())?;
            iter.next()?;
        }
        Ok(())
    }

    fn check_open(&self) -> Result<()> {
        if self.state == State::Open {
            return Ok(());
        }
        let what = "the transaction cannot go on: an earlier write has failed";
        Err(Error::new(ErrorKind::Closed, what))
    }

    /// Makes all of it visible to whoever begins from now on, and durable as was asked for at the beginning.
    ///
    /// # Errors
    /// If the engine cannot write, it is not known until the store has been opened again whether the transaction is
    /// committed; no further writes are possible.
    pub fn commit(mut self) -> Result<()> {
        self.check_open()?;
        let written = self.write_staged();
        self.state = State::Ended;
        written
    }

    fn write_staged(&self) -> Result<()> {
        let mut pending = locked(&self.pending);
        if pending.staging.is_empty() {
            return Ok(());
        }
        let batch = pending.staging.batch();
        let written = self.core.db.write(batch, self.durability);
        pending.staging.clear();
        Ok(written?)
    }

    /// Takes all of it back.
    ///
    /// # Errors
    /// If the engine cannot write; then opening the store will take it back.
    pub fn rollback(mut self) -> Result<()> {
        self.take_back()
    }

    fn take_back(&mut self) -> Result<()> {
        if self.state == State::Ended {
            return Ok(());
        }
        self.state = State::Ended;
        locked(&self.pending).staging.clear();
        Ok(())
    }
}

impl Drop for WriteTransaction {
    fn drop(&mut self) {
        // Whoever cares about the result calls `rollback`.
        let _ = self.take_back();
        self.core.leave(self.number);
    }
}

#[cfg(test)]
mod tests;
