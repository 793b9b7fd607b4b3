//! Making a segment.

use super::header::{Header, PieceEntry};
use super::place::{Part, Place};
use super::{MAGIC, START_LEN};
use crate::device::DeviceId;
use crate::error::Result;
use crate::position::Last;
use crate::seal::{Seal, padded_len};
use larder_pages::{CommitId, Fanout, ObjectIdentifier};
use std::collections::BTreeMap;

/// How much is in a segment, and one piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentMax {
    pub(crate) body_len: usize,
    pub(crate) pieces: usize,
}

impl Default for SegmentMax {
    fn default() -> Self {
        SegmentMax {
            body_len: 1 << 20,
            pieces: 8192,
        }
    }
}

/// A segment that is being made. Its place is known from the beginning: the pieces are sealed for it as they come.
#[derive(Debug)]
pub(crate) struct SegmentWriter {
    pub(crate) header: Header,
    /// The ids of the commits in the header.
    pub(crate) commits: Vec<CommitId>,
    body: Vec<u8>,
    max: SegmentMax,
}

impl SegmentWriter {
    pub(crate) fn new(
        place: Place,
        fanout: Fanout,
        previous: Last,
        seen: BTreeMap<DeviceId, u64>,
        max: SegmentMax,
    ) -> Self {
        SegmentWriter {
            header: Header {
                place,
                fanout,
                previous: previous.hash,
                seen,
                pieces: Vec::new(),
                commits: Vec::new(),
            },
            commits: Vec::new(),
            body: Vec::new(),
            max,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.header.pieces.is_empty() && self.header.commits.is_empty()
    }

    /// Whether it has enough pieces.
    pub(crate) fn is_full(&self) -> bool {
        self.body.len() >= self.max.body_len || self.header.pieces.len() >= self.max.pieces
    }

    pub(crate) fn push_piece(
        &mut self,
        seal: &Seal,
        id: ObjectIdentifier,
        content: &[u8],
        is_lazy: bool,
    ) -> Result<()> {
        let index = self.header.pieces.len() as u32;
        let start = self.body.len();
        let place = self.header.place.of_part(Part::Piece(index));
        seal.seal(&place, content, &mut self.body)?;
        let sealed_len = (self.body.len() - start) as u32;
        self.header.pieces.push(PieceEntry {
            id,
            is_lazy,
            sealed_len,
        });
        Ok(())
    }

    pub(crate) fn push_commit(&mut self, id: CommitId, bytes: &[u8]) {
        self.header.commits.push(bytes.to_vec());
        self.commits.push(id);
    }

    /// The bytes of the segment, and what the next one is behind.
    pub(crate) fn finish(&self, seal: &Seal) -> Result<(Vec<u8>, Last)> {
        let header = self.header.encode();
        let place = self.header.place;
        let mut bytes = Vec::with_capacity(START_LEN + header.len() + self.body.len() + 1024);
        bytes.extend_from_slice(&MAGIC);
        bytes.push(u8::from(!seal.is_plain()));
        let sealed_len = (header.len() + seal.overhead()) as u32;
        bytes.extend_from_slice(&sealed_len.to_le_bytes());
        seal.seal(&place.of_part(Part::Header), &header, &mut bytes)?;
        bytes.extend_from_slice(&self.body);
        if !seal.is_plain() {
            let padding = padded_len(bytes.len() + seal.overhead()) - bytes.len() - seal.overhead();
            seal.seal(&place.of_part(Part::Padding), &vec![0; padding], &mut bytes)?;
        }
        let last = Last {
            number: place.number,
            hash: Header::hash_of(&header),
        };
        Ok((bytes, last))
    }
}
