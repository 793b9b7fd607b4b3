//! Touching what lookups will read, for several keys at once.
//!
//! A lookup waits for a bucket, then for the node that it names, then perhaps for a value in a chunk, and the next lookup's loads
//! do not begin before that. Here those of several keys are issued in short loops, none dependent on another, so that the
//! processor's waits for them overlap. What was loaded is not used: lookups find the same with and without.

use super::node::{self, Bytes, INLINE_LEN_MAX};
use super::{HEAD, Hint, SkipList};
use std::hint::black_box;
use std::sync::atomic::Ordering as Memory;

/// Keys at once. More would not overlap.
pub(crate) const KEYS_MAX: usize = 16;

/// Words and bytes of a cache line.
const LINE_WORDS: usize = 8;
const LINE_BYTES: usize = 64;
/// Lines of a node that are touched: of a small record all of it.
const NODE_LINES: usize = 3;
/// Lines of a value in a chunk: for what comes behind them the processor looks ahead itself.
const VALUE_LINES: usize = 16;

/// What keys that will be looked up, or groups, are in the table of hints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    marks: [u32; KEYS_MAX],
    len: usize,
}

impl Marks {
    /// One more, if there is room.
    pub(crate) fn push(&mut self, mark: u32) {
        if let Some(next) = self.marks.get_mut(self.len) {
            *next = mark;
            self.len += 1;
        }
    }
}

impl SkipList {
    /// A key's, if hints tell of it.
    pub(crate) fn mark(&self, user_key: &[u8]) -> Option<u32> {
        self.hints.as_ref()?.mark_of(user_key)
    }

    /// A group's, if this is the name of one and hints tell of it.
    pub(crate) fn mark_of_group(&self, name: &[u8]) -> Option<u32> {
        self.hints.as_ref()?.mark_of_group(name)
    }

    /// Loads what lookups of these keys will. Leaves those that are not here; how many others there seem to be.
    pub(crate) fn touch(&self, marks: &mut Marks) -> usize {
        let nodes = self.touch_nodes(marks);
        let mut found = 0;
        for at in nodes.into_iter().filter(|at| *at != HEAD) {
            self.touch_value(at);
            found += 1;
        }
        found
    }

    /// Loads where these groups begin. The first entries' values are told, but for long ones; of deletions nothing.
    pub(crate) fn touch_groups(&self, mut marks: Marks, mut found: impl FnMut(&[u8])) {
        let nodes = self.touch_nodes(&mut marks);
        for at in nodes.into_iter().filter(|at| *at != HEAD) {
            self.tell_short(at, &mut found);
        }
    }

    /// Tells the values of the entries behind one, but for long ones; of deletions nothing.
    pub(super) fn values_behind(&self, at: u32, count: usize, mut found: impl FnMut(&[u8])) {
        let mut at = at;
        for _ in 0..count {
            at = self.node(at).next(0);
            if at == HEAD {
                return;
            }
            self.tell_short(at, &mut found);
        }
    }

    fn tell_short(&self, at: u32, found: &mut impl FnMut(&[u8])) {
        if let Bytes::Words(words, len @ 1..=INLINE_LEN_MAX) = self.node(at).value() {
            let mut room = [0; INLINE_LEN_MAX];
            node::copy(words, &mut room[..len]);
            found(&room[..len]);
        }
    }

    /// The nodes that hints name, in any order, and [`HEAD`] besides. Leaves the marks of what is not here.
    fn touch_nodes(&self, marks: &mut Marks) -> [u32; KEYS_MAX] {
        let mut nodes = [HEAD; KEYS_MAX];
        let Some(hints) = &self.hints else {
            return nodes;
        };
        let Marks { marks: all, len } = std::mem::take(marks);
        let sought = &all[..len.min(KEYS_MAX)];
        for mark in sought {
            hints.touch(*mark);
        }
        for (mark, node) in sought.iter().zip(&mut nodes) {
            match hints.at_mark(*mark) {
                Hint::Node(at) => {
                    self.touch_node(at);
                    *node = at;
                }
                Hint::Absent => marks.push(*mark),
                Hint::Unknown => {}
            }
        }
        nodes
    }

    fn touch_node(&self, at: u32) {
        let words = self.nodes.from(at as usize);
        for word in words.iter().step_by(LINE_WORDS).take(NODE_LINES) {
            black_box(word.load(Memory::Relaxed));
        }
    }

    fn touch_value(&self, at: u32) {
        if let Bytes::Outside { chunk, at, len } = self.node(at).value() {
            let bytes = self.outside(chunk, at, len);
            for byte in bytes.iter().step_by(LINE_BYTES).take(VALUE_LINES) {
                black_box(*byte);
            }
        }
    }
}
