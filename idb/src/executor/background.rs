//! Threads for what goes on behind requests: the engines' background work, and closing stores. All stores share them; no
//! request needs one to come to its end.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use larder_backing_store::{BackgroundPool, BackgroundWork};

use super::start_threads;
use crate::error::Result;
use crate::sync::{Condvar, JoinHandle, Mutex, locked};

/// Something that a thread does.
pub(crate) type Chore = Box<dyn FnOnce() + Send>;

/// What becomes due by itself.
pub(crate) trait Timetable: Send + Sync {
    /// Does what is due by now. In what time something may be due next, if nothing is added; `None` if never.
    fn do_due(&self) -> Option<Duration>;
}

/// What the threads take from.
#[derive(Default)]
pub(crate) struct Chores {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    chores: VecDeque<Chore>,
    /// How often something was added to the timetable that may be due before all else.
    additions: u64,
    is_stopping: bool,
}

impl Chores {
    /// Adds something to be done, unless the threads are to end.
    pub(crate) fn push(&self, chore: Chore) {
        {
            let mut state = locked(&self.state);
            if state.is_stopping {
                drop(state);
                return;
            }
            state.chores.push_back(chore);
        }
        self.changed.notify_one();
    }

    /// Something in the timetable may be due before all else.
    pub(crate) fn look_again(&self) {
        locked(&self.state).additions += 1;
        self.changed.notify_all();
    }

    /// Whether there was anything to be done.
    fn do_one(&self) -> bool {
        let chore = locked(&self.state).chores.pop_front();
        let has_any = chore.is_some();
        if let Some(chore) = chore {
            // A panic of the host's file system: the work that it interrupts reports it.
            let _ = catch_unwind(AssertUnwindSafe(chore));
        }
        has_any
    }

    /// What a thread does until it is to end: everything, then.
    fn serve(&self, timetable: &dyn Timetable) {
        loop {
            let additions = locked(&self.state).additions;
            if self.do_one() {
                continue;
            }
            let wait = catch_unwind(AssertUnwindSafe(|| timetable.do_due()));
            let state = locked(&self.state);
            if !state.chores.is_empty() {
                continue;
            }
            if state.is_stopping {
                return;
            }
            if state.additions != additions {
                continue;
            }
            match wait {
                Ok(Some(wait)) => drop(self.changed.wait_timeout(state, wait)),
                Ok(None) | Err(_) => drop(
                    self.changed
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner),
                ),
            }
        }
    }
}

/// Chores as an engine sees them: it does not depend on which thread runs its work.
pub(crate) struct EngineWork(pub(crate) Arc<Chores>);

impl BackgroundPool for EngineWork {
    fn run_soon(&self, work: BackgroundWork) {
        self.0.push(Box::new(move || work.run()));
    }
}

impl std::fmt::Debug for EngineWork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EngineWork")
    }
}

/// The threads.
pub(crate) struct BackgroundThreads {
    chores: Arc<Chores>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl BackgroundThreads {
    /// # Errors
    /// `UnknownError` if a thread cannot be started.
    pub(crate) fn start(
        chores: Arc<Chores>,
        timetable: &Arc<dyn Timetable>,
        count: usize,
    ) -> Result<Self> {
        let threads = Self {
            chores,
            threads: Mutex::default(),
        };
        start_threads("background", count, &threads.threads, || {
            let (chores, timetable) = (Arc::clone(&threads.chores), Arc::clone(timetable));
            move || chores.serve(&*timetable)
        })?;
        Ok(threads)
    }

    /// Does everything that there is to do, with the threads, which then end.
    pub(crate) fn stop(&self) {
        locked(&self.chores.state).is_stopping = true;
        self.chores.changed.notify_all();
        while self.chores.do_one() {}
        super::join_others(&self.threads);
        while self.chores.do_one() {}
    }

    /// How many threads there are.
    pub(crate) fn count(&self) -> usize {
        locked(&self.threads).len()
    }
}

impl Drop for BackgroundThreads {
    fn drop(&mut self) {
        self.stop();
    }
}
