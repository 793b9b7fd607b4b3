//! Laws of whole stores: folders of files in, databases, records and index entries out.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use larder::canonical::{Extent, write_document};
use larder::progress::Progress;
use larder::report::Report;
use larder::scan::{Scan, Selection};
use larder_backing_store::{
    CursorDirection, DatabaseMetadata, ErrorKind, IdbComparator, IndexCursor, OpenOptions,
    RecordCursor, Result, Store,
};
use larder_codec::external_object::ExternalObject;
use larder_codec::{DatabaseId, IndexId, ObjectStoreId, RawKey, RowKey};
use larder_leveldb::internal_key::SEQUENCE_MAX;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Comparator, OnDamage, Options, Salvage};

use crate::base::Base;
use crate::files::Files;
use crate::input::Input;
use crate::log::change_byte;
use crate::reading::{self, Rows};
use crate::write;

/// No store that a fuzzer makes up has so many rows.
const CALLS_MAX: usize = 1 << 20;

/// Blobs are read up to here.
const BLOB_READ_MAX: u64 = 1 << 16;

/// The first byte chooses: the rest is an archive of a store's files; or damage to the files of a known store; or changes of
/// the rows of a known store, which are then written into a whole log.
pub fn store_directory(data: &[u8]) {
    let (choice, base, input) = chosen(data);
    match choice {
        0 => read_all(&Files::from_archive(input.0), None),
        1 => {
            let (files, is_one_byte) = damaged_files(input, base);
            read_all(&files, Some(Truth { base, is_one_byte }));
        }
        _ => read_all(&changed_rows(input, base), None),
    }
}

/// The stores as files, for another law.
pub(crate) fn files(data: &[u8]) -> Files {
    let (choice, base, input) = chosen(data);
    match choice {
        0 => Files::from_archive(input.0),
        1 => damaged_files(input, base).0,
        _ => changed_rows(input, base),
    }
}

/// What the first byte chooses, from 0 to 2, for which known store, and the rest.
fn chosen(data: &[u8]) -> (u8, &'static Base, Input<'_>) {
    let mut input = Input(data);
    let choice = input.byte();
    let base = match choice / 3 % 2 {
        0 => Base::lite(),
        _ => Base::killed(),
    };
    (choice % 3, base, input)
}

/// What was damaged, and how much is known about it.
#[derive(Clone, Copy)]
struct Truth<'a> {
    base: &'a Base,
    /// Whether a single byte was changed, or none.
    is_one_byte: bool,
}

/// The files, and whether one byte was changed at most.
fn damaged_files(mut input: Input<'_>, base: &Base) -> (Files, bool) {
    let mut files = base.files.clone();
    let (mut changed, mut cut) = (0, false);
    // More than a few hundred bytes of input say nothing new.
    for _ in 0..64 {
        if input.is_empty() {
            break;
        }
        let names: Vec<String> = files.0.keys().cloned().collect();
        let Some(name) = names.get(usize::from(input.byte()) % names.len().max(1)) else {
            break;
        };
        let content = files.0.entry(name.clone()).or_default();
        match input.byte() % 8 {
            0 => {
                content.truncate(input.below(content.len() + 1));
                cut = true;
            }
            1 => {
                files.0.remove(name);
                cut = true;
            }
            _ => changed += usize::from(change_byte(&mut input, content)),
        }
    }
    (files, changed <= 1 && !cut)
}

/// The rows, some of them changed, in a log.
fn changed_rows(mut input: Input<'_>, base: &Base) -> Files {
    let mut rows: Rows = base.rows.clone();
    for _ in 0..64 {
        if input.is_empty() {
            break;
        }
        let at = usize::from(input.u16()) % rows.len().max(1);
        let kind = input.byte();
        let Some((key, value)) = rows.get_mut(at) else {
            break;
        };
        match kind % 7 {
            0 => drop(change_byte(&mut input, key)),
            1 => drop(change_byte(&mut input, value)),
            2 => key.truncate(input.below(key.len() + 1)),
            3 => value.truncate(input.below(value.len() + 1)),
            4 => {
                let len = usize::from(input.byte());
                value.extend_from_slice(input.bytes(len));
            }
            5 => drop(rows.swap_remove(at)),
            _ => {
                let (key_len, value_len) = (usize::from(input.byte()), usize::from(input.byte()));
                rows.push((
                    input.bytes(key_len).to_vec(),
                    input.bytes(value_len).to_vec(),
                ));
            }
        }
    }
    let (mut records, mut sequence) = (Vec::new(), 1);
    for part in rows.chunks(50) {
        let mut batch = BatchWriter::new();
        part.iter().for_each(|(key, value)| batch.put(key, value));
        records.push(batch.finish(sequence).to_vec());
        sequence += u64::from(batch.entry_count());
    }
    let manifest = write::manifest(&[write::first_edit(&IdbComparator, 3, 0)]);
    let log = write::log(&records);
    let mut files = reading::store([
        ("CURRENT", write::CURRENT.to_vec()),
        ("MANIFEST-000001", manifest),
        ("000003.log", log),
    ]);
    // The blobs, which lie beside the store's folder.
    let blobs = base
        .files
        .0
        .iter()
        .filter(|(path, _)| !path.starts_with(&format!("{}/", reading::DIR)));
    files
        .0
        .extend(blobs.map(|(path, content)| (path.clone(), content.clone())));
    files
}

/// What can be made out in damaged places: it comes to an end, and has only what was accepted.
fn make_out(files: &Files) {
    let options = Options::new(Arc::new(IdbComparator));
    let Ok(salvage) = Salvage::open(files.mount(), Path::new(reading::DIR), &options) else {
        return;
    };
    let mut rows = salvage.rows();
    while rows.advance().expect("any store reads on").is_some() {}
    let is_row = |key: &[u8]| RowKey::decode_exact(key).is_ok();
    let visited = salvage.damaged_entries(&is_row, &mut |entry| {
        assert!(is_row(entry.key) && entry.sequence <= SEQUENCE_MAX);
    });
    visited.expect("files in memory can be read");
}

fn read_all(files: &Files, truth: Option<Truth<'_>>) {
    make_out(files);
    let comparator: Arc<dyn Comparator> = Arc::new(IdbComparator);
    let shown = reading::read(files, &comparator);
    match (&shown, truth) {
        (
            Some(shown),
            Some(Truth {
                base,
                is_one_byte: true,
            }),
        ) => base.written.check_one_byte(shown),
        (Some(shown), Some(Truth { base, .. })) => base.written.check_damaged(shown),
        (
            None,
            Some(Truth {
                is_one_byte: true, ..
            }),
        ) => panic!("one damaged byte, and it is no store any more"),
        _ => {}
    }
    for on_damage in [OnDamage::Skip, OnDamage::Fail] {
        let options = OpenOptions {
            on_damage,
            ..OpenOptions::default()
        };
        match Store::open_read_only(files.mount(), Base::paths(), options) {
            Err(error) => {
                let may_fail = on_damage == OnDamage::Fail || shown.is_none();
                assert!(may_fail, "skipping damage, any store opens: {error}");
            }
            Ok(store) => {
                // Only a store that never meets damage is the same from both ends.
                let is_whole = shown.as_ref().is_some_and(|shown| shown.is_whole);
                if let Err(error) = read_store(&store, is_whole) {
                    assert!(
                        on_damage == OnDamage::Fail && !is_whole,
                        "any store reads on: {error}"
                    );
                }
                if on_damage == OnDamage::Skip {
                    document(&store);
                }
            }
        }
    }
}

/// The database, object store and, but for records, index that a cursor is over.
type Place = (DatabaseId, ObjectStoreId, Option<IndexId>);

/// A key, a primary key (the same for records), a record's version, its value.
type Entry = (Vec<u8>, Vec<u8>, Option<i64>, Vec<u8>);

fn read_store(store: &Store, is_whole: bool) -> Result<()> {
    let mut problems = Vec::new();
    let mut all = BTreeMap::new();
    for database in &store.databases(&mut problems)? {
        for object_store in &database.object_stores {
            let places = std::iter::once(None)
                .chain(object_store.indexes.iter().map(|index| Some(index.id)));
            for index in places {
                let place = (database.id, object_store.id, index);
                let ascending = walk(store, place, CursorDirection::Next)?;
                if is_whole {
                    check_directions(store, place, &ascending)?;
                }
                all.insert(
                    (
                        database.id.get(),
                        object_store.id.get(),
                        index.map(IndexId::get),
                    ),
                    ascending,
                );
            }
        }
        generators_and_blobs(store, database, &all);
    }
    Ok(())
}

fn walk(
    store: &Store,
    (database, object_store, index): Place,
    direction: CursorDirection,
) -> Result<Vec<Entry>> {
    match index {
        None => {
            let mut cursor = store.records(database, object_store, direction);
            collect(|| Ok(cursor.next()?.then(|| record(&cursor))))
        }
        Some(index) => {
            let mut cursor = store.index_entries(database, object_store, index, direction);
            collect(|| Ok(cursor.next()?.then(|| index_entry(&cursor))))
        }
    }
}

fn record(cursor: &RecordCursor) -> Entry {
    let key = cursor
        .primary_key()
        .expect("on a record")
        .as_bytes()
        .to_vec();
    let value = cursor.value().expect("on a record").to_vec();
    (
        key.clone(),
        key,
        cursor.version().map(|version| version.get()),
        value,
    )
}

fn index_entry(cursor: &IndexCursor) -> Entry {
    let key = cursor.index_key().expect("on an entry").as_bytes().to_vec();
    let primary_key = cursor
        .primary_key()
        .expect("on an entry")
        .as_bytes()
        .to_vec();
    (
        key,
        primary_key,
        cursor.version().map(|version| version.get()),
        cursor.value().to_vec(),
    )
}

/// Everything a cursor shows. It goes on behind rows that cannot be read.
fn collect(mut next: impl FnMut() -> Result<Option<Entry>>) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for _ in 0..CALLS_MAX {
        match next() {
            Ok(Some(entry)) => entries.push(entry),
            Ok(None) => return Ok(entries),
            Err(error) if error.kind() == ErrorKind::Corruption => {}
            Err(error) => return Err(error),
        }
    }
    panic!("a cursor never comes to an end");
}

fn check_directions(store: &Store, place: Place, ascending: &[Entry]) -> Result<()> {
    let mut descending = walk(store, place, CursorDirection::Prev)?;
    descending.reverse();
    assert_eq!(
        ascending, descending,
        "{place:?}: descending is ascending from behind"
    );
    let key = |entry: &Entry| {
        RawKey::decode_exact(&entry.0)
            .expect("it was shown")
            .to_key()
    };
    let mut first_of_each = ascending.to_vec();
    first_of_each.dedup_by(|later, kept| key(later) == key(kept));
    let unique = walk(store, place, CursorDirection::NextUnique)?;
    assert_eq!(
        unique, first_of_each,
        "{place:?}: unique is the first of each key"
    );
    let mut unique = walk(store, place, CursorDirection::PrevUnique)?;
    unique.reverse();
    assert_eq!(
        unique, first_of_each,
        "{place:?}: unique from behind is the first of each key"
    );
    Ok(())
}

fn generators_and_blobs(
    store: &Store,
    database: &DatabaseMetadata,
    all: &BTreeMap<(i64, i64, Option<i64>), Vec<Entry>>,
) {
    for object_store in &database.object_stores {
        // Either may fail, if their rows are damaged.
        let _ = store.key_generator(database.id, object_store.id);
        let records = all.get(&(database.id.get(), object_store.id.get(), None));
        for (key, ..) in records.into_iter().flatten() {
            let key = RawKey::decode_exact(key).expect("it was shown");
            let objects = store
                .external_objects(database.id, object_store.id, key)
                .unwrap_or_default();
            for object in &objects {
                if let ExternalObject::Blob(blob) | ExternalObject::File { blob, .. } = object
                    && let Ok(reader) = store.open_blob(database.id, blob)
                {
                    io::copy(&mut reader.take(BLOB_READ_MAX), &mut io::sink())
                        .expect("memory reads");
                }
            }
        }
    }
}

/// What `larder dump --format canonical` prints is JSON, whatever is in the store, whole and with digests.
pub(crate) fn document(store: &Store) {
    for extent in [Extent::Whole, Extent::Digests] {
        document_is_json(store, extent);
    }
}

fn document_is_json(store: &Store, extent: Extent) {
    let selection = Selection::default();
    let mut report = Report::new(Box::new(io::sink()));
    let mut progress = Progress::new(true);
    let mut scan = Scan::new(store, &selection, &mut report, &mut progress);
    let mut out = Vec::new();
    if write_document(&mut out, &mut scan, "origin", None, extent).is_err() {
        return;
    }
    let parsed: std::result::Result<serde_json::Value, _> = serde_json::from_slice(&out);
    let too_deep = parsed
        .as_ref()
        .is_err_and(|error| error.to_string().starts_with("recursion limit exceeded"));
    assert!(
        parsed.is_ok() || too_deep,
        "{:?} in {}",
        parsed.err(),
        String::from_utf8_lossy(&out)
    );
}
