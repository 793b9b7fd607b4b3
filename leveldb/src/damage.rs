//! What is damaged in a store, and which rows it makes doubtful.
//!
//! With [`OnDamage::Skip`](crate::OnDamage::Skip) damage is written down here and reading goes on. Lost entries may have
//! overwritten or deleted older ones, so a row is only shown if nothing lost could be newer: every damaged part of a table is
//! a [`Region`] of internal keys, and a row from the same or an older source that sorts after a region's start and has a user
//! key up to its end is withheld.

use crate::core::Core;
use crate::filter::bloom;
use crate::internal_key::{InternalOrder, user_key};
use crate::table::Table;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering as Memory};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The sort of a [`Damage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DamageKind {
    /// Bytes do not have the checksum that is stored with them.
    Checksum,
    /// Bytes with the right checksum do not make sense.
    Structure,
    /// A file is shorter than it must be.
    Truncated,
    /// A file that must be there is not.
    Missing,
    /// The operating system could not read.
    Unreadable,
    /// A filter is of no use; nothing is lost by that.
    Filter,
    /// Sequence numbers are missing between two log records, without a damaged record there.
    SequenceGap,
}

/// One damaged place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The file's name, without its directory.
    pub file: PathBuf,
    /// Where it begins, in bytes.
    pub offset: Option<u64>,
    /// How many bytes cannot be used.
    pub len_bytes: u64,
    /// The sort of damage.
    pub kind: DamageKind,
    /// What is wrong, in words.
    pub what: String,
    /// User keys between which entries are lost.
    pub key_range: Option<KeyRange>,
    /// Sequence numbers of lost log entries.
    pub lost_sequences: Option<RangeInclusive<u64>>,
    /// How often a row was not shown because what is lost here may have overwritten or deleted it.
    pub withheld: u64,
    /// Whether rows are shown that may be outdated or deleted, because it cannot be known which keys were lost here.
    pub outdated_possible: bool,
}

/// User keys from the lower to the upper, both included; `None` where an end is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The lower end.
    pub low: Option<Vec<u8>>,
    /// The upper end.
    pub high: Option<Vec<u8>>,
}

impl Damage {
    /// A damage without any key or sequence number.
    pub fn new(
        file: impl Into<PathBuf>,
        offset: Option<u64>,
        kind: DamageKind,
        what: impl Into<String>,
    ) -> Damage {
        Damage {
            file: file.into(),
            offset,
            len_bytes: 0,
            kind,
            what: what.into(),
            key_range: None,
            lost_sequences: None,
            withheld: 0,
            outdated_possible: false,
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(offset) = self.offset {
            write!(f, " at byte {offset}")?;
        }
        write!(f, ": {}", self.what)?;
        if self.len_bytes > 0 {
            write!(f, " ({} bytes)", self.len_bytes)?;
        }
        if let Some(KeyRange { low, high }) = &self.key_range {
            f.write_str(", keys ")?;
            hex(f, low.as_deref())?;
            f.write_str("..=")?;
            hex(f, high.as_deref())?;
        }
        if let Some(lost) = &self.lost_sequences {
            write!(
                f,
                ", lost sequence numbers {}..={}",
                lost.start(),
                lost.end()
            )?;
        }
        if self.withheld > 0 {
            write!(f, ", {} older rows withheld", self.withheld)?;
        }
        if self.outdated_possible {
            f.write_str(", rows shown may be outdated or deleted")?;
        }
        Ok(())
    }
}

fn hex(f: &mut fmt::Formatter<'_>, key: Option<&[u8]>) -> fmt::Result {
    const SHOWN_LEN_MAX: usize = 32;
    let Some(key) = key else {
        return f.write_str("?");
    };
    for byte in key.iter().take(SHOWN_LEN_MAX) {
        write!(f, "{byte:02x}")?;
    }
    if key.len() > SHOWN_LEN_MAX {
        write!(f, "…[{} bytes]", key.len())
    } else {
        Ok(())
    }
}

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
    /// Whether an entry newer than `key` and of the same user key may have been in here. A block's filter tells of most keys
    /// that they were not: a small table may span all keys, and its loss must not take all rows along. (Of keys that are
    /// equal to the comparator and differ in bytes a filter knows one only; point reads rely on there being none.)
    fn may_hide(&self, core: &Core, key: &[u8]) -> bool {
        self.is_around(&core.order, key)
            && self.block.as_ref().is_none_or(|(table, offset)| {
                table.may_contain(core, *offset, bloom::key_hash(user_key(key)))
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
    pub(crate) fn hiding(&self, core: &Core, key: &[u8]) -> Option<&Region> {
        let order = &core.order;
        let first = self
            .list
            .partition_point(|region| !region.reaches(order, key));
        // A key's entries may be in more than one block.
        let mut around = self.list[first..]
            .iter()
            .take_while(|region| region.is_around(order, key));
        around.find(|region| region.may_hide(core, key))
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
