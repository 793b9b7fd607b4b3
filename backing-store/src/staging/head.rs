//! The head of a row's key: a number in the keys' order, as far as it goes.
//!
//! Most comparisons of two keys are decided by their heads, without looking at the keys. The law: `compare` never says that
//! a key lies behind one with a greater head. It holds for all byte strings; equal heads say nothing.

use larder_codec::primitive::var_int;

/// Bits that each of the three ids of a prefix has. Ids from the greatest number on share it, and then nothing further is
/// known.
const ID_BITS: u32 = 8;
const ID_MAX: u64 = (1 << ID_BITS) - 1;

/// Bits for the user key.
const KEY_BITS: u32 = u64::BITS - 3 * ID_BITS;

/// Bits for the type of a user key.
const TYPE_BITS: u32 = 3;

/// Index ids between these are no tables of object stores; see `docs/FORMAT.md`, section 4.
const UNASSIGNED: std::ops::RangeInclusive<u64> = 4..=29;

/// The head of a row's key.
pub(super) fn head(key: &[u8]) -> u64 {
    let Some((ids, tail)) = ids(key) else {
        // Behind all that can be read.
        return u64::MAX;
    };
    let mut head = 0;
    let mut left = u64::BITS;
    for id in ids {
        left -= ID_BITS;
        if id >= ID_MAX {
            return head | (u64::MAX >> (u64::BITS - ID_BITS - left));
        }
        head |= id << left;
    }
    let [database, object_store, index] = ids;
    if database == 0 || object_store == 0 || index == 0 || UNASSIGNED.contains(&index) {
        return head;
    }
    head | user_key_head(tail, KEY_BITS)
}

/// The three ids of the prefix, and what follows.
#[inline]
fn ids(key: &[u8]) -> Option<([u64; 3], &[u8])> {
    if let Some(([0, database, object_store, index], tail)) = key.split_first_chunk::<4>() {
        return Some((
            [(*database).into(), (*object_store).into(), (*index).into()],
            tail,
        ));
    }
    let (&lens, mut tail) = key.split_first()?;
    let mut ids = [0; 3];
    for (id, len_less_one) in ids.iter_mut().zip([lens >> 5, lens >> 2 & 7, lens & 3]) {
        let bytes;
        (bytes, tail) = tail.split_at_checked(usize::from(len_less_one) + 1)?;
        let mut wide = [0; 8];
        wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
        *id = u64::from_le_bytes(wide);
    }
    Some((ids, tail))
}

/// The head of a user key in so many bits: its type's place in the order, then as much of it as there is room for.
fn user_key_head(key: &[u8], bits: u32) -> u64 {
    let left = bits - TYPE_BITS;
    let all = u64::MAX >> (u64::BITS - left);
    let Some((tag, content)) = key.split_first() else {
        // The low end of a range.
        return 0;
    };
    // What cannot be read lies behind what can.
    let (rank, inside) = match tag {
        5 => (0, 0),
        3 => (1, number_head(content, left).unwrap_or(all)),
        2 => (2, number_head(content, left).unwrap_or(all)),
        1 => (3, text_head(content, 2, left).unwrap_or(all)),
        6 => (4, text_head(content, 1, left).unwrap_or(all)),
        4 => (5, array_head(content, left).unwrap_or(all)),
        0 => (6, 0),
        _ => (7, all),
    };
    rank << left | inside
}

/// A number's bits, so turned that they are in its order.
fn number_head(content: &[u8], bits: u32) -> Option<u64> {
    let number = f64::from_le_bytes(*content.first_chunk()?);
    if number.is_nan() {
        return None;
    }
    // -0 is equal to 0.
    let wide = (number + 0.0).to_bits();
    let ordered = match wide >> 63 {
        0 => wide | 1 << 63,
        _ => !wide,
    };
    Some(ordered >> (u64::BITS - bits))
}

/// The first bytes of a text or of binary, counted in units of so many bytes; zeros where it ends before.
fn text_head(content: &[u8], unit_len: usize, bits: u32) -> Option<u64> {
    let (count, content) = var_int::decode(content).ok()?;
    let len = usize::try_from(count).ok()?.checked_mul(unit_len)?;
    let content = content.get(..len)?;
    let word = match content.first_chunk::<8>() {
        Some(word) => u64::from_be_bytes(*word),
        None => {
            let word = content
                .iter()
                .fold(0, |word, byte| word << 8 | u64::from(*byte));
            word.checked_shl(8 * (8 - content.len() as u32))
                .unwrap_or(0)
        }
    };
    Some(word >> (u64::BITS - bits))
}

/// The head of an array's first element.
fn array_head(content: &[u8], bits: u32) -> Option<u64> {
    let (count, elements) = var_int::decode(content).ok()?;
    match count {
        0 => Some(0),
        // Arrays in arrays in arrays.
        _ if bits <= 2 * TYPE_BITS => Some(0),
        _ if elements.is_empty() => None,
        _ => Some(user_key_head(elements, bits)),
    }
}

#[cfg(test)]
mod tests {
    use larder_codec::compare::compare;
    use larder_codec::{DatabaseId, IdbKey, IndexId, KeyPrefix, ObjectStoreId};
    use quickcheck::{Arbitrary, Gen, QuickCheck};

    use super::*;

    /// Keys of all kinds of rows, and bytes that are nearly such keys.
    #[derive(Debug, Clone)]
    struct Key(Vec<u8>);

    fn one_of<T: Clone>(g: &mut Gen, choices: &[T]) -> T {
        g.choose(choices).unwrap().clone()
    }

    fn user_key(g: &mut Gen, levels: u32) -> IdbKey {
        const NUMBERS: [f64; 12] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            1.5,
            1e300,
            -1e300,
            f64::INFINITY,
            f64::NEG_INFINITY,
            5e-324,
            16_777_217.0,
            16_777_218.0,
        ];
        const TEXTS: [&str; 8] = ["", "a", "ab", "abc", "abcd", "ab\u{ffff}", "\0", "漢字"];
        match u32::arbitrary(g) % (4 + levels.min(1)) {
            0 => IdbKey::Number(one_of(g, &NUMBERS)),
            1 => IdbKey::Date(one_of(g, &NUMBERS)),
            2 => one_of(g, &TEXTS).into(),
            3 => IdbKey::Binary(one_of(g, &TEXTS).as_bytes().to_vec()),
            _ => {
                let count = u32::arbitrary(g) % 3;
                let elements = (0..count).map(|_| user_key(g, levels - 1)).collect();
                IdbKey::array(elements).unwrap()
            }
        }
    }

    impl Arbitrary for Key {
        fn arbitrary(g: &mut Gen) -> Self {
            let ids = [0, 1, 2, 254, 255, 256, 70_000];
            let id = one_of(g, &ids);
            let mut key = match (DatabaseId::new(id), ObjectStoreId::new(one_of(g, &ids))) {
                (Some(database), Some(store)) => {
                    let index = one_of(g, &[1, 2, 3, 30, 31, 254, 255, 300]);
                    let prefix = match IndexId::new(index) {
                        Some(index) => KeyPrefix::of_index(database, store, index),
                        None => {
                            KeyPrefix::of_object_store(database, store, index.unsigned_abs() as u32)
                        }
                    };
                    let mut key = Vec::new();
                    prefix.encode(&mut key);
                    user_key(g, 6).encode(&mut key);
                    key.push(0);
                    user_key(g, 1).encode(&mut key);
                    key
                }
                _ => vec![0, 0, 0, 0, one_of(g, &[0, 1, 2, 50, 201]), u8::arbitrary(g)],
            };
            if u8::arbitrary(g) % 3 == 0 {
                let at = usize::arbitrary(g) % key.len();
                key[at] = one_of(g, &[0, 1, 2, 3, 4, 5, 6, 7, 0x20, 0x7f, 0x80, 0xf8, 0xff]);
            }
            if u8::arbitrary(g) % 4 == 0 {
                key.truncate(usize::arbitrary(g) % (key.len() + 1));
            }
            Self(key)
        }
    }

    #[test]
    fn no_key_lies_behind_one_with_a_greater_head() {
        fn law(keys: Vec<Key>) -> bool {
            keys.iter().all(|Key(a)| {
                keys.iter()
                    .all(|Key(b)| head(a) >= head(b) || compare(a, b).is_lt())
            })
        }
        QuickCheck::new()
            .rng(Gen::new(60))
            .tests(2000)
            .quickcheck(law as fn(_) -> _);
    }

    #[test]
    fn heads_tell_apart_what_rows_mostly_differ_in() {
        let row = |index: u8, key: IdbKey| {
            let mut row = vec![0, 1, 1, index];
            key.encode(&mut row);
            row
        };
        let rows = [
            row(1, 1.0.into()),
            row(1, 1_000_000.0.into()),
            row(1, 1_000_001.0.into()),
            row(1, "aa".into()),
            row(1, "ab".into()),
            row(2, (-5.0).into()),
            row(2, IdbKey::Date(-5.0)),
            row(31, IdbKey::array(vec!["a".into()]).unwrap()),
            row(31, IdbKey::array(vec!["b".into()]).unwrap()),
        ];
        assert!(rows.is_sorted_by(|a, b| head(a) < head(b)));
    }
}
