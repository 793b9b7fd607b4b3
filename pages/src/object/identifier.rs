//! Names of objects with the number of the key that encrypts them elsewhere.

use super::digest::ObjectDigest;
use crate::error::{Error, Result};

/// The name of an object's root piece, and the number of the key that it is encrypted with outside of this device. What is stored here
/// is not encrypted, and the number is 0 unless a host has reason to give another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectIdentifier {
    /// The root piece.
    pub digest: ObjectDigest,
    /// The key's number.
    pub key_index: u32,
}

impl ObjectIdentifier {
    /// With the key of number 0.
    pub fn new(digest: ObjectDigest) -> ObjectIdentifier {
        ObjectIdentifier {
            digest,
            key_index: 0,
        }
    }

    /// The form in status rows: the digest, then the key's number in four bytes, little-endian. The digest is a prefix of it.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = self.digest.as_bytes().to_vec();
        bytes.extend_from_slice(&self.key_index.to_le_bytes());
        bytes
    }

    /// Reads that form.
    ///
    /// # Errors
    /// `Corruption` if these bytes are none.
    pub fn decode(bytes: &[u8]) -> Result<ObjectIdentifier> {
        let Some((digest, key_index)) = bytes.split_last_chunk() else {
            return Err(Error::corruption(format!(
                "an object identifier of {} bytes",
                bytes.len()
            )));
        };
        Ok(ObjectIdentifier {
            digest: ObjectDigest::decode(digest)?,
            key_index: u32::from_le_bytes(*key_index),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{ObjectType, PieceType};

    #[test]
    fn a_digest_is_a_prefix_of_its_identifiers() {
        let digest = ObjectDigest::of(PieceType::Chunk, ObjectType::Blob, &[5; 100]);
        for key_index in [0, 1, u32::MAX] {
            let id = ObjectIdentifier { digest, key_index };
            let bytes = id.encode();
            assert!(bytes.starts_with(digest.as_bytes()) && bytes.len() == 37);
            assert_eq!(ObjectIdentifier::decode(&bytes).unwrap(), id);
        }
        assert!(ObjectIdentifier::decode(&[1, 2, 3]).is_err());
    }
}
