//! Executing a transaction's operations, one after the other: by a worker, a step of the host's, or a thread that waits.
//!
//! Whoever executes has the token (the `runner`). A thread that waits for a result takes it if nobody has it, and asks
//! who has it to hand over: the results come to where they are wanted without waking anyone for each.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use larder_backing_store::{Durability, Scope};

use super::core::TransactionCore;
use super::execution::{Backing, Execution};
use super::queued::Queued;
use super::shared::{Phase, Runner, Shared};
use super::{DurabilityHint, Mode};
use crate::error::{Error, ErrorName, Result, attempt};
use crate::executor::{Task, Turn};
use crate::sync::{Thread, locked, thread};

/// So many operations that are short are executed behind the one that was waited for, before the token is given up: who
/// made many requests and waits for each finds the results there.
const SHORT_BEHIND_MAX: u32 = 64;

/// What comes next for who has the token.
enum Next {
    Operation(Queued),
    Commit,
    Abort,
    Nothing,
}

impl Task for TransactionCore {
    fn run(self: Arc<Self>, turn: &mut Turn) {
        let claimed = {
            let mut shared = locked(&self.shared);
            shared.is_scheduled = false;
            shared.claim()
        };
        match claimed {
            Some(runner) => {
                self.execute(runner, turn, u64::MAX);
            }
            None => self.deliver(turn),
        }
    }
}

impl TransactionCore {
    /// Executes on this thread up to the operation of this number, as long as nobody else does.
    pub(crate) fn help(self: &Arc<Self>, number: u64) {
        while !self.has_come_to(number) {
            let claimed = locked(&self.shared).claim();
            let Some(runner) = claimed else {
                return;
            };
            if self.execute(runner, &mut Turn::long(), number) {
                return;
            }
        }
    }

    /// The same of a host that drives: runs steps, of whatever can run, as long as there are any.
    pub(crate) fn run_steps(&self, number: u64) {
        while !self.has_come_to(number) && self.ready().run_one() {}
    }

    /// Executes on this thread or sleeps until `is_done`, which the operation of this number brings about; who makes it true wakes
    /// this thread.
    pub(crate) fn wait(self: &Arc<Self>, number: u64, is_done: &dyn Fn() -> bool) {
        while !is_done() {
            match self.claim_or_ask(number) {
                Some(runner) => {
                    self.execute(runner, &mut Turn::long(), number);
                }
                None => thread::park(),
            }
        }
        // Somebody may have handed over to this thread, which goes; and nobody is to rely on it from now on.
        let this = thread::current().id();
        let is_due = {
            let mut shared = locked(&self.shared);
            shared.heirs.retain(|heir| heir.id() != this);
            let is_wanted = self.is_wanted(&shared);
            shared.schedule(is_wanted)
        };
        self.push(is_due);
    }

    /// Whether somebody other than who has just executed wants it to go on.
    fn is_wanted(&self, shared: &Shared) -> bool {
        shared.wanted > self.completed.load(Ordering::Relaxed)
            || shared.phase == Phase::Aborted
            || (shared.phase == Phase::Committing && shared.is_awaited)
            || self.is_driven
    }

    fn claim_or_ask(&self, number: u64) -> Option<Runner> {
        let mut shared = locked(&self.shared);
        let claimed = shared.claim();
        if claimed.is_some() {
            return claimed;
        }
        shared.wanted = shared.wanted.max(number);
        if shared.is_running() {
            shared.heirs.push(thread::current());
            self.is_asked_for.store(true, Ordering::Relaxed);
        }
        None
    }

    /// Executes, with the token, which is given up: as long as there is something and the turn lasts, until the operation of the
    /// number `enough` has been executed (its place has its result then) or a callback is due. Then callbacks are called. Whether the
    /// transaction has come to its end.
    fn execute(self: &Arc<Self>, mut runner: Runner, turn: &mut Turn, enough: u64) -> bool {
        let mut left = turn.operations;
        let mut short_left = None;
        let mut callbacks = Vec::new();
        let (may_be_due, has_ended) = loop {
            let operation = match self.next(&mut runner) {
                Next::Operation(operation) => operation,
                Next::Commit => break (self.commit_now(runner), true),
                Next::Abort => break (self.abort_now(runner), true),
                Next::Nothing => {
                    // What comes meanwhile finds the token taken, and counts on who has it.
                    break (self.give_up(runner, true), false);
                }
            };
            let before = self.completed.load(Ordering::Relaxed);
            let Some(execution) = self.begun(&mut runner) else {
                runner.batch.push_front(operation);
                continue;
            };
            operation.run(execution, self, before + 1, &mut callbacks);
            let completed = self.completed.load(Ordering::Relaxed);
            let count = u32::try_from(completed - before).unwrap_or(u32::MAX);
            left = left.saturating_sub(count);
            if left == 0 && self.ready().is_idle() {
                // Nobody would do anything else meanwhile.
                left = turn.operations;
            }
            let is_over = left == 0 || self.is_asked_for.load(Ordering::Relaxed);
            let is_enough = completed >= enough;
            let is_due = !callbacks.is_empty();
            if is_over || is_due || ends_here(&runner, &mut short_left, is_enough, count) {
                let is_more_wanted = left == 0 || is_due && !is_enough;
                if is_due {
                    self.note_deliveries(callbacks);
                }
                break (self.give_up(runner, is_more_wanted), false);
            }
        };
        if may_be_due {
            self.deliver(turn);
        }
        has_ended
    }

    fn next(&self, runner: &mut Runner) -> Next {
        loop {
            if !self.is_aborted()
                && let Some(operation) = runner.batch.pop_front()
            {
                return Next::Operation(operation);
            }
            let mut shared = locked(&self.shared);
            match shared.phase {
                Phase::Aborted => {
                    shared.phase = Phase::Ending;
                    shared.hand_over(&mut runner.batch);
                    return Next::Abort;
                }
                _ if !shared.queue.is_empty() => {
                    shared.hand_over(&mut runner.batch);
                }
                Phase::Committing => {
                    shared.phase = Phase::Ending;
                    return Next::Commit;
                }
                Phase::Active | Phase::Ending | Phase::Finished => return Next::Nothing,
            }
        }
    }

    /// The token is free again. Who asked for it is to be woken.
    pub(super) fn leave(&self, shared: &mut Shared, runner: Runner) -> Vec<Thread> {
        shared.runner = Some(runner);
        self.is_asked_for.store(false, Ordering::Relaxed);
        std::mem::take(&mut shared.heirs)
    }

    /// Gives the token up, and what who has it works with: callbacks that come next may want both. Whether any are due.
    fn give_up(self: &Arc<Self>, runner: Runner, is_more_wanted: bool) -> bool {
        let (heirs, is_due, has_deliveries) = {
            let mut shared = locked(&self.shared);
            let heirs = self.leave(&mut shared, runner);
            let is_wanted = is_more_wanted || self.is_wanted(&shared);
            let is_due = heirs.is_empty() && shared.schedule(is_wanted);
            (heirs, is_due, shared.has_deliveries())
        };
        wake(heirs);
        self.push(is_due);
        has_deliveries
    }

    /// The place of execution. `None` if the backing store's transaction cannot be begun: this one is
    /// aborted then.
    fn begun<'a>(self: &Arc<Self>, runner: &'a mut Runner) -> Option<&'a mut Execution> {
        if runner.execution.is_none() {
            match attempt(|| self.begin()) {
                Ok(execution) => runner.execution = Some(execution),
                Err(error) => {
                    self.abort_from_within(error);
                    return None;
                }
            }
        }
        runner.execution.as_deref_mut()
    }

    pub(super) fn begin(self: &Arc<Self>) -> Result<Box<Execution>> {
        let connection = &self.connection;
        let database_id = connection.database_id;
        let store = connection.store()?;
        let store = store.backing();
        let backing = match self.plan.mode {
            Mode::ReadOnly => {
                let snapshot = locked(&self.shared).snapshot.take();
                Backing::Read(snapshot.unwrap_or_else(|| store.read()))
            }
            Mode::ReadWrite => {
                let scope = Scope::Stores(database_id, self.plan.object_stores.clone());
                let durability = match self.plan.durability {
                    DurabilityHint::Strict => Durability::Strict,
                    DurabilityHint::Default | DurabilityHint::Relaxed => Durability::Relaxed,
                };
                Backing::Write(store.writer()?.begin(scope, durability)?)
            }
            Mode::VersionChange => {
                let scope = Scope::VersionChange(database_id);
                let mut transaction = store.writer()?.begin(scope, Durability::Strict)?;
                let version = self.plan.versions.map_or(1, |versions| versions.new);
                let version = i64::try_from(version)
                    .map_err(|_| Error::new(ErrorName::TypeError, "no version of a database"))?;
                transaction.set_version(version)?;
                Backing::Write(transaction)
            }
        };
        let transaction = Arc::downgrade(self);
        Ok(Execution::new(backing, database_id, transaction))
    }
}

/// Whether enough has been done, and nothing short comes next. `short_left` is how many more of these may be executed, once
/// there was enough.
fn ends_here(
    runner: &Runner,
    short_left: &mut Option<u32>,
    is_enough: bool,
    executed: u32,
) -> bool {
    let left = match *short_left {
        Some(left) => left,
        None if is_enough => SHORT_BEHIND_MAX,
        None => return false,
    };
    if !runner.batch.front().is_some_and(Queued::is_short) {
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
