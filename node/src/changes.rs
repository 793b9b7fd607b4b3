//! What script reads of a change feed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use larder_feed::Follower;

use crate::futures::Task;

/// A reading of a feed.
#[derive(Debug)]
pub(crate) struct Changes {
    pub(crate) follower: Arc<Follower>,
    /// What the request of this number waits for.
    pending: Mutex<Option<(u32, Arc<Task>)>>,
}

impl Drop for Changes {
    fn drop(&mut self) {
        // The future has what wakes it, and that the future.
        self.cancel();
    }
}

impl Changes {
    pub(crate) fn new(follower: Follower) -> Self {
        Self {
            follower: Arc::new(follower),
            pending: Mutex::default(),
        }
    }

    fn pending(&self) -> MutexGuard<'_, Option<(u32, Arc<Task>)>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request waits for this task.
    pub(crate) fn await_task(&self, request: u32, task: Arc<Task>) {
        *self.pending() = Some((request, task));
    }

    /// The request that waited, if one did.
    pub(crate) fn cancel(&self) -> Option<u32> {
        let (request, task) = self.pending().take()?;
        task.cancel().then_some(request)
    }
}
