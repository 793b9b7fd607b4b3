//! Reads blocks of a table: from the file, verified and unpacked, or from the block cache.
//!
//! Most blocks are read once and not kept, so that memory for them is used again: each thread has a buffer for a block as it is stored and
//! one for the unpacked block.

use std::cell::Cell;
use std::sync::Arc;

use super::fault::Fault;
use super::reader::Table;
use super::{BlockHandle, TRAILER_LEN};
use crate::cache::Miss;
use crate::compression::{Compression, ZSTD, decompress};
use crate::crc;
use crate::damage::DamageKind;
use crate::error::Result;
use crate::storage::read_exact_at;
use crate::varint::fixed32;

/// Blocks that take so many bytes in their file are read without an allocation.
const SMALL_LEN: usize = 64 << 10;

thread_local! {
    /// Takes a block as it is stored, until it is unpacked. What was in it is written over and need not be cleared.
    static STORED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Gives `use_it` room for `len` bytes with anything in them.
fn with_room<T>(len: usize, use_it: impl FnOnce(&mut [u8]) -> T) -> T {
    // A thread that ends has no such room any more.
    let mut room = STORED.try_with(Cell::take).unwrap_or_default();
    if room.len() < len {
        room.resize(len, 0);
    }
    let used = use_it(&mut room[..len]);
    if room.len() <= SMALL_LEN {
        let _ = STORED.try_with(|stored| stored.set(room));
    }
    used
}

thread_local! {
    /// Takes an unpacked block that is used once.
    static UNPACKED: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Gives `use_it` a buffer with anything in it.
fn with_unpacked<T>(use_it: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let mut buffer = UNPACKED.try_with(Cell::take).unwrap_or_default();
    let used = use_it(&mut buffer);
    if buffer.capacity() <= SMALL_LEN {
        let _ = UNPACKED.try_with(|unpacked| unpacked.set(buffer));
    }
    used
}

/// Verifies a block with its trailer: its compression and its bytes as stored.
pub(crate) fn verify(stored: &[u8]) -> Result<(Compression, &[u8]), Fault> {
    let Some((block, trailer)) = stored
        .len()
        .checked_sub(TRAILER_LEN)
        .map(|at| stored.split_at(at))
    else {
        return Err(Fault::new(
            DamageKind::Truncated,
            "block is shorter than its trailer",
        ));
    };
    let sum = crc::unmask(fixed32(trailer, 1).unwrap_or(0));
    if crc::value(&stored[..block.len() + 1]) != sum {
        return Err(Fault::new(
            DamageKind::Checksum,
            "the bytes of the block do not match their checksum",
        ));
    }
    match Compression::from_byte(trailer[0]) {
        Some(compression) => Ok((compression, block)),
        None => {
            let byte = trailer[0];
            let what = match byte == ZSTD && cfg!(not(feature = "zstd")) {
                true => "block is packed with zstd, which this build cannot unpack".to_owned(),
                false => format!("unknown block compression {byte}"),
            };
            Err(Fault::new(DamageKind::Structure, what))
        }
    }
}

fn unpack((compression, block): (Compression, &[u8]), out: &mut Vec<u8>) -> Result<(), Fault> {
    decompress(compression, block, out).map_err(|what| Fault::new(DamageKind::Structure, what))
}

impl Table {
    /// Reads exactly, within the table's length.
    pub(crate) fn read_exact(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Fault> {
        let Some(file) = &self.file else {
            return Err(Fault::new(DamageKind::Missing, "file is missing"));
        };
        read_exact_at(&**file, offset, buffer).map_err(Fault::unreadable)
    }

    /// Checks that a handle lies in the file: where its trailer ends.
    pub(crate) fn end_of(&self, handle: BlockHandle) -> Result<u64, Fault> {
        match handle.end() {
            Some(end) if end <= self.len => Ok(end),
            _ => Err(Fault::new(
                DamageKind::Truncated,
                "block lies outside of its file",
            )),
        }
    }

    /// Reads, verifies and unpacks a block, into `room` if it has no other user.
    pub(super) fn read_unpacked(
        &self,
        handle: BlockHandle,
        room: Option<Arc<Vec<u8>>>,
    ) -> Result<Arc<Vec<u8>>, Fault> {
        let mut block = room.unwrap_or_default();
        match Arc::get_mut(&mut block) {
            Some(room) => self.read_into(handle, room)?,
            None => {
                let mut unpacked = Vec::new();
                self.read_into(handle, &mut unpacked)?;
                block = Arc::new(unpacked);
            }
        }
        Ok(block)
    }

    /// Reads, verifies and unpacks a block, in place of what was there.
    fn read_into(&self, handle: BlockHandle, unpacked: &mut Vec<u8>) -> Result<(), Fault> {
        let len = (self.end_of(handle)? - handle.offset) as usize;
        if len <= SMALL_LEN {
            return with_room(len, |stored| {
                self.read_exact(handle.offset, stored)?;
                unpack(verify(stored)?, unpacked)
            });
        }
        let mut stored = vec![0; len];
        self.read_exact(handle.offset, &mut stored)?;
        let (compression, block) = verify(&stored)?;
        if compression != Compression::None {
            return unpack((compression, block), unpacked);
        }
        let len = block.len();
        stored.truncate(len);
        *unpacked = stored;
        Ok(())
    }

    /// A block through the cache. If it has no place there, perhaps in `room`, which is taken then.
    pub(crate) fn cached_block(
        &self,
        handle: BlockHandle,
        room: &mut Option<Arc<Vec<u8>>>,
    ) -> Result<Arc<Vec<u8>>, Fault> {
        match self.cache.look_up(self.block_id(handle.offset)) {
            Ok(block) => Ok(block),
            Err(Miss::Keep(room)) => self.read_and_keep(handle, room),
            Err(Miss::Pass) => self.read_unpacked(handle, room.take()),
        }
    }

    /// Gives `use_it` a block, which is not used any more when that returns.
    pub(crate) fn with_block<T>(
        &self,
        handle: BlockHandle,
        use_it: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Fault> {
        let block = match self.cache.look_up(self.block_id(handle.offset)) {
            Ok(block) => block,
            Err(Miss::Keep(room)) => self.read_and_keep(handle, room)?,
            Err(Miss::Pass) => {
                return with_unpacked(|unpacked| {
                    self.read_into(handle, unpacked)?;
                    Ok(use_it(unpacked))
                });
            }
        };
        Ok(use_it(&block))
    }

    fn read_and_keep(
        &self,
        handle: BlockHandle,
        room: Option<Arc<Vec<u8>>>,
    ) -> Result<Arc<Vec<u8>>, Fault> {
        let block = self.read_unpacked(handle, room)?;
        self.cache
            .insert(self.block_id(handle.offset), block.clone());
        Ok(block)
    }
}
