//! Point lookups without cursors: nothing is allocated when the block is in the cache.
//!
//! Only where nothing is wrong: whatever is, the lookup by cursors ([`TableCursor::seek_to_key`](super::TableCursor)) finds
//! out what.

use super::last_block::Blocks;
use super::reader::Table;
use super::{BlockHandle, TableContext};
use crate::block;
use crate::internal_key;
use crate::on_damage::OnDamage;
use std::cmp::Ordering;

/// What a lookup without cursors found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The tag of the newest entry.
    Found(u64),
    Absent,
    /// Ask the cursors.
    Unsure,
}

impl Table {
    /// The newest entry of the user key of `target` that is not less than `target`; its value is added to `value`. `hash` is
    /// the user key's; `key` is memory that is used again; the block comes from `blocks`. The table is prepared.
    pub(crate) fn get(
        &self,
        context: &TableContext,
        (target, hash): (&[u8], u32),
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
        blocks: &mut impl Blocks,
    ) -> Lookup {
        self.pin(context);
        let order = &context.order;
        let compare = |key: &[u8]| order.compare(key, target);
        key.clear();
        key.reserve(2 * target.len());
        let handle = match self.place(context, target) {
            Some(place) => {
                let Some(spot) = self.spot(place) else {
                    return Lookup::Absent;
                };
                if !self.may_contain_in(spot, hash) {
                    return Lookup::Absent;
                }
                spot.handle()
            }
            None => {
                let Ok(index) = self.index() else {
                    return Lookup::Unsure;
                };
                let handle = match block::find(&index, key, compare) {
                    Ok(Some(handle)) => BlockHandle::decode_exact(handle),
                    Ok(None) => return Lookup::Absent,
                    Err(_) => None,
                };
                let Some(handle) = handle else {
                    return Lookup::Unsure;
                };
                if !self.may_contain(handle.offset, hash) {
                    return Lookup::Absent;
                }
                handle
            }
        };
        let found = blocks.with_block(self, handle, |block| {
            if context.on_damage == OnDamage::Skip && !block::has_true_restarts(block) {
                return Lookup::Unsure;
            }
            let found = block::find(block, key, compare);
            let Ok(Some(found)) = found else {
                // Behind the block's last entry, or damage.
                return Lookup::Unsure;
            };
            if !internal_key::is_valid(key) {
                return Lookup::Unsure;
            }
            let (a, b) = (internal_key::user_key(key), internal_key::user_key(target));
            if order.compare_user(a, b) != Ordering::Equal {
                return Lookup::Absent;
            }
            value.extend_from_slice(found);
            Lookup::Found(internal_key::tag(key))
        });
        found.unwrap_or(Lookup::Unsure)
    }
}
