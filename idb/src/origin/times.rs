//! When an origin was used and written to last, whether it is to stay, and how it is deleted.

use std::sync::Arc;

use larder_backing_store::{BackingStore, OriginNote, delete_store, is_persisted, set_persisted};

use super::{Origin, Stored};
use crate::error::{Error, ErrorName, Result, attempt};
use crate::executor::Callback;
use crate::request::completion::Completion;
use crate::sync::locked;

impl Origin {
    /// Its store has been opened: from now on the times are those that are kept here.
    pub(super) fn note_opened(&self, backing: &BackingStore) {
        let now_us = self.shared.idle.now_us();
        let read = || Ok(OriginNote::read(&*self.place.fs, &self.place.paths())?);
        // A note that cannot be read is made anew: this counts as the store's first use.
        let mut note = attempt(read).unwrap_or_default();
        note.last_used_us = now_us;
        note.is_open = true;
        *locked(&self.note) = Some(note);
        // Without room there is no note, and the files' times count.
        let _ = attempt(|| Ok(backing.write_note(&note)?));
    }

    /// The store, which was open, is used.
    pub(super) fn note_used(&self) {
        let now_us = self.shared.idle.now_us();
        if let Some(note) = &mut *locked(&self.note) {
            note.last_used_us = now_us;
        }
    }

    /// Something was committed.
    pub(crate) fn note_modified(&self) {
        let now_us = self.shared.idle.now_us();
        if let Some(note) = &mut *locked(&self.note) {
            note.last_modified_us = now_us;
            note.last_used_us = now_us;
        }
    }

    /// The store has been closed.
    pub(super) fn note_closed(&self) {
        if let Some(mut note) = locked(&self.note).take() {
            note.is_open = false;
            let write = || Ok(note.write(&*self.place.fs, &self.place.paths())?);
            let _ = attempt(write);
        }
    }

    /// Whether it is to stay when room is wanted.
    ///
    /// # Errors
    /// If that cannot be found out.
    pub(crate) fn is_persisted(&self) -> Result<bool> {
        Ok(is_persisted(&*self.place.fs, &self.place.paths())?)
    }

    /// # Errors
    /// `SecurityError` if it is opaque; if that cannot be written.
    pub(crate) fn set_persisted(&self, is_to_stay: bool) -> Result<()> {
        self.check_name()?;
        self.check_writes()?;
        // It is not being deleted meanwhile.
        let _turn = locked(&self.opening);
        let fs = &*self.place.fs;
        Ok(set_persisted(fs, &self.place.paths(), is_to_stay)?)
    }

    /// Closes all connections by force, and deletes the store with all that lies beside it. Requests that come meanwhile wait, and find
    /// none. If it `must_be_unused`, one that is in use stays.
    pub(crate) fn delete(
        self: &Arc<Self>,
        must_be_unused: bool,
        completion: Completion<()>,
    ) -> Option<Callback> {
        if let Err(error) = self.check_writes() {
            return completion.complete(Err(error));
        }
        let _turn = locked(&self.opening);
        let (used, idle) = {
            let mut state = locked(&self.state);
            if state.is_closing {
                drop(state);
                return completion.complete(Err(Error::storage_closed()));
            }
            let used = match &state.store {
                Stored::InUse(store) => store.upgrade(),
                _ => None,
            };
            if must_be_unused && used.is_some() {
                drop(state);
                let what = "the origin is in use";
                return completion.complete(Err(Error::new(ErrorName::InvalidStateError, what)));
            }
            state.deleting.push(completion);
            if matches!(state.store, Stored::Closed) {
                state.store = Stored::Going;
                drop(state);
                self.gone(Ok(()));
                return None;
            }
            (used, self.take_idle(&mut state))
        };
        self.close_by_force(used, idle);
        None
    }

    /// Deletes the store, which is closed and is not opened meanwhile.
    pub(super) fn delete_files(&self) -> Result<()> {
        *locked(&self.note) = None;
        let fs = &*self.place.fs;
        let leveldb = self.place.in_leveldb();
        delete_store(fs, leveldb)?;
        #[cfg(feature = "sqlite")]
        {
            let sqlite = leveldb.in_sqlite();
            if crate::store_form::is_sqlite_folder(fs, &sqlite) {
                larder_sqlite_store::delete_store(fs, &sqlite)?;
            }
        }
        if self.place.bucket.is_some() {
            // Its folders, unless other parts of the bucket lie there.
            for folder in leveldb.leveldb.ancestors().skip(1).take(2) {
                let _ = fs.remove_dir(folder);
            }
        }
        Ok(())
    }
}
