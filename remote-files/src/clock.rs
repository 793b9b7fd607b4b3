//! The time: passed in, so that a simulation repeats itself.

use std::fmt::Debug;
use std::time::{Duration, SystemTime};

/// Time, and waiting for it.
pub trait Clock: Send + Sync + Debug {
    /// Time since some moment that stays the same for this clock. It never goes back. Leases are measured by it, each process by its own.
    fn monotonic(&self) -> Duration;
    /// The time of day: files' times of modification, and nothing that safety rests on.
    fn wall(&self) -> SystemTime;
    /// Returns when so much time has passed.
    fn wait(&self, time: Duration);
}

/// The machine's clock, for programs.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    start: std::time::Instant,
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the clock that a program passes in"
)]
impl SystemClock {
    /// A clock that begins now.
    pub fn new() -> SystemClock {
        SystemClock {
            start: std::time::Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::new()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the clock that a program passes in"
)]
impl Clock for SystemClock {
    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }

    fn wait(&self, time: Duration) {
        std::thread::sleep(time);
    }
}
