//! `larder export --format parquet`: what another reader finds in the file is what the CSV and the records have.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use larder_fixtures::sampled;
use serde_json::{Value, json};

use super::{folder, run};
use crate::support::{larder, run_script, stderr};

/// Stores that differ in what is in them.
const STORES: [&str; 4] = ["c156-lite", "c131-lite", "c75-lite", "pouchdb"];

/// A Python that can import `pyarrow`, with the script that reads a file by it; `None`, with a word about it, where there is none.
#[expect(clippy::print_stdout, reason = "CI shows what was skipped")]
fn reader() -> Option<Command> {
    let python = || {
        let mut command = Command::new("python3");
        if let Some(folder) = std::env::var_os("LARDER_PYARROW") {
            command.env("PYTHONPATH", folder);
        }
        command
    };
    let imported = python().args(["-c", "import pyarrow.parquet"]).output();
    if imported.is_ok_and(|output| output.status.success()) {
        let mut command = python();
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/archive/read_parquet.py"));
        return Some(command);
    }
    let message = "SKIPPED: no Python with pyarrow reads tables (LARDER_PYARROW is the folder of pip install --target)";
    assert!(
        std::env::var_os("LARDER_REQUIRE_PEERS").is_none(),
        "{message}"
    );
    println!("{message}");
    None
}

/// The records of a store as JSON Lines.
fn lines_of(store: &Path, dir: &Path) -> PathBuf {
    let lines = dir.join("records.jsonl");
    let output = larder([
        "dump".as_ref(),
        "--format=jsonl".as_ref(),
        "--output".as_ref(),
        lines.as_os_str(),
        store.as_os_str(),
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    lines
}

/// Writes each object store of a store as CSV and as Parquet into a folder: the jobs of the reader.
fn tables(store: &Path, dir: &Path, jobs: &mut String) {
    fs::create_dir_all(dir).unwrap();
    let lines = lines_of(store, dir);
    let mut places = BTreeSet::new();
    for line in fs::read_to_string(&lines).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if let (Some(database), Some(name)) = (line["database"].as_str(), line["store"].as_str()) {
            // Such names cannot stand on a command line.
            if !database.contains('\0') && !name.contains('\0') {
                places.insert((database.to_owned(), name.to_owned()));
            }
        }
    }
    table_of_each(&places, store, dir, &lines, jobs);
}

fn table_of_each(
    places: &BTreeSet<(String, String)>,
    store: &Path,
    dir: &Path,
    lines: &Path,
    jobs: &mut String,
) {
    for (number, (database, name)) in places.iter().enumerate() {
        let file = |ending: &str| dir.join(format!("{number}.{ending}"));
        for format in ["csv", "parquet"] {
            let place = [
                "--format",
                format,
                &format!("--database={database}"),
                &format!("--store={name}"),
            ];
            let output = run("export", store, &file(format), &place);
            assert!(output.status.success(), "{place:?}: {}", stderr(&output));
        }
        let job = json!({
            "parquet": file("parquet"), "csv": file("csv"), "jsonl": lines, "database": database, "store": name,
        });
        writeln!(jobs, "{job}").unwrap();
    }
}

/// What the reader says of these jobs.
fn compared(mut reader: Command, jobs: &str) -> Value {
    let mut process = reader
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = process.stdin.take().unwrap();
    input.write_all(jobs.as_bytes()).unwrap();
    drop(input);
    let output = process.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{}\n{said}", stderr(&output));
    assert!(!said.contains("DIFFERS"), "{said}");
    serde_json::from_str(&said).unwrap()
}

#[test]
fn another_reader_finds_in_the_tables_of_golden_stores_what_their_records_have() {
    let Some(reader) = reader() else {
        return;
    };
    let dir = folder();
    let mut jobs = String::new();
    // Killed stores have no types that the others lack.
    let fixtures: Vec<_> = match sampled(2) {
        1 => larder_fixtures::all()
            .into_iter()
            .filter(|fixture| !fixture.name.contains("-killed"))
            .collect(),
        _ => STORES.map(larder_fixtures::get).into(),
    };
    for fixture in fixtures {
        let to = dir.path().join(&fixture.name);
        tables(&fixture.open().leveldb(), &to, &mut jobs);
    }
    let seen = compared(reader, &jobs);
    println!("{seen}");
    for kind in [
        "integer", "double", "string", "date", "bytes", "text", "boolean",
    ] {
        assert!(seen[kind].as_u64() > Some(0), "no column of {kind}: {seen}");
    }
}

/// Records with every type, at the ends of what a column's type holds, and one store of more than a row group.
#[cfg(feature = "scripts")]
const SCRIPT: &str = r#"
    const request = indexedDB.open('d', 1);
    request.onupgradeneeded = () => {
      const make = (name) => request.result.createObjectStore(name);
      const view = (...bytes) => new Uint8Array(new Uint8Array([9, ...bytes, 9]).buffer, 1, bytes.length);
      const store = make('s');
      store.put({
        i: 1, d: -0.5, zero: -0, safe: 2 ** 53 - 1, over: 2 ** 53, b: 12n, huge: 2n ** 63n, on: true, t: 'a\n"é', lone: '\ud800', both: null, nul: 1,
        nothing: null, gone: undefined, when: new Date(0), bad: new Date(NaN), buffer: new Uint8Array([1, 2]).buffer, view: view(1, 2),
        views: view(1), mixed: 1, $key: 'k', list: [1], '': 'no name', 'ü.x': 1, un: undefined,
      }, 1);
      store.put({
        i: -5, d: NaN, zero: 1, safe: -(2 ** 53) + 1, over: 1e300, b: -(2n ** 63n), huge: 1n, on: false, t: '', lone: 'null', nul: null, both: 2,
        nothing: null, when: new Date(8.64e15), bad: new Date(1), buffer: new ArrayBuffer(0), view: view(), views: new Int8Array(1),
        mixed: 'x', $key: 'l', $key_1: 1, list: {}, un: 1,
      }, 2);
      store.put({
        i: 0, d: Infinity, zero: 0, safe: 0, over: 0.1, b: 2n ** 63n - 1n, huge: 0n, t: 'x', lone: 'a', nul: 3, nothing: null,
        when: new Date(-8.64e15), bad: new Date(2), buffer: new Uint8Array(3).buffer, view: view(0), mixed: 1n,
      }, 3);
      const dates = make('dates');
      dates.put(1, new Date(0));
      dates.put(2.5, new Date(-62198755200000));
      make('arrays').put([1], [1, 'a']);
      make('binary').put('x', new Uint8Array([0, 255]));
      make('doubles').put({ x: 1 }, -0.5);
      make('wide').put(Object.fromEntries(Array.from({ length: 4097 }, (_, n) => ['p' + n, n])), 1);
      const large = make('large');
      for (let n = 0; n < 2500; n++) large.put({ n, text: String(n % 7).repeat(8000), odd: n % 2 ? n : undefined }, n);
      make('none');
    };"#;

#[cfg(feature = "scripts")]
fn scripted(dir: &Path) -> PathBuf {
    let stores = dir.join("stores");
    run_script(&stores, &[], SCRIPT);
    stores
}

#[test]
#[cfg(feature = "scripts")]
fn each_type_and_each_row_group_is_what_another_reader_finds() {
    let Some(reader) = reader() else {
        return;
    };
    let dir = folder();
    let stores = scripted(dir.path());
    let lines = lines_of(&stores, dir.path());
    let names = ["s", "dates", "arrays", "binary", "doubles", "large"];
    let places = names.map(|name| ("d".to_owned(), name.to_owned()));
    let mut jobs = String::new();
    table_of_each(&places.into(), &stores, dir.path(), &lines, &mut jobs);
    let seen = compared(reader, &jobs);
    assert_eq!(seen["tables"], 6, "{seen}");
    for kind in [
        "bigint", "boolean", "bytes", "date", "double", "integer", "string", "text",
    ] {
        assert!(seen[kind].as_u64() > Some(0), "no column of {kind}: {seen}");
    }
    // 20 MB of text, in row groups of 8 MiB.
    assert_eq!(seen["row groups"], 3, "{seen}");
}

#[test]
#[cfg(feature = "scripts")]
fn a_dry_run_and_a_table_that_fails_leave_nothing() {
    let dir = folder();
    let stores = scripted(dir.path());
    let to = dir.path().join("to");
    fs::create_dir(&to).unwrap();
    let export = |name: &str, options: &[&str]| run("export", &stores, &to.join(name), options);
    for (name, options, says) in [
        (
            "a.parquet",
            &["--format", "parquet", "--store", "s"][..],
            "would have 3 records of ",
        ),
        (
            "a.csv",
            &["--format", "csv", "--store", "s"],
            "would have 3 records of ",
        ),
        (
            "a.jsonl",
            &[],
            "would have 1 store, 1 database, 8 object stores, 2509 records, 0 blobs",
        ),
        (
            "a",
            &["--store", "none"],
            "would have 1 store, 1 database, 1 object store, 0 records, 0 blobs",
        ),
    ] {
        let output = export(name, &[options, &["--dry-run"]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(says), "{name}: {said}");
        assert!(fs::read_dir(&to).unwrap().next().is_none(), "{name}");
    }
    for (store, words) in [
        (
            "wide",
            "more than 4096 properties: name some with --columns",
        ),
        ("nowhere", "no object store \"nowhere\" here"),
    ] {
        let output = export("a.parquet", &["--format", "parquet", "--store", store]);
        assert!(!output.status.success(), "{store}");
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
        assert!(fs::read_dir(&to).unwrap().next().is_none(), "{store}");
    }
    let output = export("a.parquet", &["--format", "parquet"]);
    assert_eq!(output.status.code(), Some(2));
    let words = "--format parquet is a table of one object store: name it with --store";
    assert!(stderr(&output).contains(words), "{}", stderr(&output));
    let output = export(
        "wide.parquet",
        &[
            "--format",
            "parquet",
            "--store",
            "wide",
            "--columns",
            "p7,p9",
        ],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let file = fs::read(to.join("wide.parquet")).unwrap();
    assert!(file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
}
