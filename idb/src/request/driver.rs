//! What brings a request to its result.

use std::sync::Arc;

use crate::executor::{Callback, Ready};

/// A transaction, which executes operations one after the other, or the storage's queue of tasks. The numbers are those of the
/// driver's operations, in the order of their requests.
pub(crate) trait Driver: Send + Sync {
    /// The queue of what can be done now.
    fn ready(&self) -> &Arc<Ready>;

    /// The result of the operation of this number is wanted soon. Until then nothing need be woken to execute it.
    fn demand(self: Arc<Self>, number: u64);

    /// Executes on this thread, up to the operation of this number, what no other thread executes.
    fn help(self: Arc<Self>, number: u64);

    /// Sleeps until `is_done`, or executes on this thread, where this may be. What makes `is_done` true wakes this thread.
    fn wait(self: Arc<Self>, number: u64, is_done: &dyn Fn() -> bool);

    /// The host has taken the result of this number.
    fn note_taken(&self, number: u64, is_failure: bool);

    /// A callback that holds the result of this number is to be called in its turn.
    fn deliver(self: Arc<Self>, number: u64, is_failure: bool, callback: Callback);
}
