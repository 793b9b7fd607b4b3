//! A bounded cache of chunks. A chunk never changes but by growing at its end, so that nothing in here is ever wrong.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The blob and the number of a chunk.
type Key = (u64, u64);

/// Chunks. The ones that were used longest ago go first.
#[derive(Debug)]
pub(crate) struct ChunkCache {
    len_max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Each with the time of its last use.
    chunks: HashMap<Key, (Arc<[u8]>, u64)>,
    /// The chunks by the time of their last use.
    by_use: BTreeMap<u64, Key>,
    uses: u64,
    len: usize,
}

impl State {
    fn remove(&mut self, key: Key) {
        if let Some((chunk, used)) = self.chunks.remove(&key) {
            self.by_use.remove(&used);
            self.len -= chunk.len();
        }
    }
}

impl ChunkCache {
    /// With room for so many bytes.
    pub(crate) fn new(len_max: usize) -> ChunkCache {
        ChunkCache {
            len_max,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The chunk, if the cache has so many bytes of it.
    pub(crate) fn get(&self, blob: u64, number: u64, len_min: usize) -> Option<Arc<[u8]>> {
        let mut guard = self.state();
        let state = &mut *guard;
        state.uses += 1;
        let (chunk, used) = state.chunks.get_mut(&(blob, number))?;
        if chunk.len() < len_min {
            return None;
        }
        state.by_use.remove(used);
        *used = state.uses;
        state.by_use.insert(state.uses, (blob, number));
        Some(Arc::clone(chunk))
    }

    /// Whether the cache has so many bytes of the chunk.
    pub(crate) fn has(&self, blob: u64, number: u64, len_min: usize) -> bool {
        let state = self.state();
        let chunk = state.chunks.get(&(blob, number));
        chunk.is_some_and(|(chunk, _)| chunk.len() >= len_min)
    }

    pub(crate) fn put(&self, blob: u64, number: u64, chunk: Arc<[u8]>) {
        let mut guard = self.state();
        let state = &mut *guard;
        let key = (blob, number);
        let known = state.chunks.get(&key).map(|(chunk, _)| chunk.len());
        if chunk.len() > self.len_max || known.is_some_and(|len| len >= chunk.len()) {
            return;
        }
        state.remove(key);
        state.uses += 1;
        state.len += chunk.len();
        state.by_use.insert(state.uses, key);
        state.chunks.insert(key, (chunk, state.uses));
        while state.len > self.len_max {
            let Some((_, oldest)) = state.by_use.pop_first() else {
                return;
            };
            state.remove(oldest);
        }
    }

    /// Bytes that it holds.
    pub(crate) fn len_bytes(&self) -> usize {
        self.state().len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(len: usize) -> Arc<[u8]> {
        vec![7; len].into()
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let cache = ChunkCache::new(30);
        for number in 0..3 {
            cache.put(1, number, chunk(10));
        }
        assert!(cache.get(1, 0, 10).is_some());
        cache.put(1, 3, chunk(10));
        let has = |number| cache.get(1, number, 10).is_some();
        assert_eq!([has(0), has(1), has(2), has(3)], [true, false, true, true]);
        assert_eq!(cache.len_bytes(), 30);
    }

    #[test]
    fn a_chunk_that_has_grown_replaces_the_shorter_one_and_never_the_other_way_round() {
        let cache = ChunkCache::new(100);
        cache.put(1, 0, chunk(10));
        assert!(cache.get(1, 0, 11).is_none());
        cache.put(1, 0, chunk(20));
        cache.put(1, 0, chunk(10));
        assert_eq!(cache.get(1, 0, 15).unwrap().len(), 20);
        assert_eq!(cache.len_bytes(), 20);
        cache.put(1, 1, chunk(101));
        assert_eq!(cache.len_bytes(), 20);
    }
}
