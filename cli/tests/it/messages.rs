//! What a user reads, in terms of the user: damage by database, object store and key; whose a store is; where
//! scripts write.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_backing_store::IdbComparator;
use larder_codec::row_key::{RecordTable, RowKey};
use larder_leveldb::storage::DiskFileSystem;
use larder_leveldb::write_batch::BatchWriter;
use larder_leveldb::{Db, Durability, Options};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::{larder, stderr};

const MAIL: &str = "
    const request = indexedDB.open('mail', 1);
    request.onupgradeneeded = () => {
      const messages = request.result.createObjectStore('messages');
      messages.createIndex('by day', 'day');
      for (let i = 0; i < 40; i++) messages.put({ day: i % 7, text: 'x'.repeat(100) }, 'm' + i);
      const files = request.result.createObjectStore('files');
      files.put(new File(['hello'], 'a.txt', { type: 'text/plain' }), 'a');
    };";

/// A folder `IndexedDB` with a store of this origin, in a folder of its own.
fn mail(origin: &str) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("IndexedDB");
    let (status, _, reported) = script(MAIL, &["--storage", text(&folder), "--origin", origin]);
    assert_eq!((status, reported.as_str()), (Some(0), ""));
    (dir, folder)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = larder(arguments);
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    (output.status.code(), stdout, stderr(&output))
}

#[track_caller]
fn assert_has(shown: &str, part: &str) {
    assert!(shown.contains(part), "{part:?} is not in:\n{shown}");
}

fn ls_json(folder: &Path) -> Value {
    let (_, listed, _) = run(&["ls", "--json", text(folder)]);
    serde_json::from_str(&listed).unwrap()
}

/// Runs a script with these options.
fn script(source: &str, options: &[&str]) -> (Option<i32>, String, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("script.js");
    fs::write(&file, source).unwrap();
    run(&[&["run"], options, &[text(&file)]].concat())
}

const NAMES: &str =
    "indexedDB.databases().then(all => console.log(all.map(one => one.name).join()));";

fn store_of(folder: &Path, identifier: &str) -> PathBuf {
    folder.join(format!("{identifier}.indexeddb.leveldb"))
}

fn file_of_type(store: &Path, extension: &str) -> PathBuf {
    let mut files = fs::read_dir(store).unwrap();
    let is_it = |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
    files
        .find_map(|entry| Some(entry.unwrap().path()).filter(is_it))
        .unwrap()
}

/// Every value of the object store "messages" is cut to its version.
fn spoil_messages(store: &Path) {
    let options = || Options::new(Arc::new(IdbComparator));
    let db = Db::open(Arc::new(DiskFileSystem::new()), store, options()).unwrap();
    let mut batch = BatchWriter::new();
    let mut iter = db.iter();
    iter.seek_to_first().unwrap();
    while iter.valid() {
        if let Ok(RowKey::Record(record)) = RowKey::decode_exact(iter.key())
            && record.table == RecordTable::Data
            && record.object_store_id.get() == 1
        {
            batch.put(iter.key(), &iter.value().unwrap()[..1]);
        }
        iter.next().unwrap();
    }
    drop(iter);
    db.write(&mut batch, Durability::Relaxed).unwrap();
    db.close().unwrap();
}

#[test]
fn a_missing_table_is_reported_by_names_with_a_total_and_listed_as_damage() {
    let (_dir, folder) = mail("https://a.example");
    let store = store_of(&folder, "https_a.example_0");
    // Compacted, its log becomes a table.
    spoil_messages(&store);
    let (status, _, reported) = run(&["compact", text(&store)]);
    assert_eq!(status, Some(0), "{reported}");
    fs::remove_file(file_of_type(&store, "ldb")).unwrap();
    let (status, listed, reported) = run(&["ls", text(&folder)]);
    assert_eq!(status, Some(1));
    assert_has(&listed, "\n  damaged 1 place in LevelDB's files");
    assert!(!listed.contains("an empty store"), "{listed}");
    assert_has(&reported, "table is missing");
    assert_has(&reported, " it may have had rows from the store's own rows");
    assert_has(&reported, "in all: 1 place in LevelDB's files");
    let listed = ls_json(&folder);
    assert_eq!(listed["damage"]["places"], 1);
}

#[test]
fn of_many_damaged_records_the_first_are_named_and_the_rest_counted_unless_all_are_wanted() {
    let (_dir, folder) = mail("https://a.example");
    let listed = ls_json(&folder);
    assert_eq!(listed.get("damage"), None);
    spoil_messages(&store_of(&folder, "https_a.example_0"));
    let (status, _, reported) = run(&["dump", text(&folder)]);
    assert_eq!(status, Some(1));
    let named = |reported: &str| {
        reported
            .matches("database \"mail\", object store \"messages\", key \"m")
            .count()
    };
    assert_eq!(named(&reported), 10, "{reported}");
    assert_has(&reported, "object store \"messages\": 30 more: ");
    assert_has(&reported, "in all: 40 rows or values could not be read");
    let (_, _, reported) = run(&["dump", "--verbose", text(&folder)]);
    assert_eq!(named(&reported), 40, "{reported}");
}

#[test]
fn a_store_in_another_origins_folder_is_named() {
    let (_dir, folder) = mail("https://a.example");
    let (from, to) = (
        store_of(&folder, "https_a.example_0"),
        store_of(&folder, "https_b.example_0"),
    );
    let (_, _, reported) = run(&["ls", text(&folder)]);
    assert_eq!(reported, "");
    fs::rename(&from, &to).unwrap();
    let (status, listed, reported) = run(&["ls", text(&folder)]);
    assert_eq!(status, Some(0));
    assert_has(&reported, "has databases of https://a.example");
    assert_has(
        &listed,
        "    of https://a.example: Chromium does not show it here",
    );
    let listed = ls_json(&folder);
    assert_eq!(listed["databases"][0]["origin"], "https://a.example");
}

#[test]
fn text_names_files_with_type_and_size() {
    let (_dir, folder) = mail("https://a.example");
    let (_, shown, _) = run(&["dump", text(&folder), "--store", "files"]);
    assert_has(&shown, "0: file \"a.txt\", \"text/plain\", 5 B, 1/");
}

#[test]
fn a_blob_that_is_gone_is_damage_unless_a_program_has_the_store_open() {
    let (_dir, folder) = mail("https://a.example");
    let blobs = folder.join("https_a.example_0.indexeddb.blob/1/00");
    fs::remove_dir_all(&blobs).unwrap();
    let store = store_of(&folder, "https_a.example_0");
    for format in ["text", "jsonl", "canonical"] {
        let dump = || run(&["dump", text(&folder), "--format", format]);
        let (status, _, reported) = dump();
        assert_eq!(status, Some(1), "{format}");
        assert_has(&reported, "object store \"files\", key \"a\"");
        let options = Options::new(Arc::new(IdbComparator));
        let db = Db::open(Arc::new(DiskFileSystem::new()), &store, options).unwrap();
        let (status, _, reported) = dump();
        assert_eq!(status, Some(0), "{format}: {reported}");
        assert_has(
            &reported,
            "deleted since, by the program that has the store open",
        );
        db.close().unwrap();
    }
}

#[test]
fn a_damaged_store_in_sqlite_files_is_named_and_not_passed_over() {
    let (dir, folder) = mail("https://a.example");
    let other = folder.join("https_b.example_0");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("0"), b"SQLite format 3\0 and so on").unwrap();
    let (status, listed, reported) = run(&["ls", text(dir.path())]);
    assert_eq!(status, Some(1));
    assert_has(&listed, "https://a.example");
    let named = format!("damaged: {}/0: file is not a database", other.display());
    assert_has(&reported, &named);
    for path in [other.clone(), other.join("0")] {
        let (status, _, reported) = run(&["dump", text(&path)]);
        assert_eq!(status, Some(1));
        assert!(
            reported.contains(&named) && !reported.contains("no IndexedDB store"),
            "{reported}"
        );
    }
}

#[test]
fn scripts_find_stores_from_a_profile_a_folder_of_profiles_or_the_store_itself() {
    let (dir, folder) = mail("https://a.example");
    let profile = dir.path().join("user/Default");
    fs::create_dir_all(&profile).unwrap();
    fs::rename(&folder, profile.join("IndexedDB")).unwrap();
    let folder = profile.join("IndexedDB");
    let user = dir.path().join("user");
    for path in [&folder, &profile, &user] {
        let options = ["--storage", text(path), "--origin", "https://a.example"];
        assert_eq!(
            script(NAMES, &options),
            (Some(0), "mail\n".into(), String::new())
        );
    }
    let store = store_of(&folder, "https_a.example_0");
    let found = script(NAMES, &["--storage", text(&store)]);
    assert_eq!(found, (Some(0), "mail\n".into(), String::new()));
    let (status, _, reported) = script(
        NAMES,
        &["--storage", text(&store), "--origin", "https://b.example"],
    );
    assert_eq!(status, Some(2));
    assert_has(
        &reported,
        "this is the store of https://a.example, not of https://b.example",
    );

    // Two profiles: the one with the origin, or, if both have it, a person must say which.
    let other = user.join("Profile 1/IndexedDB");
    let made = script(
        MAIL,
        &["--storage", text(&other), "--origin", "https://b.example"],
    );
    assert_eq!(made.0, Some(0), "{}", made.2);
    let options = ["--storage", text(&user), "--origin", "https://b.example"];
    assert_eq!(
        script(NAMES, &options),
        (Some(0), "mail\n".into(), String::new())
    );
    let options = ["--storage", text(&user), "--origin", "https://c.example"];
    let (status, _, reported) = script(NAMES, &options);
    assert_eq!(status, Some(2));
    assert_has(&reported, "several folders of stores are below it");
}

#[test]
fn an_origin_that_has_no_store_yet_is_reported_before_one_is_made() {
    let (_dir, folder) = mail("https://a.example");
    let options = ["--storage", text(&folder), "--origin", "https://a.exmaple"];
    let (status, _, reported) = script(MAIL, &options);
    assert_eq!(status, Some(0));
    assert_has(&reported, "no store of https://a.exmaple yet");
    assert_has(&reported, "there is https://a.example");
    let (_, _, reported) = script(NAMES, &options);
    assert_eq!(reported, "");
}

#[test]
fn a_script_whose_store_another_program_has_open_fails_whatever_it_makes_of_the_error() {
    let (_dir, folder) = mail("https://a.example");
    let store = store_of(&folder, "https_a.example_0");
    let options = Options::new(Arc::new(IdbComparator));
    let db = Db::open(Arc::new(DiskFileSystem::new()), &store, options).unwrap();
    let arguments = ["--storage", text(&folder), "--origin", "https://a.example"];
    for source in [
        "indexedDB.open('mail').onerror = () => {};",
        "indexedDB.deleteDatabase('mail').onerror = () => {};",
        "indexedDB.databases().catch(() => {});",
    ] {
        let (status, _, reported) = script(source, &arguments);
        assert_eq!(status, Some(1), "{source}");
        assert_has(&reported, "UnknownError: ");
        assert_eq!(reported.lines().count(), 1, "{reported}");
    }
    db.close().unwrap();
    assert_eq!(script(NAMES, &arguments).0, Some(0));
}

/// So often a dump may be over before it is seen at work.
const TRIES: usize = 50;

#[test]
fn an_interrupted_dump_leaves_no_hidden_file() {
    let (_dir, folder) = mail("https://a.example");
    let many = "
        const request = indexedDB.open('many', 1);
        request.onupgradeneeded = () => {
          const s = request.result.createObjectStore('s');
          for (let i = 0; i < 20000; i++) s.put('x'.repeat(300) + i, i);
        };";
    let made = script(
        many,
        &["--storage", text(&folder), "--origin", "https://a.example"],
    );
    assert_eq!(made.0, Some(0), "{}", made.2);
    let out = tempfile::tempdir().unwrap();
    let names = || {
        fs::read_dir(out.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
    };
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let interrupted = (0..TRIES).any(|_| {
            let mut child = Command::new(env!("CARGO_BIN_EXE_larder"))
                .args(["dump", "--format", "canonical", text(&folder), "--output"])
                .arg(out.path().join("out.json"))
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let begun = Instant::now();
            while names().next().is_none() && begun.elapsed() < Duration::from_secs(60) {
                std::thread::yield_now();
            }
            kill(Pid::from_raw(child.id().try_into().unwrap()), signal).unwrap();
            let status = child.wait().unwrap();
            let was_written = out.path().join("out.json").exists();
            if was_written {
                fs::remove_file(out.path().join("out.json")).unwrap();
            }
            assert!(was_written || status.code() == Some(130), "{status:?}");
            assert_eq!(names().next(), None, "{signal}");
            !was_written
        });
        assert!(
            interrupted,
            "{signal}: each of {TRIES} dumps was over before"
        );
    }
}

/// What a person does wrong with a path, and what larder says to it.
#[test]
fn a_wrong_path_is_named_with_what_to_give_instead() {
    let (dir, folder) = mail("https://mail.example");
    let [nowhere, empty, notes, new] =
        ["nowhere", "empty", "notes.txt", "new"].map(|name| dir.path().join(name));
    fs::create_dir(&empty).unwrap();
    fs::write(&notes, "hello\n").unwrap();
    let cases: [(&[&str], i32, &str); 7] = [
        (
            &["ls", text(&nowhere)],
            3,
            "nowhere: No such file or directory (os error 2): check the path",
        ),
        (
            &["ls", text(&empty)],
            3,
            "empty: no IndexedDB store here: give the folder of a browser's profile",
        ),
        (
            &["ls", text(&notes)],
            3,
            "notes.txt: a file, and no file of an IndexedDB store: give the folder",
        ),
        (
            &["dump", text(&folder), "--database", "male"],
            3,
            "no database \"male\" here: larder ls lists what is there",
        ),
        (
            &["dump", text(&folder), "--output", text(&empty)],
            2,
            "empty: cannot be written: Is a directory",
        ),
        (
            &["import", text(&notes), text(&new)],
            2,
            "notes.txt, line 1: this is no archive: give a file or folder that larder export has written",
        ),
        (
            &["import", text(&folder), text(&new)],
            2,
            "IndexedDB: this folder is no archive",
        ),
    ];
    for (arguments, expected, said) in cases {
        let (status, _, reported) = run(arguments);
        assert_eq!(status, Some(expected), "{arguments:?}: {reported}");
        assert_has(&reported, said);
    }
    assert!(!new.exists());
}

#[test]
fn what_has_no_change_feed_says_how_one_comes_about() {
    let (dir, folder) = mail("https://mail.example");
    let store = store_of(&folder, "https_mail.example_0");
    for command in ["tail", "replay", "clean"] {
        let (status, shown, reported) = run(&["feed", command, text(&store)]);
        assert_eq!((status, shown.as_str()), (Some(3), ""));
        assert_has(&reported, "no database here has a change feed");
        assert_has(&reported, "larder feed on turns one on");
        let (status, _, reported) = run(&["feed", command, text(&store), "--database", "post"]);
        assert_eq!(status, Some(3));
        assert_has(&reported, "no database \"post\" with a change feed here");
        assert_has(&reported, "larder feed ls");
        let (status, _, reported) =
            run(&["feed", command, text(dir.path().join("none").as_path())]);
        assert_eq!(status, Some(3));
        assert_has(&reported, "check the path");
        let (status, _, reported) = run(&["feed", command, "etcd://127.0.0.1:1/x"]);
        assert_eq!(status, Some(2));
        // With the engine there is no server.
        if !cfg!(feature = "etcd") {
            assert_has(&reported, "without the feature etcd");
        }
    }
}

#[test]
fn a_file_of_the_working_folder_is_a_path_like_any_other() {
    let (dir, folder) = mail("https://mail.example");
    fs::write(dir.path().join("notes.txt"), "hello").unwrap();
    let in_folder = |folder: &Path, name: &str| {
        let command = Command::new(env!("CARGO_BIN_EXE_larder"))
            .args(["ls", name])
            .current_dir(folder)
            .output()
            .unwrap();
        let shown = String::from_utf8(command.stdout.clone()).unwrap();
        (command.status.code(), shown, stderr(&command))
    };
    let (status, _, reported) = in_folder(dir.path(), "notes.txt");
    assert_eq!(status, Some(3));
    assert_has(&reported, "notes.txt: a file, and no file of");
    let store = store_of(&folder, "https_mail.example_0");
    let (status, shown, reported) = in_folder(&store, "CURRENT");
    assert_eq!((status, reported.as_str()), (Some(0), ""));
    assert_has(&shown, "https://mail.example");
}

#[test]
fn commands_that_write_in_folders_refuse_an_address_and_keep_its_password_to_themselves() {
    const ADDRESS: &str = "postgres://larder:secret@store.example/d/n?password=secret";
    const WITH_SLASH: &str = "etcd://larder:se/cret@store.example/n";
    for address in [ADDRESS, WITH_SLASH] {
        for arguments in [
            &["compact", address][..],
            &["clean", "--dry-run", address],
            &["repair", address],
            &["repair", "folder", "--to", address],
            &["import", address, "folder"],
            &["import", "a.jsonl", address],
            &["export", "folder", address],
        ] {
            let (status, _, reported) = run(arguments);
            assert_eq!(status, Some(2), "{arguments:?}: {reported}");
            assert_has(&reported, "://store.example/");
            assert_has(
                &reported,
                "larder copy brings a store from an address into one",
            );
            assert!(!reported.contains("cret"), "{arguments:?}: {reported}");
        }
    }
}
