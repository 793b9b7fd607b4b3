//! The block cache: unpacked blocks, least recently used first out, bounded in bytes.
//!
//! Cut into shards, so that threads seldom wait for each other. A block that is larger than a shard is not kept. Blocks in
//! use stay alive through their `Arc` whatever the cache does.

use crate::hash::BuildNumberHasher;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

const SHARDS: usize = 8;
/// Counted for every block besides its bytes.
const OVERHEAD: usize = 128;
const NONE: usize = usize::MAX;
/// Longer blocks give their memory back at once.
const SPARE_LEN_MAX: usize = 8 << 10;

/// Which block: table number and offset.
pub(crate) type BlockId = (u64, u64);

#[derive(Debug)]
pub(crate) struct BlockCache {
    shards: Vec<Mutex<Shard>>,
    /// Bytes of index and filter blocks that tables may still hold on to besides.
    pins_left: Arc<AtomicUsize>,
}

/// A block that stays in memory without the cache, for as long as this is held.
#[derive(Debug)]
pub(crate) struct Pinned {
    pub(crate) block: Arc<Vec<u8>>,
    cost: usize,
    left: Arc<AtomicUsize>,
}

impl Drop for Pinned {
    fn drop(&mut self) {
        self.left.fetch_add(self.cost, Ordering::Relaxed);
    }
}

#[derive(Debug)]
struct Shard {
    map: HashMap<BlockId, usize, BuildNumberHasher>,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// Most and least recently used.
    head: usize,
    tail: usize,
    used: usize,
    capacity: usize,
    /// The last block that went, if nobody used it: its memory takes the next one.
    spare: Option<Arc<Vec<u8>>>,
}

#[derive(Debug)]
struct Slot {
    id: BlockId,
    block: Arc<Vec<u8>>,
    before: usize,
    after: usize,
}

impl BlockCache {
    pub(crate) fn new(capacity_bytes: usize) -> BlockCache {
        let shard = || {
            Mutex::new(Shard {
                map: HashMap::default(),
                slots: Vec::new(),
                free: Vec::new(),
                head: NONE,
                tail: NONE,
                used: 0,
                capacity: capacity_bytes / SHARDS,
                spare: None,
            })
        };
        BlockCache {
            shards: (0..SHARDS).map(|_| shard()).collect(),
            pins_left: Arc::new(AtomicUsize::new(capacity_bytes)),
        }
    }

    /// Takes a block, and what will be kept beside it, out of the cache's rule, if there is room: all that is pinned has at
    /// most as many bytes as the cache.
    pub(crate) fn pin(&self, block: Arc<Vec<u8>>, beside_len: usize) -> Option<Pinned> {
        let cost = block.capacity() + beside_len + OVERHEAD;
        let take = |left: usize| left.checked_sub(cost);
        let taken = self
            .pins_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken.is_ok().then(|| Pinned {
            block,
            cost,
            left: self.pins_left.clone(),
        })
    }

    fn shard(&self, id: BlockId) -> std::sync::MutexGuard<'_, Shard> {
        let mixed = (id.0 ^ id.1.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.shards[mixed as usize % SHARDS]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, id: BlockId) -> Option<Arc<Vec<u8>>> {
        self.shard(id).get(id)
    }

    /// The block, or else memory for it, if there is some.
    pub(crate) fn get_or_room(&self, id: BlockId) -> Result<Arc<Vec<u8>>, Option<Arc<Vec<u8>>>> {
        let mut shard = self.shard(id);
        shard.get(id).ok_or_else(|| shard.spare.take())
    }

    /// Forgets a block.
    pub(crate) fn remove(&self, id: BlockId) {
        let mut shard = self.shard(id);
        if let Some(&slot) = shard.map.get(&id) {
            shard.remove(slot);
        }
    }

    pub(crate) fn insert(&self, id: BlockId, block: Arc<Vec<u8>>) {
        self.shard(id).put(id, block);
    }

    #[cfg(test)]
    fn used_bytes(&self) -> usize {
        self.shards
            .iter()
            .map(|shard| shard.lock().unwrap().used)
            .sum()
    }
}

impl Shard {
    fn get(&mut self, id: BlockId) -> Option<Arc<Vec<u8>>> {
        let &slot = self.map.get(&id)?;
        self.unlink(slot);
        self.link_first(slot);
        Some(self.slots[slot].block.clone())
    }

    fn put(&mut self, id: BlockId, block: Arc<Vec<u8>>) {
        let cost = block.capacity() + OVERHEAD;
        if cost > self.capacity {
            return;
        }
        if let Some(&slot) = self.map.get(&id) {
            self.remove(slot);
        }
        while self.used + cost > self.capacity {
            self.remove(self.tail);
        }
        self.used += cost;
        let slot = Slot {
            id,
            block,
            before: NONE,
            after: NONE,
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        self.map.insert(id, at);
        self.link_first(at);
    }

    fn unlink(&mut self, slot: usize) {
        let (before, after) = (self.slots[slot].before, self.slots[slot].after);
        match before {
            NONE => self.head = after,
            _ => self.slots[before].after = after,
        }
        match after {
            NONE => self.tail = before,
            _ => self.slots[after].before = before,
        }
    }

    fn link_first(&mut self, slot: usize) {
        let head = self.head;
        self.slots[slot].before = NONE;
        self.slots[slot].after = head;
        match head {
            NONE => self.tail = slot,
            _ => self.slots[head].before = slot,
        }
        self.head = slot;
    }

    fn remove(&mut self, slot: usize) {
        self.unlink(slot);
        let mut block = std::mem::take(&mut self.slots[slot].block);
        self.used -= block.capacity() + OVERHEAD;
        let id = self.slots[slot].id;
        self.map.remove(&id);
        self.free.push(slot);
        if block.capacity() <= SPARE_LEN_MAX && Arc::get_mut(&mut block).is_some() {
            self.spare = Some(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickcheck::quickcheck;

    quickcheck! {
        fn it_gives_back_what_was_put_in_and_stays_within_its_bytes(operations: Vec<(u8, u16)>) -> bool {
            let cache = BlockCache::new(8 * 4000);
            operations.iter().all(|&(id, len)| {
                let id = (u64::from(id % 8), u64::from(id / 8));
                let block = Arc::new(vec![id.1 as u8; usize::from(len % 3000)]);
                if cache.get(id).is_some_and(|block| block.iter().any(|&byte| byte != id.1 as u8)) {
                    return false;
                }
                cache.insert(id, block.clone());
                cache.get(id).is_some_and(|cached| cached == block) && cache.used_bytes() <= 8 * 4000
            })
        }
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let cache = BlockCache::new(SHARDS * 3 * (100 + OVERHEAD));
        let mut shard = cache.shards[0].lock().unwrap();
        for id in 0..3 {
            shard.put((0, id), Arc::new(vec![0; 100]));
        }
        assert!(shard.get((0, 0)).is_some());
        shard.put((0, 3), Arc::new(vec![0; 100]));
        assert_eq!(
            [0, 1, 2, 3].map(|id| shard.map.contains_key(&(0, id))),
            [true, false, true, true]
        );
    }

    #[test]
    fn a_block_larger_than_a_shard_is_not_kept() {
        let cache = BlockCache::new(8 * 1000);
        cache.insert((1, 1), Arc::new(vec![0; 2000]));
        assert!(cache.get((1, 1)).is_none());
    }
}
