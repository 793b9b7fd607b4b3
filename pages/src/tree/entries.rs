//! The entries of a tree in order.

use super::cursor::Cursor;
use super::nodes::Nodes;
use crate::entry::Entry;
use crate::error::Result;
use crate::object::ObjectIdentifier;

/// The entries of a tree, keys ascending. An error is the last item.
#[derive(Debug)]
#[must_use]
pub struct Entries<'a> {
    nodes: Nodes<'a>,
    /// `None` once it has ended.
    cursor: Option<Cursor>,
}

impl<'a> Entries<'a> {
    pub(super) fn new(
        nodes: Nodes<'a>,
        root: &ObjectIdentifier,
        from: &[u8],
    ) -> Result<Entries<'a>> {
        Ok(Entries {
            nodes,
            cursor: Some(Cursor::new(nodes, root, from)?),
        })
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.cursor.as_mut()?.next(self.nodes);
        if !matches!(next, Ok(Some(_))) {
            self.cursor = None;
        }
        next.transpose()
    }
}
