//! The content of index pieces: which pieces an object consists of, and how long each is.
//!
//! FlatBuffers table `FileIndex { size: ulong; children: [ObjectChild { size: ulong; object_identifier: ObjectIdentifierStorage }] }`.

use super::{ObjectDigest, ObjectIdentifier};
use crate::error::{Error, Result};
use crate::flatbuffer::{Malformed, Table, VTable, Writer};

/// A part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Child {
    /// How many bytes of the object it has.
    pub(crate) size: u64,
    pub(crate) identifier: ObjectIdentifier,
}

/// The vtable of an `ObjectIdentifierStorage { key_index: uint; object_digest: [ubyte] }`.
pub(crate) fn identifier_vtable(writer: &mut Writer) -> VTable {
    writer.vtable(12, &[4, 8])
}

pub(crate) fn write_identifier(writer: &mut Writer, vtable: VTable, id: &ObjectIdentifier) {
    writer.table(vtable);
    writer.u32(id.key_index);
    let digest = writer.slot();
    writer.set(digest);
    writer.bytes(id.digest.as_bytes());
}

/// Reads an identifier that is a field of a table.
pub(crate) fn read_identifier(
    table: &Table,
    field: usize,
    message: &str,
) -> Result<ObjectIdentifier> {
    let malformed = |error: Malformed| error.within(message);
    let Some(table) = table.table(field).map_err(malformed)? else {
        return Err(Error::corruption(format!(
            "{message}: an object identifier is missing"
        )));
    };
    Ok(ObjectIdentifier {
        key_index: table.u32(0).map_err(malformed)?,
        digest: ObjectDigest::decode(table.bytes(1).map_err(malformed)?)?,
    })
}

const MESSAGE: &str = "an index piece";

pub(crate) fn encode(children: &[Child]) -> Vec<u8> {
    let (mut writer, root) = Writer::new(48 + 76 * children.len());
    let root_vtable = writer.vtable(16, &[4, 12]);
    let child_vtable = writer.vtable(16, &[4, 12]);
    let identifier_vtable = identifier_vtable(&mut writer);
    writer.set_to_u64(root);
    writer.table_of_u64(root_vtable);
    writer.u64(children.iter().map(|child| child.size).sum());
    let vector = writer.slot();
    writer.set(vector);
    let slots = writer.slots(children.len());
    for (child, slot) in children.iter().zip(slots) {
        writer.set_to_u64(slot);
        writer.table_of_u64(child_vtable);
        writer.u64(child.size);
        let identifier = writer.slot();
        writer.set(identifier);
        write_identifier(&mut writer, identifier_vtable, &child.identifier);
    }
    writer.finish()
}

/// Reads an index. Its children's sizes add up to its own, and none is zero.
pub(crate) fn decode(bytes: &[u8]) -> Result<Vec<Child>> {
    let malformed = |error: Malformed| error.within(MESSAGE);
    let root = Table::root(bytes).map_err(malformed)?;
    let mut children = Vec::new();
    let mut left = root.u64(0).map_err(malformed)?;
    for child in root.tables(1).map_err(malformed)? {
        let child = child.map_err(malformed)?;
        let size = child.u64(0).map_err(malformed)?;
        left = left
            .checked_sub(size)
            .filter(|_| size > 0)
            .ok_or_else(|| Error::corruption(format!("{MESSAGE}: sizes that do not add up")))?;
        children.push(Child {
            size,
            identifier: read_identifier(&child, 1, MESSAGE)?,
        });
    }
    if left > 0 {
        return Err(Error::corruption(format!(
            "{MESSAGE}: {left} bytes are in no child"
        )));
    }
    Ok(children)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{ObjectType, PieceType};

    fn children(count: usize) -> Vec<Child> {
        let child = |i: usize| Child {
            size: 1 + i as u64 * 1_000_003,
            identifier: ObjectIdentifier {
                digest: ObjectDigest::of(PieceType::Chunk, ObjectType::Blob, &vec![i as u8; i]),
                key_index: i as u32 % 3,
            },
        };
        (0..count).map(child).collect()
    }

    #[test]
    fn an_index_reads_back() {
        for count in [0, 1, 2, 50, 851] {
            let bytes = encode(&children(count));
            assert_eq!(decode(&bytes).unwrap(), children(count));
        }
    }

    #[test]
    fn the_largest_index_is_a_piece() {
        let large = Child {
            size: 65_535,
            identifier: ObjectIdentifier::new(ObjectDigest::of(
                PieceType::Chunk,
                ObjectType::Blob,
                &[1; 65_535],
            )),
        };
        assert!(encode(&vec![large; 851]).len() <= 65_535);
    }

    #[test]
    fn sizes_that_do_not_add_up_are_damage() {
        let bytes = encode(&children(3));
        let root = bytes
            .windows(8)
            .position(|eight| eight == 3_000_012_u64.to_le_bytes());
        for size in [0, 3_000_011, 3_000_013, u64::MAX] {
            let mut bytes = bytes.clone();
            bytes[root.unwrap()..][..8].copy_from_slice(&u64::to_le_bytes(size));
            assert!(decode(&bytes).is_err(), "{size}");
        }
    }
}
