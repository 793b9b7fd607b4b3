//! Everything that is there, compared.

use std::io::Read;
use std::ops::Bound;

use larder_backing_store::{FoundRecord, Reads, Record, Result};
use larder_codec::external_object::ExternalObject;
use larder_codec::{IndexId, Key, RawKey};

use super::model::{self, Database, Range, Store};
use super::run::{database, key, store_id, with_range};
use super::support::bytes;

/// Reads of records by key and range.
pub(super) fn check_gets(reads: &Reads, id: i64, store: &Store, range: &Range) {
    let mut record = Record::new();
    let mut inside = store
        .records
        .iter()
        .filter(|(key, _)| model::contains(range, key));
    let first = inside.clone().next();
    let found = with_range(range, |range| {
        reads.get_in(database(), store_id(id), range, &mut record)
    });
    assert_eq!(found.unwrap(), first.is_some());
    if let Some((key, expected)) = first {
        assert_eq!(record.primary_key().unwrap().to_key(), *key);
        assert_eq!(record.value(), expected.value);
        assert_eq!(record.version().unwrap().get(), expected.version);
    }
    let count = with_range(range, |range| reads.count(database(), store_id(id), range));
    assert_eq!(count.unwrap(), inside.by_ref().count() as u64);
}

/// What was found under one of many keys: primary key and value.
type Found = Option<(Key, Vec<u8>)>;

fn take(all: &mut [Option<Found>]) -> impl FnMut(usize, Result<Option<FoundRecord<'_>>>) {
    |n, record| {
        let record = record.unwrap().map(|record| {
            let key = RawKey::decode_exact(record.primary_key).unwrap();
            (key.to_key(), record.value.to_vec())
        });
        assert_eq!(all[n].replace(record), None, "each key once");
    }
}

/// Reads of records by many keys at once, some of them twice, and by many index keys.
fn check_multi_gets(reads: &Reads, id: i64, store: &Store) {
    let keys: Vec<Key> = (0..50).map(|n| key(n * 3)).collect();
    let record_of = |key: &Key| {
        let (key, record) = store.records.get_key_value(key)?;
        Some((key.clone(), record.value.clone()))
    };
    let mut all = vec![None; keys.len()];
    reads.multi_get(database(), store_id(id), &keys, take(&mut all));
    let expected = keys.iter().map(|key| Some(record_of(key)));
    assert_eq!(all, expected.collect::<Vec<_>>());
    for (index, model) in &store.indexes {
        let mut lookup =
            reads.index_lookup(database(), store_id(id), IndexId::new(*index).unwrap());
        let mut all = vec![None; keys.len()];
        lookup.multi_get(&keys, take(&mut all));
        let first = |key: &Key| {
            let mut entries = model.entries.iter();
            let (_, primary_key) = entries.find(|(index_key, _)| index_key == key)?;
            record_of(primary_key)
        };
        let expected = keys.iter().map(|key| Some(first(key)));
        assert_eq!(all, expected.collect::<Vec<_>>(), "index {index}");
    }
}

/// Everything that is there.
pub(super) fn check(reads: &Reads, model: &Database) {
    let mut problems = Vec::new();
    let object_stores = reads.object_stores(database(), &mut problems).unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(object_stores.len(), model.stores.len());
    for (found, (id, expected)) in object_stores.iter().zip(&model.stores) {
        assert_eq!(found.id.get(), *id);
        assert_eq!(found.name, *expected.name);
        assert_eq!(found.auto_increment, expected.auto_increment);
        let generator = reads.key_generator(database(), found.id).unwrap();
        assert_eq!(generator, expected.generator);
        let indexes = found.indexes.iter().map(|index| {
            let name = String::from_utf16(index.name.units()).unwrap();
            (index.id.get(), name, index.unique, index.multi_entry)
        });
        let expected_indexes = expected
            .indexes
            .iter()
            .map(|(id, index)| (*id, index.name.clone(), index.unique, true));
        assert!(indexes.eq(expected_indexes));
        let whole = (Bound::Unbounded, Bound::Unbounded);
        check_gets(reads, *id, expected, &whole);
        check_multi_gets(reads, *id, expected);
        for n in 0..20 {
            let only = (Bound::Included(key(n)), Bound::Included(key(n)));
            check_gets(reads, *id, expected, &only);
        }
    }
    let version = reads.version(database(), &mut Vec::new()).unwrap();
    assert_eq!(version, model.version);
}

/// All blobs of all records, with their contents. A transaction that writes has none before it is committed.
pub(super) fn check_blobs(reads: &Reads, model: &Database) {
    for (id, store) in &model.stores {
        for (key, record) in &store.records {
            let key = bytes(key);
            let raw = RawKey::decode_exact(&key).unwrap();
            let objects = reads.external_objects(database(), store_id(*id), raw);
            let contents = objects.unwrap().into_iter().map(|object| {
                let ExternalObject::Blob(blob) = object else {
                    panic!("no blob: {object:?}");
                };
                let mut content = Vec::new();
                let mut file = reads.open_blob(database(), &blob).unwrap();
                file.read_to_end(&mut content).unwrap();
                content
            });
            assert!(contents.eq(record.objects.iter().cloned()));
        }
    }
}

/// How many blobs have files: all that are not empty.
pub(super) fn blob_count(model: &Database) -> usize {
    let records = model
        .stores
        .values()
        .flat_map(|store| store.records.values());
    let objects = records.flat_map(|record| &record.objects);
    objects.filter(|content| !content.is_empty()).count()
}
