//! Which level a table of an ingestion becomes part of.
//!
//! It may lie as deep as no table in a level above has a key of its own, and none in its level overlaps it. Of those levels the
//! uppermost is taken in which all of the ingestion has room, so that nothing is to be compacted but what has to be. Tables for
//! which only level 0 is left become one: many there would hold writers up, and count by their numbers, which have to be greater than
//! those of the tables with older rows.

use super::super::compaction::{largest, level_bytes_max, overlapping, smallest};
use super::{Ingestion, cursor_of};
use crate::error::Result;
use crate::internal_key::user_key;
use crate::table_file::TableFile;
use crate::version::Version;
use crate::version_edit::{LEVELS, NewFile};
use std::collections::BTreeSet;

impl Ingestion {
    /// All tables with their levels. There is one layer.
    pub(super) fn place(&mut self) -> Result<Vec<NewFile>> {
        let engine = std::sync::Arc::clone(&self.engine);
        let version = engine.version();
        let total = self.len_bytes();
        let mut bytes = [0_u64; LEVELS];
        for file in version.files() {
            bytes[file.level] = bytes[file.level].saturating_add(file.len_bytes.unwrap_or(0));
        }
        let has_room =
            |level: &usize| bytes[*level].saturating_add(total) <= level_bytes_max(*level);
        let wanted = (1..LEVELS).find(has_room).unwrap_or(LEVELS - 1);
        let mut placed = Vec::new();
        let mut upmost = Vec::new();
        for file in self.layers.files() {
            match self.level_of(&version, file, wanted)? {
                0 => upmost.push(file.clone()),
                level => placed.push(new_file(file, level)),
            }
        }
        let newest = version.files().filter(|file| file.level == 0);
        let newest = newest.map(|file| file.number).max().unwrap_or(0);
        drop(version);
        match &upmost[..] {
            [] => {}
            [only] if only.number > newest => placed.push(new_file(only, 0)),
            _ => placed.extend(self.as_one(upmost)?.iter().map(|file| new_file(file, 0))),
        }
        Ok(placed)
    }

    /// The level for a table: the one that is wanted, or the next below that is free, or else the deepest above.
    fn level_of(&self, version: &Version, file: &TableFile, wanted: usize) -> Result<usize> {
        let order = &self.engine.core.order;
        let (from, to) = (user_key(smallest(file)), user_key(largest(file)));
        let mut found = 0;
        for level in 1..LEVELS {
            for above in overlapping(order, version, level - 1, Some(from), Some(to)) {
                let is_apart = order.compare_user(user_key(largest(&above)), from).is_lt()
                    || order.compare_user(user_key(smallest(&above)), to).is_gt();
                let mut above = cursor_of(&self.engine.core, &above);
                if !is_apart && self.shares_a_key(&mut above, file)? {
                    return Ok(found);
                }
            }
            if overlapping(order, version, level, Some(from), Some(to)).is_empty() {
                found = level;
                if level >= wanted {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// One table of several.
    fn as_one(&mut self, tables: Vec<TableFile>) -> Result<Vec<TableFile>> {
        let replaced: BTreeSet<u64> = tables.iter().map(|file| file.number).collect();
        let one = self.merged(&vec![tables], u64::MAX)?;
        self.unsynced.remove_all(&replaced);
        self.layers.retain(|file| !replaced.contains(&file.number));
        self.layers.add(&self.engine.core.order, one.clone());
        self.drop_tables(&replaced);
        Ok(one)
    }
}

fn new_file(file: &TableFile, level: usize) -> NewFile {
    NewFile {
        level,
        number: file.number,
        len_bytes: file.len_bytes.unwrap_or(0),
        smallest: smallest(file).to_vec(),
        largest: largest(file).to_vec(),
    }
}
