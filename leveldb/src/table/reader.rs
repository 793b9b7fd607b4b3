//! An open table: its file, where its index and filter lie, and what they say of a key.
//!
//! Index and filter blocks come from the block cache. A table in which keys are sought pins its own as far as there is room
//! ([`Options::block_cache`](crate::Options::block_cache)), so memory does not grow with the store. A damaged table's index is
//! rebuilt from its blocks and kept.

use super::directory::{Directory, Spot};
use super::fault::Placed;
use super::layout::{Index, Layout};
use super::{BlockHandle, TableContext, salvage};
use crate::cache::{BlockCache, BlockId, Pinned};
use crate::error::Result;
use crate::filter::FilterBlock;
use crate::storage::RandomFile;
use crate::table_file::TableFile;
use std::sync::atomic::{AtomicBool, Ordering as Memory};
use std::sync::{Arc, OnceLock};

/// An open table.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) number: u64,
    pub(crate) name: String,
    /// `None` if it could not be opened.
    pub(super) file: Option<Arc<dyn RandomFile>>,
    /// The length, as far as the MANIFEST and the file agree.
    pub(super) len: u64,
    /// Where its blocks are kept.
    pub(super) cache: BlockCache,
    number_in_cache: u64,
    /// What the index says is found out at first use.
    layout: OnceLock<Layout>,
    /// Index and filter, once a key has been looked for, as far as there is room: else they are in the block cache.
    pins: OnceLock<Pins>,
    /// Whether its first and last keys were compared with what the MANIFEST says.
    has_checked_bounds: AtomicBool,
}

/// What a table holds on to.
#[derive(Debug, Default)]
struct Pins {
    index: Option<(Pinned, Option<Directory>)>,
    filter: Option<Pinned>,
}

impl Table {
    /// Whether the bounds are still to be compared; says so once.
    #[inline]
    pub(crate) fn take_bounds_check(&self) -> bool {
        !self.has_checked_bounds.load(Memory::Relaxed)
            && !self.has_checked_bounds.swap(true, Memory::Relaxed)
    }

    pub(crate) fn put_bounds_check_back(&self) {
        self.has_checked_bounds.store(false, Memory::Relaxed);
    }

    pub(crate) fn new(
        context: &TableContext,
        number: u64,
        name: String,
        file: Arc<dyn RandomFile>,
        len: u64,
    ) -> Table {
        let cache = context.cache.clone();
        Table {
            number,
            name,
            file: Some(file),
            len,
            number_in_cache: cache.number_of_table(),
            cache,
            layout: OnceLock::new(),
            pins: OnceLock::new(),
            has_checked_bounds: AtomicBool::new(false),
        }
    }

    /// A table without content, in place of one that is missing.
    pub(crate) fn missing(context: &TableContext, number: u64, name: String) -> Table {
        let layout = Layout {
            index: Index::Rebuilt(salvage::empty_index()),
            filter: None,
        };
        Table {
            number,
            name,
            file: None,
            len: 0,
            cache: context.cache.clone(),
            number_in_cache: context.cache.number_of_table(),
            layout: OnceLock::from(layout),
            pins: OnceLock::new(),
            has_checked_bounds: AtomicBool::new(false),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The block at an offset, as the cache has it.
    #[inline]
    pub(super) fn block_id(&self, offset: u64) -> BlockId {
        (self.number_in_cache, offset)
    }

    /// Finds out where index and filter are. With [`OnDamage::Skip`](crate::OnDamage::Skip) it succeeds for any file.
    pub(crate) fn prepare(&self, context: &TableContext, meta: &TableFile) -> Result<()> {
        if self.layout.get().is_some() {
            return Ok(());
        }
        let layout = match self.read_layout(context, meta) {
            Ok(layout) => layout,
            Err((offset, fault)) => {
                if context.on_damage.fails_on(fault.source.as_ref()) {
                    return Err(fault.into_error(&self.name, offset));
                }
                let index = salvage::rebuild_index(context, self, meta, offset, fault)?;
                Layout {
                    index: Index::Rebuilt(index),
                    filter: None,
                }
            }
        };
        let _ = self.layout.set(layout);
        Ok(())
    }

    /// Takes index and filter out of the cache into the table's own memory, if there is room: a reader that looks for one key may
    /// look for more.
    #[inline]
    pub(crate) fn pin(&self, context: &TableContext) {
        if self.pins.get().is_none()
            && let Some(layout) = self.layout.get()
        {
            self.pins.get_or_init(|| self.new_pins(context, layout));
        }
    }

    #[cold]
    fn new_pins(&self, context: &TableContext, layout: &Layout) -> Pins {
        let Index::Stored(handle) = layout.index else {
            return Pins::default();
        };
        let take = |handle: BlockHandle| {
            let block = self.cached_block(handle, &mut None).ok()?;
            self.cache.remove(self.block_id(handle.offset));
            Some(block)
        };
        let filter = layout.filter.and_then(take);
        let filter = filter.and_then(|block| self.cache.pin(block, 0));
        let index = take(handle).and_then(|block| {
            let filters = filter.as_ref().map(|filter| filter.block.as_slice());
            let directory = Directory::new(&context.order, &block, filters);
            let beside_len = directory.as_ref().map_or(0, Directory::len_bytes);
            Some((self.cache.pin(block, beside_len)?, directory))
        });
        Pins { index, filter }
    }

    /// The number of the index entry that is sought for an internal key, if the index is unfolded: the first that is not less.
    pub(super) fn place(&self, context: &TableContext, target: &[u8]) -> Option<usize> {
        let (index, directory) = self.pinned_index()?;
        let directory = directory.as_ref()?;
        Some(directory.find(&context.order, &index.block, target))
    }

    /// The block of a [`place`](Self::place); `None` behind the last.
    #[inline]
    pub(super) fn spot(&self, place: usize) -> Option<&Spot> {
        let (_, directory) = self.pinned_index()?;
        directory.as_ref()?.spot(place)
    }

    /// The index block; [`prepare`](Self::prepare) came first.
    pub(crate) fn index(&self) -> Placed<Arc<Vec<u8>>> {
        match self.layout.get().map(|layout| &layout.index) {
            None => Ok(salvage::empty_index()),
            Some(Index::Rebuilt(index)) => Ok(index.clone()),
            Some(Index::Stored(handle)) => match self.pinned_index() {
                Some((pinned, _)) => Ok(pinned.block.clone()),
                None => self
                    .cached_block(*handle, &mut None)
                    .map_err(|fault| (Some(handle.offset), fault)),
            },
        }
    }

    fn pinned_index(&self) -> Option<&(Pinned, Option<Directory>)> {
        self.pins.get()?.index.as_ref()
    }

    fn pinned_filter(&self) -> Option<&Pinned> {
        self.pins.get()?.filter.as_ref()
    }

    /// Whether a block of the directory may hold a user key.
    #[inline]
    pub(super) fn may_contain_in(&self, spot: &Spot, key_hash: u32) -> bool {
        match self.pinned_filter() {
            Some(pinned) => spot.may_contain(&pinned.block, key_hash),
            None => self.may_contain(spot.handle().offset, key_hash),
        }
    }

    /// Whether the block at `offset` may hold a user key. Without a usable filter, it may.
    pub(crate) fn may_contain(&self, offset: u64, key_hash: u32) -> bool {
        let Some(handle) = self.layout.get().and_then(|layout| layout.filter) else {
            return true;
        };
        let says = |bytes: &[u8]| {
            FilterBlock::decode(bytes).is_none_or(|filter| filter.may_contain(offset, key_hash))
        };
        match self.pinned_filter() {
            Some(pinned) => says(&pinned.block),
            None => self
                .cached_block(handle, &mut None)
                .map_or(true, |bytes| says(&bytes)),
        }
    }
}

/// A table that is closed was mostly replaced by others: what the cache has of it would be in their way.
impl Drop for Table {
    fn drop(&mut self) {
        let directory = self
            .pins
            .get()
            .and_then(|pins| pins.index.as_ref()?.1.as_ref());
        for spot in directory.into_iter().flat_map(Directory::spots) {
            self.cache.remove(self.block_id(spot.handle().offset));
        }
    }
}
