//! The metadata tree: databases, their object stores, their indexes.
//!
//! Read as Chromium reads it (`docs/FORMAT.md`, metadata), except that a damaged or missing row is reported and the
//! rest still loaded, where Chromium stops in silence.

mod database;
mod index;
mod name;
mod named_ids;
mod object_store;
mod rows;

pub use database::DatabaseMetadata;
pub use index::IndexMetadata;
pub use name::DatabaseName;
pub use object_store::ObjectStoreMetadata;

pub(crate) use database::{read_database, read_database_version, read_databases, read_version};
pub(crate) use name::read_database_names;
pub(crate) use named_ids::NamedIds;
pub(crate) use object_store::{object_store_named, read_object_store, read_object_stores};
