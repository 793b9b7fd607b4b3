//! Calls of the host's callbacks that are due: queued on whatever thread something happens, made where the host runs its loop.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use crate::callback::Wake;
use crate::guard;

/// One call.
type Call = Box<dyn FnOnce() + Send>;

/// The calls that are due, in the order in which they came, and whether the host's loop has to be woken.
pub(crate) struct HostLoop {
    state: Mutex<State>,
    /// Wakes a waiting thread: a call is due, or a request is done.
    changed: Condvar,
    wake: Option<Wake>,
    /// Whether a callback may be running just now: then no other one begins.
    is_calling: AtomicBool,
}

struct State {
    calls: VecDeque<Call>,
    /// The host's loop has found nothing to do: the next thing wakes it.
    is_asleep: bool,
    /// The storage has got something to do since the loop looked.
    has_work: bool,
    /// The storage is freed: nothing is called any more.
    is_over: bool,
    /// Where the host runs its loop, once it has.
    thread: Option<ThreadId>,
}

/// Guards that have to go on after a panic that was caught: nothing here is left half done.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HostLoop {
    pub(crate) fn new(wake: Option<Wake>) -> Arc<Self> {
        let state = State {
            calls: VecDeque::new(),
            is_asleep: true,
            has_work: false,
            is_over: false,
            thread: None,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            wake,
            is_calling: AtomicBool::new(false),
        })
    }

    /// Puts a call behind all others.
    pub(crate) fn push(&self, call: impl FnOnce() + Send + 'static) {
        let mut call: Option<Call> = Some(Box::new(call));
        self.note(|state| {
            if !state.is_over {
                state.calls.extend(call.take());
            }
        });
        self.changed.notify_all();
    }

    /// Lets go of all calls, and of those that come: they hold what holds this.
    pub(crate) fn end(&self) {
        let calls = {
            let mut state = locked(&self.state);
            state.is_over = true;
            std::mem::take(&mut state.calls)
        };
        drop(calls);
    }

    /// The storage has something for the loop to do.
    pub(crate) fn note_work(&self) {
        self.note(|state| state.has_work = true);
    }

    /// Changes what is to be done, and wakes the loop if it sleeps.
    fn note(&self, change: impl FnOnce(&mut State)) {
        let was_asleep = {
            let mut state = locked(&self.state);
            change(&mut state);
            std::mem::take(&mut state.is_asleep) && !state.is_over
        };
        if let Some(wake) = self.wake.filter(|_| was_asleep) {
            wake.call();
        }
    }

    /// The loop goes to sleep, unless something has come meanwhile: whether it does.
    pub(crate) fn fall_asleep(&self) -> bool {
        let mut state = locked(&self.state);
        let has_work = std::mem::take(&mut state.has_work);
        state.is_asleep = !has_work && state.calls.is_empty();
        state.is_asleep
    }

    /// A request is done. Whoever waits for one looks again.
    pub(crate) fn note_done(&self) {
        drop(locked(&self.state));
        self.changed.notify_all();
    }

    /// The host runs its loop here.
    pub(crate) fn note_thread(&self) {
        locked(&self.state).thread = Some(thread::current().id());
    }

    /// As [`enter`](Self::enter), of a wait: `None` also where the host runs its loop on another thread.
    pub(crate) fn enter_to_wait(&self) -> Option<Calling<'_>> {
        let thread = locked(&self.state).thread;
        match thread.is_none_or(|thread| thread == thread::current().id()) {
            true => self.enter(),
            false => None,
        }
    }

    /// The right to make calls; `None` while a callback is running.
    pub(crate) fn enter(&self) -> Option<Calling<'_>> {
        let was_calling = self.is_calling.swap(true, Ordering::Acquire);
        (!was_calling).then(|| Calling(self))
    }

    /// Sleeps until something is due or done.
    pub(crate) fn sleep_unless(&self, is_done: impl Fn() -> bool, wants_calls: bool) {
        let mut state = locked(&self.state);
        while !is_done() && (state.calls.is_empty() || !wants_calls) {
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The right to make calls.
pub(crate) struct Calling<'a>(&'a HostLoop);

impl Calling<'_> {
    /// Makes the call that is due first: whether there was one.
    pub(crate) fn call_next(&self) -> bool {
        let call = locked(&self.0.state).calls.pop_front();
        let Some(call) = call else {
            return false;
        };
        guard::or_else((), call);
        true
    }

    /// Whether there is another one.
    pub(crate) fn has_next(&self) -> bool {
        !locked(&self.0.state).calls.is_empty()
    }
}

impl Drop for Calling<'_> {
    fn drop(&mut self) {
        self.0.is_calling.store(false, Ordering::Release);
    }
}
