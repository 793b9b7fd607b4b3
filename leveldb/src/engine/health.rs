//! What keeps a store from writing, or its background work from going on.
//!
//! Three sorts of failures. After one that leaves open what is on the medium, or a panic (of the caller's comparator) that leaves
//! open what is done, or the loss of the lock, writes are **refused** until the store is opened again. Background work that
//! fails without such a doubt, for instance since a table could not be read or the disk is full, is **put off**: nothing of
//! it was installed, and it is tried again when there is a new reason, a memtable that is full or a writer that has to wait for
//! it. No clock is needed for that, and no thread spins. Tables in which a compaction meets damage are **given up**: they are
//! part of no further one, and everything else goes on.

use super::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{AtomicBool, Mutex, MutexGuard};
use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// The failures that matter until the store is opened again, or until something is tried again.
#[derive(Debug, Default)]
pub(super) struct Health {
    is_failed: AtomicBool,
    is_put_off: AtomicBool,
    /// The last thing that needed room found none.
    is_short_of_room: AtomicBool,
    causes: Mutex<Causes>,
}

#[derive(Debug, Default)]
struct Causes {
    /// The first one after which writes are refused.
    refused: Option<Error>,
    /// The last one of the background work.
    put_off: Option<Error>,
    /// Tables by number, and what was met in the first of them.
    given_up: BTreeSet<u64>,
    damage: Option<Error>,
}

impl Health {
    fn causes(&self) -> MutexGuard<'_, Causes> {
        self.causes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes are refused from now on.
    pub(super) fn fail(&self, error: &Error) {
        let mut causes = self.causes();
        causes.refused.get_or_insert_with(|| error.clone());
        self.is_failed.store(true, Ordering::Release);
    }

    pub(super) fn is_failed(&self) -> bool {
        self.is_failed.load(Ordering::Acquire)
    }

    /// Fails, with the reason, once writes are refused.
    pub(super) fn check(&self) -> Result<()> {
        if !self.is_failed() {
            return Ok(());
        }
        let causes = self.causes();
        let what = "writes are refused until the store is opened again, after";
        Err(match &causes.refused {
            Some(why) => why.within(ErrorKind::Closed, what),
            None => Error::new(ErrorKind::Closed, what),
        })
    }

    /// Something has failed, maybe for want of room.
    pub(super) fn note_room(&self, error: &Error) {
        if error.is_out_of_space() {
            self.is_short_of_room.store(true, Ordering::Release);
        }
    }

    /// A table was made: there is room.
    pub(super) fn has_room(&self) {
        self.is_short_of_room.store(false, Ordering::Release);
    }

    pub(super) fn is_short_of_room(&self) -> bool {
        self.is_short_of_room.load(Ordering::Acquire)
    }

    /// Background work has failed, and can be tried again.
    pub(super) fn put_off(&self, error: &Error) {
        self.note_room(error);
        let mut causes = self.causes();
        causes.put_off = Some(error.clone());
        self.is_put_off.store(true, Ordering::Release);
    }

    pub(super) fn is_put_off(&self) -> bool {
        self.is_put_off.load(Ordering::Acquire)
    }

    /// Why background work is put off, if it is.
    pub(super) fn put_off_by(&self) -> Option<Error> {
        match self.is_put_off() {
            true => self.causes().put_off.clone(),
            false => None,
        }
    }

    /// Background work is to be tried again.
    pub(super) fn resume(&self) {
        if self.is_put_off() {
            let mut causes = self.causes();
            causes.put_off = None;
            self.is_put_off.store(false, Ordering::Release);
        }
    }

    /// No compaction takes these tables any more.
    pub(super) fn give_up(&self, tables: impl IntoIterator<Item = u64>, error: &Error) {
        let mut causes = self.causes();
        causes.given_up.extend(tables);
        causes.damage.get_or_insert_with(|| error.clone());
    }

    pub(super) fn given_up(&self) -> BTreeSet<u64> {
        self.causes().given_up.clone()
    }

    /// What to say to a write that waits for a compaction of which there is none: no table that could be merged is whole.
    pub(super) fn stuck(&self) -> Error {
        match &self.causes().damage {
            Some(damage) => {
                let what = "level 0 is full, and damage is in the way of its compaction: nothing more can be written until \
                            the store is repaired";
                damage.within(ErrorKind::Corruption, what)
            }
            None => Error::new(
                ErrorKind::Closed,
                "level 0 is full, and no background work is left that could make room: open the store again",
            ),
        }
    }
}

/// Says that something has panicked, if it is dropped before it is disarmed.
struct Watch<'a> {
    engine: &'a Engine,
    what: &'static str,
    is_over: bool,
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.engine.fail(&panicked(self.what));
        }
    }
}

pub(super) fn panicked(what: &str) -> Error {
    Error::new(ErrorKind::Closed, format!("{what} has panicked"))
}

impl Engine {
    /// Does what calls the comparator, and may panic where that does: then writes are refused from now on, and every thread that waits
    /// hears of it.
    pub(super) fn watched<T>(&self, what: &'static str, work: impl FnOnce() -> T) -> T {
        let mut watch = Watch {
            engine: self,
            what,
            is_over: false,
        };
        let done = work();
        watch.is_over = true;
        done
    }

    /// Fails unless the store's lock is still held where the store was opened. Called before a file is made or removed there, and
    /// around every strict write: if the folder or LOCK was removed, renamed or replaced, the path may lead to a store of another
    /// process by now.
    pub(super) fn check_lock(&self) -> Result<()> {
        match self.lock.is_held() {
            Ok(true) => Ok(()),
            Ok(false) => {
                let what = format!(
                    "{}: the folder or its LOCK was removed, renamed or replaced while the store was open, so that another program may \
                     have opened it, too: nothing more is written; close the store, put its folder back and open it again",
                    self.core.dir.display()
                );
                let error = Error::new(ErrorKind::Conflict, what);
                self.fail(&error);
                Err(error)
            }
            Err(error) => {
                let what = "cannot find out whether the lock is still held";
                Err(Error::io("LOCK", what, error))
            }
        }
    }
}
