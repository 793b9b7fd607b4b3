//! What the tests of this crate share: seeded properties and generators.
//!
//! A property's seed is printed when it fails; `LARDER_TEST_SEED=<seed>` runs it again.

use std::hash::{BuildHasher, RandomState};

use quickcheck::{Arbitrary, Gen, QuickCheck, Testable};

use crate::idb_key::{Key, KeyBound};
use crate::ids::{BlobNumber, DatabaseId, IndexId, ObjectStoreId, RecordVersion, ScopeId};
use crate::js_string::JsString;

/// Declares properties like `quickcheck!`, but with a seed that can be set.
macro_rules! properties {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident : $type:ty),* $(,)?) -> bool $body:block)*) => {
        $(
            #[test]
            $(#[$meta])*
            fn $name() {
                fn property($($arg: $type),*) -> bool $body
                $crate::testing::check(property as fn($($type),*) -> bool);
            }
        )*
    };
}
pub(crate) use properties;

/// Runs a property on a seeded generator.
pub(crate) fn check(property: impl Testable) {
    let seed = std::env::var("LARDER_TEST_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| RandomState::new().hash_one(0));
    // Shown only if the test fails.
    println!("LARDER_TEST_SEED={seed}");
    QuickCheck::new()
        .tests(400)
        .rng(Gen::from_size_and_seed(48, seed))
        .quickcheck(property);
}

/// A number below `end`.
pub(crate) fn below(g: &mut Gen, end: u64) -> u64 {
    u64::arbitrary(g) % end
}

/// One of these.
pub(crate) fn one_of<T: Clone>(g: &mut Gen, choices: &[T]) -> T {
    g.choose(choices).unwrap().clone()
}

/// The bytes that `encode` appends.
pub(crate) fn bytes_of(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    encode(&mut out);
    out
}

/// Short strings over few units, so that equal beginnings and all edges are frequent.
impl Arbitrary for JsString {
    fn arbitrary(g: &mut Gen) -> Self {
        const UNITS: [u16; 16] = [
            0, 1, 0x61, 0x62, 0x7e, 0x7f, 0x80, 0xff, 0x100, 0x3fff, 0x4000, 0xd800, 0xdbff,
            0xdc00, 0xe000, 0xffff,
        ];
        let len = match below(g, 20) {
            0 => 127 + below(g, 3),
            _ => below(g, 4),
        };
        Self::from_units((0..len).map(|_| one_of(g, &UNITS)).collect())
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        Box::new(self.units().to_vec().shrink().map(Self::from_units))
    }
}

impl Arbitrary for Key {
    fn arbitrary(g: &mut Gen) -> Self {
        arbitrary_key(g, 4)
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        match self {
            Self::Array(array) => {
                let elements = array.to_vec();
                let single = elements.clone();
                let shorter = elements
                    .shrink()
                    .map(|elements| Self::array(elements).unwrap());
                Box::new(single.into_iter().chain(shorter))
            }
            Self::String(string) => Box::new(string.shrink().map(Self::String)),
            Self::Binary(bytes) => Box::new(bytes.shrink().map(Self::Binary)),
            Self::Number(_) | Self::Date(_) => quickcheck::empty_shrinker(),
        }
    }
}

fn arbitrary_key(g: &mut Gen, levels: u64) -> Key {
    match below(g, if levels > 0 { 6 } else { 4 }) {
        0 => Key::Number(arbitrary_double(g)),
        1 => Key::Date(arbitrary_double(g)),
        2 => Key::String(JsString::arbitrary(g)),
        3 => {
            let len = below(g, 20);
            Key::Binary(
                (0..len)
                    .map(|_| one_of(g, &[0, 1, 9, 0x7f, 0x80, 0xff]))
                    .collect(),
            )
        }
        _ => {
            let len = below(g, 4);
            let elements = (0..len).map(|_| arbitrary_key(g, levels - 1)).collect();
            Key::array(elements).unwrap()
        }
    }
}

fn arbitrary_double(g: &mut Gen) -> f64 {
    const EDGES: [f64; 10] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        256.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN_POSITIVE,
        -5e-324,
    ];
    match below(g, 3) {
        0 => one_of(g, &EDGES),
        1 => below(g, 8) as f64 - 4.0,
        _ => Some(f64::from_bits(u64::arbitrary(g)))
            .filter(|d| !d.is_nan())
            .unwrap_or(0.5),
    }
}

impl Arbitrary for KeyBound {
    fn arbitrary(g: &mut Gen) -> Self {
        match below(g, 12) {
            0 => Self::Min,
            1 => Self::Max,
            _ => Self::Key(Key::arbitrary(g)),
        }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        match self {
            Self::Key(key) => Box::new(key.shrink().map(Self::Key)),
            _ => quickcheck::empty_shrinker(),
        }
    }
}

/// Small ids mostly, and those at the edges of their encodings.
fn arbitrary_number(g: &mut Gen, max: i64) -> i64 {
    const EDGES: [i64; 8] = [127, 128, 255, 256, 16384, 65536, 1 << 31, i64::MAX];
    let number = match below(g, 8) {
        0 => one_of(g, &EDGES),
        1 => i64::arbitrary(g) & i64::MAX,
        _ => below(g, 4) as i64,
    };
    number.min(max)
}

macro_rules! arbitrary_id {
    ($($type:ident),*) => {
        $(impl Arbitrary for $type {
            fn arbitrary(g: &mut Gen) -> Self {
                let number = arbitrary_number(g, Self::MAX.get());
                Self::new(number.max(Self::MIN.get())).unwrap()
            }
        })*
    };
}

arbitrary_id!(
    DatabaseId,
    ObjectStoreId,
    ScopeId,
    BlobNumber,
    RecordVersion
);

impl Arbitrary for IndexId {
    fn arbitrary(g: &mut Gen) -> Self {
        let number = arbitrary_number(g, Self::MAX.get() - 30);
        Self::new(30 + number).unwrap()
    }
}

/// Bytes that are nearly something: `whole` with small damage, or now and then nothing like it.
pub(crate) fn damage(g: &mut Gen, mut whole: Vec<u8>) -> Vec<u8> {
    const TELLING: [u8; 20] = [
        0, 1, 2, 3, 4, 5, 6, 7, 30, 31, 50, 100, 150, 151, 200, 201, 0x7f, 0x80, 0xf8, 0xff,
    ];
    for _ in 0..below(g, 3) {
        let at = below(g, whole.len() as u64 + 1) as usize;
        match below(g, 4) {
            0 => whole.truncate(at),
            1 => whole.insert(at, one_of(g, &TELLING)),
            2 if at < whole.len() => drop(whole.remove(at)),
            _ => {
                if let Some(byte) = whole.get_mut(at) {
                    *byte = one_of(g, &TELLING);
                }
            }
        }
    }
    if below(g, 16) == 0 {
        whole = (0..below(g, 12)).map(|_| one_of(g, &TELLING)).collect();
    }
    whole
}
