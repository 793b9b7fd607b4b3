//! The specification's rules, one test each: error conditions in the order of the algorithms' steps, and what is ordered or
//! undone. `docs/idb-rules.md` says which test shows which step; [`table`] holds it to that.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "helpers of tests fail like tests; the table of rules is a file"
)]

mod cursors;
mod databases;
#[path = "../support/either_form.rs"]
mod either_form;
mod generators;
mod indexes;
mod keys;
mod messages;
mod nesting;
mod object_stores;
mod storing;
mod support;
mod table;
mod transactions;
