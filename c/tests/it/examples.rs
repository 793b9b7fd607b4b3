//! The examples do what they say, in the folder of a store that others can read.

use std::path::Path;
use std::sync::Arc;

use larder_idb::{
    DiskFileSystem, KeyRange, Origin, Storage, StorageOptions, SystemClock, TransactionMode,
    TransactionOptions,
};
use serde_json::{Value as Json, json};

use crate::programs::{compile, compilers, run};

const NOTES: &str = "\
upgrade from version 0 to 1
1: Water the plants
3: Call Ada
version 2 is wanted in place of 1: closing
upgrade from version 1 to 2
version 2, object store \"notes\"
1: Water the plants
2: Bücher zurückgeben
found again: 3 notes
";

/// All values of an object store, by `larder-idb`.
fn values(folder: &Path, origin: &str, database: &str, store: &str) -> Vec<Json> {
    let clock = Arc::new(SystemClock);
    let options = StorageOptions::new(Arc::new(DiskFileSystem::new()), folder, clock);
    let storage = Storage::new(options).unwrap();
    let factory = storage.factory(&Origin::from_url(origin).unwrap());
    let opened = factory.open(database, None).unwrap();
    let connection = opened.connection().wait().unwrap();
    let name = store;
    let options = TransactionOptions::default();
    let transaction = connection
        .transaction(
            std::slice::from_ref(&name),
            TransactionMode::ReadOnly,
            options,
        )
        .unwrap();
    let store = transaction.object_store(name).unwrap();
    let all = store.get_all(KeyRange::all(), Default::default()).unwrap();
    let all = all.wait().unwrap();
    all.iter()
        .map(|entry| entry.deserialize().unwrap())
        .collect()
}

#[test]
fn the_shortest_program_keeps_a_record_and_reads_it() {
    for compiler in compilers("examples/hello.c") {
        let out = tempfile::tempdir().unwrap();
        let program = compile(compiler, "examples/hello.c", out.path());
        let folder = out.path().join("store");
        for _ in 0..2 {
            assert_eq!(run(&program, &folder), "Hello, world!\n");
        }
        let found = values(&folder, "https://app.example", "hello", "greetings");
        assert_eq!(found, [json!({"text": "Hello, world!"})]);
    }
}

fn keeps_notes(source: &str) {
    for compiler in compilers(source) {
        let out = tempfile::tempdir().unwrap();
        let program = compile(compiler, source, out.path());
        let folder = out.path().join("store");
        assert_eq!(run(&program, &folder), NOTES, "{compiler}");
        let found = values(&folder, "https://notes.example", "notes", "notes");
        let called = json!({"id": 3, "title": "Call Ada", "tags": ["phone", "weekly"]});
        assert_eq!((found.len(), found.get(2)), (3, Some(&called)));
    }
}

#[test]
fn notes_in_c_are_written_found_by_an_index_and_found_again() {
    keeps_notes("examples/notes.c");
}

#[test]
fn each_part_of_the_interface_does_its_work() {
    for compiler in compilers("tests/programs/everything.c") {
        let out = tempfile::tempdir().unwrap();
        let program = compile(compiler, "tests/programs/everything.c", out.path());
        assert_eq!(run(&program, &out.path().join("store")), "all of it\n");
    }
}

#[test]
fn misuse_and_whatever_callbacks_do_is_answered_and_never_a_crash() {
    for compiler in compilers("tests/programs/misuse.c") {
        let out = tempfile::tempdir().unwrap();
        let program = compile(compiler, "tests/programs/misuse.c", out.path());
        assert_eq!(run(&program, out.path()), "all as it should be\n");
    }
}

#[test]
fn a_store_is_only_read_and_a_damaged_one_is_heard_of_and_repaired() {
    for compiler in compilers("tests/programs/damage.c") {
        let out = tempfile::tempdir().unwrap();
        let program = compile(compiler, "tests/programs/damage.c", out.path());
        let printed = run(&program, &out.path().join("store"));
        assert_eq!(printed, "read, told and repaired\n");
    }
}

#[test]
fn blobs_are_put_beside_bytes_that_an_engine_has_serialised() {
    for compiler in compilers("tests/programs/blobs.c") {
        let out = tempfile::tempdir().unwrap();
        let program = compile(compiler, "tests/programs/blobs.c", out.path());
        let printed = run(&program, &out.path().join("store"));
        assert_eq!(printed, "from memory and from files\n");
    }
}

#[test]
fn threads_of_a_host_work_side_by_side_and_callbacks_come_on_its_loop() {
    for compiler in compilers("tests/programs/threads.c") {
        let out = tempfile::tempdir().unwrap();
        let program = compile(compiler, "tests/programs/threads.c", out.path());
        assert_eq!(run(&program, &out.path().join("store")), "8 threads\n");
    }
}

#[test]
fn notes_in_cpp_are_the_same_with_threads_and_a_loop_that_sleeps() {
    keeps_notes("examples/notes.cpp");
}
