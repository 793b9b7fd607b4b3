//! What was asked of the engine, for operators.

use std::sync::atomic::{AtomicU64, Ordering};

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
        }
    }
}
