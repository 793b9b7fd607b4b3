//! The number of a storage bucket.

use std::fmt;
use std::num::NonZeroU64;

/// The number of a storage bucket, from 1 to 2^63 - 1. Chromium gives it, and lists it with the bucket's name and storage key in its
/// quota database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BucketId(NonZeroU64);

impl BucketId {
    /// `None` for 0, and above 2^63 - 1.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        let number = NonZeroU64::new(number)?;
        i64::try_from(number.get()).is_ok().then_some(Self(number))
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The bucket of a folder of this name, which is the number as it is written.
    pub(crate) fn of_folder(name: &str) -> Option<Self> {
        let id = Self::new(name.parse().ok()?)?;
        (id.to_string() == name).then_some(id)
    }
}

impl fmt::Display for BucketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
