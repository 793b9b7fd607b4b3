//! How many bytes a store's files may have, and what is said when a transaction would pass that: decision 25.

use std::fmt;
use std::ops::Add;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes of a store's files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Tables, in which rows lie in their order.
    pub tables: u64,
    /// Logs, in which rows lie as they were written.
    pub logs: u64,
    /// Files of blobs.
    pub blobs: u64,
    /// Everything else in the store's folders: MANIFEST, the reserve, what damage was set aside.
    pub others: u64,
}

impl Usage {
    /// The sum.
    #[must_use]
    pub fn total(&self) -> u64 {
        let parts = [self.tables, self.logs, self.blobs, self.others];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

impl Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tables: self.tables.saturating_add(other.tables),
            logs: self.logs.saturating_add(other.logs),
            blobs: self.blobs.saturating_add(other.blobs),
            others: self.others.saturating_add(other.others),
        }
    }
}

/// A transaction would pass the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OverQuota {
    /// What the store's files have now.
    pub usage_bytes: u64,
    /// What the transaction is about to add at most.
    pub needed_bytes: u64,
    /// What the files may have.
    pub limit_bytes: u64,
}

impl fmt::Display for OverQuota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            usage_bytes,
            needed_bytes,
            limit_bytes,
        } = self;
        write!(
            f,
            "the quota is {limit_bytes} bytes, of which {usage_bytes} are used; {needed_bytes} more are needed"
        )
    }
}

impl std::error::Error for OverQuota {}

type Ask = dyn Fn(&OverQuota) -> Option<u64> + Send + Sync;

/// A limit, which may be changed at any time, and the function that is asked before a transaction is refused for it.
pub struct Quota {
    limit_bytes: AtomicU64,
    ask: Option<Box<Ask>>,
}

impl Quota {
    /// A limit of `limit_bytes`. When a transaction would pass it, the thread that commits calls `ask` and waits for the answer: a
    /// greater limit from now on, or `None` to refuse. Other transactions go on meanwhile, and `ask` must not wait for any of them.
    #[must_use]
    pub fn new(limit_bytes: u64, ask: Option<Box<Ask>>) -> Self {
        Self {
            limit_bytes: AtomicU64::new(limit_bytes),
            ask,
        }
    }

    /// The limit as it is.
    #[must_use]
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes.load(Ordering::Acquire)
    }

    /// Another limit, for whatever is committed from now on. What is there stays, also if it is more.
    pub fn set_limit_bytes(&self, limit_bytes: u64) {
        self.limit_bytes.store(limit_bytes, Ordering::Release);
    }

    /// Whether there is another limit by now.
    pub(crate) fn ask(&self, over: &OverQuota) -> bool {
        let Some(limit_bytes) = self.ask.as_ref().and_then(|ask| ask(over)) else {
            return false;
        };
        self.set_limit_bytes(limit_bytes);
        true
    }
}

impl fmt::Debug for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Quota")
            .field("limit_bytes", &self.limit_bytes())
            .finish_non_exhaustive()
    }
}
