//! Damaged places of a store, as the engine names them: by file, offset and the bytes of keys.
//!
//! [`Loss`](crate::Loss) says what was lost in terms of databases, object stores and keys.

pub use larder_leveldb::{Damage, DamageKind, KeyRange};
