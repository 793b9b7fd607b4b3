//! What does the work: threads of this crate, or the host when it asks for a step ([`Executor`]).
//!
//! What is to be done is a queue of [`Task`]s: transactions that have something to execute, connection queues that can go
//! on, callbacks that are due. A task is in the queue at most once at a time; it sees to that itself. What a task does, and
//! which may run beside which, is not known here.

mod background;
mod job;
mod ready;
mod turn;
mod work_callback;

pub(crate) use background::{BackgroundThreads, Chores, EngineWork, Timetable};
pub(crate) use job::Job;
pub(crate) use ready::Ready;
pub(crate) use turn::{Callback, Turn};
pub use work_callback::WorkCallback;

use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::error::{Error, ErrorName, Result};
use crate::sync::{JoinHandle, Mutex, locked, thread};

/// What executes requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Executor {
    /// So many threads that the storage owns, and each thread that waits for a request. Two by default.
    Threads(NonZeroUsize),
    /// The host alone, when it calls [`Storage::run_one`](crate::Storage::run_one) or waits for a request: one step at a
    /// time, in an order that depends on nothing but the order of its calls and on the seed.
    /// [`StorageOptions::on_work`](crate::StorageOptions::on_work) is how the host learns that there is something to run again.
    Driven {
        /// The next task is drawn with it; without it, the one that has waited longest is next.
        seed: Option<u64>,
    },
}

impl Default for Executor {
    fn default() -> Self {
        Self::Threads(NonZeroUsize::MIN.saturating_add(1))
    }
}

/// Something to be done.
pub(crate) trait Task: Send + Sync {
    /// Does some of it: one step if the host drives. The task puts itself into the queue again if there is more.
    fn run(self: Arc<Self>, turn: &mut Turn);
}

/// Starts so many threads. Those that were started are in `threads`, whatever becomes of the others.
///
/// # Errors
/// `UnknownError` if one cannot be started.
fn start_threads<W: FnOnce() + Send + 'static>(
    name: &str,
    count: usize,
    threads: &Mutex<Vec<JoinHandle<()>>>,
    work: impl Fn() -> W,
) -> Result<()> {
    for number in 0..count {
        let builder = thread::Builder::new().name(format!("larder-{name}-{number}"));
        let started = builder.spawn(work()).map_err(|error| {
            let what = format!("cannot start a thread: {error}");
            Error::new(ErrorName::UnknownError, what)
        })?;
        locked(threads).push(started);
    }
    Ok(())
}

/// Waits for threads that have been asked to end, but not for the one that calls this.
fn join_others(threads: &Mutex<Vec<JoinHandle<()>>>) {
    let threads = std::mem::take(&mut *locked(threads));
    let this = thread::current().id();
    for other in threads
        .into_iter()
        .filter(|thread| thread.thread().id() != this)
    {
        // A panic of a host's callback was caught; there is none of our own to hand on.
        let _ = other.join();
    }
}

/// The queue and the threads that take from it.
pub(crate) struct Pool {
    ready: Arc<Ready>,
    workers: Mutex<Vec<JoinHandle<()>>>,
}

impl Pool {
    /// # Errors
    /// `UnknownError` if a thread cannot be started.
    pub(crate) fn start(executor: Executor, on_work: Option<WorkCallback>) -> Result<Self> {
        let ready = Arc::new(Ready::new(executor, on_work));
        let pool = Self {
            ready: Arc::clone(&ready),
            workers: Mutex::default(),
        };
        if let Executor::Threads(count) = executor {
            start_threads("idb", count.get(), &pool.workers, || {
                let ready = Arc::clone(&ready);
                move || ready.work()
            })?;
        }
        Ok(pool)
    }

    pub(crate) fn ready(&self) -> &Arc<Ready> {
        &self.ready
    }

    /// Does everything that is in the queue, then ends the threads. A thread that calls this itself ends when it has come
    /// back to its queue.
    pub(crate) fn stop(&self) {
        self.ready.stop();
        join_others(&self.workers);
        self.ready.drain();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop();
    }
}
