//! Random keys, ranges, values, key paths: few different ones, so that they meet.

use crate::naive::{Direction, Key, KeyPath, Range, Value, compare, units};
use larder_fixtures::random::Random;

const EDGES: [f64; 6] = [
    -0.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    9_007_199_254_740_991.0,
    9_007_199_254_740_992.0,
    1e300,
];

pub(super) fn key(random: &mut Random) -> Key {
    match random.index(16) {
        0..9 => Key::Number(random.index(8) as f64),
        9 => Key::Number(*random.of(&[0.5, -3.0, 2.5])),
        10 => Key::Date(random.index(3) as f64 * 1000.0),
        11 | 12 => string_key(random),
        13 => Key::Binary(vec![7; random.index(3)]),
        14 => Key::Array((0..random.index(3)).map(|_| key(random)).collect()),
        _ if random.one_in(8) => Key::Number(*random.of(&EDGES)),
        _ => Key::Number(random.index(40) as f64),
    }
}

fn string_key(random: &mut Random) -> Key {
    let mut all: Vec<Vec<u16>> = ["", "a", "b", "ab", "\u{e9}", "\u{10348}"]
        .map(units)
        .into();
    all.push(vec![0xd800, 0x61]);
    Key::String(random.of(&all).clone())
}

pub(super) fn range(random: &mut Random) -> Range {
    let mut bound = || (key(random), random.one_in(3));
    let (mut lower, mut upper) = (bound(), bound());
    if compare(&lower.0, &upper.0).is_gt() {
        std::mem::swap(&mut lower, &mut upper);
    }
    match random.index(8) {
        0 | 1 => Range::default(),
        2..5 => Range::only(lower.0),
        5 => Range {
            lower: Some(lower),
            upper: None,
        },
        6 => Range {
            lower: None,
            upper: Some(upper),
        },
        _ if lower.0 == upper.0 => Range::only(lower.0),
        _ => Range {
            lower: Some(lower),
            upper: Some(upper),
        },
    }
}

pub(super) fn direction(random: &mut Random) -> Direction {
    *random.of(&[
        Direction::Next,
        Direction::Next,
        Direction::NextUnique,
        Direction::Prev,
        Direction::PrevUnique,
    ])
}

/// Something that may or may not be a key.
fn leaf(random: &mut Random) -> Value {
    match random.index(12) {
        0..4 => Value::Number(random.index(6) as f64),
        4 | 5 => crate::naive::to_value(&key(random)),
        6 => Value::Null,
        7 => random.of(&[Value::Undefined, Value::Bool(true)]).clone(),
        8 => Value::Number(f64::NAN),
        9 => Value::String(units("ab")),
        10 => Value::Array((0..random.index(4)).map(|_| element(random)).collect()),
        _ => Value::Object(vec![(units("q"), Value::Number(random.index(4) as f64))]),
    }
}

fn element(random: &mut Random) -> Option<Value> {
    match random.index(10) {
        0 => None,
        1 => Some(Value::Bool(true)),
        _ => Some(Value::Number(random.index(5) as f64)),
    }
}

pub(super) fn value(random: &mut Random) -> Value {
    match random.one_in(12) {
        true => leaf(random),
        false => object(random),
    }
}

pub(super) fn object(random: &mut Random) -> Value {
    let mut properties = Vec::new();
    if !random.one_in(5) {
        let id = match random.one_in(10) {
            true => leaf(random),
            false => crate::naive::to_value(&key(random)),
        };
        properties.push((units("id"), id));
    }
    for name in ["a", "b", "tags", "p"] {
        if !random.one_in(3) {
            properties.push((units(name), leaf(random)));
        }
    }
    if random.one_in(40) {
        // Compressed, and where that does not help, moved to a blob.
        let len = 100 + random.index(3) * 40_000;
        let is_noise = random.one_in(2);
        let bytes = (0..len).map(|at| {
            if is_noise {
                random.next() as u8
            } else {
                at as u8
            }
        });
        properties.push((units("big"), Value::Binary(bytes.collect())));
    }
    Value::Object(properties)
}

/// Mostly valid ones.
pub(super) fn key_path(random: &mut Random) -> KeyPath {
    let one = |random: &mut Random| {
        let names = ["id", "a", "b", "tags", "p.q", "a.length", "", "length"];
        let wrong = ["1a", "a..b", "a b", ".", "a."];
        let all: &[&str] = if random.one_in(25) { &wrong } else { &names };
        let path: &&str = random.of(all);
        units(path)
    };
    if random.one_in(5) {
        let count = random.index(3).max(random.index(2));
        return KeyPath::Several((0..count).map(|_| one(random)).collect());
    }
    KeyPath::One(one(random))
}

/// The key path of an object store, or none.
pub(super) fn store_key_path(random: &mut Random) -> Option<KeyPath> {
    match random.index(10) {
        0..4 => None,
        4..8 => Some(KeyPath::One(units("id"))),
        8 => {
            let path: &&str = random.of(&["p.q", "p.r.s", "a"]);
            Some(KeyPath::One(units(path)))
        }
        _ => Some(key_path(random)),
    }
}
