//! Looks for one entry of a block without a cursor: what a point lookup does twice. The cursor's `seek` finds the same.

use super::cursor::{BlockCursor, BlockFault, Step, layout, restart_key_at, restart_of};
use std::cmp::Ordering;
use std::ops::Range;

/// The keys at a block's restart points.
pub(crate) fn restart_keys(block: &[u8]) -> Result<Vec<&[u8]>, BlockFault> {
    let (restarts_at, count) = layout(block)?;
    let key = |i| restart_key_at(block, restarts_at, restart_of(block, restarts_at, i)?);
    match restarts_at {
        0 => Ok(Vec::new()),
        _ => (0..count).map(key).collect(),
    }
}

/// The value of the first entry that is not less than the target, and its key in `key`: `compare` gives the order of a key
/// against the target. `None` if all are less. Restart points before `within` are known to be less than the target, and
/// those after it greater.
pub(crate) fn find<'a>(
    block: &'a [u8],
    within: Range<usize>,
    key: &mut Vec<u8>,
    mut compare: impl FnMut(&[u8]) -> Ordering,
) -> Result<Option<&'a [u8]>, BlockFault> {
    let (restarts_at, count) = layout(block)?;
    if restarts_at == 0 {
        return Ok(None);
    }
    let high = within.end.min(count).max(1);
    let (mut low, mut high) = (within.start.saturating_sub(1).min(high - 1), high);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let at = restart_of(block, restarts_at, middle)?;
        if compare(restart_key_at(block, restarts_at, at)?) == Ordering::Less {
            low = middle
        } else {
            high = middle
        }
    }
    key.clear();
    let mut at = restart_of(block, restarts_at, low)?;
    while at < restarts_at {
        let entry = BlockCursor::decode(block, restarts_at, at, key)?;
        if compare(key) != Ordering::Less {
            return Ok(block.get(entry.value.0..entry.value.1));
        }
        at = entry.next_at;
    }
    Step::Ok(None)
}
