//! Fills a memtable from logs.
//!
//! Every record of every live log is replayed; the MANIFEST's last sequence number skips nothing. With
//! [`OnDamage::Skip`], what a damaged record wrote is not shown, and neither is what it overwrote: for every key that can
//! still be made out in it an [`EntryKind::Lost`] entry is put in its place. If one damaged byte explains the wrong checksum,
//! all keys are made out surely, the damaged byte's own included; otherwise the damage says that rows may be outdated.

use super::{LOG_VALUE_LEN_MIN, Log, MemTable, MemTableBuilder, Place};
use crate::core::OnDamage;
use crate::damage::{Damage, DamageKind, DamageLog};
use crate::error::{Error, Result};
use crate::internal_key::{EntryKind, InternalOrder, SEQUENCE_MAX};
use crate::log::{Fragment, LogEvent, LogReader, Lost};
use crate::storage::RandomFile;
use crate::write_batch::{BatchEntry, BatchError, BatchReader, Operation};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A log or MANIFEST that ends within a record, as a crash leaves it; or a log that begins after something that a crash has
/// taken from the log before, which therefore is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// The file's name.
    pub file: String,
    /// Where the unfinished record begins, in bytes; zero for a log that is not read.
    pub offset: u64,
}

/// A lost record whose sequence numbers are known only when the next whole one is.
struct Waiting {
    damage: Damage,
    /// User keys it may have written, with the sequence numbers that it says.
    keys: BTreeMap<Vec<u8>, u64>,
}

/// Logs being replayed.
pub(crate) struct Replay<'a> {
    order: &'a InternalOrder,
    on_damage: OnDamage,
    damage: &'a DamageLog,
    builder: MemTableBuilder,
    /// The sequence number after the last one replayed.
    expected: Option<u64>,
    last_sequence: u64,
    torn: Vec<TornTail>,
    waiting: Vec<Waiting>,
    /// How many logs came before the one being replayed, and whether nothing of it was met yet.
    logs_before: usize,
    is_at_start: bool,
    /// Writes are missing: what was written after them is not shown.
    is_cut: bool,
}

impl<'a> Replay<'a> {
    /// `value_budget`: how many bytes of values are copied before large ones stay in their logs.
    pub(crate) fn new(
        order: &'a InternalOrder,
        on_damage: OnDamage,
        damage: &'a DamageLog,
        value_budget: usize,
    ) -> Replay<'a> {
        Replay {
            order,
            on_damage,
            damage,
            builder: MemTableBuilder::new(value_budget),
            expected: None,
            last_sequence: 0,
            torn: Vec::new(),
            waiting: Vec::new(),
            logs_before: 0,
            is_at_start: true,
            is_cut: false,
        }
    }

    /// Replays one log. Logs come in the order of their numbers.
    pub(crate) fn log(&mut self, name: &str, file: Arc<dyn RandomFile>) -> Result<()> {
        let reader = LogReader::new(file.clone());
        let mut reader = reader
            .map_err(|error| Error::io(name, "cannot find out the length of the log", error))?;
        self.builder.table.logs.push(Log {
            name: name.to_owned(),
            file,
        });
        let mut zeros = None;
        self.is_at_start = true;
        while !self.is_cut {
            let event = reader.next_event();
            if matches!(event, LogEvent::Record) && self.begins_after_a_loss(&reader) {
                self.is_cut = true;
                self.torn.push(TornTail {
                    file: name.to_owned(),
                    offset: 0,
                });
                return Ok(());
            }
            self.is_at_start = false;
            match event {
                LogEvent::Record => self.record(name, &reader, zeros.take())?,
                LogEvent::Recovered(lost) => {
                    self.note(name, lost)?;
                    self.record(name, &reader, zeros.take())?;
                }
                LogEvent::Lost(lost) => self.lose(name, lost)?,
                LogEvent::Zeros { offset } => zeros = zeros.or(Some(offset)),
                LogEvent::TornTail { offset } => self.torn.push(TornTail {
                    file: name.to_owned(),
                    offset,
                }),
                LogEvent::End => break,
            }
        }
        self.logs_before += 1;
        Ok(())
    }

    /// Whether a log begins with an empty batch whose sequence number says that the log before held more than is left of it.
    /// Only a log that holds something is followed by another one.
    fn begins_after_a_loss(&self, reader: &LogReader) -> bool {
        if !self.is_at_start || self.logs_before == 0 || !self.waiting.is_empty() {
            return false;
        }
        let batch = BatchReader::new(reader.record());
        let is_mark = |batch: &BatchReader<'_>| batch.entry_count() == 0;
        batch.is_ok_and(|batch| {
            is_mark(&batch) && self.expected.is_none_or(|at| at < batch.sequence())
        })
    }

    /// The memtable, the greatest sequence number in it, and the torn tails.
    pub(crate) fn finish(mut self) -> (MemTable, u64, Vec<TornTail>) {
        self.resolve(None);
        (
            self.builder.finish(self.order),
            self.last_sequence,
            self.torn,
        )
    }

    /// Damage by which nothing is lost.
    fn note(&mut self, name: &str, lost: Lost) -> Result<()> {
        if self.on_damage == OnDamage::Fail {
            return Err(Error::corruption(name, Some(lost.offset), lost.what));
        }
        self.damage.report(Damage::new(
            name,
            Some(lost.offset),
            DamageKind::Checksum,
            lost.what,
        ));
        Ok(())
    }

    fn record(&mut self, name: &str, reader: &LogReader, zeros: Option<u64>) -> Result<()> {
        let whole = BatchReader::new(reader.record()).and_then(|batch| {
            // All of a batch or nothing: look before anything is taken.
            batch.clone().try_for_each(|entry| entry.map(drop))?;
            Ok(batch)
        });
        match whole {
            // What lies within a damaged record may itself be a log: then it counts from elsewhere.
            Ok(batch) if !self.waiting.is_empty() && Some(batch.sequence()) < self.expected => {
                let what = "record after a damaged one has an older sequence number";
                let offset = reader.record_offset();
                self.lose(
                    name,
                    Lost {
                        offset,
                        end: offset,
                        what,
                        ..Lost::default()
                    },
                )
            }
            Ok(batch) => {
                self.check_gap(name, zeros, batch.sequence())?;
                self.resolve(Some(batch.sequence()));
                self.expected = Some(batch.sequence() + u64::from(batch.entry_count()));
                for entry in batch.flatten() {
                    self.add(&entry, reader.fragments());
                }
                Ok(())
            }
            Err(BatchError { what, .. }) => {
                let offset = reader.record_offset();
                let bytes = reader.record().to_vec();
                self.lose(
                    name,
                    Lost {
                        offset,
                        end: offset,
                        what,
                        bytes,
                        ..Lost::default()
                    },
                )
            }
        }
    }

    fn add(&mut self, entry: &BatchEntry<'_>, fragments: &[Fragment]) {
        self.last_sequence = self.last_sequence.max(entry.sequence);
        match entry.operation {
            Operation::Delete(key) => {
                let nothing = self.builder.copy(&[], &[]);
                self.builder.add(
                    key,
                    entry.sequence,
                    EntryKind::Deletion,
                    Place::Copied(nothing),
                );
            }
            Operation::Put(key, value) => {
                let place = self.place(value, entry.value_offset, fragments);
                self.builder
                    .add(key, entry.sequence, EntryKind::Value, place);
            }
        }
    }

    fn place(&mut self, value: &[u8], at: usize, fragments: &[Fragment]) -> Place {
        if value.len() > self.builder.values_left && value.len() >= LOG_VALUE_LEN_MIN {
            let after = fragments.partition_point(|fragment| fragment.record_at <= at);
            if let Some(fragment) = after.checked_sub(1).and_then(|i| fragments.get(i)) {
                let skip = (at - fragment.record_at) as u16;
                return Place::InLog {
                    offset: fragment.offset,
                    skip,
                    len: value.len() as u32,
                };
            }
        }
        self.builder.values_left = self.builder.values_left.saturating_sub(value.len());
        Place::Copied(self.builder.copy(value, &[]))
    }

    /// Zeros within a log are space laid out in advance, unless sequence numbers are missing: then they were records.
    fn check_gap(&mut self, name: &str, zeros: Option<u64>, sequence: u64) -> Result<()> {
        let (Some(offset), Some(expected)) = (zeros, self.expected) else {
            return Ok(());
        };
        if sequence <= expected || !self.waiting.is_empty() {
            return Ok(());
        }
        let what = "zeros in place of records: sequence numbers are missing after them";
        if self.on_damage == OnDamage::Fail {
            return Err(Error::corruption(name, Some(offset), what));
        }
        let mut damage = Damage::new(name, Some(offset), DamageKind::SequenceGap, what);
        damage.lost_sequences = Some(expected..=sequence - 1);
        damage.outdated_possible = true;
        self.damage.report(damage);
        Ok(())
    }

    fn lose(&mut self, name: &str, lost: Lost) -> Result<()> {
        if self.on_damage == OnDamage::Fail {
            return Err(match lost.source {
                Some(source) => Error::io(name, "cannot read the log", source),
                None => Error::corruption(name, Some(lost.offset), lost.what),
            });
        }
        let (kind, what) = match &lost.source {
            Some(source) => (DamageKind::Unreadable, format!("{}: {source}", lost.what)),
            None => (DamageKind::Checksum, lost.what.to_owned()),
        };
        let mut damage = Damage::new(name, Some(lost.offset), kind, what);
        damage.len_bytes = lost.end.saturating_sub(lost.offset);
        damage.outdated_possible = !lost.single_byte;
        self.waiting.push(Waiting {
            damage,
            keys: keys_of(lost),
        });
        Ok(())
    }

    /// Puts lost entries in place of what was lost, now that the next whole batch's sequence number is known, or that there
    /// is none.
    fn resolve(&mut self, next: Option<u64>) {
        if self.waiting.is_empty() {
            return;
        }
        let low = self.expected.unwrap_or(0);
        let high = next.map_or(SEQUENCE_MAX, |next| next.saturating_sub(1));
        for Waiting { mut damage, keys } in std::mem::take(&mut self.waiting) {
            if let (Some(low), Some(_)) = (self.expected, next) {
                damage.lost_sequences = (low <= high).then_some(low..=high);
            }
            let withheld = self.damage.report(damage);
            let number = self.builder.table.lost.len() as u32;
            self.builder.table.lost.push(withheld);
            for (key, sequence) in keys {
                let sequence = sequence.max(low).min(high);
                self.last_sequence = self.last_sequence.max(sequence);
                self.builder
                    .add(&key, sequence, EntryKind::Lost, Place::Lost(number));
            }
        }
    }
}

/// All keys that a damaged record may have written, each with the greatest sequence number it may have had.
fn keys_of(lost: Lost) -> BTreeMap<Vec<u8>, u64> {
    let mut keys = BTreeMap::new();
    let mut bytes = lost.bytes;
    collect_keys(&bytes, &mut keys);
    for (at, bits) in lost.corrections {
        let Some(byte) = bytes.get_mut(at) else {
            continue;
        };
        *byte ^= bits;
        collect_keys(&bytes, &mut keys);
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= bits;
        }
    }
    keys
}

fn collect_keys(bytes: &[u8], keys: &mut BTreeMap<Vec<u8>, u64>) {
    for entry in BatchReader::lenient(bytes).map_while(|entry| entry.ok()) {
        let sequence = keys.entry(entry.operation.key().to_vec()).or_default();
        *sequence = entry.sequence.max(*sequence);
    }
}
