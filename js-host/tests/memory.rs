//! Nothing is left of a request that is over: what is allocated stays the same, to less than a byte a request.
//!
//! A script makes requests of all kinds over the same few records, in transactions, on connections that come and go.
//! Counted is what is allocated and not freed, by Rust and by QuickJS, while no request is under way. The engine's
//! buffer and cache, which fill up to a bound, are small here; tables and the logs before them come and go, so the
//! least of many counts is taken. A test binary of its own, because other tests in the process would count.
//! `LARDER_REQUESTS` says how many requests (120,000).
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::sync::Arc;

use larder_idb::{DiskFileSystem, Executor, StorageOptions, SystemClock};
use larder_js_host::{Global, Host, Options};
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// So many requests are between two counts.
const STEP: u64 = 1_000;
/// Buffers, caches and the memory of JavaScript objects that can be used again are full by then.
const WARM_REQUESTS: u64 = 20_000;
const WRITE_BUFFER_BYTES: usize = 64 << 10;
const BLOCK_CACHE_BYTES: usize = 64 << 10;

const SCRIPT: &str = r#"
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
const open = () => {
  const request = indexedDB.open("memory", 1);
  request.onupgradeneeded = () => {
    const store = request.result.createObjectStore("s");
    store.createIndex("by n", "n");
    for (let i = 0; i < 500; i++) store.put({ n: i % 50, text: "x".repeat(100) }, i);
  };
  return done(request);
};
async function batch(db, at) {
  const transaction = db.transaction("s", "readwrite");
  const store = transaction.objectStore("s");
  const index = store.index("by n");
  const over = new Promise((resolve) => { transaction.oncomplete = transaction.onabort = resolve; });
  for (let i = 0; i < 10; i++) {
    const key = (at * 7 + i * 31) % 500;
    await done(store.put({ n: key % 50, text: "y".repeat(100), at }, key));
    store.get(key);
    index.getKey(key % 50);
    store.count(IDBKeyRange.bound(key, key + 5));
    store.getAllKeys(key, 3);
    const failing = store.add(1, key);
    failing.onerror = (event) => event.preventDefault();
    const cursor = index.openCursor(key % 50);
    await done(cursor);
    cursor.result.continue();
    await done(cursor);
    await done(cursor.result.update({ n: key % 50, text: "z".repeat(100), blob: i === 0 ? new Blob(["b"]) : null }));
    await done(store.get(key));
  }
  if (at % 5 === 0) transaction.abort();
  await over;
}
async function run(requests) {
  for (let done = 0; done < requests; done += 1000) {
    const db = await open();
    for (let i = 0; i < 10; i++) await batch(db, (next += 1));
    db.close();
  }
}
let next = 0;
"#;

/// Bytes that are allocated while nothing is asked for.
#[derive(Debug, Clone, Copy)]
struct Allocated {
    rust: u64,
    script: u64,
}

fn allocated(host: &Host) -> Allocated {
    host.collect_garbage();
    Allocated {
        rust: HEAP.current_usage() as u64,
        script: host.script_heap_bytes(),
    }
}

fn least(counts: &[Allocated]) -> Allocated {
    Allocated {
        rust: counts.iter().map(|count| count.rust).min().unwrap(),
        script: counts.iter().map(|count| count.script).min().unwrap(),
    }
}

#[test]
fn less_than_a_byte_is_left_of_a_request() {
    let total = std::env::var("LARDER_REQUESTS").ok();
    let total: u64 = total.map_or(120_000, |total| total.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let fs = Arc::new(DiskFileSystem::new());
    let mut storage = StorageOptions::new(fs, folder.path(), Arc::new(SystemClock));
    storage.executor = Executor::Driven { seed: None };
    storage.write_buffer_bytes = WRITE_BUFFER_BYTES;
    storage.block_cache_bytes = BLOCK_CACHE_BYTES;
    let host = Host::new(Options {
        global: Global::Window,
        origin: "https://example.com".into(),
        search: String::new(),
        storage,
        console: Box::new(|_, _| ()),
    })
    .unwrap();
    host.run_script("memory.js", SCRIPT);
    let run = |requests: u64| {
        host.run_script("run.js", &format!("run({requests});"));
        host.run_until_idle();
    };
    run(WARM_REQUESTS);
    // With room from the beginning: it is itself allocated.
    let mut counts = Vec::with_capacity(usize::try_from(total / STEP).unwrap());
    for _ in 0..total / STEP {
        run(STEP);
        counts.push(allocated(&host));
    }
    assert_eq!(host.uncaught_count(), 0);
    let (first, second) = counts.split_at(counts.len() / 2);
    let (first, second) = (least(first), least(second));
    println!("at least, in the first half {first:?}, in the second {second:?}");
    let between = total / 2;
    let growth = |from: u64, to: u64| to.saturating_sub(from);
    let left = growth(first.rust, second.rust) + growth(first.script, second.script);
    assert!(
        left < between / 2,
        "{left} bytes are left of {between} requests"
    );
}
