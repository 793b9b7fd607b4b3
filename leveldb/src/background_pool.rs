//! Threads of a host's for the background work of many stores.

use std::fmt::Debug;
use std::sync::Arc;

/// Threads of the host's that do the background work of any number of stores ([`Background::Pool`](crate::Background::Pool)).
pub trait BackgroundPool: Debug + Send + Sync {
    /// Takes work that is to be [run](BackgroundWork::run) soon, once, on another thread: the caller may hold locks that it
    /// needs, so it must not run before this returns. A store has at most one of these waiting. One that is dropped instead
    /// leaves that store's work to writers that have to wait for it, until it is opened again.
    fn run_soon(&self, work: BackgroundWork);
}

/// One step of a store's background work: a table of a memtable, or one compaction. If more is due then, the pool gets it as
/// another one, so that stores take turns.
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

    /// Does it, if it is still due and the store still open.
    ///
    /// # Panics
    /// If the comparator or the file system does; the store takes no more writes then.
    pub fn run(self) {
        self.0.do_one();
    }
}
