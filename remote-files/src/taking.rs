//! Taking the lock of a namespace, also from a process that has died.

use crate::catalogue::{Commit, Row};
use crate::cluster::Exchange;
use crate::content_place;
use crate::error::{Error, ErrorKind, Result};
use crate::key::{self, Keys};
use crate::namespace::Namespace;
use crate::row::{LockRow, SessionRow};
use crate::session::Session;
use std::time::Duration;

/// What was last seen of a holder, and when the look at it had ended.
struct Watch {
    lock: LockRow,
    session: SessionRow,
    since: Duration,
}

/// A namespace that was taken.
pub(crate) struct Taken {
    pub(crate) lock: LockRow,
    /// What was in it at that moment, as [`Cluster::look`](crate::Cluster) reads it.
    pub(crate) rows: Vec<Row>,
    /// A moment before it was taken.
    pub(crate) looked_at: Duration,
}

/// Takes the lock for a session. If another one holds it, waits for its end, at most for `wait`.
///
/// # Errors
/// `Held` if it is still held then, and the engine's errors.
pub(crate) fn take(
    session: &Session,
    keys: &Keys,
    namespace: &Namespace,
    wait: Duration,
) -> Result<Taken> {
    let cluster = session.cluster();
    let end = cluster.now().saturating_add(wait);
    let mut watch: Option<Watch> = None;
    loop {
        // Before the look: what is seen unchanged has been so at least until now.
        let looked_at = cluster.now();
        // No commit of the namespace leaves the lock as it was: if the lock is taken as it was seen with the rows, or before them, the rows are what is
        // there. A holder that is waited for is looked at without them.
        let rows = match watch {
            None => Some(cluster.look(keys)?),
            Some(_) => None,
        };
        let found = match &rows {
            Some(rows) => value_of(rows, &keys.lock()),
            None => cluster.get([keys.lock()])?[0].take(),
        };
        let lock = found
            .as_deref()
            .map(LockRow::decode)
            .transpose()?
            .unwrap_or_default();
        let mut commit = Commit::default();
        // A lock of this session is what an attempt has left that was given up.
        let other = lock
            .session
            .filter(|nonce| *nonce != session.options().nonce);
        if let Some(nonce) = other {
            let [found] = cluster.get([key::session(&nonce)])?;
            if let Some(row) = &found {
                let row = SessionRow::decode(row)?;
                let duration = Duration::from_millis(row.duration_ms);
                let unchanged = watch.filter(|watch| watch.lock == lock && watch.session == row);
                let since = unchanged.map_or(cluster.now(), |watch| watch.since);
                if looked_at.saturating_sub(since) < duration {
                    pause(session, namespace, &lock, end, duration)?;
                    watch = Some(Watch {
                        lock,
                        session: row,
                        since,
                    });
                    continue;
                }
                commit.delete(key::session(&nonce));
            }
            commit.require(key::session(&nonce), found);
        }
        watch = None;
        let rows = match rows {
            Some(rows) => rows,
            None => cluster.look(keys)?,
        };
        commit
            .writes
            .extend(content_place::of_taking(cluster, keys, namespace, &rows)?);
        let next = next_lock(&lock, session)?;
        match cluster.exchange(&keys.lock(), found.as_deref(), &next.encode(), commit)? {
            Exchange::Made => {
                return Ok(Taken {
                    lock: next,
                    rows,
                    looked_at,
                });
            }
            Exchange::Refused(_) if cluster.now() < end => {}
            Exchange::Refused(_) => return Err(held(namespace, &lock)),
        }
    }
}

fn value_of(rows: &[Row], key: &[u8]) -> Option<Vec<u8>> {
    let row = rows.iter().find(|row| row.key == key);
    row.map(|row| row.value.clone())
}

/// The lock's row when the session has it.
fn next_lock(lock: &LockRow, session: &Session) -> Result<LockRow> {
    let Some(epoch) = lock.epoch.checked_add(1) else {
        return Err(Error::corruption(
            "the namespace has changed hands 2^32 times",
        ));
    };
    Ok(LockRow {
        epoch,
        sequence: 0,
        session: Some(session.options().nonce),
        label: session.options().label.clone(),
    })
}

/// Waits before the next look at a holder.
fn pause(
    session: &Session,
    namespace: &Namespace,
    lock: &LockRow,
    end: Duration,
    duration: Duration,
) -> Result<()> {
    let cluster = session.cluster();
    let left = end.saturating_sub(cluster.now());
    if left.is_zero() {
        return Err(held(namespace, lock));
    }
    if session.due_in().is_zero() {
        session.renew()?;
    }
    let pause = (duration / 10)
        .min(session.options().duration / 6)
        .min(left);
    cluster.clock().wait(pause.max(Duration::from_millis(1)));
    Ok(())
}

fn held(namespace: &Namespace, lock: &LockRow) -> Error {
    let what = format!(
        "{namespace}: {} writes it (epoch {}); end that process, or wait until its lease has run out",
        lock.label, lock.epoch
    );
    Error::new(ErrorKind::Held, what)
}
