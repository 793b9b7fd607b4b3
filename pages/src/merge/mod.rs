//! Heads become one, alike on every device.
//!
//! A merge commit depends on its parents alone: on what they hold and came of. So devices that have the same heads make the same commit,
//! whenever and in whatever order they met. Decision 53.

mod ancestors;
mod base;
mod conflict;
mod policy;

pub use ancestors::{Relation, relation};
pub use conflict::{Conflict, ConflictPart, ConflictResolver, MergedValue};
pub use policy::{MergeOutcome, MergePolicy};

#[cfg(test)]
mod tests;
