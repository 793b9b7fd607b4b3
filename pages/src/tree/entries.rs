//! The entries of a tree in order.

use super::cursor::Cursor;
use super::nodes::Nodes;
use crate::entry::Entry;
use crate::error::Result;
use crate::object::ObjectIdentifier;

/// The entries of a tree, keys ascending. An error is the last item, unless [`past_unreadable`](Self::past_unreadable) says otherwise.
#[derive(Debug)]
#[must_use]
pub struct Entries<'a> {
    nodes: Nodes<'a>,
    /// `None` once it has ended.
    cursor: Option<Cursor>,
    passes_unreadable: bool,
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
            passes_unreadable: false,
        })
    }

    /// Goes on behind a node that cannot be read: there is one error for it, and then the entries that lie behind it. What comes out is
    /// in the tree, and not all of the tree.
    pub fn past_unreadable(mut self) -> Entries<'a> {
        self.passes_unreadable = true;
        self
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Self::Item> {
        let cursor = self.cursor.as_mut()?;
        let next = cursor.next(self.nodes);
        let goes_on = match &next {
            Ok(next) => next.is_some(),
            Err(_) => self.passes_unreadable && cursor.pass_subtree(),
        };
        if !goes_on {
            self.cursor = None;
        }
        next.transpose()
    }
}
