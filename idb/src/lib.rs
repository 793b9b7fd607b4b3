//! IndexedDB for a browser-like host, on Chromium's own store: databases with versions, transactions, object stores,
//! indexes, cursors, as W3C's "Indexed Database API 3.0" has them.
//!
//! ```
//! use larder_idb::{Database, ObjectStoreParameters, Result, Value};
//!
//! fn main() -> Result<()> {
//!     // `Database::open(folder, "library", 1, …)` keeps it on disk.
//!     let opening = Database::in_memory("library", 1, |upgrade| {
//!         let numbered = ObjectStoreParameters::new().auto_increment(true);
//!         upgrade.transaction.create_object_store("books", numbered).map(drop)
//!     })?;
//!     let library = opening.wait()?;
//!
//!     let writing = library.write("books")?;
//!     writing.object_store("books")?.put(Value::serialize("Emma")?, None)?.detach();
//!     writing.commit()?.wait()?;
//!
//!     let found = library.read("books")?.object_store("books")?.get(1)?.wait()?;
//!     assert_eq!(found.unwrap().deserialize::<String>()?, "Emma");
//!     Ok(())
//! }
//! ```
//!
//! | to do | see |
//! |---|---|
//! | open and upgrade one database | [`Database`] |
//! | put, get and delete records | [`ObjectStore`], [`Value`], [`Key`] |
//! | find records by an index, or in a range of keys | [`Index`], [`KeyRange`] |
//! | walk over records one by one, and change them | [`Cursor`], [`Request::steps`] |
//! | read many records in bounded memory | [`Pages`] |
//! | wait for a result, await it, or be called back | [`Request`] |
//! | act on an error | [`Error`], [`ErrorName`], [`ErrorKind`] |
//! | several databases, origins, quotas, repair | [`Storage`], [`StorageOptions`], [`Factory`] |
//!
//! No JavaScript engine, no async runtime, no event loop: those are the host's.

mod blobs;
mod bucket_id;
mod change_feed;
mod connection;
mod cursor;
pub mod damage;
mod database;
mod ending;
mod error;
mod events;
mod execution;
mod executor;
mod factory;
pub mod file_system;
mod index;
mod inline_key;
mod key_path;
mod key_range;
mod loss;
#[cfg(all(test, shuttle))]
mod model;
mod name;
mod object_store;
mod open_request;
mod operation;
mod options;
mod origin;
mod origins;
mod pages;
mod quota;
mod reading;
mod request;
mod scheduler;
mod schema;
mod session;
mod statistics;
mod storage;
mod store_form;
#[cfg(feature = "stream")]
mod stream;
mod sync;
mod transaction;
mod value;

/// What keys and values are made of: the types in signatures of [`Key`], [`Value`] and [`StoredValue`], and how bytes become those.
#[doc(no_inline)]
pub use larder_codec as codec;

pub use bucket_id::BucketId;
pub use change_feed::Commits;
pub use connection::Connection;
pub use cursor::{Cursor, Steps};
pub use damage::Damage;
pub use database::Database;
pub use error::{Error, ErrorKind, ErrorName, Result};
pub use events::{Events, NextEvent};
pub use execution::{TransactionDurability, TransactionMode, TransactionOptions, TransactionState};
pub use executor::{Executor, WorkCallback};
pub use factory::{DatabaseInfo, Factory};
pub use file_system::{DiskFileSystem, FileSystem, MemoryFileSystem};
pub use index::Index;
pub use key_range::KeyRange;
pub use larder_backing_store::blob::{BlobSource, NewExternalObject};
pub use larder_backing_store::{
    Clock, CursorDirection, DATA_VERSION_MAX, FeedCleaned, FixedClock, Maintenance,
    NEW_STORE_VERSION, OverQuota, PageLimits, RaiseDataVersion, Repaired, RowInDoubt, RowPlace,
    RowsInDoubt, SystemClock, TailKind, TornTail, Usage,
};
pub use larder_codec::external_object::ExternalObject as ExternalObjectInfo;
pub use larder_codec::value::Foreign;
pub use larder_codec::{DataVersion, JsString, Key, KeyPath, Origin, OriginError};
pub use loss::{Loss, LossCallback, LossKind};
pub use name::{Name, Scope};
pub use object_store::{IndexParameters, ObjectStore, ObjectStoreParameters, PutItem};
pub use open_request::{DeleteEvent, DeleteRequest, OpenEvent, OpenRequest, Upgrade};
pub use options::{Scheduling, StorageOptions};
pub use origin::OriginInfo;
pub use origins::DeletedOrigin;
pub use pages::{Pages, PagesIter};
pub use quota::{Estimate, QuotaCallback};
pub use reading::GetAllOptions;
pub use request::Request;
pub use scheduler::{ConnectionEvent, VersionChange};
pub use session::PrivateSession;
pub use statistics::Statistics;
pub use storage::Storage;
pub use store_form::StoreForm;
#[cfg(feature = "stream")]
pub use stream::{EventStream, PageStream, StepStream};
pub use transaction::Transaction;
pub use value::records::{Record, Records, RecordsIter};
pub use value::{ExternalObject, StoredValue, Value};

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
