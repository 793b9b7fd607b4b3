//! Tables block by block, for layouts that the engine's own writer does not make.

use larder_leveldb::block::BlockBuilder;
use larder_leveldb::compression::{Compression, compress_snappy, compress_zstd};
use larder_leveldb::internal_key::InternalOrder;
use larder_leveldb::table::{BlockHandle, Footer};
use larder_leveldb::{crc, filter::FilterBlockBuilder};

use super::dice::{Dice, var_int};
use super::layout::Entry;

/// Entries in a table, in the order in which they come.
pub(super) fn table(dice: &mut Dice<'_>, order: &InternalOrder, entries: &[Entry]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut index = BlockBuilder::new(1);
    let block_len = 1 + dice.below(60);
    let interval = *dice.pick(&[1, 2, 16, 16, 1000]);
    let compression = *dice.pick(&[
        Compression::Snappy,
        Compression::Snappy,
        Compression::None,
        Compression::Zstd,
    ]);
    let mut filter = dice.once_in(2).then(|| FilterBlockBuilder::new(10));
    for part in entries.chunks(block_len) {
        if let Some(filter) = &mut filter {
            filter.start_block(file.len() as u64);
            for (key, _) in part {
                filter.add_key(&key[..key.len() - 8]);
            }
        }
        let mut block = BlockBuilder::new(interval);
        for (key, value) in part {
            block.add(key, value);
        }
        let mut block = block.finish().to_vec();
        if dice.once_in(12) {
            lie(dice, &mut block);
        }
        let handle = put(dice, &block, compression, &mut file);
        // The greatest key of the block, as a writer has it that takes the last for that.
        let keys = || part.iter().map(|(key, _)| key);
        let last = match dice.once_in(3) {
            true => keys().next_back(),
            false => keys().max_by(|a, b| order.compare(a, b)),
        };
        let mut value = Vec::new();
        handle.encode(&mut value);
        index.add(last.map_or(&[][..], |key| key), &value);
    }
    let mut metaindex = BlockBuilder::new(1);
    if let Some(filter) = filter {
        let mut bytes = filter.finish();
        if dice.once_in(6) {
            dice.scratch(&mut bytes);
        }
        let handle = put_block(&bytes, Compression::None, &mut file);
        let mut value = Vec::new();
        handle.encode(&mut value);
        metaindex.add(b"filter.leveldb.BuiltinBloomFilter2", &value);
    }
    let metaindex = put_block(metaindex.finish(), Compression::None, &mut file);
    let mut block = index.finish().to_vec();
    if dice.once_in(15) {
        lie(dice, &mut block);
    }
    let index = put(dice, &block, compression, &mut file);
    Footer { metaindex, index }.encode(&mut file);
    file
}

/// A block with its trailer; rarely one that unpacks to more, or says so.
fn put(
    dice: &mut Dice<'_>,
    block: &[u8],
    mut kind: Compression,
    file: &mut Vec<u8>,
) -> BlockHandle {
    if !dice.once_in(25) {
        return put_block(block, kind, file);
    }
    let mut bytes = Vec::new();
    match dice.below(3) {
        0 => {
            // One zstd frame of 100 MiB, with blocks of one byte 128 KiB times.
            kind = Compression::Zstd;
            bytes.extend_from_slice(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58]);
            for _ in 0..800 {
                bytes.extend_from_slice(&[0x02, 0x00, 0x10, 0x00]);
            }
            bytes.extend_from_slice(&[0x03, 0x00, 0x10, 0x00]);
        }
        1 => {
            kind = Compression::Snappy;
            var_int(dice.number() & 0xffff_ffff, &mut bytes);
            bytes.extend_from_slice(block);
        }
        _ => {
            compress_snappy(&vec![0; 1 << 20], &mut bytes);
            kind = Compression::Snappy;
        }
    }
    end_block(&bytes, kind, file)
}

fn put_block(block: &[u8], kind: Compression, file: &mut Vec<u8>) -> BlockHandle {
    let mut packed = Vec::new();
    match kind {
        Compression::Snappy => compress_snappy(block, &mut packed),
        Compression::Zstd => compress_zstd(block, &mut packed),
        _ => packed.extend_from_slice(block),
    }
    end_block(&packed, kind, file)
}

/// Adds bytes as they are, and their trailer.
fn end_block(bytes: &[u8], kind: Compression, file: &mut Vec<u8>) -> BlockHandle {
    let handle = BlockHandle {
        offset: file.len() as u64,
        len: bytes.len() as u64,
    };
    let kind = kind.to_byte();
    let sum = crc::mask(crc::extend(crc::value(bytes), &[kind]));
    file.extend_from_slice(bytes);
    file.push(kind);
    file.extend_from_slice(&sum.to_le_bytes());
    handle
}

/// Restart points that lead elsewhere, or are more or fewer than there are.
fn lie(dice: &mut Dice<'_>, block: &mut Vec<u8>) {
    let end = block.len() - 4;
    let count = u32::from_le_bytes([block[end], block[end + 1], block[end + 2], block[end + 3]]);
    let entries = end - 4 * count as usize;
    match dice.below(4) {
        0 => {
            let number = dice.number() as u32;
            block[end..].copy_from_slice(&number.to_le_bytes());
        }
        1 => dice.scratch(block),
        _ => {
            for _ in 0..=dice.below(3) {
                let at = entries + 4 * dice.below(count as usize);
                let to = dice.below(entries + 2) as u32;
                block[at..at + 4].copy_from_slice(&to.to_le_bytes());
            }
        }
    }
}
