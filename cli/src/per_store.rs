//! What the commands that take one store after the other have in common.

use std::io;

use crate::report::Report;
use crate::scan::{Scan, Stop};
use crate::store_origin::StoreOrigin;

/// Where problems of stores are said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problems {
    /// On standard error, beside the output.
    AreBeside,
    /// In the output: the command says them.
    AreTheOutput,
}

/// What a command does with each store and at the end.
pub(crate) trait PerStore {
    /// Where problems are said.
    fn problems(&self) -> Problems;

    /// Takes one store.
    fn store(&mut self, scan: &mut Scan<'_>, origin: &StoreOrigin) -> Result<(), Stop>;

    /// The last store has been taken: what is still to be said.
    fn last(&mut self, _report: &mut Report) -> io::Result<()> {
        Ok(())
    }

    /// Puts the output in its place.
    fn finish(self: Box<Self>) -> io::Result<()>;
}
