//! What a person reads when something cannot be done: what has happened, where, and what to do next.
//!
//! One line of the table for each failure that a person can meet, for each command that gives data back in place or beside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use larder_fixtures::OpenFixture;
use larder_leveldb::storage::{DiskFileSystem, FileSystem};

use crate::support::stderr;

/// A failure, the arguments that meet it, the exit status, and what must be said.
struct Line<'a> {
    failure: &'a str,
    arguments: Vec<&'a str>,
    status: i32,
    said: &'a [&'a str],
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn store() -> (OpenFixture, PathBuf) {
    let source = larder_fixtures::get("c83-lite").copy();
    let leveldb = source.leveldb();
    (source, leveldb)
}

#[track_caller]
fn assert_said(line: &Line<'_>, program: &mut Command) {
    let output = program.output().unwrap();
    let said = stderr(&output);
    let what = format!("{}: {:?}:\n{said}", line.failure, line.arguments);
    assert_eq!(output.status.code(), Some(line.status), "{what}");
    for part in line.said {
        assert!(said.contains(part), "{part:?} is not in {what}");
    }
    // One problem is one line, and no debugging text.
    assert!(
        !said.contains("Error {") && !said.contains("panicked"),
        "{what}"
    );
}

fn larder(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_larder"));
    command.args(arguments);
    command
}

#[test]
fn each_failure_says_what_happened_where_and_what_to_do_next() {
    let (source, leveldb) = store();
    let path = text(&leveldb);
    let elsewhere = tempfile::tempdir().unwrap();
    let missing = elsewhere.path().join("missing");
    let missing = text(&missing);
    let empty = elsewhere.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let empty = text(&empty);
    let there = elsewhere.path().join("there");
    fs::create_dir(&there).unwrap();
    let there = text(&there);
    let named = elsewhere.path().join("https_x.example_0.indexeddb.leveldb");
    fs::create_dir(&named).unwrap();
    let named = text(&named);
    let file = elsewhere.path().join("notes.txt");
    fs::write(&file, "no store").unwrap();
    let file = text(&file);
    let table = [
        Line {
            failure: "no such folder",
            arguments: vec!["repair", missing],
            status: 3,
            said: &[missing, "No such file"],
        },
        Line {
            failure: "no such folder",
            arguments: vec!["compact", missing],
            status: 3,
            said: &[missing, "No such file"],
        },
        Line {
            failure: "not a store",
            arguments: vec!["repair", empty],
            status: 3,
            said: &[empty, "no IndexedDB store here"],
        },
        Line {
            failure: "not a store",
            arguments: vec!["clean", file],
            status: 3,
            said: &[file, "a file, and no file of an IndexedDB store"],
        },
        Line {
            failure: "a store's folder without a store",
            arguments: vec!["repair", named],
            status: 3,
            said: &[named, "nothing is left", "check the path"],
        },
        Line {
            failure: "a store's folder without a store",
            arguments: vec!["compact", named],
            status: 3,
            said: &[named, "check the path"],
        },
        Line {
            failure: "target exists",
            arguments: vec!["repair", path, "--to", there],
            status: 2,
            said: &[
                there,
                "there is something of this name already",
                "give --to a folder",
            ],
        },
        Line {
            failure: "none of the origin",
            arguments: vec!["clean", path, "--origin", "https://other.example"],
            status: 3,
            said: &[
                "no store of origin https://other.example",
                "there is http://127.0.0.1",
            ],
        },
        Line {
            failure: "two places at once",
            arguments: vec!["repair", path, "--to", missing, "--in-place"],
            status: 2,
            said: &["--to <DIR>", "cannot be used with", "--in-place"],
        },
        Line {
            failure: "no permission",
            arguments: vec!["repair", path, "--to", "/sys/larder-repaired"],
            status: 2,
            said: &[path, "not repaired", "/sys/", "ermi"],
        },
    ];
    for line in &table {
        assert_said(line, &mut larder(&line.arguments));
    }
    // Of tables without a MANIFEST it cannot be known what was written last.
    fs::remove_file(leveldb.join("MANIFEST-000001")).unwrap();
    let line = Line {
        failure: "nothing certain to put in place",
        arguments: vec!["repair", path, "--in-place"],
        status: 2,
        said: &[path, "no record is certain", "it is as it was", "give --to"],
    };
    assert_said(&line, &mut larder(&line.arguments));
    drop(source);
}

#[test]
fn a_store_in_use_is_left_to_the_program_that_has_it() {
    let (source, leveldb) = store();
    let path = text(&leveldb);
    let _held = DiskFileSystem::new().lock(&leveldb.join("LOCK")).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let to = elsewhere.path().join("out");
    for arguments in [
        vec!["repair", path, "--to", text(&to)],
        vec!["repair", path, "--in-place"],
        vec!["compact", path],
        vec!["clean", path],
    ] {
        let line = Line {
            failure: "store in use",
            arguments,
            status: 2,
            said: &[path, "close"],
        };
        assert_said(&line, &mut larder(&line.arguments));
        assert!(!to.exists());
    }
    drop(source);
}

/// No file may grow: what a full disk does to every write.
#[cfg(target_os = "linux")]
#[test]
fn on_a_full_disk_nothing_is_half_done() {
    let (source, leveldb) = store();
    let path = text(&leveldb);
    let elsewhere = tempfile::tempdir().unwrap();
    let to = elsewhere.path().join("out");
    let program = env!("CARGO_BIN_EXE_larder");
    for arguments in [
        vec!["repair", path, "--to", text(&to)],
        vec!["compact", path],
    ] {
        let line = Line {
            failure: "disk full",
            arguments,
            status: 2,
            said: &[path, "File too large"],
        };
        let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
        let mut shell = Command::new("sh");
        shell.args(["-c", script, program]).args(&line.arguments);
        assert_said(&line, &mut shell);
        let left = fs::read_dir(elsewhere.path()).unwrap().count();
        assert_eq!(left, 0, "something is left at the target");
    }
    let fixture = larder_fixtures::get("c83-lite");
    larder_fixtures::canonical::with_large_stack(move || {
        crate::support::compare_with_browser(&fixture, &leveldb, |_| {}).unwrap();
    });
    drop(source);
}
