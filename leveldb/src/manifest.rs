//! Reads a MANIFEST: the edits that lead to the present set of tables.

use crate::damage::{Damage, DamageKind};
use crate::error::{Error, Result};
use crate::log::{LogEvent, LogReader, Lost, power_cut_explains};
use crate::on_damage::OnDamage;
use crate::storage::RandomFile;
use crate::torn::{TailKind, TornTail};
use crate::version_edit::{EditError, NewFile, VersionEdit};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a MANIFEST says.
#[derive(Debug, Default)]
pub(crate) struct Manifest {
    pub(crate) name: String,
    pub(crate) comparator: Option<Vec<u8>>,
    pub(crate) log_number: Option<u64>,
    pub(crate) prev_log_number: Option<u64>,
    pub(crate) next_file_number: Option<u64>,
    pub(crate) last_sequence: Option<u64>,
    /// By level.
    pub(crate) compact_pointers: BTreeMap<usize, Vec<u8>>,
    /// Live tables, by level and number.
    pub(crate) files: BTreeMap<(usize, u64), NewFile>,
    /// Numbers of tables that were live once.
    pub(crate) deleted: BTreeSet<u64>,
    pub(crate) edits: usize,
    pub(crate) torn: Option<TornTail>,
    /// Damage by which edits were lost, and damage by which none were.
    pub(crate) lost: Vec<Damage>,
    pub(crate) noted: Vec<Damage>,
}

impl Manifest {
    /// Reads to the end. With [`OnDamage::Skip`] edits that are lost are listed and the others applied.
    pub(crate) fn read(
        name: String,
        file: Arc<dyn RandomFile>,
        on_damage: OnDamage,
    ) -> Result<Manifest> {
        let reader = LogReader::new(Arc::clone(&file));
        let mut reader =
            reader.map_err(|error| Error::io(&*name, "cannot find out the length", error))?;
        let mut manifest = Manifest {
            name,
            ..Manifest::default()
        };
        // Each edit is synced before the next is written: only after the last may something be missing.
        let mut ending: Option<Lost> = None;
        loop {
            let event = reader.next_event();
            if matches!(event, LogEvent::Record | LogEvent::Recovered(_))
                && let Some(lost) = ending.take()
            {
                let lost = manifest.damage(lost, on_damage)?;
                manifest.lost.push(lost);
            }
            match event {
                LogEvent::Record => manifest.record(&reader, on_damage)?,
                LogEvent::Recovered(lost) => {
                    let noted = manifest.damage(lost, on_damage)?;
                    manifest.noted.push(noted);
                    manifest.record(&reader, on_damage)?;
                }
                LogEvent::Lost(lost) => {
                    let failed = |error| Error::io(&*manifest.name, "cannot be read", error);
                    let is_end = ending.is_some()
                        || on_damage == OnDamage::Fail
                            && power_cut_explains(&*file, &lost).map_err(failed)?;
                    match is_end {
                        true => drop(ending.get_or_insert(lost)),
                        false => {
                            let lost = manifest.damage(lost, on_damage)?;
                            manifest.lost.push(lost);
                        }
                    }
                }
                LogEvent::Zeros { offset } => {
                    let what = "zeros in place of edits";
                    let end = reader.len_bytes();
                    ending.get_or_insert(Lost {
                        offset,
                        end,
                        what,
                        ..Lost::default()
                    });
                }
                LogEvent::TornTail { offset } => {
                    let offset = ending.take().map_or(offset, |lost| lost.offset);
                    manifest.tear(offset, reader.len_bytes(), TailKind::Cut);
                }
                LogEvent::End => break,
            }
        }
        if let Some(lost) = ending {
            manifest.tear(lost.offset, reader.len_bytes(), TailKind::Holes);
        }
        if on_damage == OnDamage::Fail && !manifest.is_complete() {
            return Err(Error::corruption(
                &*manifest.name,
                None,
                "MANIFEST lacks log, file or sequence number",
            ));
        }
        Ok(manifest)
    }

    /// Whether it has what every MANIFEST must have, and no edit is lost.
    pub(crate) fn is_complete(&self) -> bool {
        let has_numbers = self.log_number.is_some()
            && self.next_file_number.is_some()
            && self.last_sequence.is_some();
        has_numbers && self.lost.is_empty()
    }

    /// Writes down that it is not read beyond a place.
    fn tear(&mut self, offset: u64, end: u64, kind: TailKind) {
        self.torn = Some(TornTail::new(&self.name, offset, end, kind));
    }

    fn damage(&self, lost: Lost, on_damage: OnDamage) -> Result<Damage> {
        if on_damage.fails_on(lost.source.as_ref()) {
            return Err(match lost.source {
                Some(source) => Error::io(&*self.name, "cannot be read", source),
                None => Error::corruption(&*self.name, Some(lost.offset), lost.what),
            });
        }
        let mut damage = Damage::new(
            &*self.name,
            Some(lost.offset),
            DamageKind::Checksum,
            lost.what,
        );
        damage.len_bytes = lost.end.saturating_sub(lost.offset);
        Ok(damage)
    }

    fn record(&mut self, reader: &LogReader, on_damage: OnDamage) -> Result<()> {
        match VersionEdit::decode_exact(reader.record()) {
            Ok(edit) => {
                self.apply(edit);
                Ok(())
            }
            Err(EditError { what, .. }) if on_damage == OnDamage::Skip => {
                let offset = Some(reader.record_offset());
                self.lost.push(Damage::new(
                    &*self.name,
                    offset,
                    DamageKind::Structure,
                    what,
                ));
                Ok(())
            }
            Err(EditError { what, .. }) => Err(Error::corruption(
                &*self.name,
                Some(reader.record_offset()),
                what,
            )),
        }
    }

    fn apply(&mut self, edit: VersionEdit) {
        self.edits += 1;
        self.comparator = edit.comparator.or(self.comparator.take());
        self.log_number = edit.log_number.or(self.log_number);
        self.prev_log_number = edit.prev_log_number.or(self.prev_log_number);
        self.next_file_number = edit.next_file_number.or(self.next_file_number);
        self.last_sequence = edit.last_sequence.or(self.last_sequence);
        self.compact_pointers.extend(edit.compact_pointers);
        for (level, number) in edit.deleted_files {
            self.files.remove(&(level, number));
            self.deleted.insert(number);
        }
        for file in edit.new_files {
            // A table may move to another level: deleted and new in one edit.
            self.deleted.remove(&file.number);
            self.files.insert((file.level, file.number), file);
        }
    }
}
