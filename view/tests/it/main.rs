//! Attacks on the server, by clients that write bytes, and what it does for a source. Each test is named after what is tried.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "threads and times of the tests' own; what fails here fails the test"
)]

mod bodies;
mod downloads;
mod entries;
mod paths;
mod senders;
mod slow;
mod sources;
#[path = "../support/mod.rs"]
mod support;
mod tokens;
