//! [`Tasks`]: futures that go on between the engine's steps, for what takes several requests one after the other.
//!
//! A future is polled on whatever thread does the steps, when it has been woken: a step has done something that it waits for. So it is
//! polled in the engine's turn, and never within another step.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Those of all realms of a run.
#[derive(Clone, Default)]
pub(super) struct Tasks(Arc<Mutex<VecDeque<Arc<Task>>>>);

/// One of them.
pub(super) struct Task {
    /// `None` when it has come to its end, or was cancelled.
    work: Mutex<Option<Work>>,
    woken: Tasks,
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").finish_non_exhaustive()
    }
}

/// What a future has panicked in is not polled again.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tasks {
    /// Begins a task. Its first step is one of those that follow the call.
    pub(super) fn begin(&self, work: impl Future<Output = ()> + Send + 'static) -> Arc<Task> {
        let task = Arc::new(Task {
            work: Mutex::new(Some(Box::pin(work))),
            woken: self.clone(),
        });
        Arc::clone(&task).wake();
        task
    }

    /// Goes on with a task that has been woken, if there is one.
    pub(super) fn run_one(&self) -> bool {
        let woken = locked(&self.0).pop_front();
        let Some(task) = woken else { return false };
        // Out of the lock while it is polled: a panic loses it.
        let work = locked(&task.work).take();
        if let Some(mut work) = work {
            let waker = Waker::from(Arc::clone(&task));
            let polled = work.as_mut().poll(&mut Context::from_waker(&waker));
            if polled.is_pending() {
                *locked(&task.work) = Some(work);
            }
        }
        true
    }
}

impl Task {
    /// Ends it where it is. Whether it had not come to its end.
    pub(super) fn cancel(&self) -> bool {
        let work = locked(&self.work).take();
        work.is_some()
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let woken = self.woken.clone();
        locked(&woken.0).push_back(self);
    }
}
