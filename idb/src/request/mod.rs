//! Requests: a result that is there or will be. One type, three ways: a future, a call that waits, a callback.

pub(crate) mod completion;
pub(crate) mod driver;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::error::{Error, ErrorName, Result};
use crate::sync::thread;
use completion::{Completion, Listener, OnDone};
use driver::Driver;

/// What was asked for, and its result once it is there (specification, 2.8).
///
/// It is queued from the moment it was made, and executed in any case if its transaction commits; but no thread is woken to
/// execute it until its result is demanded or enough has been queued: 32 requests, or 16 MiB of gets of one key. Puts of at most 4 KiB are
/// executed by the thread that queues them whenever they hold 1 MiB, inside the call (but not before the transaction's turn, nor where
/// the host drives). To demand it: [`wait`](Self::wait) for it, poll it as a future (of no particular runtime), or hand
/// over a callback ([`on_done`](Self::on_done)). Letting it go changes nothing but that its result is not looked at; if it fails
/// then, the transaction does not commit.
#[must_use = "its error, if it fails, aborts the transaction when that commits"]
pub struct Request<T> {
    state: State<T>,
    driver: Arc<dyn Driver>,
    /// Which of the driver's operations gives the result.
    number: u64,
    /// Whether the operation is executed soon also if the request is dropped before.
    demands_on_drop: bool,
}

enum State<T> {
    Known(Result<T>),
    Pending(Completion<T>),
    Taken,
}

impl<T: Send + 'static> Request<T> {
    /// One whose result the driver's operation of this number gives.
    pub(crate) fn pending(completion: Completion<T>, driver: Arc<dyn Driver>, number: u64) -> Self {
        Self::new(State::Pending(completion), driver, number)
    }

    /// One that something in the queue of tasks completes.
    pub(crate) fn of_storage(storage: Arc<dyn Driver>) -> (Self, Completion<T>) {
        let completion = Completion::<T>::default();
        (Self::pending(completion.clone(), storage, 0), completion)
    }

    /// One whose result is known.
    pub(crate) fn known(result: Result<T>, driver: Arc<dyn Driver>, number: u64) -> Self {
        Self::new(State::Known(result), driver, number)
    }

    fn new(state: State<T>, driver: Arc<dyn Driver>, number: u64) -> Self {
        Self {
            state,
            driver,
            number,
            demands_on_drop: false,
        }
    }

    /// Has the operation executed soon also if the request is dropped.
    pub(crate) fn that_demands_on_drop(mut self) -> Self {
        self.demands_on_drop = true;
        self
    }

    /// Waits for the result. Nothing else need run meanwhile: this thread executes what is queued itself if no other does.
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
        if let State::Pending(_) = self.state {
            Arc::clone(&self.driver).help(self.number);
        }
        loop {
            if let Some(result) = self.try_take() {
                return result;
            }
            let State::Pending(completion) = &self.state else {
                return Err(taken());
            };
            self.wait_once(completion);
        }
    }

    fn wait_once(&self, completion: &Completion<T>) {
        if completion
            .listen(Listener::Thread(thread::current()))
            .is_some()
        {
            return;
        }
        let is_done = || completion.is_done();
        let ready = self.driver.ready();
        if ready.must_run_tasks() {
            self.demand();
            ready.run_until(is_done);
        } else {
            Arc::clone(&self.driver).wait(self.number, &is_done);
        }
    }

    fn demand(&self) {
        Arc::clone(&self.driver).demand(self.number);
    }

    /// Lets it go: its result is not looked at. It is executed all the same if its transaction commits, and if it fails, the
    /// transaction does not commit. Dropping does the same, and says less.
    ///
    /// ```
    /// # use larder_idb::{Result, Transaction, Value};
    /// # fn write(transaction: &Transaction) -> Result<()> {
    /// let loans = transaction.object_store("loans")?;
    /// for day in 0..1000 {
    ///     loans.put(Value::serialize(&("Emma", day))?, None)?.detach();
    /// }
    /// // Fails if one of them has failed.
    /// transaction.commit()?.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn detach(self) {
        drop(self);
    }

    /// Calls back with the result, once: on a thread of the storage or one that waits for a request, or in caller-driven
    /// mode in a step; never while a lock is held, and never inside this call unless the storage has been closed: then no other
    /// thread may be left, and a result that is there, such as the error that everything ended with, is passed on at once. Callbacks
    /// of a transaction's requests are called one after the other, in the order of the requests as far as they are registered
    /// before the results are there.
    pub fn on_done(mut self, callback: impl FnOnce(Result<T>) + Send + 'static) {
        let mut on_done: OnDone<T> = Box::new(callback);
        let result = match std::mem::replace(&mut self.state, State::Taken) {
            State::Known(result) => result,
            State::Pending(completion) => match completion.listen(Listener::Callback(on_done)) {
                None => {
                    self.demand();
                    self.driver.ready().drain_if_left_alone();
                    return;
                }
                Some(Listener::Callback(refused)) => {
                    on_done = refused;
                    completion.take().unwrap_or_else(|| Err(taken()))
                }
                Some(_) => return,
            },
            State::Taken => Err(taken()),
        };
        let is_failure = result.is_err();
        let callback = Box::new(move || on_done(result));
        Arc::clone(&self.driver).deliver(self.number, is_failure, callback);
        self.driver.ready().drain_if_left_alone();
    }

    /// Executes on this thread what was asked for, with everything before it in its transaction, and takes the result. It waits for no other
    /// thread: `None` if the transaction's turn has not come, or another thread executes it; then [`on_done`](Self::on_done) or
    /// [`wait`](Self::wait) goes on.
    ///
    /// So a host whose loop must not stand still executes what is short where the result is wanted, and wakes no thread for it:
    ///
    /// ```
    /// # use larder_idb::{Database, ObjectStoreParameters, Value};
    /// # let opening = Database::in_memory("library", 1, |upgrade| {
    /// #     upgrade.transaction.create_object_store("books", ObjectStoreParameters::new()).map(drop)
    /// # })?;
    /// # let library = opening.wait()?;
    /// let writing = library.write("books")?;
    /// let mut put = writing.object_store("books")?.put(Value::serialize("Emma")?, Some(1.into()))?;
    /// assert_eq!(put.try_execute().unwrap()?, 1.into());
    /// // Makes a file, perhaps: the storage's threads do it.
    /// writing.commit()?.on_done(|done| done.unwrap());
    /// # Ok::<(), larder_idb::Error>(())
    /// ```
    ///
    /// A commit, asked for so, is executed here as well, and waits for the disk if it has to. Opening, and other requests that are no transaction's, are the
    /// threads'. In caller-driven mode steps of whatever can run are run until the result is there.
    ///
    /// # Panics
    /// In caller-driven mode, with what a callback threw that ran meanwhile.
    pub fn try_execute(&mut self) -> Option<Result<T>> {
        if matches!(&self.state, State::Pending(completion) if !completion.is_done()) {
            Arc::clone(&self.driver).help(self.number);
        }
        self.try_take()
    }

    /// The result, if it is there and was not taken before. Asking for it brings nothing on.
    pub fn try_take(&mut self) -> Option<Result<T>> {
        let result = match &mut self.state {
            State::Pending(completion) => completion.take()?,
            State::Known(_) => match std::mem::replace(&mut self.state, State::Taken) {
                State::Known(result) => result,
                _ => return None,
            },
            State::Taken => return None,
        };
        self.state = State::Taken;
        self.driver.note_taken(self.number, result.is_err());
        Some(result)
    }

    /// Whether the result is there, or has been.
    #[must_use]
    pub fn is_done(&self) -> bool {
        match &self.state {
            State::Pending(completion) => completion.is_done(),
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
        if let State::Pending(completion) = &this.state {
            let listener = Listener::Waker(context.waker().clone());
            if completion.listen(listener).is_none() {
                this.demand();
                this.driver.ready().drain_if_stopping();
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
        if self.demands_on_drop && matches!(self.state, State::Pending(_)) {
            Arc::clone(&self.driver).demand(self.number);
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
