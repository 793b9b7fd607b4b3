//! The tree that two sides are compared with.
//!
//! With one base it is that base's. With several they are merged, pair by pair and oldest first, the later one winning, each pair with a base of
//! its own: a tree in memory, of no commit. It depends on the history alone; merge commits that happen to be here do not count.

use super::ancestors::relation;
use crate::commit::{Commit, CommitId};
use crate::entry::Change;
use crate::error::Result;
use crate::object::{ObjectIdentifier, Piece, PieceSink, PieceSource};
use crate::page::Page;
use crate::tree::Tree;
use std::cell::RefCell;
use std::collections::HashMap;

/// Bases of bases are merged down to this depth; below it the oldest stands for all.
const DEPTH_MAX: usize = 32;

/// A page, and pieces that are in no store.
#[derive(Debug)]
pub(super) struct Overlay<'a> {
    page: &'a Page,
    pieces: RefCell<HashMap<ObjectIdentifier, Vec<u8>>>,
    known: RefCell<HashMap<Vec<CommitId>, ObjectIdentifier>>,
}

impl PieceSource for Overlay<'_> {
    fn piece(&self, identifier: &ObjectIdentifier) -> Result<Option<Vec<u8>>> {
        match self.pieces.borrow().get(identifier) {
            Some(content) => Ok(Some(content.clone())),
            None => self.page.piece(identifier),
        }
    }
}

impl PieceSink for &Overlay<'_> {
    fn put(&mut self, piece: Piece<'_>) -> Result<()> {
        let mut pieces = self.pieces.borrow_mut();
        pieces.insert(piece.identifier, piece.content.to_vec());
        Ok(())
    }
}

impl<'a> Overlay<'a> {
    pub(super) fn new(page: &'a Page) -> Overlay<'a> {
        Overlay {
            page,
            pieces: RefCell::default(),
            known: RefCell::default(),
        }
    }

    pub(super) fn tree(&self, root: ObjectIdentifier) -> Tree<'_> {
        Tree::of_fanout(self, root, self.page.fanout()).with_cache(&self.page.0.nodes)
    }

    /// The root of the tree that stands for all of some commits, oldest first.
    pub(super) fn base(&self, commits: &[Commit], depth: usize) -> Result<ObjectIdentifier> {
        let Some((first, rest)) = commits.split_first() else {
            return Ok(Tree::empty_root());
        };
        if rest.is_empty() || depth >= DEPTH_MAX {
            return Ok(first.root());
        }
        let key: Vec<CommitId> = commits.iter().map(Commit::id).collect();
        if let Some(root) = self.known.borrow().get(&key) {
            return Ok(*root);
        }
        let mut root = first.root();
        for (i, commit) in rest.iter().enumerate() {
            let below = relation(self.page, &commits[..=i], std::slice::from_ref(commit))?;
            let base = self.base(&below.bases, depth + 1)?;
            root = self.merged(base, root, commit.root())?;
        }
        self.known.borrow_mut().insert(key, root);
        Ok(root)
    }

    /// The older tree with all changes from the base to the newer one.
    fn merged(
        &self,
        base: ObjectIdentifier,
        older: ObjectIdentifier,
        newer: ObjectIdentifier,
    ) -> Result<ObjectIdentifier> {
        let changes = self.tree(base).diff(&newer, b"")?.map(|diff| {
            let diff = diff?;
            Ok(Change {
                key: diff.key,
                value: diff.new.map(|entry| (entry.value, entry.priority)),
            })
        });
        let changes = changes.collect::<Result<Vec<_>>>()?;
        let mut sink = self;
        self.tree(older).apply(&mut sink, &changes)
    }
}
