//! Segments: what a device writes to the cloud, one after the other. `docs/format/sync.md`, "Segments".
//!
//! A segment has pieces, each after those that it refers to, and then commits, each after its parents and the pieces of its tree, here or in
//! segments before. Its header says which, what segments the device had taken when it wrote, and what the header before was.

mod header;
mod place;
mod read;
mod write;

pub(crate) use place::Place;
pub(crate) use read::Segment;
pub(crate) use write::{SegmentMax, SegmentWriter};

/// What a segment begins with.
const MAGIC: [u8; 8] = *b"LRDRSYN\x02";
/// The magic, how it is sealed, the length of the sealed header.
const START_LEN: usize = 13;
