//! The connection queue of a database: requests to open and to delete it, one after the other (specification, 5.1, 5.3,
//! 5.7; 2.8.1).
//!
//! A request stands at a [`Phase`]; each turn takes it as far as it can go without waiting for the host.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use larder_backing_store::DatabaseMetadata;

use super::{Database, Open, State};
use crate::connection::{Connection, ConnectionCore, ConnectionEvent, VersionChange};
use crate::error::{Error, ErrorKind, ErrorName, Result, attempt};
use crate::events::EventsCore;
use crate::executor::{Task, Turn};
use crate::open_request::{DeleteEvent, OpenEvent, Upgrade};
use crate::origin::{Access, OpenStore};
use crate::schema::Schema;
use crate::storage::StorageInner;
use crate::sync::locked;
use crate::transaction::{Plan, Transaction, TransactionCore, Versions};

/// A request to open or to delete.
#[derive(Clone)]
pub(crate) enum ConnectionRequest {
    Open {
        version: Option<u64>,
        events: Arc<EventsCore<OpenEvent>>,
        storage: Weak<StorageInner>,
    },
    Delete {
        events: Arc<EventsCore<DeleteEvent>>,
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
    /// Other connections have been told that the version changes.
    AwaitDispatch {
        found: Found,
        /// Which have not dealt with it. Those that are deaf are not waited for.
        pending: BTreeSet<u64>,
    },
    /// The others have yet to close.
    AwaitClose(Found),
    Upgrading {
        connection: Connection,
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
                .all(Open::is_deaf),
            Phase::AwaitClose(_) => self.connections.is_empty(),
            Phase::Upgrading { outcome, .. } => outcome.is_some(),
        }
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

    /// The transaction of an upgrade has ended, and everybody has been told.
    pub(crate) fn upgrade_ended(self: &Arc<Self>, connection: u64, ended: Result<()>) {
        let (closed, is_due) = {
            let mut state = locked(&self.state);
            if let Some(open) = state.connections.get_mut(&connection) {
                open.transactions -= 1;
                open.is_upgrading = false;
            }
            if let Some(Current {
                phase: Phase::Upgrading { outcome, .. },
                ..
            }) = &mut state.current
            {
                *outcome = Some(ended);
            }
            (state.close_if_done(connection), state.schedule())
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
            self.origin.note_error(&error);
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
            self.origin.note_error(&error);
            fail(request, error);
        }
    }

    fn wait_at(&self, request: ConnectionRequest, phase: Phase) {
        locked(&self.state).current = Some(Current { request, phase });
    }

    /// The database as it is committed. Steps 4 to 9 of opening, 4 of deleting.
    fn look_up(self: &Arc<Self>, request: ConnectionRequest) -> Progress {
        let is_open = matches!(request, ConnectionRequest::Open { .. });
        let store = match self.origin.store(is_open) {
            Ok(Access::Open(store)) => store,
            Ok(Access::Missing) => {
                fail_or(request, Ok(0));
                return Ok(());
            }
            Ok(Access::Retiring) => {
                self.wait_at(request, Phase::AwaitStore);
                self.origin.await_store(self);
                return Ok(());
            }
            Err(error) => return Err((request, error)),
        };
        let metadata = match self.origin.metadata(&store, &self.name) {
            Ok(metadata) => metadata,
            Err(error) => return Err((request, error)),
        };
        let old_version = version_of(metadata.as_ref());
        let found = |metadata, new_version| Found {
            store: Arc::clone(&store),
            metadata,
            old_version,
            new_version,
        };
        let ConnectionRequest::Open { version, .. } = &request else {
            if metadata.is_none() {
                fail_or(request, Ok(0));
                return Ok(());
            }
            return self.announce(request, found(metadata, None));
        };
        let version = version.unwrap_or(old_version.max(1));
        if version < old_version {
            let what = format!("the database has version {old_version}, above {version}");
            return Err((request, Error::new(ErrorName::VersionError, what)));
        }
        match metadata {
            Some(metadata) if version == old_version => {
                self.connect(request, store, &metadata);
                Ok(())
            }
            metadata => self.announce(request, found(metadata, Some(version))),
        }
    }

    /// A connection to the database as it is.
    fn connect(
        self: &Arc<Self>,
        request: ConnectionRequest,
        store: Arc<OpenStore>,
        metadata: &DatabaseMetadata,
    ) {
        let ConnectionRequest::Open {
            events, storage, ..
        } = request
        else {
            return;
        };
        let schema = Schema::from_metadata(metadata);
        let version = version_of(Some(metadata));
        let number = self.next_connection();
        let core = ConnectionCore::new(number, self, store, metadata.id, schema, version);
        let core = Arc::new(core);
        self.add_connection(&core, false);
        let result = match storage.upgrade() {
            Some(storage) => Ok(Connection::new(core, storage)),
            None => {
                self.close(number);
                Err(storage_gone())
            }
        };
        finish_open(&events, result);
    }

    fn add_connection(&self, core: &Arc<ConnectionCore>, is_upgrading: bool) {
        let open = Open {
            core: Arc::clone(core),
            is_close_pending: false,
            is_forced: false,
            transactions: usize::from(is_upgrading),
            is_upgrading,
            is_handed_over: false,
        };
        locked(&self.state).connections.insert(core.number, open);
    }

    /// Tells the other connections. Steps 10.1 to 10.3 of opening, 5 to 7 of deleting.
    fn announce(self: &Arc<Self>, request: ConnectionRequest, found: Found) -> Progress {
        let (old_version, new_version) = (found.old_version, found.new_version);
        let told: Vec<Arc<ConnectionCore>> = {
            let mut state = locked(&self.state);
            let others = state.connections.values();
            let others = others.filter(|open| !open.is_close_pending);
            let told: Vec<_> = others.map(|open| Arc::clone(&open.core)).collect();
            let pending = told.iter().map(|core| core.number).collect();
            let phase = Phase::AwaitDispatch { found, pending };
            state.current = Some(Current { request, phase });
            told
        };
        for core in told {
            let database = Arc::clone(self);
            let event = VersionChange::new(old_version, new_version, database, core.number);
            core.events.push(ConnectionEvent::VersionChange(event));
        }
        Ok(())
    }

    /// Tells the host that the request waits for connections to be closed, if it does. Steps 10.4 and 8.
    fn block(self: &Arc<Self>, request: ConnectionRequest, found: Found) -> Progress {
        if locked(&self.state).connections.is_empty() {
            return self.change(request, found);
        }
        let old_version = found.old_version;
        match (&request, found.new_version) {
            (ConnectionRequest::Open { events, .. }, Some(new_version)) => {
                events.push(OpenEvent::Blocked {
                    old_version,
                    new_version,
                });
            }
            (ConnectionRequest::Delete { events }, _) => {
                events.push(DeleteEvent::Blocked { old_version });
            }
            (ConnectionRequest::Open { .. }, None) => {}
        }
        self.wait_at(request, Phase::AwaitClose(found));
        Ok(())
    }

    /// Nobody else has the database open.
    fn change(self: &Arc<Self>, request: ConnectionRequest, found: Found) -> Progress {
        if self.origin.is_closing() {
            return Err((request, storage_gone()));
        }
        if found.store.is_retired() {
            // It was opened by a store that takes no writes any more: from the beginning, with the next.
            drop(found);
            self.wait_at(request, Phase::Begin);
            return Ok(());
        }
        match (found.new_version, &request) {
            (Some(new_version), ConnectionRequest::Open { .. }) => {
                self.upgrade(request, found, new_version)
            }
            _ => match found.store.backing().delete_database(&self.name) {
                Ok(_) => {
                    fail_or(request, Ok(found.old_version));
                    Ok(())
                }
                Err(error) => Err((request, error.into())),
            },
        }
    }

    /// Begins an upgrade (specification, 5.7).
    fn upgrade(
        self: &Arc<Self>,
        request: ConnectionRequest,
        found: Found,
        new_version: u64,
    ) -> Progress {
        let ConnectionRequest::Open {
            events, storage, ..
        } = &request
        else {
            return Ok(());
        };
        let Some(storage) = storage.upgrade() else {
            return Err((request, storage_gone()));
        };
        let events = Arc::clone(events);
        let is_new = (found.old_version == 0).then(|| Arc::clone(&found.store));
        let (id, schema) = match &found.metadata {
            Some(metadata) => (metadata.id, Schema::from_metadata(metadata)),
            None => match found.store.backing().create_database(&self.name) {
                Ok(id) => (id, Schema::default()),
                Err(error) => return Err((request, error.into())),
            },
        };
        let versions = Versions {
            old: found.old_version,
            new: new_version,
        };
        let schema_before = schema.snapshot();
        let number = self.next_connection();
        let core = ConnectionCore::new(number, self, found.store, id, schema, new_version);
        let core = Arc::new(core);
        let transaction = {
            let mut state = locked(&self.state);
            let plan = Plan::of_upgrade(state.next_transaction, versions);
            state.next_transaction += 1;
            let number = plan.number;
            let transaction = TransactionCore::new(Arc::clone(&core), plan, Some(schema_before));
            let transaction = Arc::new(transaction);
            transaction.start(None);
            state.transactions.insert(number, Arc::clone(&transaction));
            transaction
        };
        self.add_connection(&core, true);
        let connection = Connection::new(core, storage);
        let upgrade = Upgrade {
            transaction: Transaction::new(transaction, connection.clone()),
            connection: connection.clone(),
            old_version: versions.old,
            new_version,
        };
        let phase = Phase::Upgrading {
            connection,
            is_new,
            outcome: None,
        };
        self.wait_at(request, phase);
        events.push(OpenEvent::UpgradeNeeded(upgrade));
        Ok(())
    }

    /// The transaction has ended. Steps 10.7 and 10.8 of opening.
    fn end_upgrade(
        self: &Arc<Self>,
        request: ConnectionRequest,
        connection: Connection,
        is_new: Option<Arc<OpenStore>>,
        outcome: Option<Result<()>>,
    ) -> Progress {
        let number = connection.core().number;
        let Some(Err(cause)) = outcome else {
            if self.is_close_pending(number) {
                let what = "the connection was closed during the upgrade";
                return Err((request, Error::new(ErrorName::AbortError, what)));
            }
            if let ConnectionRequest::Open { events, .. } = request {
                finish_open(&events, Ok(connection));
            }
            return Ok(());
        };
        self.close(number);
        if let Some(store) = is_new.filter(|store| !store.is_retired()) {
            // If that fails it has no version, and is as good as not there.
            if let Err(error) = store.backing().delete_database(&self.name) {
                self.origin.note_store_error(&store, &error.into());
            }
        }
        Err((request, Error::aborted(Some(&cause))))
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
        (ConnectionRequest::Open { events, .. }, result) => {
            let error = result.err().unwrap_or_else(|| {
                Error::of_kind(ErrorName::UnknownError, ErrorKind::NotAStore, "no store")
            });
            finish_open(&events, Err(error));
        }
        (ConnectionRequest::Delete { events }, result) => {
            events.push(DeleteEvent::Done(result));
            events.end();
        }
    }
}

fn finish_open(events: &Arc<EventsCore<OpenEvent>>, result: Result<Connection>) {
    let handover = result.as_ref().ok().map(Connection::handover);
    events.push_with(OpenEvent::Done(result), handover);
    events.end();
}

/// Why nothing can be opened any more.
pub(crate) fn storage_gone() -> Error {
    Error::new(ErrorName::InvalidStateError, "the storage is closed")
}
