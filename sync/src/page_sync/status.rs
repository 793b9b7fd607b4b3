//! How a sync stands, for whatever shows it.

use crate::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How one direction stands.
#[derive(Clone, Debug, Default)]
pub enum SyncState {
    /// There is nothing to do.
    #[default]
    Idle,
    /// There is something to do, and something else comes first: a merge, or what another device has not finished to put into the cloud.
    Pending,
    /// It is being done.
    InProgress,
    /// It has failed, and why.
    Error(Error),
}

/// How a sync stands.
#[derive(Clone, Debug, Default)]
pub struct SyncStatus {
    /// From the cloud.
    pub download: SyncState,
    /// To the cloud.
    pub upload: SyncState,
    /// What has been taken and put since the sync was opened.
    pub progress: SyncProgress,
}

/// What has been taken and put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncProgress {
    /// Commits that came.
    pub commits_in: u64,
    /// Pieces that came.
    pub pieces_in: u64,
    /// Bytes of pieces that came.
    pub bytes_in: u64,
    /// Commits that went.
    pub commits_out: u64,
    /// Pieces that went.
    pub pieces_out: u64,
    /// Bytes of segments that went.
    pub bytes_out: u64,
}

/// Shows how a sync stands, also while another thread is at it. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct StatusReader(Arc<Mutex<SyncStatus>>);

impl StatusReader {
    /// How it stands now.
    pub fn status(&self) -> SyncStatus {
        self.lock().clone()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut SyncStatus)) {
        change(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, SyncStatus> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// How long to wait after so many failures one after the other: a second, then twice as long each time, up to five minutes.
pub(super) fn wait_after(failures: u32) -> Duration {
    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1));
    FIRST_WAIT.saturating_mul(doubled).min(LONGEST_WAIT)
}
