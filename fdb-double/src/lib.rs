//! A double of FoundationDB's C library, `libfdb_c`, for tests of this workspace.
//!
//! It is ours, and it is not FoundationDB: a store in memory behind the functions that the crate `foundationdb` calls. With it the real crate, and on it the
//! feature `foundationdb` of larder-remote-files, runs where FoundationDB cannot be had. What that proves is that the feature keeps FoundationDB's rules as
//! its documentation has them, and as they are written down once more here. It proves nothing of FoundationDB itself, which these tests have run nowhere.
//!
//! # What it does
//! - A cluster for each connection string, in memory, for the life of the process. The hosts are never asked.
//! - Versions of rows; reads at a version; 1007 for a version of more than 5 seconds ago, 1009 for one that is still to come.
//! - Ranges that a transaction has read are compared at its commit with those that others have written since: 1020.
//! - Limits: keys of 10,000 bytes (2102), values of 100,000 (2103), transactions of 10,000,000 (2101); keys of the system (2004).
//! - Futures that a network thread completes and whose callbacks it calls; a transaction's longest time (1031), its cancellation (1025).
//! - Ranges by pages: rows at most, bytes at most, streaming modes, and whether there may be more.
//!
//! # What it does not
//! Tenants, watches, atomic operations, versionstamps, mapped ranges, estimated sizes, addresses, reading in reverse, the retry loop of `on_error`, key selectors
//! other than the first key that is not less, or greater; and reading in a transaction that has written. All of these are refused with 2000. Options are taken
//! and not looked at, but for a transaction's time.
//!
//! # What it does more
//! A commit whose result is unknown (1021) may be made later. FoundationDB says that one is in flight no more; one of which nothing was heard in its time (1031) may be.
//!
//! # What a test can order
//! A row that is set under `\xff\xff/double/` is an instruction to the cluster, carried out when its transaction is committed. See `orders`.

mod cluster;
mod errors;
mod exports;
mod fate;
mod future;
mod network;
mod orders;
mod transaction;
