//! Harmed stores repaired by others: for `docs/measurements.md`, and so that no other recovers more.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use larder_backing_store::{CursorDirection, OpenOptions, Store, StorePaths};
use larder_codec::RowKey;
use larder_codec::row_key::RecordTable;
use larder_codec::versioned::DataRow;
use larder_fixtures::canonical::{comparable, with_large_stack};
use larder_fixtures::{Fixture, OpenFixture};
use larder_leveldb::storage::DiskFileSystem;
use serde_json::Value;

use super::harms::{chosen, dumped, harmed, judged, records, shown};
use super::{repair, repaired};
use crate::support::{larder, stderr};

/// C++ `LevelDB`'s `RepairDB` in the oracle of the engine's tests; `None`, with a word about it, where it cannot be built.
#[expect(clippy::print_stdout, reason = "CI shows what was skipped")]
fn oracle() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../leveldb/tests/oracle/oracle.cc");
    let name = format!("repair-oracle-{}", std::process::id());
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let built = Command::new("g++")
        .args(["-O2", "-std=c++17", "-o"])
        .args([&program, &source])
        .args(["-lleveldb", "-lpthread"])
        .output();
    if built.is_ok_and(|output| output.status.success()) {
        return Some(program);
    }
    let message = "SKIPPED: no C++ LevelDB to compare with (install g++, libleveldb-dev)";
    let must = std::env::var_os("LARDER_REQUIRE_PEERS").is_some_and(|value| value == "1");
    assert!(!must, "{message}");
    println!("{message}");
    None
}

const STORES: [&str; 6] = [
    "c156-killed-blob",
    "c156-killed-spill",
    "c110-lite",
    "c131-lite",
    "c92-killed-commit",
    "c83-lite",
];

/// The rows with values of records in a LevelDB folder: what is stored, by key, both in hexadecimal.
type Rows = HashMap<String, String>;

/// Those of a golden store as its browser saw them: a copy has no rows of the undo log, and none that recovery takes back.
fn rows_of_records(source: &OpenFixture) -> Rows {
    let to = tempfile::tempdir().unwrap();
    let (from, dir) = (source.leveldb(), to.path().join("copy"));
    let copied = larder(["copy".as_ref(), from.as_os_str(), dir.as_os_str()]);
    assert!(copied.status.success(), "{}", stderr(&copied));
    let listed = larder([
        "rows".as_ref(),
        dir.as_os_str(),
        "--json".as_ref(),
        "--hex".as_ref(),
    ]);
    assert!(listed.status.success(), "{}", stderr(&listed));
    let lines = listed.stdout.split(|byte| *byte == b'\n');
    let rows = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let hex = |row: &Value, what: &str| row[what].as_str().unwrap().to_owned();
    rows.filter(|row| row["class"] == "data")
        .map(|row| (hex(&row, "key_hex"), hex(&row, "value_hex")))
        .collect()
}

/// Another's reader, which is asked for one folder after the other.
struct Reader {
    name: &'static str,
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Reader {
    fn start(python: &OsStr, name: &'static str) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers/readers.py");
        let mut process = Command::new(python)
            .arg(script)
            .arg(name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // What stops it in a harmed file is said there.
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let questions = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Self {
            name,
            process,
            questions,
            answers,
        }
    }

    fn ask(&mut self, harmed: &OpenFixture) {
        let folder = harmed.leveldb();
        writeln!(self.questions, "{}", folder.to_str().unwrap()).unwrap();
    }

    /// How many of a golden store's rows it has found in the harmed one as they were, and how many otherwise or that were not there.
    fn found(&mut self, truth: &Rows) -> (usize, usize) {
        let (mut right, mut wrong) = (0, 0);
        loop {
            let mut line = String::new();
            let len = self.answers.read_line(&mut line).unwrap();
            assert!(len > 0, "{} has ended: is it installed?", self.name);
            let Some((key, value)) = line.trim_end_matches('\n').split_once(' ') else {
                return (right, wrong);
            };
            match truth.get(key) {
                Some(own) if own == value => right += 1,
                Some(_) => wrong += 1,
                None => wrong += usize::from(is_data_row(key)),
            }
        }
    }

    fn end(self) {
        let Self {
            name,
            mut process,
            questions,
            ..
        } = self;
        drop(questions);
        assert!(process.wait().unwrap().success(), "{name}");
    }
}

fn is_data_row(key_hex: &str) -> bool {
    let digits = key_hex.as_bytes().chunks(2);
    let key: Option<Vec<u8>> = digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    let data = RecordTable::Data;
    matches!(
        RowKey::decode_exact(&key.unwrap()),
        Ok(RowKey::Record(record)) if record.table == data
    )
}

/// Values of records by their place, all in the form of `larder dump --format jsonl`, in which a repair lists what is in doubt.
pub(super) type Listed = HashMap<String, Value>;

fn listed(line: &[u8]) -> Option<(String, Value)> {
    line_of(&serde_json::from_slice(line).ok()?)
}

/// A line of a dump or of what is in doubt.
pub(super) fn line_of(line: &Value) -> Option<(String, Value)> {
    Some((place_of(line), line.get("value")?.clone()))
}

/// To IndexedDB -0 is the key 0, and a transaction that is taken back can leave a record under the other one of the two.
fn place_of(line: &Value) -> String {
    let key = line["key"].to_string().replace(r#"{"$number":"-0"}"#, "0");
    format!("{} {} {key}", line["database"], line["store"])
}

/// What a store has.
pub(super) fn listing(leveldb: &Path) -> Listed {
    listing_in_order(leveldb).into_iter().collect()
}

/// What a store has, each object store in the order of its keys.
fn listing_in_order(leveldb: &Path) -> Vec<(String, Value)> {
    let output = larder([
        "dump".as_ref(),
        leveldb.as_os_str(),
        "--format".as_ref(),
        "jsonl".as_ref(),
    ]);
    let lines = output.stdout.split(|byte| *byte == b'\n');
    lines.filter_map(listed).collect()
}

/// A golden store's records as they were.
struct Golden {
    values: Listed,
    /// Stored values, in hexadecimal: a repair gives back so what it cannot decode.
    bytes: HashMap<String, String>,
    /// Their places, by those that a repair makes up of ids if names are lost.
    by_ids: HashMap<String, String>,
}

impl Golden {
    fn of(leveldb: &Path) -> Self {
        let listed = listing_in_order(leveldb);
        let disk = Arc::new(DiskFileSystem::new());
        let paths = StorePaths::of_leveldb(leveldb);
        let store = Store::open_read_only(disk, paths, OpenOptions::default()).unwrap();
        let (mut bytes, mut by_ids) = (HashMap::new(), HashMap::new());
        for database in store.databases(&mut Vec::new()).unwrap() {
            let name = serde_json::to_string(&database.name).unwrap();
            let made_up = format!("\"database-{}\"", database.id);
            for object_store in &database.object_stores {
                let own = serde_json::to_string(&object_store.name).unwrap();
                let head = format!("{name} {own} ");
                let mut places = listed.iter().map(|(place, _)| place);
                let next = CursorDirection::Next;
                let mut rows = store.records(database.id, object_store.id, next);
                while rows.next().unwrap() {
                    let place = places.find(|place| place.starts_with(&head)).unwrap();
                    let (version, value) = (rows.version().unwrap(), rows.value().unwrap());
                    let mut row = Vec::new();
                    DataRow { version, value }.encode(&mut row);
                    let hex = row.iter().map(|byte| format!("{byte:02x}")).collect();
                    bytes.insert(place.clone(), hex);
                    for database in [&name, &made_up] {
                        let key = &place[head.len()..];
                        let made_up =
                            format!("{database} \"object-store-{}\" {key}", object_store.id);
                        by_ids.insert(made_up, place.clone());
                    }
                }
            }
        }
        let values: Listed = listed.into_iter().collect();
        assert_eq!(values.len(), bytes.len());
        Self {
            values,
            bytes,
            by_ids,
        }
    }

    /// Whether a line of a store, or of what is in doubt, gives a record back as it was: its place.
    fn given(&self, line: &Value) -> Option<&str> {
        let place = place_of(line);
        let place = match line["generated"] == true {
            true => self.by_ids.get(&place)?,
            false => &place,
        };
        let (place, value) = self.values.get_key_value(place)?;
        let is_value = line.get("value") == Some(value);
        let is_bytes = line["raw"].as_str() == self.bytes.get(place).map(String::as_str);
        (is_value || is_bytes).then_some(place)
    }
}

/// What a repair has given back.
#[derive(Default)]
struct Given {
    /// Records as they were, in the store or in a line of what is in doubt.
    records: usize,
    /// Lines out of damaged places: how many are right, and all.
    damaged: (usize, usize),
}

fn given_back(dir: &Path, repaired: &Path, golden: &Golden) -> Given {
    let listed = listing(repaired);
    let in_store = listed
        .iter()
        .filter(|(place, value)| golden.values.get(*place) == Some(value));
    let mut found: HashSet<&str> = in_store.map(|(place, _)| place.as_str()).collect();
    let lines = std::fs::read(dir.join("salvaged/records.jsonl")).unwrap_or_default();
    let lines = lines.split(|byte| *byte == b'\n');
    let lines: Vec<Value> = lines
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    found.extend(lines.iter().filter_map(|line| golden.given(line)));
    let damaged = lines.iter().filter(|line| line["reason"] == "damaged");
    let right = damaged.clone().filter_map(|line| golden.given(line));
    Given {
        records: found.len(),
        damaged: (right.count(), damaged.count()),
    }
}

/// `LARDER_PEER_HARMS=50` tries so many harms to each golden store (one to each of six in the default run); `LARDER_SEED` starts elsewhere;
/// `LARDER_HARMED_STORES=c75*` takes only stores whose names begin so.
/// `LARDER_PEER_PYTHON` is a Python that has dfindexeddb and `ccl_chromium_reader`: then these read the same.
#[test]
fn no_fewer_records_come_back_than_others_bring_back() {
    let number = |name: &str| std::env::var(name).map(|text| text.parse::<u64>().unwrap());
    let (harms, first) = (
        number("LARDER_PEER_HARMS"),
        number("LARDER_SEED").unwrap_or(1),
    );
    let fixtures: Vec<Fixture> = match harms {
        Ok(_) => larder_fixtures::all(),
        Err(_) => STORES.map(larder_fixtures::get).into(),
    };
    let seeds = first..first + harms.unwrap_or(1);
    let fixtures = chosen(fixtures);
    let python = std::env::var_os("LARDER_PEER_PYTHON");
    with_large_stack(move || {
        let Some(oracle) = oracle() else {
            return;
        };
        let mut readers: Vec<Reader> = python.map_or_else(Vec::new, |python| {
            ["dfindexeddb", "ccl_chromium_reader"]
                .map(|name| Reader::start(&python, name))
                .into()
        });
        let names: Vec<_> = ["RepairDB"]
            .into_iter()
            .chain(readers.iter().map(|reader| reader.name))
            .collect();
        let (mut certain, mut all, mut count) = (0, 0, 0);
        let mut given = Given::default();
        // RepairDB is the first of the others.
        let (mut ours, mut theirs) = ((0, 0), vec![(0, 0); names.len()]);
        let mut fewer = Vec::new();
        for fixture in &fixtures {
            let name = &fixture.name;
            let truth = shown(&comparable(&fixture.expected()));
            let whole = fixture.copy();
            let golden = Golden::of(&whole.leveldb());
            let rows = match &*readers {
                [] => Rows::new(),
                _ => rows_of_records(&whole),
            };
            for seed in seeds.clone() {
                let (source, harm) = harmed(fixture, seed);
                for reader in &mut readers {
                    reader.ask(&source);
                }
                let to = tempfile::tempdir().unwrap();
                let dir = to.path().join("out");
                repair(&source.leveldb(), &dir, &[]);
                let strict = repaired(&source, &dir);
                let of_certain = judged(&dumped(&strict), &truth).0;
                let of_given = given_back(&dir, &strict, &golden);
                let dir = to.path().join("all");
                repair(&source.leveldb(), &dir, &["--with-doubtful"]);
                let (right, wrong) = judged(&dumped(&repaired(&source, &dir)), &truth);
                certain += of_certain;
                given.records += of_given.records;
                given.damaged.0 += of_given.damaged.0;
                given.damaged.1 += of_given.damaged.1;
                let of_given = of_given.records;
                ours = (ours.0 + right, ours.1 + wrong);
                let mut one = vec![(0, 0)];
                one.extend(readers.iter_mut().map(|reader| reader.found(&rows)));
                // It may fail; what it has left is looked at all the same.
                let done = Command::new(&oracle)
                    .args([
                        "repair".as_ref(),
                        source.leveldb().as_os_str(),
                        "idb".as_ref(),
                    ])
                    .output()
                    .unwrap();
                if done.status.success() {
                    one[0] = judged(&dumped(&source.leveldb()), &truth);
                }
                let told = format!(
                    "{name} seed {seed}: {of_certain} certain, {of_given} given back, {right} right, {wrong} wrong; others {one:?}: {harm}"
                );
                if std::env::var_os("LARDER_LIST").is_some() {
                    println!("{told}");
                }
                if one.iter().any(|(right, _)| *right > of_given) {
                    fewer.push(told);
                }
                for (sum, one) in theirs.iter_mut().zip(one) {
                    *sum = (sum.0 + one.0, sum.1 + one.1);
                }
                all += records(&truth);
                count += 1;
            }
        }
        readers.into_iter().for_each(Reader::end);
        println!(
            "{count} harms, of {all} records: certain {certain}, given back {}, with the doubtful right {} and wrong {}; of {} lines out of damage right {}",
            given.records, ours.0, ours.1, given.damaged.1, given.damaged.0
        );
        for (name, sum) in names.iter().zip(&theirs) {
            println!("{name} right {} and wrong {}", sum.0, sum.1);
        }
        // In each harm, not only of all together.
        assert!(
            fewer.is_empty(),
            "another has brought more back in {}:\n{}",
            fewer.len(),
            fewer.join("\n")
        );
    });
}
