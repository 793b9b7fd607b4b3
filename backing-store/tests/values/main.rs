//! Every value in every golden store, against what the codec makes of it.

#![expect(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

mod encoding;
mod file_sizes;
mod key_paths;
mod stores;
