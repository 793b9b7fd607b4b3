//! Executing transactions: the queue of a transaction's operations, the thread that executes them, and their end.
//!
//! Nothing here has a handle of a host's. The rooms above are behind [`TransactionOwner`]; the store is `origin`'s; what an operation
//! does is `operation`'s.

mod core;
mod end;
mod execute;
mod operation;
mod owner;
mod plan;
mod queue;
mod report;
mod run;
mod shared;
mod statistics;
mod transaction_options;

pub(crate) use self::core::TransactionCore;
pub(crate) use self::operation::Length;
pub(crate) use self::owner::{TransactionOwner, snapshot};
pub(crate) use self::plan::{Plan, Versions};
pub use self::plan::{TransactionDurability, TransactionMode, TransactionState};
pub(crate) use self::queue::SmallPut;
pub(crate) use self::shared::InitialState;
pub use self::transaction_options::TransactionOptions;

#[cfg(test)]
mod tests;
