//! Reads every test vector of `docs/FORMAT.md` and checks it in both directions.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "format_vectors/render.rs"]
mod render;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use larder_codec::blob_journal::BlobJournal;
use larder_codec::row_key::RecordTable;
use larder_codec::scopes::{CleanupTask, ScopeMetadata, ScopesMetadata, UndoTask};
use larder_codec::{
    DataVersion, DatabaseId, IndexId, JsString, Key, KeyBound, KeyPath, KeyPrefix, ObjectStoreId,
    Origin, Result, RowKey, RowOrder, RowValue, compare, compare_index_keys, external_object,
    primitive, range, sortable,
};
use render::Render;

const FORMAT: &str = include_str!("../../docs/FORMAT.md");

/// What bytes decode to, as text, and what that encodes to.
type Decoded = Result<(String, Vec<u8>)>;

fn both<T: Render>(decoded: Result<T>, encode: impl FnOnce(&T, &mut Vec<u8>)) -> Decoded {
    let value = decoded?;
    let mut bytes = Vec::new();
    encode(&value, &mut bytes);
    Ok((value.render(), bytes))
}

fn decode(kind: &str, bytes: &[u8]) -> Decoded {
    use primitive::{binary, boolean, byte, double, int, string, string_with_length, var_int};
    match kind {
        "byte" => both(byte::decode_exact(bytes), |v, out| byte::encode(*v, out)),
        "bool" => both(boolean::decode_exact(bytes), |v, out| {
            boolean::encode(*v, out)
        }),
        "int" => both(int::decode_exact(bytes), |v, out| int::encode(*v, out)),
        "varint" => both(var_int::decode_exact(bytes), |v, out| {
            var_int::encode(*v, out)
        }),
        "double" => both(double::decode_exact(bytes), |v, out| {
            double::encode(*v, out)
        }),
        "string" => both(string::decode_exact(bytes), string::encode),
        "string-with-length" => both(
            string_with_length::decode_exact(bytes),
            string_with_length::encode,
        ),
        "binary" => both(binary::decode_exact(bytes), |v, out| binary::encode(v, out)),
        "key" => both(Key::decode_exact(bytes), Key::encode),
        "bound" => both(KeyBound::decode_exact(bytes), KeyBound::encode),
        "sortable" => both(sortable::decode_exact(bytes), sortable::encode),
        "prefix" => both(KeyPrefix::decode_exact(bytes), KeyPrefix::encode),
        "row" => both(RowKey::decode_exact(bytes), RowKey::encode),
        "key-path" => both(KeyPath::decode_exact(bytes), KeyPath::encode),
        "data-version" => both(DataVersion::decode_exact(bytes), DataVersion::encode),
        "journal" => both(BlobJournal::decode_exact(bytes), BlobJournal::encode),
        "external-objects" => both(external_object::decode_all(bytes), |v, out| {
            external_object::encode_all(v, out);
        }),
        "schema-3-objects" => both(external_object::schema_3::decode_all(bytes), |v, out| {
            v.iter().for_each(|object| object.encode(out));
        }),
        "scopes-metadata" => both(ScopesMetadata::decode_exact(bytes), ScopesMetadata::encode),
        "scope" => both(ScopeMetadata::decode_exact(bytes), ScopeMetadata::encode),
        "undo" => both(UndoTask::decode_exact(bytes), UndoTask::encode),
        "cleanup" => both(CleanupTask::decode_exact(bytes), CleanupTask::encode),
        other => {
            let key = unhex(other.strip_prefix("row-value ").unwrap_or_else(|| {
                panic!("unknown kind of vector {other}");
            }));
            let key = RowKey::decode_exact(&key).unwrap();
            both(RowValue::decode_exact(&key, bytes, 5), RowValue::encode)
        }
    }
}

fn range_end(words: &[&str]) -> Vec<u8> {
    let (class, end) = (words[0], words[words.len() - 1]);
    let ids: Vec<i64> = words[1..words.len() - 1]
        .iter()
        .map(|word| word.parse().unwrap())
        .collect();
    let database = DatabaseId::new(ids[0]).unwrap();
    let store = || ObjectStoreId::new(ids[1]).unwrap();
    let index = || IndexId::new(ids[2]).unwrap();
    match (class, end) {
        ("database", "low") => range::database_low(database),
        ("database", "end") => range::database_end(database),
        ("data", "low") => range::table_low(database, store(), RecordTable::Data),
        ("data", "high") => range::table_high(database, store(), RecordTable::Data),
        ("external-objects", "low") => {
            range::table_low(database, store(), RecordTable::ExternalObject)
        }
        ("external-objects", "high") => {
            range::table_high(database, store(), RecordTable::ExternalObject)
        }
        ("entries", "low") => range::index_entries_low(database, store(), index()),
        ("entries", "high") => range::index_entries_high(database, store(), index()),
        ("object-store-metadata", "high") => range::object_store_high(database, store()),
        ("index-metadata", "high") => range::index_high(database, store(), index()),
        other => panic!("unknown range {other:?}"),
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: String = text
        .split_whitespace()
        .filter(|word| *word != "-")
        .collect();
    assert!(digits.len().is_multiple_of(2), "half a byte in {text}");
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

/// Checks one line; gives its kind.
fn check(line: &str) -> String {
    let fields: Vec<&str> = line.split('|').map(str::trim).collect();
    let head = fields[0];
    if let Some(name) = head.strip_prefix("range ") {
        let words: Vec<&str> = name.split_whitespace().collect();
        assert_eq!(range_end(&words), unhex(fields[1]), "{line}");
        return "range".to_owned();
    }
    match head {
        "order" | "order-index-keys" | "order-signed" => check_order(line, &fields),
        "origin" => {
            let origin = Origin::from_identifier(fields[1]).unwrap_or_else(|| panic!("{line}"));
            assert_eq!(origin.to_string(), fields[2], "{line}");
            assert_eq!(origin.identifier(), fields[1], "{line}");
            match origin.is_opaque() {
                true => assert!(Origin::from_url(fields[2]).is_err(), "{line}"),
                false => assert_eq!(Origin::from_url(fields[2]), Ok(origin), "{line}"),
            }
        }
        "refuses origin" => assert_eq!(Origin::from_identifier(fields[1]), None, "{line}"),
        _ => check_bytes(line, head, &unhex(fields[1]), fields[2]),
    }
    head.split_whitespace()
        .find(|word| !["reads", "refuses"].contains(word))
        .unwrap()
        .to_owned()
}

fn check_bytes(line: &str, head: &str, bytes: &[u8], value: &str) {
    if let Some(kind) = head.strip_prefix("refuses ") {
        assert!(decode(kind, bytes).is_err(), "{line}");
        return;
    }
    let (kind, canonical) = match head.strip_prefix("reads ") {
        Some(kind) => (kind, false),
        None => (head, true),
    };
    let (rendered, encoded) = decode(kind, bytes).unwrap_or_else(|error| panic!("{line}: {error}"));
    assert_eq!(rendered, value, "{line}");
    assert_eq!(
        encoded == bytes,
        canonical,
        "{line}: encodes to {encoded:02x?}"
    );
}

fn check_order(line: &str, fields: &[&str]) {
    let order = match fields[0] {
        "order" => compare,
        "order-index-keys" => compare_index_keys,
        _ => |a: &[u8], b: &[u8]| RowOrder::SignedBytes.compare(a, b),
    };
    let (a, b) = (unhex(fields[1]), unhex(fields[3]));
    let expected = match fields[2] {
        "<" => Ordering::Less,
        "=" => Ordering::Equal,
        other => panic!("unknown order {other}"),
    };
    assert_eq!(order(&a, &b), expected, "{line}");
    assert_eq!(order(&b, &a), expected.reverse(), "{line}");
}

#[test]
fn every_vector_in_the_format_document_holds() {
    let mut counts = BTreeMap::<String, usize>::new();
    let mut inside = false;
    for line in FORMAT.lines() {
        match line {
            "```vectors" => inside = true,
            "```" => inside = false,
            vector if inside => *counts.entry(check(vector)).or_default() += 1,
            _ => {}
        }
    }
    // A change of the markup must not empty the test.
    let kinds = [
        "binary",
        "bool",
        "bound",
        "byte",
        "cleanup",
        "data-version",
        "double",
        "external-objects",
        "int",
        "journal",
        "key",
        "key-path",
        "order",
        "order-index-keys",
        "order-signed",
        "origin",
        "prefix",
        "range",
        "row",
        "row-value",
        "schema-3-objects",
        "scope",
        "scopes-metadata",
        "sortable",
        "string",
        "string-with-length",
        "undo",
        "varint",
    ];
    assert_eq!(counts.keys().map(String::as_str).collect::<Vec<_>>(), kinds);
    assert!(counts.values().sum::<usize>() >= 200, "{counts:?}");
}

#[test]
fn texts_in_vectors_show_every_unit() {
    let text = JsString::from_units(vec![0x61, 0x22, 0x5c, 0, 0xd800, 0x7f]);
    assert_eq!(text.render(), r#""a\u0022\u005c\u0000\ud800\u007f""#);
}
