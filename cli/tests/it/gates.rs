//! What stands where a store's file should, and is none: every command comes to its end, names it, and shows the rest; nothing
//! outside of PATH is read. (Before, a FIFO blocked for ever, and links were followed.)
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Output;

use larder_fixtures::OpenFixture;
use nix::sys::stat::Mode;
use serde_json::Value;

use crate::support::{larder, run_script, stderr};

const SECRET: &[u8] = b"this file belongs to somebody else";

/// Puts something at a path; the second one is a folder for what it needs besides.
type PutGate = fn(&Path, &Path);

/// What takes a file's place, and what it is called.
const GATES: [(&str, PutGate); 4] = [
    ("a FIFO", |at, _| {
        nix::unistd::mkfifo(at, Mode::S_IRWXU).unwrap();
    }),
    ("a socket", |at, elsewhere| {
        // The address of a socket is short.
        let short = elsewhere.join("s");
        drop(UnixListener::bind(&short).unwrap());
        fs::rename(short, at).unwrap();
    }),
    ("a symbolic link", |at, elsewhere| {
        let secret = elsewhere.join("secret");
        fs::write(&secret, SECRET).unwrap();
        symlink(secret, at).unwrap();
    }),
    ("a directory", |at, _| fs::create_dir(at).unwrap()),
];

fn copy() -> OpenFixture {
    larder_fixtures::get("c156-lite").copy()
}

fn commands(blobs: &Path) -> Vec<Vec<String>> {
    let blobs = blobs.to_str().unwrap().to_owned();
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut all: Vec<_> = [
        "ls",
        "ls --json",
        "rows",
        "rows --history",
        "dump",
        "dump --format jsonl",
        "dump --format canonical",
        "dump --format canonical --digests",
    ]
    .map(words)
    .into();
    for format in ["text", "jsonl", "canonical"] {
        let mut command = words(&format!("dump --format {format} --blobs"));
        command.push(blobs.clone());
        all.push(command);
    }
    all
}

fn run(command: &[String], path: &Path) -> Output {
    let mut arguments = command.to_vec();
    arguments.push(path.to_str().unwrap().to_owned());
    larder(arguments)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// The files that reading opens: not LOCK, which reading does not need, and not LOG, which is never read.
fn files_that_are_read(leveldb: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(leveldb)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            !["LOCK", "LOG", "LOG.old"].contains(&name)
        })
        .collect();
    files.sort();
    assert!(files.len() >= 3, "{files:?}");
    files
}

#[test]
fn every_command_ends_names_the_gate_and_shows_the_rest() {
    for (what, put) in GATES {
        let whole = copy();
        for at in 0..files_that_are_read(&whole.leveldb()).len() {
            let store = copy();
            let elsewhere = tempfile::tempdir().unwrap();
            let gate = &files_that_are_read(&store.leveldb())[at];
            fs::remove_file(gate).unwrap();
            put(gate, elsewhere.path());
            let name = gate.file_name().unwrap().to_str().unwrap();
            for command in commands(&elsewhere.path().join("blobs")) {
                let output = run(&command, &store.leveldb());
                let reported = stderr(&output);
                assert_eq!(output.status.code(), Some(1), "{what} {name} {command:?}");
                assert!(
                    reported.contains(what) && reported.contains(name),
                    "{what} {name} {command:?}: {reported}"
                );
                assert!(!contains(&output.stdout, SECRET));
            }
        }
    }
}

#[test]
fn a_lock_that_is_no_file_hinders_no_reader() {
    for (_, put) in GATES {
        let store = copy();
        let elsewhere = tempfile::tempdir().unwrap();
        let lock = store.leveldb().join("LOCK");
        fs::remove_file(&lock).ok();
        put(&lock, elsewhere.path());
        for command in commands(&elsewhere.path().join("blobs")) {
            let output = run(&command, &store.leveldb());
            assert_eq!(
                (output.status.code(), stderr(&output).as_str()),
                (Some(0), ""),
                "{command:?}"
            );
        }
    }
}

fn records(output: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn files_below(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files_below(&path, found),
            false => found.push(path),
        }
    }
}

#[test]
fn a_blob_that_is_no_file_is_not_copied_out_and_costs_nothing_else() {
    let whole = records(&run(
        &["dump".into(), "--format=jsonl".into()],
        &copy().leveldb(),
    ));
    for (what, put) in GATES {
        let (store, elsewhere) = (copy(), tempfile::tempdir().unwrap());
        let mut blobs = Vec::new();
        files_below(&store.leveldb().with_extension("blob"), &mut blobs);
        blobs.sort();
        for (n, blob) in blobs.iter().enumerate() {
            let place = elsewhere.path().join(n.to_string());
            fs::create_dir(&place).unwrap();
            fs::remove_file(blob).unwrap();
            put(blob, &place);
        }
        let out = elsewhere.path().join("blobs");
        for command in commands(&out) {
            let output = run(&command, &store.leveldb());
            let reads_values = command[0] == "dump";
            let status = Some(i32::from(reads_values));
            let reported = stderr(&output);
            assert_eq!(
                output.status.code(),
                status,
                "{what} {command:?}: {reported}"
            );
            assert!(
                !reads_values || reported.contains(what),
                "{what}: {reported}"
            );
            assert!(!contains(&output.stdout, SECRET));
            if command.contains(&"jsonl".to_owned()) {
                assert_eq!(records(&output).len(), whole.len());
            }
        }
        let mut copied = Vec::new();
        files_below(&out, &mut copied);
        for file in copied {
            assert!(!contains(&fs::read(&file).unwrap(), SECRET), "{file:?}");
        }
    }
}

/// A profile whose store, or its blob folder, lies elsewhere behind a link: the profile, and what lies elsewhere.
fn behind_a_link(extension: &str) -> (OpenFixture, PathBuf, tempfile::TempDir) {
    let (store, elsewhere) = (copy(), tempfile::tempdir().unwrap());
    let folder = store.leveldb().with_extension(extension);
    let moved = elsewhere.path().join("moved");
    let copied = std::process::Command::new("cp")
        .args(["-a".as_ref(), folder.as_os_str(), moved.as_os_str()])
        .status();
    assert!(copied.unwrap().success());
    fs::remove_dir_all(&folder).unwrap();
    symlink(&moved, &folder).unwrap();
    (store, folder, elsewhere)
}

#[test]
fn a_link_to_a_store_is_named_and_not_followed_unless_it_is_what_was_asked_for() {
    let (store, link, _elsewhere) = behind_a_link("leveldb");
    let dump = ["dump".to_owned(), "--format=jsonl".to_owned()];
    let output = run(&dump, store.dir());
    let reported = stderr(&output);
    assert!(output.stdout.is_empty());
    assert_eq!(output.status.code(), Some(3), "{reported}");
    assert!(
        reported.contains(link.to_str().unwrap()) && reported.contains("symbolic link"),
        "{reported}"
    );
    // With its blobs, which lie beside the link.
    let output = run(&dump, &link);
    assert_eq!(
        (output.status.code(), stderr(&output).as_str()),
        (Some(0), "")
    );
    assert_eq!(
        records(&output),
        records(&run(&dump, &copy().leveldb())),
        "the link is the store"
    );
}

#[test]
fn a_blob_folder_that_is_a_link_is_named_and_read_when_it_is_what_was_asked_for() {
    let (store, link, _elsewhere) = behind_a_link("blob");
    let blobs = tempfile::tempdir().unwrap();
    for command in commands(blobs.path()) {
        if command[0] == "rows" {
            continue;
        }
        let output = run(&command, store.dir());
        let reported = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        let name = link.to_str().unwrap();
        assert!(
            reported.contains(name) && reported.contains("symbolic link"),
            "{reported}"
        );
    }
    for command in commands(blobs.path()) {
        let output = run(&command, &link);
        let reported = stderr(&output);
        assert_eq!(
            (output.status.code(), reported.as_str()),
            (Some(0), ""),
            "{command:?}"
        );
    }
}

#[test]
fn links_to_folders_elsewhere_are_reported_and_those_to_folders_below_path_are_not() {
    let store = copy();
    let elsewhere = copy();
    symlink(elsewhere.dir(), store.dir().join("elsewhere")).unwrap();
    symlink(store.leveldb(), store.dir().join("here")).unwrap();
    symlink("/nowhere", store.dir().join("dangling")).unwrap();
    let output = run(&["ls".to_owned(), "--json".to_owned()], store.dir());
    let reported = stderr(&output);
    assert_eq!(records(&output).len(), 1);
    assert_eq!(output.status.code(), Some(0), "{reported}");
    assert_eq!(reported.lines().count(), 1, "{reported}");
    assert!(
        reported.contains("elsewhere: a symbolic link"),
        "{reported}"
    );
}

#[test]
fn a_link_of_any_name_that_is_given_is_the_store_that_it_leads_to() {
    let (store, dir) = (copy(), tempfile::tempdir().unwrap());
    let link = dir.path().join("mine");
    symlink(store.leveldb(), &link).unwrap();
    let dump = ["dump".to_owned(), "--format=canonical".to_owned()];
    let output = run(&dump, &link);
    assert_eq!(
        (output.status.code(), stderr(&output).as_str()),
        (Some(0), "")
    );
    assert_eq!(output.stdout, run(&dump, &store.leveldb()).stdout);
}

#[test]
fn a_script_ends_too_whatever_stands_in_its_store() {
    for (what, put) in GATES {
        let whole = copy();
        for gate in ["CURRENT", "LOCK"] {
            let (store, elsewhere) = (copy(), tempfile::tempdir().unwrap());
            let at = store.leveldb().join(gate);
            fs::remove_file(&at).ok();
            put(&at, elsewhere.path());
            let script = elsewhere.path().join("script.js");
            let text = "indexedDB.databases().then(() => console.log('ALL WELL'), (e) => console.log(e.message));";
            fs::write(&script, text).unwrap();
            let output = larder([
                "run".as_ref(),
                "--storage".as_ref(),
                store.dir().as_os_str(),
                "--origin".as_ref(),
                "http://127.0.0.1:18917".as_ref(),
                script.as_os_str(),
            ]);
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(!said.contains("ALL WELL"), "{what} as {gate}: {said}");
            let secret = elsewhere.path().join("secret");
            if secret.exists() {
                assert_eq!(
                    fs::read(secret).unwrap(),
                    SECRET,
                    "nothing was written there"
                );
            }
        }
        drop(whole);
    }
}

#[test]
fn a_store_that_a_script_makes_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let dir = tempfile::tempdir().unwrap();
    let script = "
        const request = indexedDB.open('d');
        request.onupgradeneeded = () => request.result.createObjectStore('s').put(new Blob(['content']), 1);
        request.onsuccess = () => console.log('made');";
    let storage = dir.path().join("profile/IndexedDB");
    assert_eq!(run_script(&storage, &[], script), "made\n");
    let mut pending = vec![dir.path().join("profile")];
    let mut seen = 0;
    while let Some(path) = pending.pop() {
        let metadata = fs::metadata(&path).unwrap();
        let expected = if metadata.is_dir() { 0o700 } else { 0o600 };
        let mode = metadata.permissions().mode() & 0o777;
        assert_eq!(mode, expected, "{}", path.display());
        seen += 1;
        if metadata.is_dir() {
            pending.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        }
    }
    // profile, IndexedDB, the store's two folders, two folders of blobs, a blob, four files of the engine's at least.
    assert!(seen >= 11, "{seen}");
}
