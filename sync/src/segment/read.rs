//! Reading a segment.

use super::header::Header;
use super::place::{Part, Place};
use super::{MAGIC, START_LEN};
use crate::cloud::{Cloud, OBJECT_LEN_MAX};
use crate::error::{Error, ErrorKind, Result};
use crate::position::Last;
use crate::seal::Seal;
use std::borrow::Cow;
use std::ops::Range;

/// So much of a segment is read first: with most, the header is in it.
const FIRST_LEN: u64 = 64 << 10;

/// A segment in the cloud, whose header has been read and checked.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) header: Header,
    /// What the next one is behind.
    pub(crate) last: Last,
    name: String,
    /// Where the content of each piece begins, and where that of the last ends.
    starts: Vec<u64>,
    /// The bytes that are known, from the front.
    start: Vec<u8>,
}

impl Segment {
    /// Reads the header of a segment in a page's folder; `None` if the cloud has none of this number.
    pub(crate) fn open(
        cloud: &dyn Cloud,
        folder: &str,
        place: Place,
        seal: &Seal,
    ) -> Result<Option<Segment>> {
        let name = format!("{folder}/{}", place.name());
        let Some(mut start) = cloud.read(&name, 0..FIRST_LEN)? else {
            return Ok(None);
        };
        let damaged = |what: &str| Error::damaged(&name, what);
        let Some((front, _)) = start.split_first_chunk::<START_LEN>() else {
            return Err(damaged("it is cut"));
        };
        let (magic, rest) = front.split_at(MAGIC.len());
        if magic != MAGIC {
            let is_other = magic[..MAGIC.len() - 1] == MAGIC[..MAGIC.len() - 1];
            return Err(match is_other {
                true => damaged("it is of another version of the format"),
                false => damaged("it does not begin as a segment does"),
            });
        }
        let [is_sealed, len @ ..] = rest else {
            return Err(damaged("it is cut"));
        };
        if (*is_sealed != 0) == seal.is_plain() {
            let what = match seal.is_plain() {
                true => "is sealed, and there is no key",
                false => "is not sealed, and a key was given",
            };
            let what = format!("{name} of the cloud {what}");
            return Err(Error::new(ErrorKind::WrongKey, what));
        }
        let header_len = len.try_into().map_or(0, u32::from_le_bytes) as usize;
        let body_start = START_LEN + header_len;
        if body_start > OBJECT_LEN_MAX {
            return Err(damaged("its header is too long"));
        }
        if start.len() < body_start {
            let more = cloud.read(&name, start.len() as u64..body_start as u64)?;
            start.extend(more.unwrap_or_default());
        }
        let Some(sealed) = start.get(START_LEN..body_start) else {
            return Err(damaged("its header is cut"));
        };
        let Some(bytes) = seal.open(&place.of_part(Part::Header), sealed) else {
            return Err(match seal.is_plain() {
                true => damaged("its header was changed, or is that of another segment"),
                false => Error::new(
                    ErrorKind::WrongKey,
                    format!("{name} of the cloud does not open with this key, or was changed"),
                ),
            });
        };
        let header = Header::decode(&bytes).ok_or_else(|| damaged("its header does not decode"))?;
        if header.place != place {
            return Err(damaged("it is another segment"));
        }
        let mut end = body_start as u64;
        let mut starts = Vec::with_capacity(header.pieces.len() + 1);
        starts.push(end);
        for piece in &header.pieces {
            end += u64::from(piece.sealed_len);
            starts.push(end);
        }
        if end > OBJECT_LEN_MAX as u64 {
            return Err(damaged("it is said to be too long"));
        }
        Ok(Some(Segment {
            last: Last {
                number: place.number,
                hash: Header::hash_of(&bytes),
            },
            header,
            name,
            starts,
            start,
        }))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of it, of which the first are known.
    fn bytes(&self, cloud: &dyn Cloud, range: Range<u64>) -> Result<Cow<'_, [u8]>> {
        let (start, end) = (range.start as usize, range.end as usize);
        if let Some(known) = self.start.get(start..end) {
            return Ok(Cow::Borrowed(known));
        }
        let mut bytes = self.start.get(start..).unwrap_or_default().to_vec();
        let rest = cloud.read(&self.name, range.start + bytes.len() as u64..range.end)?;
        bytes.extend(rest.unwrap_or_default());
        match bytes.len() == end - start {
            true => Ok(Cow::Owned(bytes)),
            false => Err(Error::damaged(&self.name, "it is cut")),
        }
    }

    /// The contents of some pieces, by their places in the header, which ascend. Pieces that lie side by side are read at once.
    pub(crate) fn contents(
        &self,
        cloud: &dyn Cloud,
        seal: &Seal,
        wanted: &[usize],
    ) -> Result<Vec<Vec<u8>>> {
        let mut contents = Vec::with_capacity(wanted.len());
        for run in wanted.chunk_by(|a, b| a + 1 == *b) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else {
                continue;
            };
            let none = || Error::new(ErrorKind::Usage, "a piece that is not in the segment");
            let start = *self.starts.get(*first).ok_or_else(none)?;
            let end = *self.starts.get(*last + 1).ok_or_else(none)?;
            let bytes = self.bytes(cloud, start..end)?;
            let mut rest = &bytes[..];
            for index in run {
                let piece = self.header.pieces.get(*index).ok_or_else(none)?;
                let (sealed, behind) = rest
                    .split_at_checked(piece.sealed_len as usize)
                    .ok_or_else(none)?;
                rest = behind;
                let place = self.header.place.of_part(Part::Piece(*index as u32));
                contents.push(seal.open(&place, sealed).ok_or_else(|| {
                    let what = format!("piece {:?} in it was changed", piece.id.digest);
                    Error::damaged(&self.name, what)
                })?);
            }
        }
        Ok(contents)
    }
}
