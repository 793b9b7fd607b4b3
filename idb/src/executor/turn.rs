//! One turn of a thread that does work: how much, and what a host's callback threw.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A host's code that is to be called when no lock is held.
pub(crate) type Callback = Box<dyn FnOnce() + Send>;

/// Operations of a transaction that a worker executes before it looks after others.
const WORKER_OPERATIONS: u32 = 256;

/// One turn.
pub(crate) struct Turn {
    /// How many operations a transaction may execute.
    pub(crate) operations: u32,
    panic: Option<Box<dyn Any + Send>>,
}

impl Turn {
    /// A step of a host that drives.
    pub(crate) fn one_step() -> Self {
        Self {
            operations: 1,
            panic: None,
        }
    }

    /// As much as is to be had for now.
    pub(crate) fn long() -> Self {
        Self {
            operations: WORKER_OPERATIONS,
            panic: None,
        }
    }

    /// Whatever there is.
    pub(crate) fn whole() -> Self {
        Self {
            operations: u32::MAX,
            panic: None,
        }
    }

    /// Calls a host's code. Whatever it throws is caught: what is going on here is brought to its end first.
    pub(crate) fn call(&mut self, callback: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(callback)) {
            self.note(panic);
        }
    }

    /// Something was caught.
    pub(crate) fn note(&mut self, panic: Box<dyn Any + Send>) {
        self.panic.get_or_insert(panic);
    }

    /// Throws the first thing that was caught.
    pub(crate) fn rethrow(self) {
        if let Some(panic) = self.panic {
            resume_unwind(panic);
        }
    }
}
