//! [`Answer`]: what the engine answers a realm.

use std::sync::{Arc, OnceLock};

use larder_feed::Batch;
use larder_idb::{
    ConnectionEvent, Cursor, DatabaseInfo, DeleteEvent, Key, OpenEvent, Records, Result,
    StoredValue,
};

/// What a request comes to.
#[derive(Debug)]
pub(crate) enum Outcome {
    Nothing,
    Key(Key),
    MaybeKey(Option<Key>),
    Value(Option<StoredValue>),
    Count(u64),
    Records(Records, Projection),
    Cursor(Option<Cursor>),
    /// A cursor that has a number has moved.
    Moved(u32, Option<Cursor>),
    Databases(Vec<DatabaseInfo>),
    /// Bytes that are used, and may be.
    Estimate(u64, u64),
    Flag(bool),
    /// Transactions of a change feed; `None` at its end.
    Changes(Option<Batch>),
}

/// Which parts of records the answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Projection {
    Values,
    PrimaryKeys,
    Whole,
}

/// An answer, or something that has happened, and the number of the request that it is for.
#[derive(Debug)]
pub(crate) enum Answer {
    Complete(u32, Result<Outcome>),
    Open(u32, OpenEvent),
    Delete(u32, DeleteEvent),
    Connection(Watcher, ConnectionEvent),
}

/// Under which number the binding hears what happens to a connection: it says so when it has the connection, but what happens
/// to it may come earlier, and must not be lost.
pub(crate) type Watcher = Arc<OnceLock<u32>>;
