//! A position in a tree, before a subtree or an entry.

use super::node::TreeNode;
use super::nodes::Nodes;
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::object::ObjectIdentifier;
use std::sync::Arc;

/// What comes next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item<'c> {
    /// A subtree that has not been read, and its level.
    Subtree(&'c ObjectIdentifier, u8),
    Entry(&'c Entry),
    End,
}

#[derive(Debug)]
struct Frame {
    node: Arc<TreeNode>,
    at: usize,
    /// Whether the child before the entry at `at` is done.
    is_past_child: bool,
}

/// Goes through a tree in order, and reads a node only to go into it.
#[derive(Debug)]
pub(crate) struct Cursor {
    /// The root, until the cursor goes into it.
    root: Option<(ObjectIdentifier, Arc<TreeNode>)>,
    frames: Vec<Frame>,
    /// Nothing below this key is shown.
    from: Vec<u8>,
    last_key: Option<Vec<u8>>,
}

impl Cursor {
    pub(crate) fn new(nodes: Nodes<'_>, root: &ObjectIdentifier, from: &[u8]) -> Result<Cursor> {
        Ok(Cursor {
            root: Some((*root, nodes.root(root)?)),
            frames: Vec::new(),
            from: from.to_vec(),
            last_key: None,
        })
    }

    pub(crate) fn item(&mut self) -> Item<'_> {
        while let Some(frame) = self.frames.last_mut() {
            let child = frame.node.children.get(frame.at).copied().flatten();
            frame.is_past_child |= child.is_none();
            if frame.is_past_child && frame.at >= frame.node.entries.len() {
                self.frames.pop();
            } else {
                break;
            }
        }
        match (&self.root, self.frames.last()) {
            (Some((id, node)), _) => Item::Subtree(id, node.level),
            (None, None) => Item::End,
            (None, Some(frame)) => match (&frame.node.children[frame.at], frame.is_past_child) {
                (Some(child), false) => Item::Subtree(child, frame.node.level.saturating_sub(1)),
                _ => Item::Entry(&frame.node.entries[frame.at]),
            },
        }
    }

    /// Goes past the subtree or entry.
    ///
    /// # Errors
    /// `Corruption` if the key of the entry is not above the one before.
    pub(crate) fn pass(&mut self) -> Result<()> {
        if self.root.take().is_some() {
            return Ok(());
        }
        let Some(frame) = self.frames.last_mut() else {
            return Ok(());
        };
        if !frame.is_past_child {
            frame.is_past_child = true;
            return Ok(());
        }
        let key = &frame.node.entries[frame.at].key;
        if self.last_key.as_ref().is_some_and(|last| last >= key) {
            let key = key.escape_ascii();
            return Err(Error::corruption(format!(
                "the tree's key {key} is not above the one before"
            )));
        }
        self.last_key.get_or_insert_default().clone_from(key);
        frame.at += 1;
        frame.is_past_child = false;
        Ok(())
    }

    /// Goes past the subtree that comes next: whether one does.
    pub(crate) fn pass_subtree(&mut self) -> bool {
        matches!(self.item(), Item::Subtree(..)) && self.pass().is_ok()
    }

    /// Goes into the subtree.
    pub(crate) fn enter(&mut self, nodes: Nodes<'_>) -> Result<()> {
        let node = match self.root.take() {
            Some((_, root)) => root,
            None => match self.item() {
                Item::Subtree(id, level) => nodes.node(&id.clone(), level)?,
                _ => return Ok(()),
            },
        };
        if let Some(above) = self.frames.last_mut() {
            above.is_past_child = true;
        }
        let at = node.entries.partition_point(|entry| entry.key < self.from);
        let is_exact = node
            .entries
            .get(at)
            .is_some_and(|entry| entry.key == self.from);
        self.frames.push(Frame {
            node,
            at,
            is_past_child: is_exact,
        });
        Ok(())
    }

    /// The next entry, through all subtrees.
    pub(crate) fn next(&mut self, nodes: Nodes<'_>) -> Result<Option<Entry>> {
        loop {
            match self.item() {
                Item::End => return Ok(None),
                Item::Subtree(..) => self.enter(nodes)?,
                Item::Entry(entry) => {
                    let entry = entry.clone();
                    self.pass()?;
                    return Ok(Some(entry));
                }
            }
        }
    }
}
