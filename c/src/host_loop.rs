//! Calls of the host's callbacks that are due: queued on whatever thread something happens, made where the host runs its loop.

use std::collections::VecDeque;
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
    /// Held while it is called, so that it is not called any more once it is taken away.
    wake: Mutex<Option<Wake>>,
}

struct State {
    calls: VecDeque<Call>,
    /// The host's loop has found nothing to do: the next thing wakes it.
    is_asleep: bool,
    /// The storage has got something to do since the loop looked.
    has_work: bool,
    /// Whether a callback may be running just now: then no other one begins.
    is_calling: bool,
    /// The loop came meanwhile and was sent away with nothing done: it may be asleep.
    was_sent_away: bool,
    /// So many threads sleep until something changes: without any, nothing has to be woken, which takes a call of the system's.
    sleepers: usize,
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
            is_calling: false,
            was_sent_away: false,
            sleepers: 0,
            is_over: false,
            thread: None,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            wake: Mutex::new(wake),
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
        self.wake_sleepers();
    }

    /// Lets go of all calls, and of those that come: they hold what holds this. A wake that is under way on another thread has
    /// ended then, and no other one comes.
    pub(crate) fn end(&self) {
        let calls = {
            let mut state = locked(&self.state);
            state.is_over = true;
            std::mem::take(&mut state.calls)
        };
        *locked(&self.wake) = None;
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
        if was_asleep {
            self.wake();
        }
    }

    fn wake(&self) {
        let wake = locked(&self.wake);
        if let Some(wake) = &*wake {
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

    /// A request is done. Calls that wait for one look again.
    pub(crate) fn note_done(&self) {
        self.wake_sleepers();
    }

    /// Comes behind the change. A thread that looked before it is counted by now, and one that looks later sees it.
    fn wake_sleepers(&self) {
        let sleepers = locked(&self.state).sleepers;
        if sleepers > 0 {
            self.changed.notify_all();
        }
    }

    /// The right to make calls, of the host's loop, which runs here from now on. `None` while a callback is running, or another
    /// thread makes calls: the loop is woken when that is over, if something is left.
    pub(crate) fn enter(&self) -> Option<Calling<'_>> {
        let mut state = locked(&self.state);
        if std::mem::replace(&mut state.is_calling, true) {
            state.was_sent_away = true;
            return None;
        }
        state.thread = Some(thread::current().id());
        Some(Calling(self))
    }

    /// The right to make calls, of a wait. `None` while a callback is running, and where the host runs its loop on another thread.
    pub(crate) fn enter_to_wait(&self) -> Option<Calling<'_>> {
        let mut state = locked(&self.state);
        let thread = state.thread;
        let is_here = thread.is_none_or(|thread| thread == thread::current().id());
        if !is_here || std::mem::replace(&mut state.is_calling, true) {
            return None;
        }
        Some(Calling(self))
    }

    /// Sleeps until something is due or done.
    pub(crate) fn sleep_unless(&self, is_done: impl Fn() -> bool, wants_calls: bool) {
        let mut state = locked(&self.state);
        state.sleepers += 1;
        while !is_done() && (state.calls.is_empty() || !wants_calls) {
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        state.sleepers -= 1;
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
        let wakes = {
            let mut state = locked(&self.0.state);
            state.is_calling = false;
            let is_left = state.has_work || !state.calls.is_empty();
            let was_sent_away = std::mem::take(&mut state.was_sent_away);
            state.is_asleep |= was_sent_away;
            was_sent_away && is_left && std::mem::take(&mut state.is_asleep) && !state.is_over
        };
        if wakes {
            self.0.wake();
        }
    }
}
