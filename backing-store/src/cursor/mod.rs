//! Cursors over records and over index entries, in IndexedDB's four directions.
//!
//! They lend: key and value are borrowed until the next move. A row that cannot be read is an error of one move, and
//! the move after it goes on behind that row.

mod index;
mod record;

pub use index::IndexCursor;
pub use record::RecordCursor;

/// In which order a cursor visits entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Ascending.
    Next,
    /// Ascending, only the first entry of each key.
    NextUnique,
    /// Descending.
    Prev,
    /// Descending by key, of each key the entry that ascending order visits first.
    PrevUnique,
}

impl Direction {
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
}
