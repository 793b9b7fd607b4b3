//! What must hold for any bytes at all. Each function takes what a fuzzer made up and panics if a law is broken.
//!
//! The fuzz targets in `fuzz/fuzz_targets` call one function each; `cargo test` runs every function over its corpus in
//! `fuzz/corpus`, which `examples/seeds` makes from the golden stores.
//!
//! Checksums keep a fuzzer out of whatever lies behind them, so the functions for files take their input in more than one
//! way (its first byte chooses): as the file itself; as content that gets right checksums; and as damage done to a file
//! whose content is known. Bytes with right checksums may lie about anything, so only then is little asked: no panic, and
//! one answer whichever way it is read. Damage to a known file must not show anything that was not written.
#![expect(
    clippy::panic,
    clippy::expect_used,
    reason = "a panic is how a broken law is reported"
)]

mod archive;
mod base;
mod codec;
mod dexie;
pub mod files;
mod hostile;
mod input;
mod key_path;
mod log;
mod manifest;
mod reading;
mod store_directory;
mod store_writing;
mod table;
mod transactions;
mod value;
pub mod write;

pub use archive::archive;
pub use codec::{codec_round_trip, comparator_laws};
pub use dexie::dexie;
pub use hostile::{hostile_files, hostile_store};
pub use key_path::key_paths;
pub use log::log;
pub use manifest::manifest;
pub use store_directory::store_directory;
pub use store_writing::store_writing;
pub use table::table;
pub use transactions::transactions;
pub use value::{value_decoding, value_encoding};
