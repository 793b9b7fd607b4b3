//! Nodes above the leaves, as they were read: one in 256 or 16, which most ways go through.

use super::node::TreeNode;
use crate::object::ObjectDigest;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Nodes of so many bytes are kept.
const LEN_MAX: usize = 8 << 20;

#[derive(Debug)]
struct Kept {
    node: Arc<TreeNode>,
    used: u64,
}

#[derive(Debug, Default)]
struct Nodes {
    by_digest: HashMap<ObjectDigest, Kept>,
    len: usize,
    /// Counts uses.
    clock: u64,
}

/// Nodes by their names. A name says what is in a node, so none is ever out of date.
#[derive(Debug, Default)]
pub(crate) struct NodeCache(Mutex<Nodes>);

impl NodeCache {
    pub(crate) fn get(&self, digest: &ObjectDigest) -> Option<Arc<TreeNode>> {
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.clock += 1;
        let clock = nodes.clock;
        let kept = nodes.by_digest.get_mut(digest)?;
        kept.used = clock;
        Some(Arc::clone(&kept.node))
    }

    /// Forgets all.
    pub(crate) fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Nodes::default();
    }

    /// Keeps a node, if it is above the leaves. If there are too many, the half that was not used for longest is given up.
    pub(crate) fn keep(&self, digest: ObjectDigest, node: &Arc<TreeNode>) {
        // A leaf is not measured: nearly all nodes are.
        if node.level == 0 {
            return;
        }
        let len = node.memory_len();
        if len > LEN_MAX / 4 {
            return;
        }
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.clock += 1;
        let used = nodes.clock;
        let node = Arc::clone(node);
        match nodes.by_digest.insert(digest, Kept { node, used }) {
            None => nodes.len += len,
            Some(_) => return,
        }
        while nodes.len > LEN_MAX {
            nodes.give_up_half();
        }
    }
}

impl Nodes {
    /// Together, since one by one each would be looked for among all.
    fn give_up_half(&mut self) {
        let mut uses: Vec<u64> = self.by_digest.values().map(|kept| kept.used).collect();
        let middle = uses.len() / 2;
        let (_, &mut middle, _) = uses.select_nth_unstable(middle);
        let len = &mut self.len;
        self.by_digest.retain(|_, kept| {
            let stays = kept.used >= middle;
            if !stays {
                *len -= kept.node.memory_len();
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Entry;
    use crate::object::{ObjectIdentifier, ObjectType, PieceType, Priority};

    fn digest(number: u32) -> ObjectDigest {
        ObjectDigest::of(PieceType::Chunk, ObjectType::Blob, &[number as u8; 50])
    }

    fn node(level: u8, key_len: usize) -> Arc<TreeNode> {
        let entry = Entry {
            key: vec![0; key_len],
            value: ObjectIdentifier::new(digest(0)),
            priority: Priority::Eager,
        };
        Arc::new(TreeNode {
            level,
            entries: vec![entry],
            children: vec![None, None],
        })
    }

    #[test]
    fn what_was_used_last_is_kept_within_bounds_and_leaves_are_not() {
        let cache = NodeCache::default();
        cache.keep(digest(100), &node(0, 1));
        assert_eq!(cache.get(&digest(100)), None);
        cache.keep(digest(101), &node(1, LEN_MAX));
        assert_eq!(cache.get(&digest(101)), None);
        let large = node(1, LEN_MAX / 8);
        for number in 0..20 {
            cache.keep(digest(number), &large);
            cache.keep(digest(number), &large);
            assert!(cache.get(&digest(0)).is_some(), "{number}");
            assert!(cache.0.lock().unwrap().len <= LEN_MAX);
        }
        let kept = (0..20).filter(|number| cache.get(&digest(*number)).is_some());
        let kept: Vec<u32> = kept.collect();
        assert!((4..=8).contains(&kept.len()), "{kept:?}");
        let last = 21 - kept.len() as u32..20;
        assert!(
            kept.iter().copied().eq(std::iter::once(0).chain(last)),
            "{kept:?}"
        );
    }
}
