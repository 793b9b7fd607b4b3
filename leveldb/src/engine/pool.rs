//! Background work of many stores on threads that they share.
//!
//! The pool is the host's, and nothing here relies on its threads: work that no thread has begun is done by a writer that has
//! to wait for it ([`Engine::wait_until`]), so that a pool whose threads are all busy, waiting or gone holds up no writer for
//! ever. The thread at it waits for nothing but the engine's own locks.

use super::{Engine, locked};
use crate::background_pool::{BackgroundPool, BackgroundWork, Work};
use crate::error::Result;
use crate::sync::{Condvar, Mutex};
use std::sync::{Arc, PoisonError, Weak};

/// Where a pool's threads find a store's engine: until the store is closed.
#[derive(Debug)]
pub(super) struct Desk {
    pool: Arc<dyn BackgroundPool>,
    state: Mutex<DeskState>,
    /// A visitor has left.
    left: Condvar,
}

#[derive(Debug, Default)]
struct DeskState {
    /// None once the store is being closed.
    engine: Weak<Engine>,
    visitors: usize,
}

/// Keeps the engine, and with it the store's lock, while a pool's thread is in it.
struct Visit<'a> {
    desk: &'a Desk,
    /// There until it is dropped.
    engine: Option<Arc<Engine>>,
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        // Closing the store relies on having the last handle.
        self.engine = None;
        locked(&self.desk.state).visitors -= 1;
        self.desk.left.notify_all();
    }
}

impl Desk {
    pub(super) fn new(pool: Arc<dyn BackgroundPool>) -> Arc<Desk> {
        Arc::new(Desk {
            pool,
            state: Mutex::default(),
            left: Condvar::new(),
        })
    }

    fn visit(&self) -> Option<Visit<'_>> {
        let mut state = locked(&self.state);
        let engine = state.engine.upgrade()?;
        state.visitors += 1;
        Some(Visit {
            desk: self,
            engine: Some(engine),
        })
    }

    /// No thread comes in any more, and those that are in it have left.
    fn close(&self) {
        let mut state = locked(&self.state);
        state.engine = Weak::new();
        while state.visitors > 0 {
            let woken = self.left.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Work for Desk {
    fn do_one(&self) {
        if let Some(visit) = self.visit()
            && let Some(engine) = &visit.engine
        {
            engine.do_handed_over();
        }
    }
}

/// The right to do the background work, of one at a time: a thread of the pool, or a writer that would have to wait for one.
struct AtWork<'a>(&'a Engine);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        locked(&self.0.signal).is_at_work = false;
        self.0.report_done();
    }
}

impl Engine {
    /// Hands what is due to the pool, from now on.
    pub(crate) fn start_on_pool(self: &Arc<Self>) {
        if let Some(desk) = &self.desk {
            locked(&desk.state).engine = Arc::downgrade(self);
            self.hand_over();
        }
    }

    /// Waits for the pool's threads that are at this store's work. To be called after [`stop`](Self::stop).
    pub(crate) fn leave_pool(&self) {
        if let Some(desk) = &self.desk {
            desk.close();
        }
    }

    /// Gives the pool what is due, if there is a pool and it has not got it yet.
    pub(super) fn hand_over(&self) {
        let Some(desk) = &self.desk else {
            return;
        };
        {
            let mut signal = locked(&self.signal);
            if signal.is_stopped || signal.is_handed_over || !self.is_work_due() {
                return;
            }
            signal.is_handed_over = true;
        }
        desk.pool.run_soon(BackgroundWork::new(desk.clone()));
    }

    fn do_handed_over(&self) {
        {
            let mut signal = locked(&self.signal);
            signal.is_handed_over = false;
            // The thread at it hands over what is left.
            if signal.is_stopped || signal.is_at_work || !self.is_work_due() {
                return;
            }
            signal.is_at_work = true;
        }
        self.be_at_work(Engine::work_behind_writers);
    }

    /// Does work of a pool's that no thread is at: whether there was any such. For callers that would otherwise wait for it.
    pub(super) fn lend_a_hand(&self) -> bool {
        {
            let mut signal = locked(&self.signal);
            if self.desk.is_none() || signal.is_at_work || signal.is_stopped {
                return false;
            }
            signal.is_at_work = true;
        }
        self.be_at_work(Engine::work_once);
        true
    }

    fn be_at_work(&self, work: fn(&Engine) -> Result<bool>) {
        let at_work = AtWork(self);
        // An error is kept for the writers.
        let _ = work(self);
        drop(at_work);
        self.hand_over();
    }
}

#[cfg(test)]
#[cfg(not(shuttle))]
mod tests;
