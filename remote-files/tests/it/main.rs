//! The crate from outside, on the model.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests fail like tests"
)]

mod conformance;
mod databases;
mod engine;
mod leases;
mod model;
mod races;
mod readers;
mod simulation;
mod support;
mod workload;
