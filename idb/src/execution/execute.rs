//! Executing a transaction's operations, one after the other: by a worker, a step of the host's, or a thread that waits.
//!
//! The thread that executes has the [`Token`]. A thread that waits for a result takes it if it is free, and otherwise asks for it: so
//! results appear where they are wanted, and no thread is woken for each.
//!
//! What keeps it right:
//! - There is one token, so operations are executed in their order and the backing store's transaction has one user at a time.
//! - Whatever leaves work undone leaves a thread that will do it. A thread that releases the token, with operations left that are
//!   wanted, wakes a thread that waits for it or puts the transaction into the queue of tasks. Both are decided under the lock under
//!   which a thread asks for the token, so no request falls in between: it would wait for ever.
//! - A woken thread may have its result by then and go away. It therefore hands the demand on ([`execute_or_sleep`]'s end).
//! - Callbacks are called without the token. They are the host's code and may wait for another request of this transaction.
//!
//! [`execute_or_sleep`]: TransactionCore::execute_or_sleep

use std::sync::Arc;
use std::sync::atomic::Ordering;

use larder_backing_store::{Durability, Scope};

use super::core::TransactionCore;
use super::operation::Operation;
use super::plan::{TransactionDurability, TransactionMode};
use super::report::Report;
use super::shared::{Phase, Shared, Token};
use crate::error::{Error, ErrorName, Result, attempt};
use crate::executor::{Callback, Ready, Task, Turn};
use crate::operation::{Backing, Execution};
use crate::request::driver::Driver;
use crate::sync::{Thread, locked, thread};

/// So many operations that are short are executed behind the one that was waited for, before the token is given up: a
/// thread that made many requests and waits for each finds the results there.
const SHORT_BEHIND_MAX: u32 = 64;

/// What comes next for the thread that has the token.
enum Next {
    Operation(Operation),
    Commit,
    Abort,
    Nothing,
}

/// What is there when a thread has executed.
struct Executed {
    /// Whether callbacks may be due.
    may_be_due: bool,
    /// Whether the transaction has come to its end.
    has_ended: bool,
}

impl Executed {
    const fn some(may_be_due: bool) -> Self {
        Self {
            may_be_due,
            has_ended: false,
        }
    }

    const fn ended(may_be_due: bool) -> Self {
        Self {
            may_be_due,
            has_ended: true,
        }
    }
}

impl Task for TransactionCore {
    fn run(self: Arc<Self>, turn: &mut Turn) {
        let claimed = {
            let mut shared = locked(&self.shared);
            shared.is_scheduled = false;
            shared.claim()
        };
        match claimed {
            Some(token) => {
                self.execute(token, turn, Self::END);
            }
            None => self.deliver_due(turn),
        }
    }
}

impl TransactionCore {
    /// Executes on this thread up to the operation of this number, as long as no other thread does.
    pub(super) fn execute_up_to(self: &Arc<Self>, number: u64) {
        while !self.has_come_to(number) {
            let claimed = locked(&self.shared).claim();
            let Some(token) = claimed else {
                return;
            };
            if self.execute(token, &mut Turn::long(), number) {
                return;
            }
        }
    }

    /// Runs steps of whatever can run, as long as there are any: where the host drives, this executes the operation of this number.
    pub(super) fn run_steps(&self, number: u64) {
        while !self.has_come_to(number) && self.ready().run_one() {}
    }

    /// Executes on this thread or sleeps until `is_done`, which the operation of this number brings about; what makes it true wakes
    /// this thread.
    pub(super) fn execute_or_sleep(self: &Arc<Self>, number: u64, is_done: &dyn Fn() -> bool) {
        while !is_done() {
            match self.claim_or_ask(number) {
                Some(token) => {
                    self.execute(token, &mut Turn::long(), number);
                }
                // Woken between asking and here, it does not sleep: an early `unpark` is kept for the next `park`.
                None => thread::park(),
            }
        }
        // The token may have been released for this thread, which has its result and goes. The releasing thread has then scheduled
        // nothing, so what other threads wait for is scheduled here. Without this it would be executed by no thread.
        let this = thread::current().id();
        let is_due = {
            let mut shared = locked(&self.shared);
            let waiting = &mut shared.demand.waiting_threads;
            waiting.retain(|thread| thread.id() != this);
            let is_wanted = self.is_wanted(&shared);
            shared.schedule(is_wanted)
        };
        self.push(is_due);
    }

    /// Whether it is to go on, though the thread that has just executed does not need it to.
    fn is_wanted(&self, shared: &Shared) -> bool {
        shared.demand.number > self.completed.load(Ordering::Relaxed)
            || shared.phase == Phase::Aborted
            || (shared.phase == Phase::Committing && shared.demand.is_end_awaited)
            || self.is_driven
    }

    /// Takes the token, or notes this thread among those that the next release wakes. One critical section, since a release between the
    /// two would wake no thread. If there is nothing to execute yet, the thread is not noted: what completes the request wakes it.
    fn claim_or_ask(&self, number: u64) -> Option<Token> {
        let mut shared = locked(&self.shared);
        let claimed = shared.claim();
        if claimed.is_some() {
            return claimed;
        }
        shared.demand.number = shared.demand.number.max(number);
        if shared.is_running() {
            shared.demand.waiting_threads.push(thread::current());
            self.is_asked_for.store(true, Ordering::Relaxed);
        }
        None
    }

    /// Executes, with the token, up to the operation of this number, on a thread that queues. The host expects no callback there: those
    /// that are due are left to the storage's threads.
    pub(super) fn execute_silently(self: &Arc<Self>, token: Token, number: u64) {
        let done = self.execute_operations(token, &mut Turn::whole(), number);
        if done.may_be_due {
            let is_due = locked(&self.shared).schedule(false);
            self.push(is_due);
        }
        self.ready().drain_if_left_alone();
    }

    /// Executes, with the token, as [`execute_operations`](Self::execute_operations) does. Then callbacks are called. Whether the
    /// transaction has come to its end.
    fn execute(self: &Arc<Self>, token: Token, turn: &mut Turn, enough: u64) -> bool {
        let done = self.execute_operations(token, turn, enough);
        if done.may_be_due {
            self.deliver_due(turn);
        }
        done.has_ended
    }

    /// Executes, with the token, which is released at the end: as long as there is something and the turn lasts, until the operation
    /// of the number `enough` has been executed (its request has its result then) or a callback is due.
    fn execute_operations(
        self: &Arc<Self>,
        mut token: Token,
        turn: &mut Turn,
        enough: u64,
    ) -> Executed {
        let mut left = turn.operations;
        let mut short_left = None;
        let mut callbacks = Vec::new();
        loop {
            let operation = match self.next(&mut token) {
                Next::Operation(operation) => operation,
                Next::Commit => return Executed::ended(self.commit_now(token)),
                Next::Abort => return Executed::ended(self.abort_now(token)),
                // What is queued meanwhile counts on the thread that has the token.
                Next::Nothing => return Executed::some(self.release(token, true)),
            };
            let Some(execution) = self.begun(&mut token.execution) else {
                // The transaction is aborted by now. The operation goes back, so that the abort completes its request with the others.
                token.batch.push_front(operation);
                continue;
            };
            let before = self.completed.load(Ordering::Relaxed);
            let mut report = Report::new(self, before, &mut callbacks);
            // Where the host drives, each operation is a step.
            if let Operation::Gets(run) = &operation
                && !self.is_driven
            {
                run.read_ahead(execution, token.source.as_ref(), before, &token.batch);
            }
            operation.execute(execution, &mut token.source, &mut report);
            let completed = self.completed.load(Ordering::Relaxed);
            let count = u32::try_from(completed - before).unwrap_or(u32::MAX);
            left = left.saturating_sub(count);
            if left == 0 && self.ready().is_idle() {
                // No thread would do anything else meanwhile.
                left = turn.operations;
            }
            // A hint, looked at without the lock for every operation. Seen late, it costs the asking thread one operation more.
            let is_over = left == 0 || self.is_asked_for.load(Ordering::Relaxed);
            let is_enough = completed >= enough;
            let is_due = !callbacks.is_empty();
            if is_over || is_due || ends_here(&token, &mut short_left, is_enough, count) {
                let is_more_wanted = left == 0 || is_due && !is_enough;
                if is_due {
                    self.note_deliveries(callbacks);
                }
                return Executed::some(self.release(token, is_more_wanted));
            }
        }
    }

    /// Operations come from the token's own batch without the lock, and from the queue under it when the batch is empty. The phase
    /// turns to [`Phase::Ending`] here, under the lock, once: no second thread ends the transaction, and no abort comes in between.
    fn next(&self, token: &mut Token) -> Next {
        loop {
            if !self.is_aborted()
                && let Some(operation) = token.batch.pop_front()
            {
                return Next::Operation(operation);
            }
            let mut shared = locked(&self.shared);
            match shared.phase {
                Phase::Aborted => {
                    shared.phase = Phase::Ending;
                    shared.queue.move_to(&mut token.batch);
                    return Next::Abort;
                }
                _ if !shared.queue.is_empty() => shared.queue.move_to(&mut token.batch),
                Phase::Committing => {
                    shared.phase = Phase::Ending;
                    return Next::Commit;
                }
                Phase::Active | Phase::Ending | Phase::Finished => return Next::Nothing,
            }
        }
    }

    /// The token is free again. These threads are to be woken, which wait for it.
    pub(super) fn leave(&self, shared: &mut Shared, token: Token) -> Vec<Thread> {
        self.is_asked_for.store(false, Ordering::Relaxed);
        shared.release(token)
    }

    /// Releases the token before callbacks are called, which may want it. Whether any are due.
    fn release(self: &Arc<Self>, token: Token, is_more_wanted: bool) -> bool {
        let (waiting, is_due, has_deliveries) = {
            let mut shared = locked(&self.shared);
            let waiting = self.leave(&mut shared, token);
            let is_wanted = is_more_wanted || self.is_wanted(&shared);
            let is_due = waiting.is_empty() && shared.schedule(is_wanted);
            (waiting, is_due, !shared.deliveries.callbacks.is_empty())
        };
        wake(waiting);
        self.push(is_due);
        has_deliveries
    }

    /// The place of execution. `None` if the backing store's transaction cannot be begun: this one is aborted then.
    fn begun<'a>(
        self: &Arc<Self>,
        execution: &'a mut Option<Box<Execution>>,
    ) -> Option<&'a mut Execution> {
        if execution.is_none() {
            match attempt(|| self.begin()) {
                Ok(begun) => *execution = Some(begun),
                Err(error) => self.abort_from_within(error),
            }
        }
        execution.as_deref_mut()
    }

    pub(super) fn begin(self: &Arc<Self>) -> Result<Box<Execution>> {
        let database_id = self.owner.database_id();
        let store = self.owner.store()?;
        let store = store.backing();
        let backing = match self.plan.mode {
            TransactionMode::ReadOnly => {
                let snapshot = locked(&self.shared).initial.snapshot.take();
                Backing::Read(snapshot.unwrap_or_else(|| store.read()))
            }
            TransactionMode::ReadWrite => {
                let scope = Scope::Stores(database_id, self.plan.object_stores.clone());
                let durability = match self.plan.durability {
                    TransactionDurability::Strict => Durability::Strict,
                    TransactionDurability::Default | TransactionDurability::Relaxed => {
                        Durability::Relaxed
                    }
                };
                let mut transaction = store.writer()?.begin(scope, durability)?;
                if self.plan.is_from_source {
                    transaction.set_from_source(true);
                }
                Backing::Write(transaction)
            }
            TransactionMode::VersionChange => {
                let scope = Scope::VersionChange(database_id);
                let mut transaction = store.writer()?.begin(scope, Durability::Strict)?;
                let version = self.plan.versions.map_or(1, |versions| versions.new);
                let version = i64::try_from(version).map_err(|_| {
                    Error::new(
                        ErrorName::TypeError,
                        "the version of a database is at most 2^53 - 1",
                    )
                })?;
                transaction.set_version(version)?;
                Backing::Write(transaction)
            }
        };
        let is_cancelled = Arc::clone(&self.is_cancelled);
        Ok(Execution::new(backing, database_id, is_cancelled))
    }
}

impl Driver for TransactionCore {
    fn ready(&self) -> &Arc<Ready> {
        &self.ready
    }

    fn demand(self: Arc<Self>, number: u64) {
        let is_due = {
            let mut shared = locked(&self.shared);
            shared.demand.number = shared.demand.number.max(number);
            shared.schedule(true)
        };
        self.push(is_due);
    }

    fn help(self: Arc<Self>, number: u64) {
        match self.is_driven {
            // What it takes to come to the end, only the one that waits for it finds out.
            true if number == Self::END => return,
            true => self.run_steps(number),
            false => self.execute_up_to(number),
        }
        self.ready().drain_if_stopping();
    }

    fn wait(self: Arc<Self>, number: u64, is_done: &dyn Fn() -> bool) {
        self.execute_or_sleep(number, is_done);
        self.ready().drain_if_stopping();
    }

    fn note_taken(&self, number: u64, is_failure: bool) {
        if is_failure {
            self.note_observed(number);
        }
    }

    fn deliver(self: Arc<Self>, number: u64, is_failure: bool, callback: Callback) {
        // Seen before it is called: its turn comes in any case.
        self.note_taken(number, is_failure);
        self.deliver_later(callback);
    }
}

/// Whether enough has been done, and nothing short comes next. `short_left` is how many more of these may be executed, once
/// there was enough.
fn ends_here(token: &Token, short_left: &mut Option<u32>, is_enough: bool, executed: u32) -> bool {
    let left = match *short_left {
        Some(left) => left,
        None if is_enough => SHORT_BEHIND_MAX,
        None => return false,
    };
    if !token.batch.front().is_some_and(Operation::is_short) {
        return true;
    }
    *short_left = left.checked_sub(executed);
    short_left.is_none()
}

pub(super) fn wake(threads: Vec<Thread>) {
    for thread in threads {
        thread.unpark();
    }
}
