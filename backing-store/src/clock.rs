//! The time. It is passed in, so that a program can run twice with the same result.

use std::fmt::Debug;
use std::time::SystemTime;

use crate::external_object::micros_since_1601;

/// A source of the time.
pub trait Clock: Send + Sync + Debug {
    /// Microseconds since 1601-01-01 UTC, as the store's rows have it.
    fn now_us(&self) -> i64;
}

/// The machine's clock, for programs; libraries take what they are given.
///
/// ```
/// use larder_backing_store::{Clock, SystemClock};
///
/// let new_year_2024 = 13_348_540_800_000_000;
/// assert!(SystemClock.now_us() > new_year_2024);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_us(&self) -> i64 {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is what a caller passes in who wants the machine's time"
        )]
        let now = SystemTime::now();
        micros_since_1601(now)
    }
}

/// A clock that always shows the same time, for tests and for stores that are to come out byte for byte the same.
///
/// ```
/// use larder_backing_store::{Clock, FixedClock};
///
/// assert_eq!(FixedClock(7).now_us(), 7);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct FixedClock(pub i64);

impl Default for FixedClock {
    /// A time in August 2025.
    fn default() -> Self {
        Self(13_400_000_000_000_000)
    }
}

impl Clock for FixedClock {
    fn now_us(&self) -> i64 {
        self.0
    }
}
