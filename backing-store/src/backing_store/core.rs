//! What a store that is open for writing and its transactions share.
//!
//! Three locks, none held while the engine writes but [`Core::direct`]: which scopes are being written, which rows readers
//! must take from older snapshots, and whose turn it is to change rows of the whole store.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use larder_codec::ScopeId;
use larder_leveldb::storage::FileSystem;
use larder_leveldb::{Db, Snapshot};

use super::options::WriteOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::StorePaths;
use crate::transaction::Scope;
use crate::view::{Base, Window};

/// The shared part.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) db: Db,
    pub(crate) fs: Arc<dyn FileSystem>,
    pub(crate) paths: StorePaths,
    pub(crate) options: WriteOptions,
    active: Mutex<Active>,
    /// Of each transaction that has written to the engine and not committed: its number, and its rows as they were.
    windows: Mutex<Vec<(u64, Vec<Window>)>>,
    direct: Mutex<()>,
    next_scope: AtomicI64,
}

/// The scopes being written.
#[derive(Debug, Default)]
struct Active {
    next: u64,
    scopes: Vec<(u64, Scope)>,
}

/// Nothing that holds one of these locks leaves half a change.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Core {
    pub(crate) fn new(
        db: Db,
        fs: Arc<dyn FileSystem>,
        paths: StorePaths,
        options: WriteOptions,
        next_scope: i64,
    ) -> Self {
        Self {
            db,
            fs,
            paths,
            options,
            active: Mutex::default(),
            windows: Mutex::default(),
            direct: Mutex::default(),
            next_scope: AtomicI64::new(next_scope),
        }
    }

    /// What is committed, for anyone but transaction `own`, which sees what it wrote.
    pub(crate) fn base(&self, own: Option<u64>) -> Base {
        // The snapshot is taken under the lock: no transaction can begin to write to the engine between the two.
        let windows = locked(&self.windows);
        let others = windows.iter().filter(|(number, _)| Some(*number) != own);
        let others = others.flat_map(|(_, windows)| windows.iter().cloned());
        Base::new(self.db.snapshot(), others.collect())
    }

    /// Everything as it stands, uncommitted rows included.
    pub(crate) fn snapshot(&self) -> Snapshot {
        self.db.snapshot()
    }

    /// Hides what a transaction is about to write until [`unhide`](Self::unhide).
    pub(crate) fn hide(&self, number: u64, scope: &Scope) {
        let mut windows = locked(&self.windows);
        let snapshot = self.db.snapshot();
        let window = |(low, end)| Window {
            low,
            end,
            snapshot: snapshot.clone(),
        };
        windows.push((number, scope.ranges().into_iter().map(window).collect()));
    }

    pub(crate) fn unhide(&self, number: u64) {
        locked(&self.windows).retain(|(other, _)| *other != number);
    }

    /// Takes a scope for writing: a number for the transaction.
    pub(crate) fn enter(&self, scope: &Scope) -> Result<u64> {
        let mut active = locked(&self.active);
        if active.scopes.iter().any(|(_, other)| other.overlaps(scope)) {
            let what = "an object store of the scope is being written by another transaction";
            return Err(Error::new(ErrorKind::Conflict, what));
        }
        let number = active.next;
        active.next += 1;
        active.scopes.push((number, scope.clone()));
        Ok(number)
    }

    pub(crate) fn leave(&self, number: u64) {
        locked(&self.active)
            .scopes
            .retain(|(other, _)| *other != number);
    }

    /// Whether transactions that write are under way.
    pub(crate) fn is_writing(&self) -> bool {
        !locked(&self.active).scopes.is_empty()
    }

    /// For those who change rows of the whole store: one at a time.
    pub(crate) fn direct(&self) -> MutexGuard<'_, ()> {
        locked(&self.direct)
    }

    /// A number for a scope of the undo log, not on disk and not in use.
    pub(crate) fn new_scope_id(&self) -> Result<ScopeId> {
        let number = self.next_scope.fetch_add(1, Ordering::Relaxed);
        ScopeId::new(number)
            .ok_or_else(|| Error::new(ErrorKind::Usage, "the undo log has no scope numbers left"))
    }
}
