//! `larder export` and `larder import`: what comes back is what went in, whole or not at all.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use larder_fixtures::Fixture;

use crate::support::{compare_with_browser, dump_canonical, for_every, larder, stderr};

mod dexie;
#[cfg(unix)]
mod faults;
mod hostile;
mod messages;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "scripts")]
mod table;

fn run(command: &str, from: &Path, to: &Path, options: &[&str]) -> Output {
    let mut arguments: Vec<OsString> = vec![command.into(), from.into(), to.into()];
    arguments.extend(options.iter().map(OsString::from));
    larder(arguments)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// The one LevelDB folder in a folder.
fn leveldb_in(dir: &Path) -> PathBuf {
    let names = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut stores = names.filter(|path| path.to_string_lossy().ends_with(".leveldb"));
    stores.next().unwrap()
}

/// The lines of an archive with one object store "s", which has these records; `generator` is what its schema says of a key generator.
fn small_archive(generator: &str, records: &[&str], blobs: usize) -> String {
    let count = records.len();
    let auto_increment = !generator.is_empty();
    let mut text = format!(
        "{{\"archive\":\"larder\",\"format\":1}}\n\
         {{\"store\":{{\"origin\":\"https://a.example\",\"folder\":\"https_a.example_0.indexeddb.leveldb\"}}}}\n\
         {{\"database\":{{\"name\":\"d\",\"version\":1,\"objectStores\":[{{\"name\":\"s\",\"keyPath\":null,\"autoIncrement\":{auto_increment}{generator},\"indexes\":[]}}]}}}}\n\
         {{\"records\":{{\"database\":\"d\",\"objectStore\":\"s\"}}}}\n"
    );
    for record in records {
        text.push_str(record);
        text.push('\n');
    }
    text + &format!(
        "{{\"end\":{{\"stores\":1,\"databases\":1,\"objectStores\":1,\"records\":{count},\"blobs\":{blobs}}}}}\n"
    )
}

/// The archive of this name, and the store made of it, in a folder.
fn there_and_back(store: &Path, dir: &Path, archive: &str) -> Result<PathBuf, String> {
    let archive = dir.join(archive);
    let to = archive.with_extension("back");
    for output in [
        run("export", store, &archive, &[]),
        run("import", &archive, &to, &[]),
    ] {
        if !output.status.success() {
            return Err(format!(
                "{}: {:?}: {}",
                archive.display(),
                output.status,
                stderr(&output)
            ));
        }
    }
    Ok(leveldb_in(&to))
}

fn check(fixture: &Fixture) -> Result<(), String> {
    // Times of blobs count in old stores, and are not those of a checkout.
    let source = fixture.copy();
    let dir = folder();
    for archive in ["folder", "a.jsonl"] {
        let back = there_and_back(&source.leveldb(), dir.path(), archive);
        let back = back.map_err(|error| format!("{}: {error}", fixture.name))?;
        compare_with_browser(fixture, &back, |_| {})
            .map_err(|error| format!("{archive}: {error}"))?;
    }
    Ok(())
}

#[test]
fn every_golden_store_exported_and_imported_is_what_its_browser_showed() {
    for_every(larder_fixtures::varied(), check);
}

/// As a page may have it that has put a record with a greater key of its own, whose number a browser has not kept.
#[test]
fn the_number_that_the_key_generator_gives_next_is_the_archives_whatever_keys_the_records_have() {
    for (next, key) in [
        ("7", "6"),
        ("7", "41"),
        ("41", "7"),
        ("null", "7"),
        ("1", "9007199254740992"),
    ] {
        let dir = folder();
        let archive = dir.path().join("a.jsonl");
        let record = format!("{{\"key\":{key},\"value\":0}}");
        fs::write(
            &archive,
            small_archive(&format!(",\"nextKey\":{next}"), &[&record], 0),
        )
        .unwrap();
        let to = dir.path().join("to");
        let output = run("import", &archive, &to, &[]);
        assert!(output.status.success(), "{}", stderr(&output));
        let output = dump_canonical(&leveldb_in(&to));
        let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let shown = &shown["databases"][0]["stores"][0]["nextKey"];
        match next {
            "null" => assert_eq!(shown, "error ConstraintError", "{key}"),
            _ => assert_eq!(shown["v"], next, "{key}"),
        }
    }
}
