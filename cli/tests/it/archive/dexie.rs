//! Files of dexie-export-import: what the databases had that they were written of, and what is said of rows that are not whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use larder_fixtures::canonical::{comparable, first_difference, with_large_stack};
use larder_fixtures::random::Random;
use serde_json::Value;

use super::{folder, leveldb_in, run};
use crate::support::{dump_canonical, stderr};

const ORIGIN: &[&str] = &["--origin", "http://127.0.0.1:18960"];

fn golden(name: &str) -> PathBuf {
    larder_fixtures::root().join("dexie").join(name)
}

/// What the page said of the database that a store has.
fn compare(store: &Path) {
    let ours = comparable(&dump_canonical(store).stdout);
    let name = &ours[0]["name"];
    let expected = comparable(&larder_fixtures::unzipped(Path::new(
        "dexie/expected.json.gz",
    )));
    let mut theirs = expected.as_array().unwrap().clone();
    theirs.retain(|database| database["name"] == *name);
    let difference = first_difference(&ours, &Value::Array(theirs), "databases");
    assert_eq!(difference, None);
}

#[test]
fn what_the_package_wrote_comes_in_as_the_page_had_it() {
    with_large_stack(|| {
        for name in ["types.json", "tables.json"] {
            let dir = folder();
            let to = dir.path().join("to");
            let output = run("import", &golden(name), &to, ORIGIN);
            assert!(output.status.success(), "{name}: {}", stderr(&output));
            compare(&leveldb_in(&to));
        }
    });
}

/// A file with one table, which has these rows.
fn file(schema: &str, inbound: bool, rows: &[&str]) -> String {
    format!(
        r#"{{"formatName":"dexie","formatVersion":1,"data":{{"databaseName":"d","databaseVersion":1,"tables":[{{"name":"t","schema":"{schema}","rowCount":1}}],"data":[{{"tableName":"t","inbound":{inbound},"rows":[{}]}}]}}}}"#,
        rows.join(",")
    )
}

fn imported(text: &[u8], options: &[&str]) -> (Output, PathBuf, tempfile::TempDir) {
    let dir = folder();
    let (path, to) = (dir.path().join("a.json"), dir.path().join("to"));
    fs::write(&path, text).unwrap();
    let output = run("import", &path, &to, options);
    (output, to, dir)
}

/// Whether nothing was made there, but for the folder.
fn is_empty(to: &Path) -> bool {
    fs::read_dir(to).map_or(true, |mut entries| entries.next().is_none())
}

/// Rows that cannot be read, with a part of what is said of each.
const NOT_WHOLE: [(&str, &str); 27] = [
    (r#"{"v":1}"#, "it has no key at the key path"),
    (r#"{"id":null}"#, "it has no key at the key path"),
    (r#"{"id":1}"#, "a record with this key is there already"),
    (r#"{"id":2,"u":"a"}"#, "unique"),
    (
        r#"{"id":3,"v":"x","$types":{"v":"imagebitmap"}}"#,
        "ImageBitmap",
    ),
    (
        r#"{"id":3,"v":"x","$types":{"v":"cryptokey"}}"#,
        "the type \"cryptokey\"",
    ),
    (
        r#"{"id":3,"v":null,"$types":{"v":"NumberObject"}}"#,
        "NaN or infinite",
    ),
    (
        r#"{"id":3,"v":1,"$types":{"w":"date"}}"#,
        "names \"w\", where nothing stands",
    ),
    (
        r#"{"id":3,"":{"v":1},"v":1,"$types":{"v":"date"}}"#,
        "which of two places",
    ),
    (
        r##"{"id":3,"v":"#w","$types":{"v":"#"}}"##,
        "no object before with the $id",
    ),
    (
        r##"{"id":3,"v":"w","$types":{"v":"#"}}"##,
        "does not say to which",
    ),
    (
        r##"{"id":3,"v":"#id","$types":{"v":"#"}}"##,
        "which is no object",
    ),
    (r#"{"id":3,"v":"é","$types":{"v":"arraybuffer"}}"#, "base64"),
    (
        r#"{"id":3,"v":{"type":"","data":"x"},"$types":{"v":"blob2"}}"#,
        "base64",
    ),
    (
        r#"{"id":3,"v":{"buffer":"AAAA","byteOffset":0,"length":2},"$types":{"v":"int16array2","v.buffer":"arraybuffer"}}"#,
        "within its buffer of 3 bytes",
    ),
    (
        r#"{"id":3,"v":{"buffer":"AAAA","byteOffset":-1,"length":1},"$types":{"v":"int8array2","v.buffer":"arraybuffer"}}"#,
        "no whole number",
    ),
    (
        r#"{"id":3,"v":{"index":0,"byteOffset":0,"byteLength":1},"$types":{"v":"dataview"}}"#,
        "has no buffer",
    ),
    (
        r#"{"id":3,"v":{"type":"","stringContents":"ж","name":"","lastModified":1},"$types":{"v":"file"}}"#,
        "File whose bytes",
    ),
    (
        r#"{"id":3,"v":[{}],"$types":{"v":"filelist"}}"#,
        "a FileList has",
    ),
    (
        r#"{"id":3,"v":[1],"$types":{"v":"map"}}"#,
        "an entry of a Map",
    ),
    (
        r#"{"id":3,"v":[[1,2,3]],"$types":{"v":"map"}}"#,
        "a list of two",
    ),
    (
        r#"{"id":3,"v":{"array":[1,2,3,256],"width":1,"height":1},"$types":{"v":"imagedata"}}"#,
        "something else than bytes",
    ),
    (
        r#"{"id":3,"v":{"array":[1,2,3,4],"width":2,"height":1},"$types":{"v":"imagedata"}}"#,
        "of 2 by 1 has 4 bytes",
    ),
    (
        r#"{"id":3,"v":{"0":1,"length":0},"$types":{"v":"arrayNonindexKeys"}}"#,
        "behind its list's end",
    ),
    (
        r#"{"id":3,"v":"12x","$types":{"v":"bigint"}}"#,
        "no whole number of any size",
    ),
    (r#"{"id":3,"v":tru}"#, "no value"),
    (r#"{"id":3,"v":"\q"}"#, "an escape that JSON lacks"),
];

#[test]
fn rows_that_are_not_whole_are_left_out_and_named_and_the_others_come_in() {
    let (first, last) = (r#"{"id":1,"u":"a"}"#, r#"{"id":9,"u":"z"}"#);
    let rows: Vec<&str> = [first]
        .into_iter()
        .chain(NOT_WHOLE.iter().map(|(row, _)| *row))
        .chain([last])
        .collect();
    let (output, to, _dir) = imported(file("++id,&u", true, &rows).as_bytes(), ORIGIN);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), NOT_WHOLE.len(), "{said}");
    for (at, (row, expected)) in NOT_WHOLE.iter().enumerate() {
        let line = lines[at];
        let head = format!("table \"t\", row {}, is left out: ", at + 2);
        assert!(
            line.contains(&head) && line.contains(expected),
            "{row}: {line}"
        );
    }
    let shown: Value = serde_json::from_slice(&dump_canonical(&leveldb_in(&to)).stdout).unwrap();
    let store = &shown["databases"][0]["stores"][0];
    assert_eq!(store["records"].as_array().unwrap().len(), 2);
    assert_eq!(store["nextKey"]["v"], "10");
}

#[test]
fn a_dry_run_writes_nothing_and_names_what_is_not_whole() {
    let text = file("id", true, &[r#"{"id":1}"#, NOT_WHOLE[4].0]);
    let (output, to, _dir) = imported(text.as_bytes(), &[ORIGIN, &["--dry-run"]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("row 2, is left out"));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 record"));
    assert!(!to.exists());
}

#[test]
fn what_is_wrong_with_a_file_is_said_and_nothing_is_made() {
    let good = file("id", true, &[r#"{"id":1}"#]);
    let swapped = good.replacen("\"tables\"", "\"data\"", 1);
    let cases = [
        (
            good.replace(":1,\"data\"", ":2,\"data\""),
            "a newer one is needed",
        ),
        (
            good.replace("\"schema\":\"id\"", "\"schema\":\"id,a,a\""),
            "two indexes have the name \"a\"",
        ),
        (
            good.replace("\"schema\":\"id\"", "\"schema\":\"\""),
            "where its schema does not say",
        ),
        (
            good.replace("\"tableName\":\"t\"", "\"tableName\":\"u\""),
            "table \"u\" is not in the list",
        ),
        (
            good.replace("\"databaseVersion\":1", "\"databaseVersion\":0"),
            "not above zero",
        ),
        (swapped, "put these first"),
        (good.replace("\"data\":{", "\"x\":{"), "no member data"),
        (good.clone() + "{}", "more behind the end"),
    ];
    for (text, expected) in &cases {
        let (output, to, _dir) = imported(text.as_bytes(), ORIGIN);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(
            stderr(&output).contains(expected),
            "{expected}: {}",
            stderr(&output)
        );
        assert!(is_empty(&to), "{expected}");
    }
    let (output, to, _dir) = imported(good.as_bytes(), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--origin"), "{}", stderr(&output));
    assert!(is_empty(&to));
}

#[test]
fn the_store_of_a_file_goes_where_the_folder_of_a_store_is_named() {
    let dir = folder();
    let path = dir.path().join("a.json");
    fs::write(&path, file("id", true, &[r#"{"id":1}"#])).unwrap();
    let to = dir.path().join("https_a.example_0.indexeddb.leveldb");
    let output = run("import", &path, &to, &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let shown: Value = serde_json::from_slice(&dump_canonical(&to).stdout).unwrap();
    assert_eq!(shown["origin"], "https://a.example");
}

/// Wherever a file ends, it is refused, and there is no store.
#[test]
fn a_file_that_was_cut_is_refused_wherever_it_ends() {
    let text = file(
        "id,&u",
        true,
        &[r#"{"id":1,"u":"a"}"#, r#"{"id":2,"u":[1,2]}"#],
    );
    let step = larder_fixtures::sampled(13);
    for len in (0..text.len()).step_by(step) {
        let (output, to, _dir) = imported(&text.as_bytes()[..len], ORIGIN);
        assert_eq!(output.status.code(), Some(2), "{len}");
        assert!(is_empty(&to), "{len}");
    }
}

/// Nothing that stands in a file ends the program.
#[test]
fn whatever_is_changed_in_a_file_something_is_said() {
    let seed = std::env::var("LARDER_SEED").map_or(1, |text| text.parse().unwrap());
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let whole = fs::read(golden("types.json")).unwrap();
    for _ in 0..(600 / larder_fixtures::sampled(3)) {
        let mut text = whole.clone();
        for _ in 0..=random.below(3) {
            let at = random.index(text.len());
            let from = random.index(text.len());
            let len = random.index(24).min(text.len() - from).min(text.len() - at);
            let piece = text[from..from + len].to_vec();
            match random.below(3) {
                0 => drop(text.splice(at..at + len, piece)),
                1 => text[at] = b"{}[]\",:0\\#.$"[random.index(12)],
                _ => drop(text.drain(at..at + len)),
            }
        }
        let _ = larder::archive::check_bytes(&text);
    }
}
