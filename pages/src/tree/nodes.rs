//! Nodes, from pieces and to pieces.

use super::cache::NodeCache;
use super::level::LevelOf;
use super::node::TreeNode;
use crate::entry::Entry;
use crate::error::{Error, ErrorKind, Result};
use crate::object::{
    ObjectIdentifier, ObjectReader, ObjectType, ObjectWriter, PieceSink, PieceSource, Reference,
    SplitParameters,
};
use std::sync::Arc;

/// A node has at most so many bytes: 255 entries are expected, or 15; a million may be there if keys are chosen for their hash.
const NODE_LEN_MAX: u64 = 64 << 20;
/// The number of a child has two bytes.
const CHILDREN_MAX: usize = 1 << 16;

/// Where the nodes of a tree are, and how its keys have their levels.
#[derive(Clone, Copy)]
pub(crate) struct Nodes<'a> {
    source: &'a dyn PieceSource,
    cache: Option<&'a NodeCache>,
    pub(crate) level_of: LevelOf,
}

impl std::fmt::Debug for Nodes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Nodes")
    }
}

impl<'a> Nodes<'a> {
    pub(crate) fn new(source: &'a dyn PieceSource, level_of: LevelOf) -> Nodes<'a> {
        Nodes {
            source,
            cache: None,
            level_of,
        }
    }

    /// Nodes that are kept when they were read or written.
    pub(crate) fn with_cache(self, cache: &'a NodeCache) -> Nodes<'a> {
        let cache = Some(cache);
        Nodes { cache, ..self }
    }

    /// A node that may be of any level: a root.
    pub(crate) fn root(&self, id: &ObjectIdentifier) -> Result<Arc<TreeNode>> {
        if let Some(kept) = self.cache.and_then(|cache| cache.get(&id.digest)) {
            return Ok(kept);
        }
        let node = Arc::new(self.read(id)?);
        if let Some(cache) = self.cache {
            cache.keep(id.digest, &node);
        }
        Ok(node)
    }

    fn read(&self, id: &ObjectIdentifier) -> Result<TreeNode> {
        TreeNode::decode(&self.bytes(id)?, self.level_of)
    }

    /// The entry of a key in a node of level 0.
    pub(crate) fn find_in_leaf(&self, id: &ObjectIdentifier, key: &[u8]) -> Result<Option<Entry>> {
        TreeNode::find(&self.bytes(id)?, self.level_of, key)
    }

    /// What a node refers to, of whatever level its keys are.
    pub(crate) fn references_of(&self, id: &ObjectIdentifier) -> Result<Vec<Reference>> {
        TreeNode::references_of(&self.bytes(id)?)
    }

    fn bytes(&self, id: &ObjectIdentifier) -> Result<Vec<u8>> {
        let mut reader = ObjectReader::open(self.source, id)?;
        let len = reader.len();
        if len > NODE_LEN_MAX {
            let context = format!("a tree node of {len} bytes: at most {NODE_LEN_MAX} are read");
            return Err(Error::corruption(context));
        }
        reader.read_range(0, len)
    }

    /// A node of a level.
    pub(crate) fn node(&self, id: &ObjectIdentifier, level: u8) -> Result<Arc<TreeNode>> {
        let node = self.root(id)?;
        match node.level == level {
            true => Ok(node),
            false => Err(Error::corruption(format!(
                "tree node {:?} is of level {}, and {level} by the node above it",
                id.digest, node.level
            ))),
        }
    }

    /// Stores a node: its name.
    pub(crate) fn write(
        &self,
        sink: &mut dyn PieceSink,
        node: TreeNode,
    ) -> Result<ObjectIdentifier> {
        let id = write(sink, &node)?;
        if let Some(cache) = self.cache.filter(|_| node.level > 0) {
            cache.keep(id.digest, &Arc::new(node));
        }
        Ok(id)
    }
}

pub(super) fn write(sink: &mut dyn PieceSink, node: &TreeNode) -> Result<ObjectIdentifier> {
    let bytes = node.encode();
    let is_too_wide = node.level > 0 && node.children.len() > CHILDREN_MAX;
    if bytes.len() as u64 > NODE_LEN_MAX || is_too_wide {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "{} keys whose hashes give them level {} stand next to each other: a node has no room for them",
                node.entries.len(),
                node.level
            ),
        ));
    }
    let mut writer = ObjectWriter::new(Forward(sink), SplitParameters::LEDGER, 0);
    writer.push(&bytes)?;
    writer.finish(ObjectType::TreeNode, &node.references())
}

struct Forward<'a>(&'a mut dyn PieceSink);

impl PieceSink for Forward<'_> {
    fn put(&mut self, piece: crate::object::Piece<'_>) -> Result<()> {
        self.0.put(piece)
    }
}
