//! Row keys: every class round trips, damage is refused, ranges enclose their rows.

use std::cmp::Ordering;

use quickcheck::{Arbitrary, Gen};

use super::*;
use crate::compare::compare;
use crate::idb_key::{Key, RawKey};
use crate::ids::{DatabaseId, IndexId, ObjectStoreId, ScopeId};
use crate::js_string::JsString;
use crate::range;
use crate::testing::{below, bytes_of, damage, one_of, properties};

/// The bytes of a key that a writer could have stored, in today's form or an old one.
#[derive(Debug, Clone)]
pub(crate) struct StoredKey(pub(crate) Vec<u8>);

impl Arbitrary for StoredKey {
    fn arbitrary(g: &mut Gen) -> Self {
        let (user, primary) = (Key::arbitrary(g), Key::arbitrary(g));
        let user = bytes_of(|out| user.encode(out));
        let primary = bytes_of(|out| primary.encode(out));
        let key = RawKey::decode_exact(&user).unwrap();
        let primary_key = RawKey::decode_exact(&primary).unwrap();
        let row_key = arbitrary_row_key(g, key, primary_key);
        let mut bytes = bytes_of(|out| row_key.encode(out));
        // The two older forms of index rows.
        if matches!(row_key, RowKey::IndexData(_)) && below(g, 3) == 0 {
            bytes.truncate(bytes.len() - 1 - primary.len());
            if below(g, 2) == 0 {
                bytes.push(below(g, 3) as u8);
            }
        }
        Self(bytes)
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        quickcheck::empty_shrinker()
    }
}

fn arbitrary_row_key<'a>(g: &mut Gen, key: RawKey<'a>, primary_key: RawKey<'a>) -> RowKey<'a> {
    let database_id = DatabaseId::arbitrary(g);
    let object_store_id = ObjectStoreId::arbitrary(g);
    let index_id = IndexId::arbitrary(g);
    match below(g, 10) {
        0 => RowKey::Global(arbitrary_global(g)),
        1 => RowKey::Scopes(arbitrary_scopes(g)),
        2 => RowKey::Database(DatabaseKey {
            database_id,
            field: arbitrary_database_field(g),
        }),
        3 => RowKey::ObjectStoreMetadata(ObjectStoreMetadataKey {
            database_id,
            object_store_id,
            field: one_of(g, &ObjectStoreField::ALL),
        }),
        4 => RowKey::IndexMetadata(IndexMetadataKey {
            database_id,
            object_store_id,
            index_id,
            field: one_of(g, &IndexField::ALL),
        }),
        5..8 => RowKey::Record(RecordKey {
            database_id,
            object_store_id,
            table: one_of(
                g,
                &[
                    RecordTable::Data,
                    RecordTable::Exists,
                    RecordTable::ExternalObject,
                ],
            ),
            key,
        }),
        _ => RowKey::IndexData(IndexDataKey::new(
            database_id,
            object_store_id,
            index_id,
            key,
            primary_key,
        )),
    }
}

fn arbitrary_global(g: &mut Gen) -> GlobalKey {
    match below(g, 9) {
        7 => GlobalKey::DatabaseFreeList(DatabaseId::arbitrary(g)),
        8 => GlobalKey::DatabaseName {
            origin: JsString::arbitrary(g),
            name: JsString::arbitrary(g),
        },
        simple => {
            let bytes = [0, 0, 0, 0, simple as u8];
            match RowKey::decode_exact(&bytes) {
                Ok(RowKey::Global(key)) => key,
                other => panic!("{other:?}"),
            }
        }
    }
}

fn arbitrary_scopes(g: &mut Gen) -> ScopesKey {
    let scope = ScopeId::arbitrary(g);
    match below(g, 4) {
        0 => ScopesKey::GlobalMetadata,
        1 => ScopesKey::ScopeMetadata(scope),
        _ => ScopesKey::Task {
            scope,
            task: one_of(g, &[ScopeTask::Undo, ScopeTask::Cleanup]),
            sequence: u64::arbitrary(g) >> below(g, 64),
        },
    }
}

fn arbitrary_database_field(g: &mut Gen) -> DatabaseField {
    let object_store_id = ObjectStoreId::arbitrary(g);
    let fields = [
        DatabaseField::OriginName,
        DatabaseField::DatabaseName,
        DatabaseField::StringVersion,
        DatabaseField::MaxObjectStoreId,
        DatabaseField::UserVersion,
        DatabaseField::BlobNumberGenerator,
        DatabaseField::ObjectStoreFreeList(object_store_id),
        DatabaseField::IndexFreeList(object_store_id, IndexId::arbitrary(g)),
        DatabaseField::ObjectStoreName(JsString::arbitrary(g)),
        DatabaseField::IndexName(object_store_id, JsString::arbitrary(g)),
    ];
    one_of(g, &fields)
}

/// A stored key with small damage.
#[derive(Debug, Clone)]
pub(crate) struct NearlyStoredKey(pub(crate) Vec<u8>);

impl Arbitrary for NearlyStoredKey {
    fn arbitrary(g: &mut Gen) -> Self {
        let StoredKey(whole) = StoredKey::arbitrary(g);
        Self(damage(g, whole))
    }
}

fn ids() -> (DatabaseId, ObjectStoreId, IndexId) {
    (
        DatabaseId::new(1).unwrap(),
        ObjectStoreId::new(1).unwrap(),
        IndexId::new(31).unwrap(),
    )
}

/// The ids that a row has, else those of [`ids`].
fn ids_of(row: &RowKey<'_>) -> (DatabaseId, ObjectStoreId, IndexId) {
    let (database, store, index) = ids();
    match row {
        RowKey::Database(key) => (key.database_id, store, index),
        RowKey::ObjectStoreMetadata(key) => (key.database_id, key.object_store_id, index),
        RowKey::IndexMetadata(key) => (key.database_id, key.object_store_id, key.index_id),
        RowKey::Record(key) => (key.database_id, key.object_store_id, index),
        RowKey::IndexData(key) => (key.database_id, key.object_store_id, key.index_id),
        _ => (database, store, index),
    }
}

#[test]
fn unknown_types_are_unknown_and_keep_their_bytes() {
    for bytes in [
        &[0, 0, 0, 0, 7][..],
        &[0, 0, 0, 0, 60, 1, 2],
        &[0, 0, 0, 0, 50, 3],
        &[0, 1, 0, 0, 6],
        &[0, 1, 0, 0, 50, 1, 8],
        &[0, 1, 0, 0, 100, 1, 31, 4],
        &[0, 1, 1, 0],
        &[0, 1, 1, 4],
        &[0, 1, 1, 29, 3],
        &[0, 0, 1, 0, 0],
        &[0, 1, 0, 1, 0],
    ] {
        let key = RowKey::decode_exact(bytes).unwrap();
        let RowKey::Unknown(unknown) = &key else {
            panic!("{key:?}")
        };
        assert_eq!(unknown.rest(), &bytes[4..]);
        assert_eq!(bytes_of(|out| key.encode(out)), bytes);
    }
}

#[test]
fn known_classes_refuse_what_is_not_theirs() {
    for bytes in [
        // Nothing after the prefix, or after a type that needs more.
        &[0, 0, 0, 0][..],
        &[0, 1, 0, 0],
        &[0, 1, 1, 1],
        &[0, 1, 1, 31],
        &[0, 0, 0, 0, 100],
        &[0, 0, 0, 0, 50],
        &[0, 0, 0, 0, 201, 1, 0, 0x61],
        &[0, 1, 0, 0, 50, 1],
        // Something after the end.
        &[0, 0, 0, 0, 0, 0],
        &[0, 1, 0, 0, 50, 1, 0, 0],
        &[0, 1, 1, 1, 1, 0, 9],
        &[0, 1, 1, 31, 1, 0, 0, 1, 0, 9],
        // Ids out of range.
        &[0, 0, 0, 0, 100, 0],
        &[0, 1, 0, 0, 50, 0, 0],
        &[0, 1, 0, 0, 100, 1, 29, 0],
        &[0x1c, 1, 255, 255, 255, 255, 255, 255, 255, 127, 1, 1, 0],
        &[0x03, 1, 1, 255, 255, 255, 127, 1, 0],
        // Sentinels are not stored.
        &[0, 1, 1, 1, 0],
        &[0, 1, 1, 1, 5],
        &[0, 1, 1, 31, 1, 0, 0, 5],
        // Scopes: unknown task list, short sequence number.
        &[0, 0, 0, 0, 50, 2, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0, 0, 0, 0, 50, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0],
    ] {
        assert!(RowKey::decode_exact(bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn old_index_rows_lack_the_primary_key_or_the_sequence_too() {
    let oldest = [0, 1, 1, 31, 1, 0];
    let older = [0, 1, 1, 31, 1, 0, 9];
    let today = [0, 1, 1, 31, 1, 0, 0, 1, 0];
    let read = |bytes| match RowKey::decode_exact(bytes).unwrap() {
        RowKey::IndexData(key) => (key.sequence(), key.primary_key().map(|key| key.to_key())),
        other => panic!("{other:?}"),
    };
    assert_eq!(read(&oldest), (None, None));
    assert_eq!(read(&older), (Some(9), None));
    assert_eq!(read(&today), (Some(0), Some(Key::from(""))));
}

#[test]
fn high_ids_work_up_to_their_limits() {
    let (database_id, object_store_id) = (
        DatabaseId::new(1 << 35).unwrap(),
        ObjectStoreId::new(1 << 39).unwrap(),
    );
    let key = [3, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
    let raw = RawKey::decode_exact(&key).unwrap();
    for index_id in [IndexId::new(1 << 29).unwrap(), IndexId::MAX] {
        let row = IndexDataKey::new(database_id, object_store_id, index_id, raw, raw);
        let bytes = bytes_of(|out| row.encode(out));
        assert_eq!(RowKey::decode_exact(&bytes), Ok(RowKey::IndexData(row)));
    }
}

#[test]
fn scopes_keys_have_their_bytes() {
    let scope = ScopeId::new(0x0201).unwrap();
    let task = |task, sequence| ScopesKey::Task {
        scope,
        task,
        sequence,
    };
    let area = [0, 0, 0, 0, 50];
    let cases: [(ScopesKey, &[u8]); 4] = [
        (ScopesKey::GlobalMetadata, &[0]),
        (ScopesKey::ScopeMetadata(scope), &[1, 0x81, 4]),
        (
            task(ScopeTask::Undo, 0x0102_0304),
            &[2, 0x81, 4, 0, 0, 0, 0, 0, 1, 2, 3, 4],
        ),
        (
            task(ScopeTask::Cleanup, 5),
            &[2, 0x81, 4, 1, 0, 0, 0, 0, 0, 0, 0, 5],
        ),
    ];
    for (key, tail) in cases {
        let bytes = bytes_of(|out| key.encode(out));
        assert_eq!(bytes, [&area, tail].concat());
        assert_eq!(RowKey::decode_exact(&bytes), Ok(RowKey::Scopes(key)));
    }
    assert_eq!(bytes_of(ScopesKey::encode_area), area);
    assert_eq!(
        bytes_of(ScopesKey::encode_scopes_prefix),
        [&area[..], &[1]].concat()
    );
    assert_eq!(
        bytes_of(ScopesKey::encode_tasks_prefix),
        [&area[..], &[2]].concat()
    );
    let of_scope = bytes_of(|out| ScopesKey::encode_scope_tasks_prefix(scope, out));
    assert_eq!(of_scope, [&area[..], &[2, 0x81, 4]].concat());
}

#[test]
fn a_bad_scope_number_or_prefix_is_refused() {
    assert!(RowKey::decode_exact(&[0, 0, 0, 0, 50, 1]).is_err());
    assert!(RowKey::decode_exact(&[0, 0, 0, 0, 50, 1, 0x81]).is_err());
    assert!(RowKey::decode_exact(&[0, 0, 0, 0, 50, 1, 0x81, 0]).is_err());
    assert!(RowKey::decode_exact(&[0, 0, 0, 0, 50, 1, 1, 1]).is_err());
    assert!(RowKey::decode_exact(&[0xff, 0, 0, 0, 50, 1, 1]).is_err());
}

/// Whether `low` <= `row` <= `high` and strictly so for ends that no row equals.
fn encloses(low: &[u8], row: &[u8], high: &[u8]) -> bool {
    compare(low, row) != Ordering::Greater && compare(row, high) == Ordering::Less
}

properties! {
    fn every_stored_key_round_trips(key: StoredKey) -> bool {
        let StoredKey(bytes) = key;
        let key = RowKey::decode_exact(&bytes).unwrap();
        !matches!(key, RowKey::Unknown(_)) && bytes_of(|out| key.encode(out)) == bytes
    }

    fn any_input_decodes_to_the_one_key_with_that_encoding_or_errs(input: NearlyStoredKey) -> bool {
        let NearlyStoredKey(input) = input;
        match RowKey::decode_exact(&input) {
            Ok(key) => bytes_of(|out| key.encode(out)) == input,
            Err(error) => error.offset() <= input.len(),
        }
    }

    fn ranges_enclose_exactly_the_rows_of_their_class(key: StoredKey, own: bool) -> bool {
        let StoredKey(bytes) = key;
        let row = RowKey::decode_exact(&bytes).unwrap();
        let (db, os, index) = if own { ids_of(&row) } else { ids() };
        let inside = |low: Vec<u8>, high: Vec<u8>| encloses(&low, &bytes, &high);
        let (in_database, in_table, in_store, in_index, in_entries) = match &row {
            RowKey::Global(_) | RowKey::Scopes(_) | RowKey::Unknown(_) => (false, None, false, false, false),
            RowKey::Database(key) => (key.database_id == db, None, false, false, false),
            RowKey::ObjectStoreMetadata(key) => {
                let here = key.database_id == db;
                (here, None, here && key.object_store_id == os, false, false)
            }
            RowKey::IndexMetadata(key) => {
                let here = key.database_id == db;
                (here, None, false, here && key.object_store_id == os && key.index_id == index, false)
            }
            RowKey::Record(key) => {
                let here = key.database_id == db;
                (here, (here && key.object_store_id == os).then_some(key.table), false, false, false)
            }
            RowKey::IndexData(key) => {
                let here = key.database_id == db;
                (here, None, false, false, here && key.object_store_id == os && key.index_id == index)
            }
        };
        inside(range::database_low(db), range::database_end(db)) == in_database
            && [RecordTable::Data, RecordTable::Exists, RecordTable::ExternalObject].iter().all(|&table| {
                inside(range::table_low(db, os, table), range::table_high(db, os, table)) == (in_table == Some(table))
            })
            && inside(range::object_store_low(db, os), range::object_store_high(db, os)) == in_store
            && inside(range::index_low(db, os, index), range::index_high(db, os, index)) == in_index
            && inside(range::index_entries_low(db, os, index), range::index_entries_high(db, os, index)) == in_entries
    }

    fn ranges_over_ids_enclose_all_of_them(key: StoredKey, own: bool) -> bool {
        let StoredKey(bytes) = key;
        let inside = |low: Vec<u8>, high: Vec<u8>| encloses(&low, &bytes, &high);
        let row = RowKey::decode_exact(&bytes).unwrap();
        let (db, os, index) = if own { ids_of(&row) } else { ids() };
        let all_stores = matches!(&row, RowKey::ObjectStoreMetadata(key) if key.database_id == db);
        let all_indexes = matches!(&row, RowKey::IndexMetadata(key) if key.database_id == db && key.object_store_id == os);
        let rows = match &row {
            RowKey::Record(key) => key.database_id == db && key.object_store_id == os,
            RowKey::IndexData(key) => key.database_id == db && key.object_store_id == os,
            _ => false,
        };
        let entry = match &row {
            RowKey::IndexData(key) if rows && key.index_id == index => Some(key),
            _ => None,
        };
        inside(range::all_object_stores_low(db), range::all_object_stores_high(db)) == all_stores
            && inside(range::all_indexes_low(db, os), range::all_indexes_high(db, os)) == all_indexes
            && inside(range::object_store_rows_low(db, os), range::object_store_rows_end(db, os)) == rows
            // Of the entries with one index key, those without a primary key lie below.
            && entry.is_none_or(|key| {
                let low = range::index_key_low(db, os, index, key.index_key);
                (compare(&low, &bytes) == Ordering::Less) == key.primary_key().is_some()
            })
    }

    fn names_of_an_origin_lie_between_their_ends(origin: JsString, other: JsString, name: JsString) -> bool {
        let key = GlobalKey::DatabaseName { origin: other.clone(), name };
        let bytes = bytes_of(|out| key.encode(out));
        let inside = encloses(&range::database_names_low(&origin), &bytes, &range::database_names_end(&origin));
        // An origin that continues with U+0000 would lie inside, too; no origin does.
        let continues = other.units().strip_prefix(origin.units()).is_some_and(|rest| rest.first() == Some(&0));
        inside == (origin == other || continues)
    }
}
