//! Changes of a store's rows: odd keys and values, and rows that do not go together.

use larder_codec::KeyPrefix;

use super::dice::{Dice, var_int};
use super::{Row, keys, values};
use crate::reading::Rows;

/// A store has at most so many rows.
const ROWS_MAX: usize = 20_000;

/// The rows, changed, each with a sequence number.
pub(super) fn change(dice: &mut Dice<'_>, rows: &Rows) -> Vec<Row> {
    let mut sequence = 0;
    let mut rows: Vec<Row> = rows
        .iter()
        .map(|(key, value)| {
            sequence += 1;
            Row {
                key: key.clone(),
                value: Some(value.clone()),
                sequence,
            }
        })
        .collect();
    for _ in 0..dice.below(40) {
        if rows.len() > ROWS_MAX || rows.is_empty() {
            break;
        }
        change_one(dice, &mut rows);
    }
    rows
}

fn change_one(dice: &mut Dice<'_>, rows: &mut Vec<Row>) {
    let (at, other) = (dice.below(rows.len()), dice.below(rows.len()));
    match dice.below(14) {
        0..3 => rows[at].key = keys::change(dice, &rows[at].key),
        3..7 => {
            let value = rows[at].value.clone().unwrap_or_default();
            rows[at].value = Some(values::change(dice, &rows[at].key, &value));
        }
        7 => {
            let value = rows[other].value.clone();
            let value = std::mem::replace(&mut rows[at].value, value);
            rows[other].value = value;
        }
        8 => drop(rows.swap_remove(at)),
        9 => {
            // Another version of a row: newer, older, of the same number, or its end.
            let mut row = rows[at].clone();
            row.sequence = sequence(dice, rows.len());
            row.value = match dice.below(3) {
                0 => None,
                _ => rows[other].value.clone(),
            };
            rows.push(row);
        }
        10 => {
            let mut row = rows[at].clone();
            row.key = keys::change(dice, &row.key);
            rows.push(row);
        }
        11 => many_like(dice, rows, at),
        12 => many_entries(dice, rows),
        _ => undo_tasks(dice, rows),
    }
}

fn sequence(dice: &mut Dice<'_>, count: usize) -> u64 {
    match dice.once_in(4) {
        true => dice.number() & ((1 << 56) - 1),
        false => dice.below(2 * count + 1) as u64,
    }
}

fn count(dice: &mut Dice<'_>) -> usize {
    match dice.once_in(8) {
        true => 5_000,
        false => 1 + dice.below(40),
    }
}

/// Many rows with nearly the same key and the same value: databases of one id, stores of one name.
fn many_like(dice: &mut Dice<'_>, rows: &mut Vec<Row>, at: usize) {
    let row = rows[at].clone();
    for n in 0..count(dice) {
        let mut key = row.key.clone();
        let place = dice.below(key.len());
        match key.get_mut(place) {
            Some(byte) if n < 256 => *byte = n as u8,
            _ => key.extend_from_slice(&(n as u16).to_be_bytes()),
        }
        let sequence = rows.len() as u64 + 1;
        rows.push(Row {
            key,
            value: row.value.clone(),
            sequence,
        });
    }
}

/// Entries of an index, live or stale, of few keys.
fn many_entries(dice: &mut Dice<'_>, rows: &mut Vec<Row>) {
    let of_index = |row: &&Row| {
        KeyPrefix::decode(&row.key).is_ok_and(|(p, _)| p.object_store > 0 && p.index > 3)
    };
    let of_records = |row: &&Row| {
        KeyPrefix::decode(&row.key).is_ok_and(|(p, _)| p.object_store > 0 && p.index == 1)
    };
    let (Some(entry), Some(record)) = (
        rows.iter().find(of_index).cloned(),
        rows.iter().find(of_records).cloned(),
    ) else {
        return;
    };
    let (Ok((_, entry_rest)), Ok((_, primary_key))) = (
        KeyPrefix::decode(&entry.key),
        KeyPrefix::decode(&record.key),
    ) else {
        return;
    };
    let front = entry.key[..entry.key.len() - entry_rest.len()].to_vec();
    let primary_key = primary_key.to_vec();
    let version = record.value.iter().flatten().next().copied().unwrap_or(1);
    for n in 0..count(dice) {
        let mut key = front.clone();
        match dice.once_in(4) {
            true => keys::user_key(dice, &mut key),
            false => {
                key.push(3);
                key.extend_from_slice(&((n % 7) as f64).to_le_bytes());
            }
        }
        if !dice.once_in(5) {
            var_int(n as u64 % 3, &mut key);
            match dice.once_in(3) {
                true => keys::user_key(dice, &mut key),
                false => key.extend_from_slice(&primary_key),
            }
        }
        let mut value = Vec::new();
        var_int(version.wrapping_add((n % 2) as u8).into(), &mut value);
        value.extend_from_slice(&primary_key);
        let sequence = rows.len() as u64 + 1;
        rows.push(Row {
            key,
            value: Some(value),
            sequence,
        });
    }
}

/// Tasks of the undo log, of scopes that are committed or not.
fn undo_tasks(dice: &mut Dice<'_>, rows: &mut Vec<Row>) {
    let scope = dice.below(3) as u64;
    for n in 0..count(dice) {
        let mut key = vec![0, 0, 0, 0, 50];
        let list = dice.below(4) as u8;
        match list {
            0 | 1 => {
                key.push(2);
                var_int(scope, &mut key);
                key.push(list);
                let number = match list {
                    0 => u64::MAX / 2 - n as u64,
                    _ => n as u64,
                };
                key.extend_from_slice(&number.to_be_bytes());
            }
            2 => {
                key.push(1);
                var_int(scope, &mut key);
            }
            _ => key.push(0),
        }
        let value = values::change(dice, &key, &[]);
        let sequence = rows.len() as u64 + 1;
        rows.push(Row {
            key,
            value: Some(value),
            sequence,
        });
    }
}
