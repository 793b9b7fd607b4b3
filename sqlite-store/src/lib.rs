//! Chromium's IndexedDB store in SQLite files, read and written.
//!
//! A store is a folder with one SQLite file for each database. [`open`] gives it as a [`Store`](larder_backing_store::Store): its data in the terms of
//! the rows that a LevelDB store has, made as they are asked for. What is read so, how ids are mapped, and what the two forms cannot
//! say of each other stands in `docs/format/sqlite.md`. [`NewDatabase`] writes the file of a database, whole.
//!
//! ```
//! use std::path::Path;
//! use std::sync::Arc;
//! use larder_leveldb::storage::{FileSystem, MemoryFileSystem};
//!
//! let fs: Arc<dyn FileSystem> = Arc::new(MemoryFileSystem::new());
//! let folder = Path::new("http_127.0.0.1_8080");
//! fs.create_dir(folder)?;
//! // No file in it is a database's.
//! let error = larder_sqlite_store::open(&fs, folder, Path::new("/tmp")).unwrap_err();
//! assert_eq!(error.kind(), larder_backing_store::ErrorKind::NotAStore);
//! # Ok::<(), std::io::Error>(())
//! ```

mod blobs;
mod cursor;
mod database;
mod file_names;
mod image;
mod live;
mod lookups;
mod metadata_rows;
mod notes;
mod open;
mod page;
mod parts;
mod place;
mod rows;
mod schema;
mod sql;
mod value;
mod wal;
mod write;

pub use live::{delete_store, open_for_writing};
pub use open::open;
pub use write::{Finished, NewDatabase, RecordRow, Unsaid};
