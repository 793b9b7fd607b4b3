//! Touching what lookups will read, for several keys at once.
//!
//! A lookup waits for a bucket, then for the node that it names, then perhaps for a value in a chunk, and the next lookup's loads
//! do not begin before that. Here those of several keys are issued in short loops, none dependent on another, so that the
//! processor's waits for them overlap. Lookups find the same with and without: an entry's place is a hint for them, too.

use super::node::{self, Bytes, INLINE_LEN_MAX};
use super::{Hint, SkipList};
use crate::internal_key::{self, EntryKind};
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

/// A key that will be looked up, or a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sought {
    /// Where the table of hints has it.
    mark: u32,
    found: Found,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Found {
    /// In none of the lists that were looked at.
    #[default]
    Nowhere,
    /// This node of the list of this number is the newest entry, as it seems.
    At(u32, u32),
    /// Hints do not tell.
    Unknown,
}

impl Sought {
    /// Hints do not tell of it.
    pub(crate) const UNKNOWN: Sought = Sought {
        mark: 0,
        found: Found::Unknown,
    };

    const fn at_mark(mark: u32) -> Sought {
        Sought {
            mark,
            found: Found::Nowhere,
        }
    }

    /// The number of the list that has it, and its node there.
    #[inline]
    pub(crate) const fn place(self) -> Option<(usize, u32)> {
        match self.found {
            Found::At(list, node) => Some((list as usize, node)),
            Found::Nowhere | Found::Unknown => None,
        }
    }
}

impl SkipList {
    /// A key. If others may be equal to it, nothing will be found: the table has none of them.
    #[inline]
    pub(crate) fn sought(&self, user_key: &[u8]) -> Sought {
        let hints = self.hints.as_ref();
        hints.map_or(Sought::UNKNOWN, |hints| {
            Sought::at_mark(hints.mark_of_key(user_key))
        })
    }

    /// A group. If this is not the name of one, nothing will be found.
    #[inline]
    pub(crate) fn sought_group(&self, name: &[u8]) -> Sought {
        let hints = self.hints.as_ref();
        hints.map_or(Sought::UNKNOWN, |hints| {
            Sought::at_mark(hints.mark_of_group(name))
        })
    }

    /// Loads what lookups will of those keys that were found nowhere yet. Those that are here are in the list `number` from then on:
    /// how many.
    pub(crate) fn touch(&self, number: usize, keys: &mut [Sought]) -> usize {
        self.touch_nodes(number, keys);
        let places = keys.iter().filter_map(|key| key.place());
        let here = places.filter(|(list, _)| *list == number);
        here.map(|(_, at)| self.touch_value(at)).count()
    }

    /// Loads where these groups begin. The first entries' values are told, but for long ones; of deletions nothing.
    pub(crate) fn touch_groups(&self, groups: &mut [Sought], mut found: impl FnMut(&[u8])) {
        self.touch_nodes(0, groups);
        for (_, at) in groups.iter().filter_map(|group| group.place()) {
            if let Bytes::Words(words, len @ 1..=INLINE_LEN_MAX) = self.node(at).value() {
                let mut room = [0; INLINE_LEN_MAX];
                node::copy(words, &mut room[..len]);
                found(&room[..len]);
            }
        }
    }

    /// Appends the value of a group's first entry as hints have it, if it is one of the group, no newer than `tag_max`, and no deletion:
    /// whether it is.
    pub(crate) fn first_of(
        &self,
        at: u32,
        group: &[u8],
        tag_max: u64,
        value: &mut Vec<u8>,
    ) -> bool {
        let mut room = [0; INLINE_LEN_MAX];
        let key = self.key(at, &mut room);
        let tag = internal_key::tag(key);
        let is_of_group = internal_key::user_key(key).starts_with(group);
        let is_there = is_of_group && tag <= tag_max && tag as u8 == EntryKind::Value.to_byte();
        if is_there {
            self.copy(self.node(at).value(), value);
        }
        is_there
    }

    /// Loads the nodes that hints name. Those that are here are in the list `number` from then on.
    pub(crate) fn touch_nodes(&self, number: usize, all: &mut [Sought]) {
        let Some(hints) = &self.hints else {
            return;
        };
        let is_sought = |one: &Sought| one.found == Found::Nowhere;
        for one in all.iter().filter(|one| is_sought(one)) {
            hints.touch(one.mark);
        }
        for one in all.iter_mut().filter(|one| is_sought(one)) {
            one.found = match hints.at_mark(one.mark) {
                Hint::Node(at) => {
                    self.touch_node(at);
                    Found::At(number as u32, at)
                }
                Hint::Absent => Found::Nowhere,
                Hint::Unknown => Found::Unknown,
            };
        }
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
