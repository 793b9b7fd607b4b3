//! Tables: immutable sorted files.
//!
//! Layout, from offset 0: data blocks; a filter block if there is a filter; the metaindex block (`filter.NAME` to the
//! filter's handle; ordered by bytes whatever the comparator); the index block (for each data block a key that is not less
//! than its last and less than the next block's first, to the block's handle); a footer of 48 bytes. After each block a
//! trailer of five bytes: compression type, masked CRC-32C of the block and the type. LevelDB's `doc/table_format.md`.

mod blocks;
mod builder;
mod checksummed;
mod context;
mod cursor;
mod damage_log;
mod damaged;
mod directory;
mod fault;
mod get;
mod last_block;
mod layout;
mod options;
mod reader;
mod salvage;
mod survey;

pub use builder::{TableBuilder, TableSummary};
pub(crate) use context::TableContext;
pub(crate) use cursor::TableCursor;
pub(crate) use damage_log::{DamageLog, Regions, Withheld};
pub(crate) use damaged::for_each_damaged_block;
pub(crate) use fault::Fault;
pub(crate) use get::Lookup;
pub(crate) use last_block::{LastBlock, Unkept};
pub use options::TableOptions;
pub(crate) use reader::Table;
pub(crate) use survey::{Ascent, KEYS_LEN_MAX, Look, survey};

use crate::varint::{decode_varint, encode_varint, fixed64};

/// Bytes of a block's trailer.
pub const TRAILER_LEN: usize = 5;
/// Bytes of a table's footer.
pub const FOOTER_LEN: usize = 48;
/// The last eight bytes of a table, as a little-endian number.
pub const MAGIC: u64 = 0xdb47_7524_8b80_fb57;

/// Where a block lies: two varints, offset and length (without trailer) in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHandle {
    /// Where the block begins in the file.
    pub offset: u64,
    /// Its bytes, as stored.
    pub len: u64,
}

impl BlockHandle {
    /// Appends the handle.
    pub fn encode(self, out: &mut Vec<u8>) {
        encode_varint(out, self.offset);
        encode_varint(out, self.len);
    }

    /// Reads a handle: it and the rest.
    pub fn decode(bytes: &[u8]) -> Option<(BlockHandle, &[u8])> {
        let (offset, used) = decode_varint(bytes)?;
        let rest = bytes.get(used..)?;
        let (len, used) = decode_varint(rest)?;
        Some((BlockHandle { offset, len }, rest.get(used..)?))
    }

    /// Reads a handle with nothing after it.
    pub fn decode_exact(bytes: &[u8]) -> Option<BlockHandle> {
        BlockHandle::decode(bytes).and_then(|(handle, rest)| rest.is_empty().then_some(handle))
    }

    /// Where block and trailer end; `None` on overflow.
    pub fn end(self) -> Option<u64> {
        self.offset
            .checked_add(self.len)?
            .checked_add(TRAILER_LEN as u64)
    }
}

/// A table's last 48 bytes: two handles, zeros up to 40 bytes, [`MAGIC`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footer {
    /// The metaindex block.
    pub metaindex: BlockHandle,
    /// The index block.
    pub index: BlockHandle,
}

impl Footer {
    /// Appends the footer.
    pub fn encode(self, out: &mut Vec<u8>) {
        let start = out.len();
        self.metaindex.encode(out);
        self.index.encode(out);
        out.resize(start + FOOTER_LEN - 8, 0);
        out.extend_from_slice(&MAGIC.to_le_bytes());
    }

    /// Reads a footer. Whether the handles lie in the file is not looked at, nor are the bytes between them and the magic
    /// number: C++ LevelDB does not look at those either.
    pub fn decode(bytes: &[u8]) -> Option<Footer> {
        if bytes.len() != FOOTER_LEN || fixed64(bytes, FOOTER_LEN - 8)? != MAGIC {
            return None;
        }
        let (metaindex, rest) = BlockHandle::decode(bytes.get(..FOOTER_LEN - 8)?)?;
        let (index, _) = BlockHandle::decode(rest)?;
        Some(Footer { metaindex, index })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    quickcheck! {
        fn a_footer_reads_back(a: (u64, u64), b: (u64, u64)) -> bool {
            let handle = |(offset, len)| BlockHandle { offset, len };
            let footer = Footer { metaindex: handle(a), index: handle(b) };
            let mut bytes = Vec::new();
            footer.encode(&mut bytes);
            bytes.len() == FOOTER_LEN && Footer::decode(&bytes) == Some(footer)
        }

        fn any_48_bytes_are_a_footer_or_refused(bytes: Vec<u8>) -> bool {
            let mut bytes = bytes;
            bytes.resize(40, 0xff);
            bytes.extend_from_slice(&MAGIC.to_le_bytes());
            Footer::decode(&bytes).is_none_or(|footer| footer.index.end() != Some(0))
        }
    }
}
