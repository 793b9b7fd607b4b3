//! Real processes of `larder run` in trouble: files that may not grow, a lock or folder that is removed, a disk that is full. What one of
//! them has acknowledged is there for the next, and what it has reported as failed is not.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{larder, stderr};

const WORK: &str = include_str!("processes/work.js");

/// Databases by name: what their records look like, by key.
type Databases = BTreeMap<String, BTreeMap<String, String>>;

#[derive(Debug, Clone, Copy)]
enum Step {
    Open(&'static str),
    Put(&'static str, u32, usize, &'static str),
    Blob(&'static str, u32, usize),
    Clear(&'static str),
    Delete(&'static str),
}

const STEPS: [Step; 15] = [
    Step::Open("one"),
    Step::Put("one", 1, 300, "strict"),
    Step::Put("one", 2, 3000, "relaxed"),
    Step::Blob("two", 3, 40_000),
    Step::Put("two", 1, 50_000, "strict"),
    Step::Put("one", 1, 900, "relaxed"),
    Step::Blob("two", 4, 100),
    Step::Put("two", 2, 30_000, "relaxed"),
    Step::Put("one", 7, 200, "strict"),
    Step::Clear("one"),
    Step::Put("one", 8, 60_000, "strict"),
    Step::Delete("two"),
    Step::Put("one", 5, 500, "strict"),
    Step::Put("three", 1, 90_000, "relaxed"),
    Step::Put("three", 2, 400, "strict"),
];

impl Step {
    fn script(self) -> Value {
        match self {
            Self::Open(name) => json!(["open", name]),
            Self::Put(name, key, len, durability) => json!(["put", name, key, len, durability]),
            Self::Blob(name, key, len) => json!(["blob", name, key, len]),
            Self::Clear(name) => json!(["clear", name]),
            Self::Delete(name) => json!(["delete", name]),
        }
    }

    fn apply(self, before: &Databases) -> Databases {
        let mut after = before.clone();
        let mut of = |name: &str, change: &dyn Fn(&mut BTreeMap<String, String>)| {
            change(after.entry(name.to_owned()).or_default());
        };
        match self {
            Self::Open(name) => of(name, &|_| {}),
            Self::Put(name, key, len, _) => of(name, &|records| {
                records.insert(key.to_string(), len.to_string());
            }),
            Self::Blob(name, key, len) => of(name, &|records| {
                records.insert(key.to_string(), format!("10+{len}"));
            }),
            Self::Clear(name) => of(name, &BTreeMap::clear),
            Self::Delete(name) => drop(after.remove(name)),
        }
        after
    }

    /// What there may be when it has failed: the database that it opens is made before.
    fn apply_failed(self, before: &Databases) -> Databases {
        match self {
            Self::Delete(_) => before.clone(),
            Self::Open(name) | Self::Put(name, ..) | Self::Blob(name, ..) | Self::Clear(name) => {
                Self::Open(name).apply(before)
            }
        }
    }
}

/// How long files may get, in units of the shell's, and whether a write beyond that ends the process or is an error.
#[derive(Debug, Clone, Copy)]
struct Limit {
    blocks: u32,
    is_end: bool,
}

/// A folder with scripts, and one for a store.
struct Place {
    dir: tempfile::TempDir,
    storage: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let storage = dir.path().join("IndexedDB");
        Self { dir, storage }
    }

    fn command(&self, steps: &Value, threads: bool, limit: Option<Limit>) -> Command {
        let number = fs::read_dir(self.dir.path()).unwrap().count();
        let script = self.dir.path().join(format!("{number}.js"));
        fs::write(&script, format!("const STEPS = {steps};\n{WORK}")).unwrap();
        let mut command = match limit {
            None => Command::new(env!("CARGO_BIN_EXE_larder")),
            Some(Limit { blocks, is_end }) => {
                // 25 is SIGXFSZ, whose default is to end the process.
                let ignored = if is_end { "" } else { "trap '' 25; " };
                let line = format!("ulimit -c 0; {ignored}ulimit -f {blocks}; exec \"$@\"");
                let mut shell = Command::new("sh");
                shell.args(["-c", &line, "sh", env!("CARGO_BIN_EXE_larder")]);
                shell
            }
        };
        command.args(["run", "--storage"]).arg(&self.storage);
        command.args(threads.then_some("--threads"));
        command.arg(script);
        command
    }

    /// Lines that it prints.
    fn run(&self, steps: &Value, threads: bool, limit: Option<Limit>) -> Vec<String> {
        let output = self.command(steps, threads, limit).output().unwrap();
        let said = stderr(&output);
        assert!(!said.contains("panicked"), "{limit:?}: {said}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn start(&self, steps: &Value) -> (Child, Lines<BufReader<ChildStdout>>) {
        let mut command = self.command(steps, true, None);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        (child, lines)
    }

    fn read(&self, limit: Option<Limit>, what: &str) -> Databases {
        let lines = self.run(&json!([["read"]]), false, limit);
        let read = lines.iter().find_map(|line| line.strip_prefix("read "));
        assert!(read.is_some(), "{what}: {lines:?}");
        serde_json::from_str(read.unwrap()).unwrap()
    }
}

/// What may be there after steps with these results, the last of which may be missing.
fn allowed(before: Vec<Databases>, steps: &[Step], lines: &[String]) -> Vec<Databases> {
    let mut allowed = before;
    for (number, step) in steps.iter().enumerate() {
        let is_of = |line: &&String| line.split(' ').nth(1) == Some(&number.to_string());
        let mut results = lines.iter().filter(|line| !line.starts_with("begin"));
        let result = results.rfind(is_of).map(String::as_str);
        let mut after = Vec::new();
        for state in allowed {
            let is_open = result.is_some_and(|result| {
                result.contains("whether this write is in the store shows only")
            });
            let is_done = result.is_some_and(|result| result.starts_with("ok"));
            if is_done || is_open || result.is_none() {
                after.push(step.apply(&state));
            }
            if !is_done {
                after.extend([step.apply_failed(&state), state]);
            }
        }
        after.sort();
        after.dedup();
        allowed = after;
        if result.is_none() {
            break;
        }
    }
    allowed
}

fn script(steps: &[Step]) -> Value {
    steps.iter().map(|step| step.script()).collect()
}

#[derive(Debug, Default)]
struct Outcomes {
    succeeded: usize,
    failed: usize,
    ended: usize,
}

/// Does the steps in two processes that have the limit, and looks with another one.
fn try_limit(limit: Limit, threads: bool, outcomes: &mut Outcomes) {
    let what = format!("{limit:?}, threads: {threads}");
    let place = Place::new();
    let mut states = vec![Databases::new()];
    for part in STEPS.chunks(8) {
        let lines = place.run(&script(part), threads, Some(limit));
        states = allowed(states, part, &lines);
        let count = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
        outcomes.succeeded += count("ok");
        outcomes.failed += count("fail");
        outcomes.ended += usize::from(count("begin") < part.len());
        let is_room = |line: &&String| line.contains("QuotaExceededError");
        let failed = lines.iter().filter(|line| line.starts_with("fail"));
        assert!(
            failed.clone().all(|line| is_room(&line)),
            "{what}: {lines:?}"
        );
        let found = place.read(None, &what);
        assert!(
            states.contains(&found),
            "{what}: {found:?} is not one of {states:?}, {lines:?}"
        );
        states = vec![found];
    }
    let found = states.remove(0);
    let there = Limit {
        is_end: false,
        ..limit
    };
    if found.is_empty() {
        return;
    }
    // All that there is can be read and deleted under the limit.
    assert_eq!(place.read(Some(there), &what), found, "{what}");
    let names = found.keys().map(|name| json!(["delete", name]));
    let lines = place.run(&names.collect(), threads, Some(there));
    assert!(
        !lines.iter().any(|line| line.starts_with("fail")),
        "{what}: {lines:?}"
    );
    assert_eq!(place.read(None, &what), Databases::new(), "{what}");
    let put = Step::Put("three", 9, 500_000, "strict");
    place.run(&script(&[put]), threads, None);
    assert_eq!(
        place.read(None, &what),
        put.apply(&Databases::new()),
        "{what}"
    );
}

const BLOCKS: [u32; 8] = [6, 66, 80, 96, 110, 140, 180, 260];

#[test]
fn files_that_may_not_grow_fail_with_a_word_and_nothing_that_was_acknowledged_is_lost() {
    let mut outcomes = Outcomes::default();
    for (n, blocks) in BLOCKS.into_iter().enumerate() {
        let is_end = false;
        try_limit(Limit { blocks, is_end }, n % 2 == 1, &mut outcomes);
    }
    println!("{outcomes:?}");
    assert_eq!(outcomes.ended, 0);
    assert!(
        outcomes.failed > 20 && outcomes.succeeded > 20,
        "{outcomes:?}"
    );
}

#[test]
fn a_process_that_ends_as_its_files_may_not_grow_leaves_all_that_it_acknowledged() {
    let mut outcomes = Outcomes::default();
    for (n, blocks) in BLOCKS.into_iter().enumerate() {
        let is_end = true;
        try_limit(Limit { blocks, is_end }, n % 2 == 0, &mut outcomes);
    }
    println!("{outcomes:?}");
    assert_eq!(outcomes.failed, 0);
    assert!(
        outcomes.ended > 5 && outcomes.succeeded > 20,
        "{outcomes:?}"
    );
}

/// Keys that were put, as the process says.
fn keys_put(lines: &[String]) -> Vec<String> {
    let keys = lines.iter().filter_map(|line| line.strip_prefix("put "));
    keys.map(str::to_owned).collect()
}

/// A process puts strict records; when it has put some, `remove` takes something away. All lines that it has printed.
fn removed_meanwhile(
    place: &Place,
    remove: impl FnOnce(&Path),
    second: &Value,
) -> [Vec<String>; 2] {
    let (mut child, mut lines) = place.start(&json!([["puts", "one", 1, 100_000]]));
    let mut said: Vec<String> = lines
        .by_ref()
        .map(Result::unwrap)
        .take_while(|line| line != "put 20")
        .collect();
    said.push("put 20".to_owned());
    remove(&place.storage.join("https_localhost_0.indexeddb.leveldb"));
    let others = place.run(second, false, None);
    said.extend(lines.map(Result::unwrap));
    child.wait().unwrap();
    let failed = said.last().unwrap();
    assert!(
        failed.contains("the folder or its LOCK was removed"),
        "{failed}"
    );
    [said, others]
}

#[test]
fn a_process_whose_lock_is_removed_acknowledges_nothing_more() {
    let place = Place::new();
    let second = json!([["puts", "one", 200_001, 20]]);
    let remove = |store: &Path| fs::remove_file(store.join("LOCK")).unwrap();
    let [first, second] = removed_meanwhile(&place, remove, &second);
    let (ours, others) = (keys_put(&first), keys_put(&second));
    assert_eq!(others.len(), 20, "{second:?}");
    println!(
        "{} put before the lock was removed, {} after",
        ours.len(),
        others.len()
    );
    let found = place.read(None, "the lock is removed");
    let lost = ours
        .iter()
        .chain(&others)
        .filter(|key| !found["one"].contains_key(*key));
    assert_eq!(lost.count(), 0);
}

#[test]
fn a_process_whose_folder_is_replaced_writes_nothing_to_the_new_one() {
    for is_removed in [false, true] {
        let place = Place::new();
        let second = json!([["puts", "other", 200_001, 20]]);
        let away = place.dir.path().join("away");
        let remove = |store: &Path| match is_removed {
            // The process may add a file while the folder is emptied, which is then not empty.
            true => assert!((0..1000).any(|_| fs::remove_dir_all(store).is_ok())),
            false => fs::rename(store, &away).unwrap(),
        };
        let [first, second] = removed_meanwhile(&place, remove, &second);
        let what = format!("removed: {is_removed}");
        let others = keys_put(&second);
        assert_eq!(others.len(), 20, "{second:?}");
        let found = place.read(None, &what);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["other"], "{what}");
        assert_eq!(found["other"].len(), 20, "{what}");
        if !is_removed {
            let store = place.storage.join("https_localhost_0.indexeddb.leveldb");
            fs::remove_dir_all(&store).unwrap();
            fs::rename(&away, &store).unwrap();
            let found = place.read(None, &what);
            let ours = keys_put(&first);
            let lost = ours.iter().filter(|key| !found["one"].contains_key(*key));
            assert_eq!(lost.count(), 0, "{what}");
        }
    }
}

/// A file system of some MiB.
struct Mounted(PathBuf);

impl Mounted {
    fn new(dir: &Path) -> Option<Self> {
        fs::create_dir_all(dir).unwrap();
        let mut mount = Command::new("mount");
        let mount = mount
            .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
            .arg(dir);
        let done = mount.output().ok()?;
        done.status.success().then(|| Self(dir.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// Chromium keeps no reserve, but a `LOG`.
#[test]
fn a_store_of_chromiums_on_a_full_file_system_is_read_and_its_databases_deleted() {
    let mut place = Place::new();
    place.storage = place.dir.path().join("disk/IndexedDB");
    let Some(_mounted) = Mounted::new(&place.dir.path().join("disk")) else {
        println!("SKIPPED: a file system of a few MiB can only be mounted by root (on Linux)");
        return;
    };
    let fixture = larder_fixtures::get("c156-lite").copy();
    let copied = Command::new("cp")
        .arg("-a")
        .arg(fixture.dir())
        .arg(&place.storage)
        .status();
    assert!(copied.unwrap().success());
    let store = place.storage.join("http_127.0.0.1_18917.indexeddb.leveldb");
    fs::write(store.join("LOG"), "what Chromium says of its doings").unwrap();
    let mut filler = fs::File::create(place.dir.path().join("disk/filler")).unwrap();
    while filler.write_all(&[1; 4096]).is_ok() {}
    let all = || {
        larder([
            "dump".as_ref(),
            "--format=canonical".as_ref(),
            place.storage.as_os_str(),
        ])
    };
    let before = all();
    assert_eq!(before.status.code(), Some(0), "{}", stderr(&before));
    let script = place.dir.path().join("script.js");
    let text = "
        const deleted = (name) => new Promise((resolve) => {
          const request = indexedDB.deleteDatabase(name);
          request.onsuccess = () => resolve('deleted');
          request.onerror = () => resolve(`${request.error.name}: ${request.error.message}`);
        });
        (async () => {
          const names = (await indexedDB.databases()).map(({ name }) => name);
          for (const name of names) console.log(`${JSON.stringify(name)} ${await deleted(name)}`);
          console.log(`${(await indexedDB.databases()).length} left`);
        })();";
    fs::write(&script, text).unwrap();
    let run = || {
        larder([
            "run".as_ref(),
            "--origin=http://127.0.0.1:18917".as_ref(),
            "--storage".as_ref(),
            place.storage.as_os_str(),
            script.as_os_str(),
        ])
    };
    let output = run();
    let said = String::from_utf8(output.stdout).unwrap();
    println!("{said}");
    assert!(
        said.lines().count() > 5 && said.ends_with("\n0 left\n"),
        "{said}"
    );
    assert!(!said.contains("Error"), "{said}");
    assert_eq!(run().stdout, b"0 left\n");
    assert!(store.join("RESERVE").exists());
    // There is room again.
    assert!(filler.write_all(&[1; 200_000]).is_ok());
}
