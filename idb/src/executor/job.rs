//! A task that is done once.

use std::sync::Arc;

use super::{Callback, Task, Turn};
use crate::sync::{Mutex, locked};

/// Something that is done once.
pub(crate) struct Job(Mutex<Option<Work>>);

type Work = Box<dyn FnOnce(&mut Turn) + Send>;

impl Job {
    /// A host's code.
    pub(crate) fn new(callback: Callback) -> Self {
        Self::of(move |turn: &mut Turn| turn.call(callback))
    }

    /// Work of this crate.
    pub(crate) fn of(work: impl FnOnce(&mut Turn) + Send + 'static) -> Self {
        Self(Mutex::new(Some(Box::new(work))))
    }
}

impl Task for Job {
    fn run(self: Arc<Self>, turn: &mut Turn) {
        let work = locked(&self.0).take();
        if let Some(work) = work {
            work(turn);
        }
    }
}
