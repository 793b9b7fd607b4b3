//! Versioned, content-addressed, mergeable pages of entries on LevelDB.
//!
//! [`ObjectWriter`] and [`ObjectReader`] make pieces of values of any length, and values of pieces. [`Tree`] has entries whose root depends
//! on them alone. Every byte is described in `docs/format/pages.md`.

mod entry;
mod error;
mod flatbuffer;
#[cfg(test)]
mod format_vectors;
mod object;
#[cfg(test)]
mod testing;
mod tree;

pub use entry::{Change, Entry};
pub use error::{Error, ErrorKind, Result};
pub use object::{
    Cut, CutBits, INLINE_LEN_MAX, ObjectDigest, ObjectIdentifier, ObjectReader, ObjectType,
    ObjectWriter, Piece, PieceSink, PieceSource, PieceType, Priority, Reference, SplitParameters,
    Splitter, WindowSide, sha256_with_length,
};
pub use tree::{Diff, Entries, EntryDiff, ThreeWay, ThreeWayDiff, Tree};

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
