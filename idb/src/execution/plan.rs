//! What a transaction is about: its mode, its scope, and what counts as committed.

use larder_backing_store::ObjectStoreSet;

/// What a transaction may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransactionMode {
    /// Read.
    ReadOnly,
    /// Read and write records.
    ReadWrite,
    /// All that, and create, rename and delete object stores and indexes: the transaction of an upgrade.
    VersionChange,
}

/// What a transaction asks for when it commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum TransactionDurability {
    /// The storage's default, which is [`Relaxed`](Self::Relaxed), as in Chromium.
    #[default]
    Default,
    /// It has been handed over to the operating system: it survives the end of the process.
    Relaxed,
    /// It has been synced: it survives the end of the machine.
    Strict,
}

/// Where a transaction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TransactionState {
    /// It takes requests. A host with a page decides when that is "active" or "inactive".
    Active,
    /// It commits once what was asked for is done.
    Committing,
    /// It was aborted, and is being rolled back.
    Aborting,
    /// It was committed or rolled back.
    Finished,
}

/// What a transaction is about.
#[derive(Debug)]
pub(crate) struct Plan {
    /// In order of creation within the database.
    pub(crate) number: u64,
    /// The number of its connection, which the scheduler counts its transactions by.
    pub(crate) connection: u64,
    pub(crate) mode: TransactionMode,
    pub(crate) durability: TransactionDurability,
    /// Whether its changes come from the source that the database is a copy of.
    pub(crate) is_from_source: bool,
    /// Its scope; of a version change, none.
    pub(crate) object_stores: ObjectStoreSet,
    /// The versions of a version change.
    pub(crate) versions: Option<Versions>,
}

/// What a version change leads from and to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Versions {
    pub(crate) old: u64,
    pub(crate) new: u64,
}

impl Plan {
    /// The plan of the transaction of an upgrade.
    pub(crate) fn of_upgrade(number: u64, connection: u64, versions: Versions) -> Self {
        Self {
            number,
            connection,
            mode: TransactionMode::VersionChange,
            durability: TransactionDurability::Strict,
            is_from_source: false,
            object_stores: ObjectStoreSet::new(),
            versions: Some(versions),
        }
    }
}
