//! A position in a skip list.

use super::node::Bytes;
use super::{HEAD, SkipList};
use crate::pinned::PinnedBytes;
use std::sync::Arc;

/// On an entry, or on none. What is put in meanwhile may or may not be met.
#[derive(Clone, Debug)]
pub(crate) struct SkipCursor {
    list: Arc<SkipList>,
    at: u32,
    /// Copies of what lies in the node.
    key: Vec<u8>,
    value: Vec<u8>,
    /// Chunk, offset and length of a key or value that does not.
    key_outside: Option<(u32, u32, u32)>,
    value_outside: Option<(u32, u32, u32)>,
}

impl SkipCursor {
    /// On no entry.
    pub(crate) fn new(list: Arc<SkipList>) -> SkipCursor {
        SkipCursor {
            list,
            at: HEAD,
            key: Vec::new(),
            value: Vec::new(),
            key_outside: None,
            value_outside: None,
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
        let copies = [
            (node.key(), &mut self.key, &mut self.key_outside),
            (node.value(), &mut self.value, &mut self.value_outside),
        ];
        for (bytes, copy, outside) in copies {
            copy.clear();
            *outside = match bytes {
                Bytes::Words(..) => {
                    self.list.copy(bytes, copy);
                    None
                }
                Bytes::Outside { chunk, at, len } => Some((chunk, at, len)),
            };
        }
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
        match (self.at, self.key_outside) {
            (HEAD, _) => &[],
            (_, None) => &self.key,
            (_, Some((chunk, at, len))) => self.list.outside(chunk, at, len),
        }
    }

    /// The value; empty on no entry.
    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        match (self.at, self.value_outside) {
            (HEAD, _) => &[],
            (_, None) => &self.value,
            (_, Some((chunk, at, len))) => self.list.outside(chunk, at, len),
        }
    }

    /// The value, if it lies in a chunk.
    pub(crate) fn pinned_value(&self) -> Option<PinnedBytes> {
        let (chunk, at, len) = self.value_outside.filter(|_| self.valid())?;
        let chunk = self.list.chunks.get(chunk as usize)?.get()?;
        let (start, end) = (at as usize, at as usize + len as usize);
        Some(PinnedBytes::whole(Arc::clone(chunk)).part(start, end))
    }

    pub(crate) fn log_name(&self) -> &str {
        self.list.log_name()
    }
}
