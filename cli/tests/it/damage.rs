//! Damaged stores: whatever byte is flipped and wherever a file is cut, the command never panics, never shows wrong data
//! as if they were right, names the damage, and shows the rest.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::{dump_canonical, stderr};
use larder_fixtures::canonical::{comparable, with_large_stack};
use larder_fixtures::{OpenFixture, sampled};
use serde_json::Value;

/// Places tried in each file, spread evenly, besides the first and last bytes.
const PLACES: usize = 24;

/// What is done to a file.
#[derive(Debug, Clone, Copy)]
enum Harm {
    Flip { at: usize, mask: u8 },
    Cut { at: usize },
    Remove,
}

impl Harm {
    fn apply(self, path: &Path, whole: &[u8]) {
        match self {
            Self::Flip { at, mask } => {
                let mut bytes = whole.to_vec();
                bytes[at] ^= mask;
                fs::write(path, bytes).unwrap();
            }
            Self::Cut { at } => fs::write(path, &whole[..at]).unwrap(),
            Self::Remove => fs::remove_file(path).unwrap(),
        }
    }
}

fn harms(len: usize) -> Vec<Harm> {
    let mut places: Vec<usize> = (0..PLACES).map(|n| len * n / PLACES).collect();
    places.extend([
        1,
        4,
        6,
        7,
        len.saturating_sub(1),
        len.saturating_sub(9),
        len.saturating_sub(40),
    ]);
    places.retain(|at| *at < len);
    places.sort_unstable();
    places.dedup();
    let mut harms = vec![Harm::Remove];
    for (n, at) in places.into_iter().enumerate() {
        harms.push(Harm::Flip {
            at,
            mask: [0x01, 0x80, 0xff, 0x10][n % 4],
        });
        harms.push(Harm::Cut { at });
    }
    harms
}

/// Records by database, object store and key; the rest of each database and object store beside them.
fn by_key(databases: &Value) -> HashMap<String, Value> {
    let mut map = HashMap::new();
    for database in databases.as_array().unwrap() {
        let name = &database["name"];
        map.insert(format!("{name} version"), database["version"].clone());
        for store in database["stores"].as_array().unwrap() {
            let place = format!("{name}/{}", store["name"]);
            for member in ["keyPath", "autoIncrement", "nextKey"] {
                map.insert(format!("{place} {member}"), store[member].clone());
            }
            for record in store["records"].as_array().unwrap() {
                map.insert(format!("{place} key {}", record[0]), record[1].clone());
            }
            for index in store["indexes"].as_array().unwrap() {
                let place = format!("{place}/{}", index["name"]);
                for member in ["keyPath", "unique", "multiEntry"] {
                    map.insert(format!("{place} {member}"), index[member].clone());
                }
                for entry in index["entries"].as_array().unwrap() {
                    map.insert(format!("{place} entry {entry}"), Value::Null);
                }
            }
        }
    }
    map
}

/// What is shown and is not so.
fn wrong(ours: &HashMap<String, Value>, truth: &HashMap<String, Value>) -> Vec<String> {
    ours.iter()
        .filter(|(place, value)| value["t"] != "UNREADABLE" && truth.get(*place) != Some(value))
        .map(|(place, value)| {
            let short = |value: Option<&Value>| {
                value.map(|v| v.to_string().chars().take(120).collect::<String>())
            };
            format!(
                "{place}: {:?}, not {:?}",
                short(Some(value)),
                short(truth.get(place))
            )
        })
        .collect()
}

/// Tries all harms on all LevelDB files of a fixture. Rows that were deleted may come back when a MANIFEST or CURRENT
/// is harmed; then it is enough that the file is named.
fn try_fixture(name: &str) -> usize {
    let fixture = larder_fixtures::get(name);
    let whole: Value = comparable(&fixture.expected());
    let truth = by_key(&whole);
    let copy = fixture.copy();
    let mut tried = 0;
    let mut faults = Vec::new();
    for path in leveldb_files(&copy) {
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        let bytes = fs::read(&path).unwrap();
        for harm in harms(bytes.len()).into_iter().step_by(sampled(9)) {
            harm.apply(&path, &bytes);
            tried += 1;
            let output = dump_canonical(&copy.leveldb());
            let reported = stderr(&output);
            if let Some(fault) = judge(&file, harm, &output, &whole, &truth) {
                faults.push(format!("{name}: {file}: {harm:?}: {fault}\n{reported}"));
            }
        }
        fs::write(&path, &bytes).unwrap();
    }
    assert!(
        faults.is_empty(),
        "{} of {tried} harms: {}",
        faults.len(),
        faults.join("\n")
    );
    tried
}

/// What is wrong with an answer.
fn judge(
    file: &str,
    harm: Harm,
    output: &Output,
    whole: &Value,
    truth: &HashMap<String, Value>,
) -> Option<String> {
    let reported = stderr(output);
    let named =
        reported.contains(file) || (matches!(harm, Harm::Remove) && reported.contains("no log"));
    let structure = file == "CURRENT" || file.starts_with("MANIFEST");
    let cut_log = matches!(harm, Harm::Cut { .. }) && file.ends_with(".log");
    match output.status.code() {
        Some(0) => {
            // A log that was cut between two records is as whole as one that ends there; inside a record it is what a
            // crash leaves, which is noted.
            let fine = cut_log || comparable(&output.stdout) == *whole;
            (!fine).then(|| "something is missing or wrong without a word".to_owned())
        }
        Some(1) if !named => Some("the file is not named".to_owned()),
        Some(1) => {
            let wrong = wrong(&by_key(&comparable(&output.stdout)), truth);
            (!wrong.is_empty() && !structure && !cut_log).then(|| format!("wrong data: {wrong:#?}"))
        }
        Some(3) if structure && named => None,
        code => Some(format!("exit {code:?}")),
    }
}

fn leveldb_files(store: &OpenFixture) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(store.leveldb())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file() && path.metadata().unwrap().len() > 0)
        .collect();
    files.sort();
    files
}

#[test]
fn no_harm_to_a_small_store_shows_wrong_data() {
    with_large_stack(|| {
        for name in ["c156-lite", "c110-lite", "c83-lite", "c64-lite"] {
            println!("{name}: {} harms", try_fixture(name));
        }
    });
}

#[test]
fn no_harm_to_a_killed_store_shows_wrong_data() {
    with_large_stack(|| {
        println!("{} harms", try_fixture("c156-killed-blob"));
    });
}
