//! Locks, atomics and threads of what several threads share: the standard library's.
//!
//! With `--cfg shuttle` the crate's own tests take them from Shuttle instead, whose scheduler tries out interleavings
//! (`engine/model.rs`, `skip_list/model.rs`); CONTRIBUTING.md has the command. Locks that are held for a few steps that
//! touch none of these, such as the caches', stay the standard library's.

#[cfg(all(test, shuttle))]
pub(crate) use shuttle::{
    sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, AtomicUsize},
    },
    thread::{self, JoinHandle},
};
#[cfg(not(all(test, shuttle)))]
pub(crate) use std::{
    sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, AtomicUsize},
    },
    thread::{self, JoinHandle},
};
