//! Statistics that can be read while operations are being executed.

use std::sync::atomic::Ordering;

use crate::statistics::Statistics;
use crate::sync::AtomicU64;

/// What was counted up to the last operation that completed.
#[derive(Debug, Default)]
pub(super) struct Published([AtomicU64; Statistics::COUNTS]);

impl Published {
    /// Called only by the thread that executes.
    pub(super) fn publish(&self, statistics: &Statistics) {
        for (published, count) in self.0.iter().zip(statistics.to_array()) {
            published.store(count, Ordering::Relaxed);
        }
    }

    pub(super) fn read(&self) -> Statistics {
        let mut counts = [0; Statistics::COUNTS];
        for (count, published) in counts.iter_mut().zip(&self.0) {
            *count = published.load(Ordering::Relaxed);
        }
        Statistics::from_array(counts)
    }
}
