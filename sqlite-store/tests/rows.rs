//! Rows of real stores, walked over in every way, with every kind of harm to the files.
#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests stop on trouble, and read real files"
)]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use larder_backing_store::{ErrorKind, Store, StoreRows};
use larder_codec::compare;
use larder_fixtures::random::Random;
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};

const FOLDER: &str = "http_127.0.0.1_18917";

type Files = Vec<(String, Vec<u8>)>;

fn files(name: &str) -> Files {
    let fixture = larder_fixtures::get(name).open();
    let mut files: Files = fs::read_dir(fixture.sqlite())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

fn open(files: &Files) -> larder_backing_store::Result<Store> {
    let memory = MemoryFileSystem::new();
    memory.create_dir(Path::new(FOLDER)).unwrap();
    for (name, bytes) in files {
        let path = Path::new(FOLDER).join(name);
        memory.create(&path).unwrap().append(bytes).unwrap();
    }
    let fs: Arc<dyn FileSystem> = Arc::new(memory);
    larder_sqlite_store::open(&fs, Path::new(FOLDER), &std::env::temp_dir())
}

type Rows = Vec<(Vec<u8>, Vec<u8>)>;

/// All rows in order, and how many could not be read.
fn walk(rows: &mut StoreRows) -> (Rows, usize) {
    let (mut all, mut lost) = (Rows::new(), 0);
    loop {
        match rows.next() {
            Ok(true) => all.push((rows.key().to_vec(), rows.value().unwrap().to_vec())),
            Ok(false) => return (all, lost),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
                lost += 1;
            }
        }
    }
}

fn rows_of(files: &Files) -> Rows {
    let store = open(files).unwrap();
    assert!(store.recovery().problems.is_empty());
    let (rows, lost) = walk(&mut store.rows());
    assert_eq!(lost, 0);
    rows
}

#[test]
fn rows_come_in_order_and_every_seek_finds_what_a_search_in_all_of_them_finds() {
    for name in ["s156-lite", "s143-lite", "s156-odd"] {
        let files = files(name);
        let all = rows_of(&files);
        assert!(
            all.is_sorted_by(|(a, _), (b, _)| compare(a, b).is_lt()),
            "{name}"
        );
        let store = open(&files).unwrap();
        let step = larder_fixtures::sampled(3);
        for (n, (key, value)) in all.iter().enumerate().step_by(step) {
            let mut rows = store.rows();
            rows.seek(key).unwrap();
            assert!(rows.next().unwrap(), "{name}: row {n}");
            assert_eq!((rows.key(), rows.value().unwrap()), (&**key, &**value));
            let next = all.get(n + 1).map(|(key, _)| &**key);
            let found = rows.next().unwrap().then(|| rows.key());
            assert_eq!(found, next, "{name}: behind row {n}");
        }
        println!("{name}: {} rows", all.len());
    }
}

#[test]
fn cursors_in_both_directions_see_the_same() {
    use larder_backing_store::CursorDirection::{Next, Prev};
    let store = open(&files("s156-lite")).unwrap();
    let mut count = 0;
    for database in store.databases(&mut Vec::new()).unwrap() {
        for object_store in &database.object_stores {
            let keys = |direction| {
                let mut records = store.records(database.id, object_store.id, direction);
                let mut keys = Vec::new();
                while records.next().unwrap() {
                    keys.push(records.primary_key().unwrap().as_bytes().to_vec());
                }
                keys
            };
            let (forward, mut backward) = (keys(Next), keys(Prev));
            backward.reverse();
            assert_eq!(forward, backward);
            count += forward.len();
        }
    }
    assert!(count > 300, "{count} records");
}

/// Every row that comes out is one of the undamaged store, or a changed byte is in it: SQLite has no checksums. What counts is that
/// reading ends, and nothing panics.
fn check_harmed(files: &Files, what: &str) -> usize {
    let store = match open(files) {
        Ok(store) => store,
        Err(error) => {
            let is_expected = matches!(error.kind(), ErrorKind::NotAStore | ErrorKind::Io);
            assert!(is_expected, "{what}: {error}");
            return 1;
        }
    };
    let mut problems = Vec::new();
    let databases = store.databases(&mut problems).unwrap();
    for database in &databases {
        for object_store in &database.object_stores {
            let mut records = store.records(
                database.id,
                object_store.id,
                larder_backing_store::CursorDirection::Prev,
            );
            loop {
                match records.next() {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}")
                    }
                }
            }
        }
    }
    let (_, lost) = walk(&mut store.rows());
    lost + problems.len() + store.recovery().problems.len()
}

#[test]
fn harm_to_any_byte_or_page_ends_in_rows_and_named_damage() {
    let whole = files("s156-lite");
    let seed = std::env::var("LARDER_SEED").map_or(1, |seed| seed.parse().unwrap());
    println!("LARDER_SEED={seed}");
    let (mut random, mut tried, mut noticed) = (Random::new(seed), 0, 0);
    let count = 400 / larder_fixtures::sampled(8);
    for _ in 0..count {
        let mut harmed = whole.clone();
        let file = random.below(harmed.len() as u64) as usize;
        let bytes = &mut harmed[file].1;
        let at = random.below(bytes.len() as u64) as usize;
        let what = match random.below(4) {
            0 => {
                bytes[at] ^= 1 << random.below(8);
                format!("bit of byte {at}")
            }
            1 => {
                bytes.truncate(at);
                format!("cut at {at}")
            }
            2 => {
                let page = at / 4096 * 4096;
                bytes[page..page + 4096].fill(0);
                format!("page at {page} of zeros")
            }
            _ => {
                let (from, to) = (
                    at / 4096 * 4096,
                    random.below(bytes.len() as u64 / 4096) as usize * 4096,
                );
                bytes.copy_within(from..from + 4096, to);
                format!("page at {from} at {to}, too")
            }
        };
        let what = format!("{}: {what}", harmed[file].0);
        noticed += usize::from(check_harmed(&harmed, &what) > 0);
        tried += 1;
    }
    println!("{tried} harms, {noticed} of them noticed");
    assert!(noticed > tried / 4);
}

#[test]
fn a_damaged_leaf_loses_its_own_records_and_no_others() {
    let name = "s156-killed-upgrade";
    let whole = files(name);
    let all = rows_of(&whole);
    let (mut pages, mut most) = (0, 0);
    for (file, (_, bytes)) in whole.iter().enumerate() {
        for page in (4096..bytes.len()).step_by(4096 * larder_fixtures::sampled(8)) {
            let mut harmed = whole.clone();
            harmed[file].1[page] = 0xff;
            let Ok(store) = open(&harmed) else { continue };
            let (rows, lost) = walk(&mut store.rows());
            if lost == 0 {
                continue;
            }
            pages += 1;
            // The metadata says less, if that is what was harmed; records and entries are those that were there.
            let is_known = |row: &&(Vec<u8>, Vec<u8>)| all.contains(row);
            let known = rows.iter().filter(is_known).count();
            assert!(
                known + 2 >= rows.len(),
                "page at {page}: {} of {}",
                known,
                rows.len()
            );
            most = most.max(known);
        }
    }
    println!(
        "{pages} pages with damage; at best {most} of {} rows are there",
        all.len()
    );
    assert!(pages > 0 && most * 10 > all.len() * 8);
}

/// What SQLite itself shows of a log that ends anywhere.
#[test]
fn a_log_that_ends_anywhere_shows_what_sqlite_shows() {
    let whole = files("s156-killed-blob");
    let log = whole
        .iter()
        .position(|(name, _)| name.ends_with("-wal"))
        .unwrap();
    let main = whole[log].0.trim_end_matches("-wal").to_owned();
    let len = whole[log].1.len();
    let mut seen = std::collections::BTreeSet::new();
    for n in 0..40 {
        let mut cut = whole.clone();
        cut[log].1.truncate(len * n / 39);
        if n % 3 == 1 {
            // Garbage in the middle ends it as well.
            let at = len * n / 80;
            if let Some(byte) = cut[log].1.get_mut(at) {
                *byte ^= 0x40;
            }
        }
        let store = open(&cut).unwrap();
        let databases = store.databases(&mut Vec::new()).unwrap();
        let ours: usize = databases
            .iter()
            .flat_map(|database| {
                database
                    .object_stores
                    .iter()
                    .map(move |store| (database.id, store.id))
            })
            .map(|(database, object_store)| {
                let direction = larder_backing_store::CursorDirection::Next;
                let mut records = store.records(database, object_store, direction);
                std::iter::from_fn(|| records.next().unwrap().then_some(())).count()
            })
            .sum();
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in &cut {
            fs::write(dir.path().join(name), bytes).unwrap();
        }
        let sqlite = rusqlite::Connection::open(dir.path().join(&main)).unwrap();
        let theirs = sqlite.query_row("SELECT count(*) FROM records", (), |row| {
            row.get::<_, i64>(0)
        });
        let theirs = theirs.unwrap_or(0);
        assert_eq!(ours as i64, theirs, "cut at {}", len * n / 39);
        seen.insert(theirs);
    }
    assert!(seen.len() > 2, "{seen:?}");
    println!("counts of records: {seen:?}");
}
