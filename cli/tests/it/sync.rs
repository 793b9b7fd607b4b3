//! `larder sync` as a command: what it says and how it ends when something is wrong, and that with `--watch` a change comes by itself.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::support::{larder, run_script, stderr, try_script};

const ORIGIN: &str = "https://app.example";

/// What is said of a store that another program has open.
const HELD: &str = "has the store open";

/// Two devices, a cloud and a key in a folder.
struct Devices {
    dir: tempfile::TempDir,
}

/// Exit status, standard output, standard error.
type Ended = (Option<i32>, String, String);

impl Devices {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("key"), [7; 32]).unwrap();
        fs::write(dir.path().join("other key"), [8; 32]).unwrap();
        fs::write(dir.path().join("short key"), [7; 31]).unwrap();
        Self { dir }
    }

    /// Two that have the database, which the first has made, with the record `one`.
    fn alike(options: &[&str]) -> Self {
        let devices = Self::new();
        devices.put("a", "one", 1);
        for device in ["a", "b"] {
            let (code, _, words) = devices.sync(device, options);
            assert_eq!((code, &*words), (Some(0), ""));
        }
        assert_eq!(devices.records("b"), r#"{"one":1}"#);
        devices
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn arguments(&self, device: &str, options: &[&str]) -> Vec<String> {
        let [path, pages, cloud] = [
            device.to_owned(),
            format!("pages of {device}"),
            "cloud".to_owned(),
        ]
        .map(|name| self.path(&name).to_str().unwrap().to_owned());
        let mut arguments = vec!["sync".to_owned(), path, "--pages".to_owned(), pages];
        arguments.extend(["--origin", ORIGIN, "--cloud"].map(str::to_owned));
        arguments.push(cloud);
        let with_paths = options.iter().map(|option| match option.strip_prefix("@") {
            Some(name) => self.path(name).to_str().unwrap().to_owned(),
            None => (*option).to_owned(),
        });
        arguments.extend(with_paths);
        if !options.contains(&"--database") {
            arguments.extend(["--database", "notes"].map(str::to_owned));
        }
        arguments
    }

    fn sync(&self, device: &str, options: &[&str]) -> Ended {
        let output = larder(self.arguments(device, options));
        let out = String::from_utf8(output.stdout.clone()).unwrap();
        (output.status.code(), out, stderr(&output))
    }

    fn script(&self, device: &str, work: &str) -> String {
        let output = self.try_script(device, work);
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn try_script(&self, device: &str, work: &str) -> Output {
        let script = format!(
            "const opened = indexedDB.open('notes');
             opened.onupgradeneeded = () => opened.result.createObjectStore('s');
             opened.onsuccess = () => {{
               const store = opened.result.transaction('s', 'readwrite').objectStore('s');
               {work}
             }};"
        );
        try_script(&self.path(device), &["--origin", ORIGIN], &script)
    }

    fn put(&self, device: &str, key: &str, value: u32) {
        self.script(device, &format!("store.put({value}, '{key}');"));
    }

    /// Lets the first device put `lost`, and turns a bit of its file in the cloud: which, and its right bytes.
    fn spoil(&self) -> (PathBuf, Vec<u8>) {
        let before = files(&self.path("cloud"));
        self.put("a", "lost", 2);
        assert_eq!(self.sync("a", &[]).0, Some(0));
        let new = files(&self.path("cloud"));
        let mut new = new.into_iter().filter(|file| !before.contains(file));
        let (segment, bytes) = new.next().unwrap();
        assert!(new.next().is_none());
        let mut damaged = bytes.clone();
        *damaged.last_mut().unwrap() ^= 1;
        fs::write(&segment, &damaged).unwrap();
        (segment, bytes)
    }

    /// All records, as JSON.
    fn records(&self, device: &str) -> String {
        let work = "
            const all = {};
            store.openCursor().onsuccess = ({ target: { result: cursor } }) => {
              if (cursor === null) return console.log(JSON.stringify(all));
              all[cursor.key] = cursor.value;
              cursor.continue();
            };";
        self.script(device, work).trim_end().to_owned()
    }
}

/// All files below a folder with their bytes, by path.
fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push((path.clone(), fs::read(&path).unwrap())),
        }
    }
    found.sort();
    found
}

/// Options beside a cloud that is sealed with `key`, and what is said of them.
const WRONG_KEYS: [(&[&str], &str); 2] = [
    (&["--key", "@other key"], "is sealed with another key"),
    (&[], "is sealed with a key, and none was given"),
];

#[test]
fn a_key_that_is_not_that_of_the_others_is_said_and_nothing_is_taken() {
    let devices = Devices::alike(&["--key", "@key"]);
    devices.put("a", "two", 2);
    let (code, _, words) = devices.sync("a", &["--key", "@key"]);
    assert_eq!((code, &*words), (Some(0), ""));
    let cloud = files(&devices.path("cloud"));
    // A device that has never been there.
    for (options, why) in WRONG_KEYS {
        let (code, out, words) = devices.sync("c", options);
        assert_eq!(
            (code, &*out, words.lines().count()),
            (Some(1), "", 1),
            "{words}"
        );
        assert!(words.contains(why), "{words}");
        assert!(
            !devices
                .path("c")
                .join("https_app.example_0.indexeddb.leveldb/CURRENT")
                .exists()
        );
    }
    // One that has.
    for (options, why) in WRONG_KEYS {
        let (code, out, words) = devices.sync("b", options);
        assert_eq!((code, &*out), (Some(1), ""), "{words}");
        assert!(words.contains(why), "{words}");
        assert_eq!(devices.records("b"), r#"{"one":1}"#);
    }
    let (code, _, words) = devices.sync("b", &["--key", "@short key"]);
    assert_eq!(code, Some(2), "{words}");
    assert!(
        words.contains("a key is a file of 32 bytes, and this one has 31"),
        "{words}"
    );
    assert_eq!(files(&devices.path("cloud")), cloud);
    let (code, _, words) = devices.sync("b", &["--key", "@key"]);
    assert_eq!((code, &*words), (Some(0), ""));
    assert_eq!(devices.records("b"), r#"{"one":1,"two":2}"#);
}

#[test]
fn an_erased_cloud_is_said_to_be_and_filled_again_when_that_is_meant() {
    let devices = Devices::alike(&[]);
    fs::remove_dir_all(devices.path("cloud")).unwrap();
    for device in ["a", "b"] {
        devices.put(device, device, 2);
        let (code, out, words) = devices.sync(device, &[]);
        println!("{words}");
        assert_eq!((code, &*out), (Some(1), ""), "{words}");
        assert!(
            words.contains("--start-over uploads everything from here anew"),
            "{words}"
        );
    }
    assert!(files(&devices.path("cloud")).is_empty());
    for device in ["a", "b", "a"] {
        let first = device == "a" && files(&devices.path("cloud")).is_empty();
        let options: &[&str] = if first || device == "b" {
            &["--start-over"]
        } else {
            &[]
        };
        let (code, _, words) = devices.sync(device, options);
        assert_eq!((code, &*words), (Some(0), ""), "{device}");
    }
    for device in ["a", "b"] {
        assert_eq!(devices.records(device), r#"{"a":2,"b":2,"one":1}"#);
    }
    // A device that comes later has it from the new cloud.
    assert_eq!(devices.sync("c", &[]).0, Some(0));
    assert_eq!(devices.records("c"), r#"{"a":2,"b":2,"one":1}"#);
}

#[test]
fn a_database_that_is_nowhere_is_said_to_be() {
    let devices = Devices::alike(&[]);
    for (device, options, why) in [
        (
            "a",
            &["--database", "nots"][..],
            "there is no database \"nots\" here, and no device has brought one to the cloud",
        ),
        (
            "c",
            &["--database", "nots"],
            "there is no database \"nots\" here, and no device has brought one to the cloud",
        ),
    ] {
        let (code, out, words) = devices.sync(device, options);
        assert_eq!((code, &*out), (Some(3), ""), "{words}");
        assert!(words.contains(why), "{words}");
    }
    let output = larder([
        "sync".as_ref(),
        devices.path("nowhere").as_os_str(),
        "--cloud".as_ref(),
        devices.path("cloud").as_os_str(),
    ]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let output = larder([
        "sync".as_ref(),
        devices.path("cloud").as_os_str(),
        "--cloud".as_ref(),
        devices.path("cloud").as_os_str(),
    ]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        stderr(&output).contains("--origin says whose store is to be made"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_cloud_that_cannot_be_reached_is_said_to_be() {
    let devices = Devices::alike(&[]);
    let cloud = devices.path("cloud");
    fs::rename(&cloud, devices.path("away")).unwrap();
    fs::write(&cloud, "a file").unwrap();
    let (code, out, words) = devices.sync("a", &[]);
    println!("{words}");
    assert_eq!(
        (code, &*out, words.lines().count()),
        (Some(2), "", 1),
        "{words}"
    );
    fs::remove_file(&cloud).unwrap();
    fs::rename(devices.path("away"), &cloud).unwrap();
    assert_eq!(devices.sync("a", &[]).0, Some(0));
}

#[test]
fn a_profile_that_has_had_no_database_gets_its_folder_of_stores() {
    let devices = Devices::alike(&[]);
    let profile = devices.path("profile");
    fs::create_dir(&profile).unwrap();
    fs::write(profile.join("Preferences"), "{}").unwrap();
    let (code, _, words) = devices.sync("profile", &[]);
    assert_eq!((code, &*words), (Some(0), ""));
    assert!(
        profile
            .join("IndexedDB/https_app.example_0.indexeddb.leveldb/CURRENT")
            .exists()
    );
    assert_eq!(devices.records("profile"), r#"{"one":1}"#);
}

/// Looks for changes until it is dropped.
struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn new(devices: &Devices, device: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_larder"))
            .args(devices.arguments(device, &["--watch"]))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (said, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if said.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    fn line(&self) -> String {
        (self.lines.recv_timeout(Duration::from_secs(120))).unwrap()
    }

    /// Puts a record where it watches. It has the store open during a round, and a page that finds it so is refused.
    fn put_beside(&self, devices: &Devices, device: &str, key: &str, value: u32) {
        let (begun, put) = (Instant::now(), format!("store.put({value}, '{key}');"));
        let mut ended = devices.try_script(device, &put);
        while !ended.status.success() {
            let words = stderr(&ended);
            assert!(words.contains(HELD), "{words}");
            assert!(begun.elapsed() < Duration::from_secs(120), "{words}");
            ended = devices.try_script(device, &put);
        }
    }

    /// Ends it: what it has said to the standard error.
    fn end(mut self) -> String {
        self.child.kill().unwrap();
        let mut words = String::new();
        let errors = self.child.stderr.as_mut().unwrap();
        errors.read_to_string(&mut words).unwrap();
        words
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn a_change_comes_by_itself_with_watch() {
    let devices = Devices::alike(&[]);
    let watching = Watching::new(&devices, "a");
    devices.put("b", "two", 2);
    assert_eq!(devices.sync("b", &[]).0, Some(0));
    assert_eq!(
        watching.line(),
        "from here: 0 changed, 0 removed; from elsewhere: 1 changed, 0 removed"
    );
    // The round is over, and none begins until something has changed.
    devices.put("a", "three", 3);
    assert_eq!(
        watching.line(),
        "from here: 1 changed, 0 removed; from elsewhere: 0 changed, 0 removed"
    );
    drop(watching);
    assert_eq!(devices.records("a"), r#"{"one":1,"three":3,"two":2}"#);
    assert_eq!(devices.sync("b", &[]).0, Some(0));
    assert_eq!(devices.records("b"), r#"{"one":1,"three":3,"two":2}"#);
}

#[test]
fn a_record_that_cannot_be_made_alike_is_named() {
    let devices = Devices::new();
    let put = |device: &str, key: &str| {
        let script = format!(
            "const opened = indexedDB.open('notes');
             opened.onupgradeneeded = () =>
               opened.result.createObjectStore('s\\u202e').createIndex('name', 'name', {{ unique: true }});
             opened.onsuccess = () => {{
               const store = opened.result.transaction('s\\u202e', 'readwrite').objectStore('s\\u202e');
               store.put({{ name: 'Ada' }}, '{key}');
             }};"
        );
        run_script(&devices.path(device), &["--origin", ORIGIN], &script)
    };
    put("a", "one");
    put("b", "two");
    assert_eq!(devices.sync("a", &[]).0, Some(0));
    for options in [&[][..], &["--conflicts"], &["--json"]] {
        let (code, _, words) = devices.sync("b", options);
        assert_eq!((code, words.lines().count()), (Some(1), 1), "{words}");
        // Nothing of it turns the words on the terminal.
        assert!(words.starts_with("larder: s\\u{202e} \"one\": "), "{words}");
    }
}

/// A bit of one device's file turns. The others, and what they have written, go on.
#[test]
fn what_one_device_has_written_and_is_damaged_stops_nobody_else() {
    let devices = Devices::alike(&[]);
    let (segment, bytes) = devices.spoil();
    devices.put("b", "three", 3);
    for device in ["b", "c", "b"] {
        let (code, out, words) = devices.sync(device, &[]);
        assert_eq!((code, words.lines().count()), (Some(1), 1), "{words}");
        assert!(words.contains("was changed"), "{words}");
        assert!(out.starts_with("from here: "), "{out}");
    }
    let (_, out, _) = devices.sync("c", &["--json"]);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(
        report["problem"].as_str().unwrap().contains("of the cloud"),
        "{out}"
    );
    assert_eq!(devices.records("c"), r#"{"one":1,"three":3}"#);
    fs::write(segment, bytes).unwrap();
    for device in ["b", "c"] {
        let (code, _, words) = devices.sync(device, &[]);
        assert_eq!((code, &*words), (Some(0), ""));
        assert_eq!(devices.records(device), r#"{"lost":2,"one":1,"three":3}"#);
    }
}

#[test]
fn what_cannot_be_taken_is_said_once_with_watch_and_what_can_goes_on() {
    let devices = Devices::alike(&[]);
    let (segment, bytes) = devices.spoil();
    let watching = Watching::new(&devices, "b");
    for number in 2..5 {
        watching.put_beside(&devices, "b", "two", number);
        assert_eq!(
            watching.line(),
            "from here: 1 changed, 0 removed; from elsewhere: 0 changed, 0 removed"
        );
    }
    fs::write(segment, bytes).unwrap();
    assert_eq!(
        watching.line(),
        "from here: 0 changed, 0 removed; from elsewhere: 1 changed, 0 removed"
    );
    let words = watching.end();
    // A round may meet the program that puts.
    let other = |line: &&str| !line.contains(HELD);
    assert_eq!(words.lines().filter(other).count(), 1, "{words}");
    assert!(words.contains("was changed"), "{words}");
    assert_eq!(devices.records("b"), r#"{"lost":2,"one":1,"two":4}"#);
}

#[test]
fn a_store_is_made_only_where_it_is_certain_that_there_is_none() {
    let devices = Devices::alike(&[]);
    let store = "a/https_app.example_0.indexeddb.leveldb";
    let before = files(&devices.path("a"));
    let words = |path: &Path, origin: &str| {
        let output = larder([
            "sync".as_ref(),
            path.as_os_str(),
            "--origin".as_ref(),
            origin.as_ref(),
            "--database".as_ref(),
            "notes".as_ref(),
            "--cloud".as_ref(),
            devices.path("cloud").as_os_str(),
        ]);
        assert_eq!(output.status.code(), Some(3));
        stderr(&output)
    };
    let said = words(&devices.path(store), "https://other.example");
    assert!(said.contains("the store of another origin"), "{said}");
    assert_eq!(files(&devices.path("a")), before);
    #[cfg(unix)]
    {
        let linked = devices.path("linked");
        fs::create_dir(&linked).unwrap();
        let link = linked.join("https_app.example_0.indexeddb.leveldb");
        std::os::unix::fs::symlink(devices.path(store), link).unwrap();
        let said = words(&linked, ORIGIN);
        assert!(
            said.contains("a symbolic link, which is not followed"),
            "{said}"
        );
    }
    let said = larder(["sync", "etcd://user:SECRET@127.0.0.1:1/db", "--cloud", "x"]);
    assert_eq!(said.status.code(), Some(2));
    assert!(!stderr(&said).contains("SECRET"), "{}", stderr(&said));
}
