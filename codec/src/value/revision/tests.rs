use quickcheck::quickcheck;

use super::*;
use crate::idb_key::{Key, RawKey};
use crate::value::{Decoder, Evaluated, Evaluator, ParsedKeyPath, Payload};
use crate::{DataVersion, JsString, KeyPath};

const NOW: DataVersion = DataVersion { v8: 15, blink: 21 };

fn row(name: JsStr<'_>, committed_at_ms: Option<f64>) -> RevisionsRow<'_> {
    RevisionsRow {
        object_stores: vec![ChangedObjectStore {
            id: ObjectStoreId::new(300).unwrap(),
            name,
            version: RecordVersion::new(1 << 40).unwrap(),
        }],
        is_from_source: committed_at_ms.is_none(),
        committed_at_ms,
    }
}

fn revision(key: RawKey<'_>, back: u32) -> RevisionRow<RawKey<'_>> {
    RevisionRow {
        back,
        kind: RevisionKind::Modification,
        object_store_id: ObjectStoreId::new(300).unwrap(),
        version: RecordVersion::new((1 << 40) - i64::from(back)).unwrap(),
        before: RecordVersion::new(i64::from(back % 3)),
        key,
    }
}

fn raw(key: &Key) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.encode(&mut bytes);
    bytes
}

fn encoded(row: &RevisionsRow<'_>, keys: &[Key], version: DataVersion) -> Vec<u8> {
    let keys: Vec<Vec<u8>> = keys.iter().map(raw).collect();
    let mut out = Vec::new();
    let revisions = keys.iter().enumerate().map(|(at, key)| {
        let back = (keys.len() - 1 - at) as u32;
        revision(RawKey::decode_exact(key).unwrap(), back)
    });
    row.encode(revisions, version, &mut out);
    out
}

#[test]
fn its_bytes_are_those_of_the_documented_object() {
    let name = JsStr::from_utf16_le(b"b\0o\0o\0k\0s\0").unwrap();
    let bytes = encoded(&row(name, Some(1.5)), &["a".into()], NOW);
    let wire = b"o\"\x04endsA\x01A\x02I\xd8\x04N\0\0\0\0\0\0\x70\x42$\0\x02$\0\x01\"\x05namesA\x01\"\x05books$\0\x01\
        \"\x09committedN\0\0\0\0\0\0\xf8\x3f\"\x07changesA\x01A\x06I\0I\x04I\xd8\x04N\0\0\0\0\0\0\x70\x42I\0\"\x01a$\0\x06$\0\x01{\x04";
    assert_eq!(bytes[17..], *wire);
}

quickcheck! {
    fn they_are_read_as_they_were_written_and_a_page_finds_the_ends(keys: Vec<Key>, name: JsString, ended: bool, old: bool) -> bool {
        let version = if old { DataVersion { v8: 13, blink: 17 } } else { NOW };
        let name: Vec<u8> = name.units().iter().copied().flat_map(u16::to_le_bytes).collect();
        let row = row(JsStr::from_utf16_le(&name).unwrap(), ended.then_some(2.0));
        let bytes = encoded(&row, &keys, version);
        let payload = Payload::read(&bytes).unwrap();
        let mut reader = RevisionsReader::new(&payload).unwrap();
        let mut buffer = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            let key = raw(key);
            let expected = revision(RawKey::decode_exact(&key).unwrap(), (keys.len() - 1 - at) as u32);
            if reader.next(&mut buffer).unwrap() != Some(expected) {
                return false;
            }
        }
        Decoder::new().decode(&payload).unwrap();
        let path = ParsedKeyPath::new(&KeyPath::String("ends".into())).unwrap();
        let end = |number| Key::Number(number);
        let ends = Key::array(vec![Key::array(vec![end(300.0), end((1_i64 << 40) as f64)]).unwrap()]).unwrap();
        reader.next(&mut buffer).unwrap().is_none()
            && *reader.row() == row
            && Evaluator::new().evaluate(&path, &payload, &[]).unwrap() == Evaluated::Key(ends)
    }

    fn any_bytes_are_read_or_refused(bytes: Vec<u8>, at: usize, byte: u8) -> bool {
        let read = |bytes: &[u8]| {
            let mut reader = RevisionsReader::new(&Payload::read(bytes).ok()?).ok()?;
            while reader.next(&mut Vec::new()).ok()?.is_some() {}
            Some(())
        };
        let mut harmed = encoded(&row("s".into(), None), &[1.into(), "x".into()], NOW);
        let at = at % harmed.len();
        harmed[at] = byte;
        let _ = (read(&bytes), read(&harmed), read(&harmed[..at]));
        true
    }
}
