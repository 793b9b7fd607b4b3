//! A database's transactions: made, started in their turn, gone.

use std::sync::Arc;

use super::{ConnectionCore, Database, State};
use crate::error::{Error, ErrorName, Result};
use crate::execution::{
    InitialState, Plan, TransactionCore, TransactionMode, TransactionOptions, snapshot,
};
use crate::executor::Callback;
use crate::name::Name;
use crate::options::Scheduling;
use crate::sync::locked;

impl Database {
    /// Makes a transaction (specification, 4.4, `transaction()`).
    ///
    /// # Errors
    /// In this order: `InvalidStateError` while the connection is being upgraded, or once it is to be closed;
    /// `NotFoundError` if there is no object store of one of the names; `InvalidAccessError` if there are no names;
    /// `TypeError` if the mode is that of an upgrade; `ReadOnlyError` if it writes and nothing is ever written.
    pub(crate) fn begin(
        self: &Arc<Self>,
        connection: &Arc<ConnectionCore>,
        names: &[Name<'_>],
        mode: TransactionMode,
        options: TransactionOptions,
    ) -> Result<Arc<TransactionCore>> {
        let is_snapshot_reader = mode == TransactionMode::ReadOnly
            && self.origin().scheduling() == Scheduling::SnapshotReaders;
        let mut awaited = Vec::new();
        let mut guard = locked(&self.state);
        let state = &mut *guard;
        let open = state.connections.get_mut(&connection.number);
        let open = open.filter(|open| !open.is_upgrading && !open.is_close_pending);
        let Some(open) = open else {
            let what = "the connection is being upgraded or closed: use the upgrade's own transaction, or open the database again";
            return Err(Error::new(ErrorName::InvalidStateError, what));
        };
        let plan = plan(connection, names, mode, options, state.next_transaction)?;
        if mode == TransactionMode::ReadWrite {
            self.origin().check_writes()?;
        }
        state.next_transaction += 1;
        open.transactions += 1;
        let number = plan.number;
        let writes = mode == TransactionMode::ReadWrite;
        let locks = &mut state.locks;
        let may_start = locks.enter(number, &plan.object_stores, writes, &mut awaited);
        if may_start && is_snapshot_reader {
            // No other transaction waits for it yet.
            locks.leave(number, &plan.object_stores);
        }
        let initial = InitialState {
            is_started: may_start,
            snapshot: may_start.then(|| snapshot(&**connection, mode)).flatten(),
            schema_before: None,
        };
        let core = TransactionCore::new(Arc::clone(connection) as _, self.ready(), plan, initial);
        state.transactions.add(Arc::clone(&core));
        if may_start {
            return Ok(core);
        }
        let awaited = awaited
            .iter()
            .filter_map(|number| state.transactions.get(*number));
        let awaited: Vec<_> = awaited.cloned().collect();
        drop(guard);
        for older in awaited {
            older.await_end();
        }
        Ok(core)
    }

    /// A transaction has been committed or rolled back: others may start. Returns what is to be called when all requests
    /// have their results: a host that then closes the connection has it closed at once. An upgrade's connection has more to come.
    pub(crate) fn end(self: &Arc<Self>, plan: &Plan, is_committed: bool) -> Option<Callback> {
        let connection = plan.connection;
        let mut due = Vec::new();
        let closed = {
            let mut state = locked(&self.state);
            state.transactions.remove(plan.number);
            let readers_leave = self.origin().scheduling() == Scheduling::SnapshotReaders;
            let mut startable = state.locks.leave(plan.number, &plan.object_stores);
            while !startable.is_empty() {
                let mut next = Vec::new();
                for number in startable {
                    let (core, more) = state.start(number, readers_leave);
                    due.extend(core);
                    next.extend(more);
                }
                startable = next;
            }
            match plan.versions {
                Some(_) => {
                    // No result has been reported yet: what gets one may begin other transactions. Not after an abort: the connection is
                    // closed then.
                    if let Some(open) = state.connections.get_mut(&connection) {
                        open.is_upgrading &= !is_committed;
                    }
                    None
                }
                None => state.leave_connection(connection),
            }
        };
        for core in due {
            self.ready().push(core);
        }
        let open = closed?;
        let database = Arc::clone(self);
        Some(Box::new(move || database.tell_closed(Some(open))))
    }
}

impl State {
    /// Starts a transaction: the same one if it is to be put into the queue of tasks; and which others may start now.
    fn start(
        &mut self,
        number: u64,
        readers_leave: bool,
    ) -> (Option<Arc<TransactionCore>>, Vec<u64>) {
        let Some(core) = self.transactions.get(number) else {
            return (None, Vec::new());
        };
        let core = Arc::clone(core);
        let mode = core.plan.mode;
        let is_due = core.start(core.snapshot());
        // It sees what was committed when its turn came, whatever others write from now on.
        let more = match mode == TransactionMode::ReadOnly && readers_leave {
            true => self.locks.leave(number, &core.plan.object_stores),
            false => Vec::new(),
        };
        (is_due.then_some(core), more)
    }
}

fn plan(
    connection: &ConnectionCore,
    names: &[Name<'_>],
    mode: TransactionMode,
    options: TransactionOptions,
    number: u64,
) -> Result<Plan> {
    let object_stores = connection.schema.set_of(names, options.reserved)?;
    if names.is_empty() {
        let what = "a transaction needs an object store: name one or more";
        return Err(Error::new(ErrorName::InvalidAccessError, what));
    }
    if mode == TransactionMode::VersionChange {
        let what =
            "only an upgrade has a transaction of mode VersionChange: choose ReadOnly or ReadWrite";
        return Err(Error::new(ErrorName::TypeError, what));
    }
    Ok(Plan {
        number,
        connection: connection.number,
        mode,
        durability: options.durability,
        is_from_source: options.from_source,
        object_stores,
        versions: None,
    })
}
