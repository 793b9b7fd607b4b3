//! The connection queue of a database: requests to open and to delete it, one after the other (specification, 5.1, 5.3,
//! 5.7; 2.8.1).
//!
//! A request stands at a [`Phase`]; each turn takes it as far as it can go without waiting for the host.

mod listener;
mod steps;
mod upgrade;

use std::collections::BTreeSet;
use std::sync::Arc;

use larder_backing_store::DatabaseMetadata;

pub(crate) use listener::{DeleteListener, OpenListener};

use super::{ConnectionCore, Database, Open, State};
use crate::error::{Error, ErrorKind, ErrorName, Result, attempt};
use crate::executor::{Task, Turn};
use crate::origin::OpenStore;
use crate::sync::locked;

/// A request to open or to delete.
#[derive(Clone)]
pub(crate) enum ConnectionRequest {
    Open {
        version: Option<u64>,
        /// Whether there is an upgrade also if the database has the version.
        upgrades: bool,
        listener: Arc<dyn OpenListener>,
    },
    Delete {
        listener: Arc<dyn DeleteListener>,
    },
}

/// The request that is being processed.
pub(super) struct Current {
    request: ConnectionRequest,
    phase: Phase,
}

enum Phase {
    /// Nothing is known yet.
    Begin,
    /// The store as it was before is being closed.
    AwaitStore,
    /// The version change has been announced to other connections.
    AwaitDispatch {
        found: Found,
        /// Which have not dealt with it. Those that have no listener are not waited for.
        pending: BTreeSet<u64>,
    },
    /// The others have yet to close.
    AwaitClose(Found),
    Upgrading {
        connection: Arc<ConnectionCore>,
        /// The store, if the database was new: it goes if the upgrade is aborted.
        is_new: Option<Arc<OpenStore>>,
        outcome: Option<Result<()>>,
    },
}

/// What is to be upgraded or deleted.
struct Found {
    store: Arc<OpenStore>,
    metadata: Option<DatabaseMetadata>,
    old_version: u64,
    /// `None` to delete.
    new_version: Option<u64>,
}

impl State {
    /// Whether the request in front, or the next one, can go on.
    pub(super) fn can_go_on(&self) -> bool {
        let Some(current) = &self.current else {
            return !self.queue.is_empty();
        };
        match &current.phase {
            Phase::Begin => true,
            Phase::AwaitStore => false,
            Phase::AwaitDispatch { pending, .. } => pending
                .iter()
                .filter_map(|number| self.connections.get(number))
                .all(Open::has_no_listener),
            Phase::AwaitClose(_) => self.connections.is_empty(),
            Phase::Upgrading { outcome, .. } => outcome.is_some(),
        }
    }

    fn add_connection(&mut self, core: &Arc<ConnectionCore>, is_upgrading: bool) {
        let open = Open {
            core: Arc::clone(core),
            is_close_pending: false,
            is_forced: false,
            ends: Vec::new(),
            transactions: usize::from(is_upgrading),
            is_upgrading,
            is_handed_over: false,
        };
        self.connections.insert(core.number, open);
    }

    /// A connection has dealt with a version change, or is closing.
    pub(super) fn note_dispatched(&mut self, connection: u64) {
        if let Some(Current {
            phase: Phase::AwaitDispatch { pending, .. },
            ..
        }) = &mut self.current
        {
            pending.remove(&connection);
        }
    }
}

impl Task for Database {
    fn run(self: Arc<Self>, turn: &mut Turn) {
        locked(&self.state).is_scheduled = false;
        while let Some(current) = self.claim() {
            self.go_on(current);
            let is_due = {
                let mut state = locked(&self.state);
                state.is_running = false;
                self.ready().is_driven() && state.schedule()
            };
            self.push(is_due);
            if turn.operations == 1 {
                return;
            }
        }
    }
}

impl Database {
    /// Puts a request at the end of the queue.
    pub(crate) fn enqueue(self: &Arc<Self>, request: ConnectionRequest) {
        let is_due = {
            let mut state = locked(&self.state);
            state.queue.push_back(request);
            state.schedule()
        };
        self.push(is_due);
    }

    /// The store of before is gone: a new one can be opened.
    pub(crate) fn store_gone(self: &Arc<Self>) {
        let is_due = {
            let mut state = locked(&self.state);
            if let Some(current) = &mut state.current
                && matches!(current.phase, Phase::AwaitStore)
            {
                current.phase = Phase::Begin;
            }
            state.schedule()
        };
        self.push(is_due);
    }

    /// A connection has dealt with a version change that was announced to it.
    pub(crate) fn dispatched(self: &Arc<Self>, connection: u64) {
        let is_due = {
            let mut state = locked(&self.state);
            state.note_dispatched(connection);
            state.schedule()
        };
        self.push(is_due);
    }

    /// The host has a connection, or never will.
    pub(crate) fn handed_over(self: &Arc<Self>, connection: u64) {
        let is_due = {
            let mut state = locked(&self.state);
            if let Some(open) = state.connections.get_mut(&connection) {
                open.is_handed_over = true;
            }
            state.schedule()
        };
        self.push(is_due);
    }

    /// The transaction of an upgrade has ended, and all that waited for it have its result.
    pub(crate) fn upgrade_ended(self: &Arc<Self>, connection: u64, ended: Result<()>) {
        let (closed, is_due) = {
            let mut state = locked(&self.state);
            if let Some(Current {
                phase: Phase::Upgrading { outcome, .. },
                ..
            }) = &mut state.current
            {
                *outcome = Some(ended);
            }
            (state.leave_connection(connection), state.schedule())
        };
        self.push(is_due);
        self.tell_closed(closed);
    }

    fn claim(&self) -> Option<Current> {
        let mut state = locked(&self.state);
        if state.is_running || !state.can_go_on() {
            return None;
        }
        let current = match state.current.take() {
            Some(current) => current,
            None => Current {
                request: state.queue.pop_front()?,
                phase: Phase::Begin,
            },
        };
        state.is_running = true;
        Some(current)
    }

    /// Takes a request further. One that something panics for, such as a host's file system, fails.
    fn go_on(self: &Arc<Self>, current: Current) {
        let request = current.request.clone();
        let went_on = attempt(|| {
            self.step(current);
            Ok(())
        });
        if let Err(error) = went_on {
            let left = locked(&self.state).current.take();
            drop(left);
            self.origin().note_error(&error);
            fail(request, error);
        }
    }

    fn step(self: &Arc<Self>, current: Current) {
        let Current { request, phase } = current;
        let result = match phase {
            Phase::Begin | Phase::AwaitStore => self.look_up(request),
            Phase::AwaitDispatch { found, .. } => self.block(request, found),
            Phase::AwaitClose(found) => self.change(request, found),
            Phase::Upgrading {
                connection,
                is_new,
                outcome,
            } => self.end_upgrade(request, connection, is_new, outcome),
        };
        if let Err((request, error)) = result {
            self.origin().note_error(&error);
            fail(request, error);
        }
    }

    fn wait_at(&self, request: ConnectionRequest, phase: Phase) {
        locked(&self.state).current = Some(Current { request, phase });
    }
}

/// Whether a request could go on; if not, with which error it ends.
type Progress = std::result::Result<(), (ConnectionRequest, Error)>;

fn version_of(metadata: Option<&DatabaseMetadata>) -> u64 {
    let version = metadata.and_then(|metadata| metadata.version);
    version.map_or(0, i64::unsigned_abs)
}

fn fail(request: ConnectionRequest, error: Error) {
    fail_or(request, Err(error));
}

/// Ends a request with an error, or one to delete with the version that was there.
fn fail_or(request: ConnectionRequest, result: Result<u64>) {
    match (request, result) {
        (ConnectionRequest::Open { listener, .. }, result) => {
            let error = result.err().unwrap_or_else(|| {
                Error::of_kind(ErrorName::UnknownError, ErrorKind::NotAStore, "no store")
            });
            listener.done(Err(error));
        }
        (ConnectionRequest::Delete { listener }, result) => listener.done(result),
    }
}
