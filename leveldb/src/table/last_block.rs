//! Where a lookup gets its block from: anew each time, or the one before once more.

use super::BlockHandle;
use super::fault::Fault;
use super::reader::Table;
use crate::cache::BlockId;
use std::sync::Arc;

/// What gives lookups their blocks.
pub(crate) trait Blocks {
    /// Gives `use_it` a block.
    fn with_block<T>(
        &mut self,
        table: &Table,
        handle: BlockHandle,
        use_it: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Fault>;
}

/// For one lookup.
#[derive(Debug)]
pub(crate) struct Unkept;

impl Blocks for Unkept {
    #[inline]
    fn with_block<T>(
        &mut self,
        table: &Table,
        handle: BlockHandle,
        use_it: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Fault> {
        table.with_block(handle, use_it)
    }
}

/// For lookups that follow one another in the order of keys: the last block stays at hand, so that the cache is not asked again for it.
#[derive(Debug, Default)]
pub(crate) struct LastBlock {
    /// Which block of which table, as the cache has it.
    block: Option<(BlockId, Arc<Vec<u8>>)>,
    /// Memory for a block that the cache does not keep.
    spare: Option<Arc<Vec<u8>>>,
}

impl Blocks for LastBlock {
    fn with_block<T>(
        &mut self,
        table: &Table,
        handle: BlockHandle,
        use_it: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Fault> {
        let id = table.block_id(handle.offset);
        if let Some((last, block)) = &self.block
            && *last == id
        {
            return Ok(use_it(block));
        }
        // What the cache has as well is no memory to write in.
        if let Some((_, mut block)) = self.block.take()
            && Arc::get_mut(&mut block).is_some()
        {
            self.spare = Some(block);
        }
        let block = table.cached_block(handle, &mut self.spare)?;
        let used = use_it(&block);
        self.block = Some((id, block));
        Ok(used)
    }
}
