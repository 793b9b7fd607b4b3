//! Looks for one entry of a block without a cursor: what a point lookup does twice. The cursor's `seek` finds the same.

use super::cursor::{BlockCursor, BlockFault, Step, layout, restart_key_at, restart_of};
use std::cmp::Ordering;
use std::ops::{ControlFlow, Range};

/// An entry with its whole key, at a restart point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WholeEntry<'a> {
    pub(crate) at: usize,
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

/// All entries of a block that has a restart point for each, as an index block does; `None` if it has not.
pub(crate) fn whole_entries(block: &[u8]) -> Result<Option<Vec<WholeEntry<'_>>>, BlockFault> {
    let (restarts_at, count) = layout(block)?;
    let mut entries = Vec::with_capacity(count);
    let mut at = 0;
    while at < restarts_at {
        if entries.len() == count || restart_of(block, restarts_at, entries.len())? != at {
            return Ok(None);
        }
        let key = restart_key_at(block, restarts_at, at)?;
        let (start, end) = BlockCursor::decode(block, restarts_at, at, &mut Vec::new())?.value;
        let value = block.get(start..end).unwrap_or_default();
        entries.push(WholeEntry { at, key, value });
        at = end;
    }
    Ok((entries.len() == count || restarts_at == 0).then_some(entries))
}

/// The key of a [`WholeEntry`] at `at`.
#[inline]
pub(crate) fn whole_key(block: &[u8], at: usize) -> Result<&[u8], BlockFault> {
    restart_key_at(block, block.len(), at)
}

/// Calls `visit` with each entry's key, and where in the block its value is, from the first on, as the bytes have them: no
/// restart point is asked. `visit` can end it.
pub(crate) fn for_each<B>(
    block: &[u8],
    mut visit: impl FnMut(&[u8], Range<usize>) -> ControlFlow<B>,
) -> Result<ControlFlow<B>, BlockFault> {
    let (restarts_at, _) = layout(block)?;
    let (mut key, mut at) = (Vec::new(), 0);
    while at < restarts_at {
        let entry = BlockCursor::decode(block, restarts_at, at, &mut key)?;
        if let ControlFlow::Break(end) = visit(&key, entry.value.0..entry.value.1) {
            return Ok(ControlFlow::Break(end));
        }
        at = entry.next_at;
    }
    Ok(ControlFlow::Continue(()))
}

/// Calls `visit` with the key and the value of each entry that can be made out in a damaged block. `visit` says whether it looks like one:
/// if not, or if an entry does not fit in the block, reading goes on at the next restart point.
pub(crate) fn for_each_damaged(block: &[u8], mut visit: impl FnMut(&[u8], &[u8]) -> bool) {
    let (restarts_at, count) = layout(block).unwrap_or((block.len(), 0));
    let restarts = (0..count).filter_map(|i| restart_of(block, restarts_at, i).ok());
    let mut restarts: Vec<usize> = restarts.collect();
    restarts.sort_unstable();
    let (mut key, mut at) = (Vec::new(), 0);
    while at < restarts_at {
        let entry = BlockCursor::decode(block, restarts_at, at, &mut key).ok();
        let entry = entry.filter(|entry| {
            let value = block.get(entry.value.0..entry.value.1);
            visit(&key, value.unwrap_or_default())
        });
        let next = restarts.get(restarts.partition_point(|restart| *restart <= at));
        at = match (entry, next) {
            (Some(entry), _) => entry.next_at,
            (None, Some(next)) => *next,
            (None, None) => return,
        };
    }
}

/// The value of the first entry that is not less than the target, and its key in `key`: `compare` gives the order of a key
/// against the target. `None` if all are less.
pub(crate) fn find<'a>(
    block: &'a [u8],
    key: &mut Vec<u8>,
    mut compare: impl FnMut(&[u8]) -> Ordering,
) -> Result<Option<&'a [u8]>, BlockFault> {
    let (restarts_at, count) = layout(block)?;
    if restarts_at == 0 {
        return Ok(None);
    }
    let (mut low, mut high) = (0, count);
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
