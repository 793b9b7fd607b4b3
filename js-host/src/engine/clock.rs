//! The machine's clock, which only roots may read.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use larder_idb::Clock;

/// From 1601-01-01, where Chromium's time begins, to 1970-01-01.
const UNIX_EPOCH_SINCE_1601: Duration = Duration::from_secs(11_644_473_600);

/// The time of day.
#[derive(Debug, Clone, Copy, Default)]
pub struct MachineClock;

impl Clock for MachineClock {
    #[expect(clippy::disallowed_methods, reason = "a root reads the clock")]
    fn now_us(&self) -> i64 {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        let since_1601 = since_1970.unwrap_or_default() + UNIX_EPOCH_SINCE_1601;
        i64::try_from(since_1601.as_micros()).unwrap_or(i64::MAX)
    }
}
