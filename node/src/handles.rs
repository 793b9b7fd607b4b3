//! [`Handles`]: the numbers by which script names what the engine has. A number is given back by `release`, which the binding calls when its object has been
//! collected.

use larder_binding::Numbers;
use larder_idb::{
    Connection, Cursor, Error, ErrorName, Index, ObjectStore, Result, Transaction, VersionChange,
};

use crate::changes::Changes;
use crate::outcome::Contents;

/// What a number stands for. Behind what belongs to a transaction stands the number of its queue.
#[derive(Debug)]
pub(crate) enum Handle {
    /// With its engine.
    Connection(Connection, u32),
    Transaction(Transaction, u32),
    Store(ObjectStore, u32),
    Index(Index, u32),
    /// With the contents of its value's blobs.
    Cursor(Cursor, u32, Contents),
    /// With its engine.
    Changes(Changes, u32),
}

/// Handles, and events of which script has not said that it has seen them.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    pub(crate) all: Numbers<Handle>,
    pub(crate) version_changes: Numbers<VersionChange>,
}

/// What is read: an object store or an index.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'h> {
    Store(&'h ObjectStore),
    Index(&'h Index),
}

impl Handles {
    pub(crate) fn connection(&self, number: u32) -> Result<(&Connection, u32)> {
        match self.all.get(number) {
            Some(Handle::Connection(connection, engine)) => Ok((connection, *engine)),
            _ => Err(gone()),
        }
    }

    pub(crate) fn transaction(&self, number: u32) -> Result<(&Transaction, u32)> {
        match self.all.get(number) {
            Some(Handle::Transaction(transaction, queue)) => Ok((transaction, *queue)),
            _ => Err(gone()),
        }
    }

    pub(crate) fn store(&self, number: u32) -> Result<(&ObjectStore, u32)> {
        match self.all.get(number) {
            Some(Handle::Store(store, queue)) => Ok((store, *queue)),
            _ => Err(gone()),
        }
    }

    pub(crate) fn index(&self, number: u32) -> Result<&Index> {
        match self.all.get(number) {
            Some(Handle::Index(index, _)) => Ok(index),
            _ => Err(gone()),
        }
    }

    pub(crate) fn source(&self, number: u32) -> Result<(Source<'_>, u32)> {
        match self.all.get(number) {
            Some(Handle::Store(store, queue)) => Ok((Source::Store(store), *queue)),
            Some(Handle::Index(index, queue)) => Ok((Source::Index(index), *queue)),
            _ => Err(gone()),
        }
    }

    pub(crate) fn changes(&self, number: u32) -> Result<(&Changes, u32)> {
        match self.all.get(number) {
            Some(Handle::Changes(changes, engine)) => Ok((changes, *engine)),
            _ => Err(gone()),
        }
    }

    pub(crate) fn cursor(&self, number: u32) -> Result<(&Cursor, u32, &Contents)> {
        match self.all.get(number) {
            Some(Handle::Cursor(cursor, queue, contents)) => Ok((cursor, *queue, contents)),
            _ => Err(gone()),
        }
    }
}

/// The binding has named something that is not there: a defect.
pub(crate) fn gone() -> Error {
    Error::new(
        ErrorName::UnknownError,
        "internal error: the handle belongs to no object of the engine; it may have been freed",
    )
}
