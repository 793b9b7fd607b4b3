//! [`Steps`]: who does the engine's steps, the scripts' thread between tasks or a thread beside it.
//!
//! Either way the engine has the calls of one task at a time: all steps that they lead to are done before a call of another task
//! reaches it. So the order of its answers hangs on the scripts alone. The thread beside them works while script runs that does not
//! call the engine; a call waits for it.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use larder_idb::{Error, ErrorName, Result, Storage};

use super::outbox::Outbox;
use crate::pauses::Pauses;

/// Who does them.
pub(super) enum Steps {
    /// The scripts' thread, when a task is over.
    Between,
    /// A thread of the engine's.
    Beside(Beside),
}

/// The thread, as the scripts' thread sees it.
pub(super) struct Beside {
    /// Whether the thread rests until it is handed the engine back.
    is_resting: Cell<bool>,
    thread: RefCell<Option<JoinHandle<()>>>,
}

impl Steps {
    /// Starts a thread for them.
    ///
    /// # Errors
    /// `UnknownError` if it cannot be started.
    pub(super) fn beside(storage: &Storage, outbox: &Arc<Outbox>, pauses: Pauses) -> Result<Self> {
        let (storage, outbox) = (storage.clone(), Arc::clone(outbox));
        let serve = move || serve(&storage, &outbox, &pauses);
        let started = Builder::new().name("larder-engine".into()).spawn(serve);
        let thread = started.map_err(|error| {
            let what = format!("cannot start a thread: {error}");
            Error::new(ErrorName::UnknownError, what)
        })?;
        Ok(Self::Beside(Beside {
            is_resting: Cell::new(false),
            thread: RefCell::new(Some(thread)),
        }))
    }

    /// Before a call: no step is done until the task is over.
    pub(super) fn rest(&self, outbox: &Outbox) {
        if let Self::Beside(beside) = self
            && !beside.is_resting.replace(true)
        {
            outbox.await_rest();
        }
    }

    /// After a task: what it has asked for is done.
    pub(super) fn go_on(&self, storage: &Storage, outbox: &Outbox) {
        match self {
            Self::Between => while storage.run_one() {},
            Self::Beside(beside) => {
                if beside.is_resting.replace(false) {
                    outbox.begin_work();
                }
            }
        }
    }

    /// Ends the thread, after the step that it is at.
    pub(super) fn end(&self, outbox: &Outbox) {
        if let Self::Beside(beside) = self {
            outbox.end();
            let thread = beside.thread.take();
            // A panic was caught, and is in the outbox.
            drop(thread.map(JoinHandle::join));
        }
    }
}

/// What the thread does.
fn serve(storage: &Storage, outbox: &Outbox, pauses: &Pauses) {
    while outbox.await_work() {
        let worked = catch_unwind(AssertUnwindSafe(|| {
            pauses.pause();
            while !outbox.is_ending() && storage.run_one() {
                pauses.pause();
            }
        }));
        outbox.end_work(worked.err());
    }
}
