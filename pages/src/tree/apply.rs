//! Changes of a tree, many at once.
//!
//! The tree of a set of entries is a function of the set: a node of level n has all entries of that level between two of higher ones. So
//! the new tree is built from above. A node of the new tree that changes touch is made of *fragments*: old nodes of its level, as far
//! as they lie between its bounds. An entry that appears cuts the fragment below it in two; one that goes leaves two fragments side by
//! side. A fragment that is a whole node, with no change in it, is taken as it is, unread.

use super::node::TreeNode;
use super::nodes::Nodes;
use crate::entry::{Change, Entry};
use crate::error::{Error, Result};
use crate::object::{ObjectIdentifier, PieceSink};
use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::Arc;

/// A bound that no key is at; `None`: no bound.
type Bound = Option<Rc<[u8]>>;

/// The entries of an old node and of those below it that lie between two bounds.
#[derive(Clone, Debug)]
struct Fragment {
    id: ObjectIdentifier,
    level: u8,
    low: Bound,
    high: Bound,
    /// Whether entries of the old node may lie beyond a bound.
    is_cut: (bool, bool),
}

/// What has become of a part of the tree, not stored yet.
#[derive(Debug)]
enum Built {
    Nothing,
    /// An old node.
    Same(ObjectIdentifier),
    Node(TreeNode),
    /// A node without entries over another: it is needed only below one with entries.
    Over(Box<Built>),
}

/// A node that is there, with its name.
type OldNode = (ObjectIdentifier, Arc<TreeNode>);

/// A change with the level of its key.
struct Leveled<'a> {
    level: u8,
    change: &'a Change,
}

/// Gaps between entries, and the entries: one less.
struct Parts {
    gaps: Vec<Vec<Fragment>>,
    entries: Vec<Entry>,
}

struct Builder<'a> {
    nodes: Nodes<'a>,
    sink: &'a mut dyn PieceSink,
}

/// The root of a tree after changes, whose keys ascend. Only nodes of the new tree are stored, and only those that are not in the old one.
pub(crate) fn apply<'a>(
    nodes: Nodes<'a>,
    sink: &'a mut dyn PieceSink,
    root: &ObjectIdentifier,
    changes: &[Change],
) -> Result<ObjectIdentifier> {
    if changes.is_empty() {
        return Ok(*root);
    }
    let old = nodes.root(root)?;
    let changes: Vec<Leveled> = changes
        .iter()
        .map(|change| Leveled {
            level: (nodes.level_of)(&change.key),
            change,
        })
        .collect();
    let puts = changes.iter().filter(|one| one.change.value.is_some());
    let level = puts.map(|put| put.level).fold(old.level, u8::max);
    let fragment = Fragment {
        id: *root,
        level: old.level,
        low: None,
        high: None,
        is_cut: (false, false),
    };
    let mut builder = Builder { nodes, sink };
    let mut built = builder.build(level, vec![fragment], &changes)?;
    loop {
        built = match built {
            Built::Nothing => return nodes.write(builder.sink, TreeNode::empty(0)),
            Built::Node(node) => return nodes.write(builder.sink, node),
            Built::Over(below) => *below,
            Built::Same(id) => match &*nodes.root(&id)? {
                // What is left below a root that is gone may have a node without entries on top.
                node if node.entries.is_empty() => match node.children.first() {
                    Some(Some(child)) => Built::Same(*child),
                    _ => Built::Nothing,
                },
                _ => return Ok(id),
            },
        };
    }
}

impl Builder<'_> {
    /// What lies between the outer bounds of the fragments, after the changes there. Changes of keys of higher levels are the caller's.
    fn build(&mut self, level: u8, fragments: Vec<Fragment>, changes: &[Leveled]) -> Result<Built> {
        if let (true, [one]) = (changes.is_empty(), &fragments[..])
            && one.is_cut == (false, false)
            && one.level == level
        {
            return Ok(Built::Same(one.id));
        }
        if level == 0 {
            return self.build_leaf(fragments, changes);
        }
        let (parts, old) = self.open(level, fragments)?;
        let (parts, _) = change(parts, level, changes)?;
        let mut rest = changes;
        let mut below = Vec::with_capacity(parts.gaps.len());
        for (i, gap) in parts.gaps.into_iter().enumerate() {
            let next = parts.entries.get(i).map(|entry| &entry.key);
            let len = next.map_or(rest.len(), |next| {
                rest.partition_point(|one| one.change.key < *next)
            });
            let (here, behind) = rest.split_at(len);
            // The change of the entry itself, if there is one, is done.
            let is_entry = behind
                .first()
                .zip(next)
                .is_some_and(|(one, next)| one.change.key == *next);
            rest = &behind[usize::from(is_entry)..];
            below.push(match here.is_empty() && gap.is_empty() {
                true => Built::Nothing,
                false => self.build(level - 1, gap, here)?,
            });
        }
        if parts.entries.is_empty() {
            let below = below.pop().unwrap_or(Built::Nothing);
            return Ok(over(below, old));
        }
        let children = below.into_iter().map(|one| self.store(level - 1, one));
        let children = children.collect::<Result<_>>()?;
        Ok(finish(level, parts.entries, children, old))
    }

    /// A node of level 0. One that is whole is not copied: nearly all of what is read in a commit is such leaves.
    fn build_leaf(&mut self, fragments: Vec<Fragment>, changes: &[Leveled]) -> Result<Built> {
        let (parts, whole) = match &fragments[..] {
            [one] if one.is_cut == (false, false) => {
                let node = self.nodes.node(&one.id, 0)?;
                one.range_in(&node)?;
                let TreeNode { entries, .. } = Arc::unwrap_or_clone(node);
                let gaps = vec![Vec::new(); entries.len() + 1];
                (Parts { gaps, entries }, Some(one.id))
            }
            _ => (self.open(0, fragments)?.0, None),
        };
        let (parts, is_changed) = change(parts, 0, changes)?;
        if let (Some(id), false, false) = (whole, is_changed, parts.entries.is_empty()) {
            return Ok(Built::Same(id));
        }
        let children = vec![None; parts.gaps.len()];
        Ok(finish(0, parts.entries, children, None))
    }

    /// The fragments' nodes, one behind the other; and the node, if it is one and whole.
    fn open(&mut self, level: u8, fragments: Vec<Fragment>) -> Result<(Parts, Option<OldNode>)> {
        let mut parts = Parts {
            gaps: vec![Vec::new()],
            entries: Vec::new(),
        };
        let mut old = None;
        let is_one = fragments.len() == 1;
        for fragment in fragments {
            if fragment.level < level {
                last(&mut parts.gaps)?.push(fragment);
                continue;
            }
            let node = self.nodes.node(&fragment.id, level)?;
            fragment.add(&node, &mut parts)?;
            if is_one && fragment.is_cut == (false, false) {
                old = Some((fragment.id, node));
            }
        }
        Ok((parts, old))
    }

    fn store(&mut self, level: u8, built: Built) -> Result<Option<ObjectIdentifier>> {
        let node = match built {
            Built::Nothing => return Ok(None),
            Built::Same(id) => return Ok(Some(id)),
            Built::Node(node) => node,
            Built::Over(below) => TreeNode {
                children: vec![self.store(level - 1, *below)?],
                ..TreeNode::empty(level)
            },
        };
        self.nodes.write(self.sink, node).map(Some)
    }
}

fn finish(
    level: u8,
    entries: Vec<Entry>,
    children: Vec<Option<ObjectIdentifier>>,
    old: Option<OldNode>,
) -> Built {
    if entries.is_empty() {
        return Built::Nothing;
    }
    let node = TreeNode {
        level,
        entries,
        children,
    };
    match old {
        Some((id, old)) if *old == node => Built::Same(id),
        _ => Built::Node(node),
    }
}

fn over(below: Built, old: Option<OldNode>) -> Built {
    match (&below, old) {
        (Built::Nothing, _) => Built::Nothing,
        (Built::Same(child), Some((id, old)))
            if old.entries.is_empty() && old.children == [Some(*child)] =>
        {
            Built::Same(id)
        }
        _ => Built::Over(Box::new(below)),
    }
}

fn last<T>(list: &mut [T]) -> Result<&mut T> {
    list.last_mut()
        .ok_or_else(|| Error::corruption("a tree node without a gap"))
}

impl Fragment {
    /// Where the entries of a node, the fragment's, lie between the bounds: the first, and the one behind the last.
    fn range_in(&self, node: &TreeNode) -> Result<(usize, usize)> {
        let above_low = |key: &[u8]| self.low.as_ref().is_none_or(|low| **low < *key);
        let below_high = |key: &[u8]| self.high.as_ref().is_none_or(|high| *key < **high);
        let first = node.entries.partition_point(|entry| !above_low(&entry.key));
        let end = node.entries.partition_point(|entry| below_high(&entry.key));
        if (first > 0 && !self.is_cut.0) || (end < node.entries.len() && !self.is_cut.1) {
            return Err(Error::corruption(format!(
                "tree node {:?} has keys beyond those of the node above it",
                self.id.digest
            )));
        }
        Ok((first, end))
    }

    /// Adds what a node, the fragment's, has between the bounds.
    fn add(&self, node: &TreeNode, parts: &mut Parts) -> Result<()> {
        let (first, end) = self.range_in(node)?;
        let mut low = self.low.clone();
        for i in first..=end.max(first) {
            let entry = node.entries.get(i).filter(|_| i < end);
            let high = match entry {
                Some(entry) => Some(Rc::from(&*entry.key)),
                None => self.high.clone(),
            };
            if let Some(child) = node.children.get(i).copied().flatten() {
                last(&mut parts.gaps)?.push(Fragment {
                    id: child,
                    level: node.level.saturating_sub(1),
                    low,
                    high: high.clone(),
                    is_cut: (
                        i == first && self.is_cut.0,
                        entry.is_none() && self.is_cut.1,
                    ),
                });
            }
            if let Some(entry) = entry {
                parts.entries.push(entry.clone());
                parts.gaps.push(Vec::new());
            }
            low = high;
        }
        Ok(())
    }
}

/// Merges the changes of a level's keys with the entries that are there: whether any is another then.
fn change(parts: Parts, level: u8, changes: &[Leveled]) -> Result<(Parts, bool)> {
    let mut changes = changes.iter().filter(|one| one.level == level).peekable();
    if changes.peek().is_none() {
        return Ok((parts, false));
    }
    let mut is_changed = false;
    let mut gaps = parts.gaps.into_iter();
    let mut entries = parts.entries.into_iter().peekable();
    let mut new = Parts {
        gaps: gaps.next().into_iter().collect(),
        entries: Vec::new(),
    };
    loop {
        let order = match (entries.peek(), changes.peek()) {
            (None, None) => return Ok((new, is_changed)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(entry), Some(one)) => entry.key.cmp(&one.change.key),
        };
        let old = match order {
            Ordering::Greater => None,
            _ => entries.next(),
        };
        let one = match order {
            Ordering::Less => None,
            _ => changes.next(),
        };
        let gap_behind = match &old {
            Some(_) => gaps.next().unwrap_or_default(),
            None => Vec::new(),
        };
        let entry = match one {
            None => old,
            Some(Leveled { change, .. }) => {
                let new_gap = change.value.map(|(value, priority)| Entry {
                    key: change.key.clone(),
                    value,
                    priority,
                });
                match (&old, &new_gap) {
                    (None, None) => continue,
                    (None, Some(entry)) => {
                        is_changed = true;
                        let gap = last(&mut new.gaps)?;
                        let right = split(gap, &entry.key);
                        new.entries.push(entry.clone());
                        new.gaps.push(right);
                        continue;
                    }
                    _ => {
                        is_changed |= old != new_gap;
                        new_gap
                    }
                }
            }
        };
        match entry {
            Some(entry) => {
                new.entries.push(entry);
                new.gaps.push(gap_behind);
            }
            None => last(&mut new.gaps)?.extend(gap_behind),
        }
    }
}

/// Takes what is above a key out of a gap.
fn split(gap: &mut Vec<Fragment>, key: &[u8]) -> Vec<Fragment> {
    let is_below = |fragment: &Fragment| fragment.high.as_ref().is_some_and(|high| **high <= *key);
    let first = gap.partition_point(is_below);
    let mut right = gap.split_off(first);
    if let Some(cut) = right.first_mut()
        && cut.low.as_ref().is_none_or(|low| **low < *key)
    {
        let bound = Some(Rc::from(key));
        let mut left = cut.clone();
        left.high.clone_from(&bound);
        left.is_cut.1 = true;
        cut.low = bound;
        cut.is_cut.0 = true;
        gap.push(left);
    }
    right
}
