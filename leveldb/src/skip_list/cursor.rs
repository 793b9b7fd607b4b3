//! A position in a skip list.

use super::{HEAD, SkipList};
use std::sync::Arc;

/// On an entry, or on none. What is put in meanwhile may or may not be met.
#[derive(Clone, Debug)]
pub(crate) struct SkipCursor {
    list: Arc<SkipList>,
    at: u32,
}

impl SkipCursor {
    /// On no entry.
    pub(crate) fn new(list: Arc<SkipList>) -> SkipCursor {
        SkipCursor { list, at: HEAD }
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        self.at != HEAD
    }

    pub(crate) fn seek_to_first(&mut self) {
        self.at = self.list.next(HEAD, 0);
    }

    pub(crate) fn seek_to_last(&mut self) {
        self.at = self.list.last();
    }

    /// To the first entry not less than an internal key.
    pub(crate) fn seek(&mut self, target: &[u8]) {
        self.at = self.list.first_at_least(target);
    }

    /// To the last entry less than an internal key.
    pub(crate) fn seek_before(&mut self, target: &[u8]) {
        self.at = self.list.last_before(target);
    }

    #[inline]
    pub(crate) fn next(&mut self) {
        if self.at != HEAD {
            self.at = self.list.next(self.at, 0);
        }
    }

    pub(crate) fn prev(&mut self) {
        if self.at != HEAD {
            self.at = self.list.last_before(self.list.key(self.at));
        }
    }

    /// The internal key; empty on no entry.
    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        match self.at {
            HEAD => &[],
            at => self.list.bytes(at).0,
        }
    }

    /// The value; empty on no entry.
    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        match self.at {
            HEAD => &[],
            at => self.list.bytes(at).1,
        }
    }

    pub(crate) fn log_name(&self) -> &str {
        self.list.log_name()
    }
}
