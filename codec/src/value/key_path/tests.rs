//! Single rules and limits; key paths on bytes and on trees are compared at large in
//! `tests/value_model/key_paths.rs`, and with Chromium's own entries in the backing store's tests.

use super::*;
use crate::external_object::BlobInfo;
use crate::ids::BlobNumber;
use crate::value::{DEPTH_MAX, Envelope};

const HEADER: &[u8] = b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0f";

fn path(text: &str) -> ParsedKeyPath {
    ParsedKeyPath::new(&KeyPath::String(text.into())).unwrap()
}

fn with_payload<R>(wire: &[u8], f: impl FnOnce(&Payload<'_>) -> R) -> R {
    let bytes = [HEADER, wire].concat();
    let mut buffer = Vec::new();
    match Envelope::peel(&bytes, &mut buffer).unwrap() {
        Envelope::Inline(payload) => f(&payload),
        Envelope::InBlob { .. } => panic!("in a blob"),
    }
}

/// What a path comes to in a value, and whether that took no tree.
fn evaluate(wire: &[u8], text: &str) -> (Evaluated, bool) {
    with_payload(wire, |payload| {
        let mut evaluator = Evaluator::new();
        let on_bytes = evaluator.on_bytes(&path(text), payload);
        let found = evaluator.evaluate(&path(text), payload, &[]).unwrap();
        if let Ok(on_bytes) = &on_bytes {
            assert_eq!(on_bytes, &found);
        }
        (found, on_bytes.is_ok())
    })
}

fn members(wire: &[u8]) -> Vec<Key> {
    with_payload(wire, |payload| {
        let mut evaluator = Evaluator::new();
        evaluator.index_keys(&path(""), true, payload, &[]).unwrap()
    })
}

fn key(key: impl Into<Key>) -> Evaluated {
    Evaluated::Key(key.into())
}

#[test]
fn what_is_common_takes_no_tree() {
    let value = b"o\"\x01mo\"\x01xI\x02{\x01\"\x01aA\x02I\x02I\x04$\0\x02\"\x01dD\0\0\0\0\0\0\0\0\
        \"\x02idI\x0e\"\x01no\"\x01s\"\x02hi\"\x01u_{\x02\"\x01bB\x02\x01\x02VB\x01\x01\0{\x06";
    for (text, found) in [
        ("id", key(7.0)),
        ("m.x", key(1.0)),
        ("n.s", key("hi")),
        ("n.s.length", key(2.0)),
        ("n.s.length.x", Evaluated::Missing),
        ("n.u", Evaluated::Missing),
        ("n.none", Evaluated::Missing),
        ("id.x", Evaluated::Missing),
        ("n", Evaluated::Invalid),
        ("", Evaluated::Invalid),
        ("d", Evaluated::Key(Key::Date(0.0))),
        ("b", Evaluated::Key(Key::Binary(vec![2]))),
        ("a.length", key(2.0)),
        (
            "a",
            Evaluated::Key(Key::array(vec![1.0.into(), 2.0.into()]).unwrap()),
        ),
    ] {
        assert_eq!(evaluate(value, text), (found, true), "{text}");
    }
}

#[test]
fn what_is_rare_is_found_by_way_of_the_tree_or_a_reference() {
    // A hole that a property fills, a sparse array, a regular expression.
    let filled = b"o\"\x01aA\x01-I\0T$\x01\x01{\x01";
    assert_eq!(evaluate(filled, "a"), (Evaluated::Invalid, false));
    let sparse = b"o\"\x01aa\x01I\0I\x02@\x01\x01{\x01";
    let one = Evaluated::Key(Key::array(vec![1.0.into()]).unwrap());
    assert_eq!(evaluate(sparse, "a"), (one, false));
    let regexp = b"o\"\x01rR\"\x01x\0{\x01";
    assert_eq!(evaluate(regexp, "r.lastIndex"), (key(0.0), false));
    // `b` is the object that `a` is.
    let again = b"o\"\x01ao\"\x01xI\x02{\x01\"\x01b^\x01{\x02";
    assert_eq!(evaluate(again, "b.x"), (key(1.0), true));
    // Of Chromium 92: views without flags for certain only on the tree.
    let old = b"\xff\x14\xff\x0do\"\x01aI\x02{\x01";
    let mut buffer = Vec::new();
    let Envelope::Inline(payload) = Envelope::peel(old, &mut buffer).unwrap() else {
        panic!()
    };
    let found = Evaluator::new().evaluate(&path("a"), &payload, &[]);
    assert_eq!(found, Ok(key(1.0)));
}

#[test]
fn arrays_of_paths_are_missing_if_one_is_and_invalid_if_one_is() {
    let value = b"o\"\x01aI\x02\"\x01bT{\x02";
    let found = |texts: &[&str]| {
        let texts = texts.iter().map(|&text| text.into()).collect();
        let path = ParsedKeyPath::new(&KeyPath::Array(texts)).unwrap();
        with_payload(value, |payload| {
            Evaluator::new().evaluate(&path, payload, &[]).unwrap()
        })
    };
    let array = |keys: Vec<Key>| Evaluated::Key(Key::array(keys).unwrap());
    assert_eq!(found(&["a", "a"]), array(vec![1.0.into(), 1.0.into()]));
    assert_eq!(found(&["a"]), array(vec![1.0.into()]));
    assert_eq!(found(&[]), array(vec![]));
    assert_eq!(found(&["a", "b"]), Evaluated::Invalid);
    assert_eq!(found(&["b", "c"]), Evaluated::Missing);
    assert_eq!(ParsedKeyPath::new(&KeyPath::Null), None);
}

#[test]
fn members_are_sorted_each_once_and_without_what_is_no_key() {
    let value = b"A\x06\"\x01bI\x02To{\0\"\x01bA\x01T$\0\x01$\0\x06";
    assert_eq!(members(value), [1.0.into(), Key::from("b")]);
    // With a hole, and twice the same array.
    let value = b"A\x03-A\x01I\x02$\0\x01^\x01$\0\x03";
    assert_eq!(members(value), [Key::array(vec![1.0.into()]).unwrap()]);
    assert_eq!(members(b"I\x02"), [Key::from(1.0)]);
    assert_eq!(members(b"T"), []);
}

#[test]
fn arrays_that_come_back_to_themselves_or_twice_are_no_keys() {
    for value in [
        &b"A\x01^\0$\0\x01"[..],
        b"A\x02A\0$\0\0^\x01$\0\x02",
        b"A\x01A\x01^\0$\0\x01$\0\x01",
    ] {
        assert_eq!(evaluate(value, ""), (Evaluated::Invalid, false));
    }
}

#[test]
fn arrays_too_long_or_too_deep_are_no_keys() {
    for (depth, is_key) in [(2000, true), (2001, false), (DEPTH_MAX, false)] {
        let inner = [b"A\x01".repeat(depth - 1), b"A\0$\0\0".to_vec()].concat();
        let value = [inner, b"$\0\x01".repeat(depth - 1)].concat();
        assert_eq!(evaluate(&value, "").0.key().is_some(), is_key, "{depth}");
    }
    for (count, is_key) in [(1_000_000_u32, true), (1_000_001, false)] {
        let [a, b, c, _] = count.to_le_bytes().map(u32::from);
        let length = a | b << 8 | c << 16;
        let varint = [length & 127 | 128, length >> 7 & 127 | 128, length >> 14];
        let varint = varint.map(|byte| u8::try_from(byte).unwrap());
        let elements = b"I\x02".repeat(count as usize);
        let value = [b"A", &varint[..], &elements, b"$\0", &varint[..]].concat();
        let (found, on_bytes) = evaluate(&value, "");
        assert_eq!((found.key().is_some(), on_bytes), (is_key, true), "{count}");
        assert_eq!(members(&value).len(), usize::from(is_key), "{count}");
    }
}

#[test]
fn references_to_one_buffer_do_not_multiply_without_end() {
    // A mebibyte that is meant 1,000 times.
    let buffer = [&b"B\x80\x80\x40"[..], &vec![7; 1 << 20]].concat();
    let references = b"^\x01".repeat(1000);
    let value = [&b"A\xe9\x07"[..], &buffer, &references, b"$\0\xe9\x07"].concat();
    assert_eq!(evaluate(&value, "").0, Evaluated::Invalid);
    assert_eq!(members(&value).len(), 1);
}

#[test]
fn blobs_and_files_have_keys_in_their_entries() {
    let blob = BlobInfo {
        number: BlobNumber::new(2).unwrap(),
        mime_type: "text/plain".into(),
        size_bytes: 9,
    };
    let objects = [
        ExternalObject::Blob(blob.clone()),
        ExternalObject::File {
            blob,
            name: "ä.txt".into(),
            last_modified_micros: 11_644_473_600_000_000 + 1_500_000,
        },
    ];
    let value = b"o\"\x01b\\i\0\"\x01f\\e\x01{\x02";
    for (text, found) in [
        ("b.size", key(9.0)),
        ("b.type", key("text/plain")),
        ("b.type.length", key(10.0)),
        ("b.name", Evaluated::Missing),
        ("f.size", key(9.0)),
        ("f.name", key("ä.txt")),
        ("f.lastModified", key(1500.0)),
        ("f.lastModifiedDate", Evaluated::Key(Key::Date(1500.0))),
        ("f.lastModified.x", Evaluated::Missing),
        ("f", Evaluated::Invalid),
    ] {
        let told = with_payload(value, |payload| {
            Evaluator::new().evaluate(&path(text), payload, &objects)
        });
        assert_eq!(told, Ok(found), "{text}");
    }
}

/// The bytes behind the headers once a 5 was put at a path; `None` if it cannot be.
fn inject(wire: &[u8], text: &str) -> Option<Vec<u8>> {
    with_payload(wire, |payload| {
        let mut out = b"odd".to_vec();
        let mut evaluator = Evaluator::new();
        let can = evaluator.can_inject(&path(text), payload);
        let done = evaluator.inject(&path(text), &Key::Number(5.0), payload, &mut out);
        assert_eq!(done, can);
        done.unwrap().then(|| out.split_off(3 + HEADER.len()))
    })
}

#[test]
fn a_key_comes_last_or_in_the_place_of_what_was_there() {
    // Expectations: stores `auto_kp` and `auto_nested` of the fixtures.
    assert_eq!(inject(b"o{\0", "id").unwrap(), b"o\"\x02idI\x0a{\x01");
    let value = b"o\"\x01tT{\x01";
    assert_eq!(inject(value, "id").unwrap(), b"o\"\x01tT\"\x02idI\x0a{\x02");
    let value = b"o\"\x02id_\"\x01tT{\x02";
    assert_eq!(inject(value, "id").unwrap(), b"o\"\x02idI\x0a\"\x01tT{\x02");
    let value = b"o\"\x01po\"\x01rT{\x01\"\x01vF{\x02";
    let expected = b"o\"\x01po\"\x01rT\"\x01qI\x0a{\x02\"\x01vF{\x02";
    assert_eq!(inject(value, "p.q").unwrap(), expected);
    let expected = b"o\"\x01po\"\x01qo\"\x01rI\x0a{\x01{\x01{\x01";
    assert_eq!(inject(b"o{\0", "p.q.r").unwrap(), expected);
    // An array can have a key beside its elements.
    assert_eq!(
        inject(b"A\0$\0\0", "id").unwrap(),
        b"A\0\"\x02idI\x0a$\x01\0"
    );
}

#[test]
fn references_behind_new_objects_are_counted_on() {
    // Objects 0, `p` 1, and behind it `x` 2 with 3 and references to 3, 2, 0 and 1.
    let value = b"o\"\x01po{\0\"\x01xA\x05o{\0^\x03^\x02^\0^\x01$\0\x05{\x02";
    // `p.q.r` makes one object, which is 2 now.
    let expected =
        b"o\"\x01po\"\x01qo\"\x01rI\x0a{\x01{\x01\"\x01xA\x05o{\0^\x04^\x03^\0^\x01$\0\x05{\x02";
    assert_eq!(inject(value, "p.q.r").unwrap(), expected);
}

#[test]
fn two_byte_strings_behind_the_key_are_aligned_anew() {
    // `{pp: {}, s: "あ"}`: the string's unit lies at an even place, 17 + 13.
    let value = b"o\"\x02ppo{\0\"\x01sc\x02\x42\x30{\x02";
    let at = value.iter().position(|&b| b == 0x42).unwrap();
    assert_eq!((HEADER.len() + at) % 2, 0);
    let expected = b"o\"\x02ppo\"\x02idI\x0a{\x01\"\x01sc\x02\x42\x30{\x02";
    assert_eq!(inject(value, "pp.id").unwrap(), expected);
    let expected = b"o\"\x02ppo\"\x01iI\x0a{\x01\"\x01s\0c\x02\x42\x30{\x02";
    assert_eq!(inject(value, "pp.i").unwrap(), expected);
    // And back: the padding goes.
    let padded = b"o\"\x01po{\0\"\x01s\0c\x02\x42\x30{\x02";
    let expected = b"o\"\x01po\"\x01iI\x0a{\x01\"\x01sc\x02\x42\x30{\x02";
    assert_eq!(inject(padded, "p.i").unwrap(), expected);
}

#[test]
fn the_trailer_moves_and_says_so() {
    let bytes =
        b"\xff\x15\xfe\0\0\0\0\0\0\0\x1a\0\0\0\x06\xff\x10o\"\x01b\\i\0{\x01\xa0\0\0\0\x01i";
    let mut buffer = Vec::new();
    let Envelope::Inline(payload) = Envelope::peel(bytes, &mut buffer).unwrap() else {
        panic!()
    };
    let mut out = Vec::new();
    let done = Evaluator::new().inject(&path("id"), &5.0.into(), &payload, &mut out);
    assert_eq!(done, Ok(true));
    let expected = b"\xff\x15\xfe\0\0\0\0\0\0\0\x20\0\0\0\x06\xff\x10o\"\x01b\\i\0\"\x02idI\x0a{\x02\xa0\0\0\0\x01i";
    assert_eq!(out, expected);
    // A trailer of no bytes has a place as well.
    let bytes = b"\xff\x15\xfe\0\0\0\0\0\0\0\x14\0\0\0\0\xff\x10o{\0";
    let mut buffer = Vec::new();
    let Envelope::Inline(payload) = Envelope::peel(bytes, &mut buffer).unwrap() else {
        panic!()
    };
    let mut out = Vec::new();
    let done = Evaluator::new().inject(&path("i"), &5.0.into(), &payload, &mut out);
    assert_eq!(done, Ok(true));
    assert_eq!(
        out,
        b"\xff\x15\xfe\0\0\0\0\0\0\0\x19\0\0\0\0\xff\x10o\"\x01iI\x0a{\x01"
    );
}

#[test]
fn a_key_cannot_be_put_into_what_has_no_properties_of_its_own() {
    for (value, text) in [
        (&b"T"[..], "id"),
        (b"o{\0", ""),
        (b"o\"\x01pT{\x01", "p.q"),
        (b"o\"\x01p_{\x01", "p.q"),
        (b"o\"\x01pD\0\0\0\0\0\0\0\0{\x01", "p.q"),
        (b"A\0$\0\0", "length"),
        (b"A\0$\0\0", "0"),
        (b"\"\x01a", "length"),
        (b";:\0", "id"),
    ] {
        assert_eq!(inject(value, text), None, "{value:?} {text}");
    }
}

#[test]
fn a_key_is_lost_in_an_object_whose_properties_are_not_serialised_and_nowhere_else() {
    // Expectation: Chromium 156 takes `put(new Date(0))` and `put(new Map())` where the key path is `id` and keys are generated.
    for (value, text, is_lost) in [
        (&b"D\0\0\0\0\0\0\0\0"[..], "id", true),
        (b";:\0", "id", true),
        (b"B\x01\x07", "id.more", true),
        (b"o\"\x01pD\0\0\0\0\0\0\0\0{\x01", "p.q", true),
        (b"o\"\x01pD\0\0\0\0\0\0\0\0{\x01", "p", false),
        (b"o\"\x01pT{\x01", "p.q", false),
        (b"o{\0", "id", false),
        (b"o{\0", "", false),
        (b"A\0$\0\0", "length", false),
        (b"T", "id", false),
    ] {
        let told = with_payload(value, |payload| {
            Evaluator::new().loses_key(&path(text), payload)
        });
        assert_eq!(told, Ok(is_lost), "{value:?} {text}");
    }
}

quickcheck::quickcheck! {
    /// Numbers alone take another way than keys of all kinds; of 0 and -0 the first stays.
    fn numbers_are_sorted_as_keys_of_all_kinds_are(halves: Vec<i8>, negative_zeros: Vec<u8>, others: bool) -> bool {
        let mut keys: Vec<Key> = halves.iter().map(|half| Key::Number(f64::from(*half) / 2.0)).collect();
        for at in negative_zeros {
            keys.insert(usize::from(at) % (keys.len() + 1), Key::Number(-0.0));
        }
        if others {
            keys.push(Key::Date(0.0));
        }
        let mut naive = keys.clone();
        naive.sort();
        naive.dedup();
        let bytes = |keys: &[Key]| keys.iter().map(|key| {
            let mut bytes = Vec::new();
            key.encode(&mut bytes);
            bytes
        }).collect::<Vec<_>>();
        bytes(&sorted(keys)) == bytes(&naive)
    }
}

#[test]
fn the_keys_of_a_list_of_paths_are_bounded_as_one_key() {
    for (arrays, is_key) in [(1999, true), (2000, false)] {
        let key = [b"A\x01".repeat(arrays - 1), b"A\0$\0\0".to_vec()].concat();
        let key = [key, b"$\0\x01".repeat(arrays - 1)].concat();
        let value = [&b"o\"\x01a"[..], &key, b"\"\x01bI\x02{\x02"].concat();
        let paths = KeyPath::Array(vec!["a".into(), "b".into()]);
        let path = ParsedKeyPath::new(&paths).unwrap();
        let bytes = [&b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0f"[..], &value].concat();
        let payload = Payload::read(&bytes).unwrap();
        let found = Evaluator::new().evaluate(&path, &payload, &[]).unwrap();
        assert_eq!(found.key().is_some(), is_key, "{arrays}");
        let tree = crate::value::Decoder::new().decode(&payload).unwrap();
        assert_eq!(tree.evaluate(&path, &[]).key().is_some(), is_key);
    }
}

#[test]
fn no_key_goes_where_the_value_would_be_too_deep() {
    let bytes = b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0fo{\0";
    let payload = Payload::read(bytes).unwrap();
    for (steps, can) in [(DEPTH_MAX, true), (DEPTH_MAX + 1, false)] {
        let path = vec!["a"; steps].join(".");
        let path = ParsedKeyPath::new(&KeyPath::String(path.as_str().into())).unwrap();
        let mut evaluator = Evaluator::new();
        assert_eq!(evaluator.can_inject(&path, &payload), Ok(can));
        let tree = crate::value::Decoder::new().decode(&payload).unwrap();
        assert_eq!(tree.can_inject(&path), can);
        let mut injected = Vec::new();
        assert_eq!(
            evaluator.inject(&path, &1.0.into(), &payload, &mut injected),
            Ok(true)
        );
        let injected = Payload::read(&injected).unwrap();
        assert_eq!(crate::value::Decoder::new().decode(&injected).is_ok(), can);
    }
}
