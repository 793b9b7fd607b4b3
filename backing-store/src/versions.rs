//! The versions that stores have, which are known here, and how a store that is open for writing keeps its own.
//!
//! A Chromium deletes a store whose schema or data version is greater than its own. So neither is raised by opening, and the
//! data version only for a value that has no form in it, where the host allows that
//! ([`RaiseDataVersion`]).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use larder_codec::DataVersion;

use crate::sync::locked;

/// The newest schema that Chromium writes, and the oldest that it still opens.
pub const SCHEMA_VERSION_MAX: i64 = 5;
/// See [`SCHEMA_VERSION_MAX`].
pub const SCHEMA_VERSION_MIN: i64 = 3;

/// The greatest versions of the value formats that Larder reads and writes: those of Chromium 150 to 156, V8's 16 as seen in their stores,
/// Blink's 21 (`IDB/indexed_db_data_format_version`). Of stores with greater ones nothing is written.
pub const DATA_VERSION_MAX: DataVersion = DataVersion { v8: 16, blink: 21 };

/// The versions that a store has which is made here: those of Chromium 92, the oldest that opens stores of today's schema.
pub const NEW_STORE_VERSION: DataVersion = DataVersion { v8: 13, blink: 20 };

/// When a store's data version may be raised, for a value that has no form in it.
///
/// A raise shuts out whatever has lesser versions of the formats: a Chromium or Electron that finds a greater data version than
/// its own takes the store for damaged and **deletes it**, when it opens it next. It cannot be taken back. A Chromium that has
/// greater versions raises the store's itself at opening.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RaiseDataVersion {
    /// Never: such a value is refused.
    Never,
    /// As long as a store that was made in this run has not been closed: no other program has opened it yet. Later such
    /// a value is refused.
    #[default]
    WhileNew,
    /// Whenever a value needs it.
    WhenNeeded,
}

/// From this schema on, file entries state size and time.
const FILE_INFO_SCHEMA_MIN: i64 = 4;

/// The versions of a store that is open for writing, as they are now.
#[derive(Debug)]
pub struct StoreVersions {
    schema: i64,
    /// The data version's two halves.
    data: AtomicU64,
    may_raise: bool,
    raising: Mutex<()>,
}

impl StoreVersions {
    pub(crate) fn new(
        schema: i64,
        data: DataVersion,
        is_new: bool,
        raise: RaiseDataVersion,
    ) -> Self {
        Self {
            schema,
            data: AtomicU64::new(packed(data)),
            may_raise: match raise {
                RaiseDataVersion::Never => false,
                RaiseDataVersion::WhileNew => is_new,
                RaiseDataVersion::WhenNeeded => true,
            },
            raising: Mutex::default(),
        }
    }

    /// The versions of a store that is only read.
    pub(crate) fn of_reader(schema: i64, data: DataVersion) -> Self {
        Self::new(schema, data, false, RaiseDataVersion::Never)
    }

    /// Whether rows of external objects have the form of schema 3.
    pub(crate) const fn lacks_file_info(&self) -> bool {
        self.schema < FILE_INFO_SCHEMA_MIN
    }

    pub(crate) const fn schema(&self) -> i64 {
        self.schema
    }

    /// Those of the value formats: what values are to be written in. They rise only by
    /// [`WriteTransaction::require_data_version`](crate::WriteTransaction::require_data_version).
    #[must_use]
    pub fn data(&self) -> DataVersion {
        let packed = self.data.load(Ordering::Acquire);
        DataVersion {
            v8: (packed >> 32) as u32,
            blink: packed as u32,
        }
    }

    /// Whether a value that needs these versions may be written: the store has them, or may be raised to them.
    #[must_use]
    pub fn may_hold(&self, needed: DataVersion) -> bool {
        self.data().is_at_least(needed) || (self.may_raise && DATA_VERSION_MAX.is_at_least(needed))
    }

    /// For the one that writes the row.
    pub(crate) fn raising(&self) -> MutexGuard<'_, ()> {
        locked(&self.raising)
    }

    /// The row has been written.
    pub(crate) fn note_raised(&self, data: DataVersion) {
        self.data.store(packed(data), Ordering::Release);
    }
}

fn packed(version: DataVersion) -> u64 {
    u64::from(version.v8) << 32 | u64::from(version.blink)
}
