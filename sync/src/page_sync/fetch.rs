//! Values that did not come with their commits.

use super::PageSync;
use crate::device::DeviceId;
use crate::error::{Error, ErrorKind, Result};
use crate::segment::Segment;
use larder_pages::{ChangeSource, Incoming, ObjectIdentifier};
use std::collections::HashMap;

/// Where the pieces of the cloud are: in which segment, at which place of its header. It is made of all headers when it is asked for a piece that it does not have.
#[derive(Debug, Default)]
pub(super) struct PieceIndex {
    /// By the first eight bytes of the hash. Whether it is the piece is seen in the header.
    pieces: HashMap<u64, (u32, u32)>,
    segments: Vec<(DeviceId, u64)>,
    /// How many segments of each device are in it.
    read: HashMap<DeviceId, u64>,
    /// The segment that a piece was read of last: the next one is mostly there as well.
    open: Option<(u32, Segment)>,
}

fn key_of(id: &ObjectIdentifier) -> u64 {
    let hash = id.digest.as_bytes().get(1..9);
    hash.and_then(|bytes| bytes.try_into().ok())
        .map_or(0, u64::from_le_bytes)
}

impl PageSync {
    /// Fetches a lazy value: one of an entry of this page.
    ///
    /// # Errors
    /// [`Page`](ErrorKind::Page) with `NeedsFetch` if the cloud has it not, or no entry here has it; those of [`download`](Self::download).
    pub fn fetch(&mut self, value: &ObjectIdentifier) -> Result<()> {
        if value.digest.is_inline() {
            return Ok(());
        }
        let mut incoming = self.page.incoming();
        self.fetch_pieces(value, &mut incoming)?;
        Ok(incoming.add_lazy_value(value, ChangeSource::Cloud)?)
    }

    /// Fetches a piece, after what it refers to. Each piece is the hash of what it has, so none refers to itself.
    pub(super) fn fetch_pieces(
        &mut self,
        id: &ObjectIdentifier,
        incoming: &mut Incoming,
    ) -> Result<()> {
        let mut open: Vec<(ObjectIdentifier, Option<Vec<u8>>)> = vec![(*id, None)];
        while let Some((id, content)) = open.pop() {
            if incoming.has_piece(&id)? {
                continue;
            }
            let content = match content {
                Some(content) => content,
                None => self.piece_of_cloud(&id)?,
            };
            let missing = incoming.missing_for(&id, &content)?;
            if missing.is_empty() {
                incoming.add_pieces(&[(id, &content)])?;
                continue;
            }
            // Once more, when they are here.
            open.push((id, Some(content)));
            open.extend(missing.into_iter().map(|needed| (needed, None)));
        }
        Ok(())
    }

    fn piece_of_cloud(&mut self, id: &ObjectIdentifier) -> Result<Vec<u8>> {
        let is_known = |index: &PieceIndex| index.pieces.contains_key(&key_of(id));
        let mut index = self.index.take().unwrap_or_default();
        let read = match is_known(&index) {
            true => Ok(()),
            false => self.read_headers(&mut index),
        };
        let content = self.indexed_piece(id, &mut index);
        // What is in it by now is right, whatever has failed.
        self.index = Some(index);
        // The piece may have been in what could not be read.
        content.or_else(|error| read.and(Err(error)))
    }

    fn indexed_piece(&self, id: &ObjectIdentifier, index: &mut PieceIndex) -> Result<Vec<u8>> {
        let none = || {
            let what = format!("piece {:?} is neither here nor in the cloud", id.digest);
            Error::from(larder_pages::Error::new(
                larder_pages::ErrorKind::NeedsFetch,
                what,
            ))
        };
        let (at, place) = *index.pieces.get(&key_of(id)).ok_or_else(none)?;
        if index.open.as_ref().is_none_or(|(open, _)| *open != at) {
            let (device, number) = *index.segments.get(at as usize).ok_or_else(none)?;
            let segment = self.segment(device, number)?.ok_or_else(none)?;
            index.open = Some((at, segment));
        }
        let (_, segment) = index.open.as_ref().ok_or_else(none)?;
        let piece = segment.header.pieces.get(place as usize);
        if piece.is_none_or(|piece| piece.id != *id) {
            return Err(none());
        }
        let mut contents = segment.contents(&*self.cloud, &self.seal, &[place as usize])?;
        contents.pop().ok_or_else(none)
    }

    /// Reads the headers of segments that were not there before, also of those that no commit has followed yet: values that a device has from another
    /// one come in such. What a device has written that cannot be read is passed over, and is the error at the end.
    fn read_headers(&self, index: &mut PieceIndex) -> Result<()> {
        let mut devices = self.devices()?;
        devices.extend(self.position.0.keys());
        let mut problem = Ok(());
        for device in devices {
            let last = self.position.of(device).number;
            let read = index.read.get(&device).copied().unwrap_or(0);
            for number in read + 1.. {
                let segment = match self.segment(device, number) {
                    Ok(Some(segment)) => segment,
                    Ok(None) if number <= last => {
                        let what =
                            format!("the cloud has segment {number} of device {device} no more");
                        problem = problem.and(Err(Error::new(ErrorKind::Erased, what)));
                        break;
                    }
                    Ok(None) => break,
                    // It says so when it is to be taken.
                    Err(error) if number > last && error.kind() != ErrorKind::Unavailable => break,
                    Err(error) if error.kind() == ErrorKind::Unavailable => return Err(error),
                    Err(error) => {
                        problem = problem.and(Err(error));
                        break;
                    }
                };
                let at = index.segments.len() as u32;
                index.segments.push((device, number));
                for (place, piece) in segment.header.pieces.iter().enumerate() {
                    index.pieces.insert(key_of(&piece.id), (at, place as u32));
                }
                index.read.insert(device, number);
            }
        }
        problem
    }
}
