//! Rows laid out as a store: tables, logs and a MANIFEST, whose checksums and lengths are right.

use std::sync::Arc;

use larder_backing_store::IdbComparator;
use larder_leveldb::Comparator;
use larder_leveldb::internal_key::{self, EntryKind, InternalOrder};
use larder_leveldb::version_edit::{NewFile, VersionEdit};
use larder_leveldb::write_batch::BatchWriter;

use super::Row;
use super::dice::{Dice, var_int};
use super::table;
use crate::files::Files;
use crate::reading::DIR;
use crate::write;

/// An entry of a table: internal key and value.
pub(super) type Entry = (Vec<u8>, Vec<u8>);

/// Numbers of files begin here.
const FIRST_FILE: u64 = 5;

/// The rows in tables of several levels and in logs.
pub(super) fn lay_out(dice: &mut Dice<'_>, mut rows: Vec<Row>) -> Files {
    if dice.once_in(3) {
        rows.sort_by_key(|row| row.sequence);
    }
    let lift = lift(dice);
    for row in &mut rows {
        row.sequence = (row.sequence + lift).min(internal_key::SEQUENCE_MAX);
    }
    let mut files = Files::default();
    let mut edit = VersionEdit::default();
    let mut number = FIRST_FILE;
    let in_tables = dice.below(rows.len() + 1);
    let logged = rows.split_off(in_tables);
    let part_len = 1 + dice.below(rows.len());
    for part in rows.chunks(part_len).take(40) {
        number += 1;
        let level = match dice.once_in(3) {
            true => 0,
            false => dice.below(7),
        };
        let (bytes, listed) = one_table(dice, level, number, part);
        files.0.insert(format!("{DIR}/{number:06}.ldb"), bytes);
        edit.new_files.push(listed);
    }
    missing_tables(dice, &mut edit);
    let first_log = number + 1;
    let part_len = 1 + dice.below(logged.len());
    for part in logged.chunks(part_len).take(10) {
        number += 1;
        let log = write::log(&batches(dice, part));
        files.0.insert(format!("{DIR}/{number:06}.log"), log);
    }
    if logged.is_empty() {
        files
            .0
            .insert(format!("{DIR}/{first_log:06}.log"), Vec::new());
    }
    let last_sequence = rows.iter().map(|row| row.sequence).max().unwrap_or(0);
    let manifest = manifest(dice, edit, first_log, number + 1, last_sequence);
    files.0.insert(format!("{DIR}/MANIFEST-000001"), manifest);
    files
        .0
        .insert(format!("{DIR}/CURRENT"), write::CURRENT.to_vec());
    files
}

/// How far up all sequence numbers are moved.
fn lift(dice: &mut Dice<'_>) -> u64 {
    match dice.below(12) {
        0 => internal_key::SEQUENCE_MAX - dice.below(600) as u64,
        1 => dice.number() & internal_key::SEQUENCE_MAX,
        _ => 0,
    }
}

fn one_table(dice: &mut Dice<'_>, level: usize, number: u64, rows: &[Row]) -> (Vec<u8>, NewFile) {
    let comparator: Arc<dyn Comparator> = Arc::new(IdbComparator);
    let order = InternalOrder::new(comparator);
    let entry = |row: &Row| {
        let kind = match row.value {
            Some(_) => EntryKind::Value,
            None => EntryKind::Deletion,
        };
        let mut key = Vec::new();
        internal_key::encode(&mut key, &row.key, row.sequence, kind);
        (key, row.value.clone().unwrap_or_default())
    };
    let mut entries: Vec<Entry> = rows.iter().map(entry).collect();
    entries.sort_by(|a, b| order.compare(&a.0, &b.0));
    let (mut smallest, mut largest) = (entries[0].0.clone(), entries[entries.len() - 1].0.clone());
    shuffle(dice, &mut entries);
    let bytes = table::table(dice, &order, &entries);
    if dice.once_in(10) {
        std::mem::swap(&mut smallest, &mut largest);
    }
    if dice.once_in(10) {
        dice.scratch(&mut largest);
        // What is no internal key is refused when it is read.
        largest.resize(largest.len().max(8), 0);
    }
    let len_bytes = match dice.once_in(15) {
        true => dice.number(),
        false => bytes.len() as u64,
    };
    let listed = NewFile {
        level,
        number,
        len_bytes,
        smallest,
        largest,
    };
    (bytes, listed)
}

/// Rarely some entries change places.
fn shuffle(dice: &mut Dice<'_>, entries: &mut [Entry]) {
    if !dice.once_in(4) {
        return;
    }
    for _ in 0..1 + dice.below(20) {
        let a = dice.below(entries.len());
        // Mostly within a block.
        let b = match dice.once_in(3) {
            true => dice.below(entries.len()),
            false => (a + dice.below(12)).min(entries.len() - 1),
        };
        entries.swap(a, b);
    }
}

/// Tables that the MANIFEST lists, or says to be deleted, and that are not there.
fn missing_tables(dice: &mut Dice<'_>, edit: &mut VersionEdit) {
    let count = match dice.below(50) {
        0 => 100_000,
        1 => 1_500,
        2 => 700,
        3..7 => dice.below(4),
        _ => 0,
    };
    let level = dice.below(8) % 7;
    for n in 0..count as u64 {
        let mut smallest = Vec::new();
        internal_key::encode(&mut smallest, &[0, 1, 1, 1, 3], n, EntryKind::Value);
        let mut largest = Vec::new();
        internal_key::encode(&mut largest, &[0, 1, 2, 1, 3], n, EntryKind::Value);
        edit.new_files.push(NewFile {
            level,
            number: 1000 + n,
            len_bytes: 100,
            smallest,
            largest,
        });
    }
    if dice.once_in(20) {
        edit.deleted_files = (0..50_000).map(|n| (1, 500_000 + n)).collect();
    }
}

/// Batches with the rows' sequence numbers where they follow one another, else with the first's.
fn batches(dice: &mut Dice<'_>, rows: &[Row]) -> Vec<Vec<u8>> {
    let len = 1 + dice.below(60);
    let record = |part: &[Row]| {
        let mut batch = BatchWriter::new();
        for row in part {
            match &row.value {
                Some(value) => batch.put(&row.key, value),
                None => batch.delete(&row.key),
            }
        }
        batch.finish(part[0].sequence).to_vec()
    };
    let mut records: Vec<Vec<u8>> = rows.chunks(len).map(record).collect();
    if dice.once_in(8) {
        let at = dice.below(records.len());
        dice.scratch(&mut records[at]);
    }
    if dice.once_in(20) {
        let at = dice.below(records.len());
        if let Some(count) = records[at].get_mut(8..12) {
            count.copy_from_slice(&u32::MAX.to_le_bytes());
        }
    }
    records
}

fn manifest(
    dice: &mut Dice<'_>,
    edit: VersionEdit,
    log_number: u64,
    next_file_number: u64,
    last_sequence: u64,
) -> Vec<u8> {
    let mut odd = |right: u64| match dice.once_in(15) {
        true => dice.number(),
        false => right,
    };
    let mut edit = VersionEdit {
        log_number: Some(odd(log_number)),
        prev_log_number: Some(odd(0)),
        next_file_number: Some(odd(next_file_number)),
        last_sequence: Some(odd(last_sequence)),
        ..edit
    };
    if dice.once_in(15) {
        edit.log_number = None;
    }
    if dice.once_in(10) {
        let mut pointer = dice.bytes(20);
        pointer.resize(pointer.len().max(8), 1);
        edit.compact_pointers.push((dice.below(7), pointer));
    }
    let first = write::first_edit(&IdbComparator, 0, 0);
    let mut records: Vec<Vec<u8>> = [first, edit]
        .iter()
        .map(|edit| {
            let mut bytes = Vec::new();
            edit.encode(&mut bytes);
            bytes
        })
        .collect();
    if dice.once_in(20) {
        let mut field = Vec::new();
        var_int(dice.number(), &mut field);
        records.push(field);
    }
    write::log(&records)
}
