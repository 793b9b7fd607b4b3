//! Where the work behind the writers is done: a thread, a pool's threads, or the caller.

use super::install::Work;
use super::{Engine, compaction, locked};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{JoinHandle, MutexGuard, thread};
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// Guards what the condition variables signal.
#[derive(Debug, Default)]
pub(super) struct Signal {
    pub(super) is_stopped: bool,
    /// A pool has work that none of its threads has begun.
    pub(super) is_handed_over: bool,
    /// One of a pool's threads is at the work, or a writer in its place.
    pub(super) is_at_work: bool,
    /// How many wait until something was done.
    waiting: usize,
}

impl Engine {
    /// Starts the thread. The database handle stops and joins it.
    ///
    /// # Errors
    /// `Unsupported` where the system has no threads, `Io` if it refuses one now.
    pub(crate) fn start(self: &Arc<Self>) -> Result<JoinHandle<()>> {
        let engine = self.clone();
        let run = move || engine.watched("background work", || engine.run());
        thread::Builder::new().spawn(run).map_err(|error| {
            let what = format!("cannot start the background thread: {error}");
            let kind = match error.kind() {
                io::ErrorKind::Unsupported => ErrorKind::Unsupported,
                _ => ErrorKind::Io,
            };
            Error::new(kind, what)
        })
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
            let _ = self.work_behind_writers();
        }
    }

    /// Asks the thread to end; a compaction under way is given up.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        locked(&self.signal).is_stopped = true;
        self.work_ready.notify_all();
        self.work_done.notify_all();
    }

    /// Wakes the thread, or the pool: there may be work. What was put off is tried again.
    pub(super) fn wake(&self) {
        let signal = locked(&self.signal);
        self.health.resume();
        drop(signal);
        self.work_ready.notify_all();
        self.hand_over();
    }

    pub(super) fn report_done(&self) {
        // A wake-up is a system call, and mostly no thread waits.
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

    /// Refuses writes from now on. Threads that wait for it must be woken: the thread does nothing more.
    pub(super) fn fail(&self, error: &Error) {
        self.health.fail(error);
        self.report_done();
    }

    /// Whether a thread behind the writers has something to begin.
    pub(super) fn is_work_due(&self) -> bool {
        !self.is_paused() && self.is_work_left()
    }

    fn is_work_left(&self) -> bool {
        !self.health.is_failed() && !self.health.is_put_off() && self.has_work()
    }

    /// Whether there is something that background work can do, put off or not.
    fn has_work(&self) -> bool {
        if !self.has_begun.load(Ordering::Acquire) {
            // Without a write there is no need for room.
            return false;
        }
        if self.has_full.load(Ordering::Acquire) || self.has_kept.load(Ordering::Acquire) {
            return true;
        }
        let version = self.version();
        if self.has_tombstones(&version) {
            return true;
        }
        if compaction::by_urgency(&version).next().is_none() {
            return false;
        }
        let avoid = self.health.given_up();
        let order = &self.core.order;
        let due = || compaction::due(order, &version, &BTreeMap::new(), self.limits(), &avoid);
        avoid.is_empty() || due().is_some()
    }

    /// Waits until background work has led to something, or does it. What was put off is tried once more.
    ///
    /// # Errors
    /// Why the work has failed; `Corruption` if damage is in its way.
    pub(super) fn wait_until(&self, is_done: impl Fn() -> bool) -> Result<()> {
        if self.options.background.is_caller() {
            while !is_done() {
                match self.work_once() {
                    Ok(true) => {}
                    Ok(false) => return Err(self.health.stuck()),
                    // The damaged table was given up; others are left.
                    Err(error) if error.kind() == ErrorKind::Corruption && self.is_work_left() => {}
                    Err(error) => return Err(error),
                }
            }
            return Ok(());
        }
        let mut signal = locked(&self.signal);
        if !is_done() {
            self.health.resume();
            self.work_ready.notify_all();
        }
        while !is_done() {
            self.health.check()?;
            if signal.is_stopped {
                return Err(Error::new(
                    ErrorKind::Closed,
                    "the store is being closed: open it again",
                ));
            }
            if let Some(error) = self.health.put_off_by() {
                return Err(error);
            }
            if !self.has_work() && !is_done() {
                return Err(self.health.stuck());
            }
            if self.is_paused() {
                drop(signal);
                // What it fails for is found above.
                let _ = self.work_once();
                signal = locked(&self.signal);
                continue;
            }
            if self.desk.is_some() && !signal.is_at_work {
                drop(signal);
                self.lend_a_hand();
                signal = locked(&self.signal);
                continue;
            }
            signal = self.wait_done(signal);
        }
        Ok(())
    }

    /// Makes a table of the full memtable, or else does one compaction that is due. Whether there was any work. What fails is
    /// left undone, and tried again by the next call; the thread waits for a new reason to.
    pub(crate) fn work_once(&self) -> Result<bool> {
        self.work_unless(|| false)
    }

    /// As [`work_once`](Self::work_once), but for a pause.
    pub(super) fn work_behind_writers(&self) -> Result<bool> {
        self.work_unless(|| self.is_paused())
    }

    /// `must_not` is asked when no other work is under way.
    fn work_unless(&self, must_not: impl Fn() -> bool) -> Result<bool> {
        let result = self.watched("background work", || {
            let work = &mut *locked(&self.work);
            if must_not() {
                return Ok(false);
            }
            self.health.resume();
            self.switch_for_walk();
            self.try_work(work)
        });
        match &result {
            Err(error) if error.kind() == ErrorKind::Io => self.health.put_off(error),
            // The tables are given up.
            Err(error) if error.kind() == ErrorKind::Corruption => {}
            Err(error) if error.kind() != ErrorKind::Closed => self.fail(error),
            _ => {}
        }
        self.report_done();
        result
    }

    fn try_work(&self, work: &mut Work) -> Result<bool> {
        self.health.check()?;
        if !self.has_begun.load(Ordering::Acquire) {
            return Ok(false);
        }
        if self.flush_kept(work)? {
            return Ok(true);
        }
        self.mend_manifest(work)?;
        if self.flush_full(work, true)? {
            return Ok(true);
        }
        let version = self.version();
        let order = &self.core.order;
        let limits = self.limits();
        let avoid = self.health.given_up();
        let pointers = &work.compact_pointers;
        let Some(compaction) = compaction::due(order, &version, pointers, limits, &avoid) else {
            drop(version);
            if self.compact_tombstones(work)? {
                return Ok(true);
            }
            self.remove_obsolete(work);
            return Ok(false);
        };
        drop(version);
        self.compact(work, compaction)?;
        Ok(true)
    }
}
