//! Chromium's IndexedDB coding scheme: bytes to and from keys, rows and values.
//!
//! ```
//! use larder_codec::{Key, RawKey, RowKey, compare};
//!
//! // Keys order by their value, stored rows as Chromium's comparator orders them.
//! let (mut austen, mut seven) = (Vec::new(), Vec::new());
//! Key::from("Austen").encode(&mut austen);
//! Key::from(7).encode(&mut seven);
//! assert!(compare::compare_user_keys(&seven, &austen).is_lt());
//! assert_eq!(RawKey::decode_exact(&austen)?.to_key(), Key::from("Austen"));
//!
//! // A row of a store: database 1, object store 1, the record with the key 1.
//! let row = [0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
//! let RowKey::Record(record) = RowKey::decode_exact(&row)? else { panic!("another row") };
//! assert_eq!(record.key.to_key(), Key::from(1));
//! # Ok::<(), larder_codec::Error>(())
//! ```
//!
//! | to do | see |
//! |---|---|
//! | keys, one by one or within a row | [`Key`], [`RawKey`], [`RowKey`] |
//! | the order of rows | [`compare`](mod@compare) |
//! | values, Blink's envelope and V8's bytes | [`value`] |
//! | names of origins and of their folders | [`Origin`] |
//!
//! Pure: this crate reads no file, no clock and no random number. The byte shapes are recorded in
//! `docs/FORMAT.md`.

pub mod blob_journal;
pub mod compare;
pub mod data_version;
pub mod error;
pub mod external_object;
pub mod feed;
pub mod idb_key;
pub mod ids;
pub mod js_string;
pub mod key_path;
pub mod origin;
mod pairwise;
pub mod prefix;
pub mod primitive;
pub mod range;
mod reader;
pub mod row_key;
pub mod row_value;
pub mod scopes;
pub mod shown;
pub mod sortable;
#[cfg(test)]
mod testing;
pub mod value;
pub mod versioned;

pub use compare::{
    COMPARATOR_NAME, RowIdentity, RowOrder, compare, compare_index_keys, row_head, row_identity,
};
pub use data_version::DataVersion;
pub use error::{Error, ErrorKind, Result};
pub use idb_key::{Key, KeyArray, KeyBound, KeyScalar, RawKey};
pub use ids::{BlobNumber, DatabaseId, IndexId, ObjectStoreId, RecordVersion, ScopeId};
pub use js_string::JsString;
pub use key_path::KeyPath;
pub use origin::{Origin, OriginError};
pub use prefix::KeyPrefix;
pub use row_key::RowKey;
pub use row_value::RowValue;

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
