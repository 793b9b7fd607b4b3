//! Why a store refuses writes, if it does: an error after which it is not known what is on the medium, or a panic (of the
//! caller's comparator) after which it is not known what is done.

use super::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{AtomicBool, Mutex};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// The first failure after which it is not known what is on the medium. It stays until the store is opened again.
#[derive(Debug, Default)]
pub(super) struct Health {
    failed: AtomicBool,
    why: Mutex<Option<String>>,
}

impl Health {
    /// Writes are refused from now on.
    pub(super) fn fail(&self, error: &Error) {
        let mut why = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        why.get_or_insert_with(|| error.to_string());
        self.failed.store(true, Ordering::Release);
    }

    pub(super) fn is_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Fails, with the reason, once something has failed.
    pub(super) fn check(&self) -> Result<()> {
        if !self.is_failed() {
            return Ok(());
        }
        let why = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        let why = why.as_deref().unwrap_or("");
        let what = format!("writes are refused until the store is opened again, after: {why}");
        Err(Error::new(ErrorKind::Closed, what))
    }
}

/// Says that something has panicked, if it is dropped before it was told that nothing has.
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
    /// Does what calls the comparator, and may panic where that does: then writes are refused from now on, and whoever waits
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
}
