//! Completions: the places where the results of requests appear, and what listens for them.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::task::Waker;

use smallvec::{SmallVec, smallvec};

use crate::error::Result;
use crate::executor::Callback;
use crate::sync::{Mutex, Thread, locked};

/// A host's code that is given a result.
pub(crate) type OnDone<T> = Box<dyn FnOnce(Result<T>) + Send>;

/// What is woken by the result.
pub(crate) enum Listener<T> {
    Waker(Waker),
    Thread(Thread),
    Callback(OnDone<T>),
}

/// The places of the results of operations that are executed together: mostly one operation, or a run of gets or puts. The queue of
/// operations puts results there, and the requests take them.
pub(crate) struct Completions<T>(Mutex<State<T>>);

/// Results in the order of their operations; `None` where one has been taken.
pub(crate) type Results<T> = SmallVec<[Option<Result<T>>; 1]>;

enum State<T> {
    /// What listens, with the number of the result.
    Pending(SmallVec<[(usize, Listener<T>); 1]>),
    Done(Results<T>),
}

/// What is to be woken now that there is a result, outside of all locks.
pub(crate) enum Wake<T> {
    Waker(Waker),
    Thread(Thread),
    Callback(OnDone<T>, Result<T>),
}

impl<T> Default for Completions<T> {
    fn default() -> Self {
        Self(Mutex::new(State::Pending(SmallVec::new())))
    }
}

impl<T> Completions<T> {
    /// Puts the results there; one that a callback waits for goes to the callback. Returns what is to be woken, in the order of the
    /// results. A second result of an operation is dropped.
    pub(crate) fn fill(&self, mut results: Results<T>) -> SmallVec<[(usize, Wake<T>); 1]> {
        let mut state = locked(&self.0);
        let State::Pending(listeners) = &mut *state else {
            return SmallVec::new();
        };
        // As where a host that executes requests itself waits for one after the other.
        if listeners.is_empty() {
            *state = State::Done(results);
            return SmallVec::new();
        }
        let mut listeners = std::mem::take(listeners);
        listeners.sort_unstable_by_key(|(number, _)| *number);
        let wakes = listeners.into_iter().filter_map(|(number, listener)| {
            let wake = match listener {
                Listener::Callback(on_done) => {
                    Wake::Callback(on_done, results.get_mut(number)?.take()?)
                }
                Listener::Waker(waker) => Wake::Waker(waker),
                Listener::Thread(thread) => Wake::Thread(thread),
            };
            Some((number, wake))
        });
        let wakes = wakes.collect();
        *state = State::Done(results);
        wakes
    }
}

/// The place of the one result of a request.
pub(crate) struct Completion<T> {
    results: Arc<Completions<T>>,
    /// Which of the results.
    number: usize,
}

impl<T> Clone for Completion<T> {
    fn clone(&self) -> Self {
        Self::of(&self.results, self.number)
    }
}

impl<T> Default for Completion<T> {
    fn default() -> Self {
        Self::of(&Arc::default(), 0)
    }
}

impl<T> Completion<T> {
    /// The place of one of several results.
    pub(crate) fn of(results: &Arc<Completions<T>>, number: usize) -> Self {
        let results = Arc::clone(results);
        Self { results, number }
    }

    /// Where it and those beside it are.
    pub(crate) fn completions(&self) -> &Completions<T> {
        &self.results
    }

    /// The result, once.
    pub(crate) fn take(&self) -> Option<Result<T>> {
        match &mut *locked(&self.results.0) {
            State::Pending(_) => None,
            State::Done(results) => results.get_mut(self.number)?.take(),
        }
    }

    /// Whether the result is there, or has been.
    pub(crate) fn is_done(&self) -> bool {
        matches!(*locked(&self.results.0), State::Done(_))
    }

    /// Notes what is to be woken, in the place of what was noted before; gives it back if the result is there already.
    pub(crate) fn listen(&self, listener: Listener<T>) -> Option<Listener<T>> {
        // What a host's waker does when it is dropped is not done in the lock.
        let _replaced = match &mut *locked(&self.results.0) {
            State::Done(_) => return Some(listener),
            State::Pending(listeners) => {
                let own = listeners.iter_mut().find(|(of, _)| *of == self.number);
                match own {
                    Some((_, old)) => Some(std::mem::replace(old, listener)),
                    None => {
                        listeners.push((self.number, listener));
                        None
                    }
                }
            }
        };
        None
    }
}

impl<T: Send + 'static> Completion<T> {
    /// Puts the one result there and wakes what listens; a callback is returned, to be called when its turn has come.
    pub(crate) fn complete(&self, result: Result<T>) -> Option<Callback> {
        let wakes = self.results.fill(smallvec![Some(result)]);
        wakes.into_iter().find_map(|(_, wake)| wake.wake())
    }
}

impl<T: Send + 'static> Wake<T> {
    /// Wakes; a callback is returned, to be called when its turn has come.
    pub(crate) fn wake(self) -> Option<Callback> {
        match self {
            Self::Waker(waker) => wake(waker),
            Self::Thread(thread) => {
                thread.unpark();
                None
            }
            Self::Callback(on_done, result) => Some(Box::new(move || on_done(result))),
        }
    }
}

/// Wakes a future. A panic of a host's waker is thrown again where callbacks are called.
pub(crate) fn wake(waker: Waker) -> Option<Callback> {
    let thrown = catch_unwind(AssertUnwindSafe(|| waker.wake())).err()?;
    Some(Box::new(move || resume_unwind(thrown)))
}
