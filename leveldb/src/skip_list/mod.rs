//! The memtable that is written to: a skip list that one thread fills while any number read it, without a lock.
//!
//! Nodes are runs of 64-bit atomics in an arena ([`Segments`]) and name each other by their place in it, so all of this is
//! safe code. A node holds its links, its key's head, if heads are known, its internal key and its value ([`node`]), so
//! that one comparison of a search touches one place in memory; long keys and values lie in chunks. Its words are in place
//! before the first link to it is stored with release ordering; a reader that finds it by a link sees them. Nothing is ever changed or
//! removed but links, so a reader stands where it stands. LevelDB's `db/skiplist.h` has the same shape. The writer alone has a
//! shorter way to an entry's place: from the one before ([`arrange`] puts batches in order for that), or by [`top`].

mod arrange;
mod buckets;
mod cursor;
mod hints;
mod insert;
mod lead;
mod node;
mod segments;
mod top;

pub(crate) use cursor::SkipCursor;
pub(crate) use lead::{GROUP_LEN, Lead, fill, key_leads, prefix_leads};

use crate::filter::{KeyFilter, bloom};
use crate::internal_key::{self, InternalOrder};
use crate::sync::{AtomicU64, AtomicUsize, Mutex};
use hints::{Hint, Hints};
use insert::Incoming;
pub(crate) use node::INLINE_LEN_MAX;
use node::{Bytes, Node};
use segments::Segments;
use std::cmp::Ordering;
use std::sync::atomic::Ordering as Memory;
use std::sync::{Arc, OnceLock};
use top::Top;

/// A list does not grow beyond this by more than one batch: places in the arena have 32 bits.
pub(crate) const LEN_BYTES_MAX: usize = 1 << 31;

const LEVELS_MAX: usize = 12;
/// Room for a key of this length is as good as free.
const SHORT_KEY_LEN: usize = 64;
/// The list's beginning; no entry. As a link: the end.
const HEAD: u32 = 0;

/// Entries in internal order, still growing.
#[derive(Debug)]
pub(crate) struct SkipList {
    /// The log that holds the same entries.
    pub(crate) log_number: u64,
    log_name: String,
    order: InternalOrder,
    nodes: Segments<AtomicU64>,
    chunks: Segments<OnceLock<Arc<Vec<u8>>>>,
    /// If it is known which keys are their bytes.
    hints: Option<Hints>,
    /// If all keys are taken to be, and there are no hints, which exclude more. Without it, gets of what has just been written took 1.3
    /// to 1.5 of the CPU time, and those of missing keys 2.6 to 5.3, of 10,000 to 1,000,000 rows.
    filter: Option<Arc<KeyFilter>>,
    /// How many levels are in use.
    height: AtomicUsize,
    len_bytes: AtomicUsize,
    writer: Mutex<Writer>,
}

/// What only the writing thread needs.
#[derive(Debug)]
struct Writer {
    nodes_end: usize,
    /// So far there is room for nodes.
    room_end: usize,
    chunk_count: usize,
    random: u32,
    /// The last node put in and, level by level, what comes before the next place.
    last: u32,
    before: [u32; LEVELS_MAX],
    /// On so many levels.
    before_levels: usize,
    top: Top,
    /// The last batch's entries were before this sequence number.
    sequence_end: u64,
}

/// A value where it lies in a list.
#[derive(Clone, Copy)]
pub(crate) struct Value<'l> {
    list: &'l SkipList,
    bytes: Bytes<'l>,
}

/// Room for what does not lie in one piece.
pub(crate) type Room = [u8; INLINE_LEN_MAX];

impl Value<'_> {
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        match self.bytes {
            Bytes::Words(words, len) => {
                let start = out.len();
                out.resize(start + len, 0);
                node::copy(words, &mut out[start..]);
            }
            Bytes::Outside { chunk, at, len } => {
                out.extend_from_slice(self.list.outside(chunk, at, len));
            }
        }
    }

    /// In one piece.
    pub(crate) fn bytes<'a>(&'a self, room: &'a mut Room) -> &'a [u8] {
        self.list.bytes(self.bytes, room)
    }
}

/// What a search looks for: an internal key.
#[derive(Clone, Copy)]
struct Search<'a> {
    user_key: &'a [u8],
    tag: u64,
    /// The key's, if nodes have heads.
    head: Option<u64>,
}

impl SkipList {
    pub(crate) fn new(order: InternalOrder, log_number: u64) -> SkipList {
        let nodes: Segments<AtomicU64> = Segments::default();
        nodes.grow(node::HEAD_WORDS);
        SkipList {
            log_number,
            log_name: crate::file_name::FileName::Log(log_number).to_string(),
            hints: order.identity().map(Hints::new),
            filter: None,
            order,
            nodes,
            chunks: Segments::default(),
            height: AtomicUsize::new(1),
            len_bytes: AtomicUsize::new(0),
            writer: Mutex::new(Writer {
                nodes_end: node::HEAD_WORDS,
                room_end: 0,
                chunk_count: 0,
                random: 0x2545_f491,
                last: HEAD,
                before: [HEAD; LEVELS_MAX],
                before_levels: LEVELS_MAX,
                top: Top::default(),
                sequence_end: 0,
            }),
        }
    }

    /// Adds a filter, for a list that will have so many bytes, unless it has hints. For keys that are equal if their
    /// bytes are: else lookups that ask the filter miss some.
    pub(crate) fn filtered(mut self, list_bytes: usize) -> SkipList {
        if self.hints.is_none() {
            self.filter = Some(Arc::new(KeyFilter::new(list_bytes)));
        }
        self
    }

    /// Excludes most keys that are not in the list.
    #[inline]
    pub(crate) fn filter(&self) -> Option<&Arc<KeyFilter>> {
        self.filter.as_ref()
    }

    pub(crate) fn log_name(&self) -> &str {
        &self.log_name
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.node(HEAD).next(0) == HEAD
    }

    /// About how much memory it takes.
    pub(crate) fn len_bytes(&self) -> usize {
        self.len_bytes.load(Memory::Relaxed)
    }

    /// Inserts an entry: finds its place, writes its node, links it. `before` is the entry inserted last, if it is of the same run.
    ///
    /// Readers walk the list meanwhile, without a lock. What keeps them right is the order of the steps:
    /// - The node is complete, its own links included, before anything leads to it. A reader that came to it earlier would read zeros for a
    ///   key, or miss all entries behind it.
    /// - The hash table has the node before the list does. A reader that has met an entry in the list may look its key up next; a
    ///   table without it would answer that the key is absent.
    /// - The link of level 0 is set first. A node that were on upper levels alone would be found by a search and missed by a scan.
    fn add_node(&self, writer: &mut Writer, entry: &Incoming<'_>, before: Option<&Incoming<'_>>) {
        let search = Search {
            user_key: entry.key,
            tag: entry.tag,
            head: self.order.head().map(|_| (entry.number >> 64) as u64),
        };
        let levels = writer.random_levels();
        let key_len = entry.key.len() + internal_key::TAG_LEN;
        let words = node::words(levels, search.head, key_len, entry.value.len());
        let height = self.height.load(Memory::Relaxed);
        let last = writer.last;
        let is_behind = before.is_some_and(|before| before.number < entry.number);
        let after = self.find_place(writer, search, levels, is_behind);
        for level in height..levels {
            writer.before[level] = HEAD;
        }
        let at = self.room(writer, words);
        let key = (entry.key, entry.tag);
        let to = self.nodes.from(at);
        let at = at as u32;
        node::write(
            to,
            (levels, after),
            search.head,
            key,
            entry.value,
            entry.place,
        );
        for level in 1..levels {
            Node::new(to).set_next(level, self.node(writer.before[level]).next(level));
        }
        if let Some(hints) = &self.hints {
            hints.put(entry.key, at, |group| match before {
                Some(before) if writer.before[0] == last => before.key.starts_with(group),
                _ => self.tail_of(writer.before[0], group).is_some(),
            });
        }
        if let Some(filter) = &self.filter {
            filter.put(bloom::key_hash(entry.key));
        }
        if levels > height {
            // Readers that do not see it yet only start lower; those that do find the head's empty links.
            self.height.store(levels, Memory::Relaxed);
        }
        for level in 0..levels {
            self.node(writer.before[level]).set_next(level, at);
            writer.before[level] = at;
        }
        writer.last = at;
        if levels >= top::LEVELS
            && let Some(number) = writer.top.number(self, entry.key)
        {
            writer.top.insert(number, at);
        }
    }

    /// Room for a node of so many words.
    fn room(&self, writer: &mut Writer, words: usize) -> usize {
        if writer.nodes_end + words > writer.room_end {
            writer.nodes_end = self.nodes.room(writer.nodes_end, words);
            self.nodes.grow(writer.nodes_end + words);
            writer.room_end = writer.nodes_end + self.nodes.from(writer.nodes_end).len();
        }
        let at = writer.nodes_end;
        writer.nodes_end += words;
        at
    }

    /// Sets what comes before a key on each of the levels that its node has, and perhaps on more; what comes after it.
    /// `is_behind` if it is known to be behind the last one.
    fn find_place(
        &self,
        writer: &mut Writer,
        search: Search<'_>,
        levels: usize,
        is_behind: bool,
    ) -> u32 {
        if levels <= writer.before_levels
            && let Some(after) = self.find_near(writer, search, is_behind)
        {
            return after;
        }
        let height = self.height.load(Memory::Relaxed);
        let mut around = (HEAD, HEAD);
        writer.before_levels = LEVELS_MAX;
        if levels <= top::LEVELS
            && let Some(number) = writer.top.number(self, search.user_key)
            && let Some(found) = writer.top.around(number)
        {
            around = found;
            writer.before_levels = top::LEVELS;
        }
        let height = height.min(writer.before_levels);
        let found = |level, node| writer.before[level] = node;
        self.search_below(search, around.0, height, around.1, found)
            .1
    }

    /// Keys often come in order: then the place is behind the last one's, as many levels up as there are nodes between. Without this, puts
    /// of 100 B by `idb` took 1.2 to 1.6 of the CPU time, and ascending ones of the engine 1.2 to 1.3, of 10,000 to 1,000,000 rows.
    fn find_near(&self, writer: &mut Writer, search: Search<'_>, is_behind: bool) -> Option<u32> {
        if !is_behind && (writer.last == HEAD || !self.is_before(&self.node(writer.last), search)) {
            return None;
        }
        let list_height = self.height.load(Memory::Relaxed);
        let height = list_height.min(writer.before_levels);
        let mut level = 0;
        let mut not_before = HEAD;
        while level < height {
            let next = self.node(writer.before[level]).next(level);
            if next == HEAD || !self.is_before(&self.node(next), search) {
                not_before = next;
                break;
            }
            level += 1;
        }
        if level == height && height < list_height {
            return None;
        }
        let Some(below) = level.checked_sub(1) else {
            return Some(not_before);
        };
        let from = writer.before[below];
        let found = |level, node| writer.before[level] = node;
        Some(self.search_below(search, from, level, not_before, found).1)
    }

    fn search_for<'a>(&self, user_key: &'a [u8], tag: u64) -> Search<'a> {
        Search {
            user_key,
            tag,
            head: self.head(user_key),
        }
    }

    /// The upper half of a user key's head, if heads are known. Nodes have it beside their key, so that a search asks no comparator where
    /// heads differ: without it, overwriting with an index took 1.09 to 1.23 of the CPU time, and single puts 1.05 to 1.13.
    #[inline]
    fn head(&self, user_key: &[u8]) -> Option<u64> {
        let head = self.order.head()?;
        Some((head(user_key) >> 64) as u64)
    }

    /// The last node before the key, and the one after it that was found not to be: by now a newer one may stand between
    /// them.
    fn search(&self, search: Search<'_>) -> (u32, u32) {
        let height = self.height.load(Memory::Relaxed);
        self.search_below(search, HEAD, height, HEAD, |_, _| ())
    }

    /// Searches from a node before the key on, on the levels below `height`. Gives `found` each level's last
    /// node before the key. `not_before` is a node that is known not to be, or [`HEAD`].
    fn search_below(
        &self,
        search: Search<'_>,
        from: u32,
        height: usize,
        // A node that was compared on the level above need not be again.
        mut not_before: u32,
        mut found: impl FnMut(usize, u32),
    ) -> (u32, u32) {
        let mut at = from;
        let mut node = self.node(from);
        for level in (0..height).rev() {
            loop {
                let next_at = node.next(level);
                if next_at == HEAD || next_at == not_before {
                    not_before = next_at;
                    break;
                }
                let next = self.node(next_at);
                if !self.is_before(&next, search) {
                    not_before = next_at;
                    break;
                }
                (at, node) = (next_at, next);
            }
            found(level, at);
        }
        (at, not_before)
    }

    #[inline]
    fn is_before(&self, node: &Node<'_>, search: Search<'_>) -> bool {
        if let (Some(head), Some(sought)) = (node.key_head(), search.head)
            && head != sought
        {
            return head < sought;
        }
        let ordering = match node.key() {
            Bytes::Words(words, len) if len <= SHORT_KEY_LEN => {
                self.compare_words::<SHORT_KEY_LEN>(words, len, search)
            }
            Bytes::Words(words, len) => self.compare_words::<INLINE_LEN_MAX>(words, len, search),
            Bytes::Outside { chunk, at, len } => {
                let key = self.outside(chunk, at, len);
                self.compare(key, search)
            }
        };
        ordering == Ordering::Less
    }

    /// The order of an internal key that lies in words, and has at most `MAX` bytes, and of what is looked for.
    #[inline]
    fn compare_words<const MAX: usize>(
        &self,
        words: &[AtomicU64],
        len: usize,
        search: Search<'_>,
    ) -> Ordering {
        let mut room = [0; MAX];
        let met = &mut room[..len.min(MAX)];
        node::copy(words, met);
        self.compare(met, search)
    }

    #[inline]
    fn compare(&self, key: &[u8], search: Search<'_>) -> Ordering {
        let (user_key, tag) = (internal_key::user_key(key), internal_key::tag(key));
        let order = self.order.compare_user(user_key, search.user_key);
        order.then_with(|| search.tag.cmp(&tag))
    }

    /// The first node that is not before an internal key, or [`HEAD`].
    fn first_at_least(&self, key: &[u8]) -> u32 {
        let (user_key, tag) = (internal_key::user_key(key), internal_key::tag(key));
        self.search(self.search_for(user_key, tag)).1
    }

    /// The first node that is not before the name of a group, if the group has a hint.
    fn first_of_group(&self, key: &[u8]) -> Option<u32> {
        let group = internal_key::user_key(key);
        let at = self.hints.as_ref()?.first_of(group)?;
        // Another group's perhaps, if hashes are the same; and of entries of the very key, newer ones do not count.
        (self.tail_of(at, group)? > 0).then_some(at)
    }

    /// If a node's user key begins with these bytes, how many it has behind them.
    fn tail_of(&self, at: u32, group: &[u8]) -> Option<usize> {
        let mut room = [0; INLINE_LEN_MAX];
        let key = internal_key::user_key(self.key(at, &mut room));
        key.strip_prefix(group).map(<[u8]>::len)
    }

    /// The last node before an internal key, or [`HEAD`].
    fn last_before(&self, key: &[u8]) -> u32 {
        let (user_key, tag) = (internal_key::user_key(key), internal_key::tag(key));
        self.search(self.search_for(user_key, tag)).0
    }

    fn last(&self) -> u32 {
        let mut at = HEAD;
        for level in (0..self.height.load(Memory::Relaxed)).rev() {
            loop {
                match self.node(at).next(level) {
                    HEAD => break,
                    next => at = next,
                }
            }
        }
        at
    }

    #[inline]
    fn node(&self, node: u32) -> Node<'_> {
        Node::new(self.nodes.from(node as usize))
    }

    fn outside(&self, chunk: u32, at: u32, len: u32) -> &[u8] {
        let chunk = self.chunks.get(chunk as usize).and_then(OnceLock::get);
        let bytes = chunk.and_then(|chunk| chunk.get(at as usize..));
        bytes
            .and_then(|bytes| bytes.get(..len as usize))
            .unwrap_or_default()
    }

    /// The tag and value of the newest entry of a user key whose tag is at most `tag_max`.
    pub(crate) fn get(&self, user_key: &[u8], tag_max: u64) -> Option<(u64, Value<'_>)> {
        let hint = (self.hints.as_ref()).map_or(Hint::Unknown, |hints| hints.get(user_key));
        match hint {
            Hint::Absent => return None,
            Hint::Node(at) => {
                let found = self.get_at(at, user_key, tag_max);
                if found.is_some() {
                    return found;
                }
            }
            Hint::Unknown => {}
        }
        self.get_by_search(user_key, tag_max)
    }

    /// Looks a key up, if its newest entry is the one at this node. A hint may name another key's, if hashes are the same, or one
    /// that is too new for a snapshot.
    #[inline]
    pub(crate) fn get_at(
        &self,
        at: u32,
        user_key: &[u8],
        tag_max: u64,
    ) -> Option<(u64, Value<'_>)> {
        let node = self.node(at);
        let tag = match node.key() {
            Bytes::Words(words, len) => node::tag_of(words, len, user_key)?,
            Bytes::Outside { chunk, at, len } => {
                let key = internal_key::split(self.outside(chunk, at, len));
                key.filter(|(key, _)| *key == user_key)?.1
            }
        };
        (tag <= tag_max).then(|| (tag, self.value(node)))
    }

    /// The naive twin of [`get`](Self::get).
    fn get_by_search(&self, user_key: &[u8], tag_max: u64) -> Option<(u64, Value<'_>)> {
        let at = self.search(self.search_for(user_key, tag_max)).1;
        if at == HEAD {
            return None;
        }
        let mut room = [0; INLINE_LEN_MAX];
        let key = self.key(at, &mut room);
        if self
            .order
            .compare_user(internal_key::user_key(key), user_key)
            != Ordering::Equal
        {
            return None;
        }
        Some((internal_key::tag(key), self.value(self.node(at))))
    }

    #[inline]
    fn value<'l>(&'l self, node: Node<'l>) -> Value<'l> {
        Value {
            list: self,
            bytes: node.value(),
        }
    }

    /// A node's internal key.
    fn key<'a>(&'a self, at: u32, room: &'a mut Room) -> &'a [u8] {
        self.bytes(self.node(at).key(), room)
    }

    /// In one piece: those that lie in words are copied.
    #[inline]
    fn bytes<'a>(&'a self, bytes: Bytes<'_>, room: &'a mut Room) -> &'a [u8] {
        match bytes {
            Bytes::Words(words, len) => {
                let room = &mut room[..len.min(INLINE_LEN_MAX)];
                node::copy(words, room);
                room
            }
            Bytes::Outside { chunk, at, len } => self.outside(chunk, at, len),
        }
    }
}

impl Writer {
    /// One level, and with a probability of a quarter each another one.
    fn random_levels(&mut self) -> usize {
        let mut levels = 1;
        loop {
            // Xorshift: any sequence without a pattern will do.
            self.random ^= self.random << 13;
            self.random ^= self.random >> 17;
            self.random ^= self.random << 5;
            if levels == LEVELS_MAX || !self.random.is_multiple_of(4) {
                return levels;
            }
            levels += 1;
        }
    }
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
