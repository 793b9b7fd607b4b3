//! What pieces are taken from, and where they go.

use super::{ObjectIdentifier, Priority};
use crate::error::Result;

/// A reference from a piece to another, with what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// What is referred to.
    pub identifier: ObjectIdentifier,
    /// [`Priority::Lazy`] from the node of a tree to a lazy value, else eager.
    pub priority: Priority,
}

/// A piece that is to be stored: never an inline one.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Its name.
    pub identifier: ObjectIdentifier,
    /// Its content.
    pub content: &'a [u8],
    /// What it refers to, nothing inline.
    pub references: &'a [Reference],
}

/// Where the pieces of an object go, each after those that it refers to.
pub trait PieceSink {
    /// Takes a piece. It may be there already.
    ///
    /// # Errors
    /// Why it cannot be stored; the object is given up then.
    fn put(&mut self, piece: Piece<'_>) -> Result<()>;
}

/// What pieces are read from.
pub trait PieceSource {
    /// The content of a piece that is not inline; `None` if it is not here.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn piece(&self, identifier: &ObjectIdentifier) -> Result<Option<Vec<u8>>>;
}

impl<S: PieceSource + ?Sized> PieceSource for &S {
    fn piece(&self, identifier: &ObjectIdentifier) -> Result<Option<Vec<u8>>> {
        (**self).piece(identifier)
    }
}
