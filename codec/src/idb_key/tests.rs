//! Keys: round trips, order, nesting and damage.

use std::cmp::Ordering;

use quickcheck::{Arbitrary, Gen};

use super::*;
use crate::error::ErrorKind;
use crate::testing::{bytes_of, damage, properties};

fn encoded(key: &Key) -> Vec<u8> {
    bytes_of(|out| key.encode(out))
}

/// `levels` arrays inside each other, the innermost empty.
pub(crate) fn nested(levels: usize) -> Vec<u8> {
    let mut bytes = [TAG_ARRAY, 1].repeat(levels - 1);
    bytes.extend([TAG_ARRAY, 0]);
    bytes
}

/// Runs `body` on a stack of 64 KiB, a thirty-second of what a thread usually has.
pub(crate) fn on_small_stack(body: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new()
        .stack_size(64 * 1024)
        .spawn(body)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn each_type_has_its_bytes() {
    let cases: [(Key, &[u8]); 6] = [
        (Key::Number(1.0), &[3, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f]),
        (Key::Date(-0.0), &[2, 0, 0, 0, 0, 0, 0, 0, 0x80]),
        (Key::from("ab"), &[1, 2, 0, 0x61, 0, 0x62]),
        (Key::Binary(vec![7, 8]), &[6, 2, 7, 8]),
        (Key::array(vec![]).unwrap(), &[4, 0]),
        (
            Key::array(vec![Key::from(""), Key::array(vec![]).unwrap()]).unwrap(),
            &[4, 2, 1, 0, 4, 0],
        ),
    ];
    for (key, bytes) in cases {
        assert_eq!(encoded(&key), bytes);
        assert_eq!(encoded(&Key::decode_exact(bytes).unwrap()), bytes);
    }
}

#[test]
fn sentinels_are_one_byte_and_are_no_keys() {
    for (bound, byte) in [(KeyBound::Min, 5), (KeyBound::Max, 0)] {
        assert_eq!(bytes_of(|out| bound.encode(out)), [byte]);
        assert_eq!(KeyBound::decode_exact(&[byte]), Ok(bound));
        for input in [&[byte][..], &[TAG_ARRAY, 1, byte]] {
            assert!(Key::decode(input).is_err());
            assert!(RawKey::decode(input).is_err());
        }
    }
}

#[test]
fn nan_is_no_key_whatever_its_bits() {
    for nan in [f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001)] {
        for key in [Key::Number(nan), Key::Date(nan)] {
            assert!(Key::decode(&encoded(&key)).is_err());
            assert!(RawKey::decode(&encoded(&key)).is_err());
            assert!(RawKey::decode_exact(&encoded(&key)).is_err());
        }
    }
}

#[test]
fn unknown_types_and_hostile_lengths_fail_at_their_offset() {
    let error = Key::decode(&[TAG_ARRAY, 2, TAG_STRING, 0, 7]).unwrap_err();
    assert_eq!(
        (error.kind(), error.offset()),
        (&ErrorKind::UnknownTag { tag: 7 }, 4)
    );
    for huge in [i64::MAX, -1, 1 << 40] {
        for tag in [TAG_STRING, TAG_BINARY, TAG_ARRAY] {
            let mut bytes = vec![tag];
            var_int::encode(huge, &mut bytes);
            bytes.extend([TAG_ARRAY; 64]);
            assert!(Key::decode(&bytes).is_err());
            assert!(RawKey::decode(&bytes).is_err());
        }
    }
}

#[test]
fn two_thousand_levels_are_read_and_one_more_is_refused() {
    on_small_stack(|| {
        // The outermost array is at level 0, so the innermost of these is at level 2000.
        let deepest = nested(LEVEL_MAX + 1);
        let key = Key::decode_exact(&deepest).unwrap();
        assert_eq!(key.height(), LEVEL_MAX);
        assert_eq!(encoded(&key), deepest);
        assert_eq!(
            RawKey::decode_exact(&deepest).unwrap().parts().count(),
            LEVEL_MAX + 1
        );
        let too_deep = nested(LEVEL_MAX + 2);
        let refused = ErrorKind::LimitExceeded { limit: 2000 };
        assert_eq!(Key::decode(&too_deep).unwrap_err().kind(), &refused);
        assert_eq!(RawKey::decode(&too_deep).unwrap_err().kind(), &refused);
        assert_eq!(Key::array(vec![key]).unwrap_err().kind(), &refused);
        // A string one level deeper, in no more arrays than are allowed.
        let string = [[TAG_ARRAY, 1].repeat(LEVEL_MAX + 1), vec![TAG_STRING, 0]].concat();
        assert_eq!(RawKey::decode(&string).unwrap_err().kind(), &refused);
        assert_eq!(Key::decode(&string).unwrap_err().kind(), &refused);
        // Many arrays side by side are not deep.
        let mut wide = vec![TAG_ARRAY, 0x90, 0x4e];
        wide.extend([TAG_ARRAY, 0].repeat(10_000));
        assert_eq!(
            RawKey::decode_exact(&wide).unwrap().elements().count(),
            10_000
        );
    });
}

/// So many arrays around a key.
fn around(inner: Key, arrays: usize) -> Result<Key> {
    (0..arrays).try_fold(inner, |key, _| Key::array(vec![0.0.into(), key]))
}

#[test]
fn new_keys_have_as_many_arrays_in_one_another_as_a_page_can_name() {
    on_small_stack(|| {
        let refused = ErrorKind::LimitExceeded { limit: 2000 };
        let empty = || Key::array(vec![]).unwrap();
        for (inner, arrays) in [(Key::from("a"), 2000), (empty(), 1999)] {
            let deepest = around(inner.clone(), arrays).unwrap();
            assert_eq!(Key::decode_exact(&encoded(&deepest)), Ok(deepest));
            let error = around(inner, arrays + 1).unwrap_err();
            assert_eq!(error.kind(), &refused);
        }
        // Chromium 156 writes one more, the inmost empty, if the key path is a list: that is read.
        let read = Key::decode_exact(&nested(2001)).unwrap();
        assert_eq!(encoded(&read.clone()), nested(2001));
        let Key::Array(array) = read else {
            unreachable!()
        };
        assert_eq!(
            KeyArray::new(array.into_elements()).unwrap_err().kind(),
            &refused
        );
    });
}

#[test]
fn deep_keys_are_cloned_compared_printed_and_dropped_on_a_small_stack() {
    on_small_stack(|| {
        let deep = Key::decode_exact(&nested(LEVEL_MAX)).unwrap();
        let deeper = Key::decode_exact(&nested(LEVEL_MAX + 1)).unwrap();
        assert_eq!(deep.clone(), deep);
        // They differ in the innermost place: empty or not.
        assert!(deep < deeper);
        assert_eq!(
            RawKey::decode_exact(&nested(LEVEL_MAX)).unwrap().to_key(),
            deep
        );
        assert!(format!("{deeper:?}").contains("2000 levels"));
        let Key::Array(array) = deeper else {
            unreachable!()
        };
        assert_eq!(array.into_elements(), [deep]);
    });
}

#[test]
fn a_bushy_deep_key_is_cloned_in_order() {
    let mut key = Key::from("leaf");
    for level in 0..100 {
        let level = f64::from(level);
        key = Key::array(vec![Key::Number(level), key, Key::Date(level)]).unwrap();
    }
    assert_eq!(encoded(&key.clone()), encoded(&key));
}

#[test]
fn the_order_of_types_is_number_date_string_binary_array() {
    let ascending = [
        Key::Number(f64::NEG_INFINITY),
        Key::Number(-1.0),
        Key::Number(0.0),
        Key::Number(2.5),
        Key::Number(f64::INFINITY),
        Key::Date(-1.0),
        Key::Date(1.0),
        Key::from(""),
        Key::from("a"),
        Key::from("b"),
        Key::from("baa"),
        Key::Binary(vec![]),
        Key::Binary(vec![0]),
        Key::Binary(vec![0, 1]),
        Key::Binary(vec![0x80]),
        Key::array(vec![]).unwrap(),
        Key::array(vec![Key::Number(1.0)]).unwrap(),
        Key::array(vec![Key::Number(1.0), Key::Number(0.0)]).unwrap(),
        Key::array(vec![Key::from("a")]).unwrap(),
        Key::array(vec![Key::array(vec![]).unwrap()]).unwrap(),
        Key::array(vec![Key::array(vec![]).unwrap(), Key::Number(1.0)]).unwrap(),
        Key::array(vec![Key::array(vec![]).unwrap(); 2]).unwrap(),
        Key::array(vec![Key::array(vec![Key::from("")]).unwrap()]).unwrap(),
    ];
    for (i, a) in ascending.iter().enumerate() {
        for (j, b) in ascending.iter().enumerate() {
            assert_eq!(a.cmp(b), i.cmp(&j), "{a:?} {b:?}");
            let (a, b) = (encoded(a), encoded(b));
            let (a, b) = (
                RawKey::decode_exact(&a).unwrap(),
                RawKey::decode_exact(&b).unwrap(),
            );
            assert_eq!(a.cmp(&b), i.cmp(&j), "{a:?} {b:?}");
        }
    }
    assert_eq!(Key::Number(-0.0).cmp(&Key::Number(0.0)), Ordering::Equal);
}

#[derive(Debug, Clone)]
struct NearlyKey(Vec<u8>);

impl Arbitrary for NearlyKey {
    fn arbitrary(g: &mut Gen) -> Self {
        let whole = encoded(&Key::arbitrary(g));
        Self(damage(g, whole))
    }
}

properties! {
    fn every_key_round_trips_and_every_cut_fails(key: Key) -> bool {
        let bytes = encoded(&key);
        let raw = RawKey::decode_exact(&bytes).unwrap();
        encoded(&Key::decode_exact(&bytes).unwrap()) == bytes
            && encoded(&raw.to_key()) == bytes
            && encoded(&key.clone()) == bytes
            && (0..bytes.len()).all(|len| {
                Key::decode(&bytes[..len]).is_err() && RawKey::decode(&bytes[..len]).is_err()
            })
    }

    fn skipping_one_key_leaves_the_rest(key: Key, rest: Vec<u8>) -> bool {
        let bytes = [encoded(&key), rest.clone()].concat();
        let (raw, left) = RawKey::decode(&bytes).unwrap();
        let (owned, also_left) = Key::decode(&bytes).unwrap();
        left == rest && also_left == rest && raw.as_bytes() == encoded(&owned)
    }

    fn any_input_decodes_to_the_one_key_with_that_encoding_or_errs(input: NearlyKey) -> bool {
        let NearlyKey(input) = input;
        match (Key::decode(&input), RawKey::decode(&input)) {
            (Ok((key, rest)), Ok((raw, raw_rest))) => {
                rest == raw_rest && [encoded(&key).as_slice(), rest].concat() == input
                    && encoded(&key) == raw.as_bytes()
            }
            (Err(error), Err(_)) => error.offset() <= input.len(),
            _ => false,
        }
    }

    fn raw_keys_order_like_keys(a: Key, b: Key) -> bool {
        let (bytes_a, bytes_b) = (encoded(&a), encoded(&b));
        let raw_a = RawKey::decode_exact(&bytes_a).unwrap();
        let raw_b = RawKey::decode_exact(&bytes_b).unwrap();
        raw_a.cmp(&raw_b) == a.cmp(&b) && b.cmp(&a) == a.cmp(&b).reverse()
    }

    fn bounds_round_trip(bound: KeyBound) -> bool {
        KeyBound::decode_exact(&bytes_of(|out| bound.encode(out))) == Ok(bound)
    }

    fn elements_and_parts_show_what_the_tree_has(key: Key) -> bool {
        let bytes = encoded(&key);
        let raw = RawKey::decode_exact(&bytes).unwrap();
        let elements: Vec<Key> = raw.elements().map(|element| element.to_key()).collect();
        match &key {
            Key::Array(array) => {
                elements == array[..] && raw.parts().next() == Some(KeyPart::Array { len: array.len() as u64 })
            }
            _ => elements.is_empty() && raw.parts().count() == 1,
        }
    }
}
