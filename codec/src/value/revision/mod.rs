//! [`RevisionsRow`]: the value of a record that Larder itself writes, one for some changes of a transaction in a tracked database
//! (`docs/format/feed.md`).
//!
//! It is an ordinary object of JavaScript's, so that a page can read its own feed, with its properties in one order, so that it is
//! read without a tree.

mod key;
mod read;
mod write;

pub use read::RevisionsReader;

use super::js_str::JsStr;
use crate::ids::{ObjectStoreId, RecordVersion};

/// What a revision did to its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RevisionKind {
    /// There was no such record before.
    Creation,
    /// There was, with another value or the same.
    Modification,
    /// It is gone.
    Removal,
}

impl RevisionKind {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Creation, Self::Modification, Self::Removal];

    /// Its name in lines and scripts (`docs/format/feed.md`).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Creation => "creation",
            Self::Modification => "modification",
            Self::Removal => "removal",
        }
    }

    const fn number(self) -> i32 {
        match self {
            Self::Creation => 1,
            Self::Modification => 2,
            Self::Removal => 3,
        }
    }
}

/// What revisions of one transaction have in common that are in one record.
#[derive(Debug, Clone, PartialEq)]
pub struct RevisionsRow<'a> {
    /// The object stores of the records that changed.
    pub object_stores: Vec<ChangedObjectStore<'a>>,
    /// The changes came from a source that the database is a copy of.
    pub is_from_source: bool,
    /// If the last of them is the transaction's last: when that was committed, in milliseconds since 1970 UTC.
    pub committed_at_ms: Option<f64>,
}

impl RevisionsRow<'_> {
    fn property_count(&self) -> u32 {
        3 + u32::from(self.is_from_source) + u32::from(self.committed_at_ms.is_some())
    }
}

/// An object store that revisions are of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangedObjectStore<'a> {
    /// Its id.
    pub id: ObjectStoreId,
    /// Its name when the records changed.
    pub name: JsStr<'a>,
    /// The greatest version among the revisions. Revisions of one object store have versions in their own order.
    pub version: RecordVersion,
}

/// One revision of a [`RevisionsRow`]. `K` is how its record's key is kept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RevisionRow<K> {
    /// How far its number is before that of the last revision, which is the record's key.
    pub back: u32,
    /// What happened.
    pub kind: RevisionKind,
    /// The record's object store.
    pub object_store_id: ObjectStoreId,
    /// The version that the record has since then, or would have if it were not removed.
    pub version: RecordVersion,
    /// The version that it had before, if there was one.
    pub before: Option<RecordVersion>,
    /// The record's key.
    pub key: K,
}

impl<K> RevisionRow<K> {
    /// This revision, with its key kept in another way.
    #[must_use]
    pub fn with_key<L>(&self, key: L) -> RevisionRow<L> {
        RevisionRow {
            back: self.back,
            kind: self.kind,
            object_store_id: self.object_store_id,
            version: self.version,
            before: self.before,
            key,
        }
    }
}

/// Names of the properties, in their order.
const ENDS: &[u8] = b"ends";
const NAMES: &[u8] = b"names";
const FROM_SOURCE: &[u8] = b"fromSource";
const COMMITTED: &[u8] = b"committed";
const CHANGES: &[u8] = b"changes";

/// The elements of a change.
const CHANGE_LEN: u32 = 6;

#[cfg(test)]
mod tests;
