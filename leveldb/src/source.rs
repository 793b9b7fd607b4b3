//! One sorted source of entries: a memtable, read from logs or being written; a run of tables; or a table that is sorted
//! anew.

use crate::bounds::Bounds;
use crate::core::Core;
use crate::error::Result;
use crate::internal_key;
use crate::memtable::{MemCursor, MemValue};
use crate::pinned::PinnedBytes;
use crate::skip_list::SkipCursor;
use crate::table::TableCursor;
use crate::table_file::TableFile;
use crate::unsorted::UnsortedCursor;
use crate::version::{Run, UNORDERED_RANK, Version};
use std::cmp::Ordering;
use std::sync::Arc;

/// A position in a run of tables: on an entry, or on none.
#[derive(Debug)]
pub(crate) struct RunCursor {
    core: Arc<Core>,
    version: Arc<Version>,
    run: usize,
    file: usize,
    /// Made at first use.
    table: Option<TableCursor>,
    valid: bool,
    /// Tables with nothing in here are not entered.
    bounds: Option<Arc<Bounds>>,
}

impl RunCursor {
    pub(crate) fn new(core: Arc<Core>, version: Arc<Version>, run: usize) -> RunCursor {
        RunCursor {
            core,
            version,
            run,
            file: 0,
            table: None,
            valid: false,
            bounds: None,
        }
    }

    /// Limits the cursor to the bounds: entries outside of them may be left out.
    pub(crate) fn within(mut self, bounds: Option<Arc<Bounds>>) -> RunCursor {
        self.bounds = bounds;
        self
    }

    fn run(&self) -> &Run {
        &self.version.runs[self.run]
    }

    /// Goes to a table of the run, if there is one at that place, and moves in it.
    fn enter(
        &mut self,
        file: usize,
        go: impl FnOnce(&mut TableCursor) -> Result<()>,
    ) -> Result<()> {
        self.valid = false;
        let Some(meta) = self.version.runs[self.run].files.get(file) else {
            return Ok(());
        };
        self.file = file;
        if let Some(bounds) = &self.bounds {
            let order = &self.core.order;
            if bounds.starts_after(order, meta.smallest.as_ref())
                || bounds.ends_before(order, meta.largest.as_ref())
            {
                return Ok(());
            }
        }
        let cursor = match &mut self.table {
            Some(cursor) if cursor.table_number() == meta.number => cursor,
            Some(cursor) => {
                cursor.set_table(self.core.table(meta)?, meta.clone())?;
                cursor
            }
            none => {
                let (context, table) = (self.core.context.clone(), self.core.table(meta)?);
                let cursor = none.insert(TableCursor::new(context, table, meta.clone())?);
                cursor.confine(self.bounds.clone());
                cursor
            }
        };
        go(cursor)?;
        self.valid = cursor.valid();
        Ok(())
    }

    /// Goes on to the tables after this one, as long as it has no entry.
    fn skip_forward(&mut self) -> Result<()> {
        while !self.valid
            && self.file + 1 < self.run().files.len()
            && !self.ends_here(self.file + 1)
        {
            self.enter(self.file + 1, TableCursor::seek_to_first)?;
        }
        Ok(())
    }

    /// Whether a table and all after it are after the bounds.
    fn ends_here(&self, file: usize) -> bool {
        let smallest = self.run().files[file].smallest.as_ref();
        let order = &self.core.order;
        let bounds = self.bounds.as_ref();
        bounds.is_some_and(|bounds| bounds.starts_after(order, smallest))
    }

    /// Whether a table and all before it are before the bounds.
    fn begins_after(&self, file: usize) -> bool {
        let largest = self.run().files[file].largest.as_ref();
        let order = &self.core.order;
        let bounds = self.bounds.as_ref();
        bounds.is_some_and(|bounds| bounds.ends_before(order, largest))
    }

    fn skip_backward(&mut self) -> Result<()> {
        while !self.valid && self.file > 0 && !self.begins_after(self.file - 1) {
            self.enter(self.file - 1, TableCursor::seek_to_last)?;
        }
        Ok(())
    }

    fn seek_to_first(&mut self) -> Result<()> {
        self.enter(0, TableCursor::seek_to_first)?;
        self.skip_forward()
    }

    fn seek_to_last(&mut self) -> Result<()> {
        self.enter(
            self.run().files.len().saturating_sub(1),
            TableCursor::seek_to_last,
        )?;
        self.skip_backward()
    }

    fn seek(&mut self, target: &[u8]) -> Result<()> {
        let file = self.run().first_at_least(&self.core.order, target);
        self.valid = false;
        if file == self.run().files.len() {
            return Ok(());
        }
        self.enter(file, |cursor| cursor.seek(target))?;
        self.skip_forward()
    }

    fn seek_before(&mut self, target: &[u8]) -> Result<()> {
        let last = self.run().files.len().saturating_sub(1);
        let file = self
            .run()
            .first_at_least(&self.core.order, target)
            .min(last);
        self.enter(file, |cursor| cursor.seek_before(target))?;
        self.skip_backward()
    }

    /// To the newest entry of the user key of `target` that is not less than `target`: whether there is one. Filters are
    /// asked first.
    pub(crate) fn seek_to_key(&mut self, target: &[u8]) -> Result<bool> {
        let file = self.run().first_at_least(&self.core.order, target);
        let order = self.core.order.clone();
        let user_key = internal_key::user_key(target);
        let starts_after = |smallest: &Vec<u8>| {
            order.compare_user(user_key, internal_key::user_key(smallest)) == Ordering::Less
        };
        let is_outside = |file: &Arc<TableFile>| file.smallest.as_ref().is_some_and(starts_after);
        if self.run().files.get(file).is_none_or(is_outside) {
            return Ok(false);
        }
        self.enter(file, |cursor| cursor.seek_to_key(target))?;
        Ok(self.valid
            && order.compare_user(internal_key::user_key(self.key()), user_key) == Ordering::Equal)
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.table.as_ref().map_or(&[], TableCursor::key)
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        self.table.as_ref().map_or(&[], TableCursor::value)
    }

    #[inline]
    fn next(&mut self) -> Result<()> {
        let Some(cursor) = &mut self.table else {
            return Ok(());
        };
        cursor.next()?;
        self.valid = cursor.valid();
        if self.valid {
            Ok(())
        } else {
            self.skip_forward()
        }
    }

    #[inline]
    fn prev(&mut self) -> Result<()> {
        let Some(cursor) = &mut self.table else {
            return Ok(());
        };
        cursor.prev()?;
        self.valid = cursor.valid();
        if self.valid {
            Ok(())
        } else {
            self.skip_backward()
        }
    }
}

/// A position in a source: on an entry, or on none.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "few sources, and one memtable among them: no indirection for each step"
)]
pub(crate) enum Source {
    Live(SkipCursor),
    Mem(MemCursor),
    Run(RunCursor),
    Unsorted(UnsortedCursor),
}

impl Source {
    /// How new it is; the smaller the newer.
    pub(crate) fn rank(&self) -> usize {
        match self {
            Source::Live(_) | Source::Mem(_) => 0,
            Source::Run(run) => run.run().rank,
            Source::Unsorted(_) => UNORDERED_RANK,
        }
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        match self {
            Source::Live(live) => live.valid(),
            Source::Mem(mem) => mem.valid(),
            Source::Run(run) => run.valid,
            Source::Unsorted(table) => table.valid(),
        }
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<()> {
        match self {
            Source::Live(live) => live.seek_to_first(),
            Source::Mem(mem) => mem.seek_to_first(),
            Source::Run(run) => run.seek_to_first()?,
            Source::Unsorted(table) => table.seek_to_first()?,
        }
        Ok(())
    }

    pub(crate) fn seek_to_last(&mut self) -> Result<()> {
        match self {
            Source::Live(live) => live.seek_to_last(),
            Source::Mem(mem) => mem.seek_to_last(),
            Source::Run(run) => run.seek_to_last()?,
            Source::Unsorted(table) => table.seek_to_last()?,
        }
        Ok(())
    }

    /// To the first entry that is not less than an internal key.
    pub(crate) fn seek(&mut self, target: &[u8]) -> Result<()> {
        match self {
            Source::Live(live) => live.seek(target),
            Source::Mem(mem) => mem.seek(target),
            Source::Run(run) => run.seek(target)?,
            Source::Unsorted(table) => table.seek(target)?,
        }
        Ok(())
    }

    /// To the last entry that is less than an internal key.
    pub(crate) fn seek_before(&mut self, target: &[u8]) -> Result<()> {
        match self {
            Source::Live(live) => live.seek_before(target),
            Source::Mem(mem) => mem.seek_before(target),
            Source::Run(run) => run.seek_before(target)?,
            Source::Unsorted(table) => table.seek_before(target)?,
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<()> {
        match self {
            Source::Live(live) => {
                live.next();
                Ok(())
            }
            Source::Mem(mem) => {
                mem.next();
                Ok(())
            }
            Source::Run(run) => run.next(),
            Source::Unsorted(table) => table.next(),
        }
    }

    #[inline]
    pub(crate) fn prev(&mut self) -> Result<()> {
        match self {
            Source::Live(live) => {
                live.prev();
                Ok(())
            }
            Source::Mem(mem) => {
                mem.prev();
                Ok(())
            }
            Source::Run(run) => run.prev(),
            Source::Unsorted(table) => table.prev(),
        }
    }

    /// The internal key; empty off every entry.
    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        match self {
            Source::Live(live) => live.key(),
            Source::Mem(mem) => mem.key(),
            Source::Run(run) => run.key(),
            Source::Unsorted(table) => table.key(),
        }
    }

    #[inline]
    pub(crate) fn value(&self) -> MemValue<'_> {
        match self {
            Source::Live(live) => MemValue::Bytes(live.value()),
            Source::Mem(mem) => mem.value(),
            Source::Run(run) => MemValue::Bytes(run.value()),
            Source::Unsorted(table) => MemValue::Bytes(table.value()),
        }
    }

    /// The value where it lies, if it lies in a block, or outside of a memtable's nodes.
    pub(crate) fn pinned_value(&self) -> Option<PinnedBytes> {
        match self {
            Source::Live(live) => live.pinned_value(),
            Source::Mem(_) => None,
            Source::Run(run) => run.table.as_ref().map(TableCursor::pinned_value),
            Source::Unsorted(table) => table.pinned_value(),
        }
    }

    /// Whether it is a run of tables: what all others have was sorted here.
    #[inline]
    pub(crate) const fn is_run(&self) -> bool {
        matches!(self, Source::Run(_))
    }

    /// The cursor of a memtable that was read from logs.
    pub(crate) fn as_mem(&self) -> Option<&MemCursor> {
        match self {
            Source::Mem(mem) => Some(mem),
            Source::Live(_) | Source::Run(_) | Source::Unsorted(_) => None,
        }
    }

    /// The name of the file that the entry comes from.
    pub(crate) fn file_name(&self) -> &str {
        match self {
            Source::Live(live) => live.log_name(),
            Source::Mem(mem) => mem.log_name(),
            Source::Run(run) => run.table.as_ref().map_or("", TableCursor::table_name),
            Source::Unsorted(table) => table.table_name(),
        }
    }
}
