//! Many lookups at once: in memtables in groups, in tables in the order of the keys.
//!
//! Keys that are asked for together often lie together, as those of records that an index leads to, and of very many keys several lie in
//! each block. In the keys' order each table and each block is gone to once: a block that the cache does not keep is read, verified and
//! unpacked once for all of its keys, and what a search touches is mostly what the search before has touched. A get
//! alone ([`Snapshot::get`]) is the naive twin.

use super::{Found, KeyHash, Snapshot, Unsure, if_value, with_internal_key};
use crate::core::Core;
use crate::error::Result;
use crate::internal_key::seek_tag;
use crate::skip_list::{GROUP_LEN, INLINE_LEN_MAX, fill, key_leads};
use crate::sort::{LOOKUPS_MAX, LOOKUPS_MIN, sort_by};
use crate::table::{LastBlock, Lookup, Table};
use crate::table_file::TableFile;
use crate::version::Run;
use std::ops::ControlFlow;
use std::sync::Arc;

/// So many bytes of tables for each key are few enough that keys share blocks.
const BYTES_FOR_EACH: u64 = 2 << 10;

/// A key that no memtable has: its number, its hash for filters, and its head.
#[derive(Clone, Copy)]
struct Open {
    n: usize,
    hash: u32,
    head: u128,
}

/// What lookups that follow one another in a run of tables have at hand: the last table, which the list of open ones is not asked for
/// again, and its last block.
#[derive(Default)]
struct Last {
    table: Option<Arc<Table>>,
    block: LastBlock,
}

impl Last {
    /// The open table of a file.
    fn table(&mut self, core: &Core, file: &TableFile) -> Result<Arc<Table>> {
        let is_it = |table: &&Arc<Table>| table.number == file.number;
        if let Some(table) = self.table.as_ref().filter(is_it) {
            return Ok(Arc::clone(table));
        }
        let table = core.table(file)?;
        Ok(Arc::clone(self.table.insert(table)))
    }
}

/// Keys that are looked up together.
struct Batch<'s, 'k> {
    snapshot: &'s Snapshot,
    keys: Vec<&'k [u8]>,
    /// The number of the first.
    first: usize,
    block_key: Vec<u8>,
    /// The value that was found last.
    value: Vec<u8>,
}

impl Snapshot {
    /// Looks up many keys, which may come in any order and more than once. One call takes less time than a [`get`](Self::get) for each
    /// key. What the memtables have of up to sixteen keys is loaded from memory together. Keys that lie in one block of a table are
    /// looked for there one after the other, among up to 65,536 keys at a time, so that the block is read once.
    ///
    /// `found` is called once for each key, in any order. It gets the key's number, from 0, and what a get of that key alone gives: the
    /// value, lent for the call, `None`, or an error. The call goes on to the next key after an error, and stops where `found` breaks.
    ///
    /// Nothing is allocated for a single key but by errors and long keys; no lock is held in `found`, which may read the same store.
    ///
    /// ```
    /// # use larder_leveldb::{Db, Durability, Options, storage::MemoryFileSystem};
    /// # use std::{ops::ControlFlow, path::Path, sync::Arc};
    /// # let options = Options { create_if_missing: true, ..Options::default() };
    /// # let db = Db::open(Arc::new(MemoryFileSystem::new()), Path::new("db"), options)?;
    /// db.put(b"apple", b"red", Durability::Relaxed)?;
    /// db.put(b"pear", b"green", Durability::Relaxed)?;
    /// let keys: [&[u8]; 3] = [b"pear", b"plum", b"apple"];
    /// let mut values = Vec::new();
    /// db.snapshot().multi_get(keys, |n, value| {
    ///     values.push((n, value.map(|value| value.map(<[u8]>::to_vec))));
    ///     ControlFlow::Continue(())
    /// });
    /// values.sort_by_key(|(n, _)| *n);
    /// let values: Vec<_> = values.into_iter().map(|(_, value)| value).collect::<Result<_, _>>()?;
    /// assert_eq!(values, [Some(b"green".to_vec()), None, Some(b"red".to_vec())]);
    /// # Ok::<(), larder_leveldb::Error>(())
    /// ```
    pub fn multi_get<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k [u8]>,
        mut found: impl FnMut(usize, Result<Option<&[u8]>>) -> ControlFlow<()>,
    ) {
        let state = &*self.state;
        let mut keys = keys.into_iter();
        if !state.is_simple() || state.version.runs.is_empty() {
            self.get_in_groups(keys, found);
            return;
        }
        let mut batch = Batch {
            snapshot: self,
            keys: Vec::new(),
            first: 0,
            block_key: Vec::new(),
            value: Vec::new(),
        };
        loop {
            batch.first += batch.keys.len();
            batch.keys.clear();
            batch.keys.extend(keys.by_ref().take(LOOKUPS_MAX));
            let flow = batch.look_up(&mut found);
            if flow.is_break() || batch.keys.len() < LOOKUPS_MAX {
                return;
            }
        }
    }

    /// The best number of keys for one call of [`multi_get`](Self::multi_get), for a caller that has more of them. With fewer keys in a
    /// call, fewer of them share a block; with more keys, hardly any more do.
    pub fn lookups_together(&self) -> usize {
        if !self.state.is_simple() {
            return GROUP_LEN;
        }
        let files = self.state.version.runs.iter().flat_map(|run| &run.files);
        let bytes: u64 = files.filter_map(|file| file.len_bytes).sum();
        let together = usize::try_from(bytes / BYTES_FOR_EACH).unwrap_or(usize::MAX);
        together.clamp(GROUP_LEN, LOOKUPS_MAX)
    }

    /// Looks keys up where there are memtables alone, or where each lookup may need cursors.
    fn get_in_groups<'k>(
        &self,
        mut keys: impl Iterator<Item = &'k [u8]>,
        mut found: impl FnMut(usize, Result<Option<&[u8]>>) -> ControlFlow<()>,
    ) {
        let is_simple = self.state.is_simple();
        let (mut value, mut block_key) = (Vec::new(), Vec::new());
        let mut room = [0; INLINE_LEN_MAX];
        let mut n = 0;
        loop {
            let mut group = [&[][..]; GROUP_LEN];
            let len = fill(&mut group, &mut keys);
            let leads = is_simple.then(|| key_leads(&self.state.live, &group[..len]));
            for (at, key) in group.iter().enumerate().take(len) {
                value.clear();
                let lead = leads.as_ref().and_then(|leads| leads.get(at).copied());
                let got = self.get_led(key, lead, &mut block_key, &mut value);
                let flow = match got {
                    Ok(None) => found(n, Ok(None)),
                    Ok(Some(Found::Copied)) => found(n, Ok(Some(&value))),
                    Ok(Some(Found::InList(value))) => found(n, Ok(Some(value.bytes(&mut room)))),
                    Err(error) => found(n, Err(error)),
                };
                if flow.is_break() {
                    return;
                }
                n += 1;
            }
            if len < GROUP_LEN {
                return;
            }
        }
    }
}

/// What a lookup calls.
type OnFound<'f> = &'f mut dyn FnMut(usize, Result<Option<&[u8]>>) -> ControlFlow<()>;

impl Batch<'_, '_> {
    /// Looks all keys up.
    fn look_up(&mut self, found: OnFound<'_>) -> ControlFlow<()> {
        let mut open = self.look_up_in_memory(found)?;
        if open.len() >= LOOKUPS_MIN {
            let order = &self.snapshot.state.core.order;
            let key = |open: &Open| self.keys.get(open.n).copied().unwrap_or_default();
            sort_by(&mut open, |a, b| {
                let by_head = a.head.cmp(&b.head);
                by_head.then_with(|| order.compare_user(key(a), key(b)))
            });
        }
        let mut alone = Vec::new();
        // The newest first: what one has, the others need not be asked for.
        for run in &self.snapshot.state.version.runs {
            let (mut last, mut flow) = (Last::default(), ControlFlow::Continue(()));
            open.retain(|open| {
                if flow.is_break() {
                    return false;
                }
                match self.look_up_in_run(run, open, &mut last) {
                    Ok(None) => return true,
                    Ok(Some(tag)) => {
                        let value = if_value(tag, &*self.value);
                        flow = found(self.first + open.n, Ok(value));
                    }
                    Err(Unsure) => alone.push(open.n),
                }
                false
            });
            flow?;
        }
        for open in open {
            found(self.first + open.n, Ok(None))?;
        }
        for n in alone {
            let key = self.keys.get(n).copied().unwrap_or_default();
            let is_there = self.snapshot.get_into(key, &mut self.value);
            let value = is_there.map(|is_there| is_there.then_some(&*self.value));
            found(self.first + n, value)?;
        }
        ControlFlow::Continue(())
    }

    /// Looks keys up in memtables. Those that are left are there nowhere, as far as is known.
    fn look_up_in_memory(&self, found: OnFound<'_>) -> ControlFlow<(), Vec<Open>> {
        let snapshot = self.snapshot;
        let head = snapshot.state.core.order.head();
        let mut room = [0; INLINE_LEN_MAX];
        let mut open = Vec::new();
        let mut n = 0;
        for group in self.keys.chunks(GROUP_LEN) {
            let leads = key_leads(&snapshot.state.live, group);
            for (key, lead) in group.iter().zip(leads) {
                let mut hash = KeyHash::new(key);
                match snapshot.look_up_in_memory(key, lead, &mut hash) {
                    Some((tag, value)) => {
                        let value = if_value(tag, value);
                        let value = value.as_ref().map(|value| value.bytes(&mut room));
                        found(self.first + n, Ok(value))?;
                    }
                    None => open.push(Open {
                        n,
                        hash: hash.get(),
                        head: head.map_or_else(|| first_bytes(key), |head| head(key)),
                    }),
                }
                n += 1;
            }
        }
        ControlFlow::Continue(open)
    }

    /// The tag of the newest entry that a run of tables has of the key; its value is then the value that was found last.
    fn look_up_in_run(
        &mut self,
        run: &Run,
        open: &Open,
        last: &mut Last,
    ) -> Result<Option<u64>, Unsure> {
        if !run.may_contain(open.hash) {
            return Ok(None);
        }
        let snapshot = self.snapshot;
        let core = &*snapshot.state.core;
        let key = self.keys.get(open.n).copied().unwrap_or_default();
        let (block_key, value) = (&mut self.block_key, &mut self.value);
        value.clear();
        with_internal_key(key, seek_tag(snapshot.sequence), |target| {
            let Some(file) = run.file_with(&core.order, target) else {
                return Ok(None);
            };
            let table = last.table(core, file).map_err(|_| Unsure)?;
            let target = (target, open.hash);
            match table.get(core, target, block_key, value, &mut last.block) {
                Lookup::Found(tag) => Ok(Some(tag)),
                Lookup::Absent => Ok(None),
                Lookup::Unsure => Err(Unsure),
            }
        })
    }
}

/// The first bytes as a number in their order; what is not there counts as zeros.
fn first_bytes(key: &[u8]) -> u128 {
    let mut first = [0; size_of::<u128>()];
    for (to, from) in first.iter_mut().zip(key) {
        *to = *from;
    }
    u128::from_be_bytes(first)
}
