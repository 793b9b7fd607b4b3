//! The content of a store at a sequence number.

mod multi_get;

use crate::Identity;
use crate::bounds::Bounds;
use crate::damage::Damage;
use crate::doubt::Doubt;
use crate::entries::Entries;
use crate::error::{Error, Result};
use crate::filter::bloom;
use crate::internal_key::{self, EntryKind, InternalOrder, SEQUENCE_MAX, seek_tag};
use crate::iter::{Iter, Rows};
use crate::memtable::{self, MemCursor, MemValue};
use crate::on_damage::OnDamage;
use crate::read_state::ReadState;
use crate::skip_list::{Lead, Value};
use crate::source::RunCursor;
use crate::table::{Lookup, Unkept};
use crate::unsorted::UnsortedCursor;
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

/// Where a lookup has found a value.
enum Found<'l> {
    InList(Value<'l>),
    /// In the memory that the lookup was given.
    Copied,
}

/// What is found, unless it is a deletion.
fn if_value<T>(tag: u64, found: T) -> Option<T> {
    (tag as u8 == EntryKind::Value.to_byte()).then_some(found)
}

/// A key's hash for filters, made when it is first asked for.
struct KeyHash<'k> {
    key: &'k [u8],
    hash: Option<u32>,
}

impl<'k> KeyHash<'k> {
    const fn new(key: &'k [u8]) -> KeyHash<'k> {
        KeyHash { key, hash: None }
    }

    #[inline]
    fn get(&mut self) -> u32 {
        *self.hash.get_or_insert_with(|| bloom::key_hash(self.key))
    }
}

/// A lookup without cursors has met something that only cursors can judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unsure;

/// Gives `work` the internal key.
fn with_internal_key<T>(key: &[u8], tag: u64, work: impl FnOnce(&[u8]) -> T) -> T {
    let mut small = [0; TARGET_LEN];
    let (key_len, len) = (key.len(), key.len() + internal_key::TAG_LEN);
    if let Some(small) = small.get_mut(..len) {
        small[..key_len].copy_from_slice(key);
        small[key_len..].copy_from_slice(&tag.to_le_bytes());
        return work(small);
    }
    work(&internal_key::tagged(key, tag))
}

/// Whether two internal keys are of one user key.
fn is_of(order: &InternalOrder, a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (internal_key::user_key(a), internal_key::user_key(b));
    order.compare_user(a, b) == Ordering::Equal
}

/// The newest entry of a key, as cursors find it.
struct Entry {
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
        let lead = match self.state.is_simple() {
            true => Some(Lead::of_key(&self.state.live, key)),
            false => None,
        };
        let found = self.get_led(key, lead, &mut Vec::new(), value)?;
        if let Some(Found::InList(found)) = found {
            found.append_to(value);
        }
        Ok(found.is_some())
    }

    /// The core of `get` and `multi_get`. Both come here, so that many lookups find what each alone would.
    ///
    /// `lead` is there in the simple case, where damage is an error and versions of a row lie newest first: memtables, then runs by age. Then
    /// the first entry met is the newest, and the search ends with it. Where anything is unsure, cursors ask every source and what is lost
    /// in them; without that, an older value could be found while a newer one lies in a damaged block.
    /// `value` is empty, and takes what
    /// does not lie in a memtable.
    fn get_led(
        &self,
        key: &[u8],
        lead: Option<Lead>,
        block_key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Found<'_>>> {
        // A lookup that is unsure has added nothing to the value.
        if let Some(lead) = lead
            && let Ok(found) = self.look_up(key, lead, block_key, value)
        {
            return Ok(found);
        }
        let is_there = self.get_by_cursors(key, value)?;
        Ok(is_there.then_some(Found::Copied))
    }

    /// In the simple case: any damage is an error, and nothing is amiss.
    fn look_up(
        &self,
        key: &[u8],
        lead: Lead,
        block_key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<Option<Found<'_>>, Unsure> {
        let mut hash = KeyHash::new(key);
        if let Some((tag, found)) = self.look_up_in_memory(key, lead, &mut hash) {
            return Ok(if_value(tag, Found::InList(found)));
        }
        if self.state.version.runs.is_empty() {
            return Ok(None);
        }
        let found = with_internal_key(key, seek_tag(self.sequence), |target| {
            self.look_up_in_tables(target, hash.get(), block_key, value)
        })?;
        Ok(found.and_then(|tag| if_value(tag, Found::Copied)))
    }

    /// The newest entry in memtables, in the simple case: its tag and value.
    fn look_up_in_memory(
        &self,
        key: &[u8],
        lead: Lead,
        hash: &mut KeyHash<'_>,
    ) -> Option<(u64, Value<'_>)> {
        let state = &*self.state;
        let seek_tag = seek_tag(self.sequence);
        if let Some((list, node)) = lead.place()
            && let Some(list) = state.live.get(list)
            && let Some(found) = list.get_at(node, key, seek_tag)
        {
            return Some(found);
        }
        // Of a key that has other forms the hash tables have none.
        let identity = state.core.order.identity();
        let absent_from = match identity.is_some_and(|identity| identity(key) == Identity::Bytes) {
            true => lead.absent_from(),
            false => 0,
        };
        for list in state.live.iter().skip(absent_from) {
            let filter = list.filter();
            if filter.is_some_and(|filter| !filter.may_contain(hash.get())) {
                continue;
            }
            if let Some(found) = list.get(key, seek_tag) {
                return Some(found);
            }
        }
        None
    }

    /// The tag of the newest entry in tables, whose value is appended.
    fn look_up_in_tables(
        &self,
        target: &[u8],
        hash: u32,
        block_key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<Option<u64>, Unsure> {
        let core = &*self.state.core;
        for run in &self.state.version.runs {
            if !run.may_contain(hash) {
                continue;
            }
            let Some(file) = run.file_with(&core.order, target) else {
                continue;
            };
            let table = core.table(file).map_err(|_| Unsure)?;
            match table.get(core, (target, hash), block_key, value, &mut Unkept) {
                Lookup::Found(tag) => return Ok(Some(tag)),
                Lookup::Absent => {}
                Lookup::Unsure => return Err(Unsure),
            }
        }
        Ok(None)
    }

    /// The naive twin of [`look_up`](Self::look_up), which copes with everything.
    fn get_by_cursors(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        let mut target = internal_key::tagged(key, seek_tag(self.sequence));
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
            let what = "whether the key has a value is not known: an entry of it may be lost in a damaged part of the store; repair the store";
            return Err(Error::new(crate::ErrorKind::Corruption, what));
        }
        Ok(found.is_some() && kind == EntryKind::Value.to_byte())
    }

    fn find(&self, target: &[u8], value: &mut Vec<u8>) -> Result<Option<Entry>> {
        let state = &self.state;
        let (user_key, tag_max) = (internal_key::user_key(target), internal_key::tag(target));
        for list in &state.live {
            if let Some((tag, found)) = list.get(user_key, tag_max) {
                found.append_to(value);
                let mut internal_key = user_key.to_vec();
                internal_key.extend_from_slice(&tag.to_le_bytes());
                return Ok(Some(Entry {
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
            return Ok(Some(Entry {
                internal_key: mem.key().to_vec(),
                rank: 0,
            }));
        }
        let mut best: Option<Entry> = None;
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
                best = Some(Entry {
                    internal_key: cursor.key().to_vec(),
                    rank: run.rank,
                });
            }
        }
        for table in &state.version.unsorted {
            let mut cursor = UnsortedCursor::new(state.core.clone(), table.clone());
            cursor.seek(target)?;
            let tag = internal_key::tag(cursor.key());
            let is_newest = |best: &Entry| internal_key::tag(&best.internal_key) < tag;
            if cursor.valid()
                && is_of(&state.core.order, cursor.key(), target)
                && best.as_ref().is_none_or(is_newest)
            {
                value.clear();
                value.extend_from_slice(cursor.value());
                best = Some(Entry {
                    internal_key: cursor.key().to_vec(),
                    rank: UNORDERED_RANK,
                });
            }
        }
        Ok(best)
    }

    /// The rows of a range in order, from both ends: an iterator that copies each row. See [`Rows`].
    pub fn range(&self, range: impl Into<Bounds>) -> Rows {
        Rows::new(self.state.clone(), self.sequence, range.into())
    }

    /// A position that goes from row to row, in both directions, and lends key and value. It stands on no row yet.
    pub fn iter(&self) -> Iter {
        Iter::new(self.state.clone(), self.sequence, None)
    }

    /// A position as [`iter`](Self::iter) gives it, as if there were no rows outside of the bounds. It looks at nothing there either,
    /// but for what shares a block with rows within them, and the first entry after them: what else is there, tombstones for
    /// instance, costs nothing.
    pub fn iter_within(&self, bounds: impl Into<Bounds>) -> Iter {
        let bounds = Arc::new(bounds.into());
        Iter::new(self.state.clone(), self.sequence, Some(bounds))
    }

    /// Rows in order, in both directions, for a reader of those from `low` to `high`, both included: of the rows beyond it shows
    /// some or none, because it does not pass over tombstones there. Costs nothing where there are none.
    pub fn iter_near(&self, low: &[u8], high: &[u8]) -> Iter {
        self.iter().near(low, high)
    }

    /// Every entry that is there, in internal order: all versions, tombstones, and what damage took.
    pub fn entries(&self) -> Entries {
        Entries::new(&self.state, self.sequence)
    }

    /// All damage met so far by all readers of this store; empty with [`OnDamage::Fail`].
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
        Background, BlockCache, BytewiseComparator, Comparator, Db, Durability, Identity, KeyFacts,
        Options,
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
            block_cache: BlockCache::new(30_000),
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
                    let lead = Lead::of_key(&snapshot.state.live, &key);
                    match snapshot.look_up(&key, lead, &mut Vec::new(), &mut fast) {
                        Ok(Some(value)) => {
                            if let Found::InList(value) = value {
                                value.append_to(&mut fast);
                            }
                            assert!(there && fast == slow, "{n}");
                            found += 1;
                        }
                        Ok(None) => {
                            assert!(!there, "{n}");
                            absent += 1;
                        }
                        Err(Unsure) => {}
                    }
                    assert_eq!(snapshot.get(&key).unwrap(), there.then_some(slow));
                }
            }
            assert!(found > 2500 && absent > 3000, "{found} {absent}");
            // Of a memtable with hints only the table that it becomes has a filter.
            let [live, runs] = filtered.map(|count| count > 6000);
            assert!(live == facts.is_none() && runs, "{filtered:?}");
        }
    }
}
