//! Chromium's IndexedDB coding scheme: bytes to and from keys, rows and values.
//!
//! Pure: this crate reads no file, no clock and no random number. The byte shapes are recorded in
//! `docs/FORMAT.md`.

pub mod compare;
pub mod error;
pub mod idb_key;
pub mod ids;
pub mod js_string;
pub mod prefix;
pub mod primitive;
pub mod range;
mod reader;
pub mod row_key;
#[cfg(test)]
mod testing;
pub mod value;

pub use compare::{COMPARATOR_NAME, compare, compare_index_keys};
pub use error::{Error, ErrorKind, Result};
pub use idb_key::{IdbKey, KeyArray, KeyBound, RawKey};
pub use ids::{DatabaseId, IndexId, ObjectStoreId, ScopeId};
pub use js_string::JsString;
pub use prefix::KeyPrefix;
pub use row_key::RowKey;
