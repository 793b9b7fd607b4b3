#![doc = include_str!("../README.md")]
//!
//! | to do | see |
//! |---|---|
//! | turn the feed on | [`Transaction::set_change_feed`](larder_idb::Transaction::set_change_feed) |
//! | read revisions, and wait for more | [`Feed::read_from`], [`Reader`] |
//! | keep a position in the database | [`Feed::consumer`], [`Consumer`] |
//! | see the database as it was | [`Feed::at`], [`Past`] |
//! | let outdated revisions go | [`Feed::clean`], [`CleanUp`] |

mod clean;
mod consumer;
mod error;
mod feed;
mod lookup;
mod mark;
mod past;
mod read;
mod revision;
mod value;

pub use clean::{CleanUp, Cleaned};
pub use consumer::Consumer;
pub use error::{Error, Result};
pub use feed::Feed;
pub use larder_idb::codec::value::RevisionKind;
pub use past::{Past, PastObjectStore, PastRecords};
pub use read::{Batch, ReadOptions, Reader};
pub use revision::Revision;
pub use value::RevisionValue;
