//! The block cache: unpacked blocks of any number of stores, least recently used first out, bounded in bytes.
//!
//! Cut into shards, so that threads seldom wait for each other. A block that is larger than a shard is not kept. Blocks in
//! use stay alive through their `Arc` whatever the cache does.
//!
//! A scan must not push out the blocks that lookups need again and again. So in a full shard a block takes the place of another only when
//! it is asked for a second time, within about as many misses as the shard has blocks. A block that is read once costs neither
//! the work of an entry nor its memory, which no processor's cache holds.

use crate::hash::BuildNumberHasher;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

const SHARDS: usize = 8;
/// Counted for every block besides its bytes.
const OVERHEAD: usize = 128;
const NONE: usize = usize::MAX;
/// Index and filter blocks may take so many times as much as the cache, beside its blocks. A get needs three blocks, and these two are
/// large: among the cache's blocks they would push out each other and all else. C++ LevelDB keeps those of all open tables.
const PINS: usize = 8;
/// A shard remembers a missed block for so many bytes that it may hold, but some however few it may hold.
const BYTES_PER_MISS: usize = 4 << 10;
const MISSES_MIN: usize = 16;
/// Longer blocks give their memory back at once.
const SPARE_LEN_MAX: usize = 8 << 10;

/// Which block: the number that the cache has given the open table, and the offset.
pub(crate) type BlockId = (u64, u64);

/// Unpacked, verified blocks in memory, for one store or for any number that share it. Cheap to clone: clones are the one cache.
///
/// The blocks of a table leave it when the table is closed, and so do those of a store.
///
/// ```
/// # use larder_leveldb::{BlockCache, Db, Durability, Options, storage::MemoryFileSystem};
/// # use std::{path::Path, sync::Arc};
/// let block_cache = BlockCache::new(64 << 20);
/// let options = Options { create_if_missing: true, block_cache, ..Options::default() };
/// let fs = Arc::new(MemoryFileSystem::new());
/// let stores = ["apples", "pears"].map(|name| Db::open(fs.clone(), Path::new(name), options.clone()));
/// for store in stores {
///     store?.put(b"color", b"green", Durability::Relaxed)?;
/// }
/// # Ok::<(), larder_leveldb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BlockCache(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    capacity_bytes: usize,
    shards: Vec<Mutex<Shard>>,
    /// Bytes of index and filter blocks that tables may still hold on to besides.
    pins_left: Arc<AtomicUsize>,
    tables: AtomicU64,
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
    /// The last block that went, if it had no other user: its memory takes the next one.
    spare: Option<Arc<Vec<u8>>>,
    /// Blocks that were asked for and not kept. One half of a block's hash is the place here, the other half is what stands there.
    missed: Box<[u32]>,
    random: u32,
}

/// What to do with a block that is not there.
#[derive(Debug)]
pub(crate) enum Miss {
    /// It shall be put in; perhaps this is memory for it.
    Keep(Option<Arc<Vec<u8>>>),
    /// It has no place.
    Pass,
}

#[derive(Debug)]
struct Slot {
    id: BlockId,
    block: Arc<Vec<u8>>,
    before: usize,
    after: usize,
}

impl BlockCache {
    /// An empty cache of so many bytes of unpacked blocks. Memory is taken as blocks come.
    pub fn new(capacity_bytes: usize) -> BlockCache {
        let misses = match capacity_bytes / SHARDS {
            0 => 0,
            capacity => (capacity / BYTES_PER_MISS).max(MISSES_MIN),
        };
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
                missed: vec![0; misses].into(),
                random: 1,
            })
        };
        BlockCache(Arc::new(Shared {
            capacity_bytes,
            shards: (0..SHARDS).map(|_| shard()).collect(),
            pins_left: Arc::new(AtomicUsize::new(capacity_bytes.saturating_mul(PINS))),
            tables: AtomicU64::new(0),
        }))
    }

    /// How many bytes of blocks it holds at most.
    pub fn capacity_bytes(&self) -> usize {
        self.0.capacity_bytes
    }

    /// How many bytes the blocks in it take.
    pub fn used_bytes(&self) -> usize {
        let used = |shard: &Mutex<Shard>| shard.lock().unwrap_or_else(PoisonError::into_inner).used;
        self.0.shards.iter().map(used).sum()
    }

    /// A number for a table that is opened. Numbers of files are those of one store alone.
    pub(crate) fn number_of_table(&self) -> u64 {
        self.0.tables.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes a block, and what will be kept beside it, out of the cache's rule, if there is room.
    pub(crate) fn pin(&self, block: Arc<Vec<u8>>, beside_len: usize) -> Option<Pinned> {
        let cost = block.capacity() + beside_len + OVERHEAD;
        let take = |left: usize| left.checked_sub(cost);
        let taken = self
            .0
            .pins_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        taken.is_ok().then(|| Pinned {
            block,
            cost,
            left: self.0.pins_left.clone(),
        })
    }

    fn shard(&self, id: BlockId) -> std::sync::MutexGuard<'_, Shard> {
        self.0.shards[(mixed(id) >> 61) as usize % SHARDS]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, id: BlockId) -> Option<Arc<Vec<u8>>> {
        self.shard(id).get(id)
    }

    /// The block, or else what to do with it.
    pub(crate) fn look_up(&self, id: BlockId) -> Result<Arc<Vec<u8>>, Miss> {
        let mut shard = self.shard(id);
        if let Some(block) = shard.get(id) {
            return Ok(block);
        }
        Err(match shard.has_room() || shard.was_missed(id) {
            true => Miss::Keep(shard.spare.take()),
            false => Miss::Pass,
        })
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
}

/// A hash of which any bits will do.
fn mixed(id: BlockId) -> u64 {
    let word = id.0 ^ id.1.rotate_left(32) ^ 0x9e37_79b9_7f4a_7c15;
    let product = u128::from(word) * 0xd6e8_feb8_6659_fd93;
    product as u64 ^ (product >> 64) as u64
}

impl Shard {
    /// Whether one more block like those that are here has room.
    fn has_room(&self) -> bool {
        let average = self.used.checked_div(self.map.len()).unwrap_or(OVERHEAD);
        self.used + average <= self.capacity
    }

    /// Whether a block was missed not long ago; from now on perhaps it was.
    fn was_missed(&mut self, id: BlockId) -> bool {
        // The uppermost three bits are the same in all of a shard.
        let hash = mixed(id);
        let at = ((hash >> 32) as usize).checked_rem(self.missed.len());
        let Some(missed) = at.and_then(|at| self.missed.get_mut(at)) else {
            return false;
        };
        let mark = hash as u32 | 1;
        if *missed == mark {
            *missed = 0;
            return true;
        }
        // Two blocks may share a place. If each always replaced the other's mark, and they took turns, neither would ever be kept.
        self.random = self.random.wrapping_mul(0x915f_77f5).wrapping_add(1);
        if *missed == 0 || self.random >> 31 == 0 {
            *missed = mark;
        }
        false
    }

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
        let mut shard = cache.0.shards[0].lock().unwrap();
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

    /// Reads a block as readers do: whether it was there.
    fn read(cache: &BlockCache, id: BlockId) -> bool {
        match cache.look_up(id) {
            Ok(_) => return true,
            Err(Miss::Keep(_)) => cache.insert(id, Arc::new(vec![0; 4000])),
            Err(Miss::Pass) => {}
        }
        false
    }

    #[test]
    fn while_there_is_room_a_block_is_kept_at_once() {
        let cache = BlockCache::new(1 << 20);
        // Half full: so no shard is.
        for offset in 0..125 {
            assert!(!read(&cache, (1, offset)) && read(&cache, (1, offset)));
        }
    }

    #[test]
    fn blocks_that_are_read_once_do_not_push_out_others() {
        let cache = BlockCache::new(1 << 20);
        for offset in 0..2000 {
            read(&cache, (1, offset));
        }
        let kept: Vec<u64> = (0..2000)
            .filter(|&offset| cache.get((1, offset)).is_some())
            .collect();
        assert!((200..=256).contains(&kept.len()), "{}", kept.len());
        for offset in 0..100_000 {
            assert!(!read(&cache, (2, offset)));
        }
        let left = kept
            .iter()
            .filter(|&&offset| cache.get((1, offset)).is_some());
        // Two hashes may be equal in the half that is kept: such a block is then taken for another that was missed before.
        assert!(left.count() >= kept.len() - 5);
    }

    #[test]
    fn blocks_that_are_read_again_and_again_come_in() {
        for bytes in [100_000, 1 << 20, 8 << 20] {
            let cache = BlockCache::new(bytes);
            let blocks = (bytes / 2 / 4096) as u64;
            for offset in 0..4 * blocks {
                read(&cache, (1, offset));
            }
            let mut there = 0;
            for _ in 0..20 {
                there = (0..blocks)
                    .filter(|&offset| read(&cache, (2, offset)))
                    .count();
            }
            assert!(
                there as u64 >= blocks * 9 / 10,
                "{there} of {blocks} in {bytes}"
            );
        }
    }

    #[test]
    fn a_cache_without_room_keeps_nothing() {
        let cache = BlockCache::new(0);
        for _ in 0..3 {
            assert!(matches!(cache.look_up((1, 1)), Err(Miss::Pass)));
        }
    }

    #[test]
    fn a_block_larger_than_a_shard_is_not_kept() {
        let cache = BlockCache::new(8 * 1000);
        cache.insert((1, 1), Arc::new(vec![0; 2000]));
        assert!(cache.get((1, 1)).is_none());
    }
}
