//! Does the work: memtables become tables, tables are merged into deeper ones.

use super::compaction::{self, Compaction, Limits, largest, level_files, overlapping};
use super::compaction_input::CompactionInput;
use super::install::{Replaced, Work};
use super::output::Output;
use super::{Engine, locked, pace};
use crate::cache::BlockCache;
use crate::core::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::file_name::FileName;
use crate::filter::KeyFilter;
use crate::internal_key::{InternalOrder, user_key};
use crate::on_damage::OnDamage;
use crate::skip_list::{SkipCursor, SkipList};
use crate::source::{RunCursor, Source};
use crate::table::TableContext;
use crate::table_file::TableFile;
use crate::version::Version;
use crate::version_edit::{LEVELS, NewFile, VersionEdit};
use std::cmp::Ordering as Order;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A memtable becomes a table of at most this level, if nothing above overlaps.
const FLUSH_LEVEL_MAX: usize = 2;
/// Tables that a compaction has open at a time.
const OPEN_TABLES_MAX: usize = 32;

impl Engine {
    pub(super) fn limits(&self) -> Limits {
        Limits {
            table_bytes: self.options.table_file_bytes.max(1),
        }
    }

    pub(super) fn output<'a>(
        &'a self,
        level: usize,
        table_bytes: u64,
        number: &'a dyn Fn() -> u64,
        check: &'a dyn Fn() -> Result<()>,
    ) -> Output<'a> {
        Output {
            core: &self.core,
            options: &self.options,
            level,
            table_bytes,
            new_number: number,
            check,
            keys: None,
            unsynced: None,
        }
    }

    /// Makes a table of the full memtable, if there is one, and first of what opening had no room for, if that is left. `may_sink`: it may become part of a deeper level than 0; not
    /// while a compaction is under way, whose output is not part of the version yet.
    pub(super) fn flush_full(&self, work: &mut Work, may_sink: bool) -> Result<bool> {
        // What is newer must not become a table before.
        let was_kept = self.flush_kept(work)?;
        let state = self.state();
        let (Some(full), Some(filling)) = (state.live.get(1), state.live.first()) else {
            return Ok(was_kept);
        };
        self.progress.begin_flush(full.len_bytes() as u64);
        let flushed = self.make_table(work, &state.version, full, filling, may_sink);
        self.progress.finish_flush();
        // A writer that waits for room need not wait until files are removed.
        self.report_done();
        if let Err(error) = &flushed
            && error.kind() == ErrorKind::Corruption
        {
            // What is in memory cannot be damaged by a disk: nothing is left to rely on.
            self.fail(error);
        }
        flushed?;
        work.old_logs.push(full.log_number);
        self.remove_obsolete(work);
        Ok(true)
    }

    /// Makes a table of a memtable, and a part of the store of the table.
    fn make_table(
        &self,
        work: &mut Work,
        version: &Version,
        full: &Arc<SkipList>,
        filling: &SkipList,
        may_sink: bool,
    ) -> Result<()> {
        let sources = vec![Source::Live(SkipCursor::new(full.clone()))];
        let mut input = CompactionInput::new(
            self.core.order.clone(),
            sources,
            |_| false,
            self.discardable.filter(&self.core.order),
        )?;
        let number = || self.new_file_number();
        let check = || self.check_lock();
        let keys = self.keys_of(full);
        let output = Output {
            // What has a filter already put all of its keys in.
            keys: keys.as_deref().filter(|_| full.filter().is_none()),
            ..self.output(0, u64::MAX, &number, &check)
        };
        let mut reported = 0;
        let between = |passed: u64| {
            if passed - reported >= pace::REPORT_BYTES {
                reported = passed;
                self.progress.advance_flush(passed);
                self.report_done();
            }
            Ok(())
        };
        let parts = match may_sink {
            true => self.parts(version, full),
            false => Vec::new(),
        };
        let order = &self.core.order;
        let mut parts = parts.iter().peekable();
        let mut ends_before = |key: &[u8]| {
            let begins = |part: &&Vec<u8>| order.compare_user(user_key(key), part) != Order::Less;
            // Merging may have dropped all rows of a part: then one key is behind several ends.
            let mut ends = false;
            while parts.next_if(begins).is_some() {
                ends = true;
            }
            ends
        };
        let mut tables = output.write(&mut input, &mut ends_before, between)?;
        let table_bytes = tables.iter().map(|table| table.len_bytes).sum();
        self.progress.flushed(input.passed_bytes(), table_bytes);
        for table in &mut tables {
            self.counters.flushed(table.len_bytes);
            if may_sink {
                let range = (user_key(&table.smallest), user_key(&table.largest));
                table.level = self.flush_level(version, range);
            }
        }
        let edit = VersionEdit {
            log_number: Some(filling.log_number),
            new_files: tables,
            ..VersionEdit::default()
        };
        self.install(work, edit, Some(Replaced::Full { keys }))
    }

    /// A filter for the keys of a memtable that becomes a table; its own, if it has one.
    fn keys_of(&self, full: &SkipList) -> Option<Arc<KeyFilter>> {
        self.options.table.bloom_bits?;
        let of_memtable = full.filter().cloned();
        Some(of_memtable.unwrap_or_else(|| Arc::new(KeyFilter::new(full.len_bytes()))))
    }

    /// The deepest level that keeps newer above older, and later compactions small, for a table with this first and last user key.
    pub(super) fn flush_level(&self, version: &Version, (from, to): (&[u8], &[u8])) -> usize {
        let order = &self.core.order;
        let at = |level| overlapping(order, version, level, Some(from), Some(to));
        if !at(0).is_empty() {
            return 0;
        }
        let is_free = |level: &usize| {
            let below = compaction::total_bytes(&at(level + 1));
            at(*level).is_empty() && below <= self.limits().grandparent_bytes()
        };
        (1..=FLUSH_LEVEL_MAX)
            .take_while(is_free)
            .last()
            .unwrap_or(0)
    }

    /// Does a compaction, and removes the tables it has replaced: the caller holds no version that has them.
    pub(super) fn compact(&self, work: &mut Work, compaction: Compaction) -> Result<()> {
        let mut edit = VersionEdit::default();
        for file in compaction.files() {
            edit.deleted_files.push((file.level, file.number));
        }
        if let Some(pointer) = &compaction.pointer {
            edit.compact_pointers
                .push((compaction.level, pointer.clone()));
        }
        match &compaction.inputs[0][..] {
            [file] if compaction.is_move(self.limits()) && !work.must_rewrite => {
                edit.new_files.push(NewFile {
                    level: compaction.output_level,
                    number: file.number,
                    len_bytes: file.len_bytes.unwrap_or(0),
                    smallest: compaction::smallest(file).to_vec(),
                    largest: largest(file).to_vec(),
                })
            }
            _ => edit.new_files = self.merge_whole(work, &compaction)?,
        }
        self.install(work, edit, None)?;
        self.remove_obsolete(work);
        Ok(())
    }

    /// Writes the compaction's output, or gives up the damaged table that is in the way.
    fn merge_whole(&self, work: &mut Work, compaction: &Compaction) -> Result<Vec<NewFile>> {
        let merged = self.merge(work, compaction);
        if let Err(error) = &merged
            && error.kind() == ErrorKind::Corruption
        {
            let name = error.file().and_then(|path| path.file_name());
            let damaged = match name.and_then(FileName::parse) {
                Some(FileName::Table(number) | FileName::OldTable(number)) => Some(number),
                _ => None,
            };
            let inputs = || compaction.files().map(|file| file.number);
            match damaged.filter(|number| inputs().any(|input| input == *number)) {
                Some(number) => self.health.give_up([number], error),
                None => self.health.give_up(inputs(), error),
            }
        }
        merged
    }

    /// What a compaction makes tables of.
    pub(super) fn input(
        &self,
        version: &Version,
        compaction: &Compaction,
    ) -> Result<CompactionInput<'_>> {
        let core = self.compaction_core();
        let order = &self.core.order;
        let inputs: Vec<TableFile> = compaction
            .files()
            .map(|file| TableFile::clone(file))
            .collect();
        let inputs = Arc::new(Version::new(order, inputs));
        let run = |i| Source::Run(RunCursor::new(core.clone(), inputs.clone(), i));
        let sources = (0..inputs.runs.len()).map(run).collect();
        let mut deeper = Deeper::new(order, version, compaction.output_level);
        CompactionInput::new(
            order.clone(),
            sources,
            move |key| deeper.is_free(key),
            self.discardable.filter(order),
        )
    }

    /// Writes the compaction's output. A memtable that fills up meanwhile is not kept waiting.
    fn merge(&self, work: &mut Work, compaction: &Compaction) -> Result<Vec<NewFile>> {
        let version = self.version();
        let order = &self.core.order;
        let mut input = self.input(&version, compaction)?;
        let limits = self.limits();
        let number = || self.new_file_number();
        let check = || self.check_lock();
        let level = compaction.output_level;
        let output = self.output(level, limits.table_bytes, &number, &check);
        let mut ahead = Ahead::new(order, compaction, limits);
        let mut reported = 0;
        let between = |passed: u64| {
            if passed - reported >= pace::REPORT_BYTES {
                self.progress.advance(passed - reported);
                reported = passed;
                self.report_done();
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::new(
                    ErrorKind::Closed,
                    "the store is being closed: open it again",
                ));
            }
            if self.has_full.load(Ordering::Relaxed) && !work.is_short_of_room {
                self.flush_full(work, false)?;
            }
            Ok(())
        };
        let work = compaction::bytes_until_level_0_is_small(&version, compaction);
        self.progress.begin(work);
        let written = output.write(&mut input, |key| ahead.ends_before(key), between);
        self.progress.finish();
        let tables = written?;
        let read = compaction.input_bytes();
        let written = tables.iter().map(|table| table.len_bytes).sum();
        self.counters.compacted(read, written);
        Ok(tables)
    }

    /// The store's files with caches of their own: a compaction must not push out what readers use.
    pub(super) fn compaction_core(&self) -> Arc<Core> {
        Arc::new({
            let context =
                TableContext::new(self.core.order.clone(), OnDamage::Fail, BlockCache::new(0));
            Core::new(&self.core.fs, &self.core.dir, context, OPEN_TABLES_MAX)
        })
    }

    /// Merges all tables in a range of user keys, both ends included, and rewrites the deepest level in it.
    pub(crate) fn compact_range(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> Result<()> {
        self.flush()?;
        let work = &mut *locked(&self.work);
        work.must_rewrite = true;
        let done = self.watched("a compaction", || self.compact_levels(work, from, to));
        work.must_rewrite = false;
        self.report_done();
        self.wake();
        done
    }

    /// So many bytes of tables [`compact_range`](Self::compact_range) reads at most, if nothing is written meanwhile.
    pub(crate) fn compaction_bytes(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> u64 {
        let version = self.version();
        let (order, user) = (&self.core.order, self.core.order.user());
        let deepest = self.deepest_level(&version, from, to);
        let (mut from, mut to) = (from.map(<[u8]>::to_vec), to.map(<[u8]>::to_vec));
        // All that comes down to a level is read along with what is there.
        let (mut merged, mut total) = (0_u64, 0_u64);
        for level in 0..=deepest {
            let files = overlapping(order, &version, level, from.as_deref(), to.as_deref());
            merged = merged.saturating_add(compaction::total_bytes(&files));
            if level > 0 {
                total = total.saturating_add(merged);
            }
            let Some((low, high)) = compaction::range(order, files.iter()) else {
                continue;
            };
            let (low, high) = (user_key(low), user_key(high));
            if let Some(from) = from.as_mut().filter(|from| user.compare(low, from).is_lt()) {
                *from = low.to_vec();
            }
            if let Some(to) = to.as_mut().filter(|to| user.compare(high, to).is_gt()) {
                *to = high.to_vec();
            }
        }
        total
    }

    /// The deepest level that a compaction of a range of user keys goes to.
    fn deepest_level(&self, version: &Version, from: Option<&[u8]>, to: Option<&[u8]>) -> usize {
        let order = &self.core.order;
        let has_any = |level: &usize| !overlapping(order, version, *level, from, to).is_empty();
        let deepest = (0..LEVELS).rfind(has_any).unwrap_or(0);
        deepest.max(1)
    }

    pub(super) fn compact_levels(
        &self,
        work: &mut Work,
        from: Option<&[u8]>,
        to: Option<&[u8]>,
    ) -> Result<()> {
        self.health.check()?;
        self.mend_manifest(work)?;
        let deepest = self.deepest_level(&self.version(), from, to);
        let first_new = self.next_file.load(Ordering::Relaxed);
        for level in 0..deepest {
            // Of level 0, not what writers add meanwhile.
            let below = if level == 0 { first_new } else { u64::MAX };
            self.compact_level(work, level, (from, to), below, false)?;
        }
        // What was merged into the deepest level is as it should be.
        self.compact_level(work, deepest, (from, to), first_new, true)
    }

    /// Compacts the tables of a level in a range with numbers below a limit, a few at a time and each once.
    fn compact_level(
        &self,
        work: &mut Work,
        level: usize,
        (from, to): (Option<&[u8]>, Option<&[u8]>),
        number_below: u64,
        in_place: bool,
    ) -> Result<()> {
        let order = &self.core.order;
        let mut after: Option<Vec<u8>> = None;
        loop {
            let version = self.version();
            let files = overlapping(order, &version, level, from, to);
            let is_left = |file: &&Arc<TableFile>| {
                let is_done = |done: &Vec<u8>| {
                    level > 0 && order.compare(largest(file), done) != Order::Greater
                };
                file.number < number_below && !after.as_ref().is_some_and(is_done)
            };
            let Some(file) = files.iter().find(is_left) else {
                return Ok(());
            };
            let some = vec![file.clone()];
            let compaction = match in_place {
                true => compaction::in_place(order, &version, level, some),
                false => compaction::of_files(order, &version, level, some, self.limits()),
            };
            after = compaction::range(order, compaction.inputs[0].iter())
                .map(|(_, high)| high.to_vec());
            drop(version);
            self.compact(work, compaction)?;
        }
    }
}

/// Whether a user key can be in a level below the output. Asked in ascending order.
struct Deeper<'a> {
    order: &'a InternalOrder,
    levels: Vec<Vec<Arc<TableFile>>>,
    at: Vec<usize>,
}

impl<'a> Deeper<'a> {
    fn new(order: &'a InternalOrder, version: &Version, output_level: usize) -> Deeper<'a> {
        let levels: Vec<_> = (output_level + 1..LEVELS)
            .map(|level| level_files(version, level))
            .collect();
        Deeper {
            order,
            at: vec![0; levels.len()],
            levels,
        }
    }

    fn is_free(&mut self, key: &[u8]) -> bool {
        for (files, at) in self.levels.iter().zip(&mut self.at) {
            while let Some(file) = files.get(*at) {
                if self.order.compare_user(key, user_key(largest(file))) != Order::Greater {
                    if self
                        .order
                        .compare_user(key, user_key(compaction::smallest(file)))
                        != Order::Less
                    {
                        return false;
                    }
                    break;
                }
                *at += 1;
            }
        }
        true
    }
}

/// Ends a table before it overlaps too much of the level below the output.
struct Ahead<'a> {
    order: &'a InternalOrder,
    grandparents: &'a [Arc<TableFile>],
    limit: u64,
    at: usize,
    overlapped: u64,
    has_begun: bool,
}

impl<'a> Ahead<'a> {
    fn new(order: &'a InternalOrder, compaction: &'a Compaction, limits: Limits) -> Ahead<'a> {
        Ahead {
            order,
            grandparents: &compaction.grandparents,
            limit: limits.grandparent_bytes(),
            at: 0,
            overlapped: 0,
            has_begun: false,
        }
    }

    fn ends_before(&mut self, key: &[u8]) -> bool {
        while let Some(file) = self.grandparents.get(self.at) {
            if self.order.compare(key, largest(file)) != Order::Greater {
                break;
            }
            if self.has_begun {
                self.overlapped = self.overlapped.saturating_add(file.len_bytes.unwrap_or(0));
            }
            self.at += 1;
        }
        self.has_begun = true;
        let must_end = self.overlapped > self.limit;
        if must_end {
            self.overlapped = 0;
        }
        must_end
    }
}
