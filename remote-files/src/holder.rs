//! Which process writes a namespace, as others see it; and taking it away from one that is known to be dead.

use crate::catalogue::{Commit, Condition};
use crate::cluster::{Cluster, Exchange};
use crate::error::{Error, ErrorKind, Result};
use crate::key::{self, Keys};
use crate::namespace::Namespace;
use crate::row::{LockRow, SessionRow};
use std::time::Duration;

/// The process that writes a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// Its words for people.
    pub label: String,
    /// How often the namespace has changed hands.
    pub epoch: u32,
    /// Its lease. `None`: that has ended, and the next process takes the namespace at once.
    pub lease: Option<Lease>,
}

/// The lease of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lease {
    /// After so long without a renewal the process counts as dead.
    pub duration: Duration,
    /// How often it was renewed: once in a third of the duration, if all is well.
    pub renewals: u64,
}

impl Cluster {
    /// Which process writes a namespace; `None`: none does.
    ///
    /// # Errors
    /// The engine's.
    pub fn holder(&self, namespace: &Namespace) -> Result<Option<Holder>> {
        let [found] = self.get([Keys::new(namespace).lock()])?;
        let lock = found.map(|row| LockRow::decode(&row)).transpose()?;
        let held = lock
            .map(|lock| self.holder_of(&lock))
            .transpose()?
            .flatten();
        Ok(held.map(|(holder, _)| holder))
    }

    /// The holder, and its session's row with its key.
    fn holder_of(&self, lock: &LockRow) -> Result<Option<(Holder, Condition)>> {
        let Some(nonce) = lock.session else {
            return Ok(None);
        };
        let key = key::session(&nonce);
        let [found] = self.get([key.clone()])?;
        let session = found.as_deref().map(SessionRow::decode).transpose()?;
        let lease = session.map(|row| Lease {
            duration: Duration::from_millis(row.duration_ms),
            renewals: row.renewals,
        });
        let holder = Holder {
            label: lock.label.clone(),
            epoch: lock.epoch,
            lease,
        };
        let expected = found;
        Ok(Some((holder, Condition { key, expected })))
    }

    /// Takes a namespace away from the process that writes it, so that another one need not wait for the end of its lease. The process counts as
    /// dead from then on: its session ends, and its other namespaces can be taken at once, too. If it lives after all, nothing is damaged: its
    /// commits in this namespace are refused, its next renewal fails, and it finds all of them lost. Returns which process it was.
    ///
    /// # Errors
    /// `Held` if the lock changes all the time, which a process that is dead does not do, and the engine's errors.
    pub fn unlock(&self, namespace: &Namespace) -> Result<Option<Holder>> {
        let key = Keys::new(namespace).lock();
        for _ in 0..3 {
            let [found] = self.get([key.clone()])?;
            let Some(lock) = found.as_deref().map(LockRow::decode).transpose()? else {
                return Ok(None);
            };
            let Some((holder, session)) = self.holder_of(&lock)? else {
                return Ok(None);
            };
            let mut commit = Commit::default();
            if session.expected.is_some() {
                commit.delete(session.key.clone());
            }
            commit.conditions.push(session);
            // An epoch of its own, so that the row is one that no other commit writes.
            let free = LockRow {
                epoch: lock.epoch.saturating_add(1),
                ..LockRow::default()
            };
            match self.exchange(&key, found.as_deref(), &free.encode(), commit)? {
                Exchange::Made => return Ok(Some(holder)),
                Exchange::Refused(_) => {}
            }
        }
        let what = format!("{namespace}: the process that writes it is alive: end that process");
        Err(Error::new(ErrorKind::Held, what))
    }
}
