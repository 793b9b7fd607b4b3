//! Stores of 10 MB to 2 GB: how filling, opening, gets, scans and memory grow on each engine and on the local disk.
//!
//! `… -- growth [SVG] [ENGINE]… [mb=N,N,…]`. Each engine has a process of its own, which starts its own server, so that the peaks of memory
//! are apart; the server's memory does not count. All of it is hours: beside the plot lies a file with the numbers of all rows, and a run replaces those that it
//! measures.
//!
//! Records of 1 KiB that cannot be packed, in random order. etcd is left out: it keeps
//! every change until its history is compacted, and its quota is 2 GB.

use crate::engines::{self, Engine};
use crate::growth_plot::{self, Line, Panel};
use crate::ours::{Host, Place, Store};
use crate::stores::digits;
use crate::work::{self, Subject};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The first argument that asks for this.
pub(crate) const GROWTH: &str = "growth";
/// The first argument of the process that measures one engine.
pub(crate) const CHILD: &str = "--growth-of";

/// The word for the local disk.
const DISK: &str = "disk";
/// What is measured without a word.
const ENGINES: [&str; 4] = [DISK, "postgres", "rados", "s3"];
/// Megabytes.
const SIZES: [u32; 6] = [10, 30, 100, 300, 1000, 2000];
/// Records of a megabyte.
const RECORDS: u64 = 1000;
const VALUE_LEN: usize = 1024;
const GETS: u64 = 200;
/// As many bytes are scanned.
const SCAN: u64 = 50_000_000;

const ROWS: [&str; 9] = [
    "filling since the last step, MB/s",
    "written for each byte",
    "opening, ms",
    "opening: requests",
    "a get, nothing cached at first, ms",
    "a get: requests",
    "a get again, ms",
    "a scan of 50 MB, MB/s",
    "peak of memory, MiB",
];
/// The rows that are drawn, and their titles.
const DRAWN: [(usize, &str); 5] = [
    (0, "filling, MB/s"),
    (2, "opening, ms"),
    (4, "a get, not cached, ms"),
    (7, "a scan, MB/s"),
    (8, "peak of memory, MiB"),
];

type Costs = [Option<f64>; ROWS.len()];

/// What was found, by the engine's name and the megabytes.
type Found = BTreeMap<String, BTreeMap<u32, Costs>>;

/// All engines, one after the other.
pub(crate) fn run(words: &[String]) {
    let sizes = words.iter().find_map(|word| word.strip_prefix("mb="));
    let sizes: Vec<u32> = match sizes {
        Some(list) => list.split(',').map(|mb| mb.parse().unwrap()).collect(),
        None => SIZES.to_vec(),
    };
    let is_asked = |name: &&str| words.iter().any(|word| word == name);
    let asked: Vec<&str> = ENGINES.into_iter().filter(is_asked).collect();
    let asked = if asked.is_empty() {
        ENGINES.to_vec()
    } else {
        asked
    };
    let svg = words.iter().find(|word| word.ends_with(".svg"));
    let mut found = svg.map_or_else(Found::new, |svg| kept(&numbers_of(svg)));
    for engine in asked {
        of_process(engine, &sizes, |name, mb, costs| {
            found.entry(name.to_owned()).or_default().insert(mb, costs);
            // After each row: the last sizes take long, and what has come by then is worth having.
            if let Some(svg) = svg {
                let numbers = serde_json::to_string_pretty(&found).unwrap();
                std::fs::write(numbers_of(svg), numbers + "\n").unwrap();
                plot(Path::new(svg), &found);
            }
        });
    }
}

fn numbers_of(svg: &str) -> PathBuf {
    Path::new(svg).with_extension("json")
}

/// What earlier runs have found.
fn kept(numbers: &Path) -> Found {
    match std::fs::read(numbers) {
        Ok(text) => serde_json::from_slice(&text).unwrap(),
        Err(_) => Found::new(),
    }
}

/// Prints what a process finds as it comes: the engine's name, if it has a server, and the rows of each size. `has_come` is called for each.
fn of_process(engine: &str, sizes: &[u32], mut has_come: impl FnMut(&str, u32, Costs)) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([CHILD, engine])
        .args(sizes.iter().map(u32::to_string))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let name = lines.next().map(Result::unwrap).unwrap_or_default();
    if !name.is_empty() {
        println!("| {name} | {} |", ROWS.join(" | "));
        println!("|{}", "---|".repeat(ROWS.len() + 1));
    }
    for (line, mb) in lines.zip(sizes) {
        let costs: Costs = serde_json::from_str(&line.unwrap()).unwrap();
        let cells = costs.map(|cost| cost.map_or_else(|| "–".to_owned(), digits));
        println!("| {mb} MB | {} |", cells.join(" | "));
        has_come(&name, *mb, costs);
    }
    let status = child.wait().unwrap();
    assert!(status.success(), "{engine}: {status}");
}

/// What that process does: prints the engine's name, and a line of JSON for each size.
pub(crate) fn of_one(words: &[String]) {
    let [engine, sizes @ ..] = words else {
        panic!("no engine");
    };
    let sizes: Vec<u64> = sizes.iter().map(|mb| mb.parse().unwrap()).collect();
    if engine == DISK {
        let folder = tempfile::tempdir().unwrap();
        println!("local disk");
        return all_sizes(&sizes, Place::Folder(&folder.path().join("db")), || None);
    }
    let mut all = engines::ALL.into_iter();
    let (_, start) = all.find(|(name, _)| engine == name).unwrap();
    let Some(engine) = start() else { return };
    println!("{}", engine.name);
    let host = Host::begin(&engine);
    all_sizes(&sizes, Place::Remote(&host, "growth"), || {
        Some(written(&engine))
    });
}

/// Bytes that the engine was given so far.
fn written(engine: &Engine) -> u64 {
    let statistics = engine.cluster.statistics();
    statistics.commit_bytes + statistics.blob_write_bytes
}

fn all_sizes(sizes: &[u64], place: Place<'_>, written: impl Fn() -> Option<u64>) {
    let mut filled = 0;
    for mb in sizes {
        let records = mb * RECORDS;
        let before = written();
        let filling_ms = work::ms(|| fill(place, filled..records));
        let bytes = ((records - filled) * (16 + VALUE_LEN as u64)) as f64;
        let written = before.and_then(|before| Some((written()? - before) as f64));
        filled = records;
        let costs = reading(place, records);
        let filling = [
            Some(bytes / 1e3 / filling_ms),
            written.map(|written| written / bytes),
        ];
        let all: Vec<_> = filling.into_iter().chain(costs).collect();
        println!("{}", serde_json::json!(all));
    }
}

/// Opens the store, puts these records, the last one strictly, and closes it.
fn fill(place: Place<'_>, numbers: std::ops::Range<u64>) {
    let mut store = Store::open(place);
    let mut value = [0; VALUE_LEN];
    let last = numbers.end - 1;
    for number in numbers {
        work::fill_value(number, &mut value);
        let key = work::key(number);
        match number == last {
            true => store.put_strict(&key, &value),
            false => store.put(&key, &value),
        }
    }
    store.close();
}

/// The rows after filling.
fn reading(place: Place<'_>, records: u64) -> [Option<f64>; ROWS.len() - 2] {
    let mut store = None;
    let opening = work::ms(|| store = Some(Store::open(place)));
    let mut store = store.unwrap();
    let requests = store.requests();
    let numbers = work::some(GETS, records);
    let cold = work::get_ms(&numbers, |key| store.get(key));
    let gets = store.requests().zip(requests);
    let gets = gets.map(|(after, before)| (after - before) as f64 / GETS as f64);
    let warm = work::get_ms(&numbers, |key| store.get(key));
    store.close();
    let store = Store::open(place);
    let mut scanned = 0;
    let scan = work::ms(|| scanned = store.scan_bytes(SCAN));
    store.close();
    [
        Some(opening),
        requests.map(|requests| requests as f64),
        Some(cold),
        gets,
        Some(warm),
        Some((scanned * (16 + VALUE_LEN as u64)) as f64 / 1e3 / scan),
        peak_mib(),
    ]
}

/// The greatest resident memory since the last call.
fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    // It is counted anew from here on.
    std::fs::write("/proc/self/clear_refs", "5").ok();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: f64 = line?.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib / 1024.0)
}

fn plot(path: &Path, found: &Found) {
    let sizes: BTreeSet<u32> = found.values().flat_map(BTreeMap::keys).copied().collect();
    let panels = DRAWN.map(|(row, title)| {
        let line = |(name, costs): (&String, &BTreeMap<u32, Costs>)| Line {
            name: name.clone(),
            costs: (sizes.iter())
                .map(|mb| {
                    costs
                        .get(mb)
                        .and_then(|costs| costs[row])
                        .unwrap_or(f64::NAN)
                })
                .collect(),
        };
        let lines = found.iter().map(line).collect();
        Panel { title, lines }
    });
    let records: Vec<u32> = sizes.iter().map(|mb| mb * RECORDS as u32).collect();
    let title = "Stores in distributed engines by records of 1 KiB in them";
    growth_plot::write(path, title, &records, &panels);
}
