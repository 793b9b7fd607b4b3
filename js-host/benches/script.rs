//! What a script waits for, on the host and in Chromium's page: the same script (`script.js`) on the same machine, both on disk.
//!
//! `cargo bench -p larder-js-host --bench script [-- ROUNDS [COUNT]]` prints medians of milliseconds, by the script's own clock.
//! Without Chromium the host's alone.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark: it prints, and ends if something is wrong"
)]

use std::sync::{Arc, Mutex};

use larder_fixtures::{PROMISES, chromium};
use larder_idb::{DiskFileSystem, Executor, StorageOptions, SystemClock};
use larder_js_host::{Global, Host, Options, Stream};
use serde_json::{Value, json};

const SCRIPT: &str = include_str!("script.js");
const ORIGIN: &str = "http://127.0.0.1:18960";

/// What the script gives back on the host.
fn on_the_host(args: &Value, executor: Executor) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let fs = Arc::new(DiskFileSystem::new());
    let mut storage = StorageOptions::new(fs, folder.path(), Arc::new(SystemClock));
    storage.executor = executor;
    let result = Arc::new(Mutex::new(Value::Null));
    let printed = Arc::clone(&result);
    let host = Host::new(Options {
        global: Global::Window,
        origin: ORIGIN.to_owned(),
        search: String::new(),
        storage,
        console: Box::new(move |stream, line| match stream {
            Stream::Out => *printed.lock().unwrap() = serde_json::from_str(line).unwrap(),
            Stream::Err => println!("{line}"),
        }),
    })
    .unwrap();
    let whole = format!(
        "(async (args) => {{ {PROMISES}{SCRIPT} }})({args}).then((results) => console.log(JSON.stringify(results)))"
    );
    host.run_script("script.js", &whole);
    host.run_until_idle();
    drop(host);
    std::mem::take(&mut *result.lock().unwrap())
}

fn median(results: &Value, what: &str) -> Option<f64> {
    let all = results[what].as_array()?;
    let mut all: Vec<f64> = all.iter().filter_map(Value::as_f64).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

fn main() {
    let mut numbers = std::env::args().filter_map(|arg| arg.parse::<u64>().ok());
    let rounds = numbers.next().unwrap_or(5);
    let count = numbers.next().unwrap_or(10_000);
    let args = json!({ "rounds": rounds, "count": count });
    let driven = on_the_host(&args, Executor::Driven { seed: None });
    let threads = on_the_host(&args, Executor::default());
    let page = chromium::shared().map(|chromium| {
        let out = tempfile::tempdir().unwrap();
        let script = format!("{PROMISES}{SCRIPT}");
        let ran = chromium.create(ORIGIN, &script, &args, &out.path().join("out"));
        ran.unwrap().value
    });
    println!(
        "{count} each, medians of {rounds}, milliseconds: driven, on threads, Chromium's page (its time over driven)"
    );
    for what in driven.as_object().into_iter().flat_map(|all| all.keys()) {
        let of = |results: &Value| median(results, what).unwrap();
        let (driven, threads) = (of(&driven), of(&threads));
        print!("{what}: {driven:.1}, {threads:.1}");
        match &page {
            Some(page) => println!(", {:.1} ({:.1})", of(page), of(page) / driven),
            None => println!(),
        }
    }
}
