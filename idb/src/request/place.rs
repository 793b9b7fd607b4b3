//! Where a request finds its result: in a slot of its own, or in one of several that lie together.

use std::sync::Arc;

use super::slot::{Outlet, Slot, Waiter, Wake};
use crate::connection::Handover;
use crate::error::Result;
use crate::sync::{Mutex, locked};

/// Slots for the results of several requests, which come at the same time.
pub(crate) struct Slots<T>(Mutex<Box<[Slot<T>]>>);

impl<T: Send + 'static> Slots<T> {
    pub(crate) fn new(count: usize) -> Arc<Self> {
        let slots = (0..count).map(|_| Slot::default());
        Arc::new(Self(Mutex::new(slots.collect())))
    }

    /// Puts results into the first slots, and tells who is to be told of which.
    pub(crate) fn fill(
        &self,
        results: impl Iterator<Item = Result<T>>,
    ) -> impl Iterator<Item = (usize, Wake<T>)> {
        let mut wakes = Vec::new();
        let mut slots = locked(&self.0);
        for ((n, slot), result) in slots.iter_mut().enumerate().zip(results) {
            match slot.fill(result) {
                Wake::Nobody => {}
                wake => wakes.push((n, wake)),
            }
        }
        wakes.into_iter()
    }

    fn with<R>(&self, n: usize, work: impl FnOnce(&mut Slot<T>) -> R) -> Option<R> {
        locked(&self.0).get_mut(n).map(work)
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
            Self::OneOf(slots, n) => slots.with(*n, Slot::take).flatten(),
        }
    }

    /// As [`Slot::is_done`].
    pub(super) fn is_done(&self) -> bool {
        match self {
            Self::Alone(outlet) => outlet.is_done(),
            Self::OneOf(slots, n) => slots.with(*n, |slot| slot.is_done()).unwrap_or(true),
        }
    }

    /// As [`Slot::listen`].
    pub(super) fn listen(&self, waiter: Waiter<T>) -> Option<Waiter<T>> {
        match self {
            Self::Alone(outlet) => outlet.listen(waiter),
            Self::OneOf(slots, n) => slots.with(*n, |slot| slot.listen(waiter)).flatten(),
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
