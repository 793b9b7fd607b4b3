//! Fills a memtable from logs.
//!
//! Every record of every live log is replayed; the MANIFEST's last sequence number skips nothing. With
//! [`OnDamage::Skip`], what a damaged record wrote is not shown, and neither is what it overwrote: for every key that can
//! still be made out in it an [`EntryKind::Lost`] entry is put in its place. If one damaged byte explains the wrong checksum,
//! all keys are made out surely, the damaged byte's own included; otherwise the damage says that rows may be outdated.
//!
//! With [`OnDamage::Fail`] the logs end where a power cut has taken something from what no sync has covered: there, what is
//! read is a prefix of what was written. Everything else that is wrong is an error.

use super::course::Course;
use super::ending;
use super::{LOG_VALUE_LEN_MIN, Log, MemTable, MemTableBuilder, OpenLog, Place};
use crate::damage::{Damage, DamageKind};
use crate::error::{Error, Result};
use crate::internal_key::{EntryKind, InternalOrder, SEQUENCE_MAX};
use crate::log::{Fragment, LogEvent, LogReader, Lost, power_cut_explains};
use crate::on_damage::OnDamage;
use crate::table::DamageLog;
use crate::torn::{TailKind, TornTail};
use crate::write_batch::{BatchEntry, BatchError, BatchReader, Operation};
use std::collections::BTreeMap;

/// A lost record whose sequence numbers are known only when the next whole one is.
struct Waiting {
    damage: Damage,
    /// User keys it may have written, with the sequence numbers that it says.
    keys: BTreeMap<Vec<u8>, u64>,
}

/// How far what was written to logs is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KnownLogs {
    /// The first sequence number that was read.
    pub(crate) begin: Option<u64>,
    /// The first one of which it is not known what was written under it; `None` if nothing is missing that leaves a trace.
    pub(crate) lost_from: Option<u64>,
}

/// What logs held.
pub(crate) struct Replayed {
    pub(crate) mem: MemTable,
    /// The greatest sequence number in it.
    pub(crate) last_sequence: u64,
    /// The sequence number that comes next, if anything was read.
    pub(crate) goes_on_at: Option<u64>,
    pub(crate) torn: Vec<TornTail>,
    pub(crate) known: KnownLogs,
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
    /// Where the records of the log being replayed are that count, if it is known that not all do.
    course: Option<Course>,
    /// The first sequence number that was read.
    begin: Option<u64>,
    /// `expected` where the first write was lost whose keys are not known.
    first_loss: Option<Option<u64>>,
    /// How many logs came before the one being replayed, and whether nothing of it was met yet.
    logs_before: usize,
    is_at_start: bool,
    /// The log being replayed, or the one before it, is not read to its end.
    is_torn: bool,
    has_ended: bool,
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
            course: None,
            begin: None,
            first_loss: None,
            logs_before: 0,
            is_at_start: true,
            is_torn: false,
            has_ended: false,
            is_cut: false,
        }
    }

    /// Replays logs, in the order of their numbers: all that there are.
    pub(crate) fn logs(&mut self, logs: &[OpenLog]) -> Result<()> {
        for (i, (name, file)) in logs.iter().enumerate() {
            let later = &logs[i + 1..];
            self.log(&ending::Place { name, file, later })?;
        }
        Ok(())
    }

    fn log(&mut self, place: &ending::Place<'_>) -> Result<()> {
        let name = place.name;
        let reader = LogReader::new(place.file.clone());
        let mut reader = reader
            .map_err(|error| Error::io(name, "cannot find out the length of the log", error))?;
        self.builder.table.logs.push(Log {
            name: name.to_owned(),
            file: place.file.clone(),
        });
        if self.is_cut {
            self.tear(name, 0, reader.len_bytes(), TailKind::AfterLoss);
            return Ok(());
        }
        let mut zeros = None;
        self.course = None;
        self.is_at_start = true;
        self.has_ended = false;
        while !self.has_ended {
            let event = reader.next_event();
            if matches!(event, LogEvent::Record) && self.begins_after_a_loss(&reader) {
                return self.cut(place, reader.len_bytes());
            }
            self.is_at_start = false;
            match event {
                LogEvent::Record => self.record(place, &reader, zeros.take())?,
                LogEvent::Recovered(lost) => {
                    self.note(name, lost)?;
                    self.record(place, &reader, zeros.take())?;
                }
                LogEvent::Lost(lost) => self.lose(place, &reader, zeros, lost)?,
                LogEvent::Zeros { offset } => zeros = zeros.or(Some(offset)),
                LogEvent::TornTail { offset } => {
                    self.tear(name, offset, reader.len_bytes(), TailKind::Cut)
                }
                LogEvent::End => {
                    if let Some(offset) = zeros {
                        self.tear(name, offset, reader.len_bytes(), TailKind::Zeros);
                    }
                    break;
                }
            }
        }
        self.logs_before += 1;
        Ok(())
    }

    /// Writes down that a log is not read beyond a place.
    fn tear(&mut self, name: &str, offset: u64, end: u64, kind: TailKind) {
        self.torn.push(TornTail::new(name, offset, end, kind));
        self.is_torn = true;
        self.note_loss();
    }

    /// Writes down that it is not known which keys the writes had that come next.
    fn note_loss(&mut self) {
        self.first_loss.get_or_insert(self.expected);
    }

    /// Ends the logs before one that goes on from what is missing. It was not synced, then; if it was, that is damage.
    fn cut(&mut self, place: &ending::Place<'_>, end: u64) -> Result<()> {
        if self.on_damage == OnDamage::Fail && self.is_synced(place, 0)? {
            let what =
                "begins after writes that the log before has lost, although they were synced";
            return Err(Error::corruption(place.name, Some(0), what));
        }
        self.is_cut = true;
        self.tear(place.name, 0, end, TailKind::AfterLoss);
        Ok(())
    }

    fn is_synced(&self, place: &ending::Place<'_>, offset: u64) -> Result<bool> {
        let synced = place.is_synced(offset, self.expected.unwrap_or(0));
        synced.map_err(|error| Error::io(place.name, "cannot read the log", error))
    }

    /// Whether a log begins with a sequence number that says that the log before held more than is left of it: in an empty
    /// batch, as only a log that holds something is followed by another one, or after a log that was not read to its end.
    fn begins_after_a_loss(&self, reader: &LogReader) -> bool {
        if !self.is_at_start || self.logs_before == 0 || !self.waiting.is_empty() {
            return false;
        }
        let is_torn = self.is_torn && self.on_damage == OnDamage::Fail;
        let batch = BatchReader::new(reader.record());
        let says_so = |batch: &BatchReader<'_>| batch.entry_count() == 0 || is_torn;
        batch.is_ok_and(|batch| {
            says_so(&batch) && self.expected.is_none_or(|at| at < batch.sequence())
        })
    }

    /// Ends a log at `offset`, if that may be all that was synced of it: `lost`, or zeros in place of whole records, is what a power
    /// cut leaves. Whether it did.
    fn end(
        &mut self,
        place: &ending::Place<'_>,
        end: u64,
        offset: u64,
        lost: Option<&Lost>,
    ) -> Result<bool> {
        let failed = |error| Error::io(place.name, "cannot read the log", error);
        let is_all = match self.expected {
            Some(expected) => place.goes_on_with(expected).map_err(failed)?,
            None => false,
        };
        if !is_all {
            let is_explained =
                lost.map_or(Ok(true), |lost| power_cut_explains(&**place.file, lost));
            if !is_explained.map_err(failed)? || self.is_synced(place, offset)? {
                return Ok(false);
            }
        }
        self.tear(place.name, offset, end, TailKind::Holes);
        self.has_ended = true;
        Ok(true)
    }

    /// What was read.
    pub(crate) fn finish(mut self) -> Replayed {
        self.resolve(None);
        // Lost before anything was read: what comes first is the first that is known.
        let lost_from = |at: Option<u64>| at.or(self.begin).unwrap_or(SEQUENCE_MAX);
        let known = KnownLogs {
            begin: self.begin,
            lost_from: self.first_loss.map(lost_from),
        };
        Replayed {
            known,
            mem: self.builder.finish(self.order),
            last_sequence: self.last_sequence,
            goes_on_at: self.expected,
            torn: self.torn,
        }
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

    fn record(
        &mut self,
        place: &ending::Place<'_>,
        reader: &LogReader,
        zeros: Option<u64>,
    ) -> Result<()> {
        let whole = BatchReader::new(reader.record()).and_then(|batch| {
            // All of a batch or nothing: look before anything is taken.
            batch.clone().try_for_each(|entry| entry.map(drop))?;
            Ok(batch)
        });
        match whole {
            // What lies within a damaged record may itself be a log, or be a page that belongs elsewhere.
            Ok(batch) if self.is_out_of_place(place, reader, batch.sequence())? => {
                let what = "record has a sequence number that does not belong here";
                let offset = reader.record_offset();
                self.lose_for_good(
                    place.name,
                    Lost {
                        offset,
                        end: offset,
                        what,
                        ..Lost::default()
                    },
                )
            }
            Ok(batch) => {
                if self.is_gap(place, reader, zeros, batch.sequence())? {
                    return Ok(());
                }
                // Where nothing damaged is left in their place, a log may be missing.
                if self.expected.is_some_and(|at| at < batch.sequence()) && self.waiting.is_empty()
                {
                    self.note_loss();
                }
                self.resolve(Some(batch.sequence()));
                self.begin.get_or_insert(batch.sequence());
                self.expected = Some(batch.sequence() + u64::from(batch.entry_count()));
                for entry in batch.flatten() {
                    self.add(&entry, reader.fragments());
                }
                Ok(())
            }
            Err(BatchError { what, .. }) => {
                let offset = reader.record_offset();
                let bytes = reader.record().to_vec();
                self.lose_for_good(
                    place.name,
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

    /// Whether a whole record does not count, as others that follow do, and both cannot.
    fn is_out_of_place(
        &mut self,
        place: &ending::Place<'_>,
        reader: &LogReader,
        sequence: u64,
    ) -> Result<bool> {
        let is_next = self.waiting.is_empty() && self.expected.is_none_or(|at| at >= sequence);
        if self.on_damage == OnDamage::Fail || (is_next && self.course.is_none()) {
            return Ok(false);
        }
        let at = reader.record_offset();
        if self.course.is_none() {
            let course = Course::of(place.file, at, self.expected.unwrap_or(0));
            let failed = |error| Error::io(place.name, "cannot read the log", error);
            self.course = Some(course.map_err(failed)?);
        }
        Ok(self.course.as_ref().is_some_and(|course| !course.has(at)))
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

    /// Zeros within a log are space laid out in advance, unless sequence numbers are missing: then they were records. Whether the
    /// log ends with them.
    fn is_gap(
        &mut self,
        place: &ending::Place<'_>,
        reader: &LogReader,
        zeros: Option<u64>,
        sequence: u64,
    ) -> Result<bool> {
        let (Some(offset), Some(expected)) = (zeros, self.expected) else {
            return Ok(false);
        };
        if sequence <= expected || !self.waiting.is_empty() {
            return Ok(false);
        }
        let what = "zeros in place of records: sequence numbers are missing after them";
        if self.on_damage == OnDamage::Fail {
            return match self.end(place, reader.len_bytes(), offset, None)? {
                true => Ok(true),
                false => Err(Error::corruption(place.name, Some(offset), what)),
            };
        }
        let mut damage = Damage::new(place.name, Some(offset), DamageKind::SequenceGap, what);
        damage.lost_sequences = Some(expected..=sequence - 1);
        damage.outdated_possible = true;
        self.damage.report(damage);
        Ok(false)
    }

    fn lose(
        &mut self,
        place: &ending::Place<'_>,
        reader: &LogReader,
        zeros: Option<u64>,
        lost: Lost,
    ) -> Result<()> {
        if self.on_damage == OnDamage::Fail {
            let explained = zeros.is_none().then_some(&lost);
            let offset = zeros.unwrap_or(lost.offset);
            if self.end(place, reader.len_bytes(), offset, explained)? {
                return Ok(());
            }
        }
        self.lose_for_good(place.name, lost)
    }

    fn lose_for_good(&mut self, name: &str, lost: Lost) -> Result<()> {
        if self.on_damage.fails_on(lost.source.as_ref()) {
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
        if damage.outdated_possible {
            self.note_loss();
        }
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
