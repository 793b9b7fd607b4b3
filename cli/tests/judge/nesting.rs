//! Values and keys as deep as a real Chromium lets a page write them are read by Larder, and a page reads what Larder writes.

use std::process::{Command, Output};

use larder_fixtures::canonical::with_large_stack;
use larder_fixtures::chromium::{self, Store};
use serde_json::{Value, json};

use crate::ORIGIN;

/// The body of an async function; `DEPTH` is how deep values are, 0 for as deep as can be.
const WRITE: &str = r#"
const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = (event) => { event.preventDefault(); reject(request.error); };
});
const shapes = [
  (inner) => [inner], (inner) => [, inner], (inner) => ({ a: inner }), (inner) => new Map([["a", inner]]),
  (inner) => new Set([inner]), (inner) => new Error("a", { cause: inner }),
];
let turn = 0;
shapes.push((inner) => shapes[turn++ % 6](inner));
const nested = (depth, shape, inner = 7) => {
  for (let i = 0; i < depth; i++) inner = shape(inner);
  return inner;
};
const opening = indexedDB.open("deep", 1);
opening.onupgradeneeded = () => {
  const db = opening.result;
  db.createObjectStore("values");
  db.createObjectStore("keys");
  db.createObjectStore("inline", { keyPath: "id" }).createIndex("index", "id");
};
const db = await done(opening);
const transaction = db.transaction(["values", "keys", "inline"], "readwrite");
const [values, keys, inline] = ["values", "keys", "inline"].map((name) => transaction.objectStore(name));
const depths = [];
for (const [at, shape] of shapes.entries()) {
  let [most, least] = [DEPTH === 0 ? 1 : DEPTH, DEPTH === 0 ? 50000 : DEPTH + 1];
  const put = async (depth) => {
    try {
      await done(values.put(nested(depth, shape), at));
      return true;
    } catch (error) {
      if (error.name !== "RangeError") throw error;
      return false;
    }
  };
  while (least - most > 1) {
    const middle = (most + least) >> 1;
    if (await put(middle)) most = middle;
    else least = middle;
  }
  // A browser's stack is not the same every time.
  while (!(await put(most))) most -= 1;
  depths.push(most);
}
const refused = [];
for (const [at, inner] of [7, [], "a", new Date(7)].entries()) {
  const arrays = Array.isArray(inner) ? 1999 : 2000;
  const [key, deeper] = [nested(arrays, shapes[0], inner), nested(arrays + 1, shapes[0], inner)];
  await done(keys.put(at, key));
  await done(inline.put({ id: key }));
  const all = [() => keys.put(at, deeper), () => inline.put({ id: deeper }), () => keys.get(deeper), () => indexedDB.cmp(deeper, 1),
    () => IDBKeyRange.only(deeper)];
  for (const take of all) {
    try {
      take();
      refused.push("nothing");
    } catch (error) {
      refused.push(error.name);
    }
  }
}
await new Promise((resolve) => { transaction.oncomplete = resolve; transaction.commit(); });
db.close();
return JSON.stringify({ depths, refused });
"#;

/// What a page or a script finds: the depth of each value and key, how many records each key finds, the index.
const READ: &str = r#"
const done = (request) => new Promise((resolve) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = (event) => { event.preventDefault(); resolve(request.error.name); };
});
const inside = (value) => {
  if (Array.isArray(value)) return value.at(-1);
  if (value instanceof Map) return value.get("a");
  if (value instanceof Set) return value.values().next().value;
  return value instanceof Error ? value.cause : value.a;
};
const depth = (value) => {
  let depth = 0;
  for (; typeof value === "object" && value !== null && !(value instanceof Date); depth++) value = inside(value);
  return value === null ? null : depth;
};
const db = await done(indexedDB.open("deep"));
const found = { values: (await done(db.transaction("values").objectStore("values").getAll())).map(depth), keys: [] };
for (const [name, of] of [["keys"], ["inline"], ["inline", "index"]]) {
  const store = db.transaction(name).objectStore(name);
  const source = of === undefined ? store : store.index(of);
  const all = await done(source.getAllKeys());
  const counts = [];
  for (const key of all) counts.push(await done(source.count(key)));
  found.keys.push([all.map(depth), counts]);
}
db.close();
return JSON.stringify(found);
"#;

fn run(storage: &std::path::Path, script: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script.js");
    let report = format!("(async () => {{ {script} }})().then((said) => console.log(said));");
    crate::scripts::write_script(&file, &report);
    let ran = Command::new(env!("CARGO_BIN_EXE_larder"))
        .arg("run")
        .arg("--storage")
        .arg(storage)
        .args(["--origin", ORIGIN])
        .arg(&file)
        .output()
        .unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    parsed(&String::from_utf8_lossy(&ran.stdout))
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text.trim()).unwrap()
}

fn dump(store: &Store, format: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["dump", "--format", format])
        .arg(&store.leveldb)
        .output()
        .unwrap()
}

fn with_depth(depth: usize) -> String {
    WRITE.replace("DEPTH", &depth.to_string())
}

/// The keys of both object stores and the index, as every reader must find them.
fn keys() -> Value {
    json!(vec![[[2000; 4], [1; 4]]; 3])
}

#[test]
fn what_a_page_writes_as_deep_as_it_can_is_read_by_every_command_and_script() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("IndexedDB");
        let page = chromium.create(ORIGIN, &with_depth(0), &json!(null), &out);
        let page = page.unwrap();
        let wrote = parsed(page.value.as_str().unwrap());
        let depths = wrote["depths"].as_array().unwrap();
        assert!(
            depths.iter().all(|depth| depth.as_u64() > Some(1000)),
            "{depths:?}"
        );
        assert_eq!(wrote["refused"], json!(vec!["DataError"; 20]));
        for format in ["text", "jsonl", "canonical"] {
            let dumped = dump(&page.store, format);
            let told = String::from_utf8_lossy(&dumped.stderr);
            assert!(
                dumped.status.success() && told.is_empty(),
                "{format}: {told}"
            );
        }
        let found = run(&out, READ);
        assert_eq!(found, json!({ "values": depths, "keys": keys() }));
        println!("Chromium wrote values of these depths: {}", wrote["depths"]);
    });
}

#[test]
fn what_larder_writes_as_deep_as_a_page_can_read_is_read_by_a_page() {
    with_large_stack(|| {
        let Some(chromium) = chromium::shared() else {
            return;
        };
        const DEPTH: usize = 1000;
        let folder = tempfile::tempdir().unwrap();
        let storage = folder.path().join("IndexedDB");
        let wrote = run(&storage, &with_depth(DEPTH));
        assert_eq!(
            wrote,
            json!({ "depths": vec![DEPTH; 7], "refused": vec!["DataError"; 20] })
        );
        let store = Store::within(&storage, ORIGIN);
        let out = folder.path().join("after");
        let page = chromium.run(&store, READ, &json!(null), &out).unwrap();
        let found = parsed(page.value.as_str().unwrap());
        assert_eq!(found, json!({ "values": vec![DEPTH; 7], "keys": keys() }));
    });
}
