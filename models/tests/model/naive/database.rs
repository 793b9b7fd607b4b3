//! Databases and connections (specification, 2.1), and the world that holds them all.

use std::collections::{BTreeMap, VecDeque};

use super::Exception;
use super::cursor::Cursor;
use super::store::Store;
use super::transaction::{Request, State, Transaction};

/// What a database holds. It is copied when an upgrade begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Content {
    pub(crate) version: u64,
    pub(crate) stores: Vec<Store>,
}

impl Content {
    pub(crate) fn store(&self, id: usize) -> Option<&Store> {
        self.stores.iter().find(|store| store.id == id)
    }

    pub(crate) fn store_mut(&mut self, id: usize) -> Option<&mut Store> {
        self.stores.iter_mut().find(|store| store.id == id)
    }

    pub(crate) fn names(&self) -> Vec<Vec<u16>> {
        let mut names: Vec<_> = self.stores.iter().map(|store| store.name.clone()).collect();
        names.sort();
        names
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ConnectionEvent {
    VersionChange { old: u64, new: Option<u64> },
    Close,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) database: Vec<u16>,
    pub(crate) version: u64,
    /// Names of its object store set.
    pub(crate) names: Vec<Vec<u16>>,
    pub(crate) close_pending: bool,
    pub(crate) closed: bool,
    /// Whether its page closes it on a `versionchange` event.
    pub(crate) polite: bool,
    pub(crate) events: Vec<ConnectionEvent>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OpenEvent {
    Blocked {
        old: u64,
        new: Option<u64>,
    },
    /// The upgrade transaction, and the versions.
    UpgradeNeeded {
        transaction: usize,
        old: u64,
        new: u64,
    },
    /// The version of the connection, or that of the deleted database.
    Done(Result<u64, Exception>),
}

impl ConnectionEvent {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::VersionChange { .. } => "version change",
            Self::Close => "close",
        }
    }
}

impl OpenEvent {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Blocked { .. } => "blocked",
            Self::UpgradeNeeded { .. } => "upgrade needed",
            Self::Done(Ok(_)) => "opened or deleted",
            Self::Done(Err(exception)) => exception,
        }
    }
}

/// Where an open or delete request stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Progress {
    Queued,
    /// `versionchange` was fired, and `blocked` where it had to be.
    Closing,
    Upgrading {
        transaction: usize,
    },
    Done,
}

/// A request to open a database, or to delete it.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) database: Vec<u16>,
    /// `None` for a request to delete.
    pub(crate) wanted: Option<Wanted>,
    pub(crate) progress: Progress,
    pub(crate) connection: Option<usize>,
    pub(crate) events: Vec<OpenEvent>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) version: Option<u64>,
    /// For the connection to be.
    pub(crate) polite: bool,
}

/// All databases without what live transactions have done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Committed {
    pub(crate) databases: BTreeMap<Vec<u16>, Content>,
    /// Whether the commit was to survive the end of the machine.
    pub(crate) is_strict: bool,
}

/// Everything of one storage key.
#[derive(Debug, Default)]
pub(crate) struct World {
    pub(crate) databases: BTreeMap<Vec<u16>, Content>,
    pub(crate) queues: BTreeMap<Vec<u16>, VecDeque<usize>>,
    pub(crate) connections: Vec<Connection>,
    /// In order of creation.
    pub(crate) transactions: Vec<Transaction>,
    pub(crate) requests: Vec<Request>,
    pub(crate) opens: Vec<Open>,
    pub(crate) cursors: Vec<Cursor>,
    pub(crate) ids: usize,
    /// Whether no request has a callback, whatever is asked for.
    pub(crate) watches_nothing: bool,
    /// What has been committed, after each commit.
    pub(crate) history: Vec<Committed>,
}

impl World {
    pub(crate) fn next_id(&mut self) -> usize {
        self.ids += 1;
        self.ids
    }

    /// "Close a database connection" (5.2). Where it leaves open what becomes of a commit that is under way, that is brought
    /// to its end.
    pub(crate) fn close(&mut self, connection: usize, forced: bool) {
        self.begin_close(connection, forced);
        self.pump();
    }

    fn begin_close(&mut self, connection: usize, forced: bool) {
        self.connections[connection].close_pending = true;
        if forced {
            for id in 0..self.transactions.len() {
                let transaction = &self.transactions[id];
                if transaction.connection == connection && transaction.state == State::Active {
                    self.transactions[id].is_forced = true;
                    self.abort_with(id, "AbortError");
                }
            }
            self.connections[connection]
                .events
                .push(ConnectionEvent::Close);
        }
    }

    /// A forced close of every connection to a database, or to all.
    pub(crate) fn force_close(&mut self, database: Option<&[u16]>) {
        // A request to open that waits for this is not open yet, and goes on.
        let is_waiting = |id: usize| {
            let open = self.opens.iter().find(|open| open.connection == Some(id));
            open.is_some_and(|open| open.progress == Progress::Closing)
        };
        let meant: Vec<usize> = (0..self.connections.len())
            .filter(|id| database.is_none_or(|name| name == self.connections[*id].database))
            .filter(|id| !self.connections[*id].closed && !is_waiting(*id))
            .collect();
        for id in meant {
            self.begin_close(id, true);
        }
        self.pump();
    }

    pub(crate) fn has_live_transaction(&self, connection: usize) -> bool {
        (self.transactions.iter()).any(|t| t.connection == connection && t.state != State::Finished)
    }

    /// Lets everything happen that can.
    pub(crate) fn pump(&mut self) {
        loop {
            let mut progress = false;
            for id in 0..self.transactions.len() {
                progress |= self.run_transaction(id);
            }
            for id in 0..self.connections.len() {
                let connection = &self.connections[id];
                if connection.close_pending && !connection.closed && !self.has_live_transaction(id)
                {
                    self.connections[id].closed = true;
                    progress = true;
                }
            }
            let names: Vec<_> = self.queues.keys().cloned().collect();
            for name in names {
                progress |= self.step_queue(&name);
            }
            if !progress {
                return;
            }
        }
    }
}
