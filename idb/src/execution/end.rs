//! The end of a transaction: commit and abort (specification, 5.4 and 5.5).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::core::TransactionCore;
use super::execute::wake;
use super::operation::Operation;
use super::plan::{TransactionMode, TransactionState};
use super::report::Report;
use super::shared::{Phase, Shared, Token};
use crate::error::{Error, ErrorName, Result, attempt};
use crate::executor::Callback;
use crate::operation::{Backing, Execution};
use crate::request::Request;
use crate::request::completion::Completion;
use crate::schema::SchemaSnapshot;
use crate::sync::locked;

impl TransactionCore {
    /// Commits when everything queued has been executed.
    ///
    /// # Errors
    /// `InvalidStateError` unless it is active.
    pub(crate) fn commit(self: &Arc<Self>) -> Result<Request<()>> {
        let (end, failure, is_due) = {
            let mut shared = locked(&self.shared);
            if shared.phase != Phase::Active {
                return Err(not_active());
            }
            let end = Completion::<()>::default();
            shared.ends.push(end.clone());
            let failure = Self::unobserved(&shared);
            if failure.is_none() {
                self.leave_active(&mut shared, Phase::Committing);
            }
            // What waits for the end does not ask again.
            let demand = &shared.demand;
            let is_wanted =
                demand.is_end_awaited || demand.number == Self::END || self.ready.is_driven();
            (end, failure, shared.schedule(is_wanted))
        };
        self.push(is_due);
        if let Some(failure) = failure {
            self.abort_from_within(failure);
        }
        let request = Request::pending(end, Arc::clone(self) as _, Self::END);
        Ok(request.that_demands_on_drop())
    }

    /// Commits if everything queued has completed.
    pub(crate) fn commit_if_idle(self: &Arc<Self>) -> bool {
        self.is_idle() && self.commit().is_ok()
    }

    /// Rolls back. What was asked for since the beginning, and has not completed, ends with `AbortError`.
    ///
    /// # Errors
    /// `InvalidStateError` if it is committing or has ended.
    pub(crate) fn abort(self: &Arc<Self>, error: Option<Error>) -> Result<()> {
        match self.enter_abort(error, false) {
            true => Ok(()),
            false => Err(not_active()),
        }
    }

    /// Rolls back whatever has been asked for, unless the end is under way.
    pub(crate) fn abort_from_within(self: &Arc<Self>, error: Error) {
        self.enter_abort(Some(error), true);
    }

    /// No handle is left that could commit it.
    pub(crate) fn abandon(self: &Arc<Self>) {
        // Looked at without the lock first: nearly all transactions have ended when their last handle goes.
        if self.is_active() {
            self.enter_abort(None, false);
        }
    }

    fn enter_abort(self: &Arc<Self>, error: Option<Error>, also_committing: bool) -> bool {
        let is_due = {
            let mut shared = locked(&self.shared);
            match shared.phase {
                Phase::Active => {}
                Phase::Committing if also_committing => {}
                _ => return false,
            }
            self.leave_active(&mut shared, Phase::Aborted);
            shared.error = error;
            self.is_cancelled.store(true, Ordering::Release);
            // Before another thread can bring it to its end.
            self.revert(shared.initial.schema_before.take());
            shared.schedule(true)
        };
        self.push(is_due);
        true
    }

    /// The steps to abort an upgrade transaction (5.8) that can be seen at once.
    fn revert(&self, schema: Option<SchemaSnapshot>) {
        if let Some(schema) = schema {
            let old_version = self.plan.versions.map_or(0, |versions| versions.old);
            self.owner.revert(schema, old_version);
        }
    }

    /// A request for the end: succeeds when it is committed, and fails with why it was aborted.
    pub(crate) fn finished(self: &Arc<Self>) -> Request<()> {
        let mut shared = locked(&self.shared);
        if shared.phase == Phase::Finished {
            let outcome = outcome(&shared, self.is_aborted());
            return Request::known(outcome, Arc::clone(self) as _, Self::END);
        }
        let end = Completion::<()>::default();
        shared.ends.push(end.clone());
        Request::pending(end, Arc::clone(self) as _, Self::END)
    }

    pub(crate) fn is_finished(&self) -> bool {
        locked(&self.shared).phase == Phase::Finished
    }

    /// Where it stands.
    pub(crate) fn state(&self) -> TransactionState {
        let shared = locked(&self.shared);
        match shared.phase {
            Phase::Active => TransactionState::Active,
            Phase::Aborted => TransactionState::Aborting,
            Phase::Ending if self.is_aborted() => TransactionState::Aborting,
            Phase::Committing | Phase::Ending => TransactionState::Committing,
            Phase::Finished => TransactionState::Finished,
        }
    }

    /// Why it was aborted, if there is a reason.
    pub(crate) fn error(&self) -> Option<Error> {
        locked(&self.shared).error.clone()
    }

    /// Commits the backing store's transaction. With the token, which is given up. Whether callbacks are due.
    pub(super) fn commit_now(self: &Arc<Self>, token: Token) -> bool {
        let execution = match token.execution {
            // The version is to be written.
            None if self.plan.versions.is_some() => attempt(|| self.begin()).map(Some),
            execution => Ok(execution),
        };
        let committed = execution.and_then(|execution| {
            execution.map_or(Ok(()), |execution| attempt(|| commit(execution)))
        });
        if committed.is_ok() && self.plan.mode != TransactionMode::ReadOnly {
            self.owner.note_modified();
        }
        let error = committed.err();
        if let Some(error) = &error {
            self.owner.note_loss(error);
            let schema = {
                let mut shared = locked(&self.shared);
                shared.error = Some(error.clone());
                shared.initial.schema_before.take()
            };
            self.is_cancelled.store(true, Ordering::Release);
            self.revert(schema);
        }
        self.finish(token.batch, error.as_ref())
    }

    /// Rolls the backing store's transaction back. With the token, which is given up. Whether callbacks are due.
    pub(super) fn abort_now(self: &Arc<Self>, token: Token) -> bool {
        let Token {
            execution, batch, ..
        } = token;
        if let Some(Backing::Write(transaction)) = execution.map(Execution::into_backing) {
            // It may panic where the host's files do.
            if let Err(error) = attempt(|| {
                transaction.rollback();
                Ok(())
            }) {
                self.owner.note_store_error(&error);
            }
        }
        let why = self.error();
        self.finish(batch, why.as_ref())
    }

    /// Reports the end: first to the transactions whose turn it is now, then to the requests in their order, then to those for the end.
    /// Whether callbacks are due.
    fn finish(self: &Arc<Self>, unfinished: VecDeque<Operation>, error: Option<&Error>) -> bool {
        if let Some(error) = error {
            self.owner.note_store_error(error);
        }
        let is_committed = error.is_none() && !self.is_aborted();
        let connection_closed = Arc::clone(&self.owner).transaction_ended(&self.plan, is_committed);
        let mut callbacks = Vec::new();
        if !unfinished.is_empty() {
            let abort_error = self.abort_error();
            let mut report = Report::new(self, u64::MAX, &mut callbacks);
            for operation in unfinished {
                operation.abort(&abort_error, &mut report);
            }
        }
        let (outcome, ends, waiting, has_deliveries) = {
            let mut shared = locked(&self.shared);
            shared.phase = Phase::Finished;
            shared.initial.snapshot = None;
            shared.initial.schema_before = None;
            let outcome = outcome(&shared, self.is_aborted());
            let ends = std::mem::take(&mut shared.ends);
            let waiting = self.leave(&mut shared, Token::default());
            let has_deliveries = !shared.deliveries.callbacks.is_empty();
            (outcome, ends, waiting, has_deliveries)
        };
        let told = ends.iter().map(|end| end.complete(outcome.clone()));
        callbacks.extend(told.flatten());
        if let Some(connection_closed) = connection_closed {
            connection_closed();
        }
        if self.plan.versions.is_some() {
            // After the callbacks: the open request succeeds when its transaction has completed.
            callbacks.push(self.upgrade_ended(outcome));
        }
        let is_due = has_deliveries || !callbacks.is_empty();
        if !callbacks.is_empty() {
            self.note_deliveries(callbacks);
        }
        wake(waiting);
        is_due
    }

    fn upgrade_ended(&self, outcome: Result<()>) -> Callback {
        let owner = Arc::clone(&self.owner);
        Box::new(move || owner.upgrade_ended(outcome))
    }
}

fn commit(execution: Box<Execution>) -> Result<()> {
    match Execution::into_backing(execution) {
        Backing::Read(_) => Ok(()),
        Backing::Write(transaction) => Ok(transaction.commit()?),
    }
}

fn outcome(shared: &Shared, is_aborted: bool) -> Result<()> {
    match (&shared.error, is_aborted) {
        (Some(error), _) => Err(error.clone()),
        (None, true) => Err(Error::aborted(None)),
        (None, false) => Ok(()),
    }
}

fn not_active() -> Error {
    let what = "the transaction is committing or has ended: begin another";
    Error::new(ErrorName::InvalidStateError, what)
}
