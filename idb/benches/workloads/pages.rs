//! What a page measures of itself: real Chromium, and fake-indexeddb in Node. Each is skipped with a word if it is not to be had.

use std::fs;
use std::path::Path;
use std::process::Command;

use larder_fixtures::PROMISES;
use larder_fixtures::chromium::{self, Chromium};
use serde_json::{Value, json};

use crate::rows::{RECORDS, SINGLES, Time};

const SCRIPT: &str = include_str!("page.js");
const ORIGIN: &str = "http://127.0.0.1:18917";
const FAKE: &str = "fake-indexeddb@6.2.8";

/// A page's runs, each with the times of the rows; a page has no CPU time.
pub(crate) type Runs = Vec<Vec<(f64, Option<f64>)>>;

/// A Chromium with its version, if there is one.
pub(crate) fn browser() -> Option<(&'static Chromium, String)> {
    let chromium = chromium::shared()?;
    let dir = tempfile::tempdir().unwrap();
    // What has no store afterwards is taken for a failure.
    let version = "await new Promise((done) => { indexedDB.open('d').onsuccess = done; });
        return navigator.userAgent.match(/Chrome\\/(\\d+)/)[1];";
    let made = chromium.create(ORIGIN, version, &Value::Null, dir.path());
    match made {
        Ok(made) => Some((
            chromium,
            format!("Chromium {}", made.value.as_str().unwrap_or("?")),
        )),
        Err(error) => {
            println!("skipped: Chromium: {error}");
            None
        }
    }
}

fn arguments(runs: usize, text_len: usize) -> Value {
    json!({ "runs": runs, "records": RECORDS, "singles": SINGLES, "text": text_len })
}

/// Chromium's runs, in a page of a browser of its own.
pub(crate) fn of_chromium(chromium: &Chromium, runs: usize, text_len: usize) -> Runs {
    let dir = tempfile::tempdir().unwrap();
    let script = format!("{PROMISES}{SCRIPT}");
    let made = chromium.create(ORIGIN, &script, &arguments(runs, text_len), dir.path());
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
pub(crate) fn of_fake(dir: &Path, runs: usize, text_len: usize) -> Runs {
    let program = format!(
        "import 'fake-indexeddb/auto';\nconst args = {};\nconst found = await (async () => {{{PROMISES}{SCRIPT}}})();\n\
         console.log(JSON.stringify(found));\n",
        arguments(runs, text_len)
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

/// The peers' program, built with its own lock file: C compilers are at work for a minute.
pub(crate) fn peers(runs: usize, dir: &Path) -> Vec<(String, usize, String, Time)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--release", "--locked", "--target-dir"])
        .arg(root.join("target/peers"))
        .arg("--manifest-path")
        .arg(root.join("peers/Cargo.toml"))
        .arg("--")
        .arg(runs.to_string())
        .arg(dir)
        .output()
        .unwrap();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        println!("skipped: peers: {}", said.trim());
        return Vec::new();
    }
    let line = |line: &str| {
        let (column, size, row, wall_ms, cpu_ms): (String, usize, String, f64, f64) =
            serde_json::from_str(line).unwrap();
        (column, size, row, Time { wall_ms, cpu_ms })
    };
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(line)
        .collect()
}
