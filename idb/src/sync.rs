//! Locks, atomics and threads of what several threads share: the standard library's.
//!
//! With `--cfg shuttle` the crate's own tests take them from Shuttle instead, whose scheduler tries out interleavings;
//! CONTRIBUTING.md has the command.

#[cfg(all(test, shuttle))]
pub(crate) use shuttle::{
    sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64},
    },
    thread::{self, JoinHandle, Thread},
    thread_local,
};
#[cfg(not(all(test, shuttle)))]
pub(crate) use std::{
    sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64},
    },
    thread::{self, JoinHandle, Thread},
    thread_local,
};

use std::ops::Deref;
use std::sync::PoisonError;

/// Enters a lock, poisoned or not: nothing that holds one of this crate's locks leaves half a change, and none is held while
/// a host's code runs.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A value that some thread changes all the time, on cache lines of its own: another thread that reads or changes the fields beside it
/// does not wait for them. It is not aligned, which would take a dearer allocation, but lies behind unused bytes: the last fields of a struct
/// that is laid out as it is written are such.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct CachePadded<T> {
    _before: [u64; LINE_WORDS],
    inner: T,
}

/// The length of a cache line, in words of eight bytes.
const LINE_WORDS: usize = 8;

impl<T> CachePadded<T> {
    pub(crate) const fn new(inner: T) -> Self {
        Self {
            _before: [0; LINE_WORDS],
            inner,
        }
    }
}

impl<T> Deref for CachePadded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}
