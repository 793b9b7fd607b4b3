//! The content of a store at a sequence number.

use crate::bounds::Bounds;
use crate::damage::Damage;
use crate::doubt::Doubt;
use crate::entries::Entries;
use crate::error::{Error, Result};
use crate::filter::bloom;
use crate::internal_key::{self, EntryKind, InternalOrder, SEQUENCE_MAX, seek_tag};
use crate::iter::Iter;
use crate::look_ahead::LookAhead;
use crate::memtable::{self, MemCursor, MemValue};
use crate::on_damage::OnDamage;
use crate::read_state::ReadState;
use crate::skip_list::SkipList;
use crate::source::RunCursor;
use crate::table::{Lookup, UnsortedCursor};
use crate::version::UNORDERED_RANK;
use std::cmp::Ordering;
use std::sync::Arc;

/// The content of a store as of a sequence number. Cheap to clone; keeps what it reads from alive: memtables, and tables that
/// compactions have replaced since.
#[derive(Clone, Debug)]
pub struct Snapshot {
    state: Arc<ReadState>,
    sequence: u64,
}

/// Internal keys up to this length are built without an allocation.
const TARGET_LEN: usize = 256;

/// Whether two internal keys are of one user key.
fn is_of(order: &InternalOrder, a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (internal_key::user_key(a), internal_key::user_key(b));
    order.compare_user(a, b) == Ordering::Equal
}

/// The newest entry of a key.
struct Found {
    internal_key: Vec<u8>,
    rank: usize,
}

impl Snapshot {
    pub(crate) fn new(state: Arc<ReadState>, sequence: u64) -> Snapshot {
        Snapshot {
            state,
            sequence: sequence.min(SEQUENCE_MAX),
        }
    }

    /// The greatest sequence number that is seen.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The value of a key. Fails with [`ErrorKind::Corruption`](crate::ErrorKind::Corruption) if damage may have taken a
    /// newer value or the only one, also with [`OnDamage::Skip`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut value = Vec::new();
        Ok(self.get_into(key, &mut value)?.then_some(value))
    }

    /// Puts the value of a key into `value`, in place of what was there: whether there is one. Fails as [`get`](Self::get)
    /// does.
    pub fn get_into(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        value.clear();
        match self.look_up(key, value) {
            Lookup::Found(tag) => return Ok(tag as u8 == EntryKind::Value.to_byte()),
            Lookup::Absent => return Ok(false),
            Lookup::Unsure => value.clear(),
        }
        self.get_by_cursors(key, value)
    }

    /// Whether the other is a clone of the same.
    pub fn is_same(&self, other: &Snapshot) -> bool {
        Arc::ptr_eq(&self.state, &other.state) && self.sequence == other.sequence
    }

    /// For who is about to look several keys up; `None` if there is nothing to be gained.
    pub fn look_ahead(&self) -> Option<LookAhead> {
        let is_filled = self.memtables().iter().any(|list| !list.is_empty());
        (is_filled && self.is_simple()).then(|| LookAhead::new(self.clone()))
    }

    /// Being written, the newest first.
    pub(crate) fn memtables(&self) -> &[Arc<SkipList>] {
        &self.state.live
    }

    /// The memtable that holds all rows, if one does.
    #[inline]
    pub(crate) fn only_memtable(&self) -> Option<&Arc<SkipList>> {
        match self.memtables() {
            [only] if self.state.version.runs.is_empty() && self.is_simple() => Some(only),
            _ => None,
        }
    }

    /// Whether any damage is an error, and nothing is amiss.
    #[inline]
    fn is_simple(&self) -> bool {
        let state = &self.state;
        state.core.on_damage == OnDamage::Fail && state.version.is_layered && state.mem.is_empty()
    }

    /// As [`get_into`](Self::get_into), in the simple case: any damage is an error, and nothing is amiss.
    fn look_up(&self, key: &[u8], value: &mut Vec<u8>) -> Lookup {
        let state = &self.state;
        let core = &*state.core;
        if !self.is_simple() {
            return Lookup::Unsure;
        }
        let tag = seek_tag(self.sequence).to_le_bytes();
        let (mut small, mut large) = ([0; TARGET_LEN], Vec::new());
        let len = key.len() + internal_key::TAG_LEN;
        let target = match small.get_mut(..len) {
            Some(small) => {
                small[..key.len()].copy_from_slice(key);
                small[key.len()..].copy_from_slice(&tag);
                &*small
            }
            None => {
                large.extend_from_slice(key);
                large.extend_from_slice(&tag);
                &large[..]
            }
        };
        let mut hash = None;
        let mut key_hash = || *hash.get_or_insert_with(|| bloom::key_hash(key));
        for list in &state.live {
            let filter = list.filter();
            if filter.is_some_and(|filter| !filter.may_contain(key_hash())) {
                continue;
            }
            if let Some(tag) = list.get(target, value) {
                return Lookup::Found(tag);
            }
        }
        let hash = key_hash();
        for run in &state.version.runs {
            if !run.may_contain(hash) {
                continue;
            }
            let Some(file) = run.file_with(&core.order, target) else {
                continue;
            };
            let Ok(table) = core.table(file) else {
                return Lookup::Unsure;
            };
            match table.get(core, target, hash, value) {
                Lookup::Absent => {}
                other => return other,
            }
        }
        Lookup::Absent
    }

    /// The naive twin of [`look_up`](Self::look_up), which copes with everything.
    fn get_by_cursors(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        let mut target = Vec::with_capacity(key.len() + internal_key::TAG_LEN);
        internal_key::encode_tagged(&mut target, key, seek_tag(self.sequence));
        let found = self.find(&target, value)?;
        let (rank, internal_key) = match &found {
            Some(found) => (found.rank, &found.internal_key[..]),
            None => {
                // Nothing newer than the oldest possible entry of the oldest source.
                let tag_at = target.len() - internal_key::TAG_LEN;
                target[tag_at..].fill(0);
                (usize::MAX, &target[..])
            }
        };
        let kind = internal_key::tag(internal_key) as u8;
        let is_lost = found.is_some() && kind == EntryKind::Lost.to_byte();
        if is_lost
            || Doubt::default()
                .about(&self.state.core, &self.state.version, rank, internal_key)
                .is_some()
        {
            let what = "an entry of the key may be lost in a damaged part of the store";
            return Err(Error::new(crate::ErrorKind::Corruption, what));
        }
        Ok(found.is_some() && kind == EntryKind::Value.to_byte())
    }

    fn find(&self, target: &[u8], value: &mut Vec<u8>) -> Result<Option<Found>> {
        let state = &self.state;
        for list in &state.live {
            if let Some(tag) = list.get(target, value) {
                let mut internal_key = internal_key::user_key(target).to_vec();
                internal_key.extend_from_slice(&tag.to_le_bytes());
                return Ok(Some(Found {
                    internal_key,
                    rank: 0,
                }));
            }
        }
        let mut mem = MemCursor::new(state.mem.clone(), state.core.order.clone());
        if memtable::find(&mut mem, target) {
            match mem.value() {
                MemValue::Bytes(bytes) => value.extend_from_slice(bytes),
                MemValue::InLog(in_log) => *value = in_log.read()?,
            }
            return Ok(Some(Found {
                internal_key: mem.key().to_vec(),
                rank: 0,
            }));
        }
        let mut best: Option<Found> = None;
        for (i, run) in state.version.runs.iter().enumerate() {
            if best.as_ref().is_some_and(|best| best.rank < run.rank) {
                break;
            }
            let mut cursor = RunCursor::new(state.core.clone(), state.version.clone(), i);
            if !cursor.seek_to_key(target)? {
                continue;
            }
            // Runs of one rank: the newest entry counts.
            let tag = internal_key::tag(cursor.key());
            if best
                .as_ref()
                .is_none_or(|best| internal_key::tag(&best.internal_key) < tag)
            {
                value.clear();
                value.extend_from_slice(cursor.value());
                best = Some(Found {
                    internal_key: cursor.key().to_vec(),
                    rank: run.rank,
                });
            }
        }
        for table in &state.version.unsorted {
            let mut cursor = UnsortedCursor::new(state.core.clone(), table.clone());
            cursor.seek(target)?;
            let tag = internal_key::tag(cursor.key());
            let is_newest = |best: &Found| internal_key::tag(&best.internal_key) < tag;
            if cursor.valid()
                && is_of(&state.core.order, cursor.key(), target)
                && best.as_ref().is_none_or(is_newest)
            {
                value.clear();
                value.extend_from_slice(cursor.value());
                best = Some(Found {
                    internal_key: cursor.key().to_vec(),
                    rank: UNORDERED_RANK,
                });
            }
        }
        Ok(best)
    }

    /// Rows in order, in both directions.
    pub fn iter(&self) -> Iter {
        Iter::new(self.state.clone(), self.sequence, None)
    }

    /// The same, as if there were no rows outside of the bounds. It looks at nothing there either, but for what shares a block with
    /// rows within them, and the first entry after them: what else is there, tombstones for instance, costs nothing.
    pub fn iter_within(&self, bounds: Bounds) -> Iter {
        Iter::new(self.state.clone(), self.sequence, Some(Arc::new(bounds)))
    }

    /// Rows in order, in both directions, for who wants those from `low` to `high`, both included: of the rows beyond it shows
    /// some or none, because it does not pass over tombstones there. Costs nothing where there are none.
    pub fn iter_near(&self, low: &[u8], high: &[u8]) -> Iter {
        self.iter().near(low, high)
    }

    /// Every entry that is there, in internal order: all versions, tombstones, and what damage took.
    pub fn entries(&self) -> Entries {
        Entries::new(&self.state, self.sequence)
    }

    /// All damage met so far by anyone who reads this store; empty with [`OnDamage::Fail`].
    pub fn damage(&self) -> Vec<Damage> {
        match self.state.core.on_damage {
            OnDamage::Fail => Vec::new(),
            OnDamage::Skip => self.state.core.damage.list(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::MemoryFileSystem;
    use crate::table::TableOptions;
    use crate::write_batch::BatchWriter;
    use crate::{
        Background, BytewiseComparator, Comparator, Db, Durability, Identity, KeyFacts, Options,
    };
    use std::path::Path;

    /// Bytewise, but not known to be.
    #[derive(Debug)]
    struct Other;

    impl Comparator for Other {
        fn name(&self) -> &str {
            "other"
        }

        fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
            a.cmp(b)
        }

        fn shorten_separator(&self, _: &mut Vec<u8>, _: &[u8]) {}

        fn shorten_successor(&self, _: &mut Vec<u8>) {}
    }

    fn key(n: u32) -> Vec<u8> {
        match n % 7 {
            0 => vec![b'k'; 300 + (n % 5) as usize],
            _ => format!("key {:05}", n % 4000).into_bytes(),
        }
    }

    /// Tables on several levels, a memtable, and what was deleted.
    fn store(comparator: Arc<dyn Comparator>, key_facts: Option<KeyFacts>) -> Db {
        let options = Options {
            create_if_missing: true,
            // Some tables are left in level 0 with it, also where nodes have heads.
            write_buffer_bytes: 24_000,
            table_file_bytes: 8_000,
            block_cache_bytes: 30_000,
            table: TableOptions {
                block_len: 300,
                ..TableOptions::default()
            },
            background: Background::Caller,
            key_facts,
            ..Options::new(comparator)
        };
        let db = Db::open(Arc::new(MemoryFileSystem::new()), Path::new("db"), options).unwrap();
        let mut batch = BatchWriter::new();
        for n in 0..6000u32 {
            let mixed = n.wrapping_mul(0x9e37_79b9) >> 7;
            match n % 5 {
                0 => batch.delete(&key(mixed)),
                _ => batch.put(&key(mixed), &mixed.to_be_bytes()),
            }
            if n % 10 == 0 {
                db.write(&mut batch, Durability::Relaxed).unwrap();
            }
            if n % 400 == 0 {
                db.do_background_work().unwrap();
            }
        }
        db
    }

    /// How many memtables and level-0 tables the filters in memory keep a lookup out of.
    fn denials(state: &ReadState, key: &[u8]) -> (usize, usize) {
        let hash = bloom::key_hash(key);
        let live = state.live.iter().filter_map(|list| list.filter());
        let runs = state.version.runs.iter();
        (
            live.filter(|filter| !filter.may_contain(hash)).count(),
            runs.filter(|run| !run.may_contain(hash)).count(),
        )
    }

    #[test]
    #[cfg_attr(miri, ignore = "much work for an interpreter")]
    fn a_lookup_finds_what_the_cursors_find() {
        let facts = KeyFacts {
            identity: |_| Identity::Bytes,
            head: |_| 0,
        };
        let orders: [(Arc<dyn Comparator>, _); 3] = [
            (Arc::new(BytewiseComparator), None),
            (Arc::new(Other), None),
            (Arc::new(Other), Some(facts)),
        ];
        for (order, facts) in orders {
            let db = store(order, facts);
            let levels = db.statistics().levels.map(|level| level.tables);
            assert!(
                levels.iter().filter(|&&tables| tables > 0).count() > 1,
                "{levels:?}"
            );
            let snapshot = db.snapshot();
            let (mut found, mut absent) = (0, 0);
            let mut filtered = [0; 2];
            for n in 0..4100 {
                for end in [&b""[..], b"x"] {
                    let key = [&key(n)[..], end].concat();
                    let (live, runs) = denials(&snapshot.state, &key);
                    filtered = [filtered[0] + live, filtered[1] + runs];
                    let (mut fast, mut slow) = (Vec::new(), Vec::new());
                    let there = snapshot.get_by_cursors(&key, &mut slow).unwrap();
                    match snapshot.look_up(&key, &mut fast) {
                        Lookup::Found(tag) => {
                            assert_eq!((tag as u8 == 1, &fast), (there, &slow));
                            found += 1;
                        }
                        Lookup::Absent => {
                            assert!(!there, "{n}");
                            absent += 1;
                        }
                        Lookup::Unsure => {}
                    }
                    assert_eq!(snapshot.get(&key).unwrap(), there.then_some(slow));
                }
            }
            assert!(found > 3000 && absent > 3000, "{found} {absent}");
            // Of a memtable with hints only the table that it becomes has a filter.
            let [live, runs] = filtered.map(|count| count > 6000);
            assert!(live == facts.is_none() && runs, "{filtered:?}");
        }
    }
}
