//! How a database is mirrored.

use larder_pages::{CollectPolicy, Fanout, PageOptions};

use super::entry_key::ENTRY_KEY_LEN_MAX;

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
/// // The second of several devices: its generated keys begin at 2^27 + 1.
/// let options = MirrorOptions::new().merge_by(MergeBy::Property).device_number(1);
/// assert_eq!(options.device_number, 1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MirrorOptions {
    /// The name of the change feed's consumer, `larder-sync` by default. It keeps clean-up from removing what is not in the page yet. A
    /// database that is mirrored into several pages needs one for each.
    pub consumer: String,
    /// In which parts records are merged.
    pub merge_by: MergeBy,
    /// So many records at most are in one commit when all records of a database go into the page for the first time, 16,384 by default: memory is that of
    /// their keys. What is changed later is one commit, since no transaction is in two.
    pub records_per_commit: usize,
    /// The device's number, from 0 to [`DEVICE_NUMBER_MAX`](Self::DEVICE_NUMBER_MAX), another one for each device. It says where among the
    /// numbers the device's generated keys begin, so that two devices do not generate one key: 2^18 places share a cycle of 2^28 numbers, and
    /// device 0 begins at 1, as a database does that is not mirrored.
    ///
    /// Whenever records of other devices come in, key generators go on from a place behind all numbers that are there. So no generated key
    /// ever overwrites a record that is there. Two devices do generate one key if they have one number, or if one generates thousands
    /// between two rounds, up to the place of another: that is a [conflict](super::Conflict), and both records are kept. At 2^53, after 2^25 cycles, a
    /// generator is used up, as IndexedDB has it.
    pub device_number: u32,
}

impl MirrorOptions {
    /// The greatest number of a device.
    pub const DEVICE_NUMBER_MAX: u32 = (1 << 18) - 1;

    /// Merging by record, for device 0.
    #[must_use]
    pub fn new() -> Self {
        Self {
            consumer: "larder-sync".to_owned(),
            merge_by: MergeBy::Record,
            records_per_commit: 16_384,
            device_number: 0,
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

    /// So many records at most in one commit of the first time.
    #[must_use]
    pub const fn records_per_commit(mut self, count: usize) -> Self {
        self.records_per_commit = count;
        self
    }

    /// The device's number; above [`DEVICE_NUMBER_MAX`](Self::DEVICE_NUMBER_MAX) it is that.
    #[must_use]
    pub const fn device_number(mut self, number: u32) -> Self {
        self.device_number = if number > Self::DEVICE_NUMBER_MAX {
            Self::DEVICE_NUMBER_MAX
        } else {
            number
        };
        self
    }
}

impl Default for MirrorOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// How the page of a mirror is opened: with keys of up to [`ENTRY_KEY_LEN_MAX`] bytes; made with a fan-out of 16, since records change one by
/// one; and without giving up what was synced, which the next merge needs.
#[must_use]
pub fn page_options() -> PageOptions {
    PageOptions {
        key_len_max: ENTRY_KEY_LEN_MAX,
        fanout: Fanout::Of16,
        collect: CollectPolicy::Never,
        ..PageOptions::default()
    }
}
