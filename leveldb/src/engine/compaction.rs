//! Which tables a compaction takes: LevelDB's `db/version_set.cc`.
//!
//! Level 0 is due at four tables, each deeper level when it has more bytes than its limit (10 MiB, ten times as much on each
//! further level). The level that is furthest above its limit goes first, but level 0, once it slows writers down, as if it had
//! [`L0_HASTE`] times as many tables. Nothing that readers do makes a compaction due.

use super::{L0_COMPACT, L0_SLOW_DOWN};
use crate::internal_key::{InternalOrder, user_key};
use crate::table_file::TableFile;
use crate::version::Version;
use crate::version_edit::LEVELS;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) type Files = Vec<Arc<TableFile>>;

const LEVEL_1_BYTES: u64 = 10 << 20;

/// Writers wait for level 0, and LevelDB's choice is as often as not for other levels first. Level 0 cannot always go first either: each of
/// its compactions writes all of level 1 anew, which then only grows as long as writers do not rest. So the levels below may have some
/// times what they may have in quiet times, with the same ratios among them. Measured with 2 GB of random keys in memory: the second
/// gigabyte is written 7.7 times by compactions with 2, 8.9 with 4, 10.2 with 8, 47 if level 0 always goes first; a quick load of 100
/// to 300 MB meets the shortest waits from 4 on.
const L0_HASTE: f64 = 4.0;

/// Sizes that follow from that of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes of a table.
    pub(super) table_bytes: u64,
}

impl Limits {
    /// A table that overlaps more bytes of the level below the output would make a later compaction too large.
    pub(super) fn grandparent_bytes(self) -> u64 {
        self.table_bytes.saturating_mul(10)
    }

    /// More tables of the upper level are taken along only up to so many bytes in all.
    fn expanded_bytes(self) -> u64 {
        self.table_bytes.saturating_mul(25)
    }
}

/// Tables that are merged into others.
#[derive(Debug)]
pub(super) struct Compaction {
    pub(super) level: usize,
    /// The level below, or the same one for rewriting it in place.
    pub(super) output_level: usize,
    /// The tables of `level`, and of `output_level`.
    pub(super) inputs: [Files; 2],
    /// The tables of the level below the output that overlap.
    pub(super) grandparents: Files,
    /// Where the next compaction of this level begins.
    pub(super) pointer: Option<Vec<u8>>,
}

impl Compaction {
    /// Whether the one table can be made part of the next level as it is.
    pub(super) fn is_move(&self, limits: Limits) -> bool {
        self.output_level != self.level
            && self.inputs[0].len() == 1
            && self.inputs[1].is_empty()
            && total_bytes(&self.grandparents) <= limits.grandparent_bytes()
    }

    /// Bytes of the tables that are merged.
    pub(super) fn input_bytes(&self) -> u64 {
        let levels = self.inputs.iter().map(|files| total_bytes(files));
        levels.fold(0, u64::saturating_add)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &Arc<TableFile>> {
        self.inputs.iter().flatten()
    }
}

pub(super) fn smallest(file: &TableFile) -> &[u8] {
    file.smallest.as_deref().unwrap_or_default()
}

pub(super) fn largest(file: &TableFile) -> &[u8] {
    file.largest.as_deref().unwrap_or_default()
}

pub(super) fn total_bytes(files: &[Arc<TableFile>]) -> u64 {
    files.iter().fold(0, |sum, file| {
        sum.saturating_add(file.len_bytes.unwrap_or(0))
    })
}

/// A level's tables: ascending, those of level 0 the newest first.
pub(super) fn level_files(version: &Version, level: usize) -> Files {
    let files = version.files();
    files.filter(|file| file.level == level).cloned().collect()
}

/// A level below 0 with more bytes is due.
pub(super) fn level_bytes_max(level: usize) -> u64 {
    let deeper = level.saturating_sub(1).min(LEVELS) as u32;
    LEVEL_1_BYTES.saturating_mul(10_u64.pow(deeper))
}

/// How full the levels are.
struct Fullness {
    bytes: [u64; LEVELS],
    l0_tables: usize,
}

impl Fullness {
    fn of(version: &Version) -> Self {
        let mut bytes = [0u64; LEVELS];
        let mut l0_tables = 0;
        for file in version.files() {
            l0_tables += usize::from(file.level == 0);
            if let Some(bytes) = bytes.get_mut(file.level) {
                *bytes = bytes.saturating_add(file.len_bytes.unwrap_or(0));
            }
        }
        Self { bytes, l0_tables }
    }

    /// From 1 on the level is due.
    fn urgency(&self, level: usize) -> f64 {
        match level {
            0 if self.l0_tables >= L0_SLOW_DOWN => level_0_urgency(self.l0_tables) * L0_HASTE,
            0 => level_0_urgency(self.l0_tables),
            _ => self.bytes[level] as f64 / level_bytes_max(level) as f64,
        }
    }
}

fn level_0_urgency(tables: usize) -> f64 {
    tables as f64 / L0_COMPACT as f64
}

/// The levels that need a compaction, the one that does most first.
pub(super) fn by_urgency(version: &Version) -> impl Iterator<Item = usize> {
    let fullness = Fullness::of(version);
    // There is no level below the last.
    let mut levels: [(f64, usize); LEVELS - 1] =
        std::array::from_fn(|level| (fullness.urgency(level), level));
    // Of equal ones, the upper level first.
    levels.sort_by(|a, b| b.0.total_cmp(&a.0));
    let is_due = |(urgency, _): &(f64, usize)| *urgency >= 1.0;
    levels
        .into_iter()
        .take_while(is_due)
        .map(|(_, level)| level)
}

/// Bytes of tables that compactions read, about, before level 0 is small: this one, those of the levels that go before level 0, and its own.
pub(super) fn bytes_until_level_0_is_small(version: &Version, compaction: &Compaction) -> u64 {
    if compaction.level == 0 {
        return compaction.input_bytes();
    }
    let fullness = Fullness::of(version);
    let urgency = level_0_urgency(fullness.l0_tables.max(L0_SLOW_DOWN)) * L0_HASTE;
    let before: f64 = (1..LEVELS - 1)
        .map(|level| {
            let (own, below) = (fullness.bytes[level], fullness.bytes[level + 1]);
            let mut left = own as f64 - urgency * level_bytes_max(level) as f64;
            if level == compaction.level {
                left -= total_bytes(&compaction.inputs[0]) as f64;
            }
            // With each byte come those that lie in the same place below.
            left.max(0.0) * (1.0 + below as f64 / own.max(1) as f64)
        })
        .sum();
    let level_0 = fullness.bytes[0].saturating_add(fullness.bytes[1]);
    let next = (before as u64).saturating_add(level_0);
    compaction.input_bytes().saturating_add(next)
}

/// The compaction that is due most, of those without a table that is to be avoided.
pub(super) fn due(
    order: &InternalOrder,
    version: &Version,
    pointers: &BTreeMap<usize, Vec<u8>>,
    limits: Limits,
    avoid: &BTreeSet<u64>,
) -> Option<Compaction> {
    by_urgency(version)
        .find_map(|level| due_of_level(order, version, level, pointers, limits, avoid))
}

fn due_of_level(
    order: &InternalOrder,
    version: &Version,
    level: usize,
    pointers: &BTreeMap<usize, Vec<u8>>,
    limits: Limits,
    avoid: &BTreeSet<u64>,
) -> Option<Compaction> {
    let mut files = level_files(version, level);
    let is_done = |file: &Arc<TableFile>| {
        let pointer = pointers.get(&level);
        pointer.is_some_and(|pointer| order.compare(largest(file), pointer) != Ordering::Greater)
    };
    match level {
        // The oldest first.
        0 => files.reverse(),
        // Round and round through the level's keys.
        _ => {
            let next = files.iter().position(|file| !is_done(file));
            files.rotate_left(next.unwrap_or(0));
        }
    }
    let of_file = |file| of_files(order, version, level, vec![file], limits);
    let is_whole = |compaction: &Compaction| {
        let mut files = compaction.files();
        !files.any(|file| avoid.contains(&file.number))
    };
    files.into_iter().map(of_file).find(is_whole)
}

/// The tables of a level in a range of user keys, both ends included. Of level 0, also all that overlap those.
pub(super) fn overlapping(
    order: &InternalOrder,
    version: &Version,
    level: usize,
    from: Option<&[u8]>,
    to: Option<&[u8]>,
) -> Files {
    let user = order.user();
    let files = level_files(version, level);
    let (mut from, mut to) = (from.map(<[u8]>::to_vec), to.map(<[u8]>::to_vec));
    loop {
        let is_in = |file: &&Arc<TableFile>| {
            let is_before =
                |from: &Vec<u8>| user.compare(user_key(largest(file)), from) == Ordering::Less;
            let is_after =
                |to: &Vec<u8>| user.compare(user_key(smallest(file)), to) == Ordering::Greater;
            !from.as_ref().is_some_and(is_before) && !to.as_ref().is_some_and(is_after)
        };
        let found: Files = files.iter().filter(is_in).cloned().collect();
        if level > 0 {
            return found;
        }
        let Some((low, high)) = range(order, found.iter()) else {
            return found;
        };
        let wider_from = from
            .as_ref()
            .filter(|from| user.compare(user_key(low), from) == Ordering::Less);
        let wider_to = to
            .as_ref()
            .filter(|to| user.compare(user_key(high), to) == Ordering::Greater);
        if wider_from.is_none() && wider_to.is_none() {
            return found;
        }
        if wider_from.is_some() {
            from = Some(user_key(low).to_vec());
        }
        if wider_to.is_some() {
            to = Some(user_key(high).to_vec());
        }
    }
}

/// The first and the last internal key.
pub(super) fn range<'a>(
    order: &InternalOrder,
    files: impl Iterator<Item = &'a Arc<TableFile>>,
) -> Option<(&'a [u8], &'a [u8])> {
    let mut range: Option<(&[u8], &[u8])> = None;
    for file in files {
        let (low, high) = (smallest(file), largest(file));
        range = Some(match range {
            None => (low, high),
            Some((a, b)) => (
                if order.compare(low, a) == Ordering::Less {
                    low
                } else {
                    a
                },
                if order.compare(high, b) == Ordering::Greater {
                    high
                } else {
                    b
                },
            ),
        });
    }
    range
}

/// Adds the tables of the level that go on with the user key with which the inputs end. Without them the newer entries of
/// that key would move below the older ones.
fn add_boundary(order: &InternalOrder, level: &[Arc<TableFile>], inputs: &mut Files) {
    loop {
        let Some((_, high)) = range(order, inputs.iter()) else {
            return;
        };
        let is_next = |file: &&Arc<TableFile>| {
            let low = smallest(file);
            order.compare(low, high) == Ordering::Greater
                && order.user().compare(user_key(low), user_key(high)) == Ordering::Equal
        };
        let next = level
            .iter()
            .filter(is_next)
            .min_by(|a, b| order.compare(smallest(a), smallest(b)));
        match next {
            Some(next) => inputs.push(next.clone()),
            None => return,
        }
    }
}

fn overlapping_files(
    order: &InternalOrder,
    version: &Version,
    level: usize,
    of: &[&Files],
) -> Files {
    match range(order, of.iter().copied().flatten()) {
        Some((low, high)) if level < LEVELS => overlapping(
            order,
            version,
            level,
            Some(user_key(low)),
            Some(user_key(high)),
        ),
        _ => Vec::new(),
    }
}

/// The compaction of some tables of a level into the next one, with everything that has to come along.
pub(super) fn of_files(
    order: &InternalOrder,
    version: &Version,
    level: usize,
    files: Files,
    limits: Limits,
) -> Compaction {
    let all = level_files(version, level);
    let mut upper = files;
    if level == 0 {
        upper = overlapping_files(order, version, 0, &[&upper]);
    }
    add_boundary(order, &all, &mut upper);
    let below = level_files(version, level + 1);
    let mut lower = overlapping_files(order, version, level + 1, &[&upper]);
    add_boundary(order, &below, &mut lower);
    if !lower.is_empty() {
        // More of the upper level, if that takes no more of the lower.
        let mut more = overlapping_files(order, version, level, &[&upper, &lower]);
        add_boundary(order, &all, &mut more);
        let bytes = total_bytes(&more).saturating_add(total_bytes(&lower));
        if more.len() > upper.len() && bytes < limits.expanded_bytes() {
            let mut lower_of_more = overlapping_files(order, version, level + 1, &[&more]);
            add_boundary(order, &below, &mut lower_of_more);
            if lower_of_more.len() == lower.len() {
                (upper, lower) = (more, lower_of_more);
            }
        }
    }
    Compaction {
        level,
        output_level: level + 1,
        grandparents: overlapping_files(order, version, level + 2, &[&upper, &lower]),
        pointer: range(order, upper.iter()).map(|(_, high)| high.to_vec()),
        inputs: [upper, lower],
    }
}

/// Rewrites tables in their level.
pub(super) fn in_place(
    order: &InternalOrder,
    version: &Version,
    level: usize,
    files: Files,
) -> Compaction {
    let mut inputs = files;
    add_boundary(order, &level_files(version, level), &mut inputs);
    Compaction {
        level,
        output_level: level,
        grandparents: overlapping_files(order, version, level + 1, &[&inputs]),
        pointer: None,
        inputs: [inputs, Vec::new()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BytewiseComparator;
    use crate::internal_key::{EntryKind, encode};

    fn file(number: u64, level: usize, first: (&str, u64), last: (&str, u64)) -> TableFile {
        let internal = |(key, sequence): (&str, u64)| {
            let mut out = Vec::new();
            encode(&mut out, key.as_bytes(), sequence, EntryKind::Value);
            Some(out)
        };
        TableFile {
            number,
            level,
            len_bytes: Some(1 << 20),
            smallest: internal(first),
            largest: internal(last),
            keys: None,
            is_unsorted: false,
        }
    }

    fn taken(files: Vec<TableFile>, level: usize, number: u64) -> [Vec<u64>; 2] {
        let order = InternalOrder::new(Arc::new(BytewiseComparator));
        let version = Version::new(&order, files);
        let first = version.files().find(|file| file.number == number).cloned();
        let limits = Limits {
            table_bytes: 2 << 20,
        };
        let compaction = of_files(&order, &version, level, vec![first.unwrap()], limits);
        compaction.inputs.map(|files| {
            let mut numbers: Vec<u64> = files.iter().map(|file| file.number).collect();
            numbers.sort_unstable();
            numbers
        })
    }

    #[test]
    fn level_0_goes_first_once_writers_wait_for_it() {
        let order = InternalOrder::new(Arc::new(BytewiseComparator));
        let urgent = |l0_tables: u64, l1_tables: u64| {
            let deep = (100..100 + l1_tables).map(|n| file(n, 1, ("b", n), ("b", n)));
            let first = (0..l0_tables).map(|n| file(n, 0, ("a", n), ("z", n)));
            let version = Version::new(&order, deep.chain(first).collect());
            by_urgency(&version).collect::<Vec<_>>()
        };
        let slow = L0_SLOW_DOWN as u64;
        assert_eq!(urgent(L0_COMPACT as u64 - 1, 70), [1]);
        assert_eq!(urgent(slow - 1, 70), [1, 0]);
        assert_eq!(urgent(slow, 70), [0, 1]);
        // Level 1, all of which is written anew each time, does not grow for ever: tables of 1 MiB.
        let most = (slow / L0_COMPACT as u64) * L0_HASTE as u64 * 10;
        assert_eq!(urgent(slow, most), [0, 1]);
        assert_eq!(urgent(slow, most + 1), [1, 0]);
    }

    #[test]
    fn the_work_before_level_0_is_that_of_the_levels_that_go_first() {
        let order = InternalOrder::new(Arc::new(BytewiseComparator));
        let compaction = |level, tables: u64| Compaction {
            level,
            output_level: level + 1,
            inputs: [
                (0..tables)
                    .map(|n| Arc::new(file(n, level, ("a", n), ("z", n))))
                    .collect(),
                Vec::new(),
            ],
            grandparents: Vec::new(),
            pointer: None,
        };
        let work = |tables: [u64; 3], compaction: &Compaction| {
            let all = tables.into_iter().enumerate();
            let all = all.flat_map(|(level, count)| (0..count).map(move |n| (level, n)));
            let all =
                all.map(|(level, n)| file(1000 * level as u64 + n, level, ("a", n), ("z", n)));
            bytes_until_level_0_is_small(&Version::new(&order, all.collect()), compaction) >> 20
        };
        let deep = compaction(3, 2);
        assert_eq!(work([8, 80, 400], &deep), 2 + 8 + 80);
        // Level 1 has 20 MiB too much, with twice as much below.
        assert_eq!(work([8, 100, 200], &deep), 2 + 8 + 100 + 20 + 2 * 20);
        // A part of them is at work.
        let upper = compaction(1, 5);
        assert_eq!(work([8, 100, 200], &upper), 5 + 8 + 100 + 15 + 2 * 15);
        // More tables of level 0 make it more urgent.
        assert_eq!(work([10, 100, 200], &deep), 2 + 10 + 100);
        assert_eq!(work([10, 100, 200], &compaction(0, 10)), 10);
    }

    #[test]
    fn tables_to_be_avoided_are_in_no_compaction_and_all_others_are() {
        let order = InternalOrder::new(Arc::new(BytewiseComparator));
        let limits = Limits {
            table_bytes: 2 << 20,
        };
        let below = ["key 03", "key 05", "key 08", "key 19"].into_iter();
        let below = (103..)
            .zip(below)
            .map(|(n, key)| file(n, 1, (key, 1), (key, 1)));
        // Of level 0, 2 and 3 overlap each other, and 3 the table 104 below.
        let files = [
            file(2, 0, ("key 03", 9), ("key 04", 9)),
            file(3, 0, ("key 04", 8), ("key 05", 8)),
            file(4, 0, ("key 08", 7), ("key 09", 7)),
            file(5, 0, ("key 18", 7), ("key 19", 7)),
        ];
        let version = Version::new(&order, files.into_iter().chain(below).collect());
        let mut avoid = BTreeSet::from([104]);
        let mut taken = Vec::new();
        // Each that is chosen is avoided from then on, as if it were damaged.
        while let Some(compaction) = due(&order, &version, &BTreeMap::new(), limits, &avoid) {
            let numbers: BTreeSet<u64> = compaction.files().map(|file| file.number).collect();
            avoid.extend(&numbers);
            taken.push(numbers);
        }
        let sets = [[4, 105], [5, 106]].map(BTreeSet::from);
        assert_eq!(taken, sets);
    }

    #[test]
    fn older_versions_of_the_last_key_in_the_next_tables_come_along() {
        let files = vec![
            file(1, 1, ("a", 9), ("m", 8)),
            file(2, 1, ("m", 5), ("m", 4)),
            file(3, 1, ("m", 2), ("p", 1)),
            file(4, 1, ("q", 1), ("z", 1)),
        ];
        assert_eq!(taken(files, 1, 1), [vec![1, 2, 3], vec![]]);
    }

    #[test]
    fn of_level_0_all_that_overlap_by_way_of_others_come_along() {
        let files = vec![
            file(7, 0, ("a", 9), ("c", 9)),
            file(6, 0, ("b", 8), ("f", 8)),
            file(5, 0, ("e", 7), ("h", 7)),
            file(4, 0, ("x", 7), ("z", 7)),
            file(3, 1, ("g", 1), ("k", 1)),
            file(2, 1, ("l", 1), ("m", 1)),
        ];
        assert_eq!(taken(files, 0, 7), [vec![5, 6, 7], vec![3]]);
    }
}
