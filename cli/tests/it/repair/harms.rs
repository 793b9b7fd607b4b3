//! Seeded harms to golden stores: every record that a repair keeps is what the browser had shown, and of every other something is said.
//!
//! Left out, as no reader can know it: a log that is cut exactly between two records, or emptied, which is as whole as one that ends
//! there; and another content of a blob's file with the same length, as blobs have no checksum, or with any length where the store does not
//! say it (files, in schema 3).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use larder_fixtures::canonical::{comparable, with_large_stack};
use larder_fixtures::random::Random;
use larder_fixtures::{Fixture, OpenFixture};
use serde_json::Value;

use super::{repair, repaired, report};
use crate::support::{dump_canonical, stderr};

/// What a store shows, by place.
pub(super) type Shown = HashMap<String, Value>;

/// Records and entries of indexes by their place.
pub(super) fn shown(databases: &Value) -> Shown {
    let mut map = HashMap::new();
    for database in databases.as_array().unwrap() {
        let name = &database["name"];
        for store in database["stores"].as_array().unwrap() {
            let place = format!("{name}/{}", store["name"]);
            for record in store["records"].as_array().unwrap() {
                map.insert(format!("record {place} {}", record[0]), record[1].clone());
            }
            for index in store["indexes"].as_array().unwrap() {
                for entry in index["entries"].as_array().unwrap() {
                    let place = format!("entry {place}/{} {entry}", index["name"]);
                    map.insert(place, Value::Null);
                }
            }
        }
    }
    map
}

pub(super) fn records(shown: &Shown) -> usize {
    shown
        .keys()
        .filter(|place| place.starts_with("record"))
        .count()
}

/// What a store shows; empty if it cannot be dumped.
pub(super) fn dumped(leveldb: &Path) -> Shown {
    let output = dump_canonical(leveldb);
    match output.stdout.is_empty() {
        true => Shown::new(),
        false => shown(&comparable(&output.stdout)),
    }
}

/// How many records are right and how many wrong.
pub(super) fn judged(shown: &Shown, truth: &Shown) -> (usize, usize) {
    let records = shown
        .iter()
        .filter(|(place, _)| place.starts_with("record"));
    let records = records.filter(|(_, value)| value["t"] != "UNREADABLE");
    let right = |(place, value): &(&String, &Value)| truth.get(*place) == Some(*value);
    let (right, wrong): (Vec<_>, Vec<_>) = records.partition(right);
    (right.len(), wrong.len())
}

/// A record of a log, or a part of one.
struct Part {
    at: usize,
    len: usize,
    kind: u8,
}

impl Part {
    const FULL: u8 = 1;
    const FIRST: u8 = 2;
    const LAST: u8 = 4;
}

const BLOCK: usize = 32 << 10;

/// The parts of the records of an undamaged log, or MANIFEST.
fn parts(bytes: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at + 7 <= bytes.len() {
        if BLOCK - at % BLOCK < 7 {
            at += BLOCK - at % BLOCK;
            continue;
        }
        let len = usize::from(bytes[at + 4]) | usize::from(bytes[at + 5]) << 8;
        let kind = bytes[at + 6];
        if kind == 0 {
            break;
        }
        parts.push(Part { at, len, kind });
        at += 7 + len;
    }
    parts
}

/// Where a log's or a MANIFEST's whole records end.
fn record_ends(bytes: &[u8]) -> Vec<usize> {
    let mut ends = vec![0];
    for part in parts(bytes) {
        let at = part.at + 7 + part.len;
        // Beyond it there may be a rest of the block that is too short for a record.
        if matches!(part.kind, Part::FULL | Part::LAST) {
            let rest = (BLOCK - at % BLOCK) % BLOCK;
            ends.extend(at..=at + if rest < 7 { rest } else { 0 });
        }
    }
    ends
}

/// The golden store as it was after a write: its logs end there.
pub(super) fn as_of(fixture: &Fixture, sequence: u64) -> OpenFixture {
    let source = fixture.copy();
    for path in files(&source) {
        if path.extension().is_none_or(|extension| extension != "log") {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let parts = parts(&bytes);
        // The number may lie in two parts.
        let first_number = |at: usize| {
            let content = parts[at..]
                .iter()
                .flat_map(|part| bytes[part.at + 7..].iter().take(part.len));
            let number: Vec<u8> = content.take(8).copied().collect();
            // The last record may end before it.
            number.try_into().map_or(u64::MAX, u64::from_le_bytes)
        };
        let mut begins = parts
            .iter()
            .enumerate()
            .filter(|(_, part)| matches!(part.kind, Part::FULL | Part::FIRST));
        if let Some((_, part)) = begins.find(|(at, _)| first_number(*at) > sequence) {
            fs::write(&path, &bytes[..part.at]).unwrap();
        }
    }
    source
}

/// The files of a store: those of its LevelDB and its blobs.
fn files(source: &OpenFixture) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut pending = vec![source.dir().to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => pending.push(path),
                false if fs::metadata(&path).unwrap().len() > 0 => all.push(path),
                false => {}
            }
        }
    }
    all.sort();
    all
}

fn is_blob(path: &Path) -> bool {
    path.ancestors()
        .any(|dir| dir.to_string_lossy().ends_with(".blob"))
}

fn is_log(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    name.ends_with(".log") || name.starts_with("MANIFEST")
}

/// Does one harm to one file, and says which.
fn harm(random: &mut Random, all: &[PathBuf]) -> String {
    // As often a LevelDB file as a blob, of which there are many.
    let (blobs, others): (Vec<_>, Vec<_>) = all.iter().cloned().partition(|path| is_blob(path));
    let among = match !blobs.is_empty() && random.one_in(6) {
        true => &blobs,
        false => &others,
    };
    let path = random.pick(among);
    let Ok(mut bytes) = fs::read(&path) else {
        return "nothing more".to_owned();
    };
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let len = bytes.len();
    let kind = if bytes.is_empty() { 1 } else { random.below(4) };
    let what = match kind {
        0 => {
            let mut at = random.index(len);
            let ends = if is_log(&path) {
                record_ends(&bytes)
            } else {
                Vec::new()
            };
            while ends.contains(&at) {
                at += 1;
            }
            bytes.truncate(at.min(len));
            format!("cut at {at} of {len}")
        }
        1 => {
            fs::remove_file(&path).unwrap();
            return format!("{name} removed");
        }
        // Fewer zeros may be what a page has stored.
        2 if is_blob(&path) && len >= 512 => {
            bytes.fill(0);
            format!("{len} bytes zeroed")
        }
        2 if !is_blob(&path) => {
            let at = random.index(len);
            let end = (at + 1 + random.index(8192)).min(len);
            bytes[at..end].fill(0);
            format!("zeroed {at}..{end}")
        }
        _ if is_blob(&path) => {
            bytes.truncate(len - 1);
            "cut by one".to_owned()
        }
        _ => {
            let from = random.pick(all);
            let other = fs::read(&from).unwrap_or_default();
            let page = random.index(len.div_ceil(4096)) * 4096;
            let other_page = random.index(other.len().div_ceil(4096).max(1)) * 4096;
            let other = other.get(other_page..).unwrap_or_default();
            let count = 4096.min(other.len()).min(len - page);
            bytes[page..page + count].copy_from_slice(&other[..count]);
            format!("{count} bytes at {page} of {}", from.display())
        }
    };
    fs::write(&path, bytes).unwrap();
    format!("{name} {what}")
}

/// A copy of a golden store with harms of this seed, and what they are.
pub(super) fn harmed(fixture: &Fixture, seed: u64) -> (OpenFixture, String) {
    let source = fixture.copy();
    let name = fixture.name.bytes().map(u64::from);
    let name = name.fold(seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte));
    let mut random = Random::new(name);
    let all = files(&source);
    let count = 1 + random.below(3);
    let harms: Vec<String> = (0..count).map(|_| harm(&mut random, &all)).collect();
    (source, harms.join("; "))
}

/// Shares of records, in sums.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) harms: usize,
    pub(super) shown: usize,
    pub(super) certain: usize,
    /// How many of those have changed after the moment of which the store is.
    pub(super) outdated: usize,
    pub(super) as_of: usize,
    pub(super) right: usize,
    pub(super) wrong: usize,
    pub(super) untouched: usize,
}

#[expect(clippy::print_stdout, reason = "a list that was asked for")]
fn list(line: &str) {
    println!("{line}");
}

/// A value without what its files have from the disk, where the store does not say it.
fn without_contents(value: &Value) -> Value {
    match value {
        Value::Array(all) => all.iter().map(without_contents).collect(),
        Value::Object(members) => {
            let is_file = members.get("t").is_some_and(|kind| kind == "File");
            let of_disk = ["size", "bytes", "lastModified"];
            let is_left_out = |name: &str| is_file && of_disk.contains(&name);
            let members = members.iter().filter(|(name, _)| !is_left_out(name));
            let members = members.map(|(name, value)| (name.clone(), without_contents(value)));
            Value::Object(members.collect())
        }
        value => value.clone(),
    }
}

/// Repairs a harmed store both ways: what is wrong with that.
fn judge(fixture: &Fixture, truth: &Shown, seed: u64, sums: &mut Sums) -> Result<(), String> {
    let (source, harms) = harmed(fixture, seed);
    let told = format!("{} seed {seed}: {harms}", fixture.name);
    let to = tempfile::tempdir().unwrap();
    let strict = to.path().join("strict");
    let output = repair(&source.leveldb(), &strict, &[]);
    sums.harms += 1;
    sums.shown += records(truth);
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(format!("{told}: {:?}: {}", output.status, stderr(&output)));
    }
    let certain = dumped(&repaired(&source, &strict));
    let said = report(&strict);
    // What is written down as the state of an earlier moment has to be all of that.
    let at_the_end = truth;
    let earlier = said["asOf"]["sequence"]
        .as_u64()
        .map(|sequence| dumped(&as_of(fixture, sequence).leveldb()));
    sums.as_of += usize::from(earlier.is_some());
    let truth = earlier.as_ref().unwrap_or(at_the_end);
    let is_measured = said["unmeasuredBlobs"] == 0;
    for (place, value) in &certain {
        let was = truth.get(place);
        let is_as_it_was = match is_measured {
            true => was == Some(value),
            false => was.map(without_contents) == Some(without_contents(value)),
        };
        if !is_as_it_was {
            return Err(format!("{told}: among the certain, and not so: {place}"));
        }
    }
    let count = |what: &str| said[what].as_u64().unwrap() as usize;
    if count("records") != records(&certain) {
        return Err(format!(
            "{told}: {} records shown: {said}",
            records(&certain)
        ));
    }
    // Of every record that is not there something is said, or the file that it was in is named.
    let missing = records(truth) - records(&certain);
    let listed = count("doubtful") + count("lost");
    let names_files = ["damage", "torn", "problems"];
    let is_named = names_files
        .iter()
        .any(|what| !said[what].as_array().unwrap().is_empty());
    if missing > listed && !is_named {
        return Err(format!(
            "{told}: {missing} are missing, {listed} listed: {said}"
        ));
    }
    // All of an index: what it lacks, its records lack. Or it is not there, as its metadata is lost.
    let index = |place: &String| place.split(" [").next().map(str::to_owned);
    let indexes: HashSet<_> = certain.keys().map(index).collect();
    let is_said = said["problems"].to_string().contains("the index has");
    let mut lacking = truth.keys();
    if records(&certain) == records(truth)
        && lacking.any(|place| {
            let is_lost = is_said && !indexes.contains(&index(place));
            place.starts_with("entry") && !certain.contains_key(place) && !is_lost
        })
    {
        return Err(format!("{told}: index entries are missing: {said}"));
    }
    let all = to.path().join("all");
    repair(&source.leveldb(), &all, &["--with-doubtful"]);
    let with_doubtful = dumped(&repaired(&source, &all));
    // What is certain at the end is so whatever else there may be.
    let mut kept = certain.iter();
    if earlier.is_none()
        && let Some((place, _)) =
            kept.find(|(place, value)| with_doubtful.get(*place) != Some(*value))
    {
        return Err(format!(
            "{told}: certain, and otherwise with the doubtful: {place}"
        ));
    }
    let (right, wrong) = judged(&with_doubtful, at_the_end);
    sums.certain += records(&certain);
    sums.outdated += judged(&certain, at_the_end).1;
    sums.right += right;
    sums.wrong += wrong;
    if std::env::var_os("LARDER_LIST").is_some() {
        let certain = records(&certain);
        list(&format!(
            "{told}: {certain} certain, {right} right, {wrong} wrong: {said}"
        ));
    }
    sums.untouched += usize::from(output.status.success());
    Ok(())
}

/// Those of the golden stores that `LARDER_HARMED_STORES` names, separated by commas; a name that ends in `*` stands for all that begin so.
/// Without the variable, all.
pub(super) fn chosen(mut fixtures: Vec<Fixture>) -> Vec<Fixture> {
    let Ok(names) = std::env::var("LARDER_HARMED_STORES") else {
        return fixtures;
    };
    fixtures.retain(|fixture| {
        let is_meant = |name: &str| match name.strip_suffix('*') {
            Some(beginning) => fixture.name.starts_with(beginning),
            None => fixture.name == name,
        };
        names.split(',').any(is_meant)
    });
    assert!(!fixtures.is_empty(), "no golden store is named {names}");
    fixtures
}

/// `LARDER_REPAIR_HARMS=300` tries so many harms to each golden store (one to each of a third of them in the default run); `LARDER_SEED` starts elsewhere;
/// `LARDER_HARMED_STORES=c110,c83*` takes only these stores.
#[test]
fn whatever_is_harmed_no_wrong_record_is_among_the_certain() {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |text| text.parse().unwrap())
    };
    let (harms, first) = (number("LARDER_REPAIR_HARMS", 1), number("LARDER_SEED", 1));
    let is_long = std::env::var_os("LARDER_REPAIR_HARMS").is_some();
    with_large_stack(move || {
        let mut by_family: BTreeMap<&str, Sums> = BTreeMap::new();
        let mut faults = Vec::new();
        let fixtures = match is_long {
            true => larder_fixtures::all(),
            false => larder_fixtures::varied(),
        };
        let fixtures = chosen(fixtures);
        let is_all = fixtures.len() == larder_fixtures::all().len();
        for fixture in fixtures {
            let truth = shown(&comparable(&fixture.expected()));
            let family = if fixture.name.contains("killed") {
                "killed"
            } else {
                "closed"
            };
            let sums = by_family.entry(family).or_default();
            for seed in first..first + harms {
                faults.extend(judge(&fixture, &truth, seed, sums).err());
            }
        }
        for (family, sums) in &by_family {
            println!(
                "{family}: {} harms, {} not noticed, {} as of an earlier moment; of {} records {} certain, {} of them as they were then and not at the end; {} right with the doubtful and {} of those wrong",
                sums.harms,
                sums.untouched,
                sums.as_of,
                sums.shown,
                sums.certain,
                sums.outdated,
                sums.right,
                sums.wrong
            );
            assert!(sums.certain > 0);
            // Of all stores together. One alone may have nothing in doubt but what lies in damaged places, which is in no store.
            assert!(!is_all || sums.right > sums.certain);
        }
        assert!(
            faults.is_empty(),
            "{} faults, seeds from {first}:\n{}",
            faults.len(),
            faults.join("\n")
        );
    });
}
