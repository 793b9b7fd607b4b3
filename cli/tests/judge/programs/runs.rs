//! Runs programs: in a page, and on our host.

use std::path::Path;
use std::sync::{Arc, Mutex};

use larder_fixtures::chromium::{Changed, Chromium};
use larder_idb::{DiskFileSystem, Executor, RaiseDataVersion, StorageOptions, SystemClock};
use larder_js_host::{Global, Host, Options, Stream};
use serde_json::{Value, json};

use crate::ORIGIN;

/// A program that logs nothing for so long has come to a stop.
const PATIENCE_MS: u64 = 5_000;

/// What programs are made of.
const WORLD: [&str; 3] = ["show.js", "chain.js", "world.js"];

/// Their texts, in that order.
fn world() -> [String; 3] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judge/programs");
    WORLD.map(|name| std::fs::read_to_string(folder.join(name)).unwrap())
}

/// How programs run on our host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    MemoryDriven,
    MemoryThreads,
    DiskDriven,
    DiskThreads,
}

pub(crate) const WAYS: [Way; 4] = [
    Way::MemoryDriven,
    Way::MemoryThreads,
    Way::DiskDriven,
    Way::DiskThreads,
];

impl Way {
    pub(crate) fn on_disk(self) -> bool {
        matches!(self, Way::DiskDriven | Way::DiskThreads)
    }

    fn storage(self, folder: &Path) -> StorageOptions {
        let clock = Arc::new(SystemClock);
        let mut storage = match self.on_disk() {
            true => StorageOptions::new(Arc::new(DiskFileSystem::new()), folder, clock),
            false => StorageOptions::in_memory(clock),
        };
        // The stores of one folder are opened again and again, for Chromium's newest.
        storage.raise_data_version = RaiseDataVersion::WhenNeeded;
        storage.executor = match self {
            Way::MemoryDriven | Way::DiskDriven => Executor::Driven { seed: None },
            _ => Executor::default(),
        };
        storage
    }
}

/// The programs' logs, in a page of a new Chromium; the store after them.
pub(crate) fn in_page(chromium: &Chromium, sources: &[String], out: &Path) -> Changed {
    let world = world().join("\n");
    let script = format!(
        "{world}\nconst logs = [];
        for (let n = 0; n < args.sources.length; n++) logs.push(await run(n, args.sources[n], {PATIENCE_MS}));
        return logs;"
    );
    let arguments = json!({ "sources": sources });
    chromium.create(ORIGIN, &script, &arguments, out).unwrap()
}

/// The programs' logs, each on a host of its own; on disk, all in one folder.
pub(crate) fn here(sources: &[String], way: Way, folder: &Path) -> Vec<Value> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).create(folder).unwrap();
    let numbered = sources.iter().enumerate();
    numbered
        .map(|(n, source)| one(n, source, way, folder))
        .collect()
}

fn one(n: usize, source: &str, way: Way, folder: &Path) -> Value {
    let said = Arc::new(Mutex::new(String::new()));
    let told = Arc::clone(&said);
    let host = Host::new(Options {
        global: Global::default(),
        origin: ORIGIN.into(),
        search: String::new(),
        storage: way.storage(folder),
        console: Box::new(move |stream, line| match stream {
            Stream::Out => told.lock().unwrap().push_str(line),
            Stream::Err => println!("program {n}: {line}"),
        }),
    })
    .unwrap();
    for (name, text) in WORLD.iter().zip(world()) {
        host.run_script(name, &text);
    }
    let source = Value::from(source);
    host.run_script(
        "program.js",
        &format!(
            "run({n}, {source}, {PATIENCE_MS}).then((logs) => console.log(JSON.stringify(logs)));"
        ),
    );
    host.run_until_idle();
    drop(host);
    let said = std::mem::take(&mut *said.lock().unwrap());
    serde_json::from_str(&said)
        .unwrap_or_else(|error| json!({ "failed": [format!("{error}: {said}")] }))
}
