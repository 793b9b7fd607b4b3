//! Touching what lookups will read, for several keys at once.
//!
//! A lookup waits for a bucket, then for the node that it names, then perhaps for a value in a chunk, and the next lookup's loads
//! do not begin before that. Here those of several keys are issued in short loops, none dependent on another, so that the
//! processor's waits for them overlap. What was loaded is not used: lookups find the same with and without.

use super::node::Bytes;
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

/// What keys that will be looked up are in the table of hints.
#[derive(Debug, Default, PartialEq, Eq)]
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

    /// A group's, if hints tell of it.
    pub(crate) fn mark_of_group(&self, group: &[u8]) -> Option<u32> {
        self.hints.as_ref()?.mark_of_group(group)
    }

    /// Loads what lookups of these keys will. Leaves those that are not here; how many others there seem to be.
    pub(crate) fn touch(&self, marks: &mut Marks) -> usize {
        let Some(hints) = &self.hints else {
            return 0;
        };
        let Marks { marks: all, len } = std::mem::take(marks);
        let sought = &all[..len.min(KEYS_MAX)];
        for mark in sought {
            hints.touch(*mark);
        }
        let mut nodes = [0; KEYS_MAX];
        let mut free = nodes.iter_mut();
        for mark in sought {
            match (hints.at_mark(*mark), free.next()) {
                (Hint::Node(at), Some(node)) => {
                    self.touch_node(at);
                    *node = at;
                }
                (Hint::Absent, _) => marks.push(*mark),
                _ => {}
            }
        }
        let mut found = 0;
        for at in nodes.iter().filter(|at| **at != HEAD) {
            self.touch_value(*at);
            found += 1;
        }
        found
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
