//! [`Output`]: where the lines go that scripts print, and what has gone wrong, of all realms of a run.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Where a line of text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// What a script says.
    Out,
    /// Warnings, and exceptions that no handler caught.
    Err,
}

/// Takes the lines that scripts print. It is called on the thread of the realm that prints, one line at a time.
pub type Console = Box<dyn FnMut(Stream, &str) + Send>;

/// What all realms of a run print.
pub(crate) struct Output {
    console: Mutex<Console>,
    uncaught: AtomicU64,
    is_storage_failure_reported: AtomicBool,
}

impl Output {
    pub(crate) const fn new(console: Console) -> Self {
        Self {
            console: Mutex::new(console),
            uncaught: AtomicU64::new(0),
            is_storage_failure_reported: AtomicBool::new(false),
        }
    }

    pub(crate) fn print(&self, stream: Stream, text: &str) {
        let mut console = self.console.lock().unwrap_or_else(PoisonError::into_inner);
        console(stream, text);
    }

    /// Prints an exception that no handler caught.
    pub(crate) fn print_uncaught(&self, text: &str) {
        self.uncaught.fetch_add(1, Ordering::Relaxed);
        self.print(Stream::Err, text);
    }

    pub(crate) fn uncaught_count(&self) -> u64 {
        self.uncaught.load(Ordering::Relaxed)
    }

    /// Notes that a store cannot be opened, which is reported once; returns whether this is the first time.
    pub(crate) fn begin_to_report_storage_failure(&self) -> bool {
        !self
            .is_storage_failure_reported
            .swap(true, Ordering::Relaxed)
    }
}
