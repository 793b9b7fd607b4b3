//! The interface as a host in C has it: the header, and programs that are compiled against it.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers of tests fail like tests, and tests that are skipped say so"
)]

mod examples;
mod header;
mod install;
mod nulls;
mod programs;
