//! What the writing engine promises, one promise a test; among them what other engines got wrong.

use crate::idb_like::IdbLike;
use crate::support::count;
use larder_leveldb::storage::{FileSystem, MemoryFileSystem};
use larder_leveldb::table::TableOptions;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Background, Db, Durability, ErrorKind, Options, destroy};
use std::path::Path;
use std::sync::Arc;

fn small() -> Options {
    Options {
        create_if_missing: true,
        write_buffer_bytes: 20_000,
        table_file_bytes: 10_000,
        background: Background::Caller,
        ..Options::default()
    }
}

fn open(fs: &Arc<MemoryFileSystem>, options: Options) -> Db {
    Db::open(fs.clone(), Path::new("db"), options).unwrap()
}

fn refused(fs: &Arc<MemoryFileSystem>, options: Options) -> ErrorKind {
    Db::open(fs.clone(), Path::new("db"), options)
        .unwrap_err()
        .kind()
}

fn key(n: u32) -> Vec<u8> {
    format!("key {n:06}").into_bytes()
}

fn fill(db: &Db, keys: impl Iterator<Item = u32>, value: u8) {
    for n in keys {
        db.put(&key(n), &[value; 100], Durability::Relaxed).unwrap();
    }
}

#[test]
fn options_for_a_missing_and_for_an_existing_store_are_kept() {
    let fs = Arc::new(MemoryFileSystem::new());
    assert_eq!(refused(&fs, Options::default()), ErrorKind::NotAStore);
    assert!(fs.list(Path::new("db")).is_err(), "opening made something");
    drop(open(&fs, small()));
    let error_if_exists = Options {
        error_if_exists: true,
        ..small()
    };
    assert_eq!(refused(&fs, error_if_exists), ErrorKind::Usage);
    let other_order = Options {
        comparator: Arc::new(IdbLike),
        ..small()
    };
    assert_eq!(refused(&fs, other_order), ErrorKind::Usage);
    drop(open(
        &fs,
        Options {
            create_if_missing: false,
            ..small()
        },
    ));
}

#[test]
fn a_store_is_open_for_writing_once() {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = open(&fs, small());
    assert_eq!(refused(&fs, small()), ErrorKind::Conflict);
    assert_eq!(
        destroy(&*fs, Path::new("db")).unwrap_err().kind(),
        ErrorKind::Conflict
    );
    let reader = Db::open_read_only(fs.clone(), Path::new("db"), small()).unwrap();
    assert!(reader.lock_holder().is_some());
    assert_eq!(
        reader
            .put(b"k", b"v", Durability::Relaxed)
            .unwrap_err()
            .kind(),
        ErrorKind::Usage
    );
    drop(db);
    drop(open(&fs, small()));
}

#[test]
fn a_store_without_current_is_not_made_anew() {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = open(&fs, small());
    fill(&db, 0..10, 1);
    drop(db);
    fs.remove(Path::new("db/CURRENT")).unwrap();
    assert_eq!(refused(&fs, small()), ErrorKind::Corruption);
}

#[test]
fn destroy_removes_the_store_and_nothing_else() {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = open(&fs, small());
    fill(&db, 0..1000, 1);
    drop(db);
    fs.create(Path::new("db/notes.txt")).unwrap();
    destroy(&*fs, Path::new("db")).unwrap();
    assert_eq!(fs.list(Path::new("db")).unwrap(), ["notes.txt"]);
    fs.remove(Path::new("db/notes.txt")).unwrap();
    drop(open(&fs, small()));
    destroy(&*fs, Path::new("db")).unwrap();
    assert!(fs.list(Path::new("db")).is_err());
    destroy(&*fs, Path::new("db")).unwrap();
}

#[test]
fn live_keys_beside_tombstones_are_found_and_deleted_ones_stay_deleted() {
    for comparator in [Options::default().comparator, Arc::new(IdbLike) as _] {
        let fs = Arc::new(MemoryFileSystem::new());
        let db = open(
            &fs,
            Options {
                comparator,
                ..small()
            },
        );
        fill(&db, 0..5000, 1);
        db.flush().unwrap();
        for n in (0..5000).step_by(3) {
            db.delete(&key(n), Durability::Relaxed).unwrap();
        }
        while db.do_background_work().unwrap() {}
        for n in 0..5000 {
            assert_eq!(db.get(&key(n)).unwrap().is_some(), n % 3 != 0, "{n}");
        }
        let mut iter = db.iter();
        iter.seek_to_last().unwrap();
        for n in (0..5000).rev().filter(|n| n % 3 != 0) {
            assert_eq!(iter.key(), key(n));
            iter.prev().unwrap();
        }
        assert!(!iter.valid());
    }
}

#[test]
fn an_iterator_is_whole_across_compactions_and_its_tables_go_after_it() {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = open(&fs, small());
    fill(&db, 0..3000, 1);
    let mut iter = db.iter();
    iter.seek_to_first().unwrap();
    db.delete_range(&key(0), &key(9999), Durability::Relaxed)
        .unwrap();
    db.compact_range(None, None).unwrap();
    assert_eq!((count(db.iter()), db.files().len()), (0, 0));
    for n in 0..3000 {
        assert_eq!(
            (iter.key(), iter.value().unwrap()),
            (&key(n)[..], &[1; 100][..])
        );
        iter.next().unwrap();
    }
    assert!(!iter.valid());
    let tables = || {
        let names = fs.list(Path::new("db")).unwrap();
        names
            .iter()
            .filter(|name| name.to_string_lossy().ends_with(".ldb"))
            .count()
    };
    assert!(tables() > 0);
    drop(iter);
    db.do_background_work().unwrap();
    assert_eq!(tables(), 0);
}

fn holds(fs: &MemoryFileSystem, bytes: &[u8]) -> Option<String> {
    for name in fs.list(Path::new("db")).unwrap() {
        let mut file = fs.open_sequential(&Path::new("db").join(&name)).unwrap();
        let (mut content, mut buffer) = (Vec::new(), [0; 4096]);
        loop {
            match file.read(&mut buffer).unwrap() {
                0 => break,
                n => content.extend_from_slice(&buffer[..n]),
            }
        }
        if content.windows(bytes.len()).any(|window| window == bytes) {
            return Some(name.to_string_lossy().into_owned());
        }
    }
    None
}

/// A key that nothing else writes.
fn secret(n: u32) -> Vec<u8> {
    [&key(n)[..], b" secret"].concat()
}

#[test]
fn after_compact_range_no_file_holds_a_value_that_was_deleted_or_replaced() {
    let table = TableOptions {
        compression: larder_leveldb::compression::Compression::None,
        ..TableOptions::default()
    };
    let (deleted, replaced) = (b"a secret that was deleted", b"a secret that was replaced");
    for rounds in 0..12 {
        let fs = Arc::new(MemoryFileSystem::new());
        let db = open(&fs, Options { table, ..small() });
        fill(&db, (0..2000).step_by(2), 1);
        db.put(&secret(777), deleted, Durability::Relaxed).unwrap();
        db.put(&secret(999), replaced, Durability::Relaxed).unwrap();
        for round in 0..rounds {
            fill(&db, (round..2000).step_by(14), 2);
            db.do_background_work().unwrap();
        }
        assert!(holds(&fs, deleted).is_some() && holds(&fs, replaced).is_some());
        db.delete(&secret(777), Durability::Relaxed).unwrap();
        db.put(&secret(999), b"new", Durability::Relaxed).unwrap();
        if rounds % 2 == 0 {
            db.compact_range(None, None).unwrap();
        } else {
            db.compact_range(Some(&key(700)), Some(&key(1000))).unwrap();
        }
        assert_eq!(
            (holds(&fs, deleted), holds(&fs, replaced)),
            (None, None),
            "{rounds}"
        );
        assert_eq!(db.get(&secret(999)).unwrap().unwrap(), b"new");
    }
}

#[test]
fn a_compaction_leaves_no_table_that_it_has_replaced() {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = open(&fs, small());
    let tables = || {
        let names = fs.list(Path::new("db")).unwrap();
        let names = names.iter().map(|name| name.to_string_lossy());
        names.filter(|name| name.ends_with(".ldb")).count()
    };
    for value in 0..20 {
        fill(&db, 0..200, value);
        while db.do_background_work().unwrap() {
            assert_eq!(tables(), db.files().len());
        }
        if value % 4 == 3 {
            db.compact_range(None, None).unwrap();
            assert_eq!(tables(), db.files().len());
        }
    }
    db.put(&secret(1), b"a secret", Durability::Relaxed)
        .unwrap();
    db.flush().unwrap();
    db.delete(&secret(1), Durability::Relaxed).unwrap();
    db.compact_range(None, None).unwrap();
    assert_eq!(holds(&fs, b"a secret"), None);
}

#[test]
fn old_versions_of_a_key_are_not_kept_for_anyone() {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = open(&fs, small());
    for value in 0..200 {
        fill(&db, 0..10, value);
    }
    let before = db.snapshot();
    fill(&db, 0..10, 255);
    db.compact_range(None, None).unwrap();
    let rows: u64 = db.statistics().levels.iter().map(|level| level.bytes).sum();
    assert!(rows < 3000, "{rows} bytes for ten rows");
    assert_eq!(before.get(&key(3)).unwrap().unwrap(), [199; 100]);
    assert_eq!(db.get(&key(3)).unwrap().unwrap(), [255; 100]);
}

#[test]
fn levels_below_the_first_never_overlap_and_stay_within_their_limits() {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = open(&fs, small());
    let mut n = 1u32;
    for _ in 0..8000 {
        n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        fill(&db, std::iter::once(n >> 16), n as u8);
    }
    while db.do_background_work().unwrap() {}
    let files = db.files();
    assert!(files.iter().filter(|file| file.level == 0).count() < 4);
    for level in 1..7 {
        let mut ranges: Vec<_> = files
            .iter()
            .filter(|file| file.level == level)
            .map(|file| (file.smallest.clone(), file.largest.clone()))
            .collect();
        ranges.sort();
        assert!(
            ranges.windows(2).all(|pair| pair[0].1 < pair[1].0),
            "level {level}"
        );
    }
    let statistics = db.statistics();
    assert!(statistics.compaction_written_bytes > 0 && statistics.writes == 8000);
}

#[test]
fn values_larger_than_a_block_of_the_log_and_than_the_write_buffer_come_back() {
    let fs = Arc::new(MemoryFileSystem::new());
    let mut db = open(&fs, small());
    let value: Vec<u8> = (0..25u32 << 20)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    db.put(b"large", &value, Durability::Strict).unwrap();
    for _ in 0..3 {
        assert!(db.get(b"large").unwrap().as_ref() == Some(&value));
        drop(db);
        db = open(&fs, small());
        db.compact_range(None, None).unwrap();
    }
}

#[test]
fn threads_that_write_strictly_at_once_all_find_their_rows_again() {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = open(
        &fs,
        Options {
            background: Background::Thread,
            ..small()
        },
    );
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let db = &db;
            scope.spawn(move || {
                for n in 0..1000 {
                    let mut batch = BatchWriter::new();
                    batch.put(&key(thread * 10_000 + n), &n.to_be_bytes());
                    batch.put(&thread.to_be_bytes(), &n.to_be_bytes());
                    let strict = n % 3 == 0;
                    let durability = if strict {
                        Durability::Strict
                    } else {
                        Durability::Relaxed
                    };
                    db.write(&mut batch, durability).unwrap();
                    assert_eq!(
                        db.get(&thread.to_be_bytes()).unwrap().unwrap(),
                        n.to_be_bytes()
                    );
                }
            });
        }
        scope.spawn(|| {
            // Rows of one batch are seen together, and no thread's rows with a gap.
            for _ in 0..50 {
                let snapshot = db.snapshot();
                for thread in 0..4u32 {
                    let last = snapshot.get(&thread.to_be_bytes()).unwrap();
                    let last = last.map_or(0, |bytes| {
                        u32::from_be_bytes(bytes[..].try_into().unwrap()) + 1
                    });
                    for n in [0, last / 2, last.saturating_sub(1), last] {
                        let found = snapshot.get(&key(thread * 10_000 + n)).unwrap();
                        assert_eq!(found.is_some(), n < last, "{n} of {last}");
                    }
                }
            }
        });
    });
    assert_eq!(db.latest_sequence(), 8000);
    db.close().unwrap();
    let after = Arc::new(fs.crash_image(larder_leveldb::storage::CrashImage::LoseUnsynced));
    let db = open(&after, small());
    assert_eq!(count(db.iter()), 4004, "closing makes all of it durable");
}

#[test]
fn an_empty_strict_batch_makes_what_was_written_before_durable() {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = open(&fs, small());
    let lost = |expected: usize| {
        let after = Arc::new(fs.crash_image(larder_leveldb::storage::CrashImage::LoseUnsynced));
        assert_eq!(count(open(&after, small()).iter()), expected);
    };
    fill(&db, 0..10, 1);
    lost(0);
    db.write(&mut BatchWriter::new(), Durability::Strict)
        .unwrap();
    lost(10);
    assert_eq!(db.latest_sequence(), 10);
}

#[test]
fn closing_makes_what_was_written_durable() {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = open(&fs, small());
    fill(&db, 0..10, 1);
    db.close().unwrap();
    let after = Arc::new(fs.crash_image(larder_leveldb::storage::CrashImage::LoseUnsynced));
    assert_eq!(count(open(&after, small()).iter()), 10);
}

#[test]
fn writers_help_when_compactions_are_behind_so_that_level_0_stays_small() {
    let fs = Arc::new(MemoryFileSystem::new());
    let db = open(&fs, small());
    let mut most = 0;
    for value in 0..100 {
        fill(&db, 0..150, value);
        most = most.max(db.statistics().levels[0].tables);
    }
    // Without their help it would be twelve, where they stop.
    assert!((5..=8).contains(&most), "{most} tables of level 0");
    assert!(db.statistics().slow_downs > 0 && db.statistics().stops > 0);
}

#[test]
fn approximate_sizes_add_up_and_follow_the_rows() {
    let fs = Arc::new(MemoryFileSystem::new());
    let table = TableOptions {
        compression: larder_leveldb::compression::Compression::None,
        ..TableOptions::default()
    };
    let db = open(&fs, Options { table, ..small() });
    fill(&db, 0..5000, 1);
    db.compact_range(None, None).unwrap();
    let size = |from, to| db.approximate_size(&key(from), &key(to)).unwrap();
    let (all, half, tenth) = (size(0, 5000), size(0, 2500), size(1000, 1500));
    assert!((500_000..700_000).contains(&all), "{all}");
    assert!(half.abs_diff(all / 2) < 10_000 && tenth.abs_diff(all / 10) < 10_000);
    assert_eq!(
        (size(100, 100), size(9000, 9999), half + size(2500, 5000)),
        (0, 0, all)
    );
}

#[test]
fn a_manifest_does_not_grow_without_end_while_the_store_stays_open() {
    let fs = Arc::new(MemoryFileSystem::new());
    let options = Options {
        manifest_bytes: 500,
        ..small()
    };
    let db = open(&fs, options.clone());
    let mut names = std::collections::BTreeSet::new();
    for n in 0..200 {
        fill(&db, n..n + 3, n as u8);
        db.flush().unwrap();
        while db.do_background_work().unwrap() {}
        let all = fs.list(Path::new("db")).unwrap();
        let all = all.into_iter().map(|name| name.into_string().unwrap());
        let manifests: Vec<String> = all.filter(|name| name.starts_with("MANIFEST-")).collect();
        let [name] = &manifests[..] else {
            panic!("one MANIFEST: {manifests:?}");
        };
        let metadata = fs.metadata(&Path::new("db").join(name)).unwrap();
        assert!(metadata.len_bytes < 3000, "{} bytes", metadata.len_bytes);
        names.insert(name.clone());
    }
    assert!(names.len() > 10, "{names:?}");
    let files = db.files();
    drop(db);
    let db = open(&fs, options);
    assert_eq!((count(db.iter()), db.files()), (202, files));
}
