//! How a host that drives learns that there is work again.

use std::fmt;
use std::sync::Arc;

use crate::error::attempt;

/// Called when a host that drives ([`Executor::Driven`](crate::Executor::Driven)) has something to do again.
///
/// It is called at most once between two calls of [`Storage::run_one`](crate::Storage::run_one) that find nothing: for the first thing that
/// comes after the one (or after the storage was made), however many come with it. So a loop that runs steps until there is
/// none, and then sleeps until it is called, misses nothing and is not called without need. What it is called for is a step
/// that can be done now, or a time that [`Storage::next_due`](crate::Storage::next_due) gives from now on and did not before.
///
/// It only passes that on: sets a flag, wakes the loop's thread, posts to its queue. It is called on whatever thread brings the
/// work, inside of any call of this crate, also one that the loop's own thread makes, and one that drops something. It must neither use
/// the storage or anything of it, nor wait for a lock that some thread holds while it does. What it throws is dropped; the panic
/// hook has printed it.
#[derive(Clone)]
pub struct WorkCallback(Arc<dyn Fn() + Send + Sync>);

impl WorkCallback {
    /// Calls this function when there is work again.
    pub fn new(callback: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(callback))
    }

    pub(super) fn call(&self) {
        let _ = attempt(|| {
            (self.0)();
            Ok(())
        });
    }
}

impl fmt::Debug for WorkCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WorkCallback")
    }
}
