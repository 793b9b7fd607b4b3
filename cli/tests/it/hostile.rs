//! Hostile stores, with right checksums and lengths, through every command and format: each exits by itself, with a code of its own, within
//! 10 s of processor time and 1 GiB of address space. Seeds print: `LARDER_SEED`, `LARDER_HOSTILE_STORES` (default 4).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use larder_fuzz_oracles::hostile_files;

/// Whose the rows of the small stores are.
const ORIGIN: &str = "http://127.0.0.1:18917";
const STORE: &str = "http_127.0.0.1_18917";

/// Looks at all that there is, in all directions, and writes.
const SCRIPT: &str = r#"
const wait = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
  request.onblocked = () => reject(new Error("blocked"));
});
const step = async (work) => { try { await work(); } catch (error) { console.log(String(error)); } };
const walk = async (source, direction) => {
  let cursor = await wait(source.openCursor(null, direction));
  for (let n = 0; cursor && n < 20000; n++) {
    cursor.continue();
    cursor = await wait(cursor.request);
  }
};
let names = [];
await step(async () => { names = (await indexedDB.databases()).map((database) => database.name); });
for (const name of names.slice(0, 5)) {
  await step(async () => {
    const database = await wait(indexedDB.open(name));
    for (const store of [...database.objectStoreNames].slice(0, 5)) {
      for (const direction of ["next", "prev", "nextunique", "prevunique"]) {
        await step(() => walk(database.transaction(store).objectStore(store), direction));
        for (const index of [...database.transaction(store).objectStore(store).indexNames].slice(0, 3))
          await step(() => walk(database.transaction(store).objectStore(store).index(index), direction));
      }
      await step(() => wait(database.transaction(store, "readwrite").objectStore(store).put({ id: 1 }, 1)));
      await step(() => wait(database.transaction(store, "readwrite").objectStore(store).clear()));
    }
    database.close();
  });
  await step(() => wait(indexedDB.deleteDatabase(name)));
}
await step(async () => {
  const request = indexedDB.open("of the test", 1);
  request.onupgradeneeded = () => request.result.createObjectStore("s").put("value", "key");
  (await wait(request)).close();
});
"#;

fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().unwrap())
}

/// The store of a seed, below a folder.
fn write(seed: u64, folder: &Path) {
    for (path, content) in hostile_files(&seed.to_be_bytes()).0 {
        let (of_store, rest) = path.split_once('/').unwrap();
        let of_store = match of_store {
            "store" => format!("{STORE}.indexeddb.leveldb"),
            _ => format!("{STORE}.indexeddb.blob"),
        };
        let path = folder.join(of_store).join(rest);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// Runs `larder` within the limits. What it prints on standard output is thrown away.
fn within_limits(arguments: &[String]) -> Output {
    Command::new("bash")
        .args(["-c", "ulimit -t 10 -v 1048576; exec \"$@\"", "bash"])
        .arg(env!("CARGO_BIN_EXE_larder"))
        .args(arguments)
        .stdout(Stdio::null())
        .output()
        .unwrap()
}

/// Every command and format, for a folder; those that write last.
fn commands(folder: &Path, beside: &Path) -> Vec<Vec<String>> {
    let path = folder.to_str().unwrap();
    let beside = |name: &str| beside.join(name).to_str().unwrap().to_owned();
    let (blobs, script) = (beside("blobs"), beside("script.mjs"));
    let lines = [
        format!("ls {path}"),
        format!("ls {path} --json"),
        format!("ls {path} --no-counts"),
        format!("dump {path}"),
        format!("dump {path} --format jsonl"),
        format!("dump {path} --format canonical"),
        format!("dump {path} --format canonical --digests"),
        format!("dump {path} --format jsonl --blobs {blobs}"),
        format!("rows {path}"),
        format!("rows {path} --history --hex"),
        format!("rows {path} --json"),
        format!("verify {path} --full"),
        format!("find {path} a"),
        format!("find {path} --key 1"),
        format!("find {path} --type Blob --format json"),
        format!("stat {path}"),
        format!("copy {path} {}", beside("copy")),
        format!("diff {path} {path}"),
        format!("diff {path} {}", beside("copy")),
        format!("run --storage {path} --origin {ORIGIN} {script}"),
        format!("repair {path}"),
        format!("run --storage {path} --origin {ORIGIN} --threads {script}"),
        format!("dump {path} --format canonical"),
    ];
    let words = |line: &String| line.split(' ').map(str::to_owned).collect();
    lines.iter().map(words).collect()
}

fn try_all(seed: u64) -> Vec<String> {
    let beside = tempfile::tempdir().unwrap();
    let folder: PathBuf = beside.path().join("IndexedDB");
    write(seed, &folder);
    fs::write(beside.path().join("script.mjs"), SCRIPT).unwrap();
    let mut failures = Vec::new();
    for arguments in commands(&folder, beside.path()) {
        let output = within_limits(&arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        let is_well = output.status.code().is_some_and(|code| code <= 3);
        if !is_well || said.contains("panicked") {
            let (status, end) = (output.status, said.len().saturating_sub(2000));
            let end = said.get(end..).unwrap_or_default();
            failures.push(format!(
                "LARDER_SEED={seed}: {arguments:?}: {status}\n{end}"
            ));
        }
    }
    failures
}

#[test]
fn every_command_exits_by_itself_on_hostile_stores_within_10_seconds_and_1_gib() {
    let (first, count) = (number("LARDER_SEED", 1), number("LARDER_HOSTILE_STORES", 4));
    let failures: Vec<String> = (first..first + count).flat_map(try_all).collect();
    println!("{count} hostile stores from LARDER_SEED={first} on");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
