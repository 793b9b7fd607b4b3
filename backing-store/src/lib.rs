//! Chromium's IndexedDB backing store: databases, object stores, indexes, records and external objects as rows of a
//! LevelDB.
//!
//! ```
//! use std::{path::Path, sync::Arc};
//! use larder_backing_store::{CursorDirection, OpenOptions, Result, Store, StorePaths};
//! use larder_leveldb::storage::DiskFileSystem;
//!
//! /// Prints the keys of each object store in a store of Chromium's.
//! fn list(folder: &Path) -> Result<()> {
//!     let paths = StorePaths::of_leveldb(folder);
//!     let store = Store::open_read_only(Arc::new(DiskFileSystem::new()), paths, OpenOptions::default())?;
//!     for database in store.databases(&mut Vec::new())? {
//!         for object_store in &database.object_stores {
//!             let mut records = store.records(database.id, object_store.id, CursorDirection::Next);
//!             while records.next()? {
//!                 println!("{}: {:?}", object_store.name, records.primary_key()?);
//!             }
//!         }
//!     }
//!     Ok(())
//! }
//! # list(&larder_fixtures::get("c156-lite").open().leveldb())?;
//! # Ok::<(), larder_backing_store::Error>(())
//! ```
//!
//! [`Store`] opens one origin's store for reading. It writes nothing and takes no lock; transactions that a crash left
//! unfinished are undone, and committed ones finished, in memory. [`BackingStore`] opens it for writing. The rows are
//! described in `docs/FORMAT.md`.

mod backing_store;
pub mod blob;
mod clock;
mod comparator;
pub mod cursor;
pub mod error;
mod external_object;
mod feed;
pub mod files;
mod key_range;
pub mod layout;
pub mod metadata;
mod new_store;
mod open_stores;
mod operation;
mod origin_note;
mod overlay;
mod quota;
mod reads;
mod record;
mod repair;
mod row_keys;
mod row_names;
mod row_source;
mod row_store;
mod scope;
mod staging;
mod staleness;
mod store;
mod store_order;
mod sync;
mod transaction;
mod undo_log;
mod unfinished;
mod versions;
mod view;

pub use backing_store::{
    Background, BackgroundPool, BackgroundWork, BackingStore, Maintenance, MaintenanceSchedule,
    WriteOptions, usage,
};
pub use clock::{Clock, FixedClock, SystemClock};
pub use comparator::IdbComparator;
pub use cursor::{
    CursorDirection, IndexCursor, Movement, Page, PageEntry, PageLimits, RecordCursor,
};
pub use error::{Error, ErrorKind, Result};
pub use external_object::{BlobReader, value_wrapper};
pub use key_range::KeyRange;
pub use larder_codec::external_object::last_modified_ms;
pub use larder_leveldb::{
    BlockCache, Damage, Durability, PinnedBytes, Repaired, RowInDoubt, RowsInDoubt, TailKind,
    TornTail,
};
pub use layout::StorePaths;
pub use metadata::{DatabaseMetadata, DatabaseName, IndexMetadata, ObjectStoreMetadata};
pub use new_store::{NewStore, RowSequence};
pub use operation::{
    FeedCleaned, IndexKeys, IndexParameters, ObjectStoreParameters, Put, PutKey, PutMode,
};
pub use origin_note::{OriginNote, delete_store, is_persisted, remove_notes, set_persisted};
pub use quota::{OverQuota, Quota, Usage};
pub use reads::{FoundRecord, IndexLookup, KEY_GENERATOR_MAX, Reads, StoreRows};
pub use record::Record;
pub use repair::{repair, salvage, write_rows};
pub use row_names::{RowNames, RowPlace};
pub use row_source::{FirstRow, OnFirstRow, OnRow, RowIter, RowSource};
pub use row_store::{ChangedRow, RowCommit, RowStore};
pub use scope::{ObjectStoreSet, Scope};
pub use store::{OpenOptions, RowForm, Store};
pub use store_order::StoreOrder;
pub use transaction::{CaughtUp, ReadTransaction, WriteTransaction};
pub use undo_log::Recovery;
pub use unfinished::Unfinished;
pub use versions::{
    DATA_VERSION_MAX, NEW_STORE_VERSION, RaiseDataVersion, SCHEMA_VERSION_MAX, SCHEMA_VERSION_MIN,
    StoreVersions,
};
