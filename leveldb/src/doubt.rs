//! Which rows damage makes doubtful, for one reader.
//!
//! A copy of the damaged regions, in the order of their sources' age, which grows when there are more: regions are found while
//! reading. Readers ask after they have moved all their cursors past a key, so whatever could hide an entry of that key has
//! been found by then.

use crate::core::Core;
use crate::internal_key;
use crate::table::{Regions, Withheld};
use crate::version::Version;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Damaged regions as far as they are known to a reader.
#[derive(Debug, Default)]
pub(crate) struct Doubt {
    known: usize,
    /// By rank and number of the table.
    regions: BTreeMap<(usize, u64), Regions>,
}

impl Doubt {
    /// What makes an entry from a source of a rank doubtful, if anything does.
    #[inline]
    pub(crate) fn about(
        &mut self,
        core: &Core,
        version: &Version,
        rank: usize,
        key: &[u8],
    ) -> Option<&Withheld> {
        if core.damage.region_count() == 0 {
            return None;
        }
        self.look_up(core, version, rank, key)
    }

    #[cold]
    fn look_up(
        &mut self,
        core: &Core,
        version: &Version,
        rank: usize,
        key: &[u8],
    ) -> Option<&Withheld> {
        let count = core.damage.region_count();
        if count != self.known {
            let found = core.damage.regions_after(self.known);
            self.known += found.len();
            for (table, region) in found {
                if let Some(rank) = version.rank_of(table) {
                    self.regions.entry((rank, table)).or_default().add(region);
                }
            }
        }
        let newer_or_same = self.regions.range(..=(rank, u64::MAX));
        let mut hiding = newer_or_same.filter_map(|(_, regions)| regions.hiding(core, key));
        hiding.next().map(|region| &region.withheld)
    }

    /// Whether damage of any table may have taken an entry of a user key.
    pub(crate) fn covers(&mut self, core: &Core, version: &Version, key: &[u8]) -> bool {
        let mut oldest = Vec::new();
        internal_key::encode_tagged(&mut oldest, key, 0);
        self.about(core, version, usize::MAX, &oldest).is_some()
    }

    /// Whether damage makes the entry doubtful; if so, counts the row as withheld.
    #[inline]
    pub(crate) fn withholds(
        &mut self,
        core: &Core,
        version: &Version,
        rank: usize,
        key: &[u8],
    ) -> bool {
        match self.about(core, version, rank, key) {
            Some(withheld) => {
                withheld.fetch_add(1, Ordering::Relaxed);
                true
            }
            None => false,
        }
    }
}
