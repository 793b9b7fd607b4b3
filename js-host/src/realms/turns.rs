//! Whose calls the engine has: one realm's at a time, from its first call in a task until all steps are done that the task's calls led
//! to. Realms that wait have it in the order in which they came.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::group::{Group, Realm, RealmId, State};

/// Which realm or step has the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    Realm(RealmId),
    /// The thread beside the scripts', which does the steps.
    Thread,
}

/// The engine's turns.
#[derive(Default)]
pub(super) struct Turns {
    holder: Option<Holder>,
    queue: VecDeque<RealmId>,
    /// There may be steps that the holder has not seen.
    has_more: bool,
    /// No realm gets it any more.
    is_ending: bool,
    /// What a step, or a realm's thread, has thrown.
    thrown: Option<Box<dyn Any + Send>>,
}

impl Turns {
    /// Whether no calls are being dealt with.
    pub(super) const fn are_over(&self) -> bool {
        self.holder.is_none()
    }

    pub(super) fn keep_thrown(&mut self, thrown: Box<dyn Any + Send>) {
        self.thrown = Some(thrown);
    }

    pub(super) const fn take_thrown(&mut self) -> Option<Box<dyn Any + Send>> {
        self.thrown.take()
    }
}

impl State {
    /// Gives the engine to the next realm. It becomes the holder here, under the lock, and not when its thread wakes: else a realm that
    /// comes in between would take the engine first, and the order of calls would depend on the scheduler.
    fn pass_on(&mut self) {
        let next = self.turns.queue.pop_front();
        self.turns.holder = next.map(Holder::Realm);
        match next {
            Some(next) => self.wake(next),
            None => self.wake_first_if_quiet(),
        }
    }
}

/// A realm that is to end gets no turn.
#[derive(Debug)]
pub(crate) struct Stopped;

impl Realm {
    /// Waits for the engine. One that `is_ending` waits although it has been stopped, but not for a run that is over.
    ///
    /// # Errors
    /// If it is not to have it any more.
    pub(crate) fn take_turn(&self, is_ending: bool) -> Result<(), Stopped> {
        let me = Some(Holder::Realm(self.id()));
        let mut state = self.state();
        if state.turns.holder.is_none() {
            state.turns.holder = me;
        } else {
            let wake = state.wake_of(self.id());
            state.turns.queue.push_back(self.id());
            self.group().waiting.fetch_add(1, Ordering::Relaxed);
            let mut is_given_up = false;
            // The holder is looked at before the reasons to give up: a realm that was given the engine and then stopped has to take
            // it, or no realm would pass it on.
            while state.turns.holder != me && !is_given_up {
                is_given_up = state.turns.is_ending || (self.is_stopped() && !is_ending);
                if !is_given_up {
                    state = wake.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
            self.group().waiting.fetch_sub(1, Ordering::Relaxed);
            if is_given_up {
                state.turns.queue.retain(|waiting| *waiting != self.id());
                return Err(Stopped);
            }
        }
        // A panic of a step goes on in the next realm that has a turn: the engine's thread has no caller to report it to. The lock is
        // released before, because a panic would poison it.
        let thrown = state.turns.take_thrown();
        drop(state);
        match thrown {
            Some(thrown) => resume_unwind(thrown),
            None => Ok(()),
        }
    }

    /// Takes the engine if no realm has it; otherwise the holder looks for steps once more.
    pub(crate) fn try_turn(&self) -> bool {
        let turns = &mut self.state().turns;
        match turns.holder {
            None => {
                turns.holder = Some(Holder::Realm(self.id()));
                true
            }
            Some(_) => {
                // The holder may have found no more steps already, and be about to leave. It looks at this mark under the lock
                // before it does; without the mark the new step would lie there until the next call.
                turns.has_more = true;
                false
            }
        }
    }

    /// Gives the engine to the next. False if there may be more steps to be done before.
    pub(crate) fn leave_turn(&self) -> bool {
        let mut state = self.state();
        if std::mem::take(&mut state.turns.has_more) && !state.turns.is_ending {
            return false;
        }
        state.pass_on();
        true
    }

    /// Gives the engine to the thread that does the steps.
    pub(crate) fn hand_to_thread(&self) {
        self.state().turns.holder = Some(Holder::Thread);
        self.group().wanted.notify_one();
    }

    /// Whether other realms wait for the engine.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.group().waiting.load(Ordering::Relaxed) > 0
    }
}

/// The turns of the thread that does the steps.
impl Group {
    /// Waits for work: whether there is some, or else the thread is to end.
    pub(crate) fn await_work(&self) -> bool {
        let mut state = self.state();
        while state.turns.holder != Some(Holder::Thread) && !state.turns.is_ending {
            state = (self.wanted.wait(state)).unwrap_or_else(PoisonError::into_inner);
        }
        !state.turns.is_ending
    }

    /// The steps are done, or one has thrown something.
    pub(crate) fn end_work(&self, thrown: Option<Box<dyn Any + Send>>) {
        let mut state = self.state();
        if thrown.is_some() {
            state.turns.thrown = thrown;
        }
        state.pass_on();
    }

    /// The run is over: no realm gets the engine any more, and the thread ends.
    pub(crate) fn end_turns(&self) {
        let mut state = self.state();
        state.turns.is_ending = true;
        state.wake_all();
        self.wanted.notify_one();
    }

    pub(crate) fn is_ending(&self) -> bool {
        self.state().turns.is_ending
    }
}
