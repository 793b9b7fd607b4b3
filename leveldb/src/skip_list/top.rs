//! Where the writing thread begins to search: the nodes of three levels and more, one of sixteen, by numbers in the order of
//! their keys, dense in memory. In their place a search from the list's beginning touches a dozen nodes.
//!
//! Without it, puts in random order, each a batch of its own, took 1.10 of the CPU time at 10,000 and 1.12 at 100,000 rows, 1.04 at 1,000,000;
//! with neither this nor [`arrange`](super::arrange), random batches of 100 took 1.05 to 1.17.
//!
//! Numbers are of the keys' heads ([`Cut`]); an order of which nothing is known has none. A number says no more than where its key lies between
//! others: the search goes on from a node that is before the key, on the levels below.

use super::{HEAD, INLINE_LEN_MAX, SkipList};
use crate::heads::Cut;
use crate::internal_key;

/// Nodes of so many levels and more are here.
pub(super) const LEVELS: usize = 3;
/// With more nodes of one number the search of the list finds the way better.
const EQUAL_MAX: usize = 8;
/// With more nodes, making room for another one would take longer than a search.
const NODES_MAX: usize = 1 << 14;

/// So few are put in their places one by one.
const ALONE_MAX: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Top {
    cut: Option<Cut>,
    /// One of the user keys: what others share with it is what they share with all.
    sample: Vec<u8>,
    /// In ascending order, and the node of each.
    numbers: Vec<u64>,
    nodes: Vec<u32>,
    /// Those that were put in since the last search. To make room for each alone would take long if there are many.
    new: Vec<(u64, u32)>,
    is_off: bool,
}

impl Top {
    /// A user key's number; afterwards all numbers are of what all keys that were asked for share.
    pub(super) fn number(&mut self, list: &SkipList, user_key: &[u8]) -> Option<u64> {
        if self.is_off {
            return None;
        }
        match self.cut.as_ref().map(|cut| cut.number(user_key)) {
            Some(Ok(number)) => Some(number),
            _ => self.cut_anew(list, user_key),
        }
    }

    fn cut_anew(&mut self, list: &SkipList, user_key: &[u8]) -> Option<u64> {
        if self.cut.is_none() {
            self.sample = user_key.to_vec();
        }
        let Some(cut) = Cut::new(&list.order, &self.sample, user_key) else {
            self.is_off = true;
            return None;
        };
        self.settle();
        for (number, &node) in self.numbers.iter_mut().zip(&self.nodes) {
            let mut room = [0; INLINE_LEN_MAX];
            let key = list.key(node, &mut room);
            *number = cut.number(internal_key::user_key(key)).unwrap_or(0);
        }
        self.cut.insert(cut).number(user_key).ok()
    }

    /// A node before all keys with a number, or [`HEAD`], and one after them, or [`HEAD`].
    pub(super) fn around(&mut self, number: u64) -> Option<(u32, u32)> {
        self.settle();
        let first = self.numbers.partition_point(|&other| other < number);
        let from_first = self.numbers.iter().skip(first);
        let equal = from_first.take_while(|&&other| other == number);
        let equal = equal.take(EQUAL_MAX + 1).count();
        if equal > EQUAL_MAX {
            return None;
        }
        let before = first.checked_sub(1).and_then(|at| self.nodes.get(at));
        let after = self.nodes.get(first + equal);
        let node = |node: Option<&u32>| node.copied().unwrap_or(HEAD);
        Some((node(before), node(after)))
    }

    /// Takes a node that is in the list.
    pub(super) fn insert(&mut self, number: u64, node: u32) {
        if self.nodes.len() + self.new.len() == NODES_MAX {
            *self = Top {
                is_off: true,
                ..Top::default()
            };
            return;
        }
        self.new.push((number, node));
    }

    /// Puts all that is new in its place.
    fn settle(&mut self) {
        if self.new.len() <= ALONE_MAX {
            for (number, node) in self.new.drain(..) {
                let at = self.numbers.partition_point(|&other| other < number);
                self.numbers.insert(at, number);
                self.nodes.insert(at, node);
            }
            return;
        }
        let mut all = std::mem::take(&mut self.new);
        all.extend(self.numbers.iter().copied().zip(self.nodes.iter().copied()));
        // Finds what is in order already: entries come in runs.
        all.sort_by_key(|&(number, _)| number);
        (self.numbers, self.nodes) = all.into_iter().unzip();
    }
}
