//! What the handles of a transaction share, and how operations come into its queue.
//!
//! Who executes has taken the `runner` out of `shared`, and puts it back when others may go on: it is the token. The lock of
//! `shared` is held for moments, also while a schema is changed, whose locks are taken last. The database's lock is never taken while
//! it is held, nor is a host's code run.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use larder_backing_store::{ObjectStoreSet, ReadTransaction};
use larder_codec::IdbKey;

use super::execution::Execution;
use super::operation::{Requested, Silent};
use super::queued::{Queued, Short};
use super::shared::{Phase, Shared};
use super::statistics::Published;
use super::{DurabilityHint, Mode};
use crate::connection::ConnectionCore;
use crate::error::{Error, ErrorName, Result};
use crate::executor::{Callback, Ready, Turn};
use crate::operation::Source;
use crate::request::slot::{LoneSlot, Outlet, Slot, Waiter};
use crate::request::{Home, Request};
use crate::schema::SchemaSnapshot;
use crate::statistics::Statistics;
use crate::sync::{Apart, AtomicBool, AtomicU64, Mutex, locked};
use crate::value::StoredValue;

/// What a transaction is about.
#[derive(Debug)]
pub(crate) struct Plan {
    /// In order of creation within the database.
    pub(crate) number: u64,
    pub(crate) mode: Mode,
    pub(crate) durability: DurabilityHint,
    /// Its scope; of a version change, none.
    pub(crate) object_stores: ObjectStoreSet,
    /// Of a version change.
    pub(crate) versions: Option<Versions>,
}

/// What a version change leads from and to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Versions {
    pub(crate) old: u64,
    pub(crate) new: u64,
}

impl Plan {
    /// Of the transaction of an upgrade.
    pub(crate) fn of_upgrade(number: u64, versions: Versions) -> Self {
        Self {
            number,
            mode: Mode::VersionChange,
            durability: DurabilityHint::Strict,
            object_stores: ObjectStoreSet::new(),
            versions: Some(versions),
        }
    }
}

/// How a transaction is when it is made.
#[derive(Default)]
pub(crate) struct Begins {
    /// No transaction before it is in its way.
    pub(crate) is_started: bool,
    /// What it reads, if it only reads and is started.
    pub(crate) snapshot: Option<ReadTransaction>,
    /// Of a version change.
    pub(crate) schema_before: Option<SchemaSnapshot>,
}

/// The shared part. While requests are made on one thread and executed on another, each changes cache lines of its own.
#[repr(C)]
pub(crate) struct TransactionCore {
    pub(crate) connection: Arc<ConnectionCore>,
    pub(crate) plan: Plan,
    /// Whether requests can be made: the phase is [`Phase::Active`]. Changed under the lock.
    pub(super) is_active: AtomicBool,
    /// Set when it is aborted: who executes looks at it, also in the midst of long operations.
    pub(super) is_cancelled: AtomicBool,
    /// Set when who executes is to hand over.
    pub(super) is_asked_for: AtomicBool,
    /// Whether the host executes, step by step.
    pub(crate) is_driven: bool,
    /// How many operations have been queued; changed under the lock.
    submitted: Apart<AtomicU64>,
    pub(super) shared: Mutex<Shared>,
    /// How many have completed; changed by who executes.
    pub(super) completed: Apart<AtomicU64>,
    statistics: Published,
}

impl TransactionCore {
    pub(crate) fn new(connection: Arc<ConnectionCore>, plan: Plan, begins: Begins) -> Arc<Self> {
        Arc::new(Self {
            is_active: AtomicBool::new(true),
            is_cancelled: AtomicBool::new(false),
            is_asked_for: AtomicBool::new(false),
            is_driven: connection.ready().is_driven(),
            submitted: Apart::new(AtomicU64::new(0)),
            // The request to open waits for the end of an upgrade.
            shared: Mutex::new(Shared::new(begins, plan.versions.is_some())),
            completed: Apart::new(AtomicU64::new(0)),
            statistics: Published::default(),
            connection,
            plan,
        })
    }

    pub(crate) fn ready(&self) -> &Arc<Ready> {
        self.connection.ready()
    }

    /// Its turn has come. Whether it is to be put into the queue of tasks.
    pub(crate) fn start(&self, snapshot: Option<ReadTransaction>) -> bool {
        let mut shared = locked(&self.shared);
        shared.is_started = true;
        shared.snapshot = snapshot;
        shared.schedule(true)
    }

    pub(super) fn push(self: &Arc<Self>, shared_due: bool) {
        if shared_due {
            self.ready().push(Arc::clone(self) as _);
        }
    }

    /// Queues an operation.
    ///
    /// # Errors
    /// `TransactionInactiveError` unless it is active.
    pub(crate) fn submit<T, F>(self: &Arc<Self>, operation: F) -> Result<Request<T>>
    where
        T: Send + 'static,
        F: FnOnce(&mut Execution) -> Result<T> + Send + 'static,
    {
        self.submit_requested(Requested::<T, F, false>::new(operation))
    }

    /// Queues an operation that takes no longer than handing over to another thread does: whoever executes the one before
    /// it goes on with it.
    ///
    /// # Errors
    /// `TransactionInactiveError` unless it is active.
    pub(crate) fn submit_short<T, F>(self: &Arc<Self>, operation: F) -> Result<Request<T>>
    where
        T: Send + 'static,
        F: FnOnce(&mut Execution) -> Result<T> + Send + 'static,
    {
        self.submit_requested(Requested::<T, F, true>::new(operation))
    }

    fn submit_requested<T, F, const SHORT: bool>(
        self: &Arc<Self>,
        operation: Requested<T, F, SHORT>,
    ) -> Result<Request<T>>
    where
        T: Send + 'static,
        F: FnOnce(&mut Execution) -> Result<T> + Send + 'static,
    {
        let operation = Arc::new(operation);
        let queued = Queued::Other(Arc::clone(&operation) as _);
        let number = self.enqueue(SHORT, move |_| Ok(queued))?;
        let home = Home::Transaction(Arc::clone(self), number);
        Ok(Request::pending(operation, home))
    }

    /// Queues an operation that keeps a handle to the transaction.
    ///
    /// # Errors
    /// `TransactionInactiveError` unless it is active.
    pub(crate) fn submit_holding<T, F>(self: &Arc<Self>, operation: F) -> Result<Request<T>>
    where
        T: Send + 'static,
        F: FnOnce(&mut Execution) -> Result<T> + Send + 'static,
    {
        let operation = Arc::new(Requested::<T, F, false>::new(operation));
        let queued = Queued::Other(Arc::clone(&operation) as _);
        let number = self.enqueue(false, move |_| Ok(queued))?;
        let home = Home::Holder(Arc::clone(self), number);
        Ok(Request::pending(operation, home))
    }

    /// Queues an operation whose failure aborts the transaction, once `change` has been made to what can be seen at once.
    /// Between the two nobody makes another change, nor is the transaction aborted, which would take the change back.
    ///
    /// # Errors
    /// `TransactionInactiveError` unless it is active; those of `change`.
    pub(crate) fn submit_silently<F>(
        self: &Arc<Self>,
        operation: F,
        change: impl FnOnce() -> Result<()>,
    ) -> Result<()>
    where
        F: FnOnce(&mut Execution) -> Result<()> + Send + 'static,
    {
        let queued = Queued::Other(Arc::new(Silent::new(operation)));
        let queue = |_: &mut Shared| change().map(|()| queued);
        self.enqueue(false, queue).map(|_| ())
    }

    /// Queues a short operation on an object store or index.
    ///
    /// # Errors
    /// `TransactionInactiveError` unless it is active.
    pub(crate) fn submit_on<A, T: Send + 'static>(
        self: &Arc<Self>,
        source: &Source,
        argument: A,
        queued: impl FnOnce(Short<A, T>) -> Queued,
    ) -> Result<Request<T>> {
        let slot = Arc::new(LoneSlot::default());
        let outlet = Arc::clone(&slot);
        let number = self.enqueue(true, move |shared| {
            Ok(queued(Short {
                source: shared.note_source(source),
                argument,
                slot,
            }))
        })?;
        let home = Home::Transaction(Arc::clone(self), number);
        Ok(Request::pending(outlet, home))
    }

    /// Queues a get of one key: with those before it, if they are on the same object store or index.
    ///
    /// # Errors
    /// `TransactionInactiveError` unless it is active.
    pub(crate) fn submit_get(
        self: &Arc<Self>,
        source: &Source,
        key: IdbKey,
    ) -> Result<Request<Option<StoredValue>>> {
        let (place, number, is_due) = {
            let mut shared = locked(&self.shared);
            if shared.phase != Phase::Active {
                return Err(inactive());
            }
            let place = shared.queue_get(source, key, !self.is_driven);
            let (number, is_due) = self.note_queued(&mut shared, true);
            (place, number, is_due)
        };
        self.push(is_due);
        let home = Home::Transaction(Arc::clone(self), number);
        Ok(Request::at(place, home))
    }

    /// `operation` makes what is queued; if it fails, nothing is.
    fn enqueue(
        self: &Arc<Self>,
        is_short: bool,
        operation: impl FnOnce(&mut Shared) -> Result<Queued>,
    ) -> Result<u64> {
        let (number, is_due) = {
            let mut shared = locked(&self.shared);
            if shared.phase != Phase::Active {
                return Err(inactive());
            }
            let operation = operation(&mut shared)?;
            shared.queue.push_back(operation);
            self.note_queued(&mut shared, is_short)
        };
        self.push(is_due);
        Ok(number)
    }

    /// An operation has been queued: its number, and whether the task is to be put into the queue.
    fn note_queued(&self, shared: &mut Shared, is_short: bool) -> (u64, bool) {
        shared.queued += 1;
        let number = self.submitted.load(Ordering::Relaxed) + 1;
        self.submitted.store(number, Ordering::Release);
        let is_due = self.is_driven && shared.schedule(true) || shared.is_enough(is_short);
        (number, is_due)
    }

    /// A request that is answered without an operation.
    pub(crate) fn completed<T: Send + 'static>(self: &Arc<Self>, result: Result<T>) -> Request<T> {
        // After everything that was queued before, whose numbers are not above.
        let number = self.submitted.load(Ordering::Acquire);
        Request::known(result, Home::Transaction(Arc::clone(self), number))
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

    /// A place for the end's outcome. To be called with the lock.
    pub(super) fn end_outlet(self: &Arc<Self>, shared: &mut Shared) -> Arc<dyn Outlet<()>> {
        if shared.end.is_none() {
            shared.end = Some(Slot::default());
            return Arc::clone(self) as _;
        }
        let slot = Arc::new(LoneSlot::default());
        shared.ends.push(Arc::clone(&slot));
        slot
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

    /// Whether it needs nobody any more to execute the operation of this number: all up to it have been executed, or it was
    /// aborted. The result may be on its way to its place.
    pub(crate) fn has_come_to(&self, number: u64) -> bool {
        self.completed.load(Ordering::Acquire) >= number || self.is_aborted()
    }

    /// Results up to this number are wanted soon.
    pub(crate) fn urge(self: &Arc<Self>, number: u64) {
        let is_due = {
            let mut shared = locked(&self.shared);
            shared.wanted = shared.wanted.max(number);
            shared.schedule(true)
        };
        self.push(is_due);
    }

    /// Somebody cannot go on until it has ended.
    pub(crate) fn await_end(self: &Arc<Self>) {
        let is_due = {
            let mut shared = locked(&self.shared);
            shared.is_awaited = true;
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

    /// An operation has failed: nobody has seen it yet.
    pub(crate) fn note_failure(self: &Arc<Self>, number: u64, error: &Error) {
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

    /// Somebody has seen that an operation failed.
    pub(crate) fn note_observed(&self, number: u64) {
        locked(&self.shared).failures.remove(&number);
    }

    /// The first failure that nobody has seen. It stays, for another call of `commit` that comes before the abort.
    pub(super) fn unobserved(shared: &Shared) -> Option<Error> {
        shared.failures.values().next().cloned()
    }

    /// Who executes tells that an operation has been executed.
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
            shared.deliveries.push_back(callback);
            shared.schedule(false)
        };
        self.push(is_due);
    }

    /// Notes callbacks; the caller delivers.
    pub(super) fn note_deliveries(&self, callbacks: impl IntoIterator<Item = Callback>) {
        locked(&self.shared).deliveries.extend(callbacks);
    }

    /// Calls what is due, unless somebody is at it.
    pub(super) fn deliver(&self, turn: &mut Turn) {
        loop {
            let callback = {
                let mut shared = locked(&self.shared);
                if shared.is_delivering {
                    return;
                }
                let Some(callback) = shared.deliveries.pop_front() else {
                    return;
                };
                shared.is_delivering = true;
                callback
            };
            turn.call(callback);
            locked(&self.shared).is_delivering = false;
        }
    }
}

/// The end, for the first who wanted to be told of it.
impl Outlet<()> for TransactionCore {
    fn take(&self) -> Option<Result<()>> {
        locked(&self.shared).end.as_mut()?.take()
    }

    fn is_done(&self) -> bool {
        locked(&self.shared).end.as_ref().is_some_and(Slot::is_done)
    }

    fn listen(&self, waiter: Waiter<()>) -> Option<Waiter<()>> {
        match &mut locked(&self.shared).end {
            Some(end) => end.listen(waiter),
            None => Some(waiter),
        }
    }
}

fn inactive() -> Error {
    let what = "the transaction is committing, or has ended";
    Error::new(ErrorName::TransactionInactiveError, what)
}
