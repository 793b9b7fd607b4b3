//! A node's words in the arena.
//!
//! Word 0: in its upper half the link of level 0; in its lower half, fixed when the node is made, the number of levels (4
//! bits), the length of the internal key (11 bits), whether the key's head is there (1 bit) and the length of the value (16
//! bits), where all bits of a length set mean that it lies in a chunk. Then the head, if it is there; then the links of the
//! other levels, two to a word; then the key and the value, eight bytes to a word in the order
//! of bytes, each padded. What lies in a chunk leaves two words instead: chunk and offset of the key, or of the value if
//! the key is here; length of key and value.
//!
//! One thread writes. It may therefore change half a word by loading and storing the whole.

use super::{HEAD, LEVELS_MAX};
use crate::internal_key::TAG_LEN;
use crate::sync::AtomicU64;
use crate::words::rest_word;
use std::sync::atomic::Ordering as Memory;

/// Longer keys and values lie in chunks.
pub(crate) const INLINE_LEN_MAX: usize = crate::write_batch::SHORT_LEN_MAX;
const KEY_OUTSIDE: u64 = 0x7ff;
const HAS_HEAD: u64 = 1 << 15;
const VALUE_OUTSIDE: u64 = 0xffff;
/// Words of [`HEAD`], which has no key.
pub(super) const HEAD_WORDS: usize = 1 + LEVELS_MAX / 2;

/// Where the bytes are that do not lie in the node, and the lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outside {
    pub(super) chunk: u32,
    pub(super) at: u32,
    pub(super) key_len: u32,
    pub(super) value_len: u32,
}

/// A node: its words and those after it.
#[derive(Clone, Copy)]
pub(super) struct Node<'a> {
    words: &'a [AtomicU64],
    head: u64,
}

/// Where key or value lies.
#[derive(Clone, Copy)]
pub(super) enum Bytes<'a> {
    Words(&'a [AtomicU64], usize),
    Outside { chunk: u32, at: u32, len: u32 },
}

fn words_of(len: usize) -> usize {
    len.div_ceil(8)
}

fn link_words(levels: usize) -> usize {
    levels / 2
}

/// How many words a node takes.
pub(super) fn words(levels: usize, head: Option<u64>, key_len: usize, value_len: usize) -> usize {
    let inside = |len: usize| match len <= INLINE_LEN_MAX {
        true => words_of(len),
        false => 0,
    };
    let is_outside = key_len > INLINE_LEN_MAX || value_len > INLINE_LEN_MAX;
    let fixed = 1 + usize::from(head.is_some()) + link_words(levels);
    fixed + inside(key_len) + inside(value_len) + 2 * usize::from(is_outside)
}

/// Writes a node that no link leads to yet, with the link of level 0. `tag`: what follows the user key in the internal one.
pub(super) fn write(
    words: &[AtomicU64],
    (levels, next): (usize, u32),
    head: Option<u64>,
    (user_key, tag): (&[u8], u64),
    value: &[u8],
    (chunk, at): (u32, u32),
) {
    let key_len = user_key.len() + TAG_LEN;
    let key_inside = key_len <= INLINE_LEN_MAX;
    let value_inside = value.len() <= INLINE_LEN_MAX;
    let key_field = if key_inside {
        key_len as u64
    } else {
        KEY_OUTSIDE
    };
    let value_field = if value_inside {
        value.len() as u64
    } else {
        VALUE_OUTSIDE
    };
    let mut words = words.iter();
    let mut put = |word: u64| {
        if let Some(to) = words.next() {
            to.store(word, Memory::Relaxed);
        }
    };
    let has_head = if head.is_some() { HAS_HEAD } else { 0 };
    let lower = levels as u64 | (key_field << 4) | has_head | (value_field << 16);
    put(u64::from(next) << 32 | lower);
    if let Some(head) = head {
        put(head);
    }
    for _ in 0..link_words(levels) {
        put(0);
    }
    if key_inside {
        for eight in user_key.chunks_exact(8) {
            put(eight.try_into().map_or(0, u64::from_le_bytes));
        }
        match 8 * (user_key.len() % 8) as u32 {
            0 => put(tag),
            bits => {
                put(rest_word(user_key) | (tag << bits));
                put(tag >> (64 - bits));
            }
        }
    }
    if value_inside {
        for eight in value.chunks_exact(8) {
            put(eight.try_into().map_or(0, u64::from_le_bytes));
        }
        if !value.len().is_multiple_of(8) {
            put(rest_word(value));
        }
    }
    if !(key_inside && value_inside) {
        put(u64::from(chunk) | (u64::from(at) << 32));
        put(key_len as u64 | ((value.len() as u64) << 32));
    }
}

impl<'a> Node<'a> {
    #[inline]
    pub(super) fn new(words: &'a [AtomicU64]) -> Node<'a> {
        let head = words.first().map_or(0, |word| word.load(Memory::Acquire));
        Node { words, head }
    }

    #[inline]
    fn levels(&self) -> usize {
        (self.head & 0xf) as usize
    }

    /// The first word of links of upper levels.
    #[inline]
    fn links_at(&self) -> usize {
        1 + usize::from(self.head & HAS_HEAD != 0)
    }

    /// The first word after the links.
    #[inline]
    fn bytes_at(&self) -> usize {
        self.links_at() + link_words(self.levels())
    }

    /// The key's head.
    #[inline]
    pub(super) fn key_head(&self) -> Option<u64> {
        if self.head & HAS_HEAD == 0 {
            return None;
        }
        self.words.get(1).map(|word| word.load(Memory::Relaxed))
    }

    /// The node after this one on a level, or [`HEAD`].
    #[inline]
    pub(super) fn next(&self, level: usize) -> u32 {
        if level == 0 {
            return (self.head >> 32) as u32;
        }
        let word = self.words.get(self.links_at() + (level - 1) / 2);
        word.map_or(HEAD, |word| {
            (word.load(Memory::Acquire) >> (32 * ((level - 1) % 2))) as u32
        })
    }

    /// Sets a link. What it leads to is complete by then: readers that find the link see all of it.
    pub(super) fn set_next(&self, level: usize, node: u32) {
        let (word, shift) = match level {
            0 => (0, 32),
            _ => (self.links_at() + (level - 1) / 2, 32 * ((level - 1) % 2)),
        };
        if let Some(word) = self.words.get(word) {
            let others = word.load(Memory::Relaxed) & !(u64::from(u32::MAX) << shift);
            word.store(others | (u64::from(node) << shift), Memory::Release);
        }
    }

    #[inline]
    fn from(&self, at: usize) -> &'a [AtomicU64] {
        self.words.get(at..).unwrap_or_default()
    }

    fn outside(&self) -> Outside {
        let (key_field, value_field) = (
            (self.head >> 4) & KEY_OUTSIDE,
            (self.head >> 16) & VALUE_OUTSIDE,
        );
        let inside = |field: u64, none: u64| match field == none {
            true => 0,
            false => words_of(field as usize),
        };
        let at =
            self.bytes_at() + inside(key_field, KEY_OUTSIDE) + inside(value_field, VALUE_OUTSIDE);
        let word = |at| {
            self.words
                .get(at)
                .map_or(0, |word: &AtomicU64| word.load(Memory::Relaxed))
        };
        let (place, lens) = (word(at), word(at + 1));
        Outside {
            chunk: place as u32,
            at: (place >> 32) as u32,
            key_len: lens as u32,
            value_len: (lens >> 32) as u32,
        }
    }

    /// The internal key.
    #[inline]
    pub(super) fn key(&self) -> Bytes<'a> {
        let len = (self.head >> 4) & KEY_OUTSIDE;
        if len != KEY_OUTSIDE {
            return Bytes::Words(self.from(self.bytes_at()), len as usize);
        }
        let outside = self.outside();
        Bytes::Outside {
            chunk: outside.chunk,
            at: outside.at,
            len: outside.key_len,
        }
    }

    pub(super) fn value(&self) -> Bytes<'a> {
        let key_len = (self.head >> 4) & KEY_OUTSIDE;
        let len = (self.head >> 16) & VALUE_OUTSIDE;
        if len != VALUE_OUTSIDE {
            let key_words = if key_len == KEY_OUTSIDE {
                0
            } else {
                words_of(key_len as usize)
            };
            let at = self.bytes_at() + key_words;
            return Bytes::Words(self.from(at), len as usize);
        }
        let outside = self.outside();
        let key_before = if key_len == KEY_OUTSIDE {
            outside.key_len
        } else {
            0
        };
        Bytes::Outside {
            chunk: outside.chunk,
            at: outside.at.saturating_add(key_before),
            len: outside.value_len,
        }
    }
}

/// Copies bytes that lie in words to the front of `out`, which is as long or longer.
#[inline]
pub(super) fn copy(words: &[AtomicU64], out: &mut [u8]) {
    let mut eights = out.chunks_exact_mut(8);
    let mut words = words.iter();
    for (eight, word) in (&mut eights).zip(&mut words) {
        eight.copy_from_slice(&word.load(Memory::Relaxed).to_le_bytes());
    }
    let rest = eights.into_remainder();
    if let (false, Some(word)) = (rest.is_empty(), words.next()) {
        let eight = word.load(Memory::Relaxed).to_le_bytes();
        rest.copy_from_slice(&eight[..rest.len()]);
    }
}

/// The tag of an internal key that lies in words and has `len` bytes, if these are its user key's bytes.
#[inline]
pub(super) fn tag_of(words: &[AtomicU64], len: usize, user_key: &[u8]) -> Option<u64> {
    if len != user_key.len() + TAG_LEN {
        return None;
    }
    let word = |i: usize| words.get(i).map_or(0, |word| word.load(Memory::Relaxed));
    let mut eights = user_key.chunks_exact(8).enumerate();
    if !eights.all(|(i, eight)| eight == word(i).to_le_bytes()) {
        return None;
    }
    let (i, rest) = (user_key.len() / 8, 8 * (user_key.len() % 8) as u32);
    if rest == 0 {
        return Some(word(i));
    }
    // The tag after the user key makes the word whole.
    let is_same = word(i) << (64 - rest) == rest_word(user_key) << (64 - rest);
    is_same.then(|| (word(i) >> rest) | (word(i + 1) << (64 - rest)))
}
