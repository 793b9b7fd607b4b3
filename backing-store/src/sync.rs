//! Locks, poisoned or not: what a panic has left is whole, as the code that holds one sees to.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Nothing that holds one of these locks leaves half a change.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
