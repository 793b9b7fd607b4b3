//! The crate from outside: on the model, and with the features on real servers.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests fail like tests"
)]

mod ahead;
mod conformance;
mod content_place;
mod databases;
mod engine;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(all(feature = "etcd", feature = "postgres"))]
mod faults;
#[cfg(feature = "foundationdb")]
mod fdb;
mod laws;
mod leases;
mod model;
mod mortal;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(all(feature = "etcd", any(feature = "postgres", feature = "s3")))]
#[cfg_attr(not(feature = "postgres"), expect(dead_code))]
mod proxy;
mod races;
#[cfg(feature = "rados")]
mod rados;
mod readers;
mod requests;
#[cfg(all(feature = "etcd", feature = "s3"))]
mod s3;
mod scale;
mod setting;
mod simulation;
mod support;
mod workload;
