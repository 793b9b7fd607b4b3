//! Nodes, from pieces and to pieces.

use super::level::LevelOf;
use super::node::TreeNode;
use crate::error::{Error, ErrorKind, Result};
use crate::object::{
    ObjectIdentifier, ObjectReader, ObjectType, ObjectWriter, PieceSink, PieceSource,
    SplitParameters,
};

/// A node has at most so many bytes: 255 entries are expected, a million may be there if keys are chosen for their hash.
const NODE_LEN_MAX: u64 = 64 << 20;
/// The number of a child has two bytes.
const CHILDREN_MAX: usize = 1 << 16;

/// Where the nodes of a tree are, and how its keys have their levels.
#[derive(Clone, Copy)]
pub(crate) struct Nodes<'a> {
    source: &'a dyn PieceSource,
    pub(crate) level_of: LevelOf,
}

impl std::fmt::Debug for Nodes<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Nodes")
    }
}

impl<'a> Nodes<'a> {
    pub(crate) fn new(source: &'a dyn PieceSource, level_of: LevelOf) -> Nodes<'a> {
        Nodes { source, level_of }
    }

    /// A node that may be of any level: a root.
    pub(crate) fn root(&self, id: &ObjectIdentifier) -> Result<TreeNode> {
        let mut reader = ObjectReader::open(self.source, id)?;
        let len = reader.len();
        if len > NODE_LEN_MAX {
            let context = format!("a tree node of {len} bytes: at most {NODE_LEN_MAX} are read");
            return Err(Error::corruption(context));
        }
        TreeNode::decode(&reader.read_range(0, len)?, self.level_of)
    }

    /// A node of a level.
    pub(crate) fn node(&self, id: &ObjectIdentifier, level: u8) -> Result<TreeNode> {
        let node = self.root(id)?;
        match node.level == level {
            true => Ok(node),
            false => Err(Error::corruption(format!(
                "tree node {:?} is of level {}, and {level} by the node above it",
                id.digest, node.level
            ))),
        }
    }
}

/// Stores a node: its name.
pub(crate) fn write(sink: &mut dyn PieceSink, node: &TreeNode) -> Result<ObjectIdentifier> {
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
