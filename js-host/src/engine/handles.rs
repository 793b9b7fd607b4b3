//! [`Handles`]: the numbers by which script names what the engine has.
//!
//! A number is given back by `release`, which the binding calls when its object has been collected.

use larder_binding::Numbers;
use larder_idb::{Connection, Cursor, Index, ObjectStore, Transaction, VersionChange};

use std::sync::Arc;

use super::changes::Changes;
use crate::realms::BlobContent;

/// What a number stands for.
#[derive(Debug, Clone)]
pub(super) enum Handle {
    Connection(Connection),
    Transaction(Transaction),
    Store(ObjectStore),
    Index(Index),
    Cursor(Cursor),
    Blob(BlobContent),
    Changes(Arc<Changes>),
}

/// Handles, and events of which script has not said that it has seen them.
#[derive(Debug, Default)]
pub(super) struct Handles {
    pub(super) all: Numbers<Handle>,
    pub(super) version_changes: Numbers<VersionChange>,
}
