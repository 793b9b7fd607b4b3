//! Where calls from C come in: what panics inside becomes an error, and a null handle too.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};
use crate::pointers::ErrorOut;

/// Does a call's work. What fails is put at the host's place for errors.
pub(crate) fn run<T>(error: ErrorOut, work: impl FnOnce() -> Result<T>) -> Option<T> {
    match caught(work) {
        Ok(done) => Some(done),
        Err(failed) => {
            error.set(failed);
            None
        }
    }
}

/// Does the work of a call that answers with whether it succeeded. What fails is put at the host's place for errors.
pub(crate) fn succeeds(error: ErrorOut, work: impl FnOnce() -> Result<()>) -> bool {
    run(error, work).is_some()
}

/// Does the work of a call that makes a handle. What fails is put at the host's place for errors.
pub(crate) fn made<T>(error: ErrorOut, work: impl FnOnce() -> Result<T>) -> Option<Box<T>> {
    run(error, work).map(Box::new)
}

/// Does the work of a call that has no place for an error; if it panics, the answer is `fallback`.
pub(crate) fn or_else<T>(fallback: T, work: impl FnOnce() -> T) -> T {
    caught(|| Ok(work())).unwrap_or(fallback)
}

/// Does work, and turns its panic into an error. The panic hook has run by then.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let work = || {
        #[cfg(test)]
        tests::panic_if_asked();
        work()
    };
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(Error::of_panic(&*panic)))
}

/// A handle that must be there.
///
/// # Errors
/// `TypeError` if it is null.
pub(crate) fn given<'a, T>(handle: Option<&'a T>, what: &str) -> Result<&'a T> {
    handle.ok_or_else(|| Error::of_type(&format!("{what} is null")))
}

#[cfg(test)]
pub(crate) mod tests {
    //! A way to let any call panic.

    use std::cell::Cell;

    thread_local! {
        static IS_ASKED: Cell<bool> = const { Cell::new(false) };
    }

    /// The calls of this thread that come panic inside, as one with a defect would.
    pub(crate) fn panicking<T>(calls: impl FnOnce() -> T) -> T {
        IS_ASKED.set(true);
        let done = calls();
        IS_ASKED.set(false);
        done
    }

    pub(crate) fn panic_if_asked() {
        if IS_ASKED.get() {
            panic!("a defect");
        }
    }
}
