//! Bytes under a number that is never used twice: the content of files lies in them.
//!
//! # Contract
//! Checked by [`conformance::blobs`](crate::conformance::blobs).
//!
//! A blob is made of *segments*, each at an offset. A blob has one writer, which writes the segment at an offset once, with
//! bytes that never change, and behind all that it has written before; it may write the segment again, with equal bytes, when it does not learn the outcome of
//! the first time. What
//! was written is durable when [`Blobs::append`] returns, and every later read sees it. After an error any part of it may be there, or may come later.
//! There is no condition and no lock: a number that another process cannot have is what keeps writers apart.
//!
//! Deleting is for good: a late segment of the blob may come nevertheless, and then shows in [`Blobs::list`].

use crate::error::Result;
use crate::namespace::Namespace;
use std::fmt::Debug;
use std::ops::Range;

/// How many bytes a segment may have.
pub const SEGMENT_LEN_MAX: usize = 80_000;
/// How many bytes of offsets one [`Blobs::read`] may span, and how many bytes of segments one [`Blobs::append`] may have.
pub const SPAN_LEN_MAX: u64 = 1 << 20;

/// Bytes at an offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where it begins.
    pub offset: u64,
    /// Its bytes, as they are stored.
    pub bytes: Vec<u8>,
}

/// The blobs.
pub trait Blobs: Send + Sync + Debug {
    /// Writes segments of a blob; makes the blob with its first one.
    fn append(&self, namespace: &Namespace, blob: u64, segments: &[Segment]) -> Result<()>;
    /// The segments whose offsets are in a range, ascending. None if there are none, or no such blob.
    fn read(&self, namespace: &Namespace, blob: u64, offsets: Range<u64>) -> Result<Vec<Segment>>;
    /// Deletes a blob, if it is there.
    fn delete(&self, namespace: &Namespace, blob: u64) -> Result<()>;
    /// The numbers of the namespace's blobs that are greater than `after`, ascending, at most `count_max`. Fewer than that: there are no
    /// more.
    fn list(&self, namespace: &Namespace, after: Option<u64>, count_max: usize)
    -> Result<Vec<u64>>;

    /// Where the blobs lie, if that is elsewhere than the catalogue: an address without secrets, which a namespace keeps. `None`: with the catalogue.
    fn place(&self) -> Option<&str> {
        None
    }
}
