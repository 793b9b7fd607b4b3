//! What a segment has, by its header.

use super::place::Place;
use crate::bytes::{Reader, put_count, put_part};
use crate::device::DeviceId;
use larder_pages::{Fanout, ObjectDigest, ObjectIdentifier, PageId};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// A piece in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PieceEntry {
    pub(crate) id: ObjectIdentifier,
    /// Whether it is of a lazy value: it comes when it is asked for.
    pub(crate) is_lazy: bool,
    /// Bytes of its sealed content.
    pub(crate) sealed_len: u32,
}

/// A header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) place: Place,
    /// That of the page's trees.
    pub(crate) fanout: Fanout,
    /// The hash of the header before this one of the device; zeros for the first.
    pub(crate) previous: [u8; 32],
    /// What the device had taken of others when it wrote this.
    pub(crate) seen: BTreeMap<DeviceId, u64>,
    pub(crate) pieces: Vec<PieceEntry>,
    /// Commits as they are stored.
    pub(crate) commits: Vec<Vec<u8>>,
}

const DIGEST_LEN: usize = 33;
const PIECE_LEN: usize = 1 + DIGEST_LEN + 4 + 4;
const SEEN_LEN: usize = 16 + 8;

impl Header {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128 + self.pieces.len() * PIECE_LEN);
        bytes.extend_from_slice(&self.place.page.0);
        bytes.extend_from_slice(&self.place.device.0);
        bytes.extend_from_slice(&self.place.number.to_le_bytes());
        bytes.push(self.fanout.bits());
        bytes.extend_from_slice(&self.previous);
        put_count(&mut bytes, self.seen.len());
        for (device, number) in &self.seen {
            bytes.extend_from_slice(&device.0);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        put_count(&mut bytes, self.pieces.len());
        for piece in &self.pieces {
            bytes.push(u8::from(piece.is_lazy));
            bytes.extend_from_slice(&piece.id.encode());
            bytes.extend_from_slice(&piece.sealed_len.to_le_bytes());
        }
        put_count(&mut bytes, self.commits.len());
        for commit in &self.commits {
            put_part(&mut bytes, commit);
        }
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Header> {
        let mut reader = Reader(bytes);
        let place = Place {
            page: PageId(reader.array()?),
            device: DeviceId(reader.array()?),
            number: reader.u64()?,
        };
        let fanout = Fanout::of_bits(reader.u8()?).ok()?;
        let previous = reader.array()?;
        let mut seen = BTreeMap::new();
        for _ in 0..reader.count(SEEN_LEN)? {
            let device = DeviceId(reader.array()?);
            // They ascend, each once.
            if seen
                .last_key_value()
                .is_some_and(|(last, _)| *last >= device)
            {
                return None;
            }
            seen.insert(device, reader.u64()?);
        }
        let mut pieces = Vec::new();
        for _ in 0..reader.count(PIECE_LEN)? {
            let is_lazy = match reader.u8()? {
                0 => false,
                1 => true,
                _ => return None,
            };
            let digest = ObjectDigest::decode(reader.take(DIGEST_LEN)?).ok()?;
            if digest.is_inline() {
                return None;
            }
            let key_index = reader.u32()?;
            pieces.push(PieceEntry {
                id: ObjectIdentifier { digest, key_index },
                is_lazy,
                sealed_len: reader.u32()?,
            });
        }
        let mut commits = Vec::new();
        for _ in 0..reader.count(4)? {
            commits.push(reader.part()?.to_vec());
        }
        reader.0.is_empty().then_some(Header {
            place,
            fanout,
            previous,
            seen,
            pieces,
            commits,
        })
    }

    /// What the next header of the device has of this one.
    pub(super) fn hash_of(bytes: &[u8]) -> [u8; 32] {
        Sha256::digest(bytes).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_pages::{ObjectType, PieceType};

    #[test]
    fn a_header_is_read_back_and_anything_else_is_none_or_another() {
        let piece = |number: u8, is_lazy| {
            let digest = ObjectDigest::of(PieceType::Chunk, ObjectType::Blob, &[number; 50]);
            PieceEntry {
                id: ObjectIdentifier::new(digest),
                is_lazy,
                sealed_len: u32::from(number) << 8,
            }
        };
        let header = Header {
            place: Place {
                page: PageId([1; 16]),
                device: DeviceId([2; 16]),
                number: 3,
            },
            fanout: Fanout::Of16,
            previous: [4; 32],
            seen: [(DeviceId([5; 16]), 6), (DeviceId([7; 16]), 8)].into(),
            pieces: vec![piece(9, false), piece(10, true)],
            commits: vec![vec![11; 70], Vec::new()],
        };
        let bytes = header.encode();
        assert_eq!(Header::decode(&bytes).as_ref(), Some(&header));
        for len in 0..bytes.len() {
            assert_eq!(Header::decode(&bytes[..len]), None, "{len}");
        }
        assert_eq!(Header::decode(&[&bytes[..], &[0]].concat()), None);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                if let Some(read) = Header::decode(&changed) {
                    assert_eq!(read.encode(), changed, "byte {at}, bit {bit}");
                }
            }
        }
    }
}
