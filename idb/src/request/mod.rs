//! Requests: a result that is there or will be. One type, three ways: a future, a call that waits, a callback.

pub(crate) mod place;
pub(crate) mod slot;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::error::{Error, ErrorName, Result};
use crate::executor::{Callback, Ready, Task, Turn};
use crate::storage::StorageInner;
use crate::sync::{Mutex, locked, thread};
use crate::transaction::TransactionCore;
use place::Place;
use slot::{Outlet, Waiter};

/// What was asked for, and its result once it is there (specification, 2.8).
///
/// It is queued from the moment it was made, and executed in any case if its transaction commits; but nobody is woken to
/// execute it until someone wants its result or enough has been queued: 32 requests, or of gets of one key and puts of at most
/// 4 KiB what holds 16 MiB. To want it: [`wait`](Self::wait) for it, poll it as a future (of no particular runtime), or hand
/// over a callback ([`on_done`](Self::on_done)). Letting it go changes nothing but that nobody looks at the result; if it fails
/// then, the transaction does not commit.
#[must_use = "its error, if it fails, aborts the transaction when that commits"]
pub struct Request<T> {
    state: State<T>,
    home: Home,
}

enum State<T> {
    Known(Result<T>),
    Pending(Place<T>),
    Taken,
}

/// Who brings it on.
pub(crate) enum Home {
    /// The transaction, as its operation of this number.
    Transaction(Arc<TransactionCore>, u64),
    /// The same, of an operation that keeps a handle to the transaction while it is queued.
    Holder(Arc<TransactionCore>, u64),
    /// The end of a transaction.
    End(Arc<TransactionCore>),
    /// The end of a transaction, by the call that asked for it.
    Commit(Arc<TransactionCore>),
    /// Whatever is in the queue of the storage, which has to be there until then.
    Pool(Arc<StorageInner>),
}

impl Home {
    fn ready(&self) -> &Arc<Ready> {
        match self {
            Self::Transaction(core, _)
            | Self::Holder(core, _)
            | Self::End(core)
            | Self::Commit(core) => core.ready(),
            Self::Pool(storage) => storage.ready(),
        }
    }

    /// The transaction that brings it on, and up to which operation.
    const fn transaction(&self) -> Option<(&Arc<TransactionCore>, u64)> {
        match self {
            Self::Transaction(core, number) | Self::Holder(core, number) => Some((core, *number)),
            Self::End(core) | Self::Commit(core) => Some((core, u64::MAX)),
            Self::Pool(..) => None,
        }
    }

    /// Somebody wants the result.
    fn urge(&self) {
        if let Some((core, number)) = self.transaction() {
            core.urge(number);
        }
    }

    /// Somebody has the result.
    fn note_observed<T>(&self, result: &Result<T>) {
        if let (Err(_), Self::Transaction(core, number) | Self::Holder(core, number)) =
            (result, self)
        {
            core.note_observed(*number);
        }
    }

    /// Calls back when nothing is in the way.
    fn call_back(&self, callback: Callback) {
        match self {
            Self::Transaction(core, _)
            | Self::Holder(core, _)
            | Self::End(core)
            | Self::Commit(core) => core.deliver_later(callback),
            Self::Pool(storage) => storage.ready().push(Arc::new(Job::new(callback))),
        }
    }
}

impl<T: Send + 'static> Request<T> {
    pub(crate) fn pending(outlet: Arc<dyn Outlet<T>>, home: Home) -> Self {
        Self::at(Place::Alone(outlet), home)
    }

    /// One whose result comes to this place.
    pub(crate) fn at(place: Place<T>, home: Home) -> Self {
        Self {
            state: State::Pending(place),
            home,
        }
    }

    /// One whose result is known.
    pub(crate) fn known(result: Result<T>, home: Home) -> Self {
        Self {
            state: State::Known(result),
            home,
        }
    }

    /// Waits for the result. Nothing else need run meanwhile: this thread executes what is queued itself if nobody does.
    ///
    /// With [`Executor::Driven`](crate::Executor::Driven) it runs steps of whatever can run until the result is there, and
    /// sleeps if nothing can until another thread brings work.
    ///
    /// Inside a callback, do not wait for what comes after it: callbacks of one transaction are called one after the other, and
    /// what lets go of a transaction, such as the end of an upgrade, comes behind them. Such a wait never ends.
    ///
    /// # Errors
    /// The request's own; `InvalidStateError` if its result has been taken already.
    ///
    /// # Panics
    /// In caller-driven mode, with what a callback threw that ran meanwhile.
    pub fn wait(mut self) -> Result<T> {
        self.run_steps();
        // Most commits have yet to be executed, and then this thread does it.
        if !matches!(self.home, Home::Commit(_))
            && let Some(result) = self.try_take()
        {
            return result;
        }
        self.help();
        loop {
            if let Some(result) = self.try_take() {
                return result;
            }
            let State::Pending(place) = &self.state else {
                return Err(taken());
            };
            self.wait_once(place);
        }
    }

    /// What the host that drives does before anybody need know that it waits: mostly that is all. How far the transaction has
    /// come is seen without a lock.
    fn run_steps(&self) {
        if let State::Pending(_) = self.state
            && let Home::Transaction(core, number) | Home::Holder(core, number) = &self.home
            && core.is_driven
            && !core.has_come_to(*number)
        {
            core.run_steps(*number);
            core.ready().drain_if_stopping();
        }
    }

    /// The same of a thread that executes if nobody else does.
    fn help(&self) {
        if let (State::Pending(_), Some((core, number))) = (&self.state, self.home.transaction())
            && !core.is_driven
        {
            core.help(number);
            core.ready().drain_if_stopping();
        }
    }

    fn wait_once(&self, place: &Place<T>) {
        let is_done = || place.is_done();
        let ready = self.home.ready();
        if place.listen(Waiter::Thread(thread::current())).is_some() {
            return;
        }
        if ready.must_run_tasks() {
            self.home.urge();
            ready.run_until(is_done);
        } else if let Some((core, number)) = self.home.transaction() {
            core.wait(number, &is_done);
            ready.drain_if_stopping();
        } else {
            while !is_done() {
                thread::park();
            }
        }
    }

    /// Calls back with the result, once: on a thread of the storage or of whoever waits for something, or in caller-driven
    /// mode in a step; never while a lock is held, and never inside this call unless the storage has been closed: then nobody
    /// else may be left, and a result that is there, such as the error that everything ended with, is told at once. Callbacks
    /// of a transaction's requests are called one after the other, in the order of the requests as far as they are registered
    /// before the results are there.
    pub fn on_done(mut self, callback: impl FnOnce(Result<T>) + Send + 'static) {
        let mut on_done: slot::OnDone<T> = Box::new(callback);
        if let State::Pending(place) = &self.state {
            match place.listen(Waiter::Callback(on_done)) {
                None => {
                    self.home.urge();
                    self.state = State::Taken;
                    self.home.ready().drain_if_left_alone();
                    return;
                }
                Some(Waiter::Callback(refused)) => on_done = refused,
                Some(_) => return,
            }
        }
        let handover = match &self.state {
            State::Pending(place) => place.handover(),
            State::Known(_) | State::Taken => None,
        };
        let result = match std::mem::replace(&mut self.state, State::Taken) {
            State::Known(result) => result,
            State::Pending(mut place) => place.take().unwrap_or_else(|| Err(taken())),
            State::Taken => Err(taken()),
        };
        // Seen before it is called: its turn comes in any case.
        self.home.note_observed(&result);
        self.home.call_back(Box::new(move || {
            on_done(result);
            drop(handover);
        }));
        self.home.ready().drain_if_left_alone();
    }

    /// The result, if it is there and was not taken before. Asking for it brings nothing on.
    pub fn try_take(&mut self) -> Option<Result<T>> {
        let result = match &mut self.state {
            State::Pending(place) => place.take()?,
            State::Known(_) => match std::mem::replace(&mut self.state, State::Taken) {
                State::Known(result) => result,
                _ => return None,
            },
            State::Taken => return None,
        };
        self.state = State::Taken;
        self.home.note_observed(&result);
        Some(result)
    }

    /// Whether the result is there, or has been.
    #[must_use]
    pub fn is_done(&self) -> bool {
        match &self.state {
            State::Pending(place) => place.is_done(),
            State::Known(_) | State::Taken => true,
        }
    }
}

fn taken() -> Error {
    let what = "the result of the request has been taken already";
    Error::new(ErrorName::InvalidStateError, what)
}

impl<T: Send + 'static> Future for Request<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let this = self.get_mut();
        if let State::Pending(place) = &this.state {
            let waiter = Waiter::Waker(context.waker().clone());
            if place.listen(waiter).is_none() {
                this.home.urge();
                this.home.ready().drain_if_stopping();
                return Poll::Pending;
            }
        }
        Poll::Ready(this.try_take().unwrap_or_else(|| Err(taken())))
    }
}

/// Nothing in it is pinned.
impl<T> Unpin for Request<T> {}

impl<T> Drop for Request<T> {
    fn drop(&mut self) {
        if let (State::Pending(_), Home::Commit(_) | Home::Holder(..)) = (&self.state, &self.home) {
            self.home.urge();
        }
    }
}

impl<T> fmt::Debug for Request<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Known(result) if result.is_ok() => "succeeded",
            State::Known(_) => "failed",
            State::Pending(_) => "pending",
            State::Taken => "taken",
        };
        f.debug_struct("Request")
            .field("state", &state)
            .finish_non_exhaustive()
    }
}

/// Something that is done once.
pub(crate) struct Job(Mutex<Option<Work>>);

type Work = Box<dyn FnOnce(&mut Turn) + Send>;

impl Job {
    /// A host's code.
    pub(crate) fn new(callback: Callback) -> Self {
        Self::of(move |turn: &mut Turn| turn.call(callback))
    }

    /// Work of this crate.
    pub(crate) fn of(work: impl FnOnce(&mut Turn) + Send + 'static) -> Self {
        Self(Mutex::new(Some(Box::new(work))))
    }
}

impl Task for Job {
    fn run(self: Arc<Self>, turn: &mut Turn) {
        let work = locked(&self.0).take();
        if let Some(work) = work {
            work(turn);
        }
    }
}
