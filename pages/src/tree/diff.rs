//! What differs between trees, in time of the difference.

use super::cursor::{Cursor, Item};
use super::nodes::Nodes;
use crate::entry::Entry;
use crate::error::Result;
use crate::object::ObjectIdentifier;
use std::cmp::Ordering;

/// An entry that differs between two trees: in which it is, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryDiff {
    /// The key.
    pub key: Vec<u8>,
    /// The entry in the first tree.
    pub old: Option<Entry>,
    /// The entry in the second.
    pub new: Option<Entry>,
}

/// The entries that differ, in the order of their keys. A subtree that both trees have is passed over unread.
#[derive(Debug)]
#[must_use]
pub struct Diff<'a> {
    nodes: Nodes<'a>,
    /// `None` if the trees are one.
    cursors: Option<(Cursor, Cursor)>,
}

impl<'a> Diff<'a> {
    /// From `old` to `new`, keys from `from` on.
    pub(crate) fn new(
        nodes: Nodes<'a>,
        old: &ObjectIdentifier,
        new: &ObjectIdentifier,
        from: &[u8],
    ) -> Result<Diff<'a>> {
        let cursors = match old == new {
            true => None,
            false => Some((
                Cursor::new(nodes, old, from)?,
                Cursor::new(nodes, new, from)?,
            )),
        };
        Ok(Diff { nodes, cursors })
    }

    fn step(&mut self) -> Result<Option<EntryDiff>> {
        let Some((old, new)) = &mut self.cursors else {
            return Ok(None);
        };
        loop {
            let order = match (old.item(), new.item()) {
                (Item::End, Item::End) => return Ok(None),
                (Item::Subtree(a, _), Item::Subtree(b, _)) if a == b => {
                    old.pass()?;
                    new.pass()?;
                    continue;
                }
                // The higher first: so subtrees of one level meet, which may be the same.
                (Item::Subtree(_, a), Item::Subtree(_, b)) => {
                    if a >= b {
                        old.enter(self.nodes)?;
                    }
                    if b >= a {
                        new.enter(self.nodes)?;
                    }
                    continue;
                }
                (Item::Subtree(..), _) => {
                    old.enter(self.nodes)?;
                    continue;
                }
                (_, Item::Subtree(..)) => {
                    new.enter(self.nodes)?;
                    continue;
                }
                (Item::Entry(_), Item::End) => Ordering::Less,
                (Item::End, Item::Entry(_)) => Ordering::Greater,
                (Item::Entry(a), Item::Entry(b)) if a == b => {
                    old.pass()?;
                    new.pass()?;
                    continue;
                }
                (Item::Entry(a), Item::Entry(b)) => a.key.cmp(&b.key),
            };
            let was = match order {
                Ordering::Greater => None,
                _ => old.next(self.nodes)?,
            };
            let is = match order {
                Ordering::Less => None,
                _ => new.next(self.nodes)?,
            };
            let key = was.as_ref().or(is.as_ref()).map(|entry| entry.key.clone());
            return Ok(key.map(|key| EntryDiff {
                key,
                old: was,
                new: is,
            }));
        }
    }
}

impl Iterator for Diff<'_> {
    type Item = Result<EntryDiff>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if !matches!(step, Ok(Some(_))) {
            self.cursors = None;
        }
        step.transpose()
    }
}

/// An entry that differs between a tree and two that came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreeWayDiff {
    /// The key.
    pub key: Vec<u8>,
    /// The entry in the tree that both came of.
    pub base: Option<Entry>,
    /// The entry in the first.
    pub left: Option<Entry>,
    /// The entry in the second.
    pub right: Option<Entry>,
}

impl ThreeWayDiff {
    /// Whether both sides changed the entry, and not alike.
    pub fn is_conflict(&self) -> bool {
        self.left != self.base && self.right != self.base && self.left != self.right
    }
}

/// The entries that differ on a side, in the order of their keys.
#[derive(Debug)]
#[must_use]
pub struct ThreeWay<'a> {
    left: std::iter::Peekable<Diff<'a>>,
    right: std::iter::Peekable<Diff<'a>>,
}

impl<'a> ThreeWay<'a> {
    pub(crate) fn new(
        nodes: Nodes<'a>,
        base: &ObjectIdentifier,
        left: &ObjectIdentifier,
        right: &ObjectIdentifier,
        from: &[u8],
    ) -> Result<ThreeWay<'a>> {
        Ok(ThreeWay {
            left: Diff::new(nodes, base, left, from)?.peekable(),
            right: Diff::new(nodes, base, right, from)?.peekable(),
        })
    }
}

impl Iterator for ThreeWay<'_> {
    type Item = Result<ThreeWayDiff>;

    fn next(&mut self) -> Option<Self::Item> {
        let order = match (self.left.peek(), self.right.peek()) {
            (None, None) => return None,
            // An error comes out first.
            (Some(Err(_)), _) | (Some(_), None) => Ordering::Less,
            (_, Some(Err(_))) | (None, Some(_)) => Ordering::Greater,
            (Some(Ok(left)), Some(Ok(right))) => left.key.cmp(&right.key),
        };
        let left = match order {
            Ordering::Greater => None,
            _ => self.left.next(),
        };
        let right = match order {
            Ordering::Less => None,
            _ => self.right.next(),
        };
        Some(match (left, right) {
            (Some(Err(error)), _) | (_, Some(Err(error))) => Err(error),
            (Some(Ok(left)), None) => Ok(ThreeWayDiff {
                key: left.key,
                right: left.old.clone(),
                base: left.old,
                left: left.new,
            }),
            (None, Some(Ok(right))) => Ok(ThreeWayDiff {
                key: right.key,
                left: right.old.clone(),
                base: right.old,
                right: right.new,
            }),
            (Some(Ok(left)), Some(Ok(right))) => Ok(ThreeWayDiff {
                key: left.key,
                base: left.old,
                left: left.new,
                right: right.new,
            }),
            (None, None) => return None,
        })
    }
}
