//! Deleting what no name refers to any more.

use super::{Shared, locked};
use crate::error::Result;
use crate::owner::Change;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// How many blobs one commit says that they are gone.
const COLLECTED_MAX: usize = 20;
/// How many numbers of blobs are listed at once.
const LISTED_MAX: usize = 1000;
/// How many blobs one tick deletes: its caller has a lease to renew.
pub(super) const DELETED_MAX: usize = 100;

/// How far the search has come for blobs that processes before this one have left without a name.
#[derive(Debug, Default)]
pub(super) struct Orphans {
    after: Option<u64>,
    is_done: bool,
}

impl Shared {
    /// Commits what was flushed long enough ago.
    pub(super) fn commit_flushed(&self) -> io::Result<()> {
        let live: Vec<_> = locked(&self.live).values().map(Arc::clone).collect();
        let mut result = Ok(());
        for live in live {
            if live.is_due(self) {
                result = result.and(match live.is_closed() {
                    true => live.finish(self),
                    false => live.sync(self),
                });
            }
        }
        result
    }

    /// Commits names that were made or removed long enough ago.
    pub(super) fn settle_staged(&self) -> io::Result<()> {
        match &self.owner {
            Some(owner) => Ok(owner.settle_after(self.options.flush_delay)?),
            None => Ok(()),
        }
    }

    /// Blobs that other processes may have left since are searched again.
    pub(super) fn search_orphans(&self) {
        *locked(&self.orphans) = Orphans::default();
    }

    /// Deletes orphans, and the blobs that lost their names that long ago and that no handle of this process has: so many at most.
    pub(super) fn collect(&self, grace: Duration, count_max: usize) -> io::Result<usize> {
        let Some(owner) = &self.owner else {
            return Ok(0);
        };
        owner.check()?;
        let mut count = self.collect_orphans(count_max)?;
        let Some(until) = self.cluster.now().checked_sub(grace) else {
            return Ok(count);
        };
        let mut old = owner.names().pending_until(until);
        old.retain(|blob| !locked(&self.open).contains_key(blob));
        old.truncate(count_max - count);
        for blobs in old.chunks(COLLECTED_MAX) {
            for blob in blobs {
                self.cluster.delete_blob(&self.namespace, *blob)?;
            }
            let collected = blobs.to_vec();
            owner.change(|_| {
                let change = Change {
                    collected,
                    ..Change::default()
                };
                Ok((change, ()))
            })?;
            count += blobs.len();
        }
        Ok(count)
    }

    /// A process that has lost the namespace can name nothing any more: what it has left unnamed is never named. The same
    /// process's requests may still arrive; what they make is found the next time.
    fn collect_orphans(&self, count_max: usize) -> Result<usize> {
        let Some(owner) = &self.owner else {
            return Ok(0);
        };
        let mut orphans = locked(&self.orphans);
        let mut count = 0;
        while !orphans.is_done {
            let blobs = self
                .cluster
                .blobs_after(&self.namespace, orphans.after, LISTED_MAX)?;
            for blob in &blobs {
                if count == count_max {
                    return Ok(count);
                }
                let is_open = locked(&self.open).contains_key(blob);
                if owner.is_orphan(*blob) && !is_open {
                    self.cluster.delete_blob(&self.namespace, *blob)?;
                    count += 1;
                }
                orphans.after = Some(*blob);
            }
            orphans.is_done = blobs.len() < LISTED_MAX;
        }
        Ok(count)
    }
}
