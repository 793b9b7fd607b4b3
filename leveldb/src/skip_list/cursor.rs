//! A position in a skip list.

use super::node::{self, Bytes};
use super::{HEAD, SkipList};
use crate::pinned::PinnedBytes;
use std::sync::Arc;

/// On an entry, or on none. What is put in meanwhile may or may not be met.
#[derive(Clone, Debug)]
pub(crate) struct SkipCursor {
    list: Arc<SkipList>,
    at: u32,
    key: Place,
    value: Place,
}

/// Where the key or value is.
#[derive(Clone, Debug, Default)]
struct Place {
    /// A copy of what lies in the node: so many bytes at the front. What comes behind them is of entries before.
    copy: Vec<u8>,
    len: usize,
    /// Chunk, offset and length if it lies there.
    outside: Option<(u32, u32, u32)>,
}

impl Place {
    #[inline]
    fn set(&mut self, bytes: Bytes<'_>) {
        match bytes {
            Bytes::Words(words, len) => {
                if self.copy.len() < len {
                    self.copy.resize(len, 0);
                }
                node::copy(words, &mut self.copy[..len]);
                (self.len, self.outside) = (len, None);
            }
            Bytes::Outside { chunk, at, len } => self.outside = Some((chunk, at, len)),
        }
    }

    #[inline]
    fn get<'a>(&'a self, list: &'a SkipList) -> &'a [u8] {
        match self.outside {
            None => &self.copy[..self.len],
            Some((chunk, at, len)) => list.outside(chunk, at, len),
        }
    }
}

impl SkipCursor {
    /// On no entry.
    pub(crate) fn new(list: Arc<SkipList>) -> SkipCursor {
        SkipCursor {
            list,
            at: HEAD,
            key: Place::default(),
            value: Place::default(),
        }
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.at != HEAD
    }

    fn stand(&mut self, at: u32) {
        self.at = at;
        if at == HEAD {
            return;
        }
        let node = self.list.node(at);
        self.key.set(node.key());
        self.value.set(node.value());
    }

    /// On the entry of another cursor over the list.
    pub(crate) fn stand_with(&mut self, other: &SkipCursor) {
        self.stand(other.at);
    }

    pub(crate) fn seek_to_first(&mut self) {
        self.stand(self.list.node(HEAD).next(0));
    }

    pub(crate) fn seek_to_last(&mut self) {
        self.stand(self.list.last());
    }

    /// To the first entry not less than an internal key.
    pub(crate) fn seek(&mut self, target: &[u8]) {
        let by_hint = self.list.first_of_group(target);
        self.stand(by_hint.unwrap_or_else(|| self.list.first_at_least(target)));
    }

    /// To the last entry less than an internal key.
    pub(crate) fn seek_before(&mut self, target: &[u8]) {
        self.stand(self.list.last_before(target));
    }

    #[inline]
    pub(crate) fn next(&mut self) {
        if self.at != HEAD {
            self.stand(self.list.node(self.at).next(0));
        }
    }

    pub(crate) fn prev(&mut self) {
        if self.at != HEAD {
            self.stand(self.list.last_before(self.key()));
        }
    }

    /// The internal key; empty on no entry.
    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        match self.at {
            HEAD => &[],
            _ => self.key.get(&self.list),
        }
    }

    /// The value; empty on no entry.
    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        match self.at {
            HEAD => &[],
            _ => self.value.get(&self.list),
        }
    }

    /// The value, if it lies in a chunk.
    pub(crate) fn pinned_value(&self) -> Option<PinnedBytes> {
        let (chunk, at, len) = self.value.outside.filter(|_| self.valid())?;
        let chunk = self.list.chunks.get(chunk as usize)?.get()?;
        let (start, end) = (at as usize, at as usize + len as usize);
        Some(PinnedBytes::whole(Arc::clone(chunk)).part(start, end))
    }

    pub(crate) fn log_name(&self) -> &str {
        self.list.log_name()
    }
}
