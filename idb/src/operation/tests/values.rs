//! Values on their way in and out: large ones, generated keys, external objects.

use std::io::Read;
use std::sync::Arc;

use larder_backing_store::blob::NewExternalObject;
use larder_codec::external_object::ExternalObject as Object;
use larder_codec::value::{ParsedKeyPath, PropertyName, Value as JsValue};
use larder_codec::{Key, KeyPath};
use serde::{Deserialize, Serialize};

use super::super::{get, get_many};
use larder_fixtures::random::Random;

use super::{Bed, Value, by, commit, make_index, make_store, put_value, whole};
use crate::error::ErrorName;
use crate::key_range::KeyRange;

/// A value of so many bytes that do not compress.
fn noise(random: &mut Random, len_bytes: usize) -> String {
    (0..len_bytes)
        .map(|_| char::from(b' ' + (random.below(94)) as u8))
        .collect()
}

#[test]
fn large_values_come_back_whole_from_rows_and_blobs_in_the_same_transaction_and_after() {
    let mut random = Random::new(1);
    let bed = Bed::new();
    let mut execution = bed.upgrade();
    let store = make_store(&mut execution, "s", KeyPath::Null, false);
    let texts = [
        noise(&mut random, 10),
        "x".repeat(65_536),
        "y".repeat(10_000_000),
        noise(&mut random, 65_000),
        noise(&mut random, 300_000),
    ];
    for (at, text) in texts.iter().enumerate() {
        let value = Value::serialize(text).unwrap();
        put_value(&mut execution, &store, value, Some(Key::Number(at as f64))).unwrap();
    }
    let source = whole(&store);
    let check = |execution: &mut super::Execution| {
        for (at, text) in texts.iter().enumerate() {
            let range = KeyRange::only(Key::Number(at as f64));
            let found = get(execution, &source, &range).unwrap().unwrap();
            assert_eq!(&found.deserialize::<String>().unwrap(), text);
            assert_eq!(found.bytes(), Value::serialize(text).unwrap().bytes());
            assert!(
                found.objects().is_empty(),
                "the wrapper is nobody's business"
            );
        }
        let all = get_many(execution, &source, &[KeyRange::all(), 4.0.into()]).unwrap();
        let told: Vec<_> = all
            .iter()
            .map(|entry| (entry.request, entry.value().len()))
            .collect();
        assert_eq!(told[0].0, 0);
        assert_eq!(
            told[1],
            (1, Value::serialize(&texts[4]).unwrap().bytes().len())
        );
    };
    check(&mut execution);
    commit(execution);
    check(&mut bed.read());
}

#[test]
fn blobs_files_and_handles_come_back_with_a_wrapped_value_among_them() {
    let mut random = Random::new(2);
    let bed = Bed::new();
    let mut execution = bed.upgrade();
    let store = make_store(&mut execution, "s", KeyPath::Null, false);
    let objects = vec![
        NewExternalObject::FileSystemAccessHandle { token: vec![7; 9] },
        NewExternalObject::Blob {
            mime_type: "text/plain".into(),
            content: Arc::new(b"blob".to_vec()),
        },
        NewExternalObject::File {
            mime_type: "".into(),
            content: Arc::new(vec![1_u8; 100_000]),
            name: "f".into(),
            last_modified_micros: 13_400_000_000_000_000,
        },
    ];
    let text = noise(&mut random, 100_000);
    let bytes = Value::serialize(&text).unwrap().bytes().to_vec();
    let value = Value::with_objects(bytes, objects);
    put_value(&mut execution, &store, value, Some(1.0.into())).unwrap();
    let plain = Value::serialize("plain").unwrap();
    put_value(&mut execution, &store, plain, Some(2.0.into())).unwrap();
    let source = whole(&store);
    let check = |execution: &mut super::Execution| {
        let found = get(execution, &source, &1.0.into()).unwrap().unwrap();
        assert_eq!(found.deserialize::<String>().unwrap(), text);
        let [blob, file, handle] = found.objects() else {
            panic!("three external objects: {:?}", found.objects());
        };
        let content = |object: &crate::ExternalObject| {
            let mut content = Vec::new();
            object.open().unwrap().read_to_end(&mut content).unwrap();
            content
        };
        assert_eq!(content(blob), b"blob");
        assert_eq!(content(file), vec![1; 100_000]);
        assert!(matches!(file.info(), Object::File { name, .. } if *name == "f"));
        let token = vec![7; 9];
        assert_eq!(handle.info(), &Object::FileSystemAccessHandle { token });
        assert_eq!(
            handle.open().err().unwrap().name(),
            ErrorName::NotReadableError
        );
        let plain = get(execution, &source, &2.0.into()).unwrap().unwrap();
        assert!(plain.objects().is_empty());
        found
    };
    check(&mut execution);
    commit(execution);
    let kept = check(&mut bed.read());
    // The record goes, and the blob stays readable as long as it is held.
    let mut execution = bed.upgrade();
    super::super::clear(&mut execution, &store).unwrap();
    commit(execution);
    let mut content = Vec::new();
    kept.objects()[0]
        .open()
        .unwrap()
        .read_to_end(&mut content)
        .unwrap();
    assert_eq!(content, b"blob");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    name: String,
    at: Vec<u32>,
}

#[test]
fn generated_keys_are_seen_in_values_and_by_indexes_and_are_not_stored() {
    let bed = Bed::new();
    let mut execution = bed.upgrade();
    let path = KeyPath::String("sub.id".into());
    let store = make_store(&mut execution, "s", path.clone(), true);
    let index = make_index(&mut execution, &store, "i", "sub.id", (true, false)).unwrap();
    for number in 1..=3 {
        let row = Row {
            name: format!("row {number}"),
            at: vec![number],
        };
        let key = put_value(
            &mut execution,
            &store,
            Value::serialize(&row).unwrap(),
            None,
        );
        assert_eq!(key.unwrap(), Key::Number(f64::from(number)));
    }
    for source in [whole(&store), by(&store, &index)] {
        let found = get(&mut execution, &source, &2.0.into()).unwrap().unwrap();
        let tree = found.tree().unwrap();
        let key = tree
            .evaluate(&ParsedKeyPath::new(&path).unwrap(), &[])
            .key();
        assert_eq!(key, Some(Key::Number(2.0)));
        let JsValue::Object(root) = tree.root() else {
            panic!("an object");
        };
        assert!(
            tree.get(
                root,
                &PropertyName::String(larder_codec::value::JsStr::Latin1(b"name"))
            )
            .is_some()
        );
    }
    let id = store.id().unwrap();
    let mut record = larder_backing_store::Record::new();
    let mut bytes = Vec::new();
    Key::Number(2.0).encode(&mut bytes);
    let raw = larder_codec::RawKey::decode_exact(&bytes).unwrap();
    let reads = execution.backing.reads();
    assert!(reads.get(bed.id, id, raw, &mut record).unwrap());
    let row = Row {
        name: "row 2".into(),
        at: vec![2],
    };
    assert_eq!(record.value(), Value::serialize(&row).unwrap().bytes());
    // An index that comes later sees them, too.
    let later = make_index(&mut execution, &store, "later", "sub.id", (true, false)).unwrap();
    let source = by(&store, &later);
    assert!(get(&mut execution, &source, &3.0.into()).unwrap().is_some());
}

#[test]
fn a_key_that_was_given_stays_in_the_value_as_it_was() {
    let bed = Bed::new();
    let mut execution = bed.upgrade();
    let store = make_store(&mut execution, "s", KeyPath::String("id".into()), true);
    // `{id: "k", rest: 1}`.
    let value = Value::serialize(&serde_like("k")).unwrap();
    let key = put_value(&mut execution, &store, value.clone(), Some("k".into())).unwrap();
    assert_eq!(key, "k".into());
    let source = whole(&store);
    let found = get(&mut execution, &source, &Key::from("k").into())
        .unwrap()
        .unwrap();
    assert_eq!(found.bytes(), value.bytes());
}

fn serde_like(id: &str) -> std::collections::BTreeMap<&'static str, String> {
    [("id", id.to_owned()), ("rest", "1".to_owned())].into()
}

/// Puts bytes into a record's row as they are.
fn put_raw(
    execution: &mut super::Execution,
    store: &crate::schema::StoreCell,
    value: &[u8],
    external_objects: &[NewExternalObject],
) {
    let mut key = Vec::new();
    Key::Number(1.0).encode(&mut key);
    let put = larder_backing_store::Put {
        key: larder_backing_store::PutKey::Given(larder_codec::RawKey::decode_exact(&key).unwrap()),
        value,
        mode: larder_backing_store::PutMode::Put,
        index_keys: &[],
        external_objects,
    };
    let id = store.id().unwrap();
    execution.writer().unwrap().put(id, &put).unwrap();
    execution.known(id).unwrap().has_objects |= !external_objects.is_empty();
}

#[test]
fn values_that_lie_about_where_they_are_or_how_large_are_refused() {
    let bed = Bed::new();
    let mut execution = bed.upgrade();
    let store = make_store(&mut execution, "s", KeyPath::Null, false);
    let source = whole(&store);
    // In a blob, of 2^63 bytes; a Snappy block that claims 4 GiB; swapped pairs without their half.
    let hostile: [&[u8]; 4] = [
        b"\xff\x11\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x00",
        b"\xff\x11\x01\x05\x00",
        b"\xff\x11\x02\xff\xff\xff\xff\x0f\x00\x61",
        b"\x01\xff\x02",
    ];
    for value in hostile {
        put_raw(&mut execution, &store, value, &[]);
        let refused = get(&mut execution, &source, &1.0.into()).unwrap_err();
        assert_eq!(refused.name(), ErrorName::UnknownError, "{value:x?}");
        assert_eq!(refused.kind(), crate::ErrorKind::Corruption, "{value:x?}");
    }
    // With a blob of ten bytes, for which the value has another size or another place.
    for (size, index, is_right) in [(9, 0, false), (11, 0, false), (10, 1, false), (10, 0, true)] {
        let value = [0xff, 0x11, 1, size, index];
        let blob = NewExternalObject::Blob {
            mime_type: "".into(),
            content: Arc::new(b"\xff\x0f\"\x06inside".to_vec()),
        };
        put_raw(&mut execution, &store, &value, &[blob]);
        match get(&mut execution, &source, &1.0.into()) {
            Ok(value) => {
                assert!(is_right, "{size} {index}");
                assert_eq!(value.unwrap().deserialize::<String>().unwrap(), "inside");
            }
            Err(refused) => {
                assert!(!is_right, "{size} {index}: {refused}");
                assert_eq!(refused.kind(), crate::ErrorKind::Corruption);
            }
        }
    }
}
