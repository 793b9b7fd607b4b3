//! Pieces on their way out: those of a commit that are on this device alone, each after what it refers to.

use super::pieces::{check_depth, references};
use super::{Inner, Page, Pin};
use crate::commit::Commit;
use crate::error::Result;
use crate::object::{ObjectIdentifier, Priority};
use crate::rows::PieceStatus;
use std::collections::HashSet;

/// Finds the pieces that are to be uploaded for commits: those that were not synced, each once, and after those that it refers to.
#[derive(Debug)]
pub struct Outgoing {
    page: Page,
    seen: HashSet<ObjectIdentifier>,
}

/// A walk from a root down.
struct Walk<'a, F> {
    page: &'a Inner,
    seen: &'a mut HashSet<ObjectIdentifier>,
    /// Whether what is walked is below lazy values, or above.
    is_lazy: bool,
    lazy: Vec<ObjectIdentifier>,
    each: F,
}

impl<F: FnMut(ObjectIdentifier, &[u8]) -> Result<()>> Walk<'_, F> {
    /// A piece that was synced has nothing below it that was not.
    fn piece(&mut self, id: ObjectIdentifier, depth: usize) -> Result<()> {
        check_depth(depth, &id)?;
        if id.digest.is_inline()
            || self.seen.contains(&id)
            || self.page.status(&id)? != Some(PieceStatus::Local)
        {
            return Ok(());
        }
        let content = self.page.content(&id)?;
        for reference in references(self.page, None, &id, &content)? {
            match reference.priority == Priority::Eager || self.is_lazy {
                true => self.piece(reference.identifier, depth + 1)?,
                false => self.lazy.push(reference.identifier),
            }
        }
        self.seen.insert(id);
        (self.each)(id, &content)
    }
}

impl Page {
    /// Begins to look for what is to be uploaded.
    pub fn outgoing(&self) -> Outgoing {
        Outgoing {
            page: self.clone(),
            seen: HashSet::new(),
        }
    }
}

impl Outgoing {
    /// Calls for the pieces of a commit that must come with it: its tree and its eager values. Gives back the lazy values that were passed, for
    /// [`lazy_pieces`](Self::lazy_pieces).
    ///
    /// # Errors
    /// Those of the call; `NeedsFetch` if a piece is missing; `Corruption`; those of the engine.
    pub fn eager_pieces(
        &mut self,
        commit: &Commit,
        each: impl FnMut(ObjectIdentifier, &[u8]) -> Result<()>,
    ) -> Result<Vec<ObjectIdentifier>> {
        self.walk(commit.root(), false, each)
    }

    /// Calls for the pieces of a lazy value.
    ///
    /// # Errors
    /// As [`eager_pieces`](Self::eager_pieces).
    pub fn lazy_pieces(
        &mut self,
        value: ObjectIdentifier,
        each: impl FnMut(ObjectIdentifier, &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.walk(value, true, each).map(drop)
    }

    fn walk(
        &mut self,
        root: ObjectIdentifier,
        is_lazy: bool,
        each: impl FnMut(ObjectIdentifier, &[u8]) -> Result<()>,
    ) -> Result<Vec<ObjectIdentifier>> {
        let inner = &self.page.0;
        let _pin = Pin::piece(inner, root);
        let mut walk = Walk {
            page: inner,
            seen: &mut self.seen,
            is_lazy,
            lazy: Vec::new(),
            each,
        };
        walk.piece(root, 0)?;
        Ok(walk.lazy)
    }
}
