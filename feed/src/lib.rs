#![doc = include_str!("../README.md")]
//!
//! | to do | see |
//! |---|---|
//! | turn the feed on | [`Transaction::set_change_feed`](larder_idb::Transaction::set_change_feed) |
//! | read revisions, and wait for more | [`Feed::read_from`], [`Reader`] |
//! | read for a host's scripts | [`Follower`], [`set_change_feed`] |
//! | keep a position in the database | [`Feed::consumer`], [`Consumer`] |
//! | see the database as it was | [`Feed::at`], [`Past`] |
//! | bring changes to the source that the database is a copy of | [`Consumer::write_back`], [`WriteBack`] |
//! | write what comes from the source, and keep what was changed here | [`Feed::from_source`], [`FromSource`] |
//! | let outdated revisions go | [`Feed::clean`], [`CleanUp`] |

mod clean;
mod consumer;
mod error;
mod feed;
mod follower;
mod from_source;
mod lookup;
mod mark;
mod past;
mod read;
mod revision;
mod value;
mod write_back;

pub use clean::{CleanUp, Cleaned};
pub use consumer::Consumer;
pub use error::{Error, Result};
pub use feed::Feed;
pub use follower::{Follower, Start, set_change_feed};
pub use from_source::{ChangedHere, FromSource, Merged};
pub use larder_idb::codec::value::RevisionKind;
pub use past::{Past, PastObjectStore, PastRecords};
pub use read::{Batch, ReadOptions, Reader, TransactionRevisions};
pub use revision::Revision;
pub use value::RevisionValue;
pub use write_back::{BackOff, Progress, Sent, WriteBack};
