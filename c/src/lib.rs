//! IndexedDB on `larder-idb` for hosts in C and C++: `include/larder.h`, which cbindgen makes of this crate.
//!
//! Handles are boxes that the host owns. What a request comes to is put into a queue, and the host's callbacks are
//! called where it runs its loop, and nowhere else. No panic crosses the border. How to build, link and use it, and
//! the rules of threads, stand in `c/README.md`.
//!
//! This is the one crate with `unsafe` code. What C points at is read in [`pointers`], what C has given to be called is called in
//! [`callback`]; besides, each exported function that takes a raw pointer has one block, which names the promise in its
//! documentation.

pub mod blob;
pub mod bucket;
pub mod builder;
pub mod callback;
pub mod connection;
mod context;
pub mod cursor;
pub mod error;
pub mod factory;
pub mod foreign;
mod guard;
mod host_loop;
pub mod index;
pub mod key;
pub mod key_range;
pub mod loss;
pub mod new_blob;
pub mod object_store;
pub mod open;
pub mod options;
pub mod origins;
mod outcome;
pub mod pointers;
pub mod records;
pub mod request;
pub mod storage;
#[cfg(test)]
mod tests;
pub mod text;
pub mod transaction;
pub mod value;
pub mod version;
pub mod version_change;
