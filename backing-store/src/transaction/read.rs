//! A transaction that only reads: the committed rows of the moment it began.

use std::ops::Deref;
use std::sync::Arc;

use crate::backing_store::Core;
use crate::reads::Reads;
use crate::view::View;

/// A transaction that only reads. It waits for nobody and nobody waits for it; it needs no end.
#[derive(Debug, Clone)]
pub struct ReadTransaction {
    reads: Reads,
}

impl ReadTransaction {
    pub(crate) fn new(core: &Core) -> Self {
        let view = View::committed(core.base(None));
        Self {
            reads: Reads::new(view, Arc::clone(&core.surroundings)),
        }
    }
}

impl Deref for ReadTransaction {
    type Target = Reads;

    fn deref(&self) -> &Reads {
        &self.reads
    }
}
