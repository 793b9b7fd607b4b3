//! Odd keys: what Chromium's decoders take, and what they do not.

use larder_codec::KeyPrefix;

use super::dice::{Dice, var_int};

/// Deeper than any decoder goes.
const DEPTH_MAX: usize = 3000;

/// Another key of the same kind, or nearly so.
pub(super) fn change(dice: &mut Dice<'_>, key: &[u8]) -> Vec<u8> {
    let Ok((prefix, rest)) = KeyPrefix::decode(key) else {
        return any(dice);
    };
    let mut changed = Vec::new();
    match dice.below(8) {
        0 => {
            other_ids(dice, prefix, &mut changed);
            changed.extend_from_slice(rest);
        }
        1 => {
            front(prefix, &mut changed);
            user_key(dice, &mut changed);
        }
        2 => {
            // An index row: sequence number, primary key.
            front(prefix, &mut changed);
            user_key(dice, &mut changed);
            var_int(dice.number(), &mut changed);
            user_key(dice, &mut changed);
        }
        3 => {
            changed.extend_from_slice(key);
            changed.extend(dice.bytes(6));
        }
        4 => {
            front(prefix, &mut changed);
            metadata(dice, &mut changed);
        }
        5 => {
            padded(prefix, &mut changed);
            changed.extend_from_slice(rest);
        }
        6 => return any(dice),
        _ => {
            changed.extend_from_slice(key);
            dice.scratch(&mut changed);
        }
    }
    changed
}

fn front(prefix: KeyPrefix, out: &mut Vec<u8>) {
    ids(
        [prefix.database, prefix.object_store, prefix.index.into()],
        out,
    );
}

/// The prefix's numbers, in as few bytes as each takes.
fn ids(numbers: [u64; 3], out: &mut Vec<u8>) {
    let bytes = numbers.map(u64::to_le_bytes);
    let lens = bytes.map(|bytes| 8 - bytes.iter().rev().take_while(|byte| **byte == 0).count());
    let [database, object_store, index] = lens.map(|len| len.max(1));
    let index = index.min(4);
    out.push(((database - 1) << 5 | (object_store - 1) << 2 | (index - 1)) as u8);
    for (bytes, len) in bytes.iter().zip([database, object_store, index]) {
        out.extend_from_slice(&bytes[..len]);
    }
}

/// With a byte more for the database's id than it takes.
fn padded(prefix: KeyPrefix, out: &mut Vec<u8>) {
    out.extend_from_slice(&[0x20, prefix.database as u8, 0]);
    out.push(prefix.object_store as u8);
    out.push(prefix.index as u8);
}

fn other_ids(dice: &mut Dice<'_>, prefix: KeyPrefix, out: &mut Vec<u8>) {
    let mut numbers = [prefix.database, prefix.object_store, prefix.index.into()];
    let at = dice.below(3);
    numbers[at] = dice.number();
    ids(numbers, out);
}

/// What follows the prefix in a row of metadata or of the undo log.
fn metadata(dice: &mut Dice<'_>, out: &mut Vec<u8>) {
    let kind = *dice.pick(&[0, 1, 2, 3, 4, 5, 6, 50, 100, 150, 151, 200, 201, 255]);
    out.push(kind);
    match kind {
        50 if dice.once_in(2) => {
            // The undo log: a scope, a list of its tasks, a number.
            out.push(dice.below(4) as u8);
            var_int(dice.number(), out);
            out.push(dice.below(3) as u8);
            out.extend_from_slice(&dice.number().to_be_bytes());
        }
        50 | 150 => {
            var_int(dice.number(), out);
            out.push(dice.below(10) as u8);
        }
        100 | 151 => {
            var_int(dice.number(), out);
            var_int(dice.number(), out);
            out.push(dice.below(6) as u8);
        }
        200 | 201 => {
            string(dice, out);
            string(dice, out);
        }
        _ => {}
    }
}

/// A length and so many UTF-16 units, or not so many.
pub(super) fn string(dice: &mut Dice<'_>, out: &mut Vec<u8>) {
    let units = dice.bytes(12);
    match dice.once_in(6) {
        true => var_int(dice.number(), out),
        false => var_int(units.len() as u64 / 2, out),
    }
    out.extend_from_slice(&units[..units.len() / 2 * 2]);
}

/// An encoded IndexedDB key: a number that is none, an array in an array, a string that is longer than its row.
pub(super) fn user_key(dice: &mut Dice<'_>, out: &mut Vec<u8>) {
    match dice.below(9) {
        0 | 1 => {
            let number = *dice.pick(&[
                0.0,
                -0.0,
                1.0,
                2.0,
                f64::NAN,
                -f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
                f64::MIN_POSITIVE / 2.0,
                9_007_199_254_740_993.0,
            ]);
            out.push(*dice.pick(&[2, 3]));
            out.extend_from_slice(&number.to_le_bytes());
        }
        2 | 3 => {
            out.push(1);
            string(dice, out);
        }
        4 => {
            out.push(6);
            let bytes = dice.bytes(20);
            var_int(bytes.len() as u64, out);
            out.extend_from_slice(&bytes);
        }
        5 => {
            let depth = match dice.once_in(8) {
                true => dice.below(DEPTH_MAX),
                false => dice.below(6),
            };
            for _ in 0..depth {
                out.extend_from_slice(&[4, 1]);
            }
            out.extend_from_slice(&[4, 0]);
        }
        6 => {
            out.push(4);
            let count = dice.below(4);
            match dice.once_in(4) {
                true => var_int(dice.number(), out),
                false => var_int(count as u64, out),
            }
            for _ in 0..count {
                out.push(3);
                out.extend_from_slice(&(dice.below(4) as f64).to_le_bytes());
            }
        }
        7 => out.push(*dice.pick(&[0, 5, 7, 99, 100, 0xff])),
        _ => out.extend(dice.bytes(10)),
    }
}

fn any(dice: &mut Dice<'_>) -> Vec<u8> {
    let mut key = Vec::new();
    ids([dice.number(), dice.number(), dice.number()], &mut key);
    match dice.below(3) {
        0 => metadata(dice, &mut key),
        1 => user_key(dice, &mut key),
        _ => key.extend(dice.bytes(10)),
    }
    key
}
