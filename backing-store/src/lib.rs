//! Chromium's IndexedDB backing store: databases, object stores, indexes, records and external objects as rows of a
//! LevelDB.
//!
//! [`Store`] opens one origin's store for reading. It writes nothing and takes no lock; transactions that a crash left
//! unfinished are undone, and committed ones finished, in memory. [`BackingStore`] opens it for writing. The rows are
//! described in `docs/FORMAT.md`.

#![expect(
    dead_code,
    reason = "the operations and the undo log on this row level come next"
)]

mod backing_store;
mod comparator;
pub mod cursor;
pub mod error;
mod external_object;
pub mod layout;
pub mod metadata;
mod overlay;
mod recovery;
mod staging;
mod store;
mod transaction;
mod view;

pub use backing_store::{Background, BackingStore, Clock, DATA_VERSION, WriteOptions};
pub use comparator::IdbComparator;
pub use cursor::{Direction, IndexCursor, RecordCursor};
pub use error::{Error, ErrorKind, Result};
pub use external_object::{BlobReader, last_modified_ms};
pub use larder_leveldb::Durability;
pub use layout::StorePaths;
pub use metadata::{DatabaseMetadata, IndexMetadata, ObjectStoreMetadata};
pub use recovery::Recovery;
pub use store::{KEY_GENERATOR_MAX, OpenOptions, SCHEMA_VERSION_MAX, SCHEMA_VERSION_MIN, Store};
pub use transaction::{ReadTransaction, Scope, WriteTransaction};
