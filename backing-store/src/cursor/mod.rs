//! Cursors over records and over index entries, in IndexedDB's four directions.
//!
//! They lend: key and value are borrowed until the next move. A row that cannot be read is an error of one move, and
//! the move after it goes on behind that row. Made by a transaction that writes, they see what it has written up to the
//! moment of each move.

mod index;
mod index_row;
mod live_versions;
mod page;
mod range_rows;
mod record;
mod rows_ahead;

pub use index::IndexCursor;
pub(crate) use index::OnStale;
pub(crate) use index_row::decode_value;
pub use page::{Page, PageEntry, PageLimits};
pub use record::RecordCursor;

use std::cmp::Ordering;

use larder_codec::RawKey;

use crate::error::{Error, ErrorKind, Result};

/// In which order a cursor visits entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorDirection {
    /// Ascending.
    Next,
    /// Ascending, only the first entry of each key.
    NextUnique,
    /// Descending.
    Prev,
    /// Descending by key, of each key the entry that ascending order visits first.
    PrevUnique,
}

impl CursorDirection {
    /// Whether keys ascend.
    #[must_use]
    pub const fn is_forward(self) -> bool {
        matches!(self, Self::Next | Self::NextUnique)
    }

    /// Whether each key is visited once.
    #[must_use]
    pub const fn is_unique(self) -> bool {
        matches!(self, Self::NextUnique | Self::PrevUnique)
    }

    /// Refuses a target that is not behind the place where the cursor stands.
    fn check_target(self, place_to_target: Ordering) -> Result<()> {
        let wanted = if self.is_forward() {
            Ordering::Less
        } else {
            Ordering::Greater
        };
        if place_to_target == wanted {
            return Ok(());
        }
        let what = "the key to continue to is not behind the cursor, in its direction";
        Err(Error::new(ErrorKind::Usage, what))
    }
}

/// How far a cursor moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Movement<'a> {
    /// To the next entry.
    Next,
    /// By so many entries, at least one.
    Advance(u32),
    /// To the first entry that has this key or lies behind it, in the cursor's direction.
    To(RawKey<'a>),
    /// To the first entry of an index that has this index key and this primary key, or lies behind. Only in the two
    /// directions that are not unique.
    ToEntry(RawKey<'a>, RawKey<'a>),
}

impl Movement<'_> {
    /// Moves without a target: how many.
    fn count(self) -> Result<u32> {
        match self {
            Self::Advance(0) => Err(Error::new(
                ErrorKind::Usage,
                "a cursor cannot be advanced by 0",
            )),
            Self::Advance(count) => Ok(count),
            _ => Ok(1),
        }
    }
}

#[cfg(test)]
mod tests;
