//! The comparator: against its naive twin, against decoded keys, and as an order.

mod signed_bytes;

use quickcheck::{Arbitrary, Gen};

use super::naive;
use super::*;
use crate::idb_key::tests::{nested, on_small_stack};
use crate::idb_key::{Key, KeyBound};
use crate::ids::{DatabaseId, IndexId, ObjectStoreId};
use crate::js_string::JsString;
use crate::range;
use crate::row_key::RecordTable;
use crate::row_key::tests::{NearlyStoredKey, StoredKey};
use crate::testing::{below, bytes_of, one_of, properties};

/// Keys that are alike: variants of one, some damaged, some ends of ranges.
#[derive(Debug, Clone)]
struct Family(Vec<Vec<u8>>);

impl Arbitrary for Family {
    fn arbitrary(g: &mut Gen) -> Self {
        let StoredKey(first) = StoredKey::arbitrary(g);
        let mut keys = vec![first];
        while keys.len() < 6 {
            let key = match below(g, 4) {
                0 => NearlyStoredKey::arbitrary(g).0,
                1 => arbitrary_end(g),
                _ => {
                    let sibling = one_of(g, &keys);
                    crate::testing::damage(g, sibling)
                }
            };
            keys.push(key);
        }
        Self(keys)
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let keys = self.0.clone();
        let removable = if keys.len() > 3 { keys.len() } else { 0 };
        Box::new((0..removable).map(move |at| {
            let mut fewer = keys.clone();
            fewer.remove(at);
            Self(fewer)
        }))
    }
}

fn arbitrary_end(g: &mut Gen) -> Vec<u8> {
    let (database, store) = (DatabaseId::arbitrary(g), ObjectStoreId::arbitrary(g));
    let index = IndexId::arbitrary(g);
    let ends = [
        range::database_low(database),
        range::database_end(database),
        range::object_store_rows_low(database, store),
        range::object_store_rows_end(database, store),
        range::table_low(database, store, RecordTable::Data),
        range::table_high(database, store, RecordTable::Exists),
        range::table_low(database, store, RecordTable::ExternalObject),
        range::table_high(database, store, RecordTable::ExternalObject),
        range::index_entries_low(database, store, index),
        range::index_entries_high(database, store, index),
        range::all_object_stores_high(database),
        range::all_indexes_high(database, store),
    ];
    one_of(g, &ends)
}

/// `key` after the prefix of an index, with a tail.
fn entry(tail: &[u8]) -> Vec<u8> {
    [&[0, 1, 1, 31], tail].concat()
}

const MIN: u8 = crate::idb_key::TAG_MIN;
const MAX: u8 = crate::idb_key::TAG_MAX;

#[test]
fn one_ascending_list_over_all_kinds_of_keys() {
    let ascending: Vec<Vec<u8>> = [
        // Global metadata.
        &[0, 0, 0, 0, 0][..],
        &[0, 0, 0, 0, 1],
        &[0, 0, 0, 0, 6],
        &[0, 0, 0, 0, 50],
        &[0, 0, 0, 0, 50, 0],
        &[0, 0, 0, 0, 50, 1, 0x81, 4],
        &[
            0, 0, 0, 0, 50, 2, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe,
        ],
        &[
            0, 0, 0, 0, 50, 2, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        ],
        &[0, 0, 0, 0, 100, 0x7f],
        &[0, 0, 0, 0, 100, 0x81, 1],
        &[0, 0, 0, 0, 100, 0x80, 2],
        &[0, 0, 0, 0, 201, 0, 0],
        &[0, 0, 0, 0, 201, 0, 1, 0, 0x61],
        &[0, 0, 0, 0, 201, 1, 0, 0x61, 0],
        &[0, 0, 0, 0, 201, 2, 0, 0x61, 0, 0, 0],
        &[0, 0, 0, 0, 201, 1, 0, 0x62, 0],
        // Metadata of database 1.
        &[0, 1, 0, 0, 0],
        &[0, 1, 0, 0, 5],
        &[0, 1, 0, 0, 50, 1, 0],
        &[0, 1, 0, 0, 50, 1, 7],
        &[0, 1, 0, 0, 50, 1, 255],
        &[0, 1, 0, 0, 50, 2, 0],
        &[0, 1, 0, 0, 50, 0x81, 1, 0],
        &[0, 1, 0, 0, 50, 0x80, 2, 0],
        &[0, 1, 0, 0, 100, 1, 31, 0],
        &[0, 1, 0, 0, 100, 1, 31, 3],
        &[0, 1, 0, 0, 100, 1, 32, 0],
        &[0, 1, 0, 0, 100, 2, 30, 0],
        &[0, 1, 0, 0, 150, 0x81, 1],
        &[0, 1, 0, 0, 150, 0x80, 2],
        &[0, 1, 0, 0, 151, 1, 31],
        &[0, 1, 0, 0, 151, 1, 32],
        &[0, 1, 0, 0, 200, 0],
        &[0, 1, 0, 0, 200, 1, 0, 0x61],
        &[0, 1, 0, 0, 201, 1, 0],
        &[0, 1, 0, 0, 201, 1, 1, 0, 0x61],
        // Its object store 1.
        &[0, 1, 1, 0],
        &[0, 1, 1, 1],
        &[0, 1, 1, 1, MIN],
        &[0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0xf0, 0xbf],
        &[0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f],
        &[0, 1, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0, 1, 1, 1, 1, 0],
        &[0, 1, 1, 1, 6, 0],
        &[0, 1, 1, 1, 4, 0],
        &[0, 1, 1, 1, 4, 1, 4, 0],
        &[0, 1, 1, 1, MAX],
        &[0, 1, 1, 2, MIN],
        &[0, 1, 1, 2, 1, 0],
        &[0, 1, 1, 2, MAX],
        &[0, 1, 1, 3],
        &[0, 1, 1, 3, 1, 0],
        &[0, 1, 1, 4],
        // Its index 31: primary key before sequence number.
        &[0, 1, 1, 31],
        &[0, 1, 1, 31, MIN],
        &[0, 1, 1, 31, MIN, 0, MIN],
        &[0, 1, 1, 31, MIN, 1, MIN],
        &[0, 1, 1, 31, MIN, 0, 1, 0],
        &[0, 1, 1, 31, MIN, 0, MAX],
        &[0, 1, 1, 31, MIN, 1, MAX],
        &[0, 1, 1, 31, 1, 1, 0, 0x61, 0, 1, 0],
        &[0, 1, 1, 31, MAX, 0, MIN],
        &[
            0, 1, 1, 31, MAX, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, MAX,
        ],
        &[0, 1, 1, 32, MIN, 0, MIN],
        &[1, 1, 1, 0, 1, MIN, 0, MIN],
        // Other stores and databases; numbers of two bytes.
        &[0, 1, 2, 0],
        &[4, 1, 0, 1, 1, MIN],
        &[0, 2, 0, 0, 0],
        &[0x20, 0, 1, 0, 0, 0],
    ]
    .iter()
    .map(|key| key.to_vec())
    .collect();
    for (i, a) in ascending.iter().enumerate() {
        for (j, b) in ascending.iter().enumerate() {
            assert_eq!(compare(a, b), i.cmp(&j), "{a:02x?} {b:02x?}");
            assert!(heads_agree(a, b), "{a:02x?} {b:02x?}");
        }
    }
}

#[test]
fn chromiums_equal_keys_with_different_bytes_are_equal() {
    let zero = [0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0];
    let minus_zero = [0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0x80];
    assert_eq!(compare(&zero, &minus_zero), Ordering::Equal);
    // Old index rows without a primary key: the sequence number never counts.
    for (a, b) in [
        ([1, 0].as_slice(), [1, 0, 7].as_slice()),
        (&[1, 0, 3], &[1, 0, 7]),
    ] {
        assert_eq!(compare(&entry(a), &entry(b)), Ordering::Equal);
    }
    // But they sort before the same index key with any primary key.
    assert_eq!(
        compare(&entry(&[1, 0, 7]), &entry(&[1, 0, 0, MIN])),
        Ordering::Less
    );
    assert_eq!(
        compare(&entry(&[1, 0]), &entry(&[1, 0, 0, MIN])),
        Ordering::Less
    );
    // Simple keys end with their type; complete keys with their user key.
    assert_eq!(
        compare(&[0, 0, 0, 0, 1], &[0, 0, 0, 0, 1, 9]),
        Ordering::Equal
    );
    assert_eq!(
        compare(&[0, 1, 1, 1, 1, 0], &[0, 1, 1, 1, 1, 0, 9]),
        Ordering::Equal
    );
    // Numbers in a prefix compare by value, however long they are written.
    assert_eq!(
        compare(&[0x20, 1, 0, 1, 1, 1, 0], &[0, 1, 1, 1, 1, 0]),
        Ordering::Equal
    );
}

#[test]
fn index_keys_only_stops_after_the_index_key() {
    let (low, high) = (entry(&[1, 0, 0, MIN]), entry(&[1, 0, 9, MAX]));
    assert_eq!(compare_index_keys(&low, &high), Ordering::Equal);
    assert_eq!(compare_index_keys(&low, &entry(&[1, 0])), Ordering::Equal);
    assert_eq!(compare(&low, &high), Ordering::Less);
    assert_eq!(compare_index_keys(&low, &entry(&[MAX])), Ordering::Less);
    assert_eq!(compare_index_keys(&entry(&[]), &low), Ordering::Less);
    let (one, two) = ([0, 1, 1, 1, 1, 0], [0, 1, 1, 1, 1, 1, 0, 0x61]);
    assert_eq!(compare_index_keys(&one, &two), Ordering::Less);
}

#[test]
fn the_deepest_keys_compare_on_a_small_stack_and_deeper_ones_by_their_bytes() {
    on_small_stack(|| {
        for levels in [1, 2, 15, 16, 17, 18, 1999, 2000, 2001, 2002, 2003, 100_000] {
            let (key, deeper) = (nested(levels), nested(levels + 1));
            assert_eq!(compare_user_keys(&key, &key), Ordering::Equal);
            // They differ in the length of the innermost array of the shallower one.
            assert_eq!(compare_user_keys(&key, &deeper), Ordering::Less, "{levels}");
        }
    });
}

#[test]
fn numbers_at_level_2000_compare_by_value_and_deeper_ones_by_their_bytes() {
    on_small_stack(|| {
        let inside = |arrays: usize, number: f64| {
            let mut bytes = [4, 1].repeat(arrays);
            Key::Number(number).encode(&mut bytes);
            bytes
        };
        for arrays in [16, 17, 1999, 2000] {
            let (a, b) = (inside(arrays, -1.0), inside(arrays, 1.0));
            assert_eq!(compare_user_keys(&a, &b), Ordering::Less, "{arrays}");
        }
        let (a, b) = (inside(2001, -1.0), inside(2001, 1.0));
        assert_eq!(compare_user_keys(&a, &b), Ordering::Greater);
    });
}

#[test]
fn a_readable_key_sorts_before_an_unreadable_one_and_those_by_bytes() {
    let readable = [0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f];
    let nan = [0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f];
    let cut = [0, 1, 1, 1, 3, 0, 0];
    let string = [0, 1, 1, 1, 1, 0];
    let unknown = [0, 1, 1, 1, 9];
    let max = [0, 1, 1, 1, MAX];
    let ascending = [&readable[..], &cut, &nan, &string, &max, &unknown];
    for (i, a) in ascending.iter().enumerate() {
        for (j, b) in ascending.iter().enumerate() {
            assert_eq!(compare(a, b), i.cmp(&j), "{a:02x?} {b:02x?}");
        }
    }
}

/// What [`row_head`] promises of two rows.
fn heads_agree(a: &[u8], b: &[u8]) -> bool {
    match compare(a, b) {
        Ordering::Less => row_head(a) <= row_head(b),
        Ordering::Equal => row_head(a) == row_head(b),
        Ordering::Greater => row_head(a) >= row_head(b),
    }
}

#[test]
fn what_usual_rows_differ_in_is_in_their_heads() {
    let encoded = |key: &Key| bytes_of(|out| key.encode(out));
    let string = |text: &str| Key::String(JsString::from(text));
    let numbers = [
        -1e300,
        -2.0,
        -1.5,
        0.0,
        0.5,
        1.0,
        1.25,
        1.5,
        2.0,
        3.0,
        3.5,
        65_536.0,
        65_536.5,
        16_777_217.0,
        1e9,
        4_294_967_295.0,
        4_294_967_296.0,
        1e15,
        9_007_199_254_740_992.0,
        1.8e19,
        1.9e19,
        1e300,
        f64::INFINITY,
    ];
    let keys = numbers
        .map(Key::Number)
        .into_iter()
        .chain([1.7e12, 1.700_000_06e12, 1.8e12].map(Key::Date))
        .chain(
            [
                "",
                "a",
                "aa",
                "ab",
                "abcd1",
                "abcd2",
                "b",
                "\u{416}",
                "\u{416}\u{416}",
            ]
            .map(string),
        )
        .chain([
            Key::Binary(vec![0]),
            Key::Binary(vec![0, 1]),
            Key::Binary(vec![1]),
        ])
        .chain([
            Key::array(vec![]).unwrap(),
            Key::array(vec![Key::Number(1.0)]).unwrap(),
            Key::array(vec![string("a"), string("b")]).unwrap(),
            Key::array(vec![string("a"), string("c")]).unwrap(),
        ]);
    let keys: Vec<Vec<u8>> = keys.map(|key| encoded(&key)).collect();
    let mut rows = Vec::new();
    for prefix in [
        &[0, 1, 1, 1][..],
        &[0, 1, 1, 2],
        &[0, 1, 1, 30],
        &[0, 1, 2, 1],
        &[0x20, 1, 1, 1, 1],
    ] {
        rows.extend(keys.iter().map(|key| [prefix, key].concat()));
    }
    for pair in rows.windows(2) {
        // The memtable's nodes hold the upper half.
        assert!(
            row_head(&pair[0]) >> 64 < row_head(&pair[1]) >> 64,
            "{pair:02x?}"
        );
    }
    // Rows of one index key have their primary keys in their heads; of one table, longer strings.
    let index_key = encoded(&Key::Number(9_999.0));
    let primary = |n: f64| [&index_key[..], &[0], &encoded(&Key::Number(n))].concat();
    let long = |end: &str| encoded(&string(&["abcdefghijkl", end].concat()));
    for (a, b, half) in [
        (entry(&primary(9_998.0)), entry(&primary(9_999.0)), 64),
        (entry(&long("1")), entry(&long("2")), 0),
    ] {
        assert!(
            row_head(&a) >> half < row_head(&b) >> half,
            "{a:02x?} {b:02x?}"
        );
    }
}

/// What [`row_identity`] promises of two rows.
fn is_honest(a: &[u8], b: &[u8]) -> bool {
    use RowIdentity::{Entry, Several, Unclear};
    match (row_identity(a), row_identity(b)) {
        (Unclear, _) | (_, Unclear) => true,
        (Several | Entry { .. }, Several | Entry { .. }) => true,
        _ => a == b || compare(a, b) != Ordering::Equal,
    }
}

/// What it promises of an index row and another row: that one is not between this one's index key and this one, or is of that
/// key, too.
fn lies_with_its_like(entry: &[u8], other: &[u8]) -> bool {
    let RowIdentity::Entry { key_end } = row_identity(entry) else {
        return true;
    };
    let index_key = &entry[..key_end];
    if compare(index_key, entry).is_gt() || row_identity(index_key) != row_identity(entry) {
        return false;
    }
    let is_between = compare(index_key, other).is_le() && compare(other, entry).is_le();
    match row_identity(other) {
        RowIdentity::Unclear => true,
        identity if other.starts_with(index_key) => identity == RowIdentity::Entry { key_end },
        _ => !is_between,
    }
}

/// -0 for the first 0, if there is one.
fn with_other_zero(mut row: Vec<u8>) -> Vec<u8> {
    if let Some(at) = row.windows(8).position(|eight| eight == [0; 8]) {
        row[at + 7] = 0x80;
    }
    row
}

#[test]
fn rows_of_records_are_their_bytes_unless_a_zero_or_what_is_never_written_is_in_them() {
    use RowIdentity::{Bytes, Entry, Several, Unclear};
    let rows: [(&[u8], RowIdentity); 26] = [
        (&[0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f], Bytes),
        (&[0, 1, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f], Bytes),
        (&[0, 1, 1, 1, 3, 1, 0, 0, 0, 0, 0, 0, 0], Bytes),
        (&[0, 1, 1, 1, 1, 1, 0, 0x61], Bytes),
        (&[0, 1, 1, 1, 1, 0], Bytes),
        (&[0, 1, 1, 1, 6, 2, 0, 0x80], Bytes),
        (&[0, 1, 1, 1, 4, 2, 1, 1, 0, 0x61, 6, 0], Bytes),
        (&[0x20, 0, 1, 1, 1, 1, 0], Bytes),
        // 0 and -0, also where they only look like them, and in arrays.
        (&[0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0], Several),
        (&[0, 1, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0x80], Several),
        (&[0, 1, 1, 1, 4, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0x80], Several),
        // In strings and bytes there are no numbers.
        (&[0, 1, 1, 1, 6, 8, 0, 0, 0, 0, 0, 0, 0, 0], Bytes),
        (&[0, 1, 1, 1, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0], Bytes),
        (&[0, 1, 1, 1, 4, 1, 6, 8, 0, 0, 0, 0, 0, 0, 0, 0], Several),
        // Not rows of records.
        (&[0, 0, 0, 0, 1], Several),
        (&[0, 1, 0, 0, 1], Several),
        // Of an index.
        (&[0, 1, 1, 30, 1, 0, 0, 1, 0], Entry { key_end: 6 }),
        (&[0, 1, 1, 30, 1, 0], Entry { key_end: 6 }),
        (&[0, 1, 1, 30, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0], Several),
        (&[0, 1, 1, 30, 7, 0, 0, 1, 0], Unclear),
        // Longer numbers than needed, more behind the key, NaN, cut off, the ends of a table.
        (&[0x20, 1, 0, 1, 1, 1, 0], Unclear),
        (&[0, 1, 1, 1, 1, 0x80, 0], Unclear),
        (&[0, 1, 1, 1, 1, 0, 9], Unclear),
        (&[0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f], Unclear),
        (&[0, 1, 1, 1, 6, 2, 0], Unclear),
        (&[0, 1, 1, 1], Unclear),
    ];
    for (row, identity) in rows {
        assert_eq!(row_identity(row), identity, "{row:02x?}");
        for (other, _) in rows {
            assert!(is_honest(row, other), "{row:02x?} {other:02x?}");
        }
    }
}

properties! {
    fn the_comparator_agrees_with_its_naive_twin(family: Family) -> bool {
        let Family(keys) = family;
        keys.iter().all(|a| keys.iter().all(|b| {
            compare(a, b) == naive::fields(a, false).cmp(&naive::fields(b, false))
                && compare_index_keys(a, b) == naive::fields(a, true).cmp(&naive::fields(b, true))
                && compare_user_keys(a, b) == naive::user_key_fields(a).cmp(&naive::user_key_fields(b))
        }))
    }

    fn signed_bytes_agree_with_the_naive_twin(family: Family) -> bool {
        let Family(keys) = family;
        keys.iter().all(|a| keys.iter().all(|b| {
            let order = RowOrder::SignedBytes;
            order.compare(a, b) == naive::signed_fields(a).cmp(&naive::signed_fields(b))
                && order.compare(a, b).is_eq() == compare(a, b).is_eq()
        }))
    }

    /// Metadata, and rows of no table that is known.
    fn rows_that_look_like_numbers_are_compared_as_what_they_are(ids: (u8, u8, u8), a: Vec<u8>, b: Vec<u8>) -> bool {
        let row = |tail: &[u8]| {
            let mut row = vec![0, ids.0 % 2, ids.1 % 2, ids.2 % 34, 3];
            row.extend_from_slice(tail);
            row.resize(row.len().max(14), 0);
            row
        };
        let (a, b) = (row(&a), row(&b));
        compare(&a, &b) == naive::fields(&a, false).cmp(&naive::fields(&b, false))
    }

    fn any_bytes_are_totally_preordered(family: Family) -> bool {
        let Family(keys) = family;
        [compare, compare_index_keys].iter().all(|order| {
            let transitive = |a, b, c| {
                order(a, b) == Ordering::Greater || order(b, c) == Ordering::Greater
                    || order(a, c) == order(a, b).then(order(b, c))
            };
            keys.iter().all(|a| order(a, a) == Ordering::Equal && keys.iter().all(|b| {
                order(a, b) == order(b, a).reverse() && keys.iter().all(|c| transitive(a, b, c))
            }))
        })
    }

    fn heads_never_contradict_the_order(family: Family, keys: Vec<KeyBound>, ids: Vec<(u64, u8)>) -> bool {
        let Family(mut rows) = family;
        // Of all sizes alike.
        let mut ids = ids.iter().map(|(id, shift)| id >> (shift % 64)).cycle().take(12);
        let mut next_id = || ids.next().unwrap_or(1);
        for key in keys.iter().take(4) {
            let key = bytes_of(|out| key.encode(out));
            let prefix = KeyPrefix {
                database: next_id(),
                object_store: next_id(),
                index: next_id() as u32,
            };
            let prefix = bytes_of(|out| prefix.encode(out));
            rows.push([&prefix[..], &key].concat());
            rows.push([&[0, 1, 1, 1], &key[..]].concat());
            rows.push(entry(&[&key[..], &[3], &key].concat()));
        }
        rows.extend(rows.clone().into_iter().map(with_other_zero));
        rows.iter().all(|a| rows.iter().all(|b| heads_agree(a, b)))
    }

    fn keys_that_are_equal_with_other_bytes_say_so(family: Family, key: Key) -> bool {
        let Family(mut keys) = family;
        let row = bytes_of(|out| key.encode(out));
        for table in 1..=3 {
            keys.push([&[0, 1, 1, table], &row[..]].concat());
        }
        keys.extend(keys.clone().into_iter().flat_map(|key| [
            with_other_zero(key.clone()),
            [&key[..], &[7]].concat(),
        ]));
        keys.iter().all(|a| keys.iter().all(|b| is_honest(a, b)))
    }

    fn entries_of_an_index_key_lie_together_behind_it(family: Family, keys: Vec<Key>) -> bool {
        let Family(mut rows) = family;
        let keys: Vec<Vec<u8>> = keys.iter().take(3).map(|key| bytes_of(|out| key.encode(out))).collect();
        for index_key in &keys {
            rows.push(entry(index_key));
            rows.extend(keys.iter().map(|primary| entry(&[index_key, &[0][..], primary].concat())));
        }
        rows.extend(rows.clone().into_iter().flat_map(|row| [
            with_other_zero(row.clone()),
            [&row[..], &[7]].concat(),
            row[..row.len().saturating_sub(1)].to_vec(),
        ]));
        rows.iter().all(|a| rows.iter().all(|b| lies_with_its_like(a, b)))
    }

    fn encoded_user_keys_order_like_the_keys(a: KeyBound, b: KeyBound) -> bool {
        let (bytes_a, bytes_b) = (bytes_of(|out| a.encode(out)), bytes_of(|out| b.encode(out)));
        let rows = |user: &[u8]| [&[0, 1, 1, 1], user].concat();
        compare_user_keys(&bytes_a, &bytes_b) == a.cmp(&b)
            && compare(&rows(&bytes_a), &rows(&bytes_b)) == a.cmp(&b)
    }

    fn arrays_with_a_common_beginning_order_like_the_keys(common: Vec<Key>, a: Vec<Key>, b: Vec<Key>, after: Key) -> bool {
        let nested = |end: &[Key]| {
            let inner = Key::array([&common[..3.min(common.len())], &end[..2.min(end.len())]].concat());
            Key::array(vec![inner.unwrap(), after.clone()]).unwrap()
        };
        let keys = [nested(&a), nested(&b), nested(&[]), after.clone()];
        let bytes = keys.each_ref().map(|key| bytes_of(|out| key.encode(out)));
        (0..4).all(|i| (0..4).all(|j| compare_user_keys(&bytes[i], &bytes[j]) == keys[i].cmp(&keys[j])))
    }

    fn index_entries_order_by_index_key_then_primary_key(a: (KeyBound, KeyBound), b: (KeyBound, KeyBound), sequences: (u8, u8)) -> bool {
        let row = |(key, primary): &(KeyBound, KeyBound), sequence: u8| {
            let key = bytes_of(|out| key.encode(out));
            let primary = bytes_of(|out| primary.encode(out));
            entry(&[&key[..], &[sequence & 0x7f], &primary].concat())
        };
        let (row_a, row_b) = (row(&a, sequences.0), row(&b, sequences.1));
        let sequence_order = (sequences.0 & 0x7f).cmp(&(sequences.1 & 0x7f));
        compare(&row_a, &row_b) == a.cmp(&b).then(sequence_order)
            && compare_index_keys(&row_a, &row_b) == a.0.cmp(&b.0)
    }
}
