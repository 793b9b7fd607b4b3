//! A clock that is moved by hand.

use crate::clock::Clock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A clock that stands still until it is moved on. Waiting moves it on.
#[derive(Debug, Default)]
pub struct ModelClock {
    nanos: AtomicU64,
}

/// The time of day when the clock begins: in November 2023.
const START: Duration = Duration::from_secs(1_700_000_000);

impl ModelClock {
    /// At its beginning.
    pub fn new() -> ModelClock {
        ModelClock::default()
    }

    /// Moves it on.
    pub fn advance(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }
}

impl Clock for ModelClock {
    fn monotonic(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed))
    }

    fn wall(&self) -> SystemTime {
        UNIX_EPOCH + START + self.monotonic()
    }

    fn wait(&self, time: Duration) {
        self.advance(time);
    }
}
