//! What happened, in order, for the host to take: as a future, by waiting, by looking, or by a callback.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::executor::{Job, Ready, Task, Turn};
use crate::request::completion::wake;
use crate::sync::{Mutex, Thread, locked, thread};

/// A queue of events. It ends when no more can come. Events are taken one by one, each by one taker: as a future
/// ([`next`](Self::next)), by waiting ([`wait_next`](Self::wait_next), or a `for` loop over `&Events`), by looking
/// ([`try_next`](Self::try_next)), or by a callback ([`on_event`](Self::on_event)).
pub struct Events<T> {
    core: Arc<EventsCore<T>>,
}

/// The shared part.
pub(crate) struct EventsCore<T> {
    ready: Arc<Ready>,
    state: Mutex<State<T>>,
}

/// Goes when the host has dealt with what it came with.
pub(crate) type Handover = Box<dyn Send>;

type OnEvent<T> = Box<dyn FnMut(T, Option<Handover>) + Send>;

/// An event that has not been taken, and what is dropped when the host has dealt with it.
type Waiting<T> = (T, Option<Handover>);

struct State<T> {
    queue: VecDeque<Waiting<T>>,
    callback: Option<OnEvent<T>>,
    /// Whether a callback takes the events, though it may be away just now to be called.
    has_callback: bool,
    is_scheduled: bool,
    /// Whether a callback is being called.
    is_calling: bool,
    /// Futures that wait, by number.
    wakers: Vec<(u64, Waker)>,
    next_future: u64,
    /// Threads that wait: each once.
    threads: Vec<Thread>,
    /// Whether events have ever been asked for.
    is_listened: bool,
    has_ended: bool,
    /// The last handle is gone, and there is no callback.
    is_abandoned: bool,
}

impl<T> State<T> {
    fn schedule(&mut self) -> bool {
        let is_due = self.callback.is_some()
            && !self.is_scheduled
            && !self.is_calling
            && (!self.queue.is_empty() || self.has_ended);
        self.is_scheduled |= is_due;
        is_due
    }
}

impl<T: Send + 'static> EventsCore<T> {
    pub(crate) fn new(ready: &Arc<Ready>) -> Arc<Self> {
        Arc::new(Self {
            ready: Arc::clone(ready),
            state: Mutex::new(State {
                queue: VecDeque::new(),
                callback: None,
                has_callback: false,
                is_scheduled: false,
                is_calling: false,
                wakers: Vec::new(),
                next_future: 0,
                threads: Vec::new(),
                is_listened: false,
                has_ended: false,
                is_abandoned: false,
            }),
        })
    }

    /// Something has happened.
    pub(crate) fn push(self: &Arc<Self>, event: T) {
        self.push_with(event, None);
    }

    /// Something has happened, and `handover` is dropped when the host has dealt with it.
    pub(crate) fn push_with(self: &Arc<Self>, event: T, handover: Option<Handover>) {
        let mut event = Some((event, handover));
        self.change(|state| {
            if !state.is_abandoned {
                state.queue.extend(event.take());
            }
        });
        // An event that cannot be taken any more is dropped here, outside of the lock.
        drop(event);
    }

    /// Nothing more will happen.
    pub(crate) fn end(self: &Arc<Self>) {
        self.change(|state| state.has_ended = true);
    }

    fn change(self: &Arc<Self>, change: impl FnOnce(&mut State<T>)) {
        let (wakers, threads, is_due) = {
            let mut state = locked(&self.state);
            change(&mut state);
            let threads = std::mem::take(&mut state.threads);
            let wakers = std::mem::take(&mut state.wakers);
            (wakers, threads, state.schedule())
        };
        if is_due {
            self.ready.push(Arc::clone(self) as _);
        }
        for thread in threads {
            thread.unpark();
        }
        for (_, waker) in wakers {
            if let Some(thrown) = wake(waker) {
                self.ready.push(Arc::new(Job::new(thrown)));
            }
        }
    }

    /// Whether events have ever been asked for.
    pub(crate) fn is_listened(&self) -> bool {
        locked(&self.state).is_listened
    }

    /// Whether a callback takes the events.
    pub(crate) fn has_callback(&self) -> bool {
        locked(&self.state).has_callback
    }

    /// The last handle is gone. Unless a callback has been registered, events that were not taken are dropped.
    pub(crate) fn abandon(&self) {
        let left = {
            let mut state = locked(&self.state);
            if state.has_callback {
                return;
            }
            state.is_abandoned = true;
            std::mem::take(&mut state.queue)
        };
        drop(left);
    }

    /// `Some(None)` at the end.
    fn take(&self) -> Option<Option<T>> {
        let next = {
            let mut state = locked(&self.state);
            state.is_listened = true;
            match state.queue.pop_front() {
                Some(next) => next,
                None => return state.has_ended.then_some(None),
            }
        };
        let (event, _handover) = next;
        Some(Some(event))
    }

    /// Whether there is something to take; if not, this thread is woken when there is. Another thread may take the event that
    /// this one is woken for, so it has to ask before each sleep.
    fn is_due_or_listen(&self) -> bool {
        let mut state = locked(&self.state);
        if !state.queue.is_empty() || state.has_ended {
            return true;
        }
        let this = thread::current();
        if state.threads.iter().all(|other| other.id() != this.id()) {
            state.threads.push(this);
        }
        false
    }
}

/// Calls the callback with one event.
impl<T: Send + 'static> Task for EventsCore<T> {
    fn run(self: Arc<Self>, turn: &mut Turn) {
        let (event, mut callback) = {
            let mut state = locked(&self.state);
            state.is_scheduled = false;
            let event = state.queue.pop_front();
            // Another thread may have taken the event.
            if event.is_none() && !state.has_ended {
                return;
            }
            let Some(callback) = state.callback.take() else {
                return;
            };
            state.is_calling = event.is_some();
            (event, callback)
        };
        let Some((event, handover)) = event else {
            // The end: the callback goes, with what it holds.
            turn.call(move || drop(callback));
            return;
        };
        turn.call(|| callback(event, handover));
        let (replaced, is_due) = {
            let mut state = locked(&self.state);
            state.is_calling = false;
            // Another may have been registered meanwhile.
            let replaced = match state.callback {
                None => state.callback.replace(callback),
                Some(_) => Some(callback),
            };
            (replaced, state.schedule())
        };
        if is_due {
            self.ready.push(self.clone() as _);
        }
        turn.call(move || drop(replaced));
    }
}

impl<T: Send + 'static> Events<T> {
    pub(crate) fn new(core: Arc<EventsCore<T>>) -> Self {
        Self { core }
    }

    pub(crate) fn core(&self) -> &Arc<EventsCore<T>> {
        &self.core
    }

    /// The next event, as a future of no particular runtime; `None` if no more can come.
    pub fn next(&self) -> NextEvent<'_, T> {
        NextEvent {
            events: self,
            number: None,
        }
    }

    /// Waits for the next event; `None` if no more can come. In caller-driven mode it runs steps meanwhile.
    ///
    /// # Panics
    /// In caller-driven mode, with what a callback threw that ran meanwhile.
    pub fn wait_next(&self) -> Option<T> {
        loop {
            if let Some(next) = self.core.take() {
                return next;
            }
            let ready = &self.core.ready;
            if ready.must_run_tasks() {
                ready.run_until(|| self.core.is_due_or_listen());
            } else {
                while !self.core.is_due_or_listen() {
                    thread::park();
                }
            }
        }
    }

    /// The next event, if one has happened.
    pub fn try_next(&self) -> Option<T> {
        self.core.take().flatten()
    }

    /// Calls back with every event, those that wait included, one after the other: on a thread of the storage, or in
    /// caller-driven mode in a step; inside this call only once the storage has been closed, when no other thread may be left to
    /// call it. What else asks for events from now on competes with it.
    pub fn on_event(&self, mut callback: impl FnMut(T) + Send + 'static) {
        self.on_event_with(move |event, handover| {
            callback(event);
            drop(handover);
        });
    }

    /// As [`on_event`](Self::on_event), for a callback that passes the event on: it gets the handover too, and drops it later.
    pub(crate) fn on_event_with(&self, callback: impl FnMut(T, Option<Handover>) + Send + 'static) {
        let mut old = None;
        self.core.change(|state| {
            state.is_listened = true;
            state.has_callback = true;
            old = state.callback.replace(Box::new(callback));
        });
        drop(old);
        self.core.ready.drain_if_left_alone();
    }
}

/// Waits for each event, and ends when no more can come.
impl<T: Send + 'static> Iterator for &Events<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.wait_next()
    }
}

impl<T> fmt::Debug for Events<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = locked(&self.core.state);
        f.debug_struct("Events")
            .field("waiting", &state.queue.len())
            .field("has_ended", &state.has_ended)
            .finish_non_exhaustive()
    }
}

/// The next event of [`Events`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct NextEvent<'a, T> {
    events: &'a Events<T>,
    /// Its number among those that wait, once it has.
    number: Option<u64>,
}

impl<T: Send + 'static> Future for NextEvent<'_, T> {
    type Output = Option<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let this = self.get_mut();
        let core = &this.events.core;
        let waker = context.waker().clone();
        loop {
            if let Some(next) = core.take() {
                return Poll::Ready(next);
            }
            let mut state = locked(&core.state);
            if !state.queue.is_empty() || state.has_ended {
                continue;
            }
            let number = *this.number.get_or_insert(state.next_future);
            state.next_future = state.next_future.max(number + 1);
            let own = state.wakers.iter_mut().find(|(other, _)| *other == number);
            let old = match own {
                Some((_, old)) => Some(std::mem::replace(old, waker)),
                None => {
                    state.wakers.push((number, waker));
                    None
                }
            };
            drop(state);
            drop(old);
            return Poll::Pending;
        }
    }
}

impl<T> Drop for NextEvent<'_, T> {
    fn drop(&mut self) {
        let Some(number) = self.number else {
            return;
        };
        let waker = {
            let mut state = locked(&self.events.core.state);
            let at = state.wakers.iter().position(|(other, _)| *other == number);
            at.map(|at| state.wakers.swap_remove(at))
        };
        drop(waker);
    }
}
