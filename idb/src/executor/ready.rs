//! The queue of what can be done now, and the threads that sleep until there is something.

use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Executor, Task, Turn, WorkCallback};
use crate::sync::{AtomicBool, Mutex, Thread, locked, thread, thread_local};

/// The queue.
pub(crate) struct Ready {
    is_driven: bool,
    /// Set under the lock.
    is_stopping: AtomicBool,
    state: Mutex<State>,
    /// How a host that drives is called when there is work again.
    on_work: Option<WorkCallback>,
}

struct State {
    tasks: VecDeque<Arc<dyn Task>>,
    /// Where the choice of the next stands, if it is drawn.
    random: Option<u64>,
    /// Threads that sleep until there is a task: each once.
    sleepers: Vec<Thread>,
    /// Whether a host that drives has found nothing to do, and has not been called since.
    is_host_resting: bool,
}

thread_local! {
    /// The queue that this thread is a worker of.
    static WORKER_OF: Cell<*const Ready> = const { Cell::new(ptr::null()) };
    /// The queue that this thread runs a task of.
    static RUNNING: Cell<*const Ready> = const { Cell::new(ptr::null()) };
}

impl State {
    fn next(&mut self) -> Option<Arc<dyn Task>> {
        match &mut self.random {
            Some(random) if self.tasks.len() > 1 => {
                let at = usize::try_from(next_random(random) % self.tasks.len() as u64);
                self.tasks.remove(at.unwrap_or(0))
            }
            _ => self.tasks.pop_front(),
        }
    }
}

/// SplitMix64: nothing hangs on it but evenness.
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl Ready {
    pub(super) fn new(executor: Executor, on_work: Option<WorkCallback>) -> Self {
        let (is_driven, random) = match executor {
            Executor::Threads(_) => (false, None),
            Executor::Driven { seed } => (true, seed),
        };
        Self {
            is_driven,
            is_stopping: AtomicBool::new(false),
            state: Mutex::new(State {
                tasks: VecDeque::new(),
                random,
                sleepers: Vec::new(),
                is_host_resting: is_driven,
            }),
            on_work,
        }
    }

    /// Whether the host alone executes.
    pub(crate) const fn is_driven(&self) -> bool {
        self.is_driven
    }

    /// Whether no task waits while a thread goes on with its own.
    pub(crate) fn is_idle(&self) -> bool {
        !self.is_driven && locked(&self.state).tasks.is_empty()
    }

    /// Whether threads of this crate no longer look after tasks.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Puts a task into the queue.
    pub(crate) fn push(&self, task: Arc<dyn Task>) {
        let (sleeper, must_tell_host) = {
            let mut state = locked(&self.state);
            state.tasks.push_back(task);
            (state.sleepers.pop(), self.rouse_host(&mut state))
        };
        if let Some(sleeper) = sleeper {
            sleeper.unpark();
        }
        if must_tell_host {
            self.tell_host();
        }
    }

    /// Whether a host that drives is to be called because there is something to do: once, until it has found nothing more.
    fn rouse_host(&self, state: &mut State) -> bool {
        // The thread that ends the storage runs what is left.
        std::mem::take(&mut state.is_host_resting) && !self.is_stopping()
    }

    fn tell_host(&self) {
        if let Some(on_work) = &self.on_work {
            on_work.call();
        }
    }

    /// Something will be due by itself before all else.
    pub(crate) fn note_due(&self) {
        let must_tell_host = self.rouse_host(&mut locked(&self.state));
        if must_tell_host {
            self.tell_host();
        }
    }

    /// A host that drives has found nothing to do: it is called for what comes from now on. `false` if something has come
    /// already.
    pub(crate) fn let_host_rest(&self) -> bool {
        let mut state = locked(&self.state);
        let is_empty = !self.is_driven || state.tasks.is_empty();
        state.is_host_resting = self.is_driven && is_empty;
        is_empty
    }

    /// Whether there is something to do now.
    pub(crate) fn has_tasks(&self) -> bool {
        !locked(&self.state).tasks.is_empty()
    }

    /// Runs one task: whether there was one.
    pub(crate) fn run_one(&self) -> bool {
        let next = locked(&self.state).next();
        let Some(task) = next else {
            return false;
        };
        let mut turn = self.turn();
        self.run(task, &mut turn);
        // A worker, or a thread that helps one, must survive the panic of a callback that is not its own.
        if self.is_driven {
            turn.rethrow();
        }
        true
    }

    /// Runs a task. None of them throws what a host's code has thrown before all is done; but if one does throw, it is not
    /// the end of this thread, which others count on.
    fn run(&self, task: Arc<dyn Task>, turn: &mut Turn) {
        let outer = RUNNING.with(|running| running.replace(ptr::from_ref(self)));
        let thrown = catch_unwind(AssertUnwindSafe(|| task.run(turn)));
        RUNNING.with(|running| running.set(outer));
        if let Err(thrown) = thrown {
            turn.note(thrown);
        }
    }

    /// A turn of a thread that helps.
    pub(crate) fn turn(&self) -> Turn {
        match self.is_driven {
            true => Turn::one_step(),
            false => Turn::long(),
        }
    }

    /// Runs tasks until `is_done`; sleeps while there are none. What makes `is_done` true wakes this thread.
    pub(crate) fn run_until(&self, is_done: impl Fn() -> bool) {
        while !is_done() {
            if self.run_one() {
                continue;
            }
            self.sleep(&is_done);
        }
        self.pass_on();
    }

    /// Sleeps until there is a task, or until woken.
    fn sleep(&self, is_done: &impl Fn() -> bool) {
        let this = thread::current();
        {
            let mut state = locked(&self.state);
            if !state.tasks.is_empty() {
                return;
            }
            state.sleepers.push(this.clone());
        }
        // If it was ended before this thread could be seen sleeping, the thread was woken all the same: `park` returns at once.
        if !is_done() {
            thread::park();
        }
        locked(&self.state)
            .sleepers
            .retain(|sleeper| sleeper.id() != this.id());
    }

    /// This thread may have been woken for a task that it now leaves to others.
    fn pass_on(&self) {
        let sleeper = {
            let mut state = locked(&self.state);
            match state.tasks.is_empty() {
                true => None,
                false => state.sleepers.pop(),
            }
        };
        if let Some(sleeper) = sleeper {
            sleeper.unpark();
        }
        self.drain_if_stopping();
    }

    /// Does what no thread of this crate may be left to do. A thread that may have put something into the queue calls it before it goes,
    /// since others may wait for that.
    pub(crate) fn drain_if_stopping(&self) {
        if self.is_stopping() {
            self.drain();
        }
    }

    /// As [`drain_if_stopping`](Self::drain_if_stopping), for calls that a host's callback may make as well: the thread that
    /// runs the callback does the rest when it has returned.
    pub(crate) fn drain_if_left_alone(&self) {
        if RUNNING.with(|running| !ptr::eq(running.get(), self)) {
            self.drain_if_stopping();
        }
    }

    /// What a worker does until it is to end.
    pub(super) fn work(&self) {
        WORKER_OF.with(|worker| worker.set(ptr::from_ref(self)));
        self.run_until(|| {
            let state = locked(&self.state);
            self.is_stopping() && state.tasks.is_empty()
        });
    }

    /// Whether this thread is one that others count on to run tasks: it must not sleep beside them.
    pub(crate) fn must_run_tasks(&self) -> bool {
        self.is_driven || WORKER_OF.with(|worker| ptr::eq(worker.get(), self)) || self.is_stopping()
    }

    pub(super) fn stop(&self) {
        let sleepers = {
            let mut state = locked(&self.state);
            self.is_stopping.store(true, Ordering::Release);
            std::mem::take(&mut state.sleepers)
        };
        for sleeper in sleepers {
            sleeper.unpark();
        }
    }

    /// Runs what is in the queue. Callbacks' panics end here: the panic hook has printed them.
    pub(super) fn drain(&self) {
        loop {
            let next = locked(&self.state).next();
            let Some(task) = next else {
                return;
            };
            self.run(task, &mut self.turn());
        }
    }
}
