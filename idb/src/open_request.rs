//! Requests to open and to delete a database (specification, 2.8.1): they report what happens on the way, and then the result.

use std::fmt;
use std::sync::{Arc, Weak};

use crate::connection::Connection;
use crate::error::{Error, ErrorName, Result};
use crate::events::{Events, EventsCore, Handover};
use crate::execution::{TransactionCore, Versions};
use crate::executor::{Callback, Ready};
use crate::request::Request;
use crate::request::completion::Completion;
use crate::request::driver::Driver;
use crate::scheduler::{ConnectionCore, ConnectionRequest, Database, DeleteListener, OpenListener};
use crate::sync::{Mutex, locked};
use crate::transaction::Transaction;

/// What happens to a request to open a database.
#[derive(Debug)]
pub enum OpenEvent {
    /// Other connections have got the version change event and have not been closed: the request waits for that.
    Blocked {
        /// The database's version, 0 if it is new.
        old_version: u64,
        /// The version that is wanted.
        new_version: u64,
    },
    /// The database has been made or is of a lower version: here is the transaction in which the host changes it.
    UpgradeNeeded(Upgrade),
    /// The result. No event follows.
    Done(Result<Connection>),
}

/// A version change. The host ends its transaction like any other: it commits it or aborts it; letting all of it go aborts.
#[derive(Debug)]
#[non_exhaustive]
pub struct Upgrade {
    /// The transaction, of mode [`VersionChange`](crate::TransactionMode::VersionChange).
    pub transaction: Transaction,
    /// The connection, of the new version already.
    pub connection: Connection,
    /// The version before, 0 if the database is new.
    pub old_version: u64,
    /// The version from now on.
    pub new_version: u64,
}

/// What happens to a request to delete a database.
#[derive(Debug)]
pub enum DeleteEvent {
    /// Connections have got the version change event and have not been closed: the request waits for that.
    Blocked {
        /// The database's version.
        old_version: u64,
    },
    /// The end: the version that the database had, 0 if there was none.
    Done(Result<u64>),
}

/// A request to open a database. [`events`](Self::events) reports what happens; or [`with_upgrade`](Self::with_upgrade)
/// deals with it. Dropped before its end, an upgrade is aborted and the connection closed.
pub struct OpenRequest {
    events: Events<OpenEvent>,
    storage: Arc<dyn Driver>,
    keeps_events: bool,
}

impl OpenRequest {
    /// Puts it into the connection queue of a database.
    pub(crate) fn enqueue(
        database: &Arc<Database>,
        version: Option<u64>,
        upgrades: bool,
        storage: Arc<dyn Driver>,
    ) -> Self {
        let events = EventsCore::new(storage.ready());
        let listener = Arc::new(Opening {
            events: Arc::clone(&events),
            storage: Arc::downgrade(&storage),
            upgraded: Mutex::default(),
        });
        database.enqueue(ConnectionRequest::Open {
            version,
            upgrades,
            listener,
        });
        Self {
            events: Events::new(events),
            storage,
            keeps_events: true,
        }
    }

    /// What happens. The last event is [`OpenEvent::Done`].
    #[must_use]
    pub fn events(&self) -> &Events<OpenEvent> {
        &self.events
    }

    /// Opens the database as it is; if it has to be upgraded, it gets its version and nothing else.
    pub fn connection(self) -> Request<Connection> {
        self.with_upgrade(|_| Ok(()))
    }

    /// Opens the database, upgraded by `upgrade` if it has to be. The upgrade is committed if that succeeds. If it fails or
    /// panics, it is aborted, and opening fails with `AbortError`.
    ///
    /// `upgrade` is called back as [`Request::on_done`] has it; it may wait for requests of its own transaction.
    pub fn with_upgrade(
        self,
        upgrade: impl FnOnce(&Upgrade) -> Result<()> + Send + 'static,
    ) -> Request<Connection> {
        self.open_as(upgrade, |result| result)
    }

    /// As [`with_upgrade`](Self::with_upgrade); the request ends with what is made of the result.
    pub(crate) fn open_as<T: Send + 'static>(
        mut self,
        upgrade: impl FnOnce(&Upgrade) -> Result<()> + Send + 'static,
        make: impl FnOnce(Result<Connection>) -> Result<T> + Send + 'static,
    ) -> Request<T> {
        let completion = Completion::<T>::default();
        let driver = Arc::new(OpenDriver {
            storage: Arc::clone(&self.storage),
            handover: Mutex::default(),
        });
        let request = Request::pending(completion.clone(), Arc::clone(&driver) as _, 0);
        self.keeps_events = false;
        let mut upgrade = Some(upgrade);
        let mut make = Some(make);
        self.events
            .on_event_with(move |event, handover| match event {
                OpenEvent::Blocked { .. } => {}
                OpenEvent::UpgradeNeeded(needed) => {
                    // Called once. If it panics, its transaction is dropped, and so aborted.
                    let upgraded = upgrade.take().map_or(Ok(()), |upgrade| upgrade(&needed));
                    let ended = match upgraded {
                        Ok(()) => needed.transaction.commit().map(drop),
                        Err(error) => needed.transaction.abort(Some(error)),
                    };
                    // It was ended by the host itself.
                    drop(ended);
                }
                OpenEvent::Done(result) => {
                    *locked(&driver.handover) = handover;
                    // It is the last event, so `make` is there.
                    let Some(make) = make.take() else { return };
                    if let Some(callback) = completion.complete(make(result)) {
                        callback();
                        driver.note_taken(0, false);
                    }
                }
            });
        request
    }
}

/// What the scheduler reports to: makes the handles, and events of what happens.
struct Opening {
    events: Arc<EventsCore<OpenEvent>>,
    /// Not kept by a request that is in the queue: the queue is in the storage.
    storage: Weak<dyn Driver>,
    /// The connection whose upgrade is under way.
    upgraded: Mutex<Option<Connection>>,
}

impl Opening {
    /// The handle of a connection, unless the storage has gone meanwhile.
    fn handle(&self, core: Arc<ConnectionCore>) -> Result<Connection> {
        match self.storage.upgrade() {
            Some(storage) => Ok(Connection::new(core, storage)),
            None => {
                core.database.close(core.number);
                Err(Error::storage_closed())
            }
        }
    }
}

impl OpenListener for Opening {
    fn blocked(&self, old_version: u64, new_version: u64) {
        self.events.push(OpenEvent::Blocked {
            old_version,
            new_version,
        });
    }

    fn upgrade_needed(
        &self,
        connection: Arc<ConnectionCore>,
        transaction: Arc<TransactionCore>,
        versions: Versions,
    ) {
        // Without a handle the transaction could never be ended.
        let Ok(connection) = self.handle(connection) else {
            return transaction.abandon();
        };
        *locked(&self.upgraded) = Some(connection.clone());
        self.events.push(OpenEvent::UpgradeNeeded(Upgrade {
            transaction: Transaction::new(transaction, connection.clone()),
            connection,
            old_version: versions.old,
            new_version: versions.new,
        }));
    }

    fn done(&self, result: Result<Arc<ConnectionCore>>) {
        let upgraded = locked(&self.upgraded).take();
        let result = result.and_then(|core| match upgraded {
            Some(connection) => Ok(connection),
            None => self.handle(core),
        });
        let handover = result.as_ref().ok().map(Connection::handover);
        self.events.push_with(OpenEvent::Done(result), handover);
        self.events.end();
    }
}

struct Deleting(Arc<EventsCore<DeleteEvent>>);

impl DeleteListener for Deleting {
    fn blocked(&self, old_version: u64) {
        self.0.push(DeleteEvent::Blocked { old_version });
    }

    fn done(&self, result: Result<u64>) {
        self.0.push(DeleteEvent::Done(result));
        self.0.end();
    }
}

/// The storage; and that the connection is on its way until the host has taken it.
struct OpenDriver {
    storage: Arc<dyn Driver>,
    handover: Mutex<Option<Handover>>,
}

impl OpenDriver {
    fn take_handover(&self) -> Option<Handover> {
        locked(&self.handover).take()
    }
}

impl Driver for OpenDriver {
    fn ready(&self) -> &Arc<Ready> {
        self.storage.ready()
    }

    fn demand(self: Arc<Self>, _: u64) {}

    fn help(self: Arc<Self>, _: u64) {}

    fn wait(self: Arc<Self>, number: u64, is_done: &dyn Fn() -> bool) {
        Arc::clone(&self.storage).wait(number, is_done);
    }

    fn note_taken(&self, _: u64, _: bool) {
        drop(self.take_handover());
    }

    fn deliver(self: Arc<Self>, number: u64, is_failure: bool, callback: Callback) {
        let handover = self.take_handover();
        let deliver = Box::new(move || {
            callback();
            drop(handover);
        });
        Arc::clone(&self.storage).deliver(number, is_failure, deliver);
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if self.keeps_events {
            self.events.core().abandon();
        }
    }
}

impl fmt::Debug for OpenRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OpenRequest").field(&self.events).finish()
    }
}

/// A request to delete a database. It is carried out whether or not its result is asked for.
pub struct DeleteRequest {
    events: Events<DeleteEvent>,
    storage: Arc<dyn Driver>,
}

impl DeleteRequest {
    /// Puts it into the connection queue of a database.
    pub(crate) fn enqueue(database: &Arc<Database>, storage: Arc<dyn Driver>) -> Self {
        let events = EventsCore::new(storage.ready());
        let listener = Arc::new(Deleting(Arc::clone(&events)));
        database.enqueue(ConnectionRequest::Delete { listener });
        let events = Events::new(events);
        Self { events, storage }
    }

    /// One that has failed at once.
    pub(crate) fn failed(error: Error, storage: Arc<dyn Driver>) -> Self {
        let events = EventsCore::new(storage.ready());
        Deleting(Arc::clone(&events)).done(Err(error));
        let events = Events::new(events);
        Self { events, storage }
    }

    /// What happens. The last event is [`DeleteEvent::Done`].
    #[must_use]
    pub fn events(&self) -> &Events<DeleteEvent> {
        &self.events
    }

    /// The end alone: the version that the database had, 0 if there was none.
    pub fn done(self) -> Request<u64> {
        let (request, completion) = Request::of_storage(Arc::clone(&self.storage));
        self.events.on_event(move |event| {
            if let DeleteEvent::Done(result) = event
                && let Some(callback) = completion.complete(result)
            {
                callback();
            }
        });
        request
    }
}

impl fmt::Debug for DeleteRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DeleteRequest").field(&self.events).finish()
    }
}

/// # Errors
/// `TypeError` for a version that no database can have.
pub(crate) fn check_version(version: Option<u64>) -> Result<()> {
    /// The greatest integer of a page's `unsigned long long` that is also a Number: `[EnforceRange]`.
    const VERSION_MAX: u64 = (1 << 53) - 1;
    match version {
        Some(0) => Err(Error::new(
            ErrorName::TypeError,
            "the version of a database is 1 or more",
        )),
        Some(version) if version > VERSION_MAX => {
            let what = format!("the version of a database is at most {VERSION_MAX}");
            Err(Error::new(ErrorName::TypeError, what))
        }
        _ => Ok(()),
    }
}
