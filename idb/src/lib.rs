//! IndexedDB for a browser-like host, on Chromium's own store: databases with versions, transactions, object stores,
//! indexes, cursors, as W3C's "Indexed Database API 3.0" has them.
//!
//! No JavaScript engine, no async runtime, no event loop: those are the host's.

mod connection;
mod error;
mod events;
mod executor;
mod factory;
mod key_range;
mod open_request;
mod origin;
mod request;
mod scheduler;
#[expect(dead_code, reason = "operations come to it")]
mod schema;
mod statistics;
mod storage;
mod sync;
#[expect(dead_code, reason = "operations come to it")]
mod transaction;

pub use connection::{Connection, ConnectionEvent, VersionChange};
pub use error::{Error, ErrorKind, ErrorName, Result};
pub use events::{Events, NextEvent};
pub use executor::Executor;
pub use factory::{DatabaseInfo, Factory};
pub use key_range::KeyRange;
pub use larder_backing_store::{Clock, DATA_VERSION};
pub use larder_codec::{DataVersion, IdbKey as Key, IdbKeyPath, JsString, Origin};
pub use larder_leveldb::storage::{DiskFileSystem, FileSystem, MemoryFileSystem};
pub use open_request::{DeleteEvent, DeleteRequest, OpenEvent, OpenRequest, Upgrade};
pub use request::Request;
pub use statistics::Statistics;
pub use storage::{Scheduling, Storage, StorageOptions};
pub use transaction::{DurabilityHint, Mode, Transaction, TransactionOptions, TransactionState};
