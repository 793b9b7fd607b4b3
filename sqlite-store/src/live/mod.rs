//! A store that is open for writing: SQLite works on the files themselves, in write-ahead mode.
//!
//! Each database has one connection that writes, one that reads the contents of blobs as they are now, and as many that hold a moment as there are
//! readers that have looked at something (`reader`, `rows`). A commit of rows is said in statements (`commit`, `schema_changes`).

mod blob_files;
mod commit;
mod delete;
mod file;
mod files;
mod open;
pub(crate) mod opened;
mod reader;
mod rows;
mod schema_changes;
mod store;

pub use delete::delete_store;
pub(crate) use file::connect;
pub use open::open_for_writing;
