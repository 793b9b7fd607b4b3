//! What a page measures of itself: real Chromium, and fake-indexeddb in Node. Each is skipped with a word if it is not to be had.

use std::fs;
use std::path::Path;
use std::process::Command;

use larder_fixtures::PROMISES;
use larder_fixtures::chromium::{self, Chromium};
use serde_json::{Value, json};

use crate::rows::{Cost, SINGLES, Time};
use crate::table::Column;

const SCRIPT: &str = include_str!("page.js");
const ORIGIN: &str = "http://127.0.0.1:18917";
const FAKE: &str = "fake-indexeddb@6.2.8";

/// A page's runs, each with the times of the rows; a page has no CPU time.
pub(crate) type Runs = Vec<Vec<(f64, Option<f64>)>>;

/// A Chromium with its version, if there is one, and the same where it keeps SQLite files.
pub(crate) fn browsers() -> Vec<(&'static Chromium, Column)> {
    let forms = [
        (chromium::shared(), ""),
        (chromium::shared_in_sqlite(), ", SQLite"),
    ];
    let named = |(chromium, form): (Option<&'static Chromium>, &str)| {
        let chromium = chromium?;
        let version = version(chromium)?;
        Some((chromium, Column::new(format!("Chromium {version}{form}"))))
    };
    forms.into_iter().filter_map(named).collect()
}

fn version(chromium: &Chromium) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    // What has no store afterwards is taken for a failure.
    let version = "await new Promise((done) => { indexedDB.open('d').onsuccess = done; });
        return navigator.userAgent.match(/Chrome\\/(\\d+)/)[1];";
    match chromium.create(ORIGIN, version, &Value::Null, dir.path()) {
        Ok(made) => Some(made.value.as_str().unwrap_or("?").to_owned()),
        Err(error) => {
            println!("skipped: Chromium: {error}");
            None
        }
    }
}

/// What a page does: so many runs with so many records, whose values have so many letters.
pub(crate) fn arguments(runs: usize, records: u32, text_len: usize) -> Value {
    json!({ "runs": runs, "records": records, "singles": SINGLES, "text": text_len })
}

/// Chromium's runs, in a page of a browser of its own.
pub(crate) fn of_chromium(chromium: &Chromium, args: &Value) -> Runs {
    let dir = tempfile::tempdir().unwrap();
    let script = format!("{PROMISES}{SCRIPT}");
    let made = chromium.create(ORIGIN, &script, args, dir.path());
    runs_of(&made.unwrap().value)
}

/// Installs fake-indexeddb into a folder by way of npm.
pub(crate) fn install_fake(dir: &Path) -> bool {
    let npm = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--silent", FAKE])
        .current_dir(dir)
        .output();
    match npm {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            println!("skipped: {FAKE}: npm: {}", said.trim());
            false
        }
        Err(error) => {
            println!("skipped: {FAKE}: npm: {error}");
            false
        }
    }
}

/// Its runs, in a Node of its own.
pub(crate) fn of_fake(dir: &Path, args: &Value) -> Runs {
    let program = format!(
        "import 'fake-indexeddb/auto';\nconst args = {args};\nconst found = await (async () => {{{PROMISES}{SCRIPT}}})();\n\
         console.log(JSON.stringify(found));\n"
    );
    fs::write(dir.join("page.mjs"), program).unwrap();
    let output = Command::new("node")
        .arg("page.mjs")
        .current_dir(dir)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    runs_of(&serde_json::from_slice(&output.stdout).unwrap())
}

fn runs_of(value: &Value) -> Runs {
    let time = |time: &Value| (time[0].as_f64().unwrap(), time[1].as_f64());
    let run = |run: &Value| run.as_array().unwrap().iter().map(time).collect();
    value.as_array().unwrap().iter().map(run).collect()
}

/// A peer's cost of a row, with the peer's name and the bytes of a value.
pub(crate) type PeerCost = (String, usize, String, Cost);

/// What the peers' program found, of all peers or of one, with values of so many bytes; `None` if it is not to be had, with a word. It is
/// built with its own lock file: C compilers are at work for a minute.
pub(crate) fn peers(
    runs: usize,
    records: u32,
    bytes: usize,
    peer: Option<&str>,
    dir: &Path,
) -> Option<Vec<PeerCost>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--release", "--locked", "--target-dir"])
        .arg(root.join("target/peers"))
        .arg("--manifest-path")
        .arg(root.join("peers/Cargo.toml"))
        .arg("--")
        .args([runs.to_string(), records.to_string(), bytes.to_string()])
        .arg(dir)
        .args(peer)
        .output()
        .unwrap();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        println!("skipped: peers: {}", said.trim());
        return None;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(peer_cost).collect())
}

/// A line of that program's, and of [`crate::growth`]'s own processes.
pub(crate) fn peer_cost(line: &str) -> PeerCost {
    let line = serde_json::from_str(line).unwrap();
    let (column, size, row, wall_ms, cpu_ms, peak_mib): (String, usize, String, f64, f64, f64) =
        line;
    let time = Time { wall_ms, cpu_ms };
    (column, size, row, Cost { time, peak_mib })
}
