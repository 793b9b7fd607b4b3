//! The files that this process has open for writing.
//!
//! SQLite's locks are the process's: the system drops all of them on a file as soon as the process closes any handle to it. So a file that is open here
//! is never opened in another way than by SQLite, which knows that.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static OPENED: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

fn opened() -> MutexGuard<'static, BTreeMap<PathBuf, usize>> {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file's path, whichever links lead to it.
fn full(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// A file that is open, until this is dropped.
#[derive(Debug)]
pub(super) struct Opened(PathBuf);

impl Opened {
    pub(super) fn new(path: &Path) -> Self {
        let path = full(path);
        *opened().entry(path.clone()).or_default() += 1;
        Self(path)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        let mut opened = opened();
        if let Some(count) = opened.get_mut(&self.0) {
            *count -= 1;
            if *count == 0 {
                opened.remove(&self.0);
            }
        }
    }
}

/// Whether the file is open.
pub(crate) fn is_open(path: &Path) -> bool {
    opened().contains_key(&full(path))
}
