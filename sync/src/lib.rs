#![doc = include_str!("../README.md")]
//!
//! | to do | see |
//! |---|---|
//! | sync a page with a cloud | [`PageSync`], [`Round`] |
//! | keep a database and a page alike | [`Mirror`], [`create_from_page`] |
//! | look at what two devices have changed | [`Mirror::conflicts`], [`Conflict`] |
//! | show how it stands | [`StatusReader`], [`SyncState`] |
//! | seal what a cloud is given | [`CloudKey`] |
//! | use a folder as a cloud | [`FolderCloud`] |
//! | use another store as a cloud | [`Cloud`], [`cloud::conformance`] |

mod bytes;
pub mod cloud;
mod device;
mod error;
mod mirror;
mod page_sync;
mod position;
mod seal;
mod segment;

#[cfg(feature = "remote")]
pub use cloud::CatalogueCloud;
pub use cloud::{Cloud, FolderCloud, OBJECT_LEN_MAX, Put};
pub use device::DeviceId;
pub use error::{Error, ErrorKind, Result};
pub use mirror::{
    Applied, Conflict, ENTRY_KEY_LEN_MAX, LeftAlone, MergeBy, Merged, Mirror, MirrorError,
    MirrorOptions, MirrorResult, MirroredValue, Reason, Taken, create_from_page, page_options,
};
pub use page_sync::{
    Downloaded, PageSync, Round, StatusReader, SyncProgress, SyncState, SyncStatus, Uploaded,
};
pub use seal::CloudKey;

/// The examples of the guide are tests.
#[cfg(doctest)]
#[doc = include_str!("../../docs/guide-sync.md")]
struct Guide;
