//! Transactions (specification, 2.7) and their requests (2.8): when they start, commit, abort (5.4, 5.5, 5.8).

use super::Exception;
use super::cursor::Direction;
use super::database::{Content, World};
use super::key::{Key, Range};
use super::store::Store;
use super::value::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    ReadOnly,
    ReadWrite,
    VersionChange,
}

/// The host keeps "inactive" apart from "active"; here it is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Active,
    Committing,
    Finished,
}

#[derive(Debug)]
pub(crate) struct Transaction {
    pub(crate) connection: usize,
    pub(crate) mode: Mode,
    /// Ids of stores; an upgrade has them all.
    pub(crate) scope: Vec<usize>,
    pub(crate) state: State,
    pub(crate) is_started: bool,
    pub(crate) is_strict: bool,
    pub(crate) requests: Vec<usize>,
    /// The stores of the scope when it started.
    pub(crate) stores_before: Vec<Store>,
    /// If this is an upgrade: the database before, if there was one.
    pub(crate) database_before: Option<Option<Content>>,
    /// The stores that there were when it finished, for handles that outlive it.
    pub(crate) stores_after: Vec<Store>,
    pub(crate) outcome: Option<Result<(), Exception>>,
    /// Whether its connection was closed by force.
    pub(crate) is_forced: bool,
    /// The request whose failure aborted it.
    pub(crate) failed: Option<usize>,
}

impl Transaction {
    pub(crate) fn new(connection: usize, mode: Mode, scope: Vec<usize>) -> Self {
        Self {
            connection,
            mode,
            scope,
            state: State::Active,
            is_started: false,
            is_strict: false,
            requests: Vec::new(),
            stores_before: Vec::new(),
            database_before: None,
            stores_after: Vec::new(),
            outcome: None,
            is_forced: false,
            failed: None,
        }
    }
}

/// An object store, or one of its indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) store: usize,
    pub(crate) index: Option<usize>,
}

/// Which parts of records are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Keys,
    Values,
    Records,
}

#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Put {
        store: usize,
        value: Value,
        key: Option<Key>,
        no_overwrite: bool,
    },
    PutMany {
        store: usize,
        records: Vec<(Value, Option<Key>)>,
    },
    Get {
        source: Source,
        range: Range,
        what: What,
    },
    GetMany {
        source: Source,
        ranges: Vec<Range>,
    },
    GetAll {
        source: Source,
        range: Range,
        direction: Direction,
        /// So many are left out first.
        skip: usize,
        count: u32,
        what: What,
    },
    Count {
        source: Source,
        range: Range,
    },
    Delete {
        store: usize,
        range: Range,
    },
    Clear {
        store: usize,
    },
    /// Opens it, or moves it on.
    Iterate {
        cursor: usize,
        key: Option<Key>,
        primary_key: Option<Key>,
        count: u32,
    },
}

/// The result of a request. Keys stand as values, so that -0 is not 0.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    Done,
    Count(u64),
    /// Key, primary key and value of each record, as far as asked for.
    Rows(Vec<[Option<Value>; 3]>),
    Error(Exception),
}

impl Operation {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Put { .. } => "put",
            Self::PutMany { .. } => "put many",
            Self::Get { .. } => "get",
            Self::GetMany { .. } => "get many",
            Self::GetAll { .. } => "get all",
            Self::Count { .. } => "count",
            Self::Delete { .. } => "delete",
            Self::Clear { .. } => "clear",
            Self::Iterate { .. } => "cursor",
        }
    }
}

impl Outcome {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Done | Self::Count(_) => "done",
            Self::Rows(rows) if rows.is_empty() => "finds nothing",
            Self::Rows(_) => "done",
            Self::Error(exception) => exception,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) transaction: usize,
    pub(crate) operation: Operation,
    /// Whether a callback hears of the result as soon as there is one.
    pub(crate) is_watched: bool,
    /// Whether the host has seen the result.
    pub(crate) is_observed: bool,
    pub(crate) outcome: Option<Outcome>,
}

impl World {
    /// Whether a transaction may start (2.7.2): no earlier live one in the same database overlaps, unless both only read.
    fn can_start(&self, id: usize) -> bool {
        let this = &self.transactions[id];
        let database = &self.connections[this.connection].database;
        self.transactions[..id].iter().all(|earlier| {
            let is_elsewhere = self.connections[earlier.connection].database != *database;
            let overlaps = earlier.mode == Mode::VersionChange
                || earlier.scope.iter().any(|store| this.scope.contains(store));
            let both_read = earlier.mode == Mode::ReadOnly && this.mode == Mode::ReadOnly;
            earlier.state == State::Finished || is_elsewhere || !overlaps || both_read
        })
    }

    /// Starts it, runs its requests in order, and commits it if that was asked for. Whether anything happened.
    pub(crate) fn run_transaction(&mut self, id: usize) -> bool {
        let mut progress = false;
        if self.transactions[id].state == State::Finished {
            return false;
        }
        if !self.transactions[id].is_started {
            if !self.can_start(id) {
                return false;
            }
            let connection = self.transactions[id].connection;
            let content = &self.databases[&self.connections[connection].database];
            let scope = &self.transactions[id].scope;
            let stores = scope
                .iter()
                .filter_map(|store| content.store(*store).cloned());
            self.transactions[id].stores_before = stores.collect();
            self.transactions[id].is_started = true;
            progress = true;
        }
        for request in self.transactions[id].requests.clone() {
            if self.requests[request].outcome.is_some() {
                continue;
            }
            progress = true;
            let outcome = self.execute(request);
            let is_committing = self.transactions[id].state == State::Committing;
            let failure = match &outcome {
                Outcome::Error(exception) => Some(*exception),
                _ => None,
            };
            let it = &mut self.requests[request];
            it.outcome = Some(outcome);
            it.is_observed |= it.is_watched && !is_committing;
            if let Some(exception) = failure
                && is_committing
            {
                self.transactions[id].failed = Some(request);
                self.abort_with(id, exception);
                return true;
            }
        }
        if self.transactions[id].state == State::Committing {
            self.finish(id, Ok(()));
            progress = true;
        }
        progress
    }

    /// `IDBTransaction.commit()`. A request's failure that no handler has seen aborts the transaction. If the request has failed by
    /// now, that happens here; if it fails later, it happens then.
    pub(crate) fn commit(&mut self, id: usize) -> Result<(), Exception> {
        if self.transactions[id].state != State::Active {
            return Err("InvalidStateError");
        }
        self.transactions[id].state = State::Committing;
        let unseen = self.transactions[id].requests.iter().find_map(|request| {
            match self.requests[*request] {
                Request {
                    is_observed: false,
                    outcome: Some(Outcome::Error(exception)),
                    ..
                } => Some((*request, exception)),
                _ => None,
            }
        });
        if let Some((request, exception)) = unseen {
            self.transactions[id].failed = Some(request);
            self.abort_with(id, exception);
        }
        self.pump();
        Ok(())
    }

    /// `IDBTransaction.abort()`, with the error that the host gives or none.
    pub(crate) fn abort(&mut self, id: usize, error: Option<Exception>) -> Result<(), Exception> {
        if self.transactions[id].state != State::Active {
            return Err("InvalidStateError");
        }
        self.abort_with(id, error.unwrap_or("AbortError"));
        self.pump();
        Ok(())
    }

    /// "Abort a transaction", and "abort an upgrade transaction": everything is as it was, names and generators too.
    pub(crate) fn abort_with(&mut self, id: usize, error: Exception) {
        let connection = self.transactions[id].connection;
        let database = self.connections[connection].database.clone();
        if let Some(before) = self.transactions[id].database_before.clone() {
            let connection = &mut self.connections[connection];
            connection.version = before.as_ref().map_or(0, |content| content.version);
            connection.names = before.as_ref().map(Content::names).unwrap_or_default();
            match before {
                Some(content) => self.databases.insert(database, content),
                None => self.databases.remove(&database),
            };
        } else if self.transactions[id].mode == Mode::ReadWrite
            && let Some(content) = self.databases.get_mut(&database)
        {
            for before in &self.transactions[id].stores_before {
                if let Some(store) = content.store_mut(before.id) {
                    *store = before.clone();
                }
            }
        }
        for request in self.transactions[id].requests.clone() {
            let request = &mut self.requests[request];
            request.outcome.get_or_insert(Outcome::Error("AbortError"));
        }
        self.finish(id, Err(error));
    }

    fn finish(&mut self, id: usize, outcome: Result<(), Exception>) {
        let transaction = &mut self.transactions[id];
        let database = &self.connections[transaction.connection].database;
        transaction.state = State::Finished;
        transaction.outcome = Some(outcome);
        let is_written = transaction.mode != Mode::ReadOnly && outcome.is_ok();
        if let Some(content) = self.databases.get(database) {
            transaction.stores_after.clone_from(&content.stores);
        }
        if is_written {
            self.note_committed(id);
        }
    }

    /// Adds what is committed now to the history.
    fn note_committed(&mut self, id: usize) {
        let transaction = &self.transactions[id];
        let name = &self.connections[transaction.connection].database;
        let content = &self.databases[name];
        let mut committed = self.history.last().cloned().unwrap_or_default();
        let mut is_changed = transaction.mode == Mode::VersionChange;
        if transaction.mode == Mode::VersionChange {
            committed.databases.insert(name.clone(), content.clone());
        } else if let Some(before) = committed.databases.get_mut(name) {
            for store in &transaction.scope {
                if let (Some(before), Some(after)) =
                    (before.store_mut(*store), content.store(*store))
                {
                    is_changed |= before != after;
                    before.clone_from(after);
                }
            }
        }
        // One that changes nothing has nothing that could survive, nor makes what was before it survive.
        committed.is_strict =
            is_changed && (transaction.is_strict || transaction.mode == Mode::VersionChange);
        self.history.push(committed);
    }
}
