//! What the handles of a transaction share, and how operations come into its queue.
//!
//! Who executes has taken the `runner` out of `shared`, and puts it back when others may go on: it is the token. The lock of
//! `shared` is held for moments, also while a schema is changed, whose locks are taken last. The database's lock is never taken while
//! it is held, nor is a host's code run.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use larder_backing_store::{ObjectStoreSet, ReadTransaction};

use super::execution::Execution;
use super::operation::{Operation, Requested, Silent};
use super::queued::Queued;
use super::shared::{LONG_LEN, Phase, SHORT_LEN, Shared};
use super::short::{ShortKind, SmallPut};
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
        let len = if SHORT {
            SHORT_LEN + SmallPut::LEN_MAX
        } else {
            LONG_LEN
        };
        let number = self.enqueue_other(len, Arc::clone(&operation) as _)?;
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
        let number = self.enqueue_other(LONG_LEN, Arc::clone(&operation) as _)?;
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
        let operation = Arc::new(Silent::new(operation));
        let queue = |shared: &mut Shared| {
            change()?;
            shared.queue.push_back(Queued::Other(operation));
            Ok(())
        };
        self.enqueue(LONG_LEN, queue).map(|_| ())
    }

    /// Queues a short operation on an object store or index: with those of its kind before it, if they are on the same.
    ///
    /// # Errors
    /// `TransactionInactiveError` unless it is active.
    pub(crate) fn submit_on<K: ShortKind>(
        self: &Arc<Self>,
        source: &Source,
        argument: K::Argument,
    ) -> Result<Request<K::Output>> {
        let may_join = !self.is_driven;
        let len = SHORT_LEN + K::len(&argument);
        let queue = |shared: &mut Shared| Ok(shared.queue_short::<K>(source, argument, may_join));
        let (place, number) = self.enqueue(len, queue)?;
        let home = Home::Transaction(Arc::clone(self), number);
        Ok(Request::at(place, home))
    }

    fn enqueue_other(self: &Arc<Self>, len: usize, operation: Arc<dyn Operation>) -> Result<u64> {
        let queue = |shared: &mut Shared| {
            shared.queue.push_back(Queued::Other(operation));
            Ok(())
        };
        self.enqueue(len, queue).map(|((), number)| number)
    }

    /// `queue` queues an operation that holds so many bytes, about; if it fails, it has not. With what it gives, the operation's number.
    fn enqueue<T>(
        self: &Arc<Self>,
        len: usize,
        queue: impl FnOnce(&mut Shared) -> Result<T>,
    ) -> Result<(T, u64)> {
        let (queued, number, is_due) = {
            let mut shared = locked(&self.shared);
            if shared.phase != Phase::Active {
                return Err(inactive());
            }
            let queued = queue(&mut shared)?;
            let number = self.submitted.load(Ordering::Relaxed) + 1;
            self.submitted.store(number, Ordering::Release);
            let is_due = shared.add_len(len) || self.is_driven && shared.schedule(true);
            (queued, number, is_due)
        };
        self.push(is_due);
        Ok((queued, number))
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
        self.connection.database.origin.note_loss(error);
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
