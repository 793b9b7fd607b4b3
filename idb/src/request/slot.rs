//! Where the result of a request appears, and who is told of it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;

use crate::connection::Handover;
use crate::error::Result;
use crate::executor::Callback;
use crate::sync::{Mutex, Thread, locked};

/// A host's code that is given a result.
pub(crate) type OnDone<T> = Box<dyn FnOnce(Result<T>) + Send>;

/// Who is told.
pub(crate) enum Waiter<T> {
    Nobody,
    Waker(Waker),
    Thread(Thread),
    Callback(OnDone<T>),
}

/// The place.
pub(crate) enum Slot<T> {
    Open(Waiter<T>),
    Done(Result<T>),
    Taken,
}

/// Who is to be told now, outside of all locks.
pub(crate) enum Wake<T> {
    Nobody,
    Waker(Waker),
    Thread(Thread),
    Callback(OnDone<T>, Result<T>),
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self::Open(Waiter::Nobody)
    }
}

impl<T> Slot<T> {
    /// Puts the result there. A second one is let go.
    pub(crate) fn fill(&mut self, result: Result<T>) -> Wake<T> {
        let Self::Open(waiter) = self else {
            return Wake::Nobody;
        };
        let waiter = std::mem::replace(waiter, Waiter::Nobody);
        let wake = match waiter {
            Waiter::Callback(on_done) => {
                *self = Self::Taken;
                return Wake::Callback(on_done, result);
            }
            Waiter::Nobody => Wake::Nobody,
            Waiter::Waker(waker) => Wake::Waker(waker),
            Waiter::Thread(thread) => Wake::Thread(thread),
        };
        *self = Self::Done(result);
        wake
    }

    pub(crate) fn take(&mut self) -> Option<Result<T>> {
        match self {
            Self::Done(_) => match std::mem::replace(self, Self::Taken) {
                Self::Done(result) => Some(result),
                _ => None,
            },
            _ => None,
        }
    }

    pub(crate) const fn is_done(&self) -> bool {
        !matches!(self, Self::Open(_))
    }

    /// Notes who is to be told; gives it back if there is no more to tell.
    pub(crate) fn listen(&mut self, waiter: Waiter<T>) -> Option<Waiter<T>> {
        match self {
            Self::Open(old) => {
                *old = waiter;
                None
            }
            _ => Some(waiter),
        }
    }
}

impl<T: Send + 'static> Wake<T> {
    /// Wakes; a callback is given back, to be called when its turn has come.
    pub(crate) fn wake(self) -> Option<Callback> {
        match self {
            Self::Nobody => None,
            Self::Waker(waker) => wake(waker),
            Self::Thread(thread) => {
                thread.unpark();
                None
            }
            Self::Callback(on_done, result) => Some(Box::new(move || on_done(result))),
        }
    }
}

/// Wakes a future. What a host's waker throws comes out where callbacks are called.
pub(crate) fn wake(waker: Waker) -> Option<Callback> {
    let thrown = catch_unwind(AssertUnwindSafe(|| waker.wake())).err()?;
    Some(Box::new(move || resume_unwind(thrown)))
}

/// A request's end of a slot, whatever else lies beside the slot.
pub(crate) trait Outlet<T>: Send + Sync {
    fn with(&self, look: &mut dyn FnMut(&mut Slot<T>));

    fn take(&self) -> Option<Result<T>> {
        let mut taken = None;
        self.with(&mut |slot| taken = slot.take());
        taken
    }

    fn is_done(&self) -> bool {
        let mut is_done = false;
        self.with(&mut |slot| is_done = slot.is_done());
        is_done
    }

    /// What goes when the host has dealt with the result.
    fn handover(&self) -> Option<Handover> {
        None
    }

    fn listen(&self, waiter: Waiter<T>) -> Option<Waiter<T>> {
        let mut refused = Some(waiter);
        self.with(&mut |slot| refused = refused.take().and_then(|waiter| slot.listen(waiter)));
        refused
    }
}

/// A slot alone.
pub(crate) struct LoneSlot<T>(Mutex<Slot<T>>);

impl<T> Default for LoneSlot<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Send + 'static> LoneSlot<T> {
    /// Puts the result there, and tells who waits; a callback is given back.
    pub(crate) fn complete(&self, result: Result<T>) -> Option<Callback> {
        let wake = locked(&self.0).fill(result);
        wake.wake()
    }
}

impl<T: Send> Outlet<T> for LoneSlot<T> {
    fn with(&self, look: &mut dyn FnMut(&mut Slot<T>)) {
        look(&mut locked(&self.0));
    }
}
