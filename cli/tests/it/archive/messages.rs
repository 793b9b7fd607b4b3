//! What a person reads when it cannot be done: what happened, where, and what to do next.

use std::fs;
use std::path::Path;

use super::{folder, run};
use crate::support::{larder, stderr};

const HEAD: &str = "{\"archive\":\"larder\",\"format\":1}";
const STORE: &str = "{\"store\":{\"origin\":\"https://a.example\",\"folder\":\"https_a.example_0.indexeddb.leveldb\"}}";
const SCHEMA: &str = "{\"database\":{\"name\":\"d\",\"version\":1,\"objectStores\":[{\"name\":\"s\",\"keyPath\":null,\"autoIncrement\":false,\"indexes\":[{\"name\":\"i\",\"keyPath\":\"a\",\"unique\":true,\"multiEntry\":false}]}]}}";
const RECORDS: &str = "{\"records\":{\"database\":\"d\",\"objectStore\":\"s\"}}";
const END: &str =
    "{\"end\":{\"stores\":1,\"databases\":1,\"objectStores\":1,\"records\":0,\"blobs\":0}}";

/// Archives that cannot be imported: their lines, the line that is named, and what is said.
const REFUSED: &[(&[&str], u64, &str)] = &[
    (&[], 1, "this file is empty"),
    (&["{\"formatName\":1}"], 1, "this is no archive of larder's"),
    (&["no JSON"], 1, "this is no archive: give a file"),
    (
        &["{\"archive\":\"larder\",\"format\":2}"],
        1,
        "a newer one is needed",
    ),
    (
        &[HEAD],
        2,
        "without its line \"end\": it was not written to its end, or cut",
    ),
    (&[HEAD, SCHEMA], 2, "a line \"store\" comes before this"),
    (
        &[HEAD, "{\"store\":{\"origin\":\"nonsense\"}}"],
        2,
        "give one with --origin",
    ),
    (
        &[
            HEAD,
            "{\"store\":{\"origin\":\"https://a.example\",\"folder\":\"../x\"}}",
        ],
        2,
        "is no path of a folder below another",
    ),
    (
        &[
            HEAD,
            "{\"store\":{\"origin\":\"https://a.example\",\"schema\":9}}",
        ],
        2,
        "stores of schema 9 cannot be written, only 3 to 5",
    ),
    (
        &[HEAD, STORE, STORE],
        3,
        "two stores of the archive would be at",
    ),
    (
        &[HEAD, STORE, SCHEMA, SCHEMA],
        4,
        "has a database of this name already",
    ),
    (
        &[HEAD, STORE, RECORDS],
        3,
        "there is no line with the schema of database \"d\", object store \"s\" before",
    ),
    (
        &[HEAD, STORE, SCHEMA, "{\"key\":1,\"value\":1}"],
        4,
        "a line \"records\" comes before this",
    ),
    (
        &[HEAD, STORE, SCHEMA, RECORDS, "{\"key\":null,\"value\":1}"],
        5,
        "null is no key",
    ),
    (
        &[HEAD, STORE, SCHEMA, RECORDS, "{\"key\":1}"],
        5,
        "the member \"value\" is missing",
    ),
    (
        &[
            HEAD,
            STORE,
            SCHEMA,
            RECORDS,
            "{\"key\":1,\"value\":{\"$cryptokey\":\"\"}}",
        ],
        5,
        "needs the value's bytes in the member \"wire\"",
    ),
    (
        &[
            HEAD,
            STORE,
            SCHEMA,
            RECORDS,
            "{\"key\":1,\"value\":{\"a\":7}}",
            "{\"key\":2,\"value\":{\"a\":7}}",
        ],
        6,
        "a unique index has the key for another record",
    ),
    (
        &[
            HEAD,
            STORE,
            SCHEMA,
            RECORDS,
            "{\"key\":1,\"value\":{\"$blob\":0},\"external\":[{\"kind\":\"blob\",\"type\":\"\",\"size\":1,\"blob\":7}]}",
        ],
        5,
        "the pieces of the blob 7 do not come right before its record",
    ),
    (
        &[
            HEAD,
            STORE,
            SCHEMA,
            RECORDS,
            "{\"key\":1,\"value\":{\"$blob\":0},\"external\":[{\"kind\":\"blob\",\"type\":\"\",\"size\":1,\"file\":\"blobs/../../x\"}]}",
        ],
        5,
        "is no file in the archive's folder blobs",
    ),
    (
        &[
            HEAD,
            STORE,
            SCHEMA,
            RECORDS,
            "{\"entries\":{\"index\":\"j\"}}",
        ],
        5,
        "there is no index \"j\" in the schema",
    ),
    (
        &[HEAD, STORE, SCHEMA, "{\"what\":1}"],
        4,
        "lines that begin with \"what\" are not known",
    ),
    (
        &[HEAD, STORE, SCHEMA, RECORDS, "{\"key\":1,\"value\":1}", END],
        6,
        "a part of it is missing or doubled",
    ),
    (
        &[HEAD, STORE, SCHEMA, END, END],
        5,
        "there is more behind the line \"end\"",
    ),
];

#[test]
fn an_archive_that_cannot_be_imported_is_refused_with_its_line_and_leaves_nothing() {
    let dir = folder();
    let archive = dir.path().join("a.jsonl");
    for (lines, line, words) in REFUSED {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&archive, &text).unwrap();
        let to = dir.path().join("to");
        let output = run("import", &archive, &to, &[]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        let place = format!("{}, line {line}: ", archive.display());
        assert!(
            said.contains(&place) && said.contains(words),
            "{place}{words}: {said}"
        );
        assert!(
            !to.exists() || fs::read_dir(&to).unwrap().count() == 0,
            "{words}"
        );
    }
}

#[test]
fn what_is_in_the_way_is_named_with_what_to_do() {
    let source = larder_fixtures::get("c156-lite").open();
    let (from, dir) = (source.leveldb(), folder());
    let in_dir = |name: &str| dir.path().join(name);
    let refused =
        |command: &str, from: &Path, to: &Path, options: &[&str], status: i32, words: &str| {
            let output = run(command, from, to, options);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(status), "{words}: {said}");
            assert!(said.contains(words), "{words}: {said}");
        };
    refused(
        "export",
        dir.path(),
        &in_dir("x"),
        &[],
        3,
        "no IndexedDB store here",
    );
    refused(
        "export",
        &from,
        &in_dir("x"),
        &["--database", "none"],
        3,
        "no database \"none\" here",
    );
    refused(
        "export",
        &from,
        &in_dir("no/where"),
        &[],
        2,
        "there is no such folder: make it first",
    );
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    let archive = in_dir("a.jsonl.zst");
    assert!(run("export", &from, &archive, &[]).status.success());
    refused(
        "export",
        &from,
        &archive,
        &[],
        2,
        "there is something of this name already: choose another name, or move it away first",
    );
    refused(
        "import",
        &in_dir("none"),
        &in_dir("to"),
        &[],
        2,
        "none: cannot be read: ",
    );
    refused(
        "import",
        &archive,
        &in_dir("to"),
        &["--origin", "no origin"],
        2,
        "--origin no origin: ",
    );
    let dry = run("import", &archive, &in_dir("to"), &["--dry-run"]);
    assert!(String::from_utf8_lossy(&dry.stdout).contains(": would be imported"));
    assert!(!in_dir("to").exists());
    assert!(run("import", &archive, &in_dir("to"), &[]).status.success());
    refused(
        "import",
        &archive,
        &in_dir("to"),
        &[],
        2,
        "there is a store already",
    );
}

#[test]
fn a_missing_blob_is_named_in_the_archive_and_its_record_left_out() {
    let source = larder_fixtures::get("c156-lite").copy();
    let mut pending = vec![source.dir().to_owned()];
    let mut blob = None;
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => pending.push(path),
                false if path.to_string_lossy().contains(".indexeddb.blob") => blob = Some(path),
                false => {}
            }
        }
    }
    fs::remove_file(blob.unwrap()).unwrap();
    let dir = folder();
    let archive = dir.path().join("a");
    let output = run("export", &source.leveldb(), &archive, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let output = run("import", &archive, &dir.path().join("to"), &[]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("so it is left out"), "{said}");
    let verified = larder([
        "verify".as_ref(),
        "--full".as_ref(),
        dir.path().join("to").as_os_str(),
    ]);
    assert!(
        verified.status.success(),
        "{}",
        String::from_utf8_lossy(&verified.stdout)
    );
}
