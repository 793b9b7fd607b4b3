//! Where a table's index and filter lie: footer, metaindex and index block, checked once when the table is first used.

use std::cmp::Ordering;
use std::sync::Arc;

use super::fault::{Fault, Placed};
use super::reader::Table;
use super::{BlockHandle, FOOTER_LEN, Footer, TableContext};
use crate::block::{BlockCursor, has_true_restarts};
use crate::damage::{Damage, DamageKind};
use crate::error::Result;
use crate::filter::{FilterBlock, bloom};
use crate::internal_key::{self, InternalOrder};
use crate::pinned::PinnedBytes;
use crate::table_file::TableFile;

#[derive(Debug)]
pub(super) struct Layout {
    pub(super) index: Index,
    pub(super) filter: Option<BlockHandle>,
}

#[derive(Debug)]
pub(super) enum Index {
    Stored(BlockHandle),
    /// Rebuilt, in the form of an index block.
    Rebuilt(Arc<Vec<u8>>),
}

impl Table {
    pub(super) fn read_layout(&self, context: &TableContext, meta: &TableFile) -> Placed<Layout> {
        let footer = self.read_footer()?;
        let index = self
            .read_unpacked(footer.index, None)
            .map_err(|fault| (Some(footer.index.offset), fault))?;
        // In a table in another order nothing is searched.
        let order = (!meta.is_unsorted).then_some(&context.order);
        self.check_index(order, &index, footer.index)
            .map_err(|fault| (Some(footer.index.offset), fault))?;
        self.cache.insert(self.block_id(footer.index.offset), index);
        let filter = match self.find_filter(footer.metaindex) {
            Ok(filter) => filter,
            Err((at, fault)) => {
                let what =
                    format!("the filter cannot be used, and no row is lost by that: {fault}");
                if context.on_damage.fails_on(fault.source.as_ref()) {
                    return Err((Some(at), Fault { what, ..fault }));
                }
                context
                    .damage
                    .report(Damage::new(&*self.name, Some(at), DamageKind::Filter, what));
                None
            }
        };
        Ok(Layout {
            index: Index::Stored(footer.index),
            filter,
        })
    }

    /// The index block, verified, not checked, and where it is.
    pub(super) fn read_index(&self) -> Placed<(Arc<Vec<u8>>, BlockHandle)> {
        let footer = self.read_footer()?;
        let index = self.read_unpacked(footer.index, None);
        let index = index.map_err(|fault| (Some(footer.index.offset), fault))?;
        Ok((index, footer.index))
    }

    pub(super) fn read_footer(&self) -> Placed<Footer> {
        let truncated = || {
            (
                None,
                Fault::new(DamageKind::Truncated, "table is shorter than its footer"),
            )
        };
        let footer_at = self
            .len
            .checked_sub(FOOTER_LEN as u64)
            .ok_or_else(truncated)?;
        let mut bytes = [0; FOOTER_LEN];
        self.read_exact(footer_at, &mut bytes)
            .map_err(|fault| (Some(footer_at), fault))?;
        let bad_footer = || {
            (
                Some(footer_at),
                Fault::new(DamageKind::Structure, "the footer of the table is damaged"),
            )
        };
        Footer::decode(&bytes).ok_or_else(bad_footer)
    }

    /// Looks at every index entry once, so that later steps may rely on it: keys ascend, if an order is given; handles ascend
    /// and lie before the index.
    pub(super) fn check_index(
        &self,
        order: Option<&InternalOrder>,
        index: &Arc<Vec<u8>>,
        own: BlockHandle,
    ) -> Result<(), Fault> {
        let wrong = |what: &str| Err(Fault::new(DamageKind::Structure, what));
        let structure =
            |fault: crate::block::BlockFault| Fault::new(DamageKind::Structure, fault.what);
        let mut cursor = BlockCursor::default();
        cursor
            .set_block(PinnedBytes::whole(index.clone()))
            .map_err(structure)?;
        cursor.seek_to_first().map_err(structure)?;
        let (mut end, mut last) = (0, Vec::new());
        while cursor.valid() {
            let key = cursor.key();
            if !internal_key::is_valid(key) {
                return wrong("index key is not an internal key");
            }
            if let Some(order) = order
                && !last.is_empty()
                && order.compare(&last, key) != Ordering::Less
            {
                return wrong("index keys do not ascend");
            }
            let Some(handle) = BlockHandle::decode_exact(cursor.value()) else {
                return wrong("index entry is not a block handle");
            };
            match handle.end() {
                Some(block_end) if handle.offset >= end && block_end <= own.offset => {
                    end = block_end
                }
                _ => return wrong("index entry points outside of the data blocks"),
            }
            last.clear();
            last.extend_from_slice(key);
            cursor.next().map_err(structure)?;
        }
        // An index block's seeks rely on its restart points.
        if !has_true_restarts(index) {
            return wrong("restart points are not where entries with whole keys start");
        }
        cursor.seek_to_last().map_err(structure)
    }

    /// The filter's handle, after its checksum was verified.
    fn find_filter(&self, metaindex: BlockHandle) -> Result<Option<BlockHandle>, (u64, Fault)> {
        let at = |offset: u64| move |fault: Fault| (offset, fault);
        let structure = |fault: crate::block::BlockFault| {
            (
                metaindex.offset,
                Fault::new(DamageKind::Structure, fault.what),
            )
        };
        let block = self
            .read_unpacked(metaindex, None)
            .map_err(at(metaindex.offset))?;
        let name = format!("filter.{}", bloom::NAME);
        let mut cursor = BlockCursor::default();
        cursor
            .set_block(PinnedBytes::whole(block))
            .map_err(structure)?;
        cursor
            .seek(|key| key.cmp(name.as_bytes()))
            .map_err(structure)?;
        if !cursor.valid() || cursor.key() != name.as_bytes() {
            return Ok(None);
        }
        // C++ LevelDB also takes a handle with bytes after it.
        let Some((handle, _)) = BlockHandle::decode(cursor.value()) else {
            let fault = Fault::new(
                DamageKind::Structure,
                "metaindex entry is not a block handle",
            );
            return Err((metaindex.offset, fault));
        };
        let filter = self.read_unpacked(handle, None);
        let filter = filter.map_err(at(handle.offset))?;
        if FilterBlock::decode(&filter).is_none() {
            return Err((
                handle.offset,
                Fault::new(
                    DamageKind::Structure,
                    "the parts of the filter block do not fit its length",
                ),
            ));
        }
        Ok(Some(handle))
    }
}
