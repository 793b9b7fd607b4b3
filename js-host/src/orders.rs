//! Orders of events do not depend on timing: the scripts of `tests/orders` log the same whether the host drives the engine or it
//! works on a thread, and however late either of the two threads is. Where Chromium has one order, that is theirs.
//!
//! `LARDER_ORDERS` says how often each script is run (20), `LARDER_SEED` where the seeds of the pauses begin.

use std::sync::{Arc, Mutex};

use larder_fixtures::chromium;
use larder_idb::{Executor, StorageOptions, SystemClock};
use serde_json::json;

use crate::pauses::Pauses;
use crate::{Global, Host, Options};

const PRELUDE: &str = include_str!("../tests/orders/prelude.js");
const ORIGIN: &str = "http://127.0.0.1:18970";
/// So many runs of a script are on one host.
const RUNS_OF_A_HOST: u64 = 20;

macro_rules! scripts {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../tests/orders/", $name, ".js")))),*]
    };
}

/// Chromium has one order too, and the same.
const SETTLED: [(&str, &str); 4] = scripts![
    "blocked",
    "index_not_unique",
    "upgrade_aborted",
    "upgrade_then_open",
];

/// In Chromium the order hangs on time, or the specification's is another.
const OPEN: [(&str, &str); 9] = scripts![
    "aborted",
    "at_the_end_of_an_upgrade",
    "blocked_by_transactions",
    "connections",
    "cursors",
    "ends",
    "many_databases",
    "one_store",
    "side_by_side",
];

const DRIVEN: Executor = Executor::Driven { seed: None };

/// A number from the environment.
fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(default, |number| number.parse().unwrap())
}

/// An expression whose value is a promise of what the script logs in so many runs.
fn repeated(script: &str, runs: u64) -> String {
    format!(
        "(async () => {{
          {PRELUDE}
          const orders = [];
          for (let run = 0; run < {runs}; run++) {{
            await (async () => {{ {script} }})();
            await clean();
            orders.push(seen.splice(0).join('\\n'));
          }}
          return orders;
        }})()"
    )
}

/// What a script logs in so many runs on one host.
fn orders(script: &str, runs: u64, executor: Executor, seed: Option<u64>) -> Vec<String> {
    logged(&repeated(script, runs), executor, seed)
}

/// The logs that a promise comes to, the value of an expression.
fn logged(script: &str, executor: Executor, seed: Option<u64>) -> Vec<String> {
    let mut storage = StorageOptions::in_memory(Arc::new(SystemClock));
    storage.executor = executor;
    let lines = Arc::new(Mutex::new(Vec::new()));
    let collected = Arc::clone(&lines);
    let options = Options {
        global: Global::Window,
        origin: ORIGIN.into(),
        search: String::new(),
        storage,
        console: Box::new(move |_, line| collected.lock().unwrap().push(line.to_owned())),
    };
    let pauses = |thread: u64| match seed {
        Some(seed) => Pauses::of_seed(seed.wrapping_mul(2) + thread),
        None => Pauses::default(),
    };
    let host = Host::with_pauses(options, pauses(0), pauses(1)).unwrap();
    let source =
        format!("{script}.then((orders) => orders.forEach((order) => console.log(order)));");
    host.run_script("order.js", &source);
    host.run_until_idle();
    drop(host);
    std::mem::take(&mut *lines.lock().unwrap())
}

/// The order of a script's events if the host drives.
fn driven(name: &str, script: &str) -> String {
    let order = orders(script, 1, DRIVEN, None).join("\n");
    assert!(order.lines().count() > 5, "{name}: {order}");
    order
}

/// The first event that is another.
fn difference(order: &str, expected: &str) -> String {
    let pairs = expected.lines().zip(order.lines());
    let at = pairs.take_while(|(a, b)| a == b).count();
    let (ours, theirs) = (order.lines().nth(at), expected.lines().nth(at));
    format!("event {at} is {ours:?}, not {theirs:?}")
}

#[test]
fn orders_of_events_are_the_same_however_late_a_thread_is() {
    let (runs, seed) = (setting("LARDER_ORDERS", 20), setting("LARDER_SEED", 1));
    let mut wrong = Vec::new();
    for (name, script) in SETTLED.into_iter().chain(OPEN) {
        let expected = driven(name, script);
        let mut others = Vec::new();
        let hosts = runs.div_ceil(RUNS_OF_A_HOST);
        for seed in seed..seed + hosts {
            let found = orders(script, RUNS_OF_A_HOST, Executor::default(), Some(seed));
            assert_eq!(found.len() as u64, RUNS_OF_A_HOST, "{name}, seed {seed}");
            let found = found.into_iter().filter(|order| *order != expected);
            others.extend(found.map(|order| (seed, order)));
        }
        let (other, all) = (others.len(), hosts * RUNS_OF_A_HOST);
        println!("{name}: {other} of {all} runs in another order");
        if let Some((seed, order)) = others.first() {
            let difference = difference(order, &expected);
            wrong.push(format!("{name}, seed {seed}: {difference}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A worker that stores and reads in a database of its own for as long as it lives.
const BUSY: &str = "
  const request = indexedDB.open('busy', 1);
  request.onupgradeneeded = () => request.result.createObjectStore('s');
  request.onsuccess = () => {
    const again = () => {
      const transaction = request.result.transaction('s', 'readwrite');
      transaction.objectStore('s').put(0, 0).onsuccess = (event) => event.target.source.get(0);
      transaction.oncomplete = again;
    };
    again();
    postMessage('busy');
  };";

/// The script, run so often, with what is worker's of the databases left out of lists; and beside a worker that does this.
fn beside_a_worker(script: &str, runs: u64, worker: &str) -> String {
    let (script, worker) = (repeated(script, runs), json!(worker));
    format!(
        "(async () => {{
          const {{ databases }} = IDBFactory.prototype;
          IDBFactory.prototype.databases = function () {{
            return databases.call(this).then((all) => all.filter(({{ name }}) => name !== 'busy'));
          }};
          const worker = new Worker(URL.createObjectURL(new Blob([{worker}])));
          await new Promise((resolve) => (worker.onmessage = resolve));
          const orders = await {script};
          worker.terminate();
          return orders;
        }})()"
    )
}

#[test]
fn orders_of_events_are_the_same_beside_a_busy_worker() {
    let (runs, seed) = (setting("LARDER_ORDERS", 20), setting("LARDER_SEED", 1));
    let mut wrong = Vec::new();
    for (name, script) in SETTLED.into_iter().chain(OPEN) {
        let alone = beside_a_worker(script, 1, "postMessage(0); close();");
        let expected = logged(&alone, DRIVEN, None).join("\n");
        assert!(expected.lines().count() > 5, "{name}: {expected}");
        for executor in [DRIVEN, Executor::default()] {
            let script = beside_a_worker(script, runs, BUSY);
            let found = logged(&script, executor, Some(seed));
            assert_eq!(found.len() as u64, runs, "{name}");
            let others = found.iter().filter(|order| **order != expected);
            println!(
                "{name}: {} of {runs} runs in another order",
                others.clone().count()
            );
            wrong.extend(others.map(|order| format!("{name}: {}", difference(order, &expected))));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn orders_of_events_that_a_page_has_are_the_pages() {
    let Some(chromium) = chromium::shared() else {
        return;
    };
    for (name, script) in SETTLED {
        let out = tempfile::tempdir().unwrap();
        let script_of_page = format!("return await {};", repeated(script, 3));
        let ran = chromium.create(ORIGIN, &script_of_page, &json!({}), &out.path().join("out"));
        let ran = ran.unwrap().value;
        let expected = driven(name, script);
        for order in ran.as_array().unwrap() {
            let order = order.as_str().unwrap();
            assert_eq!(order, expected, "{name}: {}", difference(order, &expected));
        }
    }
}
