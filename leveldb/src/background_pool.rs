//! Threads of the host for the background work of many stores.

use std::fmt::Debug;
use std::sync::Arc;

/// Threads of the host that do the background work of any number of stores ([`Background::Pool`](crate::Background::Pool)).
pub trait BackgroundPool: Debug + Send + Sync {
    /// Takes a step of work that is to be [run](BackgroundWork::run) soon and once, on another thread. The caller may hold locks
    /// that the work needs, so the work must not run before this call returns. A store has at most one step waiting. If a step is
    /// dropped instead of run, the store's work is left to writers that have to wait for it, until the store is opened again.
    fn run_soon(&self, work: BackgroundWork);
}

/// One step of a store's background work: a memtable is made into a table, or one compaction is done. If more is due afterwards,
/// the pool gets that as another step, so that stores take turns.
#[derive(Debug)]
pub struct BackgroundWork(Arc<dyn Work>);

/// A store's background work, as the engine has it.
pub(crate) trait Work: Debug + Send + Sync {
    /// Does one step, if it is still due and the store still open.
    fn do_one(&self);
}

impl BackgroundWork {
    pub(crate) fn new(work: Arc<dyn Work>) -> BackgroundWork {
        BackgroundWork(work)
    }

    /// Does the step, if it is still due and the store is still open.
    ///
    /// # Panics
    /// If the comparator or the file system does; the store takes no more writes then.
    pub fn run(self) {
        self.0.do_one();
    }
}
