//! Where lookups of several keys begin, found for all of them together.
//!
//! A lookup waits for a bucket of the hash table, then for the node that it names, then perhaps for a value in a chunk, and the
//! next lookup's loads do not begin before that. Here the loads of several keys are issued in short loops, none dependent on
//! another, so that the processor's waits for them overlap.
//!
//! Without these loads, `idb` took 1.14 (100 B) and 1.27 (1 KiB) of the CPU time for 10,000 gets, and 1.38 and 1.50 for those by index key;
//! without the loads of values alone, 1.12 and 1.22 where values have 1 KiB.

use super::node::Bytes;
use super::{Hint, INLINE_LEN_MAX, SkipList};
use crate::internal_key::{self, EntryKind};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::Ordering as Memory;

/// Keys at once. More would not overlap.
pub(crate) const GROUP_LEN: usize = 16;

/// Words and bytes of a cache line.
const LINE_WORDS: usize = 8;
const LINE_BYTES: usize = 64;
/// Lines of a node that are loaded: of a small record all of it.
const NODE_LINES: usize = 3;
/// Lines of a value in a chunk: what comes behind them the processor loads by itself.
const VALUE_LINES: usize = 16;

/// Where a key's newest entry lies in some lists, as far as their hash tables have it: those before `list` do not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lead {
    mark: u32,
    list: u32,
    hint: Hint,
}

impl Default for Lead {
    fn default() -> Lead {
        Lead::of_mark(0)
    }
}

impl Lead {
    /// A single key's.
    #[inline]
    pub(crate) fn of_key(lists: &[Arc<SkipList>], user_key: &[u8]) -> Lead {
        let mut lead = Lead::of_mark(key_mark(lists, user_key));
        lists.iter().for_each(|list| lead.ask(list));
        lead
    }

    const fn of_mark(mark: u32) -> Lead {
        Lead {
            mark,
            list: 0,
            hint: Hint::Absent,
        }
    }

    /// The next list is asked, unless one before it has an answer.
    #[inline]
    fn ask(&mut self, list: &SkipList) {
        if self.hint == Hint::Absent {
            self.hint = list.hint_at(self.mark);
            self.list += u32::from(self.hint == Hint::Absent);
        }
    }

    /// The number of the list that seems to have the key, and its node there.
    #[inline]
    pub(crate) fn place(self) -> Option<(usize, u32)> {
        match self.hint {
            Hint::Node(node) => Some((self.list as usize, node)),
            Hint::Absent | Hint::Unknown => None,
        }
    }

    /// In how many lists, from the first, no entry has the key's bytes.
    #[inline]
    pub(crate) const fn absent_from(self) -> usize {
        self.list as usize
    }
}

fn key_mark(lists: &[Arc<SkipList>], user_key: &[u8]) -> u32 {
    let hints = lists.first().and_then(|list| list.hints.as_ref());
    hints.map_or(0, |hints| hints.mark_of_key(user_key))
}

/// Takes as many items as a group has room for: how many those are.
pub(crate) fn fill<T>(group: &mut [T], items: &mut impl Iterator<Item = T>) -> usize {
    // The room first: an item that is taken has one.
    let taken = group.iter_mut().zip(items);
    taken.map(|(room, item)| *room = item).count()
}

/// The leads of up to [`GROUP_LEN`] keys, in their order. What lookups will read of them in these lists is loaded.
pub(crate) fn key_leads(lists: &[Arc<SkipList>], keys: &[&[u8]]) -> [Lead; GROUP_LEN] {
    let mut leads = [Lead::default(); GROUP_LEN];
    for (lead, key) in leads.iter_mut().zip(keys) {
        *lead = Lead::of_mark(key_mark(lists, key));
    }
    let known = &mut leads[..keys.len().min(GROUP_LEN)];
    lists.iter().for_each(|list| list.load_nodes(known));
    for (list, node) in known.iter().filter_map(|lead| lead.place()) {
        if let Some(list) = lists.get(list) {
            list.load_value(node);
        }
    }
    leads
}

/// The leads of up to [`GROUP_LEN`] groups of keys ([`Identity::Grouped`](crate::Identity::Grouped)) in one list: to the first
/// entry of each. The nodes are loaded.
pub(crate) fn prefix_leads(list: &SkipList, prefixes: &[&[u8]]) -> [Lead; GROUP_LEN] {
    let mut leads = [Lead::default(); GROUP_LEN];
    if let Some(hints) = &list.hints {
        for (lead, prefix) in leads.iter_mut().zip(prefixes) {
            *lead = Lead::of_mark(hints.mark_of_group(prefix));
        }
        list.load_nodes(&mut leads[..prefixes.len().min(GROUP_LEN)]);
    }
    leads
}

impl SkipList {
    #[inline]
    fn hint_at(&self, mark: u32) -> Hint {
        let hints = self.hints.as_ref();
        hints.map_or(Hint::Unknown, |hints| hints.at_mark(mark))
    }

    /// Asks for each lead, and loads the nodes that come of it.
    fn load_nodes(&self, leads: &mut [Lead]) {
        let is_open = |lead: &&mut Lead| lead.hint == Hint::Absent;
        if let Some(hints) = &self.hints {
            let open = leads.iter().filter(|lead| lead.hint == Hint::Absent);
            open.for_each(|lead| hints.touch(lead.mark));
        }
        for lead in leads.iter_mut().filter(is_open) {
            lead.ask(self);
            if let Hint::Node(at) = lead.hint {
                let words = self.nodes.from(at as usize);
                for word in words.iter().step_by(LINE_WORDS).take(NODE_LINES) {
                    black_box(word.load(Memory::Relaxed));
                }
            }
        }
    }

    fn load_value(&self, at: u32) {
        if let Bytes::Outside { chunk, at, len } = self.node(at).value() {
            let bytes = self.outside(chunk, at, len);
            for byte in bytes.iter().step_by(LINE_BYTES).take(VALUE_LINES) {
                black_box(*byte);
            }
        }
    }

    /// Gives `found` the user key and value of a group's first entry as a lead names it; `None` if it is none of the group, newer than
    /// `tag_max`, or a deletion.
    pub(crate) fn with_first_of<T>(
        &self,
        at: u32,
        prefix: &[u8],
        tag_max: u64,
        found: impl FnOnce(&[u8], &[u8]) -> T,
    ) -> Option<T> {
        let (mut key_room, mut value_room) = ([0; INLINE_LEN_MAX], [0; INLINE_LEN_MAX]);
        let (user_key, tag) = internal_key::split(self.key(at, &mut key_room))?;
        let is_value = tag as u8 == EntryKind::Value.to_byte();
        if !is_value || tag > tag_max || !user_key.starts_with(prefix) {
            return None;
        }
        let value = self.bytes(self.node(at).value(), &mut value_room);
        Some(found(user_key, value))
    }
}
