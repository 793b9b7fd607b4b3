//! Objects: bytes of any length, as pieces that are named by their content.
//!
//! An object is one piece if it is short; else it is cut into chunks, and indexes above them are the inner nodes of a tree whose leaves
//! they are. [`ObjectWriter`] makes pieces of a stream, [`ObjectReader`] reads any part of one. Neither holds more than a chunk and the
//! indexes above it. `docs/format/pages.md`, "Objects".

mod digest;
pub(crate) mod file_index;
mod identifier;
mod piece;
mod priority;
mod reader;
mod rolling_sum;
mod splitter;
mod writer;

pub use digest::{INLINE_LEN_MAX, ObjectDigest, ObjectType, PieceType, sha256_with_length};
pub use identifier::ObjectIdentifier;
pub use piece::{Piece, PieceSink, PieceSource, Reference};
pub use priority::Priority;
pub use reader::ObjectReader;
pub use splitter::{Cut, CutBits, SplitParameters, Splitter, WindowSide};
pub use writer::ObjectWriter;

#[cfg(test)]
pub(crate) mod tests;
