//! What the handles of a transaction share, and how operations come into its queue.
//!
//! The thread that executes has taken the [`Token`](super::shared::Token) out of `shared`, and puts it back when others may go on. The
//! lock of `shared` is held for moments, also while a schema is changed, whose locks are taken last. The database's lock is never taken
//! while it is held, nor is a host's code run.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use larder_backing_store::ReadTransaction;

use super::operation::{Length, requested, unrequested};
use super::owner::{TransactionOwner, snapshot};
use super::plan::Plan;
use super::queue::{Queue, RunArgument};
use super::shared::{InitialState, Phase, Shared};
use super::statistics::Published;
use crate::error::{Error, ErrorName, Result};
use crate::executor::{Callback, Ready, Turn};
use crate::operation::Execution;
use crate::operation::Source;
use crate::request::Request;
use crate::request::completion::Completion;
use crate::statistics::Statistics;
use crate::sync::{AtomicBool, AtomicU64, CachePadded, Mutex, locked};

/// The shared part. While requests are made on one thread and executed on another, each changes cache lines of its own.
#[repr(C)]
pub(crate) struct TransactionCore {
    pub(super) owner: Arc<dyn TransactionOwner>,
    pub(super) ready: Arc<Ready>,
    pub(crate) plan: Plan,
    /// Whether requests can be made: the phase is [`Phase::Active`]. Changed under the lock.
    pub(super) is_active: AtomicBool,
    /// Set when it is aborted: executing looks at it, also in the midst of long operations.
    pub(super) is_cancelled: Arc<AtomicBool>,
    /// Set when the thread that executes is to release the token.
    pub(super) is_asked_for: AtomicBool,
    /// Whether the host executes, step by step.
    pub(crate) is_driven: bool,
    /// How many operations have been queued; changed under the lock.
    submitted: CachePadded<AtomicU64>,
    pub(super) shared: Mutex<Shared>,
    /// How many have completed; changed by the thread that executes.
    pub(super) completed: CachePadded<AtomicU64>,
    statistics: Published,
}

impl TransactionCore {
    /// The number of its end, among its operations.
    pub(super) const END: u64 = u64::MAX;

    pub(crate) fn new(
        owner: Arc<dyn TransactionOwner>,
        ready: &Arc<Ready>,
        plan: Plan,
        initial: InitialState,
    ) -> Arc<Self> {
        Arc::new(Self {
            is_active: AtomicBool::new(true),
            is_cancelled: Arc::default(),
            is_asked_for: AtomicBool::new(false),
            is_driven: ready.is_driven(),
            submitted: CachePadded::new(AtomicU64::new(0)),
            // The request to open waits for the end of an upgrade.
            shared: Mutex::new(Shared::new(initial, plan.versions.is_some())),
            completed: CachePadded::new(AtomicU64::new(0)),
            statistics: Published::default(),
            owner,
            ready: Arc::clone(ready),
            plan,
        })
    }

    /// What it reads, if it only reads and begins now.
    pub(crate) fn snapshot(&self) -> Option<ReadTransaction> {
        snapshot(&*self.owner, self.plan.mode)
    }

    /// Its turn has come. Whether it is to be put into the queue of tasks.
    pub(crate) fn start(&self, snapshot: Option<ReadTransaction>) -> bool {
        let mut shared = locked(&self.shared);
        shared.initial.is_started = true;
        shared.initial.snapshot = snapshot;
        shared.schedule(true)
    }

    /// Puts it into the queue of tasks.
    pub(super) fn push(self: &Arc<Self>, is_due: bool) {
        if is_due {
            self.ready.push(Arc::clone(self) as _);
        }
    }

    /// Queues an operation.
    ///
    /// # Errors
    /// `TransactionInactiveError` unless it is active.
    pub(crate) fn submit<T, F>(self: &Arc<Self>, length: Length, operation: F) -> Result<Request<T>>
    where
        T: Send + 'static,
        F: FnOnce(&mut Execution) -> Result<T> + Send + 'static,
    {
        let completion = Completion::<T>::default();
        let work = requested(operation, completion.clone());
        let ((), number) = self.enqueue(|queue| {
            queue.push(work, length);
            Ok(())
        })?;
        Ok(Request::pending(completion, Arc::clone(self) as _, number))
    }

    /// Queues an operation that keeps a handle to the transaction. If its request is dropped it is executed soon all the same: else the
    /// transaction would keep itself, and never end.
    ///
    /// # Errors
    /// `TransactionInactiveError` unless it is active.
    pub(crate) fn submit_holding<T, F>(self: &Arc<Self>, operation: F) -> Result<Request<T>>
    where
        T: Send + 'static,
        F: FnOnce(&mut Execution) -> Result<T> + Send + 'static,
    {
        let request = self.submit(Length::Long, operation)?;
        Ok(request.that_demands_on_drop())
    }

    /// Queues an operation whose failure aborts the transaction, once `change` has been made to what can be seen at once.
    /// Between the two no other thread makes a change, nor aborts the transaction, which would take the change back.
    ///
    /// # Errors
    /// `TransactionInactiveError` unless it is active; those of `change`.
    pub(crate) fn submit_unrequested<F>(
        self: &Arc<Self>,
        operation: F,
        change: impl FnOnce() -> Result<()>,
    ) -> Result<()>
    where
        F: FnOnce(&mut Execution) -> Result<()> + Send + 'static,
    {
        let work = unrequested(operation);
        let queue = |queue: &mut Queue| {
            change()?;
            queue.push(work, Length::Long);
            Ok(())
        };
        self.enqueue(queue).map(drop)
    }

    /// Queues a get of one key, or a small put.
    ///
    /// # Errors
    /// `TransactionInactiveError` unless it is active.
    pub(crate) fn submit_to_run<A: RunArgument>(
        self: &Arc<Self>,
        source: &Source,
        argument: A,
    ) -> Result<Request<A::Result>> {
        // Of one that the host drives, each operation is a step.
        let may_join = !self.is_driven;
        let (completion, number) =
            self.enqueue(|queue| Ok(queue.push_to_run(source, argument, may_join)))?;
        Ok(Request::pending(completion, Arc::clone(self) as _, number))
    }

    /// `queue` queues an operation; if it fails, it has not. With what it returns, the operation's number. A thread that has queued many
    /// puts executes them here, if their turn has come and no other thread does: it is held back, but never waits for another.
    fn enqueue<T>(
        self: &Arc<Self>,
        queue: impl FnOnce(&mut Queue) -> Result<T>,
    ) -> Result<(T, u64)> {
        let (queued, number, is_due, token) = {
            let mut shared = locked(&self.shared);
            if shared.phase != Phase::Active {
                return Err(inactive());
            }
            let queued = queue(&mut shared.queue)?;
            let number = self.submitted.load(Ordering::Relaxed) + 1;
            self.submitted.store(number, Ordering::Release);
            let is_to_execute = shared.queue.is_full_of_puts() && !self.is_driven;
            let token = is_to_execute.then(|| shared.claim()).flatten();
            let is_due = shared.schedule_if_full() || self.is_driven && shared.schedule(true);
            (queued, number, is_due, token)
        };
        self.push(is_due);
        if let Some(token) = token {
            self.execute_silently(token, number);
        }
        Ok((queued, number))
    }

    /// A request that is answered without an operation.
    pub(crate) fn completed<T: Send + 'static>(self: &Arc<Self>, result: Result<T>) -> Request<T> {
        // After everything that was queued before, whose numbers are not above.
        let number = self.submitted.load(Ordering::Acquire);
        Request::known(result, Arc::clone(self) as _, number)
    }

    /// Whether requests can be made.
    pub(crate) fn is_active(&self) -> bool {
        self.is_active.load(Ordering::Acquire)
    }

    /// # Errors
    /// `TransactionInactiveError` unless requests can be made.
    pub(crate) fn check_active(&self) -> Result<()> {
        match self.is_active() {
            true => Ok(()),
            false => Err(inactive()),
        }
    }

    /// No requests from now on. To be called with the lock.
    pub(super) fn leave_active(&self, shared: &mut Shared, next: Phase) {
        shared.phase = next;
        self.is_active.store(false, Ordering::Release);
    }

    /// Whether everything that was queued has completed.
    pub(crate) fn is_idle(&self) -> bool {
        let submitted = self.submitted.load(Ordering::Acquire);
        self.completed.load(Ordering::Acquire) == submitted
    }

    /// Whether the operation of this number need not be executed any more: all up to it have been, or the transaction was aborted.
    /// The result may be on its way to its request.
    pub(crate) fn has_come_to(&self, number: u64) -> bool {
        self.completed.load(Ordering::Acquire) >= number || self.is_aborted()
    }

    /// Something cannot go on until it has ended.
    pub(crate) fn await_end(self: &Arc<Self>) {
        let is_due = {
            let mut shared = locked(&self.shared);
            shared.demand.is_end_awaited = true;
            let is_committing = shared.phase == Phase::Committing;
            shared.schedule(is_committing)
        };
        self.push(is_due);
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }

    /// What its unfinished requests end with.
    pub(crate) fn abort_error(&self) -> Error {
        Error::aborted(locked(&self.shared).error.as_ref())
    }

    /// An operation has failed, which the host has not seen yet.
    pub(crate) fn note_failure(self: &Arc<Self>, number: u64, error: &Error) {
        self.owner.note_loss(error);
        let mut shared = locked(&self.shared);
        match shared.phase {
            Phase::Active => {
                shared.failures.insert(number, error.clone());
            }
            Phase::Committing => {
                drop(shared);
                self.abort_from_within(error.clone());
            }
            Phase::Aborted | Phase::Ending | Phase::Finished => {}
        }
    }

    /// The host has seen that an operation failed.
    pub(crate) fn note_observed(&self, number: u64) {
        locked(&self.shared).failures.remove(&number);
    }

    /// The first failure that the host has not seen. It stays, for another call of `commit` that comes before the abort.
    pub(super) fn unobserved(shared: &Shared) -> Option<Error> {
        shared.failures.values().next().cloned()
    }

    /// All operations up to this number have been executed.
    pub(crate) fn publish(&self, execution: &Execution, number: u64) {
        self.statistics.publish(&execution.statistics);
        self.completed.store(number, Ordering::Release);
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.statistics.read()
    }

    /// Calls back when it is this callback's turn.
    pub(crate) fn deliver_later(self: &Arc<Self>, callback: Callback) {
        let is_due = {
            let mut shared = locked(&self.shared);
            shared.deliveries.callbacks.push_back(callback);
            shared.schedule(false)
        };
        self.push(is_due);
    }

    /// Notes callbacks; the caller delivers.
    pub(super) fn note_deliveries(&self, callbacks: impl IntoIterator<Item = Callback>) {
        locked(&self.shared).deliveries.callbacks.extend(callbacks);
    }

    /// Calls what is due, unless another thread does.
    pub(super) fn deliver_due(&self, turn: &mut Turn) {
        loop {
            let callback = {
                let mut shared = locked(&self.shared);
                let deliveries = &mut shared.deliveries;
                if deliveries.is_calling {
                    return;
                }
                let Some(callback) = deliveries.callbacks.pop_front() else {
                    return;
                };
                deliveries.is_calling = true;
                callback
            };
            turn.call(callback);
            locked(&self.shared).deliveries.is_calling = false;
        }
    }
}

fn inactive() -> Error {
    let what = "the transaction is committing or has ended: begin another";
    Error::new(ErrorName::TransactionInactiveError, what)
}
