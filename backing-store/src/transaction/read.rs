//! A transaction that only reads: the committed rows of the moment it began.

use crate::view::{Base, View};

/// A transaction that only reads. It waits for nobody and nobody waits for it; it needs no end.
#[derive(Debug, Clone)]
pub struct ReadTransaction {
    view: View,
}

impl ReadTransaction {
    pub(crate) fn new(base: Base) -> Self {
        Self {
            view: View::committed(base),
        }
    }

    pub(crate) fn view(&self) -> &View {
        &self.view
    }
}
