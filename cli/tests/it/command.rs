//! What a user meets: exit status, messages when nothing is found, filters, copies of blobs, closed pipes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use larder_fixtures::OpenFixture;
use serde_json::Value;

use crate::support::{larder, stderr};

fn lite() -> OpenFixture {
    larder_fixtures::get("c156-lite").open()
}

/// Exit status, standard output, standard error.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = larder(arguments);
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    (output.status.code(), stdout, stderr(&output))
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn json_lines(stdout: &str) -> Vec<Value> {
    stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A store's two folders, copied to `indexed_db` under the names that begin with `name`.
fn copy_store(store: &OpenFixture, indexed_db: &Path, name: &str) {
    for kind in ["leveldb", "blob"] {
        let from = store.leveldb().with_extension(kind);
        copy_tree(&from, &indexed_db.join(format!("{name}indexeddb.{kind}")));
    }
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_healthy_store_gives_status_0_and_nothing_on_standard_error() {
    let store = lite();
    let path = store.leveldb();
    for command in [
        &["ls"][..],
        &["dump"],
        &["dump", "--format", "jsonl"],
        &["rows", "--history"],
    ] {
        let (status, stdout, reported) = run(&[command, &[text(&path)]].concat());
        assert_eq!((status, reported.as_str()), (Some(0), ""), "{command:?}");
        assert!(!stdout.is_empty(), "{command:?}");
    }
}

#[test]
fn a_damaged_store_gives_status_1_and_names_the_file() {
    let store = larder_fixtures::get("c156-lite").copy();
    let table = store.leveldb().join("000005.ldb");
    let mut bytes = fs::read(&table).unwrap();
    bytes[1000] ^= 1;
    fs::write(&table, bytes).unwrap();
    let (status, stdout, reported) = run(&["dump", text(&store.leveldb()), "--format", "jsonl"]);
    assert_eq!(status, Some(1));
    assert!(reported.contains("000005.ldb"), "{reported}");
    assert!(stdout.lines().count() > 10);
}

#[test]
fn a_wrong_command_line_gives_status_2() {
    let store = lite();
    let path = store.leveldb();
    for wrong in [
        &["frob"][..],
        &["ls"],
        &["dump", text(&path), "--format", "xml"],
    ] {
        assert_eq!(run(wrong).0, Some(2), "{wrong:?}");
    }
}

#[test]
fn an_output_that_cannot_be_written_gives_status_2_and_is_named() {
    let store = lite();
    let path = store.leveldb();
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing/out.json");
    let a_file = dir.path().join("file");
    fs::write(&a_file, "").unwrap();
    for (option, target) in [("--output", &missing), ("--blobs", &a_file)] {
        let (status, stdout, reported) = run(&["dump", text(&path), option, text(target)]);
        assert_eq!((status, stdout.as_str()), (Some(2), ""), "{option}");
        assert!(reported.contains(text(target)), "{reported}");
        assert!(!reported.contains(".larder-"), "{reported}");
    }
}

#[test]
fn what_is_no_store_gives_status_3() {
    let dir = tempfile::tempdir().unwrap();
    let a_file = dir.path().join("file");
    fs::write(&a_file, "text").unwrap();
    let hollow = dir.path().join("x.indexeddb.leveldb");
    fs::create_dir(&hollow).unwrap();
    for path in [
        &a_file,
        &hollow,
        &dir.path().join("missing"),
        &dir.path().to_owned(),
    ] {
        let (status, stdout, reported) = run(&["ls", text(path)]);
        assert_eq!(
            (status, stdout.as_str()),
            (Some(3), ""),
            "{}",
            path.display()
        );
        assert!(reported.starts_with("larder: "), "{reported}");
    }
}

#[test]
fn a_filter_that_matches_nothing_is_reported_with_status_3_and_touches_no_output_file() {
    let store = lite();
    let path = store.leveldb();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    fs::write(&out, "before").unwrap();
    let cases = [
        (
            &["--origin", "https://nope.example"][..],
            "there is http://127.0.0.1:18917",
        ),
        (&["--database", "nope"], "no database \"nope\" here"),
        (&["--store", "nope"], "no object store \"nope\" here"),
        (
            &["--database", "keys", "--store", "b"],
            "no object store \"b\" in a database \"keys\" here",
        ),
    ];
    for (filter, expected) in cases {
        let arguments = [&["dump", text(&path), "--output", text(&out)], filter].concat();
        let (status, _, reported) = run(&arguments);
        assert_eq!(status, Some(3), "{filter:?}");
        assert!(reported.contains(expected), "{reported}");
    }
    assert_eq!(fs::read_to_string(&out).unwrap(), "before");
}

#[test]
fn filters_take_the_origin_in_any_form_and_names_exactly() {
    let store = lite();
    let path = store.leveldb();
    for origin in [
        "http://127.0.0.1:18917",
        "http://127.0.0.1:18917/",
        "http_127.0.0.1_18917",
        "http_127.0.0.1_18917@1",
    ] {
        let filter = [
            "--origin",
            origin,
            "--database",
            "blobs",
            "--store",
            "b",
            "--format",
            "jsonl",
        ];
        let (status, stdout, reported) = run(&[&["dump", text(&path)], &filter[..]].concat());
        assert_eq!(status, Some(0), "{reported}");
        let lines = json_lines(&stdout);
        assert_eq!(lines.len(), 13);
        assert!(
            lines
                .iter()
                .all(|line| line["database"] == "blobs" && line["store"] == "b")
        );
    }
}

/// What the browser said: database, object store and number of records.
fn expected_counts(fixture: &str) -> Vec<(Value, Value, usize)> {
    let document = larder_fixtures::parse_json(&larder_fixtures::get(fixture).expected());
    let databases = document["databases"].as_array().unwrap().clone();
    databases
        .iter()
        .flat_map(|database| {
            let stores = database["stores"].as_array().unwrap();
            stores.iter().map(|store| {
                let count = store["records"].as_array().unwrap().len();
                (database["name"].clone(), store["name"].clone(), count)
            })
        })
        .collect()
}

#[test]
fn json_lines_have_the_documented_members_and_one_line_for_each_record() {
    larder_fixtures::canonical::with_large_stack(|| {
        let store = lite();
        let (status, stdout, _) = run(&["dump", text(&store.leveldb()), "--format", "jsonl"]);
        assert_eq!(status, Some(0));
        let lines: Vec<Value> = stdout
            .lines()
            .map(|line| larder_fixtures::parse_json(line.as_bytes()))
            .collect();
        for line in &lines {
            let members: Vec<&str> = line
                .as_object()
                .unwrap()
                .keys()
                .map(String::as_str)
                .collect();
            let all = ["origin", "database", "store", "key", "value", "external"];
            assert!(
                members.iter().all(|member| all.contains(member)),
                "{members:?}"
            );
            assert!(
                ["origin", "database", "store", "key", "value"]
                    .iter()
                    .all(|member| members.contains(member))
            );
            assert_eq!(line["origin"], "http://127.0.0.1:18917");
        }
        for (database, object_store, count) in expected_counts("c156-lite") {
            let reported = lines
                .iter()
                .filter(|line| line["database"] == database && line["store"] == object_store);
            assert_eq!(reported.count(), count, "{database} / {object_store}");
        }
    });
}

#[test]
fn ls_as_json_counts_what_the_browser_counted() {
    let store = lite();
    let (_, stdout, _) = run(&["ls", "--json", text(&store.leveldb())]);
    let listing: Value = serde_json::from_str(&stdout).unwrap();
    for (database, object_store, count) in expected_counts("c156-lite") {
        let find = |list: &Value, name: &Value| {
            let list = list.as_array().unwrap();
            list.iter()
                .find(|one| one["name"] == *name)
                .unwrap()
                .clone()
        };
        let listed = find(
            &find(&listing["databases"], &database)["object_stores"],
            &object_store,
        );
        assert_eq!(listed["records"], count, "{database} / {object_store}");
    }
    assert_eq!(listing["schema_version"], 5);
}

#[test]
fn rows_tell_live_from_stale_and_with_history_what_was_overwritten() {
    let store = lite();
    let path = store.leveldb();
    let rows = |options: &[&str]| {
        let (status, stdout, reported) = run(&[&["rows", "--json", text(&path)], options].concat());
        assert_eq!(status, Some(0), "{reported}");
        json_lines(&stdout)
    };
    let count =
        |rows: &[Value], state: &str| rows.iter().filter(|row| row["state"] == state).count();
    let visible = rows(&[]);
    assert_eq!(
        count(&visible, "overwritten") + count(&visible, "deletion"),
        0
    );
    assert!(count(&visible, "stale") > 0);
    let records: usize = expected_counts("c156-lite")
        .iter()
        .map(|(_, _, count)| count)
        .sum();
    let data = visible.iter().filter(|row| row["class"] == "data");
    assert!(data.count() >= records);
    let all = rows(&["--history", "--hex"]);
    assert!(count(&all, "overwritten") > 0 && count(&all, "deletion") > 0);
    assert_eq!(count(&all, "stale"), count(&visible, "stale"));
    for row in &all {
        assert_eq!(row["value_hex"].is_string(), row["state"] != "deletion");
    }
    // The schema row, byte for byte.
    let schema = all
        .iter()
        .find(|row| row["key_hex"] == "0000000000")
        .unwrap();
    assert_eq!(
        (&schema["value_hex"], &schema["value"]),
        (&"05".into(), &"5".into())
    );
    assert!(visible[0].get("key_hex").is_none());
}

#[test]
fn copied_blobs_have_the_bytes_of_the_stores_own_files() {
    let store = lite();
    let dir = tempfile::tempdir().unwrap();
    let path = store.leveldb();
    let arguments = [
        "dump",
        text(&path),
        "--format",
        "jsonl",
        "--database",
        "blobs",
        "--blobs",
        text(dir.path()),
    ];
    let (status, stdout, _) = run(&arguments);
    assert_eq!(status, Some(0));
    let blob_dir = store.leveldb().with_extension("blob");
    let mut compared = 0;
    for line in json_lines(&stdout) {
        for object in line["external"].as_array().into_iter().flatten() {
            let copy = fs::read(dir.path().join(object["file"].as_str().unwrap())).unwrap();
            assert_eq!(object["size"], copy.len());
            if let Some(source) = object["blob"].as_str() {
                assert_eq!(copy, fs::read(blob_dir.join(source)).unwrap());
                compared += 1;
            }
        }
    }
    assert!(compared >= 15, "{compared}");
}

#[test]
fn blobs_of_stores_with_one_name_are_kept_apart() {
    let store = lite();
    let dir = tempfile::tempdir().unwrap();
    let profiles = dir.path().join("profiles");
    let places = ["A/IndexedDB", "B/IndexedDB"];
    for place in places {
        copy_store(&store, &profiles.join(place), "http_127.0.0.1_18917.");
    }
    for bucket in ["7", "8"] {
        copy_store(
            &store,
            &profiles.join("A/WebStorage").join(bucket).join("IndexedDB"),
            "",
        );
    }
    let copies = dir.path().join("copies");
    let arguments = [
        "dump",
        text(&profiles),
        "--format",
        "jsonl",
        "--database",
        "blobs",
        "--blobs",
        text(&copies),
    ];
    let (status, stdout, reported) = run(&arguments);
    assert_eq!(status, Some(0), "{reported}");
    let lines = json_lines(&stdout);
    let mut files: Vec<PathBuf> = lines
        .iter()
        .flat_map(|line| line["external"].as_array().into_iter().flatten())
        .map(|object| object["file"].as_str().unwrap().into())
        .collect();
    let mut folders: Vec<PathBuf> = files
        .iter()
        .map(|file| file.iter().take(1).collect())
        .collect();
    folders.sort();
    folders.dedup();
    let name = "http_127.0.0.1_18917";
    assert_eq!(
        folders,
        ["bucket-7", "bucket-8", name, &format!("{name}-2")].map(PathBuf::from)
    );
    let all = files.len();
    files.sort();
    files.dedup();
    assert_eq!(files.len(), all);
    // Two stores of one origin: only the bucket differs.
    let of_bucket = |bucket: Option<&str>| {
        lines
            .iter()
            .filter(|line| line.get("bucket").and_then(Value::as_str) == bucket)
            .count()
    };
    assert_eq!(of_bucket(Some("7")), of_bucket(Some("8")));
    assert_eq!(of_bucket(None), 2 * of_bucket(Some("7")));
}

#[cfg(unix)]
#[test]
fn a_link_back_up_shows_no_store_twice_and_an_output_link_stays_one() {
    let store = lite();
    let dir = tempfile::tempdir().unwrap();
    let indexed_db = dir.path().join("Default/IndexedDB");
    copy_store(&store, &indexed_db, "http_127.0.0.1_18917.");
    std::os::unix::fs::symlink(dir.path(), dir.path().join("Default/up")).unwrap();
    std::os::unix::fs::symlink("/", dir.path().join("z:")).unwrap();
    let (status, stdout, _) = run(&["ls", "--json", "--no-counts", text(dir.path())]);
    assert_eq!((status, stdout.lines().count()), (Some(0), 1));

    let (target, link) = (dir.path().join("target"), dir.path().join("link"));
    fs::write(&target, "before").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    assert_eq!(run(&["ls", text(&indexed_db)]).0, Some(0));
    assert_eq!(
        run(&["dump", text(&indexed_db), "--output", text(&link)]).0,
        Some(0)
    );
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(
        fs::read_to_string(&target)
            .unwrap()
            .starts_with("http://127.0.0.1:18917\n")
    );
}

#[test]
fn inside_the_stores_folder_a_dot_finds_it_with_its_blobs() {
    let store = lite();
    let output = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args([
            "dump",
            ".",
            "--format",
            "jsonl",
            "--database",
            "blobs",
            "--store",
            "b",
        ])
        .current_dir(store.leveldb())
        .output()
        .unwrap();
    assert_eq!(
        (output.status.code(), stderr(&output).as_str()),
        (Some(0), "")
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let store = lite();
    let mut child = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["dump", "--format", "jsonl", text(&store.leveldb())])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), stderr(&output).as_str()),
        (Some(0), "")
    );
}

#[test]
fn colours_come_only_when_asked_for_or_on_a_terminal() {
    let store = lite();
    let path = store.leveldb();
    assert!(!run(&["ls", text(&path)]).1.contains('\u{1b}'));
    assert!(
        run(&["ls", "--color", "always", text(&path)])
            .1
            .contains("\u{1b}[1mhttp://127.0.0.1:18917")
    );
}

#[test]
fn the_manual_has_every_command_with_its_full_name_and_completions_exist_for_every_shell() {
    let (status, manual, _) = run(&["man"]);
    assert_eq!(status, Some(0));
    assert_eq!(manual.matches(".TH ").count(), 1);
    for part in [
        ".SH LARDER LS",
        ".SH LARDER DUMP",
        ".SH LARDER ROWS",
        "larder dump PATH",
        ".SH EXIT STATUS",
    ] {
        assert!(manual.contains(part), "{part}");
    }
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (status, script, _) = run(&["completions", shell]);
        assert_eq!(status, Some(0));
        assert!(script.contains("larder"), "{shell}");
    }
}

#[test]
fn an_unfinished_transaction_is_reported_and_is_no_damage() {
    let store = larder_fixtures::get("c156-killed-spill-small").open();
    let (status, _, reported) = run(&["ls", text(&store.leveldb())]);
    assert_eq!(status, Some(0));
    assert!(
        reported.contains("1 unfinished transaction is shown undone"),
        "{reported}"
    );
    assert!(!reported.contains("same lock"), "{reported}");
}
