//! IndexedDB for a browser-like host, on Chromium's own store: databases with versions, transactions, object stores,
//! indexes, cursors, as W3C's "Indexed Database API 3.0" has them.
//!
//! No JavaScript engine, no async runtime, no event loop: those are the host's.

mod error;
mod key_range;
#[expect(dead_code, reason = "connections and operations come to it")]
mod schema;
mod statistics;
#[expect(dead_code, reason = "transactions and operations come to it")]
mod transaction;

pub use error::{Error, ErrorKind, ErrorName, Result};
pub use key_range::KeyRange;
pub use larder_codec::IdbKey as Key;
pub use statistics::Statistics;
