//! Copies from LevelDB into SQLite files, and back.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder::copy::{CopyOptions, Format, replace_store};
use larder_backing_store::StorePaths;
use larder_fixtures::{Fixture, sampled};
use larder_leveldb::storage::{DiskFileSystem, Fault, FaultFileSystem, FileSystem};

use super::{copy, files, folder};
use crate::support::{compare_with_browser, dump_canonical, for_every, larder, stderr};

const FOLDER: &str = "http_127.0.0.1_18917";
const LEVELDB: &str = "http_127.0.0.1_18917.indexeddb.leveldb";
const TO_SQLITE: [&str; 3] = ["--format", "sqlite", "--accept"];

fn leave_out_color_spaces(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Array(items) => items.iter_mut().for_each(leave_out_color_spaces),
        serde_json::Value::Object(members) => {
            members.remove("colorSpace");
            members.values_mut().for_each(leave_out_color_spaces);
        }
        _ => {}
    }
}

fn check(fixture: &Fixture) -> Result<(), String> {
    let name = &fixture.name;
    let source = fixture.copy();
    let before = files(source.dir());
    let to = folder();
    let (there, back) = (to.path().join("there"), to.path().join("back"));
    for (from, to, format) in [
        (source.dir(), &*there, "sqlite"),
        (&there, &back, "leveldb"),
    ] {
        let output = copy(from, to, &["--format", format, "--accept"]);
        if !output.status.success() {
            return Err(format!("{name}, {format}: {}", stderr(&output)));
        }
    }
    if files(source.dir()) != before {
        return Err(format!("{name}: the source was changed"));
    }
    // Images have a colour space in stores of today's form.
    let mut expected = larder_fixtures::canonical::comparable(&fixture.expected());
    leave_out_color_spaces(&mut expected);
    for store in [&there, &back] {
        let output = dump_canonical(store);
        let mut ours = larder_fixtures::canonical::comparable(&output.stdout);
        leave_out_color_spaces(&mut ours);
        let difference =
            larder_fixtures::canonical::first_difference(&ours, &expected, "databases");
        if let Some(difference) = difference {
            return Err(format!("{}: {difference}", store.display()));
        }
        let verified = larder(["verify".as_ref(), "--full".as_ref(), store.as_os_str()]);
        if !verified.status.success() {
            let said = String::from_utf8_lossy(&verified.stdout).into_owned();
            return Err(format!("{}: {said}", store.display()));
        }
    }
    Ok(())
}

#[test]
fn every_golden_store_is_the_same_in_sqlite_files_and_back_in_leveldb() {
    for_every(larder_fixtures::varied(), check);
}

#[test]
fn what_the_form_cannot_say_is_named_and_nothing_is_copied_without_consent() {
    let (source, to) = (larder_fixtures::get("c156-lite").open(), folder());
    let output = copy(source.dir(), &to.path().join("to"), &["--format", "sqlite"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for expected in [
        "database \"keys\", object store \"arr_kp_one\": its key path is an array of one part",
        "database \"indexes\": 3 keys with -0 in them",
        "database \"keys\": 1 key with -0 in them",
        "with --accept",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert!(!to.path().join("to").join(FOLDER).exists());
    let dry = copy(
        source.dir(),
        &to.path().join("dry"),
        &["--format", "sqlite", "--dry-run"],
    );
    assert!(dry.status.success(), "{}", stderr(&dry));
    assert!(stderr(&dry).contains("3 keys with -0"), "{}", stderr(&dry));
    assert!(!to.path().join("dry").exists());
    let accepted = copy(source.dir(), &to.path().join("to"), &TO_SQLITE);
    assert!(accepted.status.success(), "{}", stderr(&accepted));
    assert!(stderr(&accepted).contains("3 keys with -0"));
    // Nothing that had not been written is there.
    assert_eq!(fs::read_dir(to.path().join("to")).unwrap().count(), 1);
}

#[test]
fn a_place_has_one_store_of_one_form() {
    let (source, to) = (larder_fixtures::get("c156-killed-blob").open(), folder());
    assert!(copy(source.dir(), to.path(), &TO_SQLITE).status.success());
    for (options, expected) in [
        (
            &["--format", "leveldb"][..],
            "is a store of the other form at this place",
        ),
        (&TO_SQLITE, "there is a store already"),
        (
            &["--format", "sqlite", "--on-conflict", "skip"],
            "stores in SQLite files are not merged into",
        ),
    ] {
        let output = copy(source.dir(), to.path(), options);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {said}");
        assert!(said.contains(expected), "{options:?}: {said}");
    }
    let other = folder();
    assert!(copy(source.dir(), other.path(), &[]).status.success());
    let output = copy(source.dir(), other.path(), &TO_SQLITE);
    let said = stderr(&output);
    assert!(
        said.contains("is a store of the other form at this place"),
        "{said}"
    );
    assert_eq!(fs::read_dir(to.path()).unwrap().count(), 1);
}

/// A profile's folders with a store: of its own bucket, or of another.
fn laid_out(fixture: &str, leveldb: &Path) -> tempfile::TempDir {
    let (source, dir) = (larder_fixtures::get(fixture).open(), folder());
    let output = copy(&source.leveldb(), &dir.path().join(leveldb), &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    dir
}

fn in_place(dir: &Path, format: &str) -> std::process::Output {
    larder([
        "copy".as_ref(),
        dir.as_os_str(),
        "--format".as_ref(),
        format.as_ref(),
        "--in-place".as_ref(),
        "--accept".as_ref(),
    ])
}

#[test]
fn a_store_changes_its_form_in_place_and_what_was_there_is_kept() {
    for (leveldb, sqlite, aside, aside_again) in [
        (
            format!("Default/IndexedDB/{LEVELDB}"),
            format!("Default/IndexedDB/{FOLDER}"),
            format!("Default/IndexedDB/{LEVELDB}.before-copy"),
            format!("Default/IndexedDB/{FOLDER}.before-copy"),
        ),
        (
            "WebStorage/7/IndexedDB/indexeddb.leveldb".to_owned(),
            "WebStorage/7/IndexedDB".to_owned(),
            "WebStorage/7/IndexedDB/indexeddb.leveldb.before-copy".to_owned(),
            "WebStorage/7/IndexedDB/indexeddb.before-copy".to_owned(),
        ),
    ] {
        let fixture = larder_fixtures::get("c156-killed-blob");
        let dir = laid_out(&fixture.name, Path::new(&leveldb));
        let path = |below: &str| dir.path().join(below);
        let there = in_place(dir.path(), "sqlite");
        assert!(there.status.success(), "{}", stderr(&there));
        assert!(!path(&leveldb).exists());
        compare_with_browser(&fixture, &path(&sqlite), |_| {}).unwrap();
        let kept = path(&aside).join(path(&leveldb).file_name().unwrap());
        compare_with_browser(&fixture, &kept, |_| {}).unwrap();
        // Which it has already: nothing is done.
        let again = in_place(&path(&sqlite), "sqlite");
        assert!(again.status.success(), "{}", stderr(&again));
        assert!(
            stderr(&again).contains("has this form already"),
            "{}",
            stderr(&again)
        );
        // What was kept is passed over.
        let back = in_place(dir.path(), "leveldb");
        assert!(back.status.success(), "{}", stderr(&back));
        compare_with_browser(&fixture, &path(&leveldb), |_| {}).unwrap();
        let files = walk(&path(&aside_again));
        assert!(
            files.iter().any(|file| StorePaths::is_sqlite_name(file)),
            "{files:?}"
        );
    }
}

fn walk(dir: &Path) -> Vec<PathBuf> {
    files(dir).into_iter().map(|(path, ..)| path).collect()
}

#[test]
fn a_store_in_use_or_with_damage_stays_as_it_was() {
    let leveldb = format!("IndexedDB/{LEVELDB}");
    let dir = laid_out("c156-killed-blob", Path::new(&leveldb));
    let before = files(dir.path());
    let lock = DiskFileSystem::new()
        .lock(&dir.path().join(&leveldb).join("LOCK"))
        .unwrap();
    let output = in_place(dir.path(), "sqlite");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("a program has the store open"),
        "{}",
        stderr(&output)
    );
    drop(lock);
    // A blob is gone.
    let blobs = dir
        .path()
        .join(format!("IndexedDB/{FOLDER}.indexeddb.blob"));
    let blob = walk(&blobs).into_iter().next().unwrap();
    fs::rename(&blob, dir.path().join("blob")).unwrap();
    let output = in_place(dir.path(), "sqlite");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("larder repair first"),
        "{}",
        stderr(&output)
    );
    fs::rename(dir.path().join("blob"), &blob).unwrap();
    assert_eq!(files(dir.path()), before);
}

/// Whatever operation on folders fails: the whole store is in its place, in one form or the other. Whatever is the last of a process: that, or its two
/// folders are where they were or set aside.
#[test]
fn an_error_of_any_operation_in_place_leaves_a_whole_store() {
    let fixture = larder_fixtures::get("c156-killed-blob");
    let (mut done, mut undone, mut aside) = (0, 0, 0);
    for operation in (1..).step_by(sampled(5)) {
        let mut tried = 0;
        for every_later_too in [false, true] {
            let dir = laid_out(&fixture.name, Path::new(&format!("IndexedDB/{LEVELDB}")));
            let paths = StorePaths::of_leveldb(&dir.path().join("IndexedDB").join(LEVELDB));
            let faulty = Arc::new(FaultFileSystem::new(Arc::new(DiskFileSystem::new())));
            faulty.fail_at(Fault {
                operation,
                kind: std::io::ErrorKind::PermissionDenied,
                every_later_too,
            });
            let options = CopyOptions {
                format: Format::Sqlite,
                ..CopyOptions::default()
            };
            let fs: Arc<dyn FileSystem> = faulty.clone();
            let replaced = replace_store(&fs, &paths, &options, &mut || {});
            let sqlite = dir.path().join("IndexedDB").join(FOLDER);
            let kept = dir
                .path()
                .join(format!("IndexedDB/{LEVELDB}.before-copy/{LEVELDB}"));
            let whole = match () {
                () if sqlite.exists() => {
                    done += 1;
                    sqlite
                }
                () if paths.leveldb.exists() => {
                    assert!(replaced.is_err());
                    undone += 1;
                    paths.leveldb
                }
                () => {
                    // Killed between the two: it lies beside.
                    assert!(
                        replaced.is_err() && every_later_too,
                        "operation {operation}"
                    );
                    aside += 1;
                    // Of its two folders one may still be where it was.
                    let blob = StorePaths::of_leveldb(&kept).blob;
                    if paths.blob.exists() {
                        fs::rename(&paths.blob, &blob).unwrap();
                    }
                    kept
                }
            };
            compare_with_browser(&fixture, &whole, |_| {})
                .unwrap_or_else(|what| panic!("operation {operation}: {what}"));
            tried = faulty.operations();
        }
        if operation > tried {
            break;
        }
    }
    println!("{done} times done, {undone} times as it was, {aside} times beside");
    assert!(done > 0 && undone > 5);
}
