//! What must hold for any bytes at all. Each function takes what a fuzzer made up and panics if a law is broken.
//!
//! The fuzz targets in `fuzz/fuzz_targets` call one function each; `cargo test` runs every function over its corpus in
//! `fuzz/corpus`.
#![expect(clippy::panic, clippy::expect_used, reason = "a panic is how a broken law is reported")]

mod codec;
mod engine;
mod store;
mod value;

pub use codec::{codec_round_trip, comparator_laws};
pub use engine::{log, manifest, table};
pub use store::store_directory;
pub use value::value_decoding;
