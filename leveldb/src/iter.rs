//! Rows of a snapshot, in both directions.
//!
//! The newest entry of a user key that the snapshot may see counts: a value is a row, a tombstone hides what is older.
//! Going forward, the merge cursor stands on the row's entry and key and value are borrowed from its block. Going backward,
//! entries of a key come oldest first, so the cursor is already before all of them when the row is known, and the row is
//! kept here.

mod multi_seek;
mod rows;

pub use rows::Rows;

use crate::bounds::Bounds;
use crate::damage::{Damage, DamageKind};
use crate::doubt::Doubt;
use crate::error::{Error, Result};
use crate::internal_key::{self, EntryKind, SEQUENCE_MAX, seek_tag};
use crate::memtable::{MemCursor, MemValue};
use crate::merge::MergeCursor;
use crate::on_damage::OnDamage;
use crate::pinned::PinnedBytes;
use crate::read_state::ReadState;
use crate::source::Source;
use crate::tombstones::WALK_NOTED;
use std::cell::OnceCell;
use std::cmp::Ordering;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::Ordering as Count;

/// Values up to this length are copied when going backward; longer ones keep their block, or chunk of a memtable, alive.
const COPIED_LEN_MAX: usize = 4 << 10;

/// So many older versions of a key are stepped over one by one; then what comes behind all of them is sought. A row that is
/// written by every transaction has thousands.
const OLDER_STEPS_MAX: u32 = 8;

/// So many entries that are no rows are passed over before a walk compares keys with the end of what is wanted. A row that was
/// written over has an older version behind it: each such row would take a comparison more.
const PASSED_BLINDLY_MAX: u32 = 8;

/// A position on a row of a snapshot, or on none. [`Snapshot::iter`](crate::Snapshot::iter) makes one on no row. It lends key and value
/// and copies neither; [`Rows`] is a Rust iterator, which copies both.
///
/// It owns what it reads from: it may outlive the snapshot and the database handle, and move to another thread. Errors
/// leave it on no row.
///
/// ```
/// # use larder_leveldb::{Db, Durability, Options, storage::MemoryFileSystem};
/// # use std::{path::Path, sync::Arc};
/// # let options = Options { create_if_missing: true, ..Options::default() };
/// # let db = Db::open(Arc::new(MemoryFileSystem::new()), Path::new("fruit"), options)?;
/// for fruit in ["apple", "pear", "plum"] {
///     db.put(fruit.as_bytes(), b"ripe", Durability::Relaxed)?;
/// }
/// let mut iter = db.snapshot().iter();
/// iter.seek(b"b")?;
/// while iter.valid() {
///     println!("{:?} {:?}", iter.key(), iter.value()?);
///     iter.next()?;
/// }
/// iter.seek_for_prev(b"pea")?;
/// assert_eq!(iter.key(), b"apple");
/// # Ok::<(), larder_leveldb::Error>(())
/// ```
#[derive(Debug)]
pub struct Iter {
    state: Arc<ReadState>,
    bounds: Option<Arc<Bounds>>,
    /// User keys: no walk over entries that are no rows goes on before the first or after the last.
    near: Option<(Vec<u8>, Vec<u8>)>,
    sequence: u64,
    merge: MergeCursor,
    doubt: Doubt,
    at: At,
    /// Internal key: of the row before, going forward; of this row, going backward.
    saved: Vec<u8>,
    saved_value: SavedValue,
    /// A value read from a log.
    read_value: OnceCell<Vec<u8>>,
    /// User key: where a walk over many entries that are no rows was near its start.
    walk_from: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Nothing,
    /// On the merge cursor's entry.
    Front,
    /// On the saved row; the merge cursor is before all entries of its key.
    Saved,
}

#[derive(Debug, Default)]
enum SavedValue {
    #[default]
    None,
    Copied(Vec<u8>),
    Pinned(PinnedBytes),
}

impl Iter {
    pub(crate) fn new(state: Arc<ReadState>, sequence: u64, bounds: Option<Arc<Bounds>>) -> Iter {
        let sources = state.sources_within(bounds.clone());
        let merge = MergeCursor::new(state.core.order.clone(), sources);
        Iter {
            bounds,
            near: None,
            state,
            sequence,
            merge,
            doubt: Doubt::default(),
            at: At::Nothing,
            saved: Vec::new(),
            saved_value: SavedValue::None,
            read_value: OnceCell::new(),
            walk_from: Vec::new(),
        }
    }

    /// Limits what is read to rows from `low` to `high`: others may be left out.
    pub(crate) fn near(mut self, low: &[u8], high: &[u8]) -> Iter {
        self.near = Some((low.to_vec(), high.to_vec()));
        self
    }

    /// Whether it stands on a row.
    #[inline]
    pub fn valid(&self) -> bool {
        self.at != At::Nothing
    }

    /// The row's user key; empty on no row.
    #[inline]
    pub fn key(&self) -> &[u8] {
        match self.at {
            At::Nothing => &[],
            At::Front => internal_key::user_key(self.merge.current().map_or(&[], Source::key)),
            At::Saved => internal_key::user_key(&self.saved),
        }
    }

    /// The row's sequence number; zero on no row.
    pub fn sequence(&self) -> u64 {
        match self.at {
            At::Nothing => 0,
            At::Front => internal_key::tag(self.merge.current().map_or(&[], Source::key)) >> 8,
            At::Saved => internal_key::tag(&self.saved) >> 8,
        }
    }

    /// The row's value; empty on no row. Borrowed from where it lies; fails only for a large value that is read from its log
    /// now.
    #[inline]
    pub fn value(&self) -> Result<&[u8]> {
        match self.at {
            At::Nothing => Ok(&[]),
            At::Front => match self.merge.current().map(Source::value) {
                Some(value) => value.bytes(&self.read_value),
                None => Ok(&[]),
            },
            At::Saved => match &self.saved_value {
                SavedValue::None => Ok(&[]),
                SavedValue::Copied(bytes) => Ok(bytes),
                SavedValue::Pinned(bytes) => Ok(bytes),
            },
        }
    }

    /// The row's value where it lies. `None` on no row, and of a value that does not lie in one piece or has been copied to be
    /// here: short ones of memtables, those of logs, and going backward those up to 4 KiB.
    pub fn pinned_value(&self) -> Option<PinnedBytes> {
        match (self.at, &self.saved_value) {
            (At::Front, _) => self.merge.current()?.pinned_value(),
            (At::Saved, SavedValue::Pinned(bytes)) => Some(bytes.clone()),
            _ => None,
        }
    }

    /// To the first row.
    pub fn seek_to_first(&mut self) -> Result<()> {
        self.leave();
        match self.bounds.as_ref().map(|bounds| bounds.start_bound()) {
            None | Some(Bound::Unbounded) => self.merge.seek_to_first()?,
            Some(Bound::Included(lower)) => {
                self.seek_merge(&internal_key::tagged(lower, seek_tag(self.sequence)))?;
            }
            Some(Bound::Excluded(lower)) => self.seek_merge(&behind_all_of(lower))?,
        }
        self.find_forward(false)
    }

    /// To the last row.
    pub fn seek_to_last(&mut self) -> Result<()> {
        self.leave();
        match self.bounds.as_ref().map(|bounds| bounds.end_bound()) {
            None | Some(Bound::Unbounded) => self.merge.seek_to_last()?,
            Some(Bound::Included(upper)) => self.seek_merge_before(&behind_all_of(upper))?,
            Some(Bound::Excluded(upper)) => self.seek_merge_before(&before_all_of(upper))?,
        }
        self.find_backward()
    }

    /// To the first row whose key is not less than `key`.
    pub fn seek(&mut self, key: &[u8]) -> Result<()> {
        self.leave();
        let order = &self.state.core.order;
        let bounds = self.bounds.as_ref();
        if bounds.is_some_and(|bounds| bounds.is_after(order, key)) {
            return Ok(());
        }
        if bounds.is_some_and(|bounds| bounds.is_before(order, key)) {
            return self.seek_to_first();
        }
        self.seek_merge(&internal_key::tagged(key, seek_tag(self.sequence)))?;
        self.find_forward(false)
    }

    /// To the last row whose key is not greater than `key`.
    pub fn seek_for_prev(&mut self, key: &[u8]) -> Result<()> {
        self.leave();
        let order = &self.state.core.order;
        let bounds = self.bounds.as_ref();
        if bounds.is_some_and(|bounds| bounds.is_before(order, key)) {
            return Ok(());
        }
        if bounds.is_some_and(|bounds| bounds.is_after(order, key)) {
            return self.seek_to_last();
        }
        self.seek_merge_before(&behind_all_of(key))?;
        self.find_backward()
    }

    /// To the next row; off the last one to none. Does nothing on no row.
    #[expect(
        clippy::should_implement_trait,
        reason = "a cursor that lends its row is no Iterator"
    )]
    #[inline]
    pub fn next(&mut self) -> Result<()> {
        match self.at {
            At::Nothing => return Ok(()),
            At::Front => {
                self.saved.clear();
                self.saved
                    .extend_from_slice(self.merge.current().map_or(&[], Source::key));
                self.read_value.take();
                self.at = At::Nothing;
                self.merge.step()?;
            }
            At::Saved => self.turn_forward()?,
        }
        self.find_forward(true)
    }

    /// To the row before; off the first one to none. Does nothing on no row.
    #[inline]
    pub fn prev(&mut self) -> Result<()> {
        match self.at {
            At::Nothing => return Ok(()),
            At::Front => self.turn_backward()?,
            At::Saved => self.at = At::Nothing,
        }
        self.find_backward()
    }

    fn leave(&mut self) {
        self.at = At::Nothing;
        self.read_value.take();
        self.saved_value = SavedValue::None;
    }

    fn turn_forward(&mut self) -> Result<()> {
        self.leave();
        self.seek_behind_saved()
    }

    /// Takes the merge cursor behind all entries of the saved key.
    #[cold]
    fn seek_behind_saved(&mut self) -> Result<()> {
        self.seek_merge(&behind_all_of(internal_key::user_key(&self.saved)))
    }

    fn turn_backward(&mut self) -> Result<()> {
        let target = before_all_of(self.key());
        self.leave();
        self.seek_merge_before(&target)
    }

    /// Takes the merge cursor to the first entry that is not less than `target`. In a source that is not sorted a search leads
    /// anywhere: a reader that goes on by seeking must find itself further on, or it never comes to an end.
    fn seek_merge(&mut self, target: &[u8]) -> Result<()> {
        self.merge.seek(target)?;
        self.leave_out(target, |against| against == Ordering::Less)
    }

    /// Takes the merge cursor to the last entry that is less than `target`.
    fn seek_merge_before(&mut self, target: &[u8]) -> Result<()> {
        self.merge.seek_before(target)?;
        self.leave_out(target, |against| against != Ordering::Less)
    }

    /// Steps over entries that cannot be where a search for `target` has led to.
    #[inline]
    fn leave_out(&mut self, target: &[u8], is_out: impl Fn(Ordering) -> bool) -> Result<()> {
        let order = |state: &ReadState, key: &[u8]| state.core.order.compare(key, target);
        while let Some(source) = self.merge.current()
            && source.is_run()
            && is_out(order(&self.state, source.key()))
        {
            self.disorder()?;
            self.merge.step()?;
        }
        Ok(())
    }

    /// From the merge cursor's entry forward to a row. `has_saved`: entries of the saved key are older versions of it.
    #[inline]
    fn find_forward(&mut self, mut has_saved: bool) -> Result<()> {
        let mut older_steps = 0;
        let mut passed = 0;
        while let Some(source) = self.merge.current() {
            let (key, tag) = internal_key::split(source.key()).unwrap_or_default();
            if let Some(bounds) = &self.bounds
                && bounds.is_after(&self.state.core.order, key)
            {
                break;
            }
            if passed >= PASSED_BLINDLY_MAX
                && let Some((_, high)) = &self.near
                && self.state.core.order.compare_user(key, high) == Ordering::Greater
            {
                break;
            }
            if tag >> 8 <= self.sequence {
                let against = match has_saved {
                    true => self
                        .state
                        .core
                        .order
                        .compare_user(key, internal_key::user_key(&self.saved)),
                    false => Ordering::Greater,
                };
                if against == Ordering::Greater {
                    if tag as u8 == 1 && !self.withholds_front() {
                        self.at = At::Front;
                        self.end_walk(passed);
                        return Ok(());
                    }
                    self.hide_front(tag as u8);
                    has_saved = true;
                    older_steps = 0;
                } else if against == Ordering::Less {
                    self.disorder()?;
                } else if older_steps >= OLDER_STEPS_MAX && tag > 0 {
                    // An entry with the last of all tags is where the search would lead to.
                    older_steps = 0;
                    self.seek_behind_saved()?;
                    continue;
                } else {
                    older_steps += 1;
                }
                passed += 1;
                if passed == WALK_NOTED {
                    self.begin_walk();
                }
            }
            self.merge.step()?;
        }
        self.at = At::Nothing;
        self.end_walk(passed);
        Ok(())
    }

    /// Many entries were passed over, and the saved one is the last of them.
    #[cold]
    fn begin_walk(&mut self) {
        self.walk_from.clear();
        self.walk_from
            .extend_from_slice(internal_key::user_key(&self.saved));
    }

    /// So many entries were passed over, and the saved one is the last of them, or where it ended.
    #[inline]
    fn end_walk(&self, passed: u32) {
        if passed >= WALK_NOTED {
            self.note_walk(passed);
        }
    }

    #[cold]
    fn note_walk(&self, passed: u32) {
        let order = &self.state.core.order;
        let (from, to) = (&*self.walk_from, internal_key::user_key(&self.saved));
        let (from, to) = match order.compare_user(from, to) {
            Ordering::Greater => (to, from),
            _ => (from, to),
        };
        let tombstones = &self.state.core.tombstones;
        tombstones.note_walk(&self.state, from, to, passed);
    }

    #[inline]
    fn withholds_front(&mut self) -> bool {
        // Nearly always: then it does not matter of which table the entry is.
        if self.state.core.damage.region_count() == 0 {
            return false;
        }
        let Some(source) = self.merge.current() else {
            return false;
        };
        let state = &self.state;
        self.doubt
            .withholds(&state.core, &state.version, source.rank(), source.key())
    }

    /// The front entry is no row, and hides older entries of its key.
    fn hide_front(&mut self, kind: u8) {
        let Some(source) = self.merge.current() else {
            return;
        };
        self.saved.clear();
        self.saved.extend_from_slice(source.key());
        if kind == EntryKind::Lost.to_byte()
            && let Some(withheld) = source.as_mem().and_then(MemCursor::lost)
        {
            withheld.fetch_add(1, Count::Relaxed);
        }
    }

    /// A key on the wrong side of the one before it: some source is not sorted.
    #[cold]
    fn disorder(&self) -> Result<()> {
        let file = self.merge.current().map_or("", Source::file_name);
        let what = "keys are not in ascending order";
        if self.state.core.on_damage == OnDamage::Fail {
            return Err(Error::corruption(file, None, what));
        }
        let mut damage = Damage::new(file, None, DamageKind::Structure, what);
        damage.outdated_possible = true;
        self.state.core.damage.report(damage);
        Ok(())
    }

    /// From the merge cursor's entry backward to a row.
    fn find_backward(&mut self) -> Result<()> {
        self.at = At::Nothing;
        let mut passed = 0;
        while let Some(source) = self.merge.current() {
            if let Some(bounds) = &self.bounds
                && bounds.is_before(&self.state.core.order, internal_key::user_key(source.key()))
            {
                break;
            }
            if passed >= PASSED_BLINDLY_MAX
                && let Some((low, _)) = &self.near
                && let key = internal_key::user_key(source.key())
                && self.state.core.order.compare_user(key, low) == Ordering::Less
            {
                break;
            }
            let Some((rank, kind)) = self.newest_of_key()? else {
                continue;
            };
            let state = &self.state;
            if kind == 1
                && !self
                    .doubt
                    .withholds(&state.core, &state.version, rank, &self.saved)
            {
                self.at = At::Saved;
                break;
            }
            passed += 1;
            if passed == WALK_NOTED {
                self.begin_walk();
            }
        }
        self.end_walk(passed);
        Ok(())
    }

    /// Moves backward over all entries of a user key, and saves the newest that the snapshot may see: its source's rank and
    /// kind. `None` if it may see none.
    fn newest_of_key(&mut self) -> Result<Option<(usize, u8)>> {
        let mut newest = None;
        let mut lost = None;
        let mut key_of_first = std::mem::take(&mut self.saved);
        key_of_first.clear();
        key_of_first.extend_from_slice(self.merge.current().map_or(&[], Source::key));
        while let Some(source) = self.merge.current() {
            let (key, tag) = internal_key::split(source.key()).unwrap_or_default();
            let first = internal_key::user_key(&key_of_first);
            let against = match key == first {
                true => Ordering::Equal,
                false => self.state.core.order.compare_user(key, first),
            };
            match against {
                Ordering::Less => break,
                Ordering::Equal => {}
                Ordering::Greater => {
                    self.disorder()?;
                    self.merge.step()?;
                    continue;
                }
            }
            if tag >> 8 <= self.sequence {
                let kind = tag as u8;
                key_of_first.clear();
                key_of_first.extend_from_slice(source.key());
                save_value(source, kind, &mut self.saved_value)?;
                newest = Some((source.rank(), kind));
                lost = source.as_mem().and_then(MemCursor::lost).cloned();
            }
            self.merge.step()?;
        }
        self.saved = key_of_first;
        if let Some(withheld) = lost {
            withheld.fetch_add(1, Count::Relaxed);
        }
        Ok(newest)
    }
}

/// An internal key before all entries of a user key.
fn before_all_of(key: &[u8]) -> Vec<u8> {
    internal_key::tagged(key, seek_tag(SEQUENCE_MAX))
}

/// An internal key behind all entries of a user key but one that is no row: a tombstone of sequence number zero.
fn behind_all_of(key: &[u8]) -> Vec<u8> {
    internal_key::tagged(key, 0)
}

fn save_value(source: &Source, kind: u8, saved: &mut SavedValue) -> Result<()> {
    if kind != EntryKind::Value.to_byte() {
        return Ok(());
    }
    let bytes = match source.value() {
        MemValue::Bytes(bytes) => bytes,
        MemValue::InLog(value) => {
            *saved = SavedValue::Copied(value.read()?);
            return Ok(());
        }
    };
    if bytes.len() > COPIED_LEN_MAX
        && let Some(block) = source.pinned_value()
    {
        *saved = SavedValue::Pinned(block);
        return Ok(());
    }
    match saved {
        SavedValue::Copied(copy) => {
            copy.clear();
            copy.extend_from_slice(bytes);
        }
        other => *other = SavedValue::Copied(bytes.to_vec()),
    }
    Ok(())
}
