//! What is left to do when a person interrupts the command: temporary files do not stay behind.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, Once, PoisonError};

use tempfile::NamedTempFile;

/// What a shell makes of SIGINT, for programs that end by themselves.
const EXIT_INTERRUPTED: i32 = 130;

static FILES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A file that is removed if the command is interrupted (SIGINT, SIGTERM, SIGHUP) while this is alive.
#[derive(Debug)]
pub(crate) struct RemovedOnInterrupt(PathBuf);

impl RemovedOnInterrupt {
    /// The file that `make` makes.
    pub(crate) fn make(
        make: impl FnOnce() -> io::Result<NamedTempFile>,
    ) -> io::Result<(NamedTempFile, Self)> {
        static INSTALLED: Once = Once::new();
        // Where there can be no handler, files may stay: no reason to do nothing at all.
        INSTALLED.call_once(|| drop(ctrlc::set_handler(end)));
        // Under the lock, for which the handler waits: there is no moment in which the file is there and not known.
        with_files(|files| {
            let file = make()?;
            let path = file.path().to_owned();
            files.insert(path.clone());
            Ok((file, Self(path)))
        })
    }
}

impl Drop for RemovedOnInterrupt {
    fn drop(&mut self) {
        with_files(|files| files.remove(&self.0));
    }
}

fn with_files<T>(call: impl FnOnce(&mut BTreeSet<PathBuf>) -> T) -> T {
    call(&mut FILES.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Runs on a thread of its own, so it may lock and remove.
#[expect(
    clippy::exit,
    clippy::disallowed_methods,
    reason = "a root, which ends because a person said so, and removes the temporary files that it made"
)]
fn end() {
    with_files(|files| {
        for file in &*files {
            // One that is in its place already has another name.
            let _ = std::fs::remove_file(file);
        }
        // With the lock held, so that no more of them are made.
        std::process::exit(EXIT_INTERRUPTED)
    })
}
