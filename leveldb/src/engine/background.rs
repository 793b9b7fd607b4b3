//! Who does the work behind the writers: a thread, or the caller.

use super::{Engine, L0_COMPACT, compaction, locked};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{JoinHandle, MutexGuard, thread};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// Guards what the condition variables tell.
#[derive(Debug, Default)]
pub(super) struct Signal {
    pub(super) is_stopped: bool,
    /// How many wait until something was done.
    waiting: usize,
}

impl Engine {
    /// Starts the thread.
    #[expect(
        clippy::disallowed_methods,
        reason = "the database handle stops and joins it"
    )]
    pub(crate) fn start(self: &Arc<Self>) -> JoinHandle<()> {
        let engine = self.clone();
        thread::spawn(move || engine.watched("background work", || engine.run()))
    }

    fn run(&self) {
        loop {
            let mut signal = locked(&self.signal);
            while !signal.is_stopped && !self.is_work_due() {
                let woken = self.work_ready.wait(signal);
                signal = woken.unwrap_or_else(PoisonError::into_inner);
            }
            if signal.is_stopped {
                return;
            }
            drop(signal);
            // An error is kept for the writers.
            let _ = self.work_once();
        }
    }

    /// Tells the thread to end; a compaction under way is given up.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        locked(&self.signal).is_stopped = true;
        self.work_ready.notify_all();
        self.work_done.notify_all();
    }

    /// Tells the thread that there may be work.
    pub(super) fn wake(&self) {
        drop(locked(&self.signal));
        self.work_ready.notify_all();
    }

    pub(super) fn tell_done(&self) {
        // A wake-up is a system call, and mostly nobody waits.
        let is_awaited = locked(&self.signal).waiting > 0;
        if is_awaited {
            self.work_done.notify_all();
        }
    }

    /// Waits until something was done.
    pub(super) fn wait_done<'a>(
        &self,
        mut signal: MutexGuard<'a, Signal>,
    ) -> MutexGuard<'a, Signal> {
        signal.waiting += 1;
        let woken = self.work_done.wait(signal);
        let mut signal = woken.unwrap_or_else(PoisonError::into_inner);
        signal.waiting -= 1;
        signal
    }

    /// Refuses writes from now on. Who waits for the thread must hear of it: the thread does nothing more.
    pub(super) fn fail(&self, error: &Error) {
        self.health.fail(error);
        self.tell_done();
    }

    pub(super) fn is_work_due(&self) -> bool {
        if self.health.is_failed() {
            return false;
        }
        self.has_full.load(Ordering::Acquire)
            || self.l0_tables.load(Ordering::Acquire) >= L0_COMPACT
            || compaction::most_urgent(&self.version()).is_some()
    }

    /// Makes a table of the full memtable, or else does one compaction that is due. Whether there was any work.
    pub(crate) fn work_once(&self) -> Result<bool> {
        let result = self.watched("background work", || self.try_work());
        match &result {
            Err(error) if error.kind() != ErrorKind::Closed => self.fail(error),
            _ => {}
        }
        self.tell_done();
        result
    }

    fn try_work(&self) -> Result<bool> {
        let work = &mut *locked(&self.work);
        self.health.check()?;
        if self.flush_full(work, true)? {
            return Ok(true);
        }
        let version = self.version();
        let order = &self.core.order;
        let limits = self.limits();
        let Some(compaction) = compaction::due(order, &version, &work.compact_pointers, limits)
        else {
            self.remove_obsolete(work);
            return Ok(false);
        };
        drop(version);
        self.compact(work, compaction)?;
        Ok(true)
    }
}
