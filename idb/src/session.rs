//! Sessions whose stores lie in memory, beside those on disk: private browsing.

use std::fmt;
use std::sync::Arc;

use larder_codec::Origin as OriginName;
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};

use crate::factory::Factory;
use crate::origin::Place;
use crate::storage::Storage;

/// Stores in memory, of any number of origins, which see nothing of those on disk or in other sessions. Clones are the same session.
///
/// When the last handle goes, all of it is deleted: connections are closed by force, and get the event of it. [`Factory`]s of it still work, on
/// stores that begin empty, and end with the storage.
#[derive(Clone)]
pub struct PrivateSession(Arc<Inner>);

struct Inner {
    number: u64,
    fs: Arc<dyn FileSystem>,
    storage: Storage,
}

impl Storage {
    /// A session whose stores lie in memory, beside those on disk, and go with it.
    #[must_use]
    pub fn private_session(&self) -> PrivateSession {
        let number = self.inner().next_session();
        PrivateSession::new(number, self.clone())
    }
}

impl PrivateSession {
    pub(crate) fn new(number: u64, storage: Storage) -> Self {
        Self(Arc::new(Inner {
            number,
            fs: Arc::new(MemoryFileSystem::new()),
            storage,
        }))
    }

    /// The databases of an origin in this session.
    #[must_use]
    pub fn factory(&self, origin: &OriginName) -> Factory {
        let Inner {
            number,
            fs,
            storage,
        } = &*self.0;
        storage.factory_at(origin, Place::of_session(Arc::clone(fs), *number, origin))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.storage.delete_session(self.number);
    }
}

impl fmt::Debug for PrivateSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateSession")
            .field("number", &self.0.number)
            .finish_non_exhaustive()
    }
}
