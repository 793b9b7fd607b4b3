//! The content of a file: pieces, of which those below an offset lie in a blob and the rest in the catalogue.

use crate::blobs::{Cut, SPAN_LEN_MAX, Segment};
use crate::catalogue::Row;
use crate::cluster::Cluster;
use crate::error::{Error, ErrorKind, Result};
use crate::frame;
use crate::key::Keys;
use crate::namespace::Namespace;
use crate::row::FileRow;
use std::ops::Range;

/// Where the content of a file is: the part of its row that readers need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) blob: u64,
    pub(crate) size: u64,
    pub(crate) stored: u64,
    pub(crate) chunk_len: u64,
}

impl Extent {
    pub(crate) fn of(row: &FileRow) -> Extent {
        Extent {
            blob: row.blob,
            size: row.size,
            stored: row.stored,
            chunk_len: u64::from(row.chunk_len),
        }
    }

    /// How many whole chunks one call that appends has. One read has no more.
    pub(crate) fn chunks_max(&self) -> u64 {
        self.cut().segments_of_one_call()
    }

    /// How its blob is cut if it was written in bulk.
    pub(crate) fn cut(&self) -> Cut {
        Cut {
            step: self.chunk_len,
            frame_len: frame::FRAME_LEN as u64,
            end: self.stored,
        }
    }

    /// The chunk behind the call that has this one, of what was written in bulk.
    pub(crate) fn end_of_call(&self, number: u64) -> u64 {
        let of_one_call = self.chunks_max();
        (number / of_one_call + 1).saturating_mul(of_one_call)
    }

    /// How many chunks from the first on lie in the blob with all they have.
    pub(crate) fn chunks_in_blob(&self) -> u64 {
        match self.stored >= self.size {
            true => self.chunk_count(),
            false => self.stored / self.chunk_len,
        }
    }

    /// The length of a chunk.
    pub(crate) fn len_of(&self, number: u64) -> usize {
        let bytes = self.bytes_of(&(number..number.saturating_add(1)));
        bytes.end.saturating_sub(bytes.start) as usize
    }

    /// How many chunks there are.
    pub(crate) fn chunk_count(&self) -> u64 {
        self.size.div_ceil(self.chunk_len)
    }

    /// The bytes of some chunks.
    fn bytes_of(&self, chunks: &Range<u64>) -> Range<u64> {
        let offset = |chunk: u64| chunk.saturating_mul(self.chunk_len);
        offset(chunks.start)..offset(chunks.end).min(self.size)
    }
}

/// A place to read content from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) namespace: &'a Namespace,
    pub(crate) keys: &'a Keys,
}

impl Source<'_> {
    /// The bytes of some chunks, at most [`Extent::chunks_max`] of them, that the file has; `cut` is how its blob is probably cut.
    ///
    /// # Errors
    /// `Gone` if the content is not there any more, `Corruption` if it is not what was written, and the engine's errors.
    pub(crate) fn read(
        &self,
        extent: &Extent,
        chunks: Range<u64>,
        cut: Option<Cut>,
    ) -> Result<Vec<u8>> {
        let wanted = extent.bytes_of(&chunks);
        match self.attempt(extent, &wanted, cut)? {
            Ok(content) => Ok(content),
            // What lay in the catalogue was moved to the blob between the two looks.
            Err(_) => self.attempt(extent, &wanted, None)?.map_err(|at| {
                let what = format!(
                    "blob {:#x} has nothing at offset {at}, of {} bytes: the file was deleted or replaced by the process that writes it; \
                     open the store again",
                    extent.blob, extent.size
                );
                Error::new(ErrorKind::Gone, what)
            }),
        }
    }

    /// Like [`read`](Source::read), of chunks that lie in the blob: by one request, which is made once.
    pub(crate) fn read_once(
        &self,
        extent: &Extent,
        chunks: Range<u64>,
        cut: Option<Cut>,
    ) -> Result<Vec<u8>> {
        let wanted = extent.bytes_of(&chunks);
        let (cluster, blob) = (self.cluster, extent.blob);
        let segments = cluster.segments_once(self.namespace, blob, wanted.clone(), cut)?;
        let mut pieces = opened(blob, segments)?;
        covered(&mut pieces, &wanted).map_err(|_| Error::new(ErrorKind::Gone, "not all is there"))
    }

    /// The last chunk of a file and its number, of rows of the catalogue, if they are all of it.
    pub(crate) fn last_chunk(&self, extent: &Extent, rows: &[&Row]) -> Option<(u64, Vec<u8>)> {
        let number = extent.chunk_count().checked_sub(1)?;
        let piece = |row: &&Row| {
            let offset = self.keys.offset_of(&row.key).ok()?;
            let piece = frame::open(&row.value, extent.blob, offset).ok()?;
            Some((offset, piece.to_vec()))
        };
        let mut pieces: Vec<_> = rows.iter().filter_map(piece).collect();
        let bytes = covered(&mut pieces, &extent.bytes_of(&(number..number + 1))).ok()?;
        Some((number, bytes))
    }

    /// The bytes, or the offset from which on they are missing.
    fn attempt(
        &self,
        extent: &Extent,
        wanted: &Range<u64>,
        cut: Option<Cut>,
    ) -> Result<Result<Vec<u8>, u64>> {
        // Every range begins with a chunk, which no piece crosses the beginning of.
        let mut pieces = Vec::new();
        let chunk_of_stored = extent.stored - extent.stored % extent.chunk_len;
        if wanted.end > extent.stored {
            let from = wanted.start.max(chunk_of_stored);
            let range = self.keys.content_in(extent.blob, from..wanted.end);
            for row in self.cluster.rows(&range)? {
                let offset = self.keys.offset_of(&row.key)?;
                pieces.push((
                    offset,
                    frame::open(&row.value, extent.blob, offset)?.to_vec(),
                ));
            }
        }
        if covered(&mut pieces, wanted).is_err() {
            let segments =
                self.cluster
                    .segments(self.namespace, extent.blob, wanted.clone(), cut)?;
            pieces.append(&mut opened(extent.blob, segments)?);
        }
        Ok(covered(&mut pieces, wanted))
    }
}

/// A part of the content, at its offset.
type Piece = (u64, Vec<u8>);

/// The pieces that segments of a blob have.
fn opened(blob: u64, segments: Vec<Segment>) -> Result<Vec<Piece>> {
    let pieces = segments.into_iter().map(|segment| {
        let piece = frame::open(&segment.bytes, blob, segment.offset)?;
        Ok((segment.offset, piece.to_vec()))
    });
    pieces.collect()
}

/// The bytes of a range, of pieces that may lie over one another; or the first offset that no piece has.
fn covered(pieces: &mut [Piece], wanted: &Range<u64>) -> Result<Vec<u8>, u64> {
    pieces.sort_by_key(|(offset, _)| *offset);
    let mut content =
        Vec::with_capacity((wanted.end.saturating_sub(wanted.start)).min(SPAN_LEN_MAX) as usize);
    let mut at = wanted.start;
    for (offset, piece) in &*pieces {
        let end = offset.saturating_add(piece.len() as u64).min(wanted.end);
        if *offset <= at && at < end {
            content.extend_from_slice(&piece[(at - offset) as usize..(end - offset) as usize]);
            at = end;
        }
    }
    match at >= wanted.end {
        true => Ok(content),
        false => Err(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_a_range_when_they_leave_no_gap() {
        let piece = |offset: u64, len: u64| {
            (
                offset,
                (offset..offset + len)
                    .map(|at| at as u8)
                    .collect::<Vec<u8>>(),
            )
        };
        let cover = |pieces: &[(u64, u64)], wanted: Range<u64>| {
            let mut pieces: Vec<_> = pieces
                .iter()
                .map(|(offset, len)| piece(*offset, *len))
                .collect();
            covered(&mut pieces, &wanted)
        };
        let bytes = |range: Range<u64>| range.map(|at| at as u8).collect::<Vec<u8>>();
        assert_eq!(cover(&[(0, 5), (5, 5)], 0..10), Ok(bytes(0..10)));
        assert_eq!(cover(&[(5, 5), (0, 7), (5, 1)], 0..8), Ok(bytes(0..8)));
        assert_eq!(cover(&[(0, 5), (6, 5)], 0..10), Err(5));
        assert_eq!(cover(&[(0, 5)], 0..10), Err(5));
        assert_eq!(cover(&[], 0..0), Ok(vec![]));
        assert_eq!(cover(&[(1, 5)], 0..3), Err(0));
    }
}
