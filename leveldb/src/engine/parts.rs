//! Where the table of a memtable is divided: what lies behind all tables of its kind so far becomes a table of its own.
//!
//! LevelDB makes one table of a memtable. Its range is that of all keys, so it overlaps all tables of level 0 and 1, although much
//! of it lies where no row was before: an application that writes in the order of its keys, or a history beside its records, appends
//! to some groups of rows all the time. Rows of such a group sink to a deeper level at once, and are in no merge that rewrites what is
//! there.

use super::Engine;
use crate::internal_key::user_key;
use crate::skip_list::{SkipCursor, SkipList};
use crate::version::Version;
use std::sync::Arc;

/// A group becomes a table of its own if it has this part of a full memtable.
const SHARE_MIN: usize = 64;
/// What is left becomes so many tables of level 0 at most. Each counts for what makes a compaction due.
const REST_MAX: usize = 2;

/// Keys of one group, all that a memtable has.
struct Group {
    first: Vec<u8>,
    last: Vec<u8>,
    len_bytes: usize,
    sinks: bool,
}

impl Engine {
    /// The user keys before which the table of a memtable ends, in ascending order.
    pub(super) fn parts(&self, version: &Version, full: &Arc<SkipList>) -> Vec<Vec<u8>> {
        let Some(prefix_len) = self.options.group_prefix_len else {
            return Vec::new();
        };
        let mut groups = groups(full, prefix_len);
        let len_min = self.options.write_buffer_bytes / SHARE_MIN;
        for group in &mut groups {
            let range = (&*group.first, &*group.last);
            group.sinks = group.len_bytes >= len_min && self.flush_level(version, range) > 0;
        }
        while rests(&groups) > REST_MAX {
            let sinking = groups.iter_mut().filter(|group| group.sinks);
            if let Some(least) = sinking.min_by_key(|group| group.len_bytes) {
                least.sinks = false;
            }
        }
        let is_divided = |pair: &[Group]| pair.iter().any(|group| group.sinks);
        let pairs = groups.windows(2).filter(|pair| is_divided(pair));
        pairs.map(|pair| pair[1].first.clone()).collect()
    }
}

/// How many tables there are of groups that do not sink.
fn rests(groups: &[Group]) -> usize {
    let rests = groups.chunk_by(|a, b| !a.sinks && !b.sinks);
    rests.filter(|rest| !rest[0].sinks).count()
}

fn groups(full: &Arc<SkipList>, prefix_len: fn(&[u8]) -> usize) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut prefix = Vec::new();
    let mut cursor = SkipCursor::new(Arc::clone(full));
    let mut last = SkipCursor::new(Arc::clone(full));
    cursor.seek_to_first();
    while cursor.valid() {
        let key = user_key(cursor.key());
        let len_bytes = key.len() + cursor.value().len();
        match groups.last_mut() {
            Some(group) if key.starts_with(&prefix) => group.len_bytes += len_bytes,
            _ => {
                last.stand_with(&cursor);
                last.prev();
                end(&mut groups, &last);
                prefix.clear();
                prefix.extend_from_slice(key.get(..prefix_len(key)).unwrap_or_default());
                groups.push(Group {
                    first: key.to_vec(),
                    last: Vec::new(),
                    len_bytes,
                    sinks: false,
                });
            }
        }
        cursor.next();
    }
    last.seek_to_last();
    end(&mut groups, &last);
    groups
}

/// The last group ends where the cursor stands.
fn end(groups: &mut [Group], last: &SkipCursor) {
    if let Some(group) = groups.last_mut() {
        group.last = user_key(last.key()).to_vec();
    }
}

#[cfg(test)]
#[cfg(not(shuttle))]
mod tests {
    use crate::engine::{Durability, Engine, Statistics};
    use crate::options::{Background, Options};
    use crate::storage::MemoryFileSystem;
    use crate::write_batch::BatchWriter;
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::sync::Arc;

    /// Writes one row under `a`, in no order, and appends one under `b`, time after time. All of them are there afterwards.
    fn write(group_prefix_len: Option<fn(&[u8]) -> usize>) -> Statistics {
        let options = Options {
            create_if_missing: true,
            write_buffer_bytes: 8000,
            table_file_bytes: 4000,
            background: Background::Caller,
            group_prefix_len,
            ..Options::default()
        };
        let fs = Arc::new(MemoryFileSystem::new());
        let engine = Engine::open(fs, Path::new("db"), options).unwrap().engine;
        let mut rows = BTreeMap::new();
        for n in 0..8000_u32 {
            let mut batch = BatchWriter::new();
            for key in [format!("a{:04}", n * 7919 % 997), format!("b{n:06}")] {
                let value = format!("{n} {}", "x".repeat(20));
                batch.put(key.as_bytes(), value.as_bytes());
                rows.insert(key.into_bytes(), value.into_bytes());
            }
            engine.write(&mut batch, Durability::Relaxed).unwrap();
        }
        let mut iter = engine.snapshot().iter();
        iter.seek_to_first().unwrap();
        for (key, value) in rows {
            assert_eq!(iter.key(), key);
            assert_eq!(iter.value().unwrap(), value);
            iter.next().unwrap();
        }
        assert!(!iter.valid());
        engine.statistics()
    }

    #[test]
    #[cfg_attr(miri, ignore = "much work for an interpreter")]
    fn what_is_appended_beside_what_is_overwritten_is_merged_with_nothing() {
        let together = write(None);
        let apart = write(Some(|key| key.len().min(1)));
        let [together, apart] = [together, apart].map(|it| it.compaction_read_bytes);
        assert!(apart * 2 < together, "{apart} and {together}");
    }
}
