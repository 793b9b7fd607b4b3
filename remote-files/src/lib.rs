//! LevelDB's files in a distributed store.
//!
//! A host whose data outgrows one machine, or must outlive it, keeps its stores in a distributed engine that it runs already. [`RemoteFileSystem`] is
//! [`larder_leveldb::storage::FileSystem`] over two small traits of such an engine: [`Catalogue`], ordered small rows with conditional atomic commits,
//! and [`Blobs`], bytes under a number that is never used twice. `larder_leveldb::Db` and `larder-idb` work on it unchanged.
//!
//! One process at a time writes a [`Namespace`]; any process reads it. A process that has died, hung or was cut off loses the namespace to the
//! next one, and cannot damage what that one writes: see [`Session`]. The rows are documented in `docs/format/remote-files.md`.
//!
//! # Durability
//! A rename is durable when it returns, and bytes are when `sync` returns: the engine has acknowledged the commit that names them. Names that are
//! made or removed are part of the next commit, whatever that is for; `rename`, `sync` and `sync_dir` make one. What was only flushed, and such
//! names, wait in this process for [`Options::flush_delay`], or until a [`Keeper`]'s next tick after that; a process that dies takes that with it.
//! Readers elsewhere see what is durable.

mod address;
mod blobs;
mod cache;
mod catalogue;
mod clock;
mod cluster;
pub mod conformance;
mod content;
mod content_place;
mod engine_address;
mod error;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(feature = "foundationdb")]
mod fdb;
mod file_system;
mod frame;
mod holder;
#[cfg(any(feature = "etcd", feature = "postgres", feature = "s3"))]
mod io_thread;
mod keeper;
mod key;
pub mod model;
mod names;
mod namespace;
mod owner;
#[cfg(feature = "engine")]
mod percent;
mod place;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "rados")]
mod rados;
mod row;
#[cfg(feature = "s3")]
mod s3;
mod segment_key;
mod session;
mod statistics;
mod taking;
mod writer;

pub use address::Address;
pub use blobs::{Blobs, Cut, SEGMENT_LEN_MAX, SPAN_LEN_MAX, Segment};
pub use catalogue::{
    COMMIT_LEN_MAX, CONDITIONS_MAX, Catalogue, Commit, Condition, KEY_LEN_MAX, Lasting, Outcome,
    PAGE_ROWS_MAX, Page, Row, Snapshot, VALUE_LEN_MAX, WRITES_MAX, Write,
};
pub use clock::{Clock, SystemClock};
pub use cluster::Cluster;
pub use error::{Error, ErrorKind, Result};
#[cfg(feature = "etcd")]
pub use etcd::{Etcd, EtcdOptions, EtcdUrl};
#[cfg(feature = "foundationdb")]
pub use fdb::{FoundationDb, FoundationDbOptions, FoundationDbUrl};
pub use file_system::{Options, RemoteFileSystem};
pub use holder::{Holder, Lease};
pub use keeper::Keeper;
pub use namespace::{NAME_LEN_MAX, Namespace};
#[cfg(feature = "postgres")]
pub use postgres::{Postgres, PostgresOptions, PostgresUrl};
#[cfg(feature = "rados")]
pub use rados::{Rados, RadosOptions, RadosUrl};
#[cfg(feature = "s3")]
pub use s3::{S3, S3Options, S3Url};
pub use session::{Session, SessionOptions};
pub use statistics::{LATENCIES, Statistics};
pub use writer::Writer;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
