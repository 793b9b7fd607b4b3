//! Closing connections (specification, 5.2).

use std::sync::Arc;

use super::{ConnectionEvent, Database, Open, State};
use crate::error::Error;
use crate::events::Handover;
use crate::executor::{Job, Ready};
use crate::request::completion::Completion;
use crate::sync::locked;

/// A request for connections to be closed by force. Each connection keeps it until it is closed and its callback, if it has one, has been
/// called: with the last of them the request ends.
pub(crate) struct AllClosed {
    ready: Arc<Ready>,
    completion: Option<Completion<()>>,
}

impl AllClosed {
    pub(crate) fn new(ready: Arc<Ready>, completion: Completion<()>) -> Self {
        let completion = Some(completion);
        Self { ready, completion }
    }
}

impl Drop for AllClosed {
    fn drop(&mut self) {
        if let Some(completion) = self.completion.take() {
            self.ready.push(Arc::new(Job::of(move |turn| {
                if let Some(callback) = completion.complete(Ok(())) {
                    turn.call(callback);
                }
            })));
        }
    }
}

impl Database {
    /// Whether a connection is to be closed, or is closed.
    pub(crate) fn is_close_pending(&self, connection: u64) -> bool {
        let state = locked(&self.state);
        let open = state.connections.get(&connection);
        open.is_none_or(|open| open.is_close_pending)
    }

    /// Closes a connection as soon as its transactions have ended.
    pub(crate) fn close(self: &Arc<Self>, connection: u64) {
        let (closed, transactions, is_due) = {
            let mut state = locked(&self.state);
            state.mark_closing(connection);
            let transactions = state.transactions.iter();
            let own = transactions.filter(|one| one.plan.connection == connection);
            let own: Vec<_> = own.cloned().collect();
            (state.close_if_done(connection), own, state.schedule())
        };
        for transaction in transactions {
            transaction.await_end();
        }
        self.push(is_due);
        self.tell_closed(closed);
    }

    /// Its connections take no transactions from now on.
    pub(crate) fn refuse_new(&self) {
        let mut state = locked(&self.state);
        for open in state.connections.values_mut() {
            open.is_close_pending = true;
        }
    }

    /// Closes all connections as soon as their transactions have ended.
    pub(crate) fn close_all(self: &Arc<Self>) {
        let numbers: Vec<u64> = locked(&self.state).connections.keys().copied().collect();
        for number in numbers {
            self.close(number);
        }
    }

    /// Aborts all transactions and closes all connections, each of which gets the event of it once that is done. Each keeps
    /// `end` until then.
    pub(crate) fn force_close(self: &Arc<Self>, why: &Error, end: Option<&Arc<AllClosed>>) {
        let (closed, transactions, is_due) = {
            let mut state = locked(&self.state);
            let numbers: Vec<u64> = state.connections.keys().copied().collect();
            for number in &numbers {
                state.mark_closing(*number);
                if let Some(open) = state.connections.get_mut(number) {
                    open.is_forced = true;
                    open.ends.extend(end.cloned());
                }
            }
            let closed = numbers.iter().map(|number| state.close_if_done(*number));
            let closed: Vec<_> = closed.collect();
            let transactions: Vec<_> = state.transactions.iter().cloned().collect();
            (closed, transactions, state.schedule())
        };
        for transaction in transactions {
            // One that is committing comes to its end by itself.
            if transaction.abort(Some(why.clone())).is_err() {
                transaction.await_end();
            }
        }
        self.push(is_due);
        for closed in closed {
            self.tell_closed(closed);
        }
    }

    /// A connection's events come to their end, the last of them being that it was closed by force.
    pub(super) fn tell_closed(self: &Arc<Self>, closed: Option<Open>) {
        let Some(mut open) = closed else {
            return;
        };
        if open.is_forced {
            // A callback comes before the end of what closed the connection; a host that looks by itself may look when it likes.
            let ends = std::mem::take(&mut open.ends);
            let behind: Option<Handover> = match open.core.events.has_callback() {
                true => Some(Box::new(ends)),
                false => None,
            };
            open.core.events.push_with(ConnectionEvent::Close, behind);
        }
        open.core.events.end();
        // A host that gets the event of the end can open the store elsewhere.
        open.core.release_store();
        drop(open);
        self.commits.note();
        self.kick();
    }
}

impl State {
    fn mark_closing(&mut self, connection: u64) {
        let Some(open) = self.connections.get_mut(&connection) else {
            return;
        };
        open.is_close_pending = true;
        // Whatever it makes of a version change that was announced, it no longer stands in its way.
        self.note_dispatched(connection);
    }

    /// One of a connection's transactions has ended. The connection, if it is closed by that.
    pub(super) fn leave_connection(&mut self, connection: u64) -> Option<Open> {
        if let Some(open) = self.connections.get_mut(&connection) {
            open.transactions -= 1;
        }
        self.close_if_done(connection)
    }

    /// Takes a connection out that is to be closed and has no transactions left.
    pub(super) fn close_if_done(&mut self, connection: u64) -> Option<Open> {
        let open = self.connections.get(&connection)?;
        let is_done = open.is_close_pending && open.transactions == 0;
        is_done
            .then(|| self.connections.remove(&connection))
            .flatten()
    }
}
