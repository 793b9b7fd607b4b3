//! Futures that go on when the event loop comes to it, for what takes several requests one after the other.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};

use crate::inbox::{Arrival, Inbox};

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A future. What it waits for wakes it by way of the inbox.
pub(crate) struct Task {
    /// `None` while it is polled, when it has come to its end, or was cancelled.
    work: Mutex<Option<Work>>,
    inbox: Inbox,
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").finish_non_exhaustive()
    }
}

impl Task {
    /// Begins a task. Its first step is one of those that follow the call.
    pub(crate) fn begin(
        inbox: &Inbox,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Arc<Self> {
        let task = Arc::new(Self {
            work: Mutex::new(Some(Box::pin(work))),
            inbox: inbox.clone(),
        });
        Arc::clone(&task).wake();
        task
    }

    fn work(&self) -> MutexGuard<'_, Option<Work>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It has been woken.
    pub(crate) fn go_on(self: Arc<Self>) {
        // Out of the lock while it is polled.
        let work = self.work().take();
        if let Some(mut work) = work {
            let waker = Waker::from(Arc::clone(&self));
            let polled = work.as_mut().poll(&mut Context::from_waker(&waker));
            if polled.is_pending() {
                *self.work() = Some(work);
            }
        }
    }

    /// Ends it where it is. Whether it had not come to its end.
    pub(crate) fn cancel(&self) -> bool {
        let work = self.work().take();
        work.is_some()
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let inbox = self.inbox.clone();
        inbox.put(Arrival::Woken(self));
    }
}
