//! A store that is open, and its users: with the last of them it becomes idle.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use larder_backing_store::{BackingStore, ReadTransaction, Store, StoreVersions, Usage};

use super::Origin;
use crate::error::{Error, ErrorName, Result, attempt};
use crate::sync::AtomicBool;

/// The backing store, opened for writing or for reading alone.
pub(crate) enum Backing {
    Writing(BackingStore),
    Reading(Box<Store>),
}

impl Backing {
    /// The one that writes.
    ///
    /// # Errors
    /// `ReadOnlyError` if it is only read.
    pub(crate) fn writer(&self) -> Result<&BackingStore> {
        match self {
            Self::Writing(backing) => Ok(backing),
            Self::Reading(_) => Err(read_only()),
        }
    }

    /// Begins a transaction that reads what is committed now, or was when a store that is only read was opened.
    pub(crate) fn read(&self) -> ReadTransaction {
        match self {
            Self::Writing(backing) => backing.read(),
            Self::Reading(store) => store.read(),
        }
    }

    pub(crate) fn versions(&self) -> Arc<StoreVersions> {
        match self {
            Self::Writing(backing) => backing.versions(),
            Self::Reading(store) => store.versions(),
        }
    }

    /// # Errors
    /// If files cannot be listed.
    pub(super) fn usage(&self) -> Result<Usage> {
        Ok(match self {
            Self::Writing(backing) => backing.usage()?,
            Self::Reading(store) => {
                larder_backing_store::usage(Arc::clone(store.fs()), store.paths())?
            }
        })
    }

    /// Whether a blob is held, whose content closing it would take away.
    fn is_in_use(&self) -> bool {
        match self {
            Self::Writing(backing) => backing.is_in_use(),
            Self::Reading(_) => false,
        }
    }

    fn close(self) -> Result<()> {
        match self {
            Self::Writing(backing) => Ok(backing.close()?),
            Self::Reading(_) => Ok(()),
        }
    }
}

/// Why nothing can be written, made or deleted.
pub(crate) fn read_only() -> Error {
    let what = "the storage is only read (`StorageOptions::read_only`)";
    Error::new(ErrorName::ReadOnlyError, what)
}

/// A store that is open: dropped, it is closed.
pub(super) struct Kept {
    /// There until it is closed.
    backing: Option<Backing>,
}

impl Kept {
    pub(super) const fn new(backing: Backing) -> Self {
        Self {
            backing: Some(backing),
        }
    }

    /// Whether a blob of it is held.
    pub(super) fn is_in_use(&self) -> bool {
        self.backing.as_ref().is_some_and(Backing::is_in_use)
    }

    /// # Errors
    /// As closing it. The lock on the folder has gone in any case.
    pub(super) fn close(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        match self.backing.take() {
            Some(backing) => attempt(|| backing.close()),
            None => Ok(()),
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // A caller that needs the result calls `close`.
        let _ = self.end();
    }
}

/// A store, as long as it is used.
pub(crate) struct OpenStore {
    /// There until it is dropped.
    kept: Option<Kept>,
    origin: Weak<Origin>,
    is_retired: AtomicBool,
}

impl OpenStore {
    pub(super) fn new(kept: Kept, origin: &Arc<Origin>) -> Arc<Self> {
        Arc::new(Self {
            kept: Some(kept),
            origin: Arc::downgrade(origin),
            is_retired: AtomicBool::new(false),
        })
    }

    #[expect(clippy::expect_used, reason = "only dropping takes it out")]
    pub(crate) fn backing(&self) -> &Backing {
        let backing = self.kept.as_ref().and_then(|kept| kept.backing.as_ref());
        backing.expect("a store that is in use")
    }

    /// Whether it takes no writes any more.
    pub(crate) fn is_retired(&self) -> bool {
        self.is_retired.load(Ordering::Acquire)
    }

    /// Whether this is what retires it.
    pub(super) fn retire(&self) -> bool {
        !self.is_retired.swap(true, Ordering::AcqRel)
    }
}

impl Drop for OpenStore {
    fn drop(&mut self) {
        if let (Some(kept), Some(origin)) = (self.kept.take(), self.origin.upgrade()) {
            origin.put_down(kept);
        }
    }
}
