//! Where devices meet: bytes under names, which never change.
//!
//! # Contract
//! Checked by [`conformance`].
//!
//! A name is folders and a name with `/` between them, each of 1 to 64 of the characters `a` to `z`, `0` to `9` and `-`; at most four. What
//! [`Cloud::put`] has put is there whole or not at all, at once or some time later for other devices, and in any order: a folder that is synced
//! by something else is a cloud. A cloud need not be trusted: what it gives is checked, and may be sealed ([`CloudKey`](crate::CloudKey)).

#[cfg(feature = "remote")]
mod catalogue;
pub mod conformance;
mod folder;

#[cfg(feature = "remote")]
pub use catalogue::CatalogueCloud;
pub use folder::FolderCloud;

use crate::error::{Error, ErrorKind, Result};
use std::fmt::Debug;
use std::ops::Range;

/// How many bytes may be put under a name.
pub const OBJECT_LEN_MAX: usize = 4 << 20;

/// What has become of bytes that were put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// They are there, for good: they survive the death of this machine.
    Done,
    /// The name was taken, and has what it had.
    Taken,
}

/// A cloud.
pub trait Cloud: Send + Sync + Debug {
    /// Puts bytes under a name, unless it is taken: all of them or none, whatever happens meanwhile. After an error they may be there.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable); [`Usage`](ErrorKind::Usage) for a name that is none, or more than [`OBJECT_LEN_MAX`] bytes.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<Put>;

    /// The bytes under a name that are in a range, fewer where it ends; `None` if there is nothing.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable); [`Usage`](ErrorKind::Usage) for a name that is none.
    fn read(&self, name: &str, range: Range<u64>) -> Result<Option<Vec<u8>>>;

    /// What is in a folder: the last parts of names, of folders too, ascending. A folder that nothing was put into is empty.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable); [`Usage`](ErrorKind::Usage) for a name that is none.
    fn list(&self, folder: &str) -> Result<Vec<String>>;
}

/// Parts of a name, if it is one.
pub(crate) fn parts(name: &str) -> Result<Vec<&str>> {
    let is_part = |part: &&str| {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=64).contains(&part.len()) && part.bytes().all(allowed)
    };
    let parts: Vec<&str> = name.split('/').collect();
    match parts.len() <= 4 && parts.iter().all(is_part) {
        true => Ok(parts),
        false => {
            let what = format!("{:?} is no name in a cloud", name);
            Err(Error::new(ErrorKind::Usage, what))
        }
    }
}

pub(crate) fn check_len(bytes: &[u8]) -> Result<()> {
    match bytes.len() <= OBJECT_LEN_MAX {
        true => Ok(()),
        false => {
            let what = format!(
                "{} bytes for one name of a cloud: at most {OBJECT_LEN_MAX}",
                bytes.len()
            );
            Err(Error::new(ErrorKind::Usage, what))
        }
    }
}
