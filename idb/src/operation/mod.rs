//! What requests do, executed: the specification's operations (7) on the backing store's transaction.
//!
//! Arguments have been checked; which keys a value has was found out when the request was made. Nothing here waits or is
//! waited for.

mod build_index;
mod change_feed;
mod count;
mod delete;
mod execution;
mod get;
mod get_all;
mod get_each;
mod given_keys;
mod pages;
mod put;
mod scan;
mod unwrap;
mod version_change;
mod walk;

pub(crate) use build_index::ForeignKeys;
pub(crate) use change_feed::{begin_feed, clean_feed, end_feed, record_version};
pub(crate) use count::count;
pub(crate) use delete::{clear, delete};
pub(crate) use execution::{Backing, Execution};
pub(crate) use get::{get, get_key, get_many};
pub(crate) use get_all::{GetAll, get_all};
pub(crate) use get_each::{GetsMemory, get_each, has_read_ahead, read_ahead};
pub(crate) use pages::{PageWalk, next_page};
pub(crate) use put::{
    PutIndexes, PutMemory, PutRequest, generate_key, key_generator, objects_for_paths, of_record,
    put, put_many, set_key_generator,
};
pub(crate) use scan::Wanted;
pub(crate) use unwrap::Unwrapping;
pub(crate) use version_change::{
    create_index, create_object_store, delete_index, delete_object_store, rename_index,
    rename_object_store,
};
pub(crate) use walk::{ENTRIES_MAX, Landed, Scans, Step, Walk, WalkPage};

use std::sync::Arc;

use larder_codec::{IndexId, ObjectStoreId};

use crate::error::Result;
use crate::schema::{IndexCell, StoreCell};

/// Where records are read from: an object store, or one of its indexes.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    pub(crate) store: Arc<StoreCell>,
    pub(crate) index: Option<Arc<IndexCell>>,
}

/// Distinguishes a [`Source`] from others: where its parts are in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourceIdentity(usize, usize);

impl From<Arc<StoreCell>> for Source {
    fn from(store: Arc<StoreCell>) -> Self {
        Self { store, index: None }
    }
}

impl Source {
    /// Which it is, as long as it is held.
    pub(crate) fn identity(&self) -> SourceIdentity {
        let index = self
            .index
            .as_ref()
            .map_or(0, |index| Arc::as_ptr(index).addr());
        SourceIdentity(Arc::as_ptr(&self.store).addr(), index)
    }

    /// Their numbers on disk.
    fn ids(&self) -> Result<(ObjectStoreId, Option<IndexId>)> {
        let index = self.index.as_ref().map(|index| index.id()).transpose()?;
        Ok((self.store.id()?, index))
    }

    /// Whether it or the object store it belongs to is deleted.
    pub(crate) fn is_deleted(&self) -> bool {
        self.store.is_deleted() || self.index.as_ref().is_some_and(|index| index.is_deleted())
    }
}

#[cfg(test)]
mod tests;
