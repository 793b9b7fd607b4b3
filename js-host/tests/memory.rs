//! Nothing is left of a request that is over: memory stays flat.
//!
//! A script asks for all sorts of things over the same few records, in transactions, on connections that come and go. The peak of
//! the process's memory, as the kernel has it, must not grow once caches and buffers are full. A test binary of its own, because
//! other tests in the process would count. `LARDER_REQUESTS` says how many requests (120,000); with 1,000,000 growth
//! counts from 100,000.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use larder_idb::{DiskFileSystem, Executor, StorageOptions, SystemClock};
use larder_js_host::{Host, Options};

/// The peaks are taken at tenths; growth counts from the first that has so many requests behind it: the engine's buffer, 4 MiB of
/// what is to be written, has been full by then.
const WARM_REQUESTS: u64 = 60_000;
/// What 52 bytes left of each request would be in the short form; the long form has grown by 2,024 from 100,000 to 1,000,000.
const GROWTH_KIB_MAX: u64 = 3_072;

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
    for (let i = 0; i < 500; i++) store.put({ n: i % 50, text: "x".repeat(1000) }, i);
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
    await done(store.put({ n: key % 50, text: "y".repeat(1000), at }, key));
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
    await done(cursor.result.update({ n: key % 50, text: "z".repeat(1000), blob: i === 0 ? new Blob(["b"]) : null }));
    await done(store.get(key));
  }
  if (at % 5 === 0) transaction.abort();
  await over;
}
(async () => {
  for (let requests = 0, at = 0; requests < TOTAL; at++) {
    const db = await open();
    for (let i = 0; i < 10; i++, requests += 100) await batch(db, at * 10 + i);
    db.close();
    console.log(String(requests));
  }
})();
"#;

/// The most memory that this process has had, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

#[test]
fn the_peak_of_memory_does_not_grow_with_the_number_of_requests() {
    let total = std::env::var("LARDER_REQUESTS").ok();
    let total: u64 = total.map_or(120_000, |total| total.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let fs = Arc::new(DiskFileSystem::new());
    let mut storage = StorageOptions::new(fs, folder.path(), Arc::new(SystemClock));
    storage.executor = Executor::Driven { seed: None };
    let peaks = Rc::new(RefCell::new(Vec::new()));
    let taken = Rc::clone(&peaks);
    let host = Host::new(Options {
        origin: "https://example.com".into(),
        search: String::new(),
        storage,
        console: Box::new(move |_, line| {
            let requests: u64 = line.parse().unwrap();
            if requests.is_multiple_of(total / 10) {
                taken.borrow_mut().push((requests, peak_kib()));
            }
        }),
    })
    .unwrap();
    host.run_script("memory.js", &SCRIPT.replace("TOTAL", &total.to_string()));
    host.run_until_idle();
    assert_eq!(host.uncaught_count(), 0);
    let peaks = peaks.borrow();
    println!("peak in KiB after so many requests: {peaks:?}");
    assert_eq!(peaks.len(), 10);
    let (from, warm) = peaks
        .iter()
        .find(|(requests, _)| *requests >= WARM_REQUESTS)
        .unwrap();
    let growth = peaks[9].1 - warm;
    assert!(
        growth <= GROWTH_KIB_MAX,
        "{growth} KiB more after {total} requests than after {from}"
    );
}
