//! What a mirror has done, and what it has left alone and why.

use std::fmt;

use larder_idb::{JsString, Key};

use super::bytes::{Bytes, put_bytes};
use super::error::{Error, Result};

/// Why a record is not alike in page and database.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The database's has a handle of the File System Access API, which only this device can use. It stays here.
    Handle,
    /// The database's is a value of another engine's in an object store with indexes, whose keys only the host can find. It stays here.
    Foreign,
    /// The content of a blob of the database's cannot be read. It stays here until the record is put again.
    Unreadable(String),
    /// The database refuses the page's: another record has its key in a unique index. It stays in the page.
    Unique(String),
    /// The database cannot take the page's: it has no key, no form in the store's versions, or is not as a mirror writes it. It stays in the
    /// page.
    Refused(String),
}

impl Reason {
    /// Whether it is the database that has something which the page has not.
    pub(super) const fn is_here(&self) -> bool {
        matches!(self, Self::Handle | Self::Foreign | Self::Unreadable(_))
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let (kind, text) = match self {
            Self::Handle => (0, ""),
            Self::Foreign => (1, ""),
            Self::Unreadable(text) => (2, text.as_str()),
            Self::Unique(text) => (3, text.as_str()),
            Self::Refused(text) => (4, text.as_str()),
        };
        out.push(kind);
        put_bytes(text.as_bytes(), out);
    }

    pub(super) fn decode(bytes: &mut Bytes<'_>) -> Result<Self> {
        let kind = bytes.byte()?;
        let text = String::from_utf8_lossy(bytes.bytes()?).into_owned();
        Ok(match kind {
            0 => Self::Handle,
            1 => Self::Foreign,
            2 => Self::Unreadable(text),
            3 => Self::Unique(text),
            4 => Self::Refused(text),
            other => return Err(Error::malformed(format!("a reason of kind {other}"))),
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handle => {
                f.write_str("a handle of the File System Access API stays on its device")
            }
            Self::Foreign => {
                f.write_str("a value of another engine's stays where its index keys are known")
            }
            Self::Unreadable(what) => write!(f, "a blob cannot be read: {what}"),
            Self::Unique(what) | Self::Refused(what) => f.write_str(what),
        }
    }
}

/// A record that was left alone.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LeftAlone {
    /// The object store.
    pub object_store: JsString,
    /// The record's key; `None` if it is too long for the page's keys, and in the entry's value.
    pub key: Option<Key>,
    /// Why.
    pub reason: Reason,
}

/// What has gone from the database into the page.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Taken {
    /// So many records were put into the page.
    pub put: u64,
    /// So many were removed from it.
    pub removed: u64,
    /// Records that were changed here and stay here.
    pub skipped: Vec<LeftAlone>,
    /// So many values of the page, which the database could not take, were overwritten, and are listed as conflicts.
    pub conflicts: u64,
}

/// What has gone from the page into the database.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Applied {
    /// What has gone into the page before.
    pub taken: Taken,
    /// So many heads were merged.
    pub merged: u64,
    /// So many conflicts were listed while heads were merged.
    pub conflicts: u64,
    /// Whether the page has one head. If not, something must be fetched first, and the database is as it was.
    pub is_one: bool,
    /// So many records were put into the database.
    pub put: u64,
    /// So many were removed from it.
    pub removed: u64,
    /// So many changes are of object stores that the database has not. They stay in the page.
    pub without_store: u64,
    /// All records that are not alike in page and database now.
    pub apart: Vec<LeftAlone>,
}
