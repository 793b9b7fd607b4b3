//! Every value as serialising writes it.

use std::sync::Arc;

use larder_backing_store::{CursorDirection, OpenOptions, Store, StorePaths};
use larder_codec::value::{Decoder, Payload};
use larder_fixtures::random::Random;
use larder_leveldb::storage::DiskFileSystem;

use super::*;
use crate::record::ValueReader;

/// Whether a value was written here; that it is what serialising gives is asserted.
fn compared(tree: &Tree<'_>) -> bool {
    let mut found = b"before".to_vec();
    push_value(&mut found, tree).unwrap();
    let mut expected = b"before".to_vec();
    serde_json::to_writer(&mut expected, tree).unwrap();
    let [found, expected] = [found, expected].map(|line| String::from_utf8(line).unwrap());
    assert_eq!(found, expected);
    let mut line = Vec::new();
    let mut writer = Writer {
        tree,
        line: &mut line,
    };
    tree.is_in_place() && writer.value(tree.root(), 0).is_some()
}

fn compared_bytes(content: &[u8]) -> bool {
    let mut bytes = b"\xff\x0f".to_vec();
    bytes.extend_from_slice(content);
    let payload = Payload::read(&bytes).unwrap();
    let tree = Decoder::new().decode(&payload);
    compared(&tree.unwrap_or_else(|error| panic!("{bytes:02x?}: {error}")))
}

#[test]
fn every_value_of_the_golden_stores_is_written_as_serialising_writes_it() {
    let (mut here, mut left) = (0, 0);
    for fixture in larder_fixtures::all() {
        let copy = fixture.copy();
        let disk = Arc::new(DiskFileSystem::new());
        let paths = StorePaths::of_leveldb(&copy.leveldb());
        let store = Store::open_read_only(disk, paths, OpenOptions::default()).unwrap();
        for database in store.databases(&mut Vec::new()).unwrap() {
            for object_store in &database.object_stores {
                let mut reader = ValueReader::new(&store, database.id, object_store);
                let mut records =
                    store.records(database.id, object_store.id, CursorDirection::Next);
                while records.next().unwrap() {
                    let (key, bytes) = (records.primary_key().unwrap(), records.value().unwrap());
                    match reader.read(key, bytes, |tree, _| compared(tree)) {
                        Ok(true) => here += 1,
                        Ok(false) => left += 1,
                        Err(error) => panic!("{}: {error}", fixture.name),
                    }
                }
            }
        }
    }
    // Neither way is without an example.
    assert!(here > 10_000 && left > 100, "{here} and {left}");
}

fn push_string(random: &mut Random, out: &mut Vec<u8>) {
    const UNITS: [u16; 14] = [
        0x61, 0x62, 0x20, 0x22, 0x5c, 0x0a, 0x01, 0x24, 0x7f, 0xe9, 0x100, 0xd83e, 0xdd80, 0xffff,
    ];
    let len = match random.one_in(4) {
        true => random.index(70),
        false => random.index(6),
    };
    // Most often one that has nothing special, and one that is well formed.
    let among = random.pick(&[2, 3, 9, 11, UNITS.len()]);
    let units: Vec<u16> = (0..len).map(|_| UNITS[random.index(among)]).collect();
    let (tag, bytes): (u8, Vec<u8>) = match random.below(3) {
        0 if among <= 10 => {
            let bytes = units.iter().map(|unit| unit.to_le_bytes()[0]);
            (b'"', bytes.collect())
        }
        1 => (b'S', String::from_utf16_lossy(&units).into_bytes()),
        _ => {
            // V8 aligns it; a reader does not mind.
            (
                b'c',
                units.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
            )
        }
    };
    out.push(tag);
    push_varint(bytes.len(), out);
    out.extend_from_slice(&bytes);
}

fn push_varint(mut number: usize, out: &mut Vec<u8>) {
    while number > 0x7f {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

fn push_random(random: &mut Random, depth: usize, out: &mut Vec<u8>) {
    match random.below(if depth < 4 { 12 } else { 9 }) {
        0 => out.push(random.pick(b"_0TF")),
        1 => {
            out.push(b'I');
            push_varint(random.index(1 << 31), out);
        }
        2 | 3 => {
            let some = [
                0.5,
                -0.0,
                1e21,
                -1e-7,
                f64::NAN,
                f64::INFINITY,
                9_007_199_254_740_992.0,
                -9_007_199_254_740_991.0,
            ];
            let number = match random.one_in(2) {
                true => random.pick(&some),
                false => f64::from_bits(random.below(u64::MAX)),
            };
            out.push(b'N');
            out.extend_from_slice(&number.to_le_bytes());
        }
        4 => {
            let some = [
                0.0,
                -1.0,
                1.7e12,
                8.64e15,
                -8.64e15,
                -62_198_755_200_000.0,
                f64::NAN,
            ];
            out.push(b'D');
            out.extend_from_slice(&random.pick(&some).to_le_bytes());
        }
        5..=8 => push_string(random, out),
        9 => {
            let len = random.index(4);
            out.push(b'A');
            push_varint(len, out);
            for _ in 0..len {
                match random.one_in(20) {
                    true => out.push(b'-'),
                    false => push_random(random, depth + 1, out),
                }
            }
            out.extend_from_slice(b"$\0");
            push_varint(len, out);
        }
        _ => {
            let len = random.index(4);
            out.push(b'o');
            for name in 0..len {
                // No name twice, and some that begin with a dollar sign.
                let name = match random.below(12) {
                    0 => format!("${name}"),
                    1 => format!("{name}"),
                    2 => format!("\"{name}\n"),
                    _ => format!("name{name}"),
                };
                out.push(b'"');
                push_varint(name.len(), out);
                out.extend_from_slice(name.as_bytes());
                push_random(random, depth + 1, out);
            }
            out.push(b'{');
            push_varint(len, out);
        }
    }
}

#[test]
fn random_values_are_written_as_serialising_writes_them() {
    let (mut here, mut left) = (0, 0);
    for seed in 0..20_000 {
        let mut bytes = Vec::new();
        push_random(&mut Random::new(seed), 0, &mut bytes);
        match compared_bytes(&bytes) {
            true => here += 1,
            false => left += 1,
        }
    }
    assert!(here > 10_000 && left > 1000, "{here} and {left}");
}

#[test]
fn what_is_shared_deep_or_of_another_kind_is_left_to_serialising() {
    let nested = |depth: usize| {
        let mut bytes = b"A\x01".repeat(depth);
        bytes.push(b'T');
        bytes.extend(b"$\0\x01".repeat(depth));
        bytes
    };
    for (content, is_here) in [
        (&b"o\"\x01aT{\x01"[..], true),
        (b"A\x00$\0\x00", true),
        (b"o{\x00", true),
        // {a: {}, b: the same}, and an object within itself
        (b"o\"\x01ao{\0\"\x01b^\x01{\x02", false),
        (b"o\"\x01a^\x00{\x01", false),
        (b"Z\x02\x01", false),
        (b";:\x00", false),
        (b"',\x00", false),
    ] {
        assert_eq!(compared_bytes(content), is_here, "{content:02x?}");
    }
    assert!(compared_bytes(&nested(DEPTH_INLINE_MAX)));
    assert!(!compared_bytes(&nested(DEPTH_INLINE_MAX + 1)));
}
