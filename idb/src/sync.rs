//! Locks, atomics and threads of what several threads share: the standard library's.
//!
//! With `--cfg shuttle` the crate's own tests take them from Shuttle instead, whose scheduler tries out interleavings;
//! CONTRIBUTING.md has the command.

#[cfg(all(test, shuttle))]
pub(crate) use shuttle::{
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64},
    },
    thread::{self, JoinHandle, Thread},
    thread_local,
};
#[cfg(not(all(test, shuttle)))]
pub(crate) use std::{
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64},
    },
    thread::{self, JoinHandle, Thread},
    thread_local,
};

use std::sync::PoisonError;

/// Enters a lock, poisoned or not: nothing that holds one of this crate's locks leaves half a change, and none is held while
/// a host's code runs.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
