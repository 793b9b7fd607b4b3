//! The lease of a process: a row that changes as long as the process lives.
//!
//! A process has one session with a cluster, and the locks of all namespaces that it writes refer to it: what it costs to be seen alive does not
//! grow with their number. No clock is compared with another one. A process that waits for a lock watches the holder's session, and
//! takes the lock over when the session's row has not changed for its full duration by the watcher's own monotonic clock. That a
//! process which was only slow does no harm afterwards is not the lease's work: each commit requires the lock's row.

use crate::catalogue::{Commit, Lasting};
use crate::cluster::{Cluster, Exchange};
use crate::error::{Error, ErrorKind, Result};
use crate::key;
use crate::namespace::Namespace;
use crate::row::SessionRow;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How a session begins.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// 16 random bytes that no other session ever has.
    pub nonce: [u8; 16],
    /// Words for people: host and process. At most 200 bytes are kept.
    pub label: String,
    /// After so long without a renewal other processes may take over what this one writes. 10 seconds is usual.
    pub duration: Duration,
}

/// A process's lease. Clones are the same. The last one that goes ends it.
#[derive(Clone, Debug)]
pub struct Session {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    cluster: Cluster,
    options: SessionOptions,
    key: Vec<u8>,
    state: Mutex<State>,
    is_lost: AtomicBool,
}

#[derive(Debug)]
struct State {
    row: SessionRow,
    renewed_at: Duration,
    /// What this process writes.
    namespaces: BTreeSet<Namespace>,
}

const LABEL_LEN_MAX: usize = 200;

/// A commit that puts the session's row. Where the engine deletes it in time, nothing has to watch it.
fn lasting(key: &[u8], options: &SessionOptions) -> Commit {
    Commit {
        lasting: Some(Lasting {
            key: key.to_vec(),
            time: options.duration,
        }),
        ..Commit::default()
    }
}

impl Session {
    /// Begins one.
    ///
    /// # Errors
    /// `Usage` if the nonce has been used, and the engine's errors.
    pub fn begin(cluster: &Cluster, mut options: SessionOptions) -> Result<Session> {
        let end = (0..=LABEL_LEN_MAX)
            .rev()
            .find(|&end| options.label.is_char_boundary(end));
        options.label.truncate(end.unwrap_or(0));
        let row = SessionRow {
            duration_ms: u64::try_from(options.duration.as_millis())
                .unwrap_or(u64::MAX)
                .max(1),
            renewals: 0,
            label: options.label.clone(),
        };
        let key = key::session(&options.nonce);
        let begun_at = cluster.now();
        match cluster.exchange(&key, None, &row.encode(), lasting(&key, &options))? {
            Exchange::Made => {}
            Exchange::Refused(_) => {
                return Err(Error::new(
                    ErrorKind::Usage,
                    "another session has this nonce: draw a random one",
                ));
            }
        }
        Ok(Session {
            inner: Arc::new(Inner {
                cluster: cluster.clone(),
                options,
                key,
                state: Mutex::new(State {
                    row,
                    renewed_at: begun_at,
                    namespaces: BTreeSet::new(),
                }),
                is_lost: AtomicBool::new(false),
            }),
        })
    }

    /// The cluster that it is with.
    pub fn cluster(&self) -> &Cluster {
        &self.inner.cluster
    }

    pub(crate) fn options(&self) -> &SessionOptions {
        &self.inner.options
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// How long from now the next renewal is due: a third of the duration after the last one.
    pub fn due_in(&self) -> Duration {
        let due = self
            .state()
            .renewed_at
            .saturating_add(self.inner.options.duration / 3);
        due.saturating_sub(self.inner.cluster.now())
    }

    /// Whether another process has ended it.
    pub fn is_lost(&self) -> bool {
        self.inner.is_lost.load(Ordering::Acquire)
    }

    /// Renews it. [`Keeper`](crate::Keeper) calls this from a thread; a host without threads calls it when it [is due](Self::due_in).
    ///
    /// # Errors
    /// `Lost` if another process has taken this one for dead: everything that this session writes is refused from now on.
    pub fn renew(&self) -> Result<()> {
        let mut state = self.state();
        if self.is_lost() {
            return Err(self.lost());
        }
        let next = SessionRow {
            renewals: state.row.renewals + 1,
            ..state.row.clone()
        };
        let began = self.inner.cluster.now();
        let (current, key) = (state.row.encode(), &self.inner.key);
        let commit = lasting(key, &self.inner.options);
        match (self.inner.cluster).exchange(key, Some(&current), &next.encode(), commit)? {
            Exchange::Made => {
                state.row = next;
                state.renewed_at = began;
                Ok(())
            }
            Exchange::Refused(found) => {
                // A renewal that was given up before can have been made since.
                match found.map(|row| SessionRow::decode(&row)) {
                    Some(Ok(row))
                        if row.renewals > state.row.renewals && row.label == next.label =>
                    {
                        state.row = row;
                        state.renewed_at = began;
                        Ok(())
                    }
                    _ => {
                        self.inner.is_lost.store(true, Ordering::Release);
                        Err(self.lost())
                    }
                }
            }
        }
    }

    pub(crate) fn lost(&self) -> Error {
        let what = "the lease of this process was not renewed in time and another process has ended it: nothing more is written; begin \
                    a new session and open the namespaces again";
        Error::new(ErrorKind::Lost, what)
    }

    /// Notes that this process writes a namespace; false: it does so already.
    pub(crate) fn enter(&self, namespace: &Namespace) -> bool {
        self.state().namespaces.insert(namespace.clone())
    }

    pub(crate) fn leave(&self, namespace: &Namespace) {
        self.state().namespaces.remove(namespace);
    }
}

impl Drop for Inner {
    /// The row goes, so that nothing has to wait for its end. If that fails, it ends by itself.
    fn drop(&mut self) {
        if *self.is_lost.get_mut() {
            return;
        }
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut commit = Commit::default();
        commit.require(self.key.clone(), Some(state.row.encode()));
        commit.delete(self.key.clone());
        self.cluster.commit_once(&commit);
    }
}
