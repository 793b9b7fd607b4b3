//! Closing connections (specification, 5.2).

use std::sync::Arc;

use super::{ConnectionEvent, Database, Open, State};
use crate::error::Error;
use crate::sync::locked;

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
            state.mark_closing(connection, false);
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

    /// Aborts all transactions and closes all connections, each of which gets the event of it once that is done.
    pub(crate) fn force_close(self: &Arc<Self>, why: &Error) {
        let (closed, transactions, is_due) = {
            let mut state = locked(&self.state);
            let numbers: Vec<u64> = state.connections.keys().copied().collect();
            for number in &numbers {
                state.mark_closing(*number, true);
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
        let Some(open) = closed else {
            return;
        };
        if open.is_forced {
            open.core.events.push(ConnectionEvent::Close);
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
    fn mark_closing(&mut self, connection: u64, is_forced: bool) {
        let Some(open) = self.connections.get_mut(&connection) else {
            return;
        };
        open.is_close_pending = true;
        open.is_forced |= is_forced;
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
