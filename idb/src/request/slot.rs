//! Where the result of a request appears, and who is told of it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;
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

/// The place. Until the result is there it holds `W`, what gives it, so that one piece of memory serves for both.
pub(crate) enum Slot<T, W = ()> {
    Open(Waiter<T>, Option<W>),
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
        Self::Open(Waiter::Nobody, None)
    }
}

impl<T, W> Slot<T, W> {
    /// One for the result of `work`.
    pub(crate) const fn of(work: W) -> Self {
        Self::Open(Waiter::Nobody, Some(work))
    }

    /// What gives the result, if nobody has it and there is no result.
    pub(crate) const fn take_work(&mut self) -> Option<W> {
        match self {
            Self::Open(_, work) => work.take(),
            Self::Done(_) | Self::Taken => None,
        }
    }

    /// Puts the result there. A second one is let go.
    pub(crate) fn fill(&mut self, result: Result<T>) -> Wake<T> {
        let Self::Open(waiter, _) = self else {
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
        !matches!(self, Self::Open(..))
    }

    /// Notes who is to be told; gives it back if there is no more to tell.
    pub(crate) fn listen(&mut self, waiter: Waiter<T>) -> Option<Waiter<T>> {
        match self {
            Self::Open(old, _) => {
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
    /// As [`Slot::take`].
    fn take(&self) -> Option<Result<T>>;

    /// The same, when nobody else has it: perhaps without the lock.
    fn take_alone(&mut self) -> Option<Result<T>> {
        self.take()
    }

    /// As [`Slot::is_done`].
    fn is_done(&self) -> bool;

    /// As [`Slot::listen`].
    fn listen(&self, waiter: Waiter<T>) -> Option<Waiter<T>>;

    /// What goes when the host has dealt with the result.
    fn handover(&self) -> Option<Handover> {
        None
    }
}

/// What lies around a slot that is asked for its result as it is.
pub(crate) trait HasSlot<T>: Send + Sync {
    /// What gives the result.
    type Work;

    fn slot(&self) -> &Mutex<Slot<T, Self::Work>>;

    fn slot_mut(&mut self) -> &mut Mutex<Slot<T, Self::Work>>;
}

/// What is in a lock that nobody else has.
fn alone<T>(lock: &mut Mutex<T>) -> &mut T {
    lock.get_mut().unwrap_or_else(PoisonError::into_inner)
}

impl<T, S: HasSlot<T>> Outlet<T> for S {
    fn take(&self) -> Option<Result<T>> {
        locked(self.slot()).take()
    }

    fn take_alone(&mut self) -> Option<Result<T>> {
        alone(self.slot_mut()).take()
    }

    fn is_done(&self) -> bool {
        locked(self.slot()).is_done()
    }

    fn listen(&self, waiter: Waiter<T>) -> Option<Waiter<T>> {
        locked(self.slot()).listen(waiter)
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
    /// As [`Slot::fill`].
    pub(crate) fn fill(&self, result: Result<T>) -> Wake<T> {
        locked(&self.0).fill(result)
    }

    /// The same, when nobody else has it: without the lock.
    pub(crate) fn fill_alone(&mut self, result: Result<T>) -> Wake<T> {
        alone(&mut self.0).fill(result)
    }

    /// Puts the result there, and tells who waits; a callback is given back.
    pub(crate) fn complete(&self, result: Result<T>) -> Option<Callback> {
        self.fill(result).wake()
    }
}

impl<T: Send> HasSlot<T> for LoneSlot<T> {
    type Work = ();

    fn slot(&self) -> &Mutex<Slot<T>> {
        &self.0
    }

    fn slot_mut(&mut self) -> &mut Mutex<Slot<T>> {
        &mut self.0
    }
}
