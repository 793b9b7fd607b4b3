//! A tree, by its root, in any store of pieces.

use super::apply::apply;
use super::cache::NodeCache;
use super::diff::{Diff, ThreeWay};
use super::entries::Entries;
use super::level::Fanout;
use super::node::TreeNode;
use super::nodes::Nodes;
use crate::entry::{Change, Entry};
use crate::error::{Error, Result};
use crate::object::{
    ObjectDigest, ObjectIdentifier, ObjectType, PieceSink, PieceSource, PieceType, Reference,
};

/// The tree of entries with a root, whose pieces are in a store. Pages have their trees in their own; this is for trees in another.
///
/// ```
/// use larder_pages::*;
/// use std::{cell::RefCell, collections::HashMap};
///
/// #[derive(Default)]
/// struct Pieces(RefCell<HashMap<ObjectIdentifier, Vec<u8>>>);
/// impl PieceSource for Pieces {
///     fn piece(&self, id: &ObjectIdentifier) -> Result<Option<Vec<u8>>> {
///         Ok(self.0.borrow().get(id).cloned())
///     }
/// }
/// impl PieceSink for &Pieces {
///     fn put(&mut self, piece: Piece<'_>) -> Result<()> {
///         self.0.borrow_mut().insert(piece.identifier, piece.content.to_vec());
///         Ok(())
///     }
/// }
///
/// let pieces = Pieces::default();
/// let put = |key: &str, value: &str| {
///     let digest = ObjectDigest::of(PieceType::Chunk, ObjectType::Blob, value.as_bytes());
///     let value = Some((ObjectIdentifier::new(digest), Priority::Eager));
///     Change { key: key.into(), value }
/// };
/// let empty = Tree::empty_root();
/// let one = Tree::new(&pieces, empty).apply(&mut &pieces, &[put("apple", "red"), put("pear", "green")])?;
/// let two = Tree::new(&pieces, one).apply(&mut &pieces, &[put("apple", "green")])?;
/// let diff: Vec<EntryDiff> = Tree::new(&pieces, one).diff(&two, b"")?.collect::<Result<_>>()?;
/// assert_eq!(diff.len(), 1);
/// assert_eq!(Tree::new(&pieces, two).apply(&mut &pieces, &[put("apple", "red")])?, one);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Tree<'a> {
    nodes: Nodes<'a>,
    root: ObjectIdentifier,
}

impl<'a> Tree<'a> {
    /// The root of the tree without entries. It is inline.
    pub fn empty_root() -> ObjectIdentifier {
        let bytes = TreeNode::empty(0).encode();
        let digest = ObjectDigest::of(PieceType::Chunk, ObjectType::TreeNode, &bytes);
        ObjectIdentifier::new(digest)
    }

    /// The tree with a root, of the fan-out of 256.
    pub fn new(source: &'a dyn PieceSource, root: ObjectIdentifier) -> Tree<'a> {
        Tree::of_fanout(source, root, Fanout::Of256)
    }

    /// The tree with a root, of a fan-out.
    pub fn of_fanout(
        source: &'a dyn PieceSource,
        root: ObjectIdentifier,
        fanout: Fanout,
    ) -> Tree<'a> {
        Tree {
            nodes: Nodes::new(source, fanout.level_of()),
            root,
        }
    }

    /// The tree with nodes above the leaves kept as they were read.
    pub(crate) fn with_cache(self, cache: &'a NodeCache) -> Tree<'a> {
        Tree {
            nodes: self.nodes.with_cache(cache),
            ..self
        }
    }

    /// The root of the tree after changes, whose keys ascend: each once. A change to what is there already, and the deletion of what is not,
    /// change nothing. The sink is given new nodes only.
    ///
    /// # Errors
    /// `Usage` if the keys do not ascend; `Unsupported` for more keys of a level side by side than a node has room for; those of reading and
    /// of the sink.
    pub fn apply(&self, sink: &mut dyn PieceSink, changes: &[Change]) -> Result<ObjectIdentifier> {
        if !changes.is_sorted_by(|a, b| a.key < b.key) {
            return Err(Error::usage("the keys of changes must ascend, each once"));
        }
        apply(self.nodes, sink, &self.root, changes)
    }

    /// The entries from a key on.
    ///
    /// # Errors
    /// As reading: `NeedsFetch`, `Corruption`, those of the source.
    pub fn entries(&self, from: &[u8]) -> Result<Entries<'a>> {
        Entries::new(self.nodes, &self.root, from)
    }

    /// The entry of a key.
    ///
    /// # Errors
    /// As reading.
    pub fn get(&self, key: &[u8]) -> Result<Option<Entry>> {
        let mut node = self.nodes.root(&self.root)?;
        loop {
            let at = match node
                .entries
                .binary_search_by(|entry| entry.key[..].cmp(key))
            {
                Ok(at) => return Ok(node.entries.get(at).cloned()),
                Err(at) => at,
            };
            let Some(Some(child)) = node.children.get(at) else {
                return Ok(None);
            };
            node = match node.level {
                1 => return self.nodes.find_in_leaf(child, key),
                level => self.nodes.node(child, level.saturating_sub(1))?,
            };
        }
    }

    /// What the root refers to, of whatever level its keys are: of a node that was looked at when it came.
    pub(crate) fn stored_references(&self) -> Result<Vec<Reference>> {
        self.nodes.references_of(&self.root)
    }

    /// What the root refers to, as reference rows have it.
    pub(crate) fn references(&self) -> Result<Vec<Reference>> {
        Ok(self.nodes.root(&self.root)?.references())
    }

    /// What differs from here to another tree in the same store, keys from `from` on. Nodes that both have are not read.
    ///
    /// # Errors
    /// As reading.
    pub fn diff(&self, other: &ObjectIdentifier, from: &[u8]) -> Result<Diff<'a>> {
        Diff::new(self.nodes, &self.root, other, from)
    }

    /// What differs from here in either of two trees that came of this, keys from `from` on.
    ///
    /// # Errors
    /// As reading.
    pub fn three_way(
        &self,
        left: &ObjectIdentifier,
        right: &ObjectIdentifier,
        from: &[u8],
    ) -> Result<ThreeWay<'a>> {
        ThreeWay::new(self.nodes, &self.root, left, right, from)
    }
}
