//! How much an origin may store, and what a host is asked before a transaction is refused (decision 25).

use std::fmt;
use std::sync::Arc;

use larder_backing_store::{OverQuota, Quota, Usage};
use larder_codec::Origin as OriginName;

use crate::error::attempt;

/// What an origin stores, and what it may store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Estimate {
    /// The bytes of its files.
    pub usage: Usage,
    /// How many they may be; [`u64::MAX`] if there is no limit.
    pub quota_bytes: u64,
}

type OnOverQuota = dyn Fn(&OriginName, &OverQuota) -> Option<u64> + Send + Sync;

/// Called before a transaction is refused for its origin's quota.
#[derive(Clone)]
pub struct QuotaCallback(Arc<OnOverQuota>);

impl QuotaCallback {
    /// Calls this function: on the thread that commits, where only that transaction waits for it. It answers with a greater quota for
    /// the origin from now on, or `None`: then the transaction ends with `QuotaExceededError`. It must not wait for
    /// anything of the storage's.
    pub fn new(
        callback: impl Fn(&OriginName, &OverQuota) -> Option<u64> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(callback))
    }
}

impl fmt::Debug for QuotaCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("QuotaCallback")
    }
}

/// The quota of an origin's store.
pub(crate) fn of_origin(
    origin: &OriginName,
    quota_bytes: u64,
    callback: Option<&QuotaCallback>,
) -> Arc<Quota> {
    let ask = callback.map(|callback| {
        let (origin, callback) = (origin.clone(), callback.clone());
        let ask = move |over: &OverQuota| {
            // What panics has not answered.
            attempt(|| Ok((callback.0)(&origin, over))).unwrap_or(None)
        };
        Box::new(ask) as Box<dyn Fn(&OverQuota) -> Option<u64> + Send + Sync>
    });
    Arc::new(Quota::new(quota_bytes, ask))
}
