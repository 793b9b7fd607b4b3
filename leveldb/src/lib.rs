//! LevelDB's file format in safe Rust, over a file-system seam.
//!
//! ```
//! use std::{path::Path, sync::Arc};
//! use larder_leveldb::{Db, Durability, Options, storage::MemoryFileSystem};
//!
//! // `DiskFileSystem` keeps it in a folder.
//! let files = Arc::new(MemoryFileSystem::new());
//! let options = Options { create_if_missing: true, ..Options::default() };
//! let db = Db::open(files, Path::new("fruit"), options)?;
//! for fruit in ["apple", "pear", "plum"] {
//!     db.put(fruit.as_bytes(), b"ripe", Durability::Relaxed)?;
//! }
//! assert_eq!(db.get(b"pear")?.as_deref(), Some(&b"ripe"[..]));
//! for row in db.range("b"..) {
//!     let (fruit, state) = row?;
//!     println!("{fruit:?} is {state:?}");
//! }
//! db.close()?;
//! # Ok::<(), larder_leveldb::Error>(())
//! ```
//!
//! [`Db`] opens a store for reading and writing, or for reading alone, beside a process that may have it open for writing;
//! [`Snapshot`], [`Rows`], [`Iter`] and [`Entries`] read it. Every checksum is verified. Reading alone, damage is an error or, with
//! [`OnDamage::Skip`], a list ([`Damage`]) beside everything that is whole.
//!
//! Below that, one module for each structure of the format, reader and writer side by side. What keys and values
//! mean is not its business.

mod background_pool;
mod bounds;
mod cache;
mod comparator;
mod core;
mod damage;
mod db;
mod destroy;
mod doubt;
mod engine;
mod entries;
mod error;
mod hash;
mod heads;
mod iter;
mod lost;
mod manifest;
mod memtable;
mod merge;
mod on_damage;
mod open;
mod options;
mod order_check;
mod pinned;
mod read_state;
mod repair;
mod size;
mod skip_list;
mod snapshot;
mod sort;
mod sorted;
mod source;
mod sync;
mod table_file;
mod tombstones;
mod torn;
mod unordered;
mod unsorted;
mod version;

pub mod block;
pub mod compression;
pub mod crc;
pub mod file_name;
pub mod filter;
pub mod internal_key;
pub mod log;
pub mod storage;
pub mod table;
pub mod varint;
pub mod version_edit;
mod words;
pub mod write_batch;

pub use background_pool::{BackgroundPool, BackgroundWork};
pub use bounds::Bounds;
pub use cache::BlockCache;
pub use comparator::{BytewiseComparator, Comparator, Identity, KeyFacts};
pub use damage::{Damage, DamageKind, KeyRange};
pub use db::{Db, LiveFile};
pub use destroy::destroy;
pub use engine::{
    BackgroundPause, Durability, IngestedRow, Ingestion, LevelStatistics, Statistics,
};
pub use entries::Entries;
pub use error::{Error, ErrorKind, Result};
pub use internal_key::EntryKind;
pub use iter::{Iter, Rows};
pub use on_damage::OnDamage;
pub use options::{Background, Options};
pub use order_check::KeyOrder;
pub use pinned::PinnedBytes;
pub use repair::{
    DamagedEntry, ROWS_IN_DOUBT_LISTED_MAX, Repaired, RowInDoubt, RowState, RowsInDoubt, Salvage,
    SalvagedRows, repair,
};
pub use snapshot::Snapshot;
pub use sorted::write_sorted;
pub use torn::{TailKind, TornTail};

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
