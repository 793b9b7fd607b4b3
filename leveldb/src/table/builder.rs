//! Builds a table.

use super::{BlockHandle, Footer, TRAILER_LEN, TableOptions};
use crate::block::BlockBuilder;
use crate::comparator::Identity;
use crate::compression::{Compression, Packer};
#[cfg(feature = "zstd")]
use crate::compression::{compress_zstd, zstd_len_max};
use crate::crc;
use crate::filter::{FilterBlockBuilder, bloom};
use crate::internal_key::{InternalOrder, user_key};
use crate::storage::WritableFile;
use std::io;

/// A finished table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSummary {
    /// The file's length in bytes.
    pub len_bytes: u64,
    /// The first internal key; empty if there is no entry.
    pub smallest: Vec<u8>,
    /// The last internal key; empty if there is no entry.
    pub largest: Vec<u8>,
    /// How many entries there are.
    pub entries: u64,
}

/// Writes a table from entries in ascending internal order.
#[derive(Debug)]
pub struct TableBuilder<'a> {
    file: &'a mut dyn WritableFile,
    options: TableOptions,
    order: InternalOrder,
    offset: u64,
    data: BlockBuilder,
    index: BlockBuilder,
    filter: Option<FilterBlockBuilder>,
    /// The last key and handle of a block that is written but not yet in the index: its index key waits for the next key.
    pending: Option<(Vec<u8>, BlockHandle)>,
    packer: Packer,
    packed: Vec<u8>,
    summary: TableSummary,
}

impl<'a> TableBuilder<'a> {
    /// Into an empty file.
    pub fn new(
        file: &'a mut dyn WritableFile,
        order: InternalOrder,
        options: TableOptions,
    ) -> TableBuilder<'a> {
        let mut filter = options.bloom_bits.map(FilterBlockBuilder::new);
        if let Some(filter) = &mut filter {
            filter.start_block(0);
        }
        TableBuilder {
            file,
            options,
            order,
            offset: 0,
            data: BlockBuilder::new(options.restart_interval),
            index: BlockBuilder::new(1),
            filter,
            pending: None,
            packer: Packer::new(),
            packed: Vec::new(),
            summary: TableSummary {
                len_bytes: 0,
                smallest: Vec::new(),
                largest: Vec::new(),
                entries: 0,
            },
        }
    }

    /// Adds an entry; its internal key is greater than the one before.
    pub fn add(&mut self, internal_key: &[u8], value: &[u8]) -> io::Result<()> {
        if let Some((mut last, handle)) = self.pending.take() {
            self.order.shorten_separator(&mut last, internal_key);
            self.add_to_index(&last, handle);
        }
        if let Some(filter) = &mut self.filter {
            let key = user_key(internal_key);
            // LevelDB asks the filter by the bytes of the key that it looks up, whatever the comparator says of them. Groups of keys
            // are looked up by iterators, which ask no filter.
            let identity = self.order.identity().map(|identity| identity(key));
            match identity {
                Some(Identity::Several | Identity::Unclear) => filter.add_key_of_several_forms(),
                Some(Identity::Bytes | Identity::Grouped(_)) | None => filter.add_key(key),
            }
        }
        if self.summary.entries == 0 {
            self.summary.smallest = internal_key.to_vec();
        }
        self.summary.entries += 1;
        self.data.add(internal_key, value);
        if self.data.len_bytes() >= self.options.block_len {
            self.end_block()
        } else {
            Ok(())
        }
    }

    /// About how long the file is by now, in bytes.
    pub fn len_bytes(&self) -> u64 {
        self.offset
    }

    fn add_to_index(&mut self, key: &[u8], handle: BlockHandle) {
        let mut value = Vec::with_capacity(20);
        handle.encode(&mut value);
        self.index.add(key, &value);
    }

    fn end_block(&mut self) -> io::Result<()> {
        if self.data.is_empty() {
            return Ok(());
        }
        let last = self.data.last_key().to_vec();
        let mut block = std::mem::take(&mut self.data);
        let handle = self.write_block(block.finish(), self.options.compression)?;
        block.clear();
        self.data = block;
        self.pending = Some((last, handle));
        if let Some(filter) = &mut self.filter {
            filter.start_block(self.offset);
        }
        Ok(())
    }

    fn write_block(&mut self, block: &[u8], compression: Compression) -> io::Result<BlockHandle> {
        let mut packed = std::mem::take(&mut self.packed);
        #[cfg(feature = "zstd")]
        let mut compression = compression;
        #[cfg(feature = "zstd")]
        if compression == Compression::Zstd {
            compress_zstd(block, &mut packed);
            // It would be refused when it is read.
            if block.len() > zstd_len_max(packed.len()) {
                compression = Compression::Snappy;
            }
        }
        if compression == Compression::Snappy {
            self.packer.snappy(block, &mut packed);
        }
        // Less than an eighth saved is not worth unpacking.
        let is_packed =
            compression != Compression::None && packed.len() < block.len() - block.len() / 8;
        let (bytes, compression) = match is_packed {
            true => (&packed[..], compression),
            false => (block, Compression::None),
        };
        let handle = BlockHandle {
            offset: self.offset,
            len: bytes.len() as u64,
        };
        let kind = compression.to_byte();
        let sum = crc::mask(crc::extend(crc::value(bytes), &[kind]));
        let mut trailer = [kind, 0, 0, 0, 0];
        trailer[1..].copy_from_slice(&sum.to_le_bytes());
        self.file.append(bytes)?;
        self.file.append(&trailer)?;
        self.offset += (bytes.len() + TRAILER_LEN) as u64;
        self.packed = packed;
        Ok(handle)
    }

    /// Writes what is left. The caller syncs and closes the file.
    pub fn finish(mut self) -> io::Result<TableSummary> {
        self.end_block()?;
        let mut metaindex = BlockBuilder::new(1);
        if let Some(filter) = self.filter.take() {
            let handle = self.write_block(&filter.finish(), Compression::None)?;
            let mut value = Vec::new();
            handle.encode(&mut value);
            metaindex.add(format!("filter.{}", bloom::NAME).as_bytes(), &value);
        }
        let metaindex = self.write_block(metaindex.finish(), self.options.compression)?;
        if let Some((mut last, handle)) = self.pending.take() {
            self.summary.largest = last.clone();
            self.order.shorten_successor(&mut last);
            self.add_to_index(&last, handle);
        }
        let mut index = std::mem::replace(&mut self.index, BlockBuilder::new(1));
        let index = self.write_block(index.finish(), self.options.compression)?;
        let mut footer = Vec::new();
        Footer { metaindex, index }.encode(&mut footer);
        self.file.append(&footer)?;
        self.summary.len_bytes = self.offset + footer.len() as u64;
        Ok(self.summary)
    }
}
