//! How a database is mirrored.

/// In which parts a record is merged that two devices have changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MergeBy {
    /// As one: the later head's record is kept.
    #[default]
    Record,
    /// By its top-level properties, if both are plain objects without blobs, of at most 16 MiB: those that one device has changed are taken
    /// from it. Where both have changed one, the later head's is kept. Anything else is merged by record.
    Property,
}

/// How a database is mirrored. All devices of a page must merge alike, or they never agree.
///
/// ```
/// use larder_sync::{MergeBy, MirrorOptions};
///
/// // The second of several devices: its generated keys begin at 2^32 + 1.
/// let options = MirrorOptions::new().merge_by(MergeBy::Property).range(1);
/// assert_eq!(options.range, 1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MirrorOptions {
    /// The name of the change feed's consumer, `larder-sync` by default. It keeps clean-up from removing what is not in the page yet. A
    /// database that is mirrored into several pages needs one for each.
    pub consumer: String,
    /// In which parts records are merged.
    pub merge_by: MergeBy,
    /// The device's range of generated keys: from `range` * 2^32 + 1 on, 2^32 of them. Each device needs another, at most
    /// [`RANGE_MAX`](Self::RANGE_MAX); 0 is the natural one.
    pub range: u32,
}

impl MirrorOptions {
    /// The greatest number of a range: generated keys end at 2^53.
    pub const RANGE_MAX: u32 = (1 << 21) - 1;

    /// Merging by record, in the natural range of keys.
    #[must_use]
    pub fn new() -> Self {
        Self {
            consumer: "larder-sync".to_owned(),
            merge_by: MergeBy::Record,
            range: 0,
        }
    }

    /// The name of the change feed's consumer.
    #[must_use]
    pub fn consumer(mut self, name: impl Into<String>) -> Self {
        self.consumer = name.into();
        self
    }

    /// In which parts records are merged.
    #[must_use]
    pub const fn merge_by(mut self, merge_by: MergeBy) -> Self {
        self.merge_by = merge_by;
        self
    }

    /// The device's range of generated keys; above [`RANGE_MAX`](Self::RANGE_MAX) it is that.
    #[must_use]
    pub const fn range(mut self, range: u32) -> Self {
        self.range = if range > Self::RANGE_MAX {
            Self::RANGE_MAX
        } else {
            range
        };
        self
    }
}

impl Default for MirrorOptions {
    fn default() -> Self {
        Self::new()
    }
}
