//! Odd values of rows: for each kind of row what its decoder may take, at its edges.

use larder_codec::KeyPrefix;

use super::dice::{Dice, var_int};
use super::keys;

/// Another value for a row of this key.
pub(super) fn change(dice: &mut Dice<'_>, key: &[u8], value: &[u8]) -> Vec<u8> {
    if dice.once_in(4) {
        let mut changed = value.to_vec();
        dice.scratch(&mut changed);
        return changed;
    }
    match KeyPrefix::decode(key) {
        Ok((prefix, rest)) if prefix.object_store == 0 => match (prefix.database, rest.first()) {
            (0, Some(50)) => undo_log(dice, rest),
            (0, Some(3 | 4)) => journal(dice),
            _ => metadata(dice),
        },
        Ok((prefix, _)) => match prefix.index {
            1 => record(dice, value),
            2 => int(dice),
            3 => external_objects(dice),
            _ => {
                let mut out = Vec::new();
                var_int(version(dice), &mut out);
                keys::user_key(dice, &mut out);
                out
            }
        },
        Err(_) => dice.bytes(20),
    }
}

/// Mostly one that a record may have.
fn version(dice: &mut Dice<'_>) -> u64 {
    match dice.once_in(3) {
        true => dice.number(),
        false => dice.below(6) as u64,
    }
}

/// A number in as few bytes as it takes; rarely in more than eight.
fn int(dice: &mut Dice<'_>) -> Vec<u8> {
    let bytes = dice.number().to_le_bytes();
    let len = 1 + dice.below(9);
    bytes.iter().chain(&[0]).take(len).copied().collect()
}

fn metadata(dice: &mut Dice<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    match dice.below(6) {
        0 => out = int(dice),
        1 => var_int(dice.number(), &mut out),
        2 => out.push(dice.below(4) as u8),
        3 => out = dice.bytes(31),
        4 => {
            // A key path.
            out.extend_from_slice(&[0, 0, dice.below(4) as u8]);
            match dice.once_in(3) {
                true => var_int(dice.number(), &mut out),
                false => var_int(dice.below(5) as u64, &mut out),
            }
            for _ in 0..dice.below(5) {
                keys::string(dice, &mut out);
            }
        }
        _ => {}
    }
    out
}

fn journal(dice: &mut Dice<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let count = match dice.once_in(10) {
        true => 20_000,
        false => dice.below(20),
    };
    for _ in 0..count {
        var_int(dice.number(), &mut out);
        var_int(dice.number(), &mut out);
    }
    out
}

fn external_objects(dice: &mut Dice<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let count = match dice.once_in(10) {
        true => 5_000,
        false => dice.below(4),
    };
    for _ in 0..count {
        let kind = dice.below(4) as u8;
        out.push(kind);
        if kind == 2 {
            let token = dice.bytes(9);
            var_int(token.len() as u64, &mut out);
            out.extend_from_slice(&token);
            continue;
        }
        var_int(dice.number(), &mut out);
        keys::string(dice, &mut out);
        var_int(dice.number(), &mut out);
        if kind == 1 {
            keys::string(dice, &mut out);
            var_int(dice.number(), &mut out);
        }
    }
    out
}

/// A message's field of bytes.
fn field(number: u8, content: &[u8], out: &mut Vec<u8>) {
    out.push(number << 3 | 2);
    var_int(content.len() as u64, out);
    out.extend_from_slice(content);
}

/// Two keys, or a key and a value.
fn pair(dice: &mut Dice<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    for number in [1, 2] {
        let mut key = Vec::new();
        // Of everything, of one database, or of nothing that there is.
        const FRONTS: [[u8; 4]; 5] = [
            [0, 0, 0, 0],
            [0, 1, 0, 0],
            [0, 1, 1, 1],
            [0, 200, 0, 0],
            [0xff; 4],
        ];
        let front: &[u8; 4] = dice.pick(&FRONTS);
        key.extend_from_slice(front);
        keys::user_key(dice, &mut key);
        field(number, &key, &mut out);
    }
    out
}

fn undo_log(dice: &mut Dice<'_>, rest: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match rest.get(1) {
        Some(0) => {
            out.push(8);
            var_int(dice.number(), &mut out);
        }
        Some(1) => {
            for _ in 0..dice.below(4) {
                let mut lock = vec![8, dice.below(3) as u8];
                let pair = pair(dice);
                field(2, &pair, &mut lock);
                field(1, &lock, &mut out);
            }
        }
        _ => {
            let pair = pair(dice);
            field(1 + dice.below(4) as u8, &pair, &mut out);
        }
    }
    out
}

/// A record's version and value, in Blink's envelope or not, of V8's or of no format.
fn record(dice: &mut Dice<'_>, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    var_int(version(dice), &mut out);
    match dice.below(6) {
        0 => out.extend_from_slice(value),
        // Snappy over V8, which says how long it is; or in a blob.
        1 => {
            out.extend_from_slice(&[0xff, 0x11, 2 - dice.below(2) as u8]);
            var_int(dice.number(), &mut out);
            out.extend(dice.bytes(30));
        }
        _ => {
            out.extend_from_slice(&[0xff, 21, 0xff, 15]);
            v8(dice, &mut out);
        }
    }
    out
}

fn v8(dice: &mut Dice<'_>, out: &mut Vec<u8>) {
    let depth = match dice.once_in(10) {
        true => dice.below(60_000),
        false => dice.below(12),
    };
    for _ in 0..depth {
        match dice.below(5) {
            // An object and a name of its property; a dense array; a map; a set.
            0 => out.extend_from_slice(b"o\"\x01a"),
            1 => out.extend_from_slice(b"A\x01"),
            2 => out.extend_from_slice(b";I\x02"),
            3 => out.extend_from_slice(b"'"),
            _ => out.extend_from_slice(b"a\x01I\0"),
        }
    }
    let tag = *dice.pick(b"oAa;'\"c\"SNDdZz\\V^BTF0_IUnyrlB~?");
    out.push(tag);
    var_int(dice.number(), out);
    if dice.once_in(2) {
        var_int(dice.number(), out);
    }
    out.extend(dice.bytes(30));
}
