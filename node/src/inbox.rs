//! [`Inbox`]: what comes to an environment from other threads, and its event loop being woken for it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use larder_idb::{ConnectionEvent, DeleteEvent, OpenEvent, Result};

use crate::futures::Task;
use crate::outcome::{Contents, Outcome};

/// Something that has come.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// The first request of a transaction's queue has been executed by another thread.
    First(u32, Result<Outcome>),
    /// The contents that the first request of a queue waits for have been read.
    Contents(u32, Contents),
    /// A transaction has ended.
    End(u32, Result<()>),
    /// A request that is no transaction's has come to its end: engine, request, and the contents of its
    /// blobs.
    Done(u32, u32, Result<Outcome>, Contents),
    /// A future that goes on.
    Woken(Arc<Task>),
    /// Engine, number of the watch.
    Open(u32, u32, OpenEvent),
    Delete(u32, u32, DeleteEvent),
    Connection(u32, Watch, ConnectionEvent),
}

/// Under which number script hears what happens to a connection: it says so when it has the connection, but what happens to it may come earlier, and must
/// not be lost.
pub(crate) type Watch = Arc<OnceLock<u32>>;

/// Wakes an event loop. May be called on any thread.
pub(crate) type Wake = Box<dyn Fn() + Send + Sync>;

/// Those of one environment. Clones are the same.
#[derive(Clone)]
pub(crate) struct Inbox(Arc<Shared>);

struct Shared(Mutex<State>);

struct State {
    arrivals: VecDeque<Arrival>,
    /// Whether the loop will look here: it was woken, or has not found nothing to do yet.
    is_looking: bool,
    /// `None` once the loop has ended.
    wake: Option<Wake>,
}

impl Inbox {
    pub(crate) fn new(wake: Wake) -> Self {
        Self(Arc::new(Shared(Mutex::new(State {
            arrivals: VecDeque::new(),
            is_looking: false,
            wake: Some(wake),
        }))))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in it is ever half done.
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts something there.
    pub(crate) fn put(&self, arrival: Arrival) {
        let mut state = self.state();
        // What comes too late is let go of outside of the lock: that may close stores.
        if state.wake.is_none() {
            drop(state);
            return;
        }
        state.arrivals.push_back(arrival);
        if !std::mem::replace(&mut state.is_looking, true)
            && let Some(wake) = &state.wake
        {
            // Within the lock: the loop cannot end meanwhile.
            wake();
        }
    }

    /// Takes the first. From now on the loop need not be woken.
    pub(crate) fn take(&self) -> Option<Arrival> {
        let mut state = self.state();
        state.is_looking = true;
        state.arrivals.pop_front()
    }

    /// The loop has found nothing to do: whether nothing has come by now. Then it is woken for what comes next.
    pub(crate) fn rest(&self) -> bool {
        let mut state = self.state();
        state.is_looking = !state.arrivals.is_empty();
        !state.is_looking
    }

    /// The loop ends: nothing is woken from now on.
    pub(crate) fn close(&self) {
        let ended = {
            let mut state = self.state();
            (state.wake.take(), std::mem::take(&mut state.arrivals))
        };
        drop(ended);
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").finish_non_exhaustive()
    }
}
