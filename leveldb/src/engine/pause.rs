//! Background work held up for a while, for a caller that needs the little room a disk still has.
//!
//! A table that is begun takes what room there is, and gives it back when it finds too little. A write beside it fails that would have
//! had enough. While a pause lasts no thread behind the writers begins anything. A writer that has to wait for the work does it
//! itself, as it does where there is no such thread: so a pause holds up no writer.

use super::{Engine, locked};
use std::sync::atomic::Ordering;

/// No background work is begun while it lives. Several may.
#[derive(Debug)]
#[must_use = "the pause ends when it is dropped"]
pub struct BackgroundPause<'a> {
    engine: &'a Engine,
}

impl Engine {
    /// Waits for what is under way.
    pub(crate) fn pause_background(&self) -> BackgroundPause<'_> {
        {
            // A thread that waits for work looks at it with this lock.
            let _signal = locked(&self.signal);
            self.pauses.fetch_add(1, Ordering::AcqRel);
        }
        let pause = BackgroundPause { engine: self };
        // Writers that wait for work of which none is under way have to do it.
        self.report_done();
        drop(locked(&self.work));
        pause
    }

    pub(super) fn is_paused(&self) -> bool {
        self.pauses.load(Ordering::Acquire) > 0
    }
}

impl Drop for BackgroundPause<'_> {
    fn drop(&mut self) {
        let engine = self.engine;
        {
            let _signal = locked(&engine.signal);
            engine.pauses.fetch_sub(1, Ordering::AcqRel);
        }
        engine.wake();
    }
}
