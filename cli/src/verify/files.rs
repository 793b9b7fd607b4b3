//! LevelDB's files: checksums, keys, and what lies in which level.

use std::collections::HashMap;

use larder_backing_store::{Error, StoreOrder, TailKind};
use larder_codec::{RowKey, compare};
use larder_leveldb::{EntryKind, LiveFile};

use super::finding::Place;
use super::{Check, Checker};
use crate::display::Hex;

/// Tables by name, with what the MANIFEST says of each.
type Tables = HashMap<String, LiveFile>;

impl Checker<'_> {
    /// What opening the store found in the undo log.
    pub(super) fn recovery(&mut self) {
        let recovery = self.store.recovery();
        for problem in &recovery.problems {
            self.error(Check::UndoLog, problem);
        }
        let undone = recovery.undone.len();
        if undone > 0 {
            let what = format!("unfinished transactions, which the next opening undoes: {undone}");
            self.note(Check::UndoLog, Place::store(), what);
        }
        if let Some((one, other)) = recovery.contested {
            let what = format!(
                "unfinished transactions {one} and {other} held the same lock; Chromium would take that for corruption and discard \
                 the store: let Larder open it for writing first"
            );
            self.note(Check::UndoLog, Place::store(), what);
        }
        if let Some(note) = self.store.order().note() {
            self.note(Check::Order, Place::store(), note);
        }
    }

    /// Walks over every entry of every file: reads all blocks, and so verifies all checksums.
    pub(super) fn entries(&mut self) -> Result<(), Error> {
        let tables: Tables = self.tables();
        // In another order than Chromium's, levels and key ranges are not what searches rely on.
        let checks_levels = self.store.order() == StoreOrder::Chromium;
        let Some(snapshot) = self.store.snapshot() else {
            return Ok(());
        };
        let mut entries = snapshot.entries();
        let mut newest: Vec<u8> = Vec::new();
        let mut newest_level = 0;
        let mut file: Option<(String, Option<&LiveFile>)> = None;
        while entries.advance()? {
            (self.tick)()?;
            self.verdict.counts.entries += 1;
            let key = entries.key();
            let name = entries.file_name();
            if file.as_ref().is_none_or(|(known, _)| known != name) {
                file = Some((name.to_owned(), tables.get(name)));
            }
            let table = file.as_ref().and_then(|(_, table)| *table);
            let is_same = key == newest;
            if !is_same {
                newest.clear();
                newest.extend_from_slice(key);
                if entries.kind() != EntryKind::Lost
                    && let Err(error) = RowKey::decode_exact(key)
                {
                    self.row(Check::Row, key, format!("the key: {error}"));
                }
            }
            if !checks_levels {
                continue;
            }
            let level = table.map_or(0, |table| table.level);
            if is_same && level < newest_level {
                let what = format!(
                    "level {level} has an older entry of row {} than level {newest_level}",
                    Hex(key)
                );
                self.fault(Check::Level, Place::file(name), what);
            }
            newest_level = level;
            if let Some(table) = table
                && !is_within(key, table)
            {
                let what = "has keys outside of the range that the MANIFEST gives it";
                self.fault(Check::Level, Place::file(name), what);
            }
        }
        // Tables of one level that overlap are read like those of another order; in another order, keys of tables themselves do not
        // ascend, and such tables have no range.
        if checks_levels || tables.values().all(|table| table.smallest.is_some()) {
            self.levels(&tables);
        }
        Ok(())
    }

    fn tables(&self) -> Tables {
        let files = self.store.db().map(|db| db.files()).unwrap_or_default();
        let named = files.into_iter().map(|file| (file.name.clone(), file));
        named.collect()
    }

    /// Within a level but the first, tables share no keys.
    fn levels(&mut self, tables: &Tables) {
        let mut by_level: Vec<&LiveFile> = tables.values().filter(|file| file.level > 0).collect();
        let smallest = |file: &LiveFile| file.smallest.clone().unwrap_or_default();
        by_level.sort_by(|a, b| {
            let keys = compare(&smallest(a), &smallest(b));
            a.level
                .cmp(&b.level)
                .then(keys)
                .then(a.number.cmp(&b.number))
        });
        for pair in by_level.windows(2) {
            let [one, next] = pair else { continue };
            let (Some(largest), Some(smallest)) = (&one.largest, &next.smallest) else {
                continue;
            };
            if one.level == next.level && compare(smallest, largest).is_lt() {
                let what = format!("shares keys with {} in level {}", one.name, one.level);
                self.fault(Check::Level, Place::file(&*next.name), what);
            }
        }
    }

    /// What reading has found in the files.
    pub(super) fn files(&mut self) {
        for damage in self.store.damage() {
            let file = damage.file.display().to_string();
            let text = self.names.damage(&damage);
            let text = text
                .strip_prefix(&*file)
                .unwrap_or(&text)
                .trim_start_matches(": ");
            self.fault(Check::File, Place::file(file), text.trim_start());
        }
        let is_in_use = self.store.lock_holder().is_some();
        for tail in self.store.torn_tails() {
            let file = tail.file.clone();
            let what = match tail.kind {
                TailKind::Cut if is_in_use => format!(
                    "ends in the middle of a write at byte {}, which was not complete when it was read",
                    tail.offset
                ),
                TailKind::Cut => format!(
                    "ends in the middle of a write at byte {}, as a crash leaves it",
                    tail.offset
                ),
                _ => tail.to_string(),
            };
            self.note(Check::File, Place::file(file), what);
        }
        if is_in_use {
            let what = "a program has the store open; this is how it stood a moment ago";
            self.note(Check::File, Place::store(), what);
        }
    }
}

fn is_within(key: &[u8], table: &LiveFile) -> bool {
    let low = table.smallest.as_ref();
    let high = table.largest.as_ref();
    low.is_none_or(|low| compare(low, key).is_le())
        && high.is_none_or(|high| compare(key, high).is_le())
}
