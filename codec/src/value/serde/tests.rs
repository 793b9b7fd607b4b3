//! Round trips, and the forms that JavaScript sees.

use std::collections::{BTreeMap, HashMap};

use quickcheck::{Arbitrary, Gen};
use serde::{Deserialize, Serialize};

use super::*;
use crate::testing::{below, one_of, properties};
use crate::value::Envelope;

mod direct;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Kind {
    Unit,
    Newtype(Box<Record>),
    Tuple(i64, Option<String>),
    Struct { x: f32, y: Vec<Kind> },
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
enum Name {
    First,
    Second,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Marker;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Wrapper(u64);

/// Everything serde has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Record {
    yes: bool,
    small: (i8, u8, i16, u16, i32, u32),
    large: (i64, u64, i128, u128),
    float: f64,
    letter: char,
    text: String,
    unit: (),
    marker: Marker,
    wrapper: Wrapper,
    maybe: Option<i64>,
    list: Vec<f64>,
    by_number: BTreeMap<i64, String>,
    by_name: BTreeMap<Name, bool>,
    by_text: BTreeMap<String, Option<Wrapper>>,
    by_flag: BTreeMap<bool, char>,
    #[serde(with = "bytes")]
    bytes: Vec<u8>,
    kinds: Vec<Kind>,
}

/// Bytes as serde's bytes: without this a vector of them is a sequence.
mod bytes {
    use serde::de::{Deserializer, Visitor};

    pub(super) fn serialize<S: serde::Serializer>(bytes: &[u8], s: S) -> Result<S::Ok, S::Error> {
        s.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
        }
        d.deserialize_bytes(Bytes)
    }
}

fn float(g: &mut Gen) -> f64 {
    match below(g, 5) {
        0 => one_of(g, &[-0.0, f64::INFINITY, 9_007_199_254_740_992.0, 1e300]),
        1 => below(g, 100) as f64,
        2 => -(below(g, 1 << 60) as f64),
        _ => Some(f64::from_bits(u64::arbitrary(g)))
            .filter(|number| !number.is_nan())
            .unwrap_or(0.5),
    }
}

fn kind(g: &mut Gen, levels: u64) -> Kind {
    match below(g, if levels > 0 { 4 } else { 2 }) {
        0 => Kind::Unit,
        1 => Kind::Tuple(i64::arbitrary(g), Option::arbitrary(g)),
        2 => Kind::Newtype(Box::new(record(g, levels - 1))),
        _ => Kind::Struct {
            x: f32::from(i16::arbitrary(g)) / 4.0,
            y: (0..below(g, 3)).map(|_| kind(g, levels - 1)).collect(),
        },
    }
}

fn record(g: &mut Gen, levels: u64) -> Record {
    Record {
        yes: bool::arbitrary(g),
        small: (
            i8::arbitrary(g),
            u8::arbitrary(g),
            i16::arbitrary(g),
            u16::arbitrary(g),
            i32::arbitrary(g),
            u32::arbitrary(g),
        ),
        large: (
            i64::arbitrary(g) >> below(g, 64),
            u64::arbitrary(g) >> below(g, 64),
            i128::arbitrary(g) >> below(g, 128),
            u128::arbitrary(g) >> below(g, 128),
        ),
        float: float(g),
        letter: char::arbitrary(g),
        text: String::arbitrary(g),
        unit: (),
        marker: Marker,
        wrapper: Wrapper(u64::arbitrary(g)),
        maybe: Option::arbitrary(g),
        list: (0..below(g, 4)).map(|_| float(g)).collect(),
        by_number: Arbitrary::arbitrary(g),
        by_name: [(Name::First, true), (Name::Second, false)]
            .into_iter()
            .take(below(g, 3) as usize)
            .collect(),
        by_text: (0..below(g, 4))
            .map(|_| {
                (
                    String::arbitrary(g),
                    bool::arbitrary(g).then_some(Wrapper(7)),
                )
            })
            .collect(),
        by_flag: Arbitrary::arbitrary(g),
        bytes: Vec::arbitrary(g),
        kinds: (0..below(g, 3)).map(|_| kind(g, levels.min(2))).collect(),
    }
}

impl Arbitrary for Record {
    fn arbitrary(g: &mut Gen) -> Self {
        record(g, 2)
    }
}

fn bytes_of<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    to_bytes(value, &mut out).unwrap();
    out
}

fn read<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<T, SerdeError> {
    let mut buffer = Vec::new();
    match Envelope::peel(bytes, &mut buffer)? {
        Envelope::Inline(payload) => from_payload(&payload),
        Envelope::InBlob { .. } => panic!("in a blob"),
    }
}

properties! {
    fn every_record_comes_back_from_its_bytes(record: Record) -> bool {
        read(&bytes_of(&record)) == Ok(record)
    }

    fn json_values_come_back_and_are_the_json_of_their_tree(text: Vec<(String, Option<i32>)>) -> bool {
        let json = serde_json::json!({ "list": text, "more": { "7": true, "b": [0.5, 1, null] } });
        let bytes = bytes_of(&json);
        let mut buffer = Vec::new();
        let Ok(Envelope::Inline(payload)) = Envelope::peel(&bytes, &mut buffer) else { return false };
        let tree = Decoder::new().decode(&payload).unwrap();
        // The JSON of a tree marks only what JSON cannot say.
        serde_json::to_value(&tree).unwrap() == json && read::<serde_json::Value>(&bytes) == Ok(json)
    }
}

/// The bytes behind the headers.
fn wire<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    bytes_of(value).split_off(17)
}

fn read_wire<T: for<'de> Deserialize<'de>>(wire: &[u8]) -> Result<T, SerdeError> {
    read(&[b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0f", wire].concat())
}

#[test]
fn values_have_the_form_that_the_table_says() {
    let two_53 = 1_u64 << 53;
    assert_eq!(wire(&7_u8), b"I\x0e");
    assert_eq!(
        wire(&two_53),
        [&b"N"[..], &(two_53 as f64).to_le_bytes()].concat()
    );
    assert_eq!(wire(&(two_53 + 1)), b"Z\x10\x01\0\0\0\0\0\x20\0");
    assert_eq!(wire(&i128::MIN)[..2], *b"Z\x21");
    assert_eq!(wire(&i64::MIN), b"Z\x11\0\0\0\0\0\0\0\x80");
    assert_eq!(wire("é"), b"\"\x01\xe9");
    assert_eq!(wire(&Some(())), b"0");
    assert_eq!(wire(&Kind::Unit), b"\"\x04Unit");
    assert_eq!(
        wire(&Kind::Tuple(1, None)),
        b"o\"\x05TupleA\x02I\x020$\0\x02{\x01"
    );
    // Names that look like indices are numbers and come first, as in JavaScript.
    let map = BTreeMap::from([("b", true), ("7", false)]);
    assert_eq!(wire(&map), b"oI\x0eF\"\x01bT{\x02");
    assert_eq!(wire(&[1.0, 2.0]), b"A\x02I\x02I\x04$\0\x02");
    assert_eq!(wire(&[1.0, 0.5])[2], b'N');
    struct Raw;
    impl Serialize for Raw {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&[1, 2])
        }
    }
    assert_eq!(
        wire(&[Raw, Raw]),
        b"A\x02B\x02\x01\x02VB\0\x02\0B\x02\x01\x02VB\0\x02\0$\0\x02"
    );
}

#[test]
fn what_javascript_has_more_of_is_read_as_the_nearest() {
    assert_eq!(read_wire(b"_"), Ok(None::<u8>));
    assert_eq!(
        read_wire(b"a\x03I\x02T@\x01\x03"),
        Ok(vec![None, Some(true), None])
    );
    assert_eq!(read_wire(b"'I\x02I\x04,\x02"), Ok(vec![1, 2]));
    assert_eq!(
        read_wire(b";I\x02\"\x01a:\x02"),
        Ok(HashMap::from([(1, "a".to_owned())]))
    );
    assert_eq!(read_wire(b"D\0\0\0\0\0\0\x14@"), Ok(5));
    assert_eq!(read_wire(b"y"), Ok(true));
    assert_eq!(read_wire(b"s\"\x02hi"), Ok("hi".to_owned()));
    assert_eq!(read_wire(b"z\x02\x07"), Ok(7));
    assert_eq!(read_wire(b"B\x03\x01\x02\x03VB\x01\x02\0"), Ok(vec![2, 3]));
    assert_eq!(read_wire(b"I\x0e"), Ok(7.0));
    let nan: f64 = read_wire(b"N\0\0\0\0\0\0\xf8\x7f").unwrap();
    assert!(nan.is_nan());
    // The same object in two places is read twice.
    let both = read_wire::<Vec<BTreeMap<String, u8>>>(b"A\x02o\"\x01aI\x02{\x01^\x01$\0\x02");
    let one = BTreeMap::from([("a".to_owned(), 1)]);
    assert_eq!(both, Ok(vec![one.clone(), one]));
}

#[test]
fn text_and_bytes_are_borrowed() {
    let bytes = bytes_of("plain");
    let mut buffer = Vec::new();
    let Ok(Envelope::Inline(payload)) = Envelope::peel(&bytes, &mut buffer) else {
        panic!()
    };
    assert_eq!(from_payload::<&str>(&payload), Ok("plain"));
}

#[test]
fn what_has_no_form_is_refused() {
    let mut out = b"kept".to_vec();
    let keys = BTreeMap::from([(vec![1], 1)]);
    assert!(to_bytes(&keys, &mut out).is_err());
    struct Twice;
    impl Serialize for Twice {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map([("a", 1), ("b", 2), ("a", 3)])
        }
    }
    assert!(to_bytes(&Twice, &mut out).is_err());
    assert_eq!(out, b"kept");
    for wire in [
        &b"R\"\x01a\0"[..],
        b"r.",
        b"\\i\0",
        b"c\x02\0\xd8",
        b"A\x01^\0$\0\x01",
        b"Z\x22\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01",
        b"a\xff\xff\xff\x0f@\0\xff\xff\xff\x0f",
    ] {
        let read = read_wire::<serde_json::Value>(wire);
        assert!(read.is_err(), "{wire:?} {read:?}");
    }
    // 70,000 holes; a kibibyte meant 100,000 times.
    let holes = read_wire::<Vec<Option<u8>>>(b"a\xf0\xa2\x04@\0\xf0\xa2\x04");
    assert!(holes.is_err());
    let references = b"^\x01".repeat(100_000);
    let buffer = [&b"B\x80\x08"[..], &[7; 1024]].concat();
    let again = [
        b"A\xa1\x8d\x06",
        &buffer[..],
        &references,
        b"$\0\xa1\x8d\x06",
    ]
    .concat();
    assert!(read_wire::<Vec<Vec<u8>>>(&again).is_err());
    let damaged = read_wire::<u8>(b"I").unwrap_err();
    assert!(std::error::Error::source(&damaged).is_some());
}

#[test]
fn objects_shared_again_and_again_end() {
    // Forty arrays, each with the next one twice: 2^40 places.
    let mut wire = Vec::new();
    for _ in 0..40 {
        wire.extend(b"A\x02");
    }
    wire.extend(b"A\0$\0\0");
    for inner in (1..=40_u8).rev() {
        wire.extend([b'^', inner]);
        wire.extend(b"$\0\x02");
    }
    #[derive(Debug, Deserialize)]
    struct Nested(#[expect(dead_code, reason = "only its depth matters")] Vec<Nested>);
    assert!(read_wire::<Nested>(&wire).is_err());
}

/// Containers inside one another, in each of the forms that serde has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Deep {
    End,
    Newtype(Box<Deep>),
    Tuple(Option<Box<Deep>>, u8),
    Struct { inner: Box<Deep> },
}

#[test]
fn what_is_written_is_no_deeper_than_what_is_read() {
    fn check<T: Serialize + PartialEq + serde::de::DeserializeOwned>(value: &T, depth: usize) {
        let mut bytes = Vec::new();
        let by_tree = to_bytes_by_tree(value, &mut Vec::new()).map(|needs| needs.depth());
        match to_bytes(value, &mut bytes) {
            Ok(needs) => {
                assert!(depth <= DEPTH_MAX, "{depth}");
                assert_eq!((needs.depth(), by_tree), (depth, Ok(depth)));
                let payload = Payload::read(&bytes).unwrap();
                assert!(from_payload::<T>(&payload).is_ok_and(|read| read == *value));
                assert!(from_payload_by_tree::<T>(&payload).is_ok_and(|read| read == *value));
            }
            Err(error) => {
                assert!(depth > DEPTH_MAX && bytes.is_empty(), "{depth}: {error}");
                assert_eq!(by_tree, Err(error.clone()));
                assert!(error.to_string().contains("more than 128 containers"));
            }
        }
    }

    for depth in [1, 126, 127, 128, 129, 130, 1000] {
        let newtype = |deep| Deep::Newtype(Box::new(deep));
        check(&(0..depth).fold(Deep::End, |deep, _| newtype(deep)), depth);
        let inner = |deep| Deep::Struct {
            inner: Box::new(deep),
        };
        let tuple = |deep| Deep::Tuple(Some(Box::new(deep)), 1);
        if depth.is_multiple_of(2) {
            // Two containers each: that of the variant, and its content's.
            check(
                &(0..depth / 2).fold(Deep::End, |deep, _| tuple(deep)),
                depth,
            );
            check(
                &(0..depth / 2).fold(Deep::End, |deep, _| inner(deep)),
                depth,
            );
        }
        // Many on one level.
        check(&vec![tuple(Deep::End); 3], 3);
    }
}

#[test]
fn bytes_are_an_object_as_deep_as_they_stand() {
    #[derive(Serialize, Deserialize)]
    enum In {
        Bytes(#[serde(with = "bytes")] Vec<u8>),
        Next(Box<In>),
    }
    for (depth, is_written) in [(127, true), (128, false)] {
        let value = (1..depth).fold(In::Bytes(vec![1]), |inner, _| In::Next(Box::new(inner)));
        let mut bytes = Vec::new();
        assert_eq!(to_bytes(&value, &mut bytes).is_ok(), is_written, "{depth}");
        assert_eq!(
            to_bytes_by_tree(&value, &mut Vec::new()).is_ok(),
            is_written
        );
        if is_written {
            assert!(from_payload_by_tree::<In>(&Payload::read(&bytes).unwrap()).is_ok());
        }
    }
}
