//! The damage that has been found in a store, and which rows it makes doubtful.
//!
//! With [`OnDamage::Skip`](crate::OnDamage::Skip) reading goes on after damage. A lost entry may have overwritten or deleted an older
//! one. If the older one were shown, something deleted would come back. So each damaged part of a table is a [`Region`] of internal keys. A row
//! is withheld if it comes from the same or an older source, sorts after a region's start and has a user key up to its end.

use super::{Table, TableContext};
use crate::damage::{Damage, DamageKind, KeyRange};
use crate::filter::bloom;
use crate::internal_key::{InternalOrder, user_key};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering as Memory};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts the rows withheld for one damage.
pub(crate) type Withheld = Arc<AtomicU64>;

/// Internal keys whose entries in one table are lost: after `low`, up to and with `high`; `None` is no limit.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) low: Option<Vec<u8>>,
    pub(crate) high: Option<Vec<u8>>,
    pub(crate) withheld: Withheld,
    /// Where in the table it begins.
    offset: u64,
    /// The table and the offset of its damaged block, if its filter may be asked.
    block: Option<(Arc<Table>, u64)>,
}

impl Region {
    /// Whether an entry newer than `key` and of the same user key may have been in here. A block's filter excludes most keys: a small table may span all keys, and its loss must not take all rows along. (Of keys that are
    /// equal to the comparator and differ in bytes a filter has one only; point reads rely on there being none.)
    fn may_hide(&self, context: &TableContext, key: &[u8]) -> bool {
        self.is_around(&context.order, key)
            && self.block.as_ref().is_none_or(|(table, offset)| {
                table.may_contain(*offset, bloom::key_hash(user_key(key)))
            })
    }

    fn is_around(&self, order: &InternalOrder, key: &[u8]) -> bool {
        self.low
            .as_ref()
            .is_none_or(|low| order.compare(low, key) == Ordering::Less)
            && self.reaches(order, key)
    }

    fn reaches(&self, order: &InternalOrder, key: &[u8]) -> bool {
        let compare = |high: &Vec<u8>| order.user().compare(user_key(key), user_key(high));
        self.high
            .as_ref()
            .is_none_or(|high| compare(high) != Ordering::Greater)
    }
}

/// The damaged regions of one table, in ascending order, without overlap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions {
    list: Vec<Region>,
}

impl Regions {
    pub(crate) fn add(&mut self, region: Region) {
        let at = self
            .list
            .partition_point(|other| other.offset <= region.offset);
        self.list.insert(at, region);
    }

    /// The region that makes a row doubtful, if any does.
    pub(crate) fn hiding(&self, context: &TableContext, key: &[u8]) -> Option<&Region> {
        let order = &context.order;
        let first = self
            .list
            .partition_point(|region| !region.reaches(order, key));
        // A key's entries may be in more than one block.
        let mut around = self.list[first..]
            .iter()
            .take_while(|region| region.is_around(order, key));
        around.find(|region| region.may_hide(context, key))
    }
}

/// All damage met so far. Shared by everything that reads a store.
#[derive(Debug, Default)]
pub(crate) struct DamageLog {
    state: Mutex<State>,
    /// Changes whenever a region is added: readers look here before every row.
    region_count: AtomicUsize,
}

#[derive(Debug, Default)]
struct State {
    list: Vec<(Damage, Withheld)>,
    known: HashMap<(PathBuf, Option<u64>, DamageKind), usize>,
    /// Each with its table's number, in the order in which they were found.
    regions: Vec<(u64, Region)>,
    /// The last of each table and offset: where it is in `regions`.
    region_places: HashMap<(u64, u64), usize>,
}

impl DamageLog {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a damage down, once for each place and kind.
    pub(crate) fn report(&self, damage: Damage) -> Withheld {
        let mut state = self.state();
        let place = (damage.file.clone(), damage.offset, damage.kind);
        if let Some(&i) = state.known.get(&place) {
            return state.list[i].1.clone();
        }
        let withheld = Withheld::default();
        let i = state.list.len();
        state.known.insert(place, i);
        state.list.push((damage, withheld.clone()));
        withheld
    }

    /// Writes down a damaged part of a table, beginning at `offset`. `block`: the table, if that is a block with a filter.
    pub(crate) fn report_region(
        &self,
        table: u64,
        offset: u64,
        block: Option<Arc<Table>>,
        mut damage: Damage,
        (low, high): (Option<Vec<u8>>, Option<Vec<u8>>),
    ) {
        let user = |key: &Option<Vec<u8>>| key.as_ref().map(|key| user_key(key).to_vec());
        damage.key_range = Some(KeyRange {
            low: user(&low),
            high: user(&high),
        });
        let withheld = self.report(damage);
        let state = &mut *self.state();
        let at = state.region_places.get(&(table, offset));
        let known = at.and_then(|&at| state.regions.get(at));
        if !known.is_some_and(|(_, region)| region.low == low && region.high == high) {
            let at = state.regions.len();
            state.region_places.insert((table, offset), at);
            let block = block.map(|table| (table, offset));
            let region = Region {
                low,
                high,
                withheld,
                offset,
                block,
            };
            state.regions.push((table, region));
            self.region_count
                .store(state.regions.len(), Memory::Release);
        }
    }

    pub(crate) fn list(&self) -> Vec<Damage> {
        let with_count = |(damage, withheld): &(Damage, Withheld)| Damage {
            withheld: withheld.load(Memory::Relaxed),
            ..damage.clone()
        };
        self.state().list.iter().map(with_count).collect()
    }

    #[inline]
    pub(crate) fn region_count(&self) -> usize {
        self.region_count.load(Memory::Acquire)
    }

    /// The damaged regions that were found after the first so many, each with its table's number.
    pub(crate) fn regions_after(&self, known: usize) -> Vec<(u64, Region)> {
        let state = self.state();
        state.regions.get(known..).unwrap_or_default().to_vec()
    }
}
