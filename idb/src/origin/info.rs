//! What a host sees of an origin.

use std::sync::Arc;

use larder_backing_store::{OriginNote, Usage, is_persisted};
use larder_codec::Origin as OriginName;

use super::{Origin, Stored};
use crate::bucket_id::BucketId;
use crate::error::Result;
use crate::sync::locked;

/// An origin that stores something.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OriginInfo {
    /// Which; the opaque one if a bucket's store does not name it.
    pub origin: OriginName,
    /// The bucket, unless it is the origin's default one in its own site.
    pub bucket: Option<BucketId>,
    /// The bytes of its files.
    pub usage: Usage,
    /// When it was last used: microseconds since 1601-01-01 UTC by the storage's clock, or by its files' times if it was last used by
    /// another program.
    pub last_used_us: i64,
    /// When something was last committed, likewise.
    pub last_modified_us: i64,
    /// Whether it is to stay when room is wanted.
    pub is_persisted: bool,
    /// Whether there are connections, or requests under way.
    pub is_in_use: bool,
}

impl Origin {
    /// What a host sees of it.
    ///
    /// # Errors
    /// If its files cannot be listed.
    pub(crate) fn info(self: &Arc<Self>) -> Result<OriginInfo> {
        let (fs, paths) = (&*self.place.fs, &self.place.paths());
        let is_in_use =
            matches!(&locked(&self.state).store, Stored::InUse(store) if store.strong_count() > 0);
        let usage = self.usage()?;
        let kept = *locked(&self.note);
        let note = match kept {
            Some(note) => note,
            None => OriginNote::read(fs, paths)?,
        };
        Ok(OriginInfo {
            origin: self.name.clone(),
            bucket: self.place.bucket,
            usage,
            last_used_us: note.last_used_us,
            last_modified_us: note.last_modified_us,
            is_persisted: is_persisted(fs, paths)?,
            is_in_use,
        })
    }
}
