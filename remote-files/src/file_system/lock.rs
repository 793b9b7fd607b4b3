//! The locks of files, within the process that writes the namespace. Between processes it is the namespace that is locked.

use super::{RemoteFileSystem, Shared, locked};
use crate::place::Place;
use larder_leveldb::storage::FileLock;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

impl Shared {
    pub(super) fn is_locked(&self, blob: u64) -> bool {
        let locks = locked(&self.locks);
        locks
            .iter()
            .any(|lock| lock.load(Ordering::Relaxed) == blob)
    }

    /// A file that is locked goes on under another number.
    pub(super) fn move_locks(&self, before: u64, blob: u64) {
        for lock in &*locked(&self.locks) {
            if lock.load(Ordering::Relaxed) == before {
                lock.store(blob, Ordering::Relaxed);
            }
        }
    }

    /// Takes the lock of a file.
    pub(super) fn take_lock(self: &Arc<Self>, place: &Place, blob: u64) -> io::Result<RemoteLock> {
        let mut locks = locked(&self.locks);
        if locks
            .iter()
            .any(|lock| lock.load(Ordering::Relaxed) == blob)
        {
            return Err(io::Error::new(
                io::ErrorKind::WouldBlock,
                "this process holds the lock already: close its other handle",
            ));
        }
        let blob = Arc::new(AtomicU64::new(blob));
        locks.push(Arc::clone(&blob));
        Ok(RemoteLock {
            files: RemoteFileSystem {
                shared: Arc::clone(self),
            },
            place: place.clone(),
            blob,
        })
    }
}

/// The lock of a file.
#[derive(Debug)]
pub(super) struct RemoteLock {
    files: RemoteFileSystem,
    place: Place,
    blob: Arc<AtomicU64>,
}

impl FileLock for RemoteLock {
    fn is_held(&self) -> io::Result<bool> {
        let owner = self.files.shared.owner()?;
        if !owner.is_held()? {
            return Ok(false);
        }
        let blob = self.blob.load(Ordering::Relaxed);
        Ok(owner
            .names()
            .file(&self.place)
            .is_ok_and(|row| row.blob == blob))
    }
}

impl Drop for RemoteLock {
    fn drop(&mut self) {
        locked(&self.files.shared.locks).retain(|lock| !Arc::ptr_eq(lock, &self.blob));
    }
}
