//! The files of a store's databases, and the moments of them that are held.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use larder_backing_store::Error;
use larder_codec::DatabaseId;
use larder_leveldb::storage::FileLock;

use super::file::LiveFile;
use super::rows::Moment;
use crate::blobs::Databases;
use crate::schema::Schema;

/// The files.
#[derive(Debug)]
pub(super) struct LiveFiles {
    pub(super) dir: PathBuf,
    files: Mutex<BTreeMap<DatabaseId, Arc<LiveFile>>>,
    moments: Mutex<Vec<Weak<Moment>>>,
    /// The files as contents of blobs are read from them; those of deleted databases stay as long as blobs of theirs are held.
    pub(super) contents: Databases,
    /// No other Larder writes to the store, until it is closed.
    lock: Mutex<Option<Box<dyn FileLock>>>,
}

impl LiveFiles {
    pub(super) fn new(dir: PathBuf, contents: Databases, lock: Box<dyn FileLock>) -> Self {
        Self {
            dir,
            files: Mutex::default(),
            moments: Mutex::default(),
            contents,
            lock: Mutex::new(Some(lock)),
        }
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<DatabaseId, Arc<LiveFile>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, id: DatabaseId) -> Option<Arc<LiveFile>> {
        self.files().get(&id).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<LiveFile>> {
        self.files().values().cloned().collect()
    }

    pub(super) fn insert(&self, file: Arc<LiveFile>) {
        self.contents.insert(file.id, Arc::clone(&file.now));
        self.files().insert(file.id, file);
    }

    /// The file is deleted. The contents of its blobs can be read on.
    pub(super) fn remove(&self, id: DatabaseId) {
        self.files().remove(&id);
    }

    /// Gives all files up, and then the lock.
    pub(super) fn close(&self) {
        for id in std::mem::take(&mut *self.files()).into_keys() {
            self.contents.remove(id);
        }
        self.lock
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    /// This moment, of all files.
    pub(super) fn moment(self: &Arc<Self>) -> Arc<Moment> {
        let moment = Arc::new(Moment::new(Arc::clone(self)));
        let mut moments = self.moments();
        if moments.len() == moments.capacity() {
            moments.retain(|moment| moment.strong_count() > 0);
        }
        moments.push(Arc::downgrade(&moment));
        moment
    }

    fn moments(&self) -> MutexGuard<'_, Vec<Weak<Moment>>> {
        self.moments.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Before a commit to a file ends, in its turn: moments that have not looked at the file hold it as it still is.
    pub(super) fn hold_in_all(
        &self,
        file: &Arc<LiveFile>,
        schema: &Arc<Schema>,
    ) -> Result<(), Error> {
        let moments: Vec<_> = {
            let mut moments = self.moments();
            moments.retain(|moment| moment.strong_count() > 0);
            moments.iter().filter_map(Weak::upgrade).collect()
        };
        let mut shared = None;
        let mut moments = moments.iter();
        moments.try_for_each(|moment| moment.hold(file, schema, &mut shared).map(drop))
    }

    /// Before a file is there: it is not in moments from before.
    pub(super) fn leave_out_in_all(&self, id: DatabaseId) {
        for moment in self.moments().iter().filter_map(Weak::upgrade) {
            moment.leave_out(id);
        }
    }
}
