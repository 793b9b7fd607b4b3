//! The short ways against the way through a tree.

use std::cell::Cell;

use serde::Deserializer;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};

use super::*;

/// Anything that serde can be given, in the words that are chosen for it.
#[derive(Debug, Clone)]
enum Told {
    Unit,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    Maybe(Option<Box<Told>>),
    /// The length is said, not said, or wrong.
    Seq(Vec<Told>, Option<usize>),
    Map(Vec<(String, Told)>),
    Kind(Kind),
    Pair(Box<(Told, Told)>),
    Numbers(Vec<f64>),
    Fields(Box<Fields<Told>>),
    Refuses,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Fields<T> {
    id: u32,
    #[serde(rename = "ünïcode")]
    name: String,
    next: Option<T>,
}

impl Serialize for Told {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unit => serializer.serialize_unit(),
            Self::Bool(value) => value.serialize(serializer),
            Self::Integer(value) => value.serialize(serializer),
            Self::Float(value) => value.serialize(serializer),
            Self::Text(value) => value.serialize(serializer),
            Self::Bytes(value) => serializer.serialize_bytes(value),
            Self::Maybe(value) => value.serialize(serializer),
            Self::Seq(elements, len) => {
                let mut seq = serializer.serialize_seq(*len)?;
                for element in elements {
                    seq.serialize_element(element)?;
                }
                seq.end()
            }
            Self::Map(entries) => {
                let mut map = serializer.serialize_map(None)?;
                for (name, value) in entries {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
            Self::Kind(value) => value.serialize(serializer),
            Self::Pair(value) => value.serialize(serializer),
            Self::Numbers(values) => values.serialize(serializer),
            Self::Fields(value) => value.serialize(serializer),
            Self::Refuses => Err(serde::ser::Error::custom("no")),
        }
    }
}

fn told(g: &mut Gen, levels: u64) -> Told {
    match below(g, if levels > 0 { 14 } else { 7 }) {
        0 => Told::Unit,
        1 => Told::Bool(bool::arbitrary(g)),
        2 => Told::Integer(i128::from(i16::arbitrary(g)) << one_of(g, &[0, 0, 0, 20, 40, 60])),
        3 => Told::Float(float(g)),
        4 => Told::Text(text(g)),
        5 => Told::Bytes(Vec::arbitrary(g)),
        6 => Told::Maybe(None),
        7 => Told::Maybe(Some(Box::new(told(g, levels - 1)))),
        8 => {
            let elements: Vec<_> = (0..below(g, 5)).map(|_| told(g, levels - 1)).collect();
            let len = elements.len();
            let said = one_of(g, &[Some(len), Some(len), Some(len), None, Some(len + 1)]);
            Told::Seq(elements, said)
        }
        9 => {
            let count = one_of(g, &[0, 1, 2, 3, 4, 40]);
            let entry = |_| (text(g), told(g, levels - 1));
            Told::Map((0..count).map(entry).collect())
        }
        10 => Told::Kind(kind(g, levels - 1)),
        11 => Told::Pair(Box::new((told(g, levels - 1), told(g, levels - 1)))),
        12 => Told::Numbers((0..below(g, 4)).map(|_| float(g)).collect()),
        _ if below(g, 8) == 0 => Told::Refuses,
        _ => Told::Fields(Box::new(Fields {
            id: u32::arbitrary(g),
            name: text(g),
            next: bool::arbitrary(g).then(|| told(g, levels - 1)),
        })),
    }
}

/// Few letters, so that names meet again; some longer than what is looked at of a name.
fn text(g: &mut Gen) -> String {
    const PIECES: [&str; 8] = ["a", "b", "7", "", "é", "漢", "ninebytes", "x9"];
    (0..1 + below(g, 3)).map(|_| one_of(g, &PIECES)).collect()
}

impl Arbitrary for Told {
    fn arbitrary(g: &mut Gen) -> Self {
        told(g, 3)
    }
}

thread_local! {
    /// How often the short way was and was not gone.
    static GONE: Cell<[u32; 2]> = const { Cell::new([0; 2]) };
}

fn count(is_gone: bool) {
    let mut gone = GONE.get();
    gone[usize::from(is_gone)] += 1;
    GONE.set(gone);
}

#[test]
fn what_is_written_at_once_is_what_a_tree_gives() {
    fn property(value: Told) -> bool {
        let (mut direct, mut by_tree) = (b"kept".to_vec(), b"kept".to_vec());
        let is_written = direct_ser::write(&value, &mut direct).is_some();
        count(is_written);
        let outcome = to_bytes_by_tree(&value, &mut by_tree);
        match is_written {
            true => outcome.is_ok() && direct == by_tree,
            false => direct == b"kept",
        }
    }
    crate::testing::check(property as fn(Told) -> bool);
    let [not, gone] = GONE.get();
    assert!(not > 40 && gone > 100, "{not} {gone}");
}

/// Takes an error for nothing, and goes on.
#[derive(Debug, PartialEq)]
struct Lenient<T>(Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(T::deserialize(deserializer).ok()))
    }
}

/// Whether a `T` that was read at once is the one that a tree gives.
fn agrees<T: for<'de> Deserialize<'de> + PartialEq>(bytes: &[u8]) -> bool {
    let mut buffer = Vec::new();
    let Ok(Envelope::Inline(payload)) = Envelope::peel(bytes, &mut buffer) else {
        return true;
    };
    let direct = direct_de::read::<T>(&payload);
    count(direct.is_some());
    direct.is_none_or(|direct| from_payload_by_tree(&payload) == Ok(direct))
}

fn all_agree(bytes: &[u8]) -> bool {
    agrees::<serde_json::Value>(bytes)
        && agrees::<Kind>(bytes)
        && agrees::<(Option<f32>, String)>(bytes)
        && agrees::<Vec<Option<Kind>>>(bytes)
        && agrees::<Fields<Lenient<Vec<u8>>>>(bytes)
        && agrees::<Fields<Box<Fields<()>>>>(bytes)
        && agrees::<Vec<Lenient<BTreeMap<String, Lenient<(u8, u8)>>>>>(bytes)
        && agrees::<HashMap<String, Lenient<Vec<Vec<i8>>>>>(bytes)
}

#[test]
fn what_is_read_at_once_is_what_a_tree_gives() {
    fn property(value: Told, changes: Vec<(usize, u8)>) -> bool {
        let mut bytes = Vec::new();
        if to_bytes(&value, &mut bytes).is_err() {
            return true;
        }
        let mut is_right = all_agree(&bytes);
        // Not quite what was written: tags of all kinds in all places, lengths that are wrong, an end too early.
        const TAGS: &[u8] = b"oA{$\"cSINU0T_-^BV;:',a@Z\\r\0\x01\x02\x03";
        for (at, tag) in changes {
            let at = at % bytes.len();
            bytes[at] = TAGS[usize::from(tag) % TAGS.len()];
            is_right &= all_agree(&bytes);
            is_right &= all_agree(&bytes[..at]);
        }
        is_right
    }
    crate::testing::check(property as fn(Told, Vec<(usize, u8)>) -> bool);
    let [not, gone] = GONE.get();
    assert!(not > 1000 && gone > 100, "{not} {gone}");
}

/// An error that is swallowed in the midst of an array leaves the reading there; what comes next, the end of the inner array,
/// looks like that of the outer one, which is missing.
#[test]
fn nothing_counts_that_is_read_behind_a_refusal() {
    let bytes = b"\xff\x15\xfe\0\0\0\0\0\0\0\0\0\0\0\0\xff\x0fA\x01A\x01\"\x01s$\0\x01";
    let mut buffer = Vec::new();
    let Ok(Envelope::Inline(payload)) = Envelope::peel(bytes, &mut buffer) else {
        panic!()
    };
    assert_eq!(
        direct_de::read::<Vec<Lenient<Vec<u8>>>>(&payload).map(drop),
        None
    );
}

#[test]
fn what_applications_keep_goes_the_short_way() {
    let fields = Fields {
        id: 7,
        name: "text".repeat(30),
        next: Some(vec![Kind::Unit, Kind::Tuple(-1, Some("漢".to_owned()))]),
    };
    let mut bytes = Vec::new();
    assert!(direct_ser::write(&fields, &mut bytes).is_some());
    let mut buffer = Vec::new();
    let Ok(Envelope::Inline(payload)) = Envelope::peel(&bytes, &mut buffer) else {
        panic!()
    };
    assert_eq!(direct_de::read(&payload), Some(fields));
}
