//! What is asked of a transaction, beside its mode and its scope.

use super::TransactionDurability;

/// How a transaction is made.
///
/// ```
/// # use larder_idb::{Connection, Result, TransactionDurability, TransactionMode, TransactionOptions};
/// # fn begin(library: &Connection) -> Result<()> {
/// let synced = TransactionOptions::new().durability(TransactionDurability::Strict);
/// let transaction = library.transaction("books", TransactionMode::ReadWrite, synced)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransactionOptions {
    /// When it counts as committed.
    pub durability: TransactionDurability,
    /// Whether its changes come from a source that the database is a copy of: the change feed has that with each revision, so that
    /// what brings changes to that source leaves them out.
    pub from_source: bool,
    /// Whether its scope may name the object stores of the change feed, which are hidden otherwise.
    pub reserved: bool,
}

impl TransactionOptions {
    /// The storage's default durability.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            durability: TransactionDurability::Default,
            from_source: false,
            reserved: false,
        }
    }

    /// Whether its changes come from the source that the database is a copy of.
    #[must_use]
    pub const fn from_source(mut self, from_source: bool) -> Self {
        self.from_source = from_source;
        self
    }

    /// Whether its scope may name the object stores of the change feed.
    #[must_use]
    pub const fn reserved(mut self, reserved: bool) -> Self {
        self.reserved = reserved;
        self
    }

    /// When it counts as committed.
    #[must_use]
    pub const fn durability(mut self, durability: TransactionDurability) -> Self {
        self.durability = durability;
        self
    }
}
