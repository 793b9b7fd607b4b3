//! Where a request finds its result: in a slot of its own, or in one of several that lie together.

use std::sync::Arc;

use super::slot::{Outlet, Waiter, Wake};
use crate::connection::Handover;
use crate::error::Result;
use crate::sync::{Mutex, locked};

/// Slots for the results of several requests, which come at the same time.
pub(crate) struct Slots<T>(Mutex<Several<T>>);

enum Several<T> {
    /// Who is to be told, of those that somebody waits for.
    Open(Vec<(usize, Waiter<T>)>),
    /// `None` where it has been taken.
    Done(Vec<Option<Result<T>>>),
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self(Mutex::new(Several::Open(Vec::new())))
    }
}

impl<T: Send + 'static> Slots<T> {
    /// Puts the results there, and tells who is to be told of which, in their order. Second ones are let go.
    pub(crate) fn fill(&self, mut results: Vec<Option<Result<T>>>) -> Vec<(usize, Wake<T>)> {
        let mut several = locked(&self.0);
        let Several::Open(waiters) = &mut *several else {
            return Vec::new();
        };
        let mut waiters = std::mem::take(waiters);
        waiters.sort_unstable_by_key(|(n, _)| *n);
        let wakes = waiters.into_iter().filter_map(|(n, waiter)| {
            let wake = match waiter {
                Waiter::Callback(on_done) => Wake::Callback(on_done, results.get_mut(n)?.take()?),
                Waiter::Nobody => Wake::Nobody,
                Waiter::Waker(waker) => Wake::Waker(waker),
                Waiter::Thread(thread) => Wake::Thread(thread),
            };
            Some((n, wake))
        });
        let wakes = wakes.collect();
        *several = Several::Done(results);
        wakes
    }

    fn take(&self, n: usize) -> Option<Result<T>> {
        match &mut *locked(&self.0) {
            Several::Open(_) => None,
            Several::Done(results) => results.get_mut(n)?.take(),
        }
    }

    fn is_done(&self) -> bool {
        matches!(*locked(&self.0), Several::Done(_))
    }

    fn listen(&self, n: usize, waiter: Waiter<T>) -> Option<Waiter<T>> {
        match &mut *locked(&self.0) {
            Several::Done(_) => return Some(waiter),
            Several::Open(waiters) => match waiters.iter_mut().find(|(of, _)| *of == n) {
                Some((_, old)) => *old = waiter,
                None => waiters.push((n, waiter)),
            },
        }
        None
    }
}

/// A request's end of its slot.
pub(crate) enum Place<T> {
    Alone(Arc<dyn Outlet<T>>),
    OneOf(Arc<Slots<T>>, usize),
}

impl<T: Send + 'static> Place<T> {
    /// As [`Slot::take`].
    pub(super) fn take(&mut self) -> Option<Result<T>> {
        match self {
            // Most results are taken when who has executed the operation is done with it.
            Self::Alone(outlet) if Arc::strong_count(outlet) == 1 => match Arc::get_mut(outlet) {
                Some(outlet) => outlet.take_alone(),
                None => outlet.take(),
            },
            Self::Alone(outlet) => outlet.take(),
            Self::OneOf(slots, n) => slots.take(*n),
        }
    }

    /// As [`Slot::is_done`].
    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Alone(outlet) => outlet.is_done(),
            Self::OneOf(slots, _) => slots.is_done(),
        }
    }

    /// As [`Slot::listen`].
    pub(super) fn listen(&self, waiter: Waiter<T>) -> Option<Waiter<T>> {
        match self {
            Self::Alone(outlet) => outlet.listen(waiter),
            Self::OneOf(slots, n) => slots.listen(*n, waiter),
        }
    }

    /// As [`Outlet::handover`].
    pub(super) fn handover(&self) -> Option<Handover> {
        match self {
            Self::Alone(outlet) => outlet.handover(),
            Self::OneOf(..) => None,
        }
    }
}
