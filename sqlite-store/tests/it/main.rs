//! Stores in SQLite files: one program, so that helpers are shared and linked once.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests stop on trouble, and read real files"
)]

mod files;
mod harm;
mod killed;
mod live;
mod log;
mod rows;
mod support;
mod written;
