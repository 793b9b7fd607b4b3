//! The two small stores, made of writes that golden stores have kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use larder_backing_store::{IdbComparator, OpenOptions, Store, StorePaths};
use larder_codec::KeyPrefix;
use larder_fuzz_oracles::files::Files;
use larder_fuzz_oracles::write;
use larder_leveldb::internal_key::{self, EntryKind, InternalOrder};
use larder_leveldb::storage::DiskFileSystem;
use larder_leveldb::table::TableOptions;
use larder_leveldb::version_edit::{NewFile, VersionEdit};
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Comparator, Db, Options};

/// One write.
pub(crate) struct Row {
    pub(crate) sequence: u64,
    pub(crate) key: Vec<u8>,
    pub(crate) value: Option<Vec<u8>>,
}

/// Every write that a store has kept.
pub(crate) fn history(leveldb: &Path) -> Vec<Row> {
    let options = Options::new(Arc::new(IdbComparator));
    let db = Db::open_read_only(Arc::new(DiskFileSystem::new()), leveldb, options)
        .expect("a golden store opens");
    let mut entries = db.snapshot().entries();
    let mut rows = Vec::new();
    while entries.advance().expect("a golden store reads") {
        let value = entries.value().expect("a golden store reads").to_vec();
        let value = (entries.kind() == EntryKind::Value).then_some(value);
        rows.push(Row {
            sequence: entries.sequence(),
            key: entries.key().to_vec(),
            value,
        });
    }
    rows.sort_by_key(|row| row.sequence);
    rows
}

fn database_of(row: &Row) -> u64 {
    KeyPrefix::decode(&row.key).map_or(0, |(prefix, _)| prefix.database)
}

/// A store that was closed: the databases with blobs, with odd names, and with a life of upgrades, and all global rows.
pub(crate) fn lite() -> Files {
    let fixture = larder_fixtures::get("c156-lite");
    let open = fixture.open();
    let leveldb = open.leveldb();
    let paths = StorePaths::of_leveldb(&leveldb);
    let fs_: Arc<DiskFileSystem> = Arc::new(DiskFileSystem::new());
    let store = Store::open_read_only(fs_, paths.clone(), OpenOptions::default())
        .expect("a golden store opens");
    let databases = store
        .databases(&mut Vec::new())
        .expect("a golden store reads");
    let wanted = [
        "",
        "blobs",
        "lifecycle",
        "recreated",
        "no_stores",
        "max_version",
    ];
    let wanted: BTreeSet<u64> = databases
        .iter()
        .filter(|database| wanted.contains(&&*database.name.to_string_lossy()))
        .map(|database| database.id.get() as u64)
        .chain([0])
        .collect();
    let mut rows = history(&leveldb);
    rows.retain(|row| {
        wanted.contains(&database_of(row))
            && row.value.as_ref().is_none_or(|value| value.len() < 600)
    });
    // A few keys of each table, with all their versions; all metadata, but a few rows of the undo log.
    let mut tables = BTreeMap::<Vec<u8>, BTreeSet<Vec<u8>>>::new();
    rows.retain(|row| {
        let (prefix, rest) = KeyPrefix::decode(&row.key).expect("a golden store's key");
        let is_undo_log = prefix.database == 0 && rest.first() == Some(&50);
        let is_metadata = prefix.object_store == 0 && !is_undo_log;
        let table = row.key[..row.key.len() - rest.len()].to_vec();
        let table = tables.entry(table).or_default();
        let is_kept = is_metadata || table.len() < 5 || table.contains(&row.key);
        if is_kept && !is_metadata {
            table.insert(row.key.clone());
        }
        is_kept
    });
    let mut files = spread(&rows);
    for database in wanted {
        let dir = paths.blob.join(format!("{database:x}"));
        for part in fs::read_dir(&dir).into_iter().flatten().flatten() {
            for file in fs::read_dir(part.path()).expect("a folder").flatten() {
                let content = fs::read(file.path()).expect("a blob");
                let name = (part.file_name(), file.file_name());
                let name = (name.0.to_string_lossy(), name.1.to_string_lossy());
                if content.len() < 600 {
                    files.0.insert(
                        format!("store.indexeddb.blob/{database:x}/{}/{}", name.0, name.1),
                        content,
                    );
                }
            }
        }
    }
    files
}

/// The older half of the rows in a table of level 1, a quarter in one of level 0, the rest in a log.
fn spread(rows: &[Row]) -> Files {
    let (old, rest) = rows.split_at(rows.len() / 2);
    let (middle, new) = rest.split_at(rest.len() / 2);
    let mut files = Files::default();
    let last_sequence = middle.last().map_or(0, |row| row.sequence);
    let mut second = VersionEdit {
        last_sequence: Some(last_sequence),
        ..VersionEdit::default()
    };
    for (level, number, part) in [(1, 5, old), (0, 7, middle)] {
        let (table, listed) = table(level, number, part);
        files.0.insert(format!("store/{number:06}.ldb"), table);
        second.new_files.push(listed);
    }
    let edits = [write::first_edit(&IdbComparator, 8, 0), second];
    files
        .0
        .insert("store/MANIFEST-000001".to_owned(), write::manifest(&edits));
    files
        .0
        .insert("store/CURRENT".to_owned(), write::CURRENT.to_vec());
    files
        .0
        .insert("store/000008.log".to_owned(), write::log(&batches(new)));
    files
}

fn table(level: usize, number: u64, rows: &[Row]) -> (Vec<u8>, NewFile) {
    let order = InternalOrder::new(Arc::new(IdbComparator));
    let internal = |row: &Row| {
        let kind = if row.value.is_some() {
            EntryKind::Value
        } else {
            EntryKind::Deletion
        };
        let mut key = Vec::new();
        internal_key::encode(&mut key, &row.key, row.sequence, kind);
        (key, row.value.clone().unwrap_or_default())
    };
    let mut entries: Vec<_> = rows.iter().map(internal).collect();
    entries.sort_by(|a, b| order.compare(&a.0, &b.0));
    let options = TableOptions {
        block_len: 1024,
        ..TableOptions::default()
    };
    let comparator: Arc<dyn Comparator> = Arc::new(IdbComparator);
    let entries = entries.iter().map(|(key, value)| (&**key, &**value));
    let (bytes, summary) = write::table(comparator, options, entries);
    let (smallest, largest) = (summary.smallest, summary.largest);
    let listed = NewFile {
        level,
        number,
        len_bytes: summary.len_bytes,
        smallest,
        largest,
    };
    (bytes, listed)
}

/// Batches of writes with consecutive sequence numbers.
fn batches(rows: &[Row]) -> Vec<Vec<u8>> {
    let follows = |a: &Row, b: &Row| b.sequence == a.sequence + 1 && !b.sequence.is_multiple_of(6);
    let mut records = Vec::new();
    for part in rows.chunk_by(follows) {
        let mut batch = BatchWriter::new();
        for row in part {
            match &row.value {
                Some(value) => batch.put(&row.key, value),
                None => batch.delete(&row.key),
            }
        }
        records.push(batch.finish(part[0].sequence).to_vec());
    }
    records
}

/// A store that was killed: its first and last writes, the undo log's among them.
pub(crate) fn killed() -> Files {
    let open = larder_fixtures::get("c156-killed-spill-small").open();
    let rows = history(&open.leveldb());
    let (count, mut kept) = (rows.len(), Vec::new());
    for (n, row) in rows.into_iter().enumerate() {
        let is_small = row.value.as_ref().is_none_or(|value| value.len() < 700);
        if is_small && (n < 200 || n + 200 > count) {
            kept.push(row);
        }
    }
    let manifest = write::manifest(&[write::first_edit(&IdbComparator, 3, 0)]);
    let mut files = Files::default();
    files.0.insert("store/MANIFEST-000001".to_owned(), manifest);
    files
        .0
        .insert("store/CURRENT".to_owned(), write::CURRENT.to_vec());
    files
        .0
        .insert("store/000003.log".to_owned(), write::log(&batches(&kept)));
    files
}
