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

/// How a blob is cut that is written at once: into segments side by side, of which all but the last one are equally long, as many to a call of
/// [`Blobs::append`] as it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// From a segment's offset to the next one.
    pub step: u64,
    /// How many bytes a segment has beyond that.
    pub frame_len: u64,
    /// Where the last segment ends.
    pub end: u64,
}

impl Cut {
    /// How many segments a call has, but for the last one.
    pub fn segments_of_one_call(&self) -> u64 {
        (SPAN_LEN_MAX / self.step.saturating_add(self.frame_len).max(1)).max(1)
    }

    /// The segments of each call that has some in a range: all of that call's, their offsets and lengths.
    ///
    /// ```
    /// use larder_remote_files::Cut;
    ///
    /// let cut = Cut { step: 65_536, frame_len: 4, end: 15 * 65_536 + 1000 };
    /// let calls: Vec<_> = cut.calls(&(14 * 65_536..cut.end)).collect();
    /// assert_eq!(calls[0].len(), 15);
    /// assert_eq!(calls[1], [(15 * 65_536, 1004)]);
    /// ```
    pub fn calls(&self, offsets: &Range<u64>) -> impl Iterator<Item = Vec<(u64, u64)>> {
        let cut = *self;
        let step = cut.step.max(1);
        let of_one_call = cut.segments_of_one_call();
        let calls = offsets.start / step / of_one_call
            ..offsets
                .end
                .min(cut.end)
                .div_ceil(step)
                .div_ceil(of_one_call);
        calls.map(move |call| {
            let segments = call * of_one_call..call.saturating_add(1).saturating_mul(of_one_call);
            let offsets = segments.map(|segment| segment.saturating_mul(step));
            let offsets = offsets.take_while(|offset| *offset < cut.end);
            let len = |offset: u64| step.min(cut.end - offset).saturating_add(cut.frame_len);
            let segment = |offset: u64| (offset, len(offset));
            offsets.map(segment).collect()
        })
    }
}

/// The blobs.
pub trait Blobs: Send + Sync + Debug {
    /// Writes segments of a blob; makes the blob with its first one.
    fn append(&self, namespace: &Namespace, blob: u64, segments: &[Segment]) -> Result<()>;
    /// The segments whose offsets are in a range, ascending. None if there are none, or no such blob.
    fn read(&self, namespace: &Namespace, blob: u64, offsets: Range<u64>) -> Result<Vec<Segment>>;
    /// Like [`read`](Blobs::read), of a blob that is probably cut so: an engine that else has to look where segments lie may try that place first. It gives
    /// what `read` gives if the blob is cut otherwise.
    fn read_as_cut(
        &self,
        namespace: &Namespace,
        blob: u64,
        offsets: Range<u64>,
        _cut: &Cut,
    ) -> Result<Vec<Segment>> {
        self.read(namespace, blob, offsets)
    }
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
