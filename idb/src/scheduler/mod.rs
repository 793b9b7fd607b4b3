//! One database of one origin: its connections, their transactions, and the queue of requests to open and to delete it.
//!
//! Its lock is held for moments; taken before a transaction's, and never while anything is read or written or a host's code
//! runs.

mod close;
mod commits;
mod connection;
mod connection_queue;
mod databases;
mod live;
mod scope_locks;
mod transactions;
mod version_change;

pub(crate) use close::AllClosed;
pub(crate) use commits::CommitSignal;
pub(crate) use connection::ConnectionCore;
pub(crate) use connection_queue::{ConnectionRequest, DeleteListener, OpenListener};
pub(crate) use databases::Databases;
pub use version_change::{ConnectionEvent, VersionChange};

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use larder_codec::JsString;

use crate::executor::Ready;
use crate::origin::Origin;
use crate::sync::{Mutex, locked};
use connection_queue::Current;
use live::Live;
use scope_locks::ScopeLocks;

/// A database, there or not.
pub(crate) struct Database {
    /// Those of its origin, it among them: the store's end finds its connections by them.
    databases: Arc<Databases>,
    pub(crate) name: JsString,
    pub(crate) commits: CommitSignal,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Requests to open or delete it, in the order they were made.
    queue: VecDeque<ConnectionRequest>,
    /// The one that is being processed.
    current: Option<Current>,
    /// Whether a thread is processing it now.
    is_running: bool,
    /// Whether the database is in the queue of tasks.
    is_scheduled: bool,
    /// Connections that are not closed.
    connections: BTreeMap<u64, Open>,
    transactions: Live,
    locks: ScopeLocks,
    next_connection: u64,
    next_transaction: u64,
}

/// A connection that is not closed.
struct Open {
    core: Arc<ConnectionCore>,
    /// It is closed as soon as its transactions have ended.
    is_close_pending: bool,
    /// The host has not asked for that.
    is_forced: bool,
    /// What ends with it.
    ends: Vec<Arc<AllClosed>>,
    /// How many of its transactions have not ended.
    transactions: usize,
    /// It is being upgraded.
    is_upgrading: bool,
    /// The host has it: if its events have not been asked for by now, there is no listener.
    is_handed_over: bool,
}

impl Open {
    /// Whether its events are not listened to.
    fn has_no_listener(&self) -> bool {
        self.is_handed_over && !self.core.events.is_listened()
    }
}

impl Database {
    pub(crate) fn new(databases: Arc<Databases>, name: JsString) -> Self {
        Self {
            databases,
            name,
            commits: CommitSignal::default(),
            state: Mutex::default(),
        }
    }

    pub(crate) fn ready(&self) -> &Arc<Ready> {
        self.origin().ready()
    }

    /// The origin, whose store it is in.
    pub(crate) fn origin(&self) -> &Arc<Origin> {
        &self.databases.origin
    }

    /// Lets the connection queue go on if it can.
    pub(crate) fn kick(self: &Arc<Self>) {
        let is_due = locked(&self.state).schedule();
        self.push(is_due);
    }

    fn push(self: &Arc<Self>, is_due: bool) {
        if is_due {
            self.ready().push(Arc::clone(self) as _);
        }
    }

    fn next_connection(&self) -> u64 {
        let mut state = locked(&self.state);
        let number = state.next_connection;
        state.next_connection += 1;
        number
    }
}

impl State {
    /// Whether the database is to be put into the queue of tasks, which the caller does then.
    fn schedule(&mut self) -> bool {
        let is_due = !self.is_running && !self.is_scheduled && self.can_go_on();
        self.is_scheduled |= is_due;
        is_due
    }
}
