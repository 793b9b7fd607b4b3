//! What can be made out in places of a damaged store that do not have their checksums: log records, and blocks of tables.
//!
//! Nothing of it takes part in what is certain, or in doubt: it is read apart, from the files that are named as damaged, after a walk over
//! all that is whole. Keys and values may be wrong in any way.

mod batch;

use super::Salvage;
use crate::doubt::Doubt;
use crate::entries::Entries;
use crate::error::{Error, Result};
use crate::internal_key::{self, EntryKind, SEQUENCE_MAX};
use crate::log::{Remains, for_each_record};
use crate::memtable::{Course, CourseFinder, whole_batch};
use crate::on_damage::OnDamage;
use crate::read_state::ReadState;
use crate::storage::RandomFile;
use crate::table::for_each_damaged_block;
use crate::write_batch::Operation;
use batch::DamagedBatch;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;

/// So many bytes of damaged log records wait for the number that follows them.
const WAITING_LEN_MAX: usize = 64 << 20;

/// An entry out of a place that does not have its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DamagedEntry<'a> {
    /// The user key; the caller has accepted it.
    pub key: &'a [u8],
    /// The value; none for a deletion.
    pub value: Option<&'a [u8]>,
    /// Its sequence number, as far as it is known: for an entry of a log it lies between those of the whole records around it, but for one of
    /// a whole record that lies in the wrong place.
    pub sequence: u64,
    /// The name of the file that it was read from.
    pub file: &'a str,
}

impl Salvage {
    /// Calls `visit` with each entry that can be made out where the checksum is wrong: in damaged or unfinished log records, and in damaged
    /// blocks of tables; but with none of whose key something newer is whole, a value or a deletion. `accepts` says what is a key of this
    /// store: where lengths are damaged, entries are found by their keys. To be called after a whole walk over [`rows`](Salvage::rows), by
    /// which damage is found.
    ///
    /// Files that only lie beside the store are read in the same way, for keys of which the store may have lost something: they may be all
    /// that is left of it.
    ///
    /// # Errors
    /// `Io`, of a kind that passes.
    pub fn damaged_entries(
        &self,
        accepts: &dyn Fn(&[u8]) -> bool,
        visit: &mut dyn FnMut(DamagedEntry<'_>),
    ) -> Result<()> {
        let mut whole = Whole::new(&self.state);
        let mut named = named_as_damaged(&self.state);
        named.extend(self.torn.iter().map(|tail| tail.file.clone()));
        read_damaged(&self.state, &named, accepts, &mut |entry| {
            if whole.is_older(&entry) {
                visit(entry);
            }
        })?;
        if let Some(beside) = self.unknown.state() {
            let mut named = named_as_damaged(beside);
            named.extend(self.unknown.torn().map(str::to_owned));
            read_damaged(beside, &named, accepts, &mut |entry| {
                if whole.is_older(&entry) && whole.may_be_lost(entry.key) {
                    visit(entry);
                }
            })?;
        }
        whole.failed.map_or(Ok(()), Err)
    }
}

/// What is whole of a store, asked for one key after the other.
struct Whole<'a> {
    state: &'a ReadState,
    entries: Entries,
    doubt: Doubt,
    failed: Option<Error>,
}

impl<'a> Whole<'a> {
    fn new(state: &'a ReadState) -> Self {
        Self {
            state,
            entries: Entries::new(state, SEQUENCE_MAX),
            doubt: Doubt::default(),
            failed: None,
        }
    }

    /// Whether the newest whole value or deletion of an entry's key is older than the entry; also if there is none.
    fn is_older(&mut self, entry: &DamagedEntry<'_>) -> bool {
        let newest = self.newest(entry.key, |kind| kind != EntryKind::Lost);
        newest.is_none_or(|newest| newest < entry.sequence)
    }

    /// Whether an entry of this key may have been in a damaged part of the store.
    fn may_be_lost(&mut self, key: &[u8]) -> bool {
        let is_lost = self.newest(key, |kind| kind == EntryKind::Lost).is_some();
        is_lost
            || self
                .doubt
                .covers(&self.state.core, &self.state.version, key)
    }

    /// The sequence number of the newest entry of a key that has such a kind.
    fn newest(&mut self, key: &[u8], is_meant: impl Fn(EntryKind) -> bool) -> Option<u64> {
        let user = self.state.core.order.user();
        self.entries.seek(key);
        loop {
            match self.entries.advance() {
                Ok(true) if user.compare(self.entries.key(), key).is_eq() => {
                    if is_meant(self.entries.kind()) {
                        return Some(self.entries.sequence());
                    }
                }
                Ok(_) => return None,
                Err(error) => {
                    self.failed.get_or_insert(error);
                    return None;
                }
            }
        }
    }
}

fn named_as_damaged(state: &ReadState) -> BTreeSet<String> {
    let damage = state.core.damage.list();
    let names = damage.iter().map(|damage| damage.file.to_string_lossy());
    names.map(Cow::into_owned).collect()
}

/// Visits what can be made out in these files.
fn read_damaged(
    state: &ReadState,
    named: &BTreeSet<String>,
    accepts: &dyn Fn(&[u8]) -> bool,
    visit: &mut dyn FnMut(DamagedEntry<'_>),
) -> Result<()> {
    let mut logs = Logs {
        accepts,
        visit,
        expected: None,
        waiting: Vec::new(),
        waiting_len: 0,
    };
    if (state.mem.logs()).any(|(name, _)| named.contains(name)) {
        for (name, file) in state.mem.logs() {
            logs.read(name, &**file)?;
        }
        logs.resolve(None);
    }
    for meta in state.version.files() {
        let name = state.core.file_name(meta);
        if !named.contains(&name) {
            continue;
        }
        // One that is missing has nothing.
        let Ok(table) = state.core.opened(meta) else {
            continue;
        };
        for_each_damaged_block(&table, |key, value| {
            let (user_key, tag) = (internal_key::user_key(key), internal_key::tag(key));
            if accepts(user_key) {
                let kind = EntryKind::from_disk(tag as u8);
                visit(DamagedEntry {
                    key: user_key,
                    value: (kind == Some(EntryKind::Value)).then_some(value),
                    sequence: tag >> 8,
                    file: &name,
                });
            }
        });
    }
    Ok(())
}

/// Logs, one after the other.
struct Logs<'a, 'v> {
    accepts: &'a dyn Fn(&[u8]) -> bool,
    visit: &'v mut dyn FnMut(DamagedEntry<'_>),
    /// The number after the last whole record.
    expected: Option<u64>,
    /// Damaged records, of which it is not yet known what follows them, with their logs.
    waiting: Vec<(String, Vec<u8>)>,
    waiting_len: usize,
}

impl Logs<'_, '_> {
    fn read(&mut self, name: &str, file: &dyn RandomFile) -> Result<()> {
        let course = self.course(name, file)?;
        for_each_log_record(name, file, |place, record| {
            let whole = record.is_whole.then(|| whole_batch(record.bytes)).flatten();
            match whole {
                Some(batch) if course.has(place) => {
                    let (sequence, count) = (batch.sequence(), u64::from(batch.entry_count()));
                    self.resolve(Some(sequence));
                    self.expected = Some(sequence.saturating_add(count));
                }
                _ => self.wait(name, record.bytes),
            }
        })
    }

    /// Which records count, by their places among all.
    fn course(&self, name: &str, file: &dyn RandomFile) -> Result<Course> {
        let mut finder = CourseFinder::new(self.expected.unwrap_or(0));
        for_each_log_record(name, file, |place, record| {
            let whole = record.is_whole.then(|| whole_batch(record.bytes)).flatten();
            if let Some(batch) = whole {
                finder.record(place, &batch);
            }
        })?;
        Ok(finder.finish())
    }

    fn wait(&mut self, name: &str, bytes: &[u8]) {
        self.waiting_len += bytes.len();
        self.waiting.push((name.to_owned(), bytes.to_vec()));
        if self.waiting_len > WAITING_LEN_MAX {
            self.resolve(None);
        }
    }

    /// Gives the entries of what waits, now that the number of the next whole record is known, or that there is none.
    fn resolve(&mut self, next: Option<u64>) {
        self.waiting_len = 0;
        let low = self.expected.unwrap_or(0);
        let high = next
            .map_or(SEQUENCE_MAX, |next| next.saturating_sub(1))
            .max(low);
        let mut least = low;
        for (file, bytes) in std::mem::take(&mut self.waiting) {
            let batch = DamagedBatch::new(&bytes, self.accepts);
            // A whole one lies within something damaged, or out of its place: its number is not of those around it.
            let whole = whole_batch(&bytes).map(|batch| batch.sequence());
            let greatest = whole.map_or(high, |_| SEQUENCE_MAX);
            let said = batch.sequence().filter(|own| (least..=high).contains(own));
            let mut sequence = whole.or(said).unwrap_or(least);
            for operation in batch {
                let value = match operation {
                    Operation::Put(_, value) => Some(value),
                    Operation::Delete(_) => None,
                };
                (self.visit)(DamagedEntry {
                    key: operation.key(),
                    value,
                    sequence,
                    file: &file,
                });
                sequence = sequence.saturating_add(1).min(greatest);
            }
            if whole.is_none() {
                least = least.max(sequence);
            }
        }
    }
}

/// Calls `visit` with each record of a log, and its place among all.
fn for_each_log_record(
    name: &str,
    file: &dyn RandomFile,
    mut visit: impl FnMut(u64, Remains<'_>),
) -> Result<()> {
    let fails_on = |error: &io::Error| OnDamage::Skip.fails_on(Some(error));
    let mut place = 0;
    let read = for_each_record::<io::Error>(file, fails_on, |record| {
        place += 1;
        visit(place, record);
        Ok(())
    });
    read.map_err(|error| Error::io(name, "cannot read the log", error))
}
