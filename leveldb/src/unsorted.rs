//! A table whose keys are in another order than the comparator's, sorted anew in memory.
//!
//! All keys are in memory, once, with 20 bytes each for where they and their values lie; values are read from their blocks when a
//! cursor stands on them. The sorting happens at first use, and what it found stays as long as the set of tables does.

use crate::block;
use crate::core::Core;
use crate::damage::{Damage, DamageKind};
use crate::error::Result;
use crate::internal_key::is_valid;
use crate::pinned::PinnedBytes;
use crate::sort::sort_by;
use crate::table::{BlockHandle, Fault, KEYS_LEN_MAX, Table};
use crate::table_file::TableFile;
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

/// A table in another order.
#[derive(Debug)]
pub(crate) struct Unsorted {
    file: Arc<TableFile>,
    sorted: OnceLock<Arc<Sorted>>,
}

/// Where an entry's key lies among the keys, and its value in its block.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key_at: u32,
    key_len: u32,
    block: u32,
    value_at: u32,
    value_end: u32,
}

/// A table's entries in the comparator's order.
#[derive(Debug, Default)]
struct Sorted {
    keys: Vec<u8>,
    entries: Vec<Entry>,
    blocks: Vec<BlockHandle>,
}

impl Sorted {
    fn key(&self, entry: &Entry) -> &[u8] {
        let at = entry.key_at as usize;
        let key = self.keys.get(at..at + entry.key_len as usize);
        key.unwrap_or_default()
    }

    /// Adds a block's entries; those before a fault are whole.
    fn add(&mut self, number: u32, block: &[u8]) -> Result<(), Fault> {
        let structure = |what: &str| Fault::new(DamageKind::Structure, what);
        if u32::try_from(block.len()).is_err() {
            return Err(structure("block is too long to be sorted anew"));
        }
        let walked = block::for_each(block, |key, value| {
            if !is_valid(key) {
                return ControlFlow::Break("entry has a bad sequence number or kind");
            }
            if self.keys.len() + key.len() > KEYS_LEN_MAX {
                return ControlFlow::Break("the table's keys are too long to be sorted anew");
            }
            // Neither keys nor blocks reach 4 GiB: nothing is cut off.
            self.entries.push(Entry {
                key_at: self.keys.len() as u32,
                key_len: key.len() as u32,
                block: number,
                value_at: value.start as u32,
                value_end: value.end as u32,
            });
            self.keys.extend_from_slice(key);
            ControlFlow::Continue(())
        });
        match walked {
            Ok(ControlFlow::Continue(())) => Ok(()),
            Ok(ControlFlow::Break(what)) => Err(structure(what)),
            Err(fault) => Err(structure(fault.what)),
        }
    }
}

impl Unsorted {
    pub(crate) fn new(file: TableFile) -> Unsorted {
        Unsorted {
            file: Arc::new(file),
            sorted: OnceLock::new(),
        }
    }

    pub(crate) fn file(&self) -> &Arc<TableFile> {
        &self.file
    }

    fn sorted(&self, core: &Core) -> Result<&Arc<Sorted>> {
        if let Some(sorted) = self.sorted.get() {
            return Ok(sorted);
        }
        let sorted = self.read(core)?;
        Ok(self.sorted.get_or_init(|| Arc::new(sorted)))
    }

    fn read(&self, core: &Core) -> Result<Sorted> {
        let mut sorted = Sorted::default();
        let table = core.table(&self.file)?;
        let index = match table.index() {
            Ok(index) => index,
            Err((offset, fault)) => {
                damaged(core, &table, offset, table.len(), fault, false)?;
                return Ok(sorted);
            }
        };
        let mut handles = Vec::new();
        let walked = block::for_each(&index, |_, value| {
            let handle = index.get(value).and_then(BlockHandle::decode_exact);
            handles.extend(handle);
            ControlFlow::<()>::Continue(())
        });
        if let Err(fault) = walked {
            let fault = Fault::new(DamageKind::Structure, fault.what);
            damaged(core, &table, None, table.len(), fault, false)?;
        }
        for (number, handle) in (0..).zip(handles) {
            sorted.blocks.push(handle);
            let added = table.with_block(handle, |block| sorted.add(number, block));
            if let Err(fault) = added.and_then(|added| added) {
                damaged(core, &table, Some(handle.offset), handle.len, fault, true)?;
            }
        }
        sorted.keys.shrink_to_fit();
        let mut entries = std::mem::take(&mut sorted.entries);
        // Entries with one internal key keep the order of the file.
        sort_by(&mut entries, |a, b| {
            core.order.compare(sorted.key(a), sorted.key(b))
        });
        sorted.entries = entries;
        Ok(sorted)
    }
}

/// In a table in another order, any key may have been in a part that is lost; the filter of a block says of most that they
/// were not.
fn damaged(
    core: &Core,
    table: &Arc<Table>,
    offset: Option<u64>,
    len_bytes: u64,
    fault: Fault,
    is_block: bool,
) -> Result<()> {
    if core.on_damage.fails_on(fault.source.as_ref()) {
        return Err(fault.into_error(&table.name, offset));
    }
    let mut damage = Damage::new(&*table.name, offset, fault.kind, fault.what);
    damage.len_bytes = len_bytes;
    let block = is_block.then(|| table.clone());
    let (at, anywhere) = (offset.unwrap_or(0), (None, None));
    core.damage
        .report_region(table.number, at, block, damage, anywhere);
    Ok(())
}

/// A position in a table in another order: on an entry, or on none.
#[derive(Debug)]
pub(crate) struct UnsortedCursor {
    core: Arc<Core>,
    table: Arc<Unsorted>,
    /// Sorted at first use.
    sorted: Arc<Sorted>,
    is_loaded: bool,
    at: Option<usize>,
    /// The block of the entry, by its number.
    block: Option<(u32, Arc<Vec<u8>>)>,
    name: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

impl UnsortedCursor {
    pub(crate) fn new(core: Arc<Core>, table: Arc<Unsorted>) -> UnsortedCursor {
        UnsortedCursor {
            core,
            table,
            sorted: Arc::default(),
            is_loaded: false,
            at: None,
            block: None,
            name: String::new(),
        }
    }

    fn load(&mut self) -> Result<()> {
        if !self.is_loaded {
            self.sorted = self.table.sorted(&self.core)?.clone();
            self.name = self.core.file_name(self.table.file());
            self.is_loaded = true;
        }
        Ok(())
    }

    pub(crate) fn valid(&self) -> bool {
        self.at.is_some()
    }

    pub(crate) fn seek_to_first(&mut self) -> Result<()> {
        self.load()?;
        self.stand(Some(0), Direction::Forward)
    }

    pub(crate) fn seek_to_last(&mut self) -> Result<()> {
        self.load()?;
        let last = self.sorted.entries.len().checked_sub(1);
        self.stand(last, Direction::Backward)
    }

    /// To the first entry that is not less than `target`.
    pub(crate) fn seek(&mut self, target: &[u8]) -> Result<()> {
        let at = self.first_at_least(target)?;
        self.stand(Some(at), Direction::Forward)
    }

    /// To the last entry that is less than `target`.
    pub(crate) fn seek_before(&mut self, target: &[u8]) -> Result<()> {
        let at = self.first_at_least(target)?.checked_sub(1);
        self.stand(at, Direction::Backward)
    }

    pub(crate) fn next(&mut self) -> Result<()> {
        let at = self.at.map(|at| at + 1);
        self.stand(at, Direction::Forward)
    }

    pub(crate) fn prev(&mut self) -> Result<()> {
        let at = self.at.and_then(|at| at.checked_sub(1));
        self.stand(at, Direction::Backward)
    }

    fn first_at_least(&mut self, target: &[u8]) -> Result<usize> {
        self.load()?;
        let (sorted, order) = (&self.sorted, &self.core.order);
        let is_less = |entry: &Entry| order.compare(sorted.key(entry), target) == Ordering::Less;
        Ok(sorted.entries.partition_point(is_less))
    }

    /// Stands on an entry, or on the next in the direction whose block can still be read.
    fn stand(&mut self, at: Option<usize>, direction: Direction) -> Result<()> {
        self.at = None;
        let mut next = at;
        while let Some(at) = next {
            let Some(entry) = self.sorted.entries.get(at).copied() else {
                return Ok(());
            };
            if self.hold(entry.block)? {
                self.at = Some(at);
                return Ok(());
            }
            next = match direction {
                Direction::Forward => Some(at + 1),
                Direction::Backward => at.checked_sub(1),
            };
        }
        Ok(())
    }

    /// Holds the block of this number: whether it can be read.
    fn hold(&mut self, number: u32) -> Result<bool> {
        if self.block.as_ref().is_some_and(|(held, _)| *held == number) {
            return Ok(true);
        }
        let Some(handle) = self.sorted.blocks.get(number as usize).copied() else {
            return Ok(false);
        };
        let table = self.core.table(self.table.file())?;
        match table.cached_block(handle, &mut None) {
            Ok(block) => {
                self.block = Some((number, block));
                Ok(true)
            }
            Err(fault) => {
                let at = Some(handle.offset);
                damaged(&self.core, &table, at, handle.len, fault, true)?;
                Ok(false)
            }
        }
    }

    fn entry(&self) -> Option<&Entry> {
        self.sorted.entries.get(self.at?)
    }

    pub(crate) fn key(&self) -> &[u8] {
        self.entry().map_or(&[], |entry| self.sorted.key(entry))
    }

    pub(crate) fn value(&self) -> &[u8] {
        let (Some(entry), Some((_, block))) = (self.entry(), &self.block) else {
            return &[];
        };
        let value = block.get(entry.value_at as usize..entry.value_end as usize);
        value.unwrap_or_default()
    }

    pub(crate) fn pinned_value(&self) -> Option<PinnedBytes> {
        let (entry, (_, block)) = (self.entry()?, self.block.as_ref()?);
        let (start, end) = (entry.value_at as usize, entry.value_end as usize);
        Some(PinnedBytes::whole(block.clone()).part(start, end))
    }

    pub(crate) fn table_name(&self) -> &str {
        &self.name
    }
}
