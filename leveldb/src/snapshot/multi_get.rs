//! Many lookups at once: in memtables in groups, in tables in the order of the keys.
//!
//! Keys that are asked for together often lie together, as those of records that an index leads to. In the keys' order each table and
//! each block is gone to once: a block that the cache does not keep is read, verified and unpacked once for all of its keys. A get
//! alone ([`Snapshot::get`]) is the naive twin.

use super::{Found, KeyHash, Snapshot, Unsure, if_value, with_internal_key};
use crate::core::Core;
use crate::error::Result;
use crate::internal_key::seek_tag;
use crate::skip_list::{GROUP_LEN, INLINE_LEN_MAX, Value, fill, key_leads};
use crate::table::{LastBlock, Lookup, Table};
use crate::table_file::TableFile;
use crate::version::Run;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// So many keys are sorted at a time.
const SORTED_MAX: usize = 4096;
/// Fewer are looked up as they come: keys that lie together mostly come together.
const SORTED_MIN: usize = 32;
/// When values have so many bytes, keys that are left are looked up one by one.
const VALUES_LEN_MAX: usize = 256 << 10;

/// Where the value of a key is.
enum Place<'s> {
    Nowhere,
    InList(Value<'s>),
    /// In the memory for values.
    Copied(Range<usize>),
    /// To be found by a lookup of its own.
    Alone,
}

/// A key that no memtable has: its number, its hash for filters, and its head.
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
    /// Where the value of each is.
    places: Vec<Place<'s>>,
    values: Vec<u8>,
}

impl Snapshot {
    /// Looks many keys up, in any order and also twice, which takes less time than as many [`get`](Self::get)s: what the memtables
    /// have of up to sixteen keys is loaded from memory together, and keys that lie in one block of a table, up to 4,096 keys at a time, are
    /// looked for there one after the other, so that the block is read once. Calls `found` for each key in the order given, with its number,
    /// from 0, and what a get of it alone gives: the value, lent for the call, `None`, or its error. Goes on to the next key after
    /// an error, and stops where `found` breaks.
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
            places: Vec::new(),
            values: Vec::new(),
        };
        let mut first = 0;
        loop {
            batch.keys.clear();
            batch.keys.extend(keys.by_ref().take(SORTED_MAX));
            batch.look_up();
            let flow = batch.give(|n, value| found(first + n, value));
            first += batch.keys.len();
            if flow.is_break() || batch.keys.len() < SORTED_MAX {
                return;
            }
        }
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

impl<'s> Batch<'s, '_> {
    /// Looks all keys up, but those that are left alone.
    fn look_up(&mut self) {
        self.places.clear();
        self.values.clear();
        let mut open = self.look_up_in_memory();
        let core = &*self.snapshot.state.core;
        if open.len() >= SORTED_MIN {
            let key = |open: &Open| self.keys.get(open.n).copied().unwrap_or_default();
            open.sort_unstable_by(|a, b| {
                let by_head = a.head.cmp(&b.head);
                by_head.then_with(|| core.order.compare_user(key(a), key(b)))
            });
        }
        let mut block_key = Vec::new();
        // The newest first: what one has, the others need not be asked for.
        for run in &self.snapshot.state.version.runs {
            if open.is_empty() {
                break;
            }
            let mut last = Last::default();
            open.retain(|open| {
                let place = self.look_up_in_run(run, open, &mut last, &mut block_key);
                let is_found = place.is_some();
                if let (Some(found), Some(place)) = (place, self.places.get_mut(open.n)) {
                    *place = found;
                }
                !is_found
            });
        }
    }

    /// Looks keys up in memtables. Those that are left are there nowhere, as far as is known.
    fn look_up_in_memory(&mut self) -> Vec<Open> {
        let snapshot = self.snapshot;
        let head = snapshot.state.core.order.head();
        let mut open = Vec::new();
        for group in self.keys.chunks(GROUP_LEN) {
            let leads = key_leads(&snapshot.state.live, group);
            for (key, lead) in group.iter().zip(leads) {
                let mut hash = KeyHash::new(key);
                let found = snapshot.look_up_in_memory(key, lead, &mut hash);
                let place = match found {
                    Some((tag, value)) => if_value(tag, Place::InList(value)),
                    None => {
                        open.push(Open {
                            n: self.places.len(),
                            hash: hash.get(),
                            head: head.map_or_else(|| first_bytes(key), |head| head(key)),
                        });
                        None
                    }
                };
                self.places.push(place.unwrap_or(Place::Nowhere));
            }
        }
        open
    }

    /// Where the value is, as far as a run of tables decides it.
    fn look_up_in_run(
        &mut self,
        run: &Run,
        open: &Open,
        last: &mut Last,
        block_key: &mut Vec<u8>,
    ) -> Option<Place<'s>> {
        if !run.may_contain(open.hash) {
            return None;
        }
        if self.values.len() >= VALUES_LEN_MAX {
            return Some(Place::Alone);
        }
        let (snapshot, key) = (self.snapshot, *self.keys.get(open.n)?);
        let core = &*snapshot.state.core;
        let start = self.values.len();
        let found = with_internal_key(key, seek_tag(snapshot.sequence), |target| {
            let Some(file) = run.file_with(&core.order, target) else {
                return Ok(None);
            };
            let table = last.table(core, file).map_err(|_| Unsure)?;
            match table.get(
                core,
                (target, open.hash),
                block_key,
                &mut self.values,
                &mut last.block,
            ) {
                Lookup::Found(tag) => Ok(Some(tag)),
                Lookup::Absent => Ok(None),
                Lookup::Unsure => Err(Unsure),
            }
        });
        match found {
            Ok(None) => None,
            Ok(Some(tag)) => {
                let place = Place::Copied(start..self.values.len());
                Some(if_value(tag, place).unwrap_or(Place::Nowhere))
            }
            Err(Unsure) => Some(Place::Alone),
        }
    }

    /// Calls `found` for each key, in the order given.
    fn give(
        &self,
        mut found: impl FnMut(usize, Result<Option<&[u8]>>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut room = [0; INLINE_LEN_MAX];
        let mut alone = Vec::new();
        for (n, (key, place)) in self.keys.iter().zip(&self.places).enumerate() {
            match place {
                Place::Nowhere => found(n, Ok(None)),
                Place::InList(value) => found(n, Ok(Some(value.bytes(&mut room)))),
                Place::Copied(place) => found(n, Ok(self.values.get(place.clone()))),
                Place::Alone => {
                    let is_there = self.snapshot.get_into(key, &mut alone);
                    found(n, is_there.map(|is_there| is_there.then_some(&*alone)))
                }
            }?;
        }
        ControlFlow::Continue(())
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
