//! Stores whose keys are in another order than Chromium's, under the name of Chromium's comparator: read whole, said to be
//! so, no damage; never written to.

mod naive;

use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_backing_store::{
    BackingStore, ErrorKind, FixedClock, OpenOptions, Store, StoreOrder, StorePaths, WriteOptions,
};
use larder_codec::compare::RowOrder;
use larder_codec::{COMPARATOR_NAME, Origin, compare};
use larder_fixtures::canonical::{comparable, first_difference, with_large_stack};
use larder_fixtures::{Fixture, OpenFixture};
use larder_leveldb::storage::DiskFileSystem;
use larder_leveldb::{Comparator, Db, Durability, KeyOrder, OnDamage, Options};

use crate::support::{dump_canonical, larder, stderr};

/// Chromium's order, or another under its name.
#[derive(Clone, Copy, Debug)]
enum Named {
    Chromium,
    SignedBytes,
    Descending,
    Bytewise,
    LastByteFirst,
}

impl Comparator for Named {
    fn name(&self) -> &str {
        COMPARATOR_NAME
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Chromium => compare(a, b),
            Self::SignedBytes => RowOrder::SignedBytes.compare(a, b),
            Self::Descending => compare(b, a),
            Self::Bytewise => a.cmp(b),
            Self::LastByteFirst => a.last().cmp(&b.last()).then_with(|| a.cmp(b)),
        }
    }

    fn shorten_separator(&self, _start: &mut Vec<u8>, _limit: &[u8]) {}

    fn shorten_successor(&self, _key: &mut Vec<u8>) {}
}

fn options(order: Named) -> Options {
    Options {
        create_if_missing: true,
        write_buffer_bytes: 64 << 10,
        table_file_bytes: 32 << 10,
        order_check_bytes: u64::MAX,
        ..Options::new(Arc::new(order))
    }
}

/// The fixture's store in another order: every live row, through an engine with that order, into tables.
fn in_order(fixture: &Fixture, order: Named) -> OpenFixture {
    let copy = fixture.copy();
    let (leveldb, moved) = (copy.leveldb(), copy.dir().join("moved"));
    fs::rename(&leveldb, &moved).unwrap();
    let fs_ = Arc::new(DiskFileSystem::new());
    let source = Db::open_read_only(fs_.clone(), &moved, options(Named::Chromium)).unwrap();
    let target = Db::open(fs_, &leveldb, options(order)).unwrap();
    let mut iter = source.iter();
    iter.seek_to_first().unwrap();
    let mut count = 0;
    while iter.valid() {
        // Every row twice, so that older ones lie in older tables.
        target
            .put(iter.key(), b"older", Durability::Relaxed)
            .unwrap();
        if count % 3 == 0 {
            target
                .put(iter.key(), iter.value().unwrap(), Durability::Relaxed)
                .unwrap();
        }
        count += 1;
        iter.next().unwrap();
    }
    target.flush().unwrap();
    iter.seek_to_first().unwrap();
    while iter.valid() {
        target
            .put(iter.key(), iter.value().unwrap(), Durability::Relaxed)
            .unwrap();
        iter.next().unwrap();
    }
    target.flush().unwrap();
    target.close().unwrap();
    fs::remove_dir_all(moved).unwrap();
    copy
}

fn open(leveldb: &Path) -> Store {
    let fs = Arc::new(DiskFileSystem::new());
    let options = OpenOptions {
        on_damage: OnDamage::Skip,
        ..OpenOptions::default()
    };
    Store::open_read_only(fs, StorePaths::of_leveldb(leveldb), options).unwrap()
}

#[test]
fn a_store_of_signed_bytes_dumps_to_exactly_what_its_browser_showed_and_is_said_to_be_one() {
    with_large_stack(|| {
        let fixtures = larder_fixtures::in_another_order();
        let reported: Vec<_> = fixtures
            .iter()
            .filter(|fixture| fixture.has_expectation())
            .collect();
        assert!(!reported.is_empty());
        for fixture in reported {
            let copy = fixture.copy();
            let output = dump_canonical(&copy.leveldb());
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            let (ours, theirs) = (comparable(&output.stdout), comparable(&fixture.expected()));
            assert_eq!(
                first_difference(&ours, &theirs, "databases"),
                None,
                "{}",
                fixture.name
            );
            assert!(
                stderr(&output).contains("order of signed bytes"),
                "{}",
                stderr(&output)
            );
            let document = larder_fixtures::parse_json(&output.stdout);
            assert_eq!(document["order"], "signed bytes");
            let store = open(&copy.leveldb());
            assert_eq!(store.order(), StoreOrder::SignedBytes);
            assert_eq!(store.damage(), []);
        }
    });
}

#[test]
fn every_form_of_output_says_the_order_and_ends_well() {
    for fixture in larder_fixtures::in_another_order() {
        let copy = fixture.copy();
        let store = copy.leveldb();
        let path = store.to_str().unwrap();
        for arguments in [
            &["ls", path][..],
            &["dump", path],
            &["dump", path, "--format", "jsonl"],
            &["dump", path, "--format", "canonical"],
            &["rows", path],
            &["rows", path, "--history", "--json"],
        ] {
            let output = larder(arguments);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(0), "{arguments:?}: {said}");
            assert!(
                said.contains("note: ") && said.contains("order"),
                "{arguments:?}: {said}"
            );
            assert!(!output.stdout.is_empty(), "{arguments:?}");
        }
    }
}

#[test]
fn every_row_of_a_store_in_another_order_is_there_once_and_is_the_newest() {
    for fixture in larder_fixtures::in_another_order() {
        let copy = fixture.copy();
        let naive = naive::rows(&copy.leveldb());
        assert!(naive.len() > 1000, "{}: {} rows", fixture.name, naive.len());
        let store = open(&copy.leveldb());
        let order = store.order().of_rows();
        for backward in [false, true] {
            let mut iter = store.snapshot().unwrap().iter();
            let mut rows = Vec::new();
            match backward {
                false => iter.seek_to_first().unwrap(),
                true => iter.seek_to_last().unwrap(),
            }
            while iter.valid() {
                rows.push((iter.key().to_vec(), iter.value().unwrap().to_vec()));
                match backward {
                    false => iter.next().unwrap(),
                    true => iter.prev().unwrap(),
                }
            }
            if backward {
                rows.reverse();
            }
            assert!(
                rows.is_sorted_by(|a, b| order.compare(&a.0, &b.0).is_lt()),
                "{}",
                fixture.name
            );
            rows.sort();
            let missing = naive.iter().find(|(key, value)| {
                let found = rows.binary_search_by(|(have, _)| have.cmp(key));
                found.is_err() || found.is_ok_and(|at| rows[at].1 != **value)
            });
            assert_eq!(missing, None, "{}", fixture.name);
            assert_eq!(rows.len(), naive.len(), "{}", fixture.name);
        }
        for (key, value) in &naive {
            assert_eq!(
                store.snapshot().unwrap().get(key).unwrap().as_ref(),
                Some(value),
                "{key:02x?}"
            );
        }
        assert_eq!(store.damage(), [], "{}", fixture.name);
    }
}

#[test]
fn a_mixed_store_has_all_databases_of_the_store_that_it_was_made_from() {
    with_large_stack(|| {
        let mixed = larder_fixtures::get("qt5-order-mixed").copy();
        let before = larder_fixtures::get("qt5-order").expected_json();
        let store = open(&mixed.leveldb());
        assert_eq!(store.order(), StoreOrder::Mixed);
        let mut problems = Vec::new();
        let databases = store.databases(&mut problems).unwrap();
        assert_eq!(problems.len(), 0, "{problems:?}");
        for database in before["databases"].as_array().unwrap() {
            let Some(name) = database["name"].as_str() else {
                continue;
            };
            assert!(databases.iter().any(|have| have.name == name), "{name}");
        }
    });
}

#[test]
fn a_store_of_any_other_order_dumps_to_what_the_browser_showed_in_the_right_order() {
    with_large_stack(|| {
        for name in ["c156-lite", "c83-lite", "c156-killed-spill-small"] {
            let fixture = larder_fixtures::get(name);
            let theirs = comparable(&fixture.expected());
            for order in [Named::Descending, Named::Bytewise, Named::LastByteFirst] {
                let copy = in_order(&fixture, order);
                let output = dump_canonical(&copy.leveldb());
                let said = stderr(&output);
                assert_eq!(output.status.code(), Some(0), "{name}, {order:?}: {said}");
                assert!(
                    said.contains("no single order"),
                    "{name}, {order:?}: {said}"
                );
                let difference =
                    first_difference(&comparable(&output.stdout), &theirs, "databases");
                assert_eq!(difference, None, "{name}, {order:?}");
            }
            // The control: the same copies in the right order are nothing special.
            let copy = in_order(&fixture, Named::Chromium);
            let output = dump_canonical(&copy.leveldb());
            let difference = first_difference(&comparable(&output.stdout), &theirs, "databases");
            assert_eq!(
                (difference, open(&copy.leveldb()).order()),
                (None, StoreOrder::Chromium)
            );
        }
    });
}

#[test]
fn an_unfinished_transaction_of_a_store_of_signed_bytes_is_taken_back_newest_first() {
    with_large_stack(|| {
        // Its undo rows are more than 256: by signed bytes they do not stand in the order of their numbers.
        for name in ["c156-killed-spill", "c92-killed-spill"] {
            let fixture = larder_fixtures::get(name);
            let copy = in_order(&fixture, Named::SignedBytes);
            assert_eq!(
                open(&copy.leveldb()).order(),
                StoreOrder::SignedBytes,
                "{name}"
            );
            let output = dump_canonical(&copy.leveldb());
            assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
            let (ours, theirs) = (comparable(&output.stdout), comparable(&fixture.expected()));
            // Cursors move in another order: all else is what the browser showed.
            assert_eq!(sorted(ours), sorted(theirs), "{name}");
        }
    });
}

/// A document without what depends on the order of keys.
fn sorted(mut document: serde_json::Value) -> serde_json::Value {
    fn visit(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(members) => {
                members.remove("orders");
                for name in ["records", "entries"] {
                    if let Some(serde_json::Value::Array(list)) = members.get_mut(name) {
                        list.sort_by_key(ToString::to_string);
                    }
                }
                members.values_mut().for_each(visit);
            }
            serde_json::Value::Array(list) => list.iter_mut().for_each(visit),
            _ => {}
        }
    }
    visit(&mut document);
    document
}

fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(self::files(&path)),
            false => files.push((path.clone(), fs::read(&path).unwrap())),
        }
    }
    files.sort();
    files
}

#[test]
fn a_store_in_another_order_is_refused_for_writing_and_stays_as_it_is_to_the_byte() {
    for fixture in larder_fixtures::in_another_order() {
        let copy = fixture.copy();
        let before = files(copy.dir());
        let origin = Origin::from_url(&fixture.origin).unwrap();
        let fs = Arc::new(DiskFileSystem::new());
        let paths = StorePaths::of_leveldb(&copy.leveldb());
        let writing = WriteOptions::new(origin, Arc::new(FixedClock::default()));
        let error = BackingStore::open(fs.clone(), paths, writing).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        let said = error.to_string();
        assert!(
            said.contains("order") && said.contains("for reading only"),
            "{said}"
        );
        // The engine by itself, too, whatever it has looked at before.
        for order_check_bytes in [0, u64::MAX] {
            let options = Options {
                order_check_bytes,
                ..options(Named::Chromium)
            };
            let error = Db::open(fs.clone(), &copy.leveldb(), options).unwrap_err();
            assert_eq!(
                error.kind(),
                larder_leveldb::ErrorKind::Unsupported,
                "{error}"
            );
        }
        let repaired = larder([
            "repair".as_ref(),
            copy.leveldb().as_os_str(),
            "--in-place".as_ref(),
        ]);
        assert_eq!(repaired.status.code(), Some(2), "{}", stderr(&repaired));
        assert!(
            stderr(&repaired).contains("give --to"),
            "{}",
            stderr(&repaired)
        );
        assert!(
            files(copy.dir()) == before,
            "{}: a byte was changed",
            fixture.name
        );
    }
}

#[test]
fn a_repaired_store_of_another_order_has_all_its_rows_in_chromiums_order() {
    for fixture in larder_fixtures::in_another_order() {
        let copy = fixture.copy();
        let naive = naive::rows(&copy.leveldb());
        let fs = Arc::new(DiskFileSystem::new());
        let in_doubt = larder_leveldb::RowsInDoubt::LeaveOut;
        let repaired = larder_leveldb::repair(
            fs.clone(),
            &copy.leveldb(),
            &options(Named::Chromium),
            in_doubt,
        );
        let repaired = repaired.unwrap();
        assert_eq!(
            (repaired.rows, repaired.in_doubt),
            (naive.len() as u64, 0),
            "{}",
            fixture.name
        );
        assert_eq!(
            (repaired.damage, repaired.set_aside),
            (vec![], vec![]),
            "{}",
            fixture.name
        );
        assert_eq!(naive::rows(&copy.leveldb()), naive, "{}", fixture.name);
        let db = Db::open_read_only(fs, &copy.leveldb(), options(Named::Chromium)).unwrap();
        assert_eq!(db.order(), KeyOrder::Own, "{}", fixture.name);
    }
}
