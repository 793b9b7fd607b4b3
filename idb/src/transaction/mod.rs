//! Transactions.

pub(crate) mod execution;
