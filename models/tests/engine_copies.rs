//! Stores copied row by row through the engine, judged by a real Chromium.
//!
//! Every row of a golden store, undo logs and stale index entries included, goes through [`Db::write`] into a new store with
//! Chromium's settings; once it stays in the log, once it is compacted into tables. The store's blobs stay where they are. Then
//! Chromium's page must find in the copy what it found in the original.
//!
//! Rows are written twice, the first time with another value or beside rows that are deleted later: an engine that brings
//! back what was replaced would show.

#![cfg(test)]

use larder_backing_store::IdbComparator;
use larder_fixtures::canonical::{databases_of, first_difference, with_large_stack};
use larder_fixtures::chromium::{self, Chromium, Store};
use larder_fixtures::{Fixture, OpenFixture};
use larder_leveldb::storage::DiskFileSystem;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Db, Durability, Options};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Written by Chromium 131 and newer, so that Chromium 156 shows what they did: blobs, files and values that were wrapped or put
/// into blobs for their length; unfinished and finished transactions; libraries.
const JUDGED: [&str; 8] = [
    "c156",
    "c156-lite",
    "c143-lite",
    "c131-lite",
    "c156-killed-spill-small",
    "c156-killed-blob",
    "c156-killed-commit",
    "dexie",
];

/// Chromium refuses it, because of empty Files (`fixtures/generate/README.md`).
const REFUSED: &str = "c75-lite";

#[derive(Clone, Copy, Debug)]
enum Form {
    LogOnly,
    Compacted,
}

const FORMS: [Form; 2] = [Form::LogOnly, Form::Compacted];

/// Options as Chromium opens its stores with, but for a buffer that holds everything if nothing shall become a table.
fn options(form: Form) -> Options {
    Options {
        create_if_missing: true,
        write_buffer_bytes: match form {
            Form::LogOnly => 1 << 30,
            Form::Compacted => 1 << 20,
        },
        ..Options::new(Arc::new(IdbComparator))
    }
}

/// Copies all live rows; how many there are.
fn copy_rows(from: &Path, to: &Path, form: Form) -> usize {
    let fs = Arc::new(DiskFileSystem::new());
    let source = Db::open_read_only(fs.clone(), from, options(form)).unwrap();
    let copy = Db::open(fs, to, options(form)).unwrap();
    let mut iter = source.iter();
    let mut rows = 0;
    let mut batch = BatchWriter::new();
    for pass in 0..2 {
        iter.seek_to_first().unwrap();
        while iter.valid() {
            if pass == 1 {
                batch.put(iter.key(), iter.value().unwrap());
                rows += 1;
            } else {
                batch.put(iter.key(), b"to be replaced");
            }
            if batch.len_bytes() > 10_000 {
                copy.write(&mut batch, Durability::Relaxed).unwrap();
            }
            iter.next().unwrap();
        }
        if pass == 0 {
            // A data row of a database that does not exist.
            let stray = [0, 0x7e, 1, 1, 3, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f];
            batch.put(&stray, b"to be deleted");
            batch.delete(&stray);
        }
        copy.write(&mut batch, Durability::Strict).unwrap();
    }
    if matches!(form, Form::Compacted) {
        copy.compact_range(None, None).unwrap();
    }
    let tables = copy.files().len();
    match form {
        Form::LogOnly => assert_eq!(tables, 0, "everything is in the log"),
        Form::Compacted => {
            assert!(copy.files().iter().all(|file| file.level > 0) && tables > 0);
        }
    }
    copy.close().unwrap();
    rows
}

fn original(opened: &OpenFixture, fixture: &Fixture) -> Store {
    Store::within(opened.dir(), &fixture.origin)
}

/// Checks both copies of a fixture against `expected`.
fn judge(chromium: &Chromium, fixture: &Fixture, opened: &OpenFixture, expected: &Value) {
    for form in FORMS {
        let dir = tempfile::tempdir().unwrap();
        let leveldb = dir.path().join("copy");
        let rows = copy_rows(&opened.leveldb(), &leveldb, form);
        let copy = Store {
            leveldb,
            ..original(opened, fixture)
        };
        let found = databases_of(chromium.dump(&copy).unwrap());
        let difference = first_difference(&found, expected, "databases");
        assert_eq!(difference, None, "{} {form:?}", fixture.name);
        println!("{} {form:?}: {rows} rows, equal", fixture.name);
    }
}

#[test]
fn chromium_finds_in_copies_through_the_engine_what_it_found_in_the_originals() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        for name in JUDGED {
            let fixture = larder_fixtures::get(name);
            let opened = fixture.copy();
            let expected = databases_of(fixture.expected_json());
            judge(chromium, &fixture, &opened, &expected);
        }
    });
}

#[test]
fn chromium_shows_that_a_row_is_missing() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let fixture = larder_fixtures::get("idb-keyval");
        let opened = fixture.copy();
        let leveldb = opened.leveldb();
        let fs = Arc::new(DiskFileSystem::new());
        let db = Db::open(fs, &leveldb, options(Form::LogOnly)).unwrap();
        let mut iter = db.iter();
        // The first data row: store and index 1 behind a database's id.
        iter.seek(&[0, 1, 1, 1]).unwrap();
        assert_eq!(iter.key()[..4], [0, 1, 1, 1]);
        db.delete(iter.key(), Durability::Relaxed).unwrap();
        drop(iter);
        db.close().unwrap();
        let found = databases_of(chromium.dump(&original(&opened, &fixture)).unwrap());
        let expected = databases_of(fixture.expected_json());
        assert!(first_difference(&found, &expected, "databases").is_some());
    });
}

/// Stores of older Chromiums read a little differently today, so here the same browser judges original and copy.
#[test]
#[ignore = "long: all golden stores, some minutes"]
fn chromium_finds_the_same_in_every_golden_store_and_its_copies() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        for fixture in larder_fixtures::all() {
            if fixture.name == REFUSED {
                continue;
            }
            let opened = fixture.copy();
            let expected = databases_of(chromium.dump(&original(&opened, &fixture)).unwrap());
            assert_ne!(expected.as_array().unwrap().len(), 0, "{}", fixture.name);
            judge(chromium, &fixture, &opened, &expected);
        }
    });
}
