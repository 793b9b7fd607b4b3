//! Notes that something was committed to a database, for those that wait for it.

use std::task::{Poll, Waker};

use crate::sync::{AtomicBool, AtomicU64, Mutex, locked};
use std::sync::atomic::Ordering;

/// How often something was committed, and what waits for the next time. That takes no memory for each commit, however long ago a waiter
/// has looked.
#[derive(Debug, Default)]
pub(crate) struct CommitSignal {
    count: AtomicU64,
    /// Whether `wakers` may have any. A commit that nothing waits for takes no lock.
    is_awaited: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

impl CommitSignal {
    /// So often until now.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Something was committed, or the waiting is to end.
    pub(crate) fn note(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
        // In one order with the other side's store and load: either it sees the count, or this sees that it waits.
        if self.is_awaited.swap(false, Ordering::SeqCst) {
            let wakers = std::mem::take(&mut *locked(&self.wakers));
            wakers.into_iter().for_each(Waker::wake);
        }
    }

    /// Ready with the count if it is another than `seen`; else the waker is woken when it changes.
    pub(crate) fn poll_beyond(&self, seen: u64, waker: &Waker) -> Poll<u64> {
        if self.count() != seen {
            return Poll::Ready(self.count());
        }
        // Cloned without the lock: it is the host's code.
        let waker = waker.clone();
        {
            let mut wakers = locked(&self.wakers);
            if !wakers.iter().any(|other| other.will_wake(&waker)) {
                wakers.push(waker);
            }
            self.is_awaited.store(true, Ordering::SeqCst);
        }
        match self.count() {
            count if count == seen => Poll::Pending,
            count => Poll::Ready(count),
        }
    }
}
