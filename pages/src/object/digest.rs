//! Names of pieces: what a piece holds, or its hash.
//!
//! One byte of bits, then the content itself if it has at most 32 bytes, else the hash of it. The first byte's bits, lowest first:
//! the content is inline; the piece is an index; the piece is the root of a tree node. `docs/format/pages.md`, "Digests".

use crate::error::{Error, Result};
use sha2::{Digest, Sha256};
use std::fmt;

/// Content of up to so many bytes is its own name, and stored nowhere else.
pub const INLINE_LEN_MAX: usize = 32;

const DIGEST_LEN_MAX: usize = 33;
const INLINE: u8 = 1;
const INDEX: u8 = 2;
const TREE_NODE: u8 = 4;

/// SHA-256 of the length in eight bytes, little-endian, and the bytes.
///
/// ```
/// let hash = larder_pages::sha256_with_length(b"");
/// assert_eq!(hash[..4], [0xaf, 0x55, 0x70, 0xf5]);
/// ```
pub fn sha256_with_length(bytes: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
    hash.finalize().into()
}

/// What the content of a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PieceType {
    /// Bytes of an object.
    Chunk,
    /// References to pieces, whose contents in their order are the content of the object.
    Index,
}

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjectType {
    /// A value, or a piece below the root of any object.
    Blob,
    /// A node of a page's tree of entries.
    TreeNode,
}

/// The name of a piece: 1 to 33 bytes.
///
/// ```
/// use larder_pages::{ObjectDigest, ObjectType, PieceType};
///
/// let short = ObjectDigest::of(PieceType::Chunk, ObjectType::Blob, b"red");
/// assert_eq!(short.inline_content(), Some(&b"red"[..]));
/// let long = ObjectDigest::of(PieceType::Chunk, ObjectType::Blob, &[7; 33]);
/// assert_eq!((long.inline_content(), long.as_bytes().len()), (None, 33));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectDigest {
    // Zeros behind `len`: with the length after the bytes, the derived order is that of the bytes.
    bytes: [u8; DIGEST_LEN_MAX],
    len: u8,
}

impl ObjectDigest {
    /// The name of a piece with this content.
    pub fn of(piece: PieceType, object: ObjectType, content: &[u8]) -> ObjectDigest {
        let mut bits = match piece {
            PieceType::Chunk => 0,
            PieceType::Index => INDEX,
        };
        if object == ObjectType::TreeNode {
            bits |= TREE_NODE;
        }
        if content.len() <= INLINE_LEN_MAX {
            ObjectDigest::from_parts(bits | INLINE, content)
        } else {
            ObjectDigest::from_parts(bits, &sha256_with_length(content))
        }
    }

    fn from_parts(bits: u8, payload: &[u8]) -> ObjectDigest {
        let mut bytes = [0; DIGEST_LEN_MAX];
        bytes[0] = bits;
        bytes[1..=payload.len()].copy_from_slice(payload);
        ObjectDigest {
            bytes,
            len: payload.len() as u8 + 1,
        }
    }

    /// Reads a name.
    ///
    /// # Errors
    /// `Corruption` if these bytes are no name: empty, unknown bits, or of a wrong length for what the bits say.
    pub fn decode(bytes: &[u8]) -> Result<ObjectDigest> {
        let Some((&bits, payload)) = bytes.split_first() else {
            return Err(Error::corruption("a digest of no bytes"));
        };
        if bits & !(INLINE | INDEX | TREE_NODE) != 0 {
            return Err(Error::corruption(format!(
                "a digest begins with {bits:#04x}, and only the three lowest bits have a meaning"
            )));
        }
        let fits = match bits & INLINE {
            0 => payload.len() == 32,
            _ => payload.len() <= INLINE_LEN_MAX,
        };
        if !fits {
            return Err(Error::corruption(format!(
                "a digest that begins with {bits:#04x} has {} bytes",
                bytes.len()
            )));
        }
        Ok(ObjectDigest::from_parts(bits, payload))
    }

    /// The name as it is stored.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// The content, if it has at most 32 bytes.
    pub fn inline_content(&self) -> Option<&[u8]> {
        (self.bytes[0] & INLINE != 0).then(|| &self.as_bytes()[1..])
    }

    /// Whether the name is the content: then no row has it.
    pub fn is_inline(&self) -> bool {
        self.bytes[0] & INLINE != 0
    }

    /// What the content of the piece is.
    pub fn piece_type(&self) -> PieceType {
        match self.bytes[0] & INDEX {
            0 => PieceType::Chunk,
            _ => PieceType::Index,
        }
    }

    /// What the piece is the root of. Pieces below a root are blobs.
    pub fn object_type(&self) -> ObjectType {
        match self.bytes[0] & TREE_NODE {
            0 => ObjectType::Blob,
            _ => ObjectType::TreeNode,
        }
    }

    /// The name of a piece with this content as the root of an object of a type.
    pub(crate) fn as_root(mut self, object: ObjectType) -> ObjectDigest {
        match object {
            ObjectType::Blob => self.bytes[0] &= !TREE_NODE,
            ObjectType::TreeNode => self.bytes[0] |= TREE_NODE,
        }
        self
    }

    /// Whether a piece with this content has this name.
    pub fn is_of(&self, content: &[u8]) -> bool {
        *self == ObjectDigest::of(self.piece_type(), self.object_type(), content)
    }
}

impl fmt::Debug for ObjectDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.as_bytes() {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn hashes_are_of_length_and_content() {
        assert_eq!(
            hex(&sha256_with_length(b"")),
            "af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc"
        );
        assert_eq!(
            hex(&sha256_with_length(b"012345678901234567890123456789012")),
            "4dc204279d049fa102e3711ba9324fd19d51fc9a40db21252ea029498879c2ad"
        );
    }

    #[test]
    fn up_to_32_bytes_are_their_own_name() {
        for len in [0, 1, 32, 33] {
            let content = vec![b'x'; len];
            for piece in [PieceType::Chunk, PieceType::Index] {
                for object in [ObjectType::Blob, ObjectType::TreeNode] {
                    let digest = ObjectDigest::of(piece, object, &content);
                    assert_eq!(digest.is_inline(), len <= 32);
                    assert_eq!(digest.inline_content().is_some(), len <= 32);
                    assert_eq!(digest.as_bytes().len(), len.min(32) + 1);
                    assert_eq!((digest.piece_type(), digest.object_type()), (piece, object));
                    assert_eq!(ObjectDigest::decode(digest.as_bytes()).unwrap(), digest);
                    assert!(digest.is_of(&content) && !digest.is_of(b"y"));
                }
            }
        }
    }

    #[test]
    fn what_is_no_digest_is_refused() {
        let hashed = |bits: u8, len: usize| [vec![bits], vec![9; len]].concat();
        for bad in [
            vec![],
            hashed(0, 31),
            hashed(0, 33),
            hashed(2, 0),
            hashed(1, 33),
            hashed(8, 32),
            hashed(0x81, 3),
        ] {
            let error = ObjectDigest::decode(&bad).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::Corruption, "{bad:?}");
        }
    }

    #[test]
    fn the_order_is_that_of_the_bytes() {
        let mut digests: Vec<_> = [&b""[..], b"\0", b"\0\0", b"a", b"ab", &[3; 40], &[255; 9]]
            .map(|content| ObjectDigest::of(PieceType::Chunk, ObjectType::Blob, content))
            .to_vec();
        digests.sort();
        assert!(digests.is_sorted_by(|a, b| a.as_bytes() < b.as_bytes()));
    }
}
