//! What was asked of the engine, for operators.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Counts since the connection to the cluster was made. Attempts count, also those that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// Reads of catalogue rows: calls and pages.
    pub reads: u64,
    /// Commits that were sent.
    pub commits: u64,
    /// Bytes of their keys and values.
    pub commit_bytes: u64,
    /// Commits that were refused since another process has written.
    pub conflicts: u64,
    /// Operations that were tried again.
    pub retries: u64,
    /// Calls that wrote segments of blobs, and their bytes.
    pub blob_writes: u64,
    /// Bytes of those segments.
    pub blob_write_bytes: u64,
    /// Calls that read segments.
    pub blob_reads: u64,
    /// Bytes of those segments.
    pub blob_read_bytes: u64,
    /// Blobs that were deleted.
    pub blob_deletes: u64,
    /// Chunks that were found in the cache.
    pub cache_hits: u64,
    /// Chunks that were not.
    pub cache_misses: u64,
    /// How long requests took, those that failed included: element `n` counts those of less than 2^n microseconds and not less than half of
    /// that. The last one counts all that took longer.
    pub latencies: [u64; LATENCIES],
}

/// How many classes of latencies there are: up to 2^24 microseconds, 17 seconds.
pub const LATENCIES: usize = 26;

impl Statistics {
    /// Requests of whatever kind, attempts included: each is a round trip.
    pub fn requests(&self) -> u64 {
        self.latencies.iter().sum()
    }

    /// A time that so many of a thousand requests did not exceed, as far as the classes say: `latency(500)` is the median's class, `latency(990)`
    /// that of all but one of a hundred. `None`: there were no requests.
    ///
    /// ```
    /// use std::time::Duration;
    /// let mut statistics = larder_remote_files::Statistics::default();
    /// assert_eq!(statistics.latency(500), None);
    /// statistics.latencies[10] = 99;
    /// statistics.latencies[20] = 1;
    /// assert_eq!(statistics.latency(500), Some(Duration::from_micros(1024)));
    /// assert_eq!(statistics.latency(1000), Some(Duration::from_micros(1 << 20)));
    /// ```
    pub fn latency(&self, per_mille: u64) -> Option<Duration> {
        let count: u64 = self.latencies.iter().sum();
        let wanted = (count.saturating_mul(per_mille)).div_ceil(1000).max(1);
        let mut seen = 0;
        let class = self.latencies.iter().position(|in_class| {
            seen += in_class;
            seen >= wanted
        });
        class.map(|class| Duration::from_micros(1 << class))
    }
}

impl fmt::Display for Statistics {
    /// One line, for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} reads, {} commits of {} bytes, {} conflicts, {} retries; blobs: {} writes of {} bytes, {} reads of {} bytes, {} deleted; \
             cache: {} hits, {} misses",
            self.reads,
            self.commits,
            self.commit_bytes,
            self.conflicts,
            self.retries,
            self.blob_writes,
            self.blob_write_bytes,
            self.blob_reads,
            self.blob_read_bytes,
            self.blob_deletes,
            self.cache_hits,
            self.cache_misses,
        )?;
        match (self.latency(500), self.latency(990)) {
            (Some(half), Some(most)) => write!(
                f,
                "; half of the requests within {half:?}, 99 of 100 within {most:?}"
            ),
            _ => Ok(()),
        }
    }
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters behind [`Statistics`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) reads: Counter,
    pub(crate) commits: Counter,
    pub(crate) commit_bytes: Counter,
    pub(crate) conflicts: Counter,
    pub(crate) retries: Counter,
    pub(crate) blob_writes: Counter,
    pub(crate) blob_write_bytes: Counter,
    pub(crate) blob_reads: Counter,
    pub(crate) blob_read_bytes: Counter,
    pub(crate) blob_deletes: Counter,
    pub(crate) cache_hits: Counter,
    pub(crate) cache_misses: Counter,
    latencies: [Counter; LATENCIES],
}

impl Counters {
    pub(crate) fn statistics(&self) -> Statistics {
        Statistics {
            reads: self.reads.get(),
            commits: self.commits.get(),
            commit_bytes: self.commit_bytes.get(),
            conflicts: self.conflicts.get(),
            retries: self.retries.get(),
            blob_writes: self.blob_writes.get(),
            blob_write_bytes: self.blob_write_bytes.get(),
            blob_reads: self.blob_reads.get(),
            blob_read_bytes: self.blob_read_bytes.get(),
            blob_deletes: self.blob_deletes.get(),
            cache_hits: self.cache_hits.get(),
            cache_misses: self.cache_misses.get(),
            latencies: std::array::from_fn(|class| self.latencies[class].get()),
        }
    }

    /// A request took so long.
    pub(crate) fn took(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let class = (u64::BITS - micros.leading_zeros()) as usize;
        self.latencies[class.min(LATENCIES - 1)].add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_latency_has_its_class() {
        let counters = Counters::default();
        for (micros, class) in [
            (0, 0),
            (1, 1),
            (2, 2),
            (3, 2),
            (1023, 10),
            (1024, 11),
            (u64::MAX, 25),
        ] {
            let before = counters.statistics().latencies[class];
            counters.took(Duration::from_micros(micros));
            assert_eq!(
                counters.statistics().latencies[class],
                before + 1,
                "{micros}"
            );
        }
        let statistics = counters.statistics();
        assert_eq!(statistics.latency(500), Some(Duration::from_micros(4)));
        assert!(
            statistics
                .to_string()
                .contains("half of the requests within 4µs"),
            "{statistics}"
        );
    }
}
