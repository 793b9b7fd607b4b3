//! Tests of the command as a whole: one program, so that helpers are shared and linked once.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests stop on trouble, say what they tried, and prepare real files"
)]

mod archive;
mod canonical;
mod canonical_blobs;
mod canonical_values;
mod command;
mod copy;
mod damage;
mod diff;
#[cfg(unix)]
mod failures;
mod feed;
mod find;
mod foreign;
mod gates;
#[cfg(all(feature = "sync", unix))]
mod guide;
#[cfg(target_os = "linux")]
mod hostile;
mod maintain;
#[cfg(unix)]
mod messages;
mod nesting;
mod opened_for_writing;
mod other_orders;
mod pages;
mod processes;
mod readme;
#[cfg(all(feature = "etcd", feature = "postgres"))]
mod remote;
mod repair;
mod scripts;
#[cfg(all(feature = "sqlite", unix))]
mod sqlite;
mod stat;
mod support;
#[cfg(all(feature = "scripts", feature = "sync"))]
mod sync;
mod verify;
#[cfg(feature = "view")]
mod view;
mod whole;
