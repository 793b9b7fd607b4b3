//! What a piece refers to.

use super::Inner;
use crate::error::{Error, ErrorKind, Result};
use crate::object::file_index;
use crate::object::{ObjectIdentifier, ObjectType, PieceSource, PieceType, Priority, Reference};
use crate::tree::{Fanout, Tree};

/// Levels of trees are at most 255, those of indexes some more.
const DEPTH_MAX: usize = 512;

/// Whether a piece lies no deeper below a root than it can: a hostile chain of nodes is not gone down for ever.
pub(super) fn check_depth(depth: usize, id: &ObjectIdentifier) -> Result<()> {
    match depth <= DEPTH_MAX {
        true => Ok(()),
        false => Err(Error::corruption(format!(
            "piece {:?} lies {depth} pieces below a root",
            id.digest
        ))),
    }
}

/// What a piece with this content refers to, nothing inline. The pieces of a tree node must be in the source. A piece from elsewhere is of a fan-out, by
/// which its keys are looked at.
pub(crate) fn references(
    source: &dyn PieceSource,
    fanout: Option<Fanout>,
    id: &ObjectIdentifier,
    content: &[u8],
) -> Result<Vec<Reference>> {
    let mut references = Vec::new();
    if id.digest.piece_type() == PieceType::Index {
        let children = file_index::decode(content)?.into_iter();
        let children = children.map(|child| Reference {
            identifier: child.identifier,
            priority: Priority::Eager,
        });
        references.extend(children.filter(|child| !child.identifier.digest.is_inline()));
    }
    if id.digest.object_type() == ObjectType::TreeNode {
        let with_root = WithPiece {
            source,
            id,
            content,
        };
        references.extend(match fanout {
            Some(fanout) => Tree::of_fanout(&with_root, *id, fanout).references()?,
            None => Tree::new(&with_root, *id).stored_references()?,
        });
    }
    Ok(references)
}

/// A source, and one piece more.
struct WithPiece<'a> {
    source: &'a dyn PieceSource,
    id: &'a ObjectIdentifier,
    content: &'a [u8],
}

impl PieceSource for WithPiece<'_> {
    fn piece(&self, identifier: &ObjectIdentifier) -> Result<Option<Vec<u8>>> {
        match identifier == self.id {
            true => Ok(Some(self.content.to_vec())),
            false => self.source.piece(identifier),
        }
    }
}

impl Inner {
    /// The content of a piece that must be here.
    pub(crate) fn content(&self, id: &ObjectIdentifier) -> Result<Vec<u8>> {
        self.piece(id)?.ok_or_else(|| {
            let context = format!("piece {:?} is not on this device", id.digest);
            Error::new(ErrorKind::NeedsFetch, context)
        })
    }
}
