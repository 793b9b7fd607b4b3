//! What the order of signed bytes changes, and what it leaves as it is.

use super::entry;
use crate::compare::RowOrder;

/// What the order is for: these stand the other way round than in Chromium's order, or as in it.
#[test]
fn bytes_from_80_on_come_first_in_user_keys_and_scopes_alone() {
    let signed = |a: &[u8], b: &[u8]| RowOrder::SignedBytes.compare(a, b);
    let string = |unit: u16| {
        let mut row = vec![0, 1, 1, 1, 1, 1];
        row.extend_from_slice(&unit.to_be_bytes());
        row
    };
    // By byte, not by unit: 0041 < 00e9 turns round, and so does 8001 against 0041.
    assert!(signed(&string(0xe9), &string(0x41)).is_lt());
    assert!(signed(&string(0x8001), &string(0xe9)).is_lt());
    assert!(signed(&string(0x4180), &string(0x4100)).is_lt());
    assert!(signed(&string(0x4100), &string(0x4201)).is_lt());
    let binary = |byte: u8| [0, 1, 1, 1, 6, 1, byte];
    assert!(signed(&binary(0xff), &binary(0)).is_lt());
    let in_array = |byte: u8| [0, 1, 1, 1, 4, 1, 6, 1, byte];
    assert!(signed(&in_array(0x80), &in_array(0xff)).is_lt());
    assert!(signed(&in_array(0xff), &in_array(0)).is_lt());
    // Of an index, the key and the primary key.
    assert!(signed(&entry(&[6, 1, 0x80, 0, 5]), &entry(&[6, 1, 0, 0, 5])).is_lt());
    assert!(signed(&entry(&[5, 0, 6, 1, 0x80]), &entry(&[5, 0, 6, 1, 0])).is_lt());
    let scopes = |byte: u8| [0, 0, 0, 0, 50, 2, byte];
    assert!(signed(&scopes(0x80), &scopes(1)).is_lt());
    // Names are compared by their units, numbers by their values.
    let database_name = |unit: u8| [0, 0, 0, 0, 201, 0, 1, 0, unit];
    assert!(signed(&database_name(0x7a), &database_name(0xe9)).is_lt());
    let store_name = |unit: u8| [0, 1, 0, 0, 200, 1, 0, unit];
    assert!(signed(&store_name(0x7a), &store_name(0xe9)).is_lt());
    let number = |byte: u8| [0, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0, byte, 0x3f];
    assert!(signed(&number(0x7f), &number(0xf0)).is_lt());
    // A string that goes on is behind one that ends.
    assert!(signed(&[0, 1, 1, 1, 1, 0], &string(0xe9)).is_lt());
}
