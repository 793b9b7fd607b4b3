//! Addresses in place of folders, on real servers: all that reads, copies both ways, scripts, and what is said when something is wrong.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use larder_fixtures::chromium;
#[cfg(feature = "s3")]
use larder_fixtures::servers::S3;
use larder_fixtures::servers::{Etcd, Postgres, Rados, free_port};

use crate::support::{larder, stderr};

/// Exit status, standard output, standard error.
fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = larder(arguments);
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    (output.status.code(), stdout, stderr(&output))
}

/// What is printed by a run without a complaint.
fn out(arguments: &[&str]) -> String {
    let (code, stdout, stderr) = run(arguments);
    assert_eq!((code, &*stderr), (Some(0), ""), "{arguments:?}");
    stdout
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Addresses of an engine each, without a namespace.
fn addresses() -> Option<Vec<String>> {
    let (postgres, etcd) = (Postgres::shared()?, Etcd::shared()?);
    let etcd = format!("etcd://{}", etcd.endpoints());
    let mut addresses = vec![postgres.new_database(), etcd];
    if cfg!(feature = "rados") {
        addresses.push(Rados::shared()?.url());
    }
    Some(addresses)
}

fn dump(place: &str) -> String {
    out(&["dump", place, "--format", "canonical", "--digests"])
}

#[test]
fn stores_of_chromium_go_there_and_back() {
    let Some(addresses) = addresses() else { return };
    let (lite, blobs) = (
        larder_fixtures::get("c156-lite").copy(),
        larder_fixtures::get("c156").copy(),
    );
    for address in addresses {
        for (name, store) in [("lite", &lite), ("a/full%20one", &blobs)] {
            let url = format!("{address}/there {name}").replace(' ', "%20");
            let (from, back) = (store.dir(), tempfile::tempdir().unwrap());
            let said = out(&["copy", text(from), &url]);
            assert!(said.contains("read back and compared"), "{said}");
            assert!(!said.contains("a%20word"), "{said}");
            assert_eq!(dump(&url), dump(text(from)), "{url}");
            for command in [
                &["ls"][..],
                &["rows"],
                &["stat"],
                &["verify", "--full"],
                &["find", "--type", "Date"],
                &["diff", text(from)],
            ] {
                let mut arguments = command.to_vec();
                arguments.push(&url);
                let (code, _, stderr) = run(&arguments);
                assert!(matches!(code, Some(0 | 1)), "{arguments:?}: {stderr}");
                assert!(!stderr.contains("damaged"), "{arguments:?}: {stderr}");
            }
            out(&["copy", &url, text(back.path())]);
            assert_same(from, back.path());
            // Once more: all of it is there.
            let said = out(&["copy", text(from), &url]);
            assert!(said.contains("of them there already"), "{said}");
            let listed = out(&["remote", "ls", &address]);
            assert!(listed.contains(": ") && listed.contains("free"), "{listed}");
            out(&["remote", "stat", &url]);
            out(&["remote", "gc", &url]);
            assert_eq!(dump(&url), dump(text(from)), "{url}");
        }
    }
}

/// Equal files, with equal times to the microsecond.
fn assert_same(one: &Path, other: &Path) {
    for entry in std::fs::read_dir(one).unwrap() {
        let entry = entry.unwrap();
        let there = other.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            assert_same(&entry.path(), &there);
            continue;
        }
        assert_eq!(
            std::fs::read(entry.path()).unwrap(),
            std::fs::read(&there).unwrap()
        );
        let micros = |path: &Path| {
            let modified = std::fs::metadata(path).unwrap().modified().unwrap();
            let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap();
            since.as_micros()
        };
        assert_eq!(micros(&entry.path()), micros(&there), "{}", there.display());
    }
}

#[test]
fn nothing_is_overwritten() {
    let Some(addresses) = addresses() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    for address in addresses {
        let url = format!("{address}/overwritten");
        std::fs::write(&file, "one").unwrap();
        out(&["copy", text(folder.path()), &url]);
        std::fs::write(&file, "two").unwrap();
        let (code, _, stderr) = run(&["copy", text(folder.path()), &url]);
        assert_eq!(code, Some(2));
        assert!(stderr.contains("other content"), "{stderr}");
        let (code, _, stderr) = run(&["copy", &url, text(folder.path())]);
        assert_eq!(code, Some(2));
        assert!(stderr.contains("other content"), "{stderr}");
        assert_eq!(std::fs::read(&file).unwrap(), b"two");
        let (code, _, stderr) = run(&["copy", &url, text(folder.path()), "--dry-run"]);
        assert_eq!(code, Some(2));
        assert!(stderr.contains("without parts of stores"), "{stderr}");
    }
}

const SCRIPT: &str = "
const opened = indexedDB.open('notes', 1);
opened.onupgradeneeded = () => opened.result.createObjectStore('notes', { autoIncrement: true });
opened.onsuccess = () => {
  const transaction = opened.result.transaction('notes', 'readwrite', { durability: 'strict' });
  const notes = transaction.objectStore('notes');
  notes.put({ at: new Date(7), blob: new Blob(['x'.repeat(5000)]) });
  notes.count().onsuccess = (event) => console.log(event.target.result);
};
";

#[test]
fn scripts_keep_their_databases_there_and_chromium_reads_them() {
    let Some(addresses) = addresses() else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.js");
    std::fs::write(&script, SCRIPT).unwrap();
    let origin = "http://127.0.0.1:18917";
    for (number, address) in addresses.iter().enumerate() {
        let url = format!("{address}/scripts");
        for count in 1..4 {
            let run = ["run", "--storage", &url, "--origin", origin, text(&script)];
            assert_eq!(out(&run), format!("{count}\n"));
        }
        let back = folder.path().join(number.to_string());
        out(&["copy", &url, text(&back)]);
        assert_eq!(dump(&url), dump(text(&back)));
        let Some(chromium) = chromium::shared() else {
            return;
        };
        let theirs = chromium
            .dump(&chromium::Store::within(&back, origin))
            .unwrap();
        let theirs = serde_json::to_vec(&theirs).unwrap();
        let ours = larder_fixtures::canonical::comparable(dump(&url).as_bytes());
        let theirs = larder_fixtures::canonical::comparable(&theirs);
        let difference = larder_fixtures::canonical::first_difference(&ours, &theirs, "databases");
        assert_eq!(difference, None);
    }
}

#[test]
fn what_is_wrong_is_said() {
    let Some(addresses) = addresses() else { return };
    let postgres = format!("{}/n", addresses[0]);
    let none = free_port();
    for (url, why) in [
        (
            postgres.replace("a%20word", "wrong"),
            "check user and password",
        ),
        (
            postgres.replace("a%20word@127.0.0.1", "a%20word@127.0.0.1:x"),
            "port",
        ),
        (addresses[0].clone(), "names no namespace"),
        (format!("{}/n%0a", addresses[1]), "control characters"),
        (addresses[1].clone(), "names no namespace"),
        (
            format!("postgres://larder:secret@127.0.0.1:{none}/d/n"),
            "is the server running",
        ),
        (format!("etcd://127.0.0.1:{none}/n"), "is it running"),
        ("etcd:///n".to_owned(), "is no host"),
        ("postgres://127.0.0.1".to_owned(), "names no database"),
    ] {
        for command in ["ls", "dump"] {
            let (code, stdout, stderr) = run(&[command, &url]);
            assert_eq!((code, &*stdout), (Some(2), ""), "{url}: {stderr}");
            assert!(stderr.contains(why), "{url}: {stderr}");
            assert!(
                !stderr.contains("secret") && !stderr.contains("a word"),
                "{stderr}"
            );
        }
    }
    let (code, _, stderr) = run(&["ls", &postgres]);
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("no IndexedDB store"), "{stderr}");
    let output = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["remote", "ls", &addresses[0].replace(":a%20word", "")])
        .env("PGPASSWORD", "a word")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr_of(&output.stderr));
}

fn stderr_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A run that holds a namespace until its input ends.
fn holder(url: &str, script: &Path) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(["run", "--storage", url, text(script)])
        .env("LARDER_LEASE_SECONDS", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0; 5];
    let output = child.stdout.as_mut().unwrap();
    output.read_exact(&mut line).unwrap();
    child
}

#[test]
fn a_namespace_that_is_written_is_said_to_be_and_can_be_taken() {
    let Some(addresses) = addresses() else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.js");
    let wait = "console.log('here'); larder.stdin.text().then(() => console.log('end'));";
    std::fs::write(&script, format!("{SCRIPT}\n{wait}")).unwrap();
    for address in addresses {
        let url = format!("{address}/held");
        let mut child = holder(&url, &script);
        let second = || {
            Command::new(env!("CARGO_BIN_EXE_larder"))
                .args(["remote", "gc", &url])
                .env("LARDER_LEASE_SECONDS", "1")
                .output()
                .unwrap()
        };
        let refused = second();
        let words = stderr(&refused);
        assert_eq!(refused.status.code(), Some(2), "{words}");
        let id = format!(":{} writes it", child.id());
        assert!(
            words.contains(&id) && words.contains("larder remote unlock"),
            "{words}"
        );
        let listed = out(&["remote", "ls", &url]);
        assert!(
            listed.contains(&format!(":{} (epoch 1)", child.id())),
            "{listed}"
        );
        // It dies, and is taken over when its lease has run out.
        child.kill().unwrap();
        child.wait().unwrap();
        let taken = second();
        assert!(taken.status.success(), "{}", stderr(&taken));
        // One that is taken away writes nothing more, and says so.
        let mut child = holder(&url, &script);
        let said = out(&["remote", "unlock", &url]);
        assert!(said.contains("taken from"), "{said}");
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(second().status.success());
        assert_eq!(out(&["remote", "unlock", &url]), "held: free\n");
    }
}

/// A change feed at an address: turned on, read, cleaned up, and followed while a script writes.
#[test]
fn change_feeds_are_turned_on_and_followed_there() {
    let Some(addresses) = addresses() else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.js");
    std::fs::write(&script, SCRIPT).unwrap();
    for address in addresses {
        let url = format!("{address}/followed");
        let origin = "https://followed.example";
        let write = || out(&["run", "--storage", &url, "--origin", origin, text(&script)]);
        write();
        let state = r#"{"database":"notes","last":1,"cleaned":0,"consumers":[]}"#;
        assert_eq!(out(&["feed", "on", &url]).trim_end(), state);
        let mut tail = Command::new(env!("CARGO_BIN_EXE_larder"))
            .args(["feed", "tail", "--follow", "--values", &url])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
        for number in 1..=3 {
            if number > 1 {
                write();
            }
            let line: serde_json::Value =
                serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            assert_eq!(
                (&line["revision"], &line["key"]),
                (&number.into(), &number.into())
            );
        }
        tail.kill().unwrap();
        tail.wait().unwrap();
        let replayed = out(&["feed", "replay", "--consumer", "c", &url]);
        assert_eq!(replayed.lines().count(), 3, "{replayed}");
        assert_eq!(out(&["feed", "replay", "--consumer", "c", &url]), "");
        assert_eq!(out(&["feed", "clean", &url]), "{\"revisions\":0}\n");
        out(&["feed", "off", &url]);
        assert_eq!(out(&["feed", "ls", &url]), "");
    }
}

#[cfg(feature = "rados")]
#[test]
fn what_is_wrong_about_a_pool_is_said() {
    let Some(server) = Rados::shared() else {
        return;
    };
    let none = free_port();
    for (url, why) in [
        (
            format!("rados://127.0.0.1:{none}/p/n"),
            "is the cluster running",
        ),
        (
            format!("rados://{}/nowhere/n", server.host()),
            "ceph osd pool create nowhere",
        ),
        (server.url(), "names no namespace"),
        (format!("{}/n%0a", server.url()), "control characters"),
        (format!("rados://{}", server.host()), "names no pool"),
        (
            "rados://larder:secret@127.0.0.1/p/n".to_owned(),
            "has a keyring",
        ),
        ("rados://,/p/n".to_owned(), "is no host"),
    ] {
        let (code, stdout, stderr) = run(&["dump", &url]);
        assert_eq!((code, &*stdout), (Some(2), ""), "{url}: {stderr}");
        assert!(
            stderr.contains(why) && !stderr.contains("secret"),
            "{url}: {stderr}"
        );
    }
    // Without hosts it is the cluster of the configuration file.
    let listed = |configuration: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_larder"));
        command.args(["remote", "ls", "rados:///larder"]);
        command.env("CEPH_CONF", configuration).output().unwrap()
    };
    let output = listed(&server.configuration());
    assert!(output.status.success(), "{}", stderr_of(&output.stderr));
    let output = listed(Path::new("/no/such/file"));
    assert_eq!(output.status.code(), Some(2));
    let said = stderr_of(&output.stderr);
    assert!(said.contains("CEPH_CONF"), "{said}");
}

/// Runs the command with the keys of a gateway of S3, of which one may be another.
#[cfg(feature = "s3")]
fn with_bucket(server: &S3, secret: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(arguments)
        .env("AWS_ENDPOINT_URL", server.endpoint())
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", server.keys().0)
        .env("AWS_SECRET_ACCESS_KEY", secret)
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    (output.status.code(), stdout, stderr(&output))
}

#[cfg(feature = "s3")]
#[test]
fn content_lies_in_a_bucket_where_the_address_says_so() {
    let (Some(etcd), Some(server)) = (Etcd::shared(), S3::shared()) else {
        return;
    };
    let secret = server.keys().1;
    let out = |arguments: &[&str]| {
        let (code, stdout, stderr) = with_bucket(server, secret, arguments);
        assert_eq!((code, &*stderr), (Some(0), ""), "{arguments:?}");
        stdout
    };
    let dump = |place: &str| out(&["dump", place, "--format", "canonical", "--digests"]);
    let store = larder_fixtures::get("c156").copy();
    let (from, back) = (text(store.dir()), tempfile::tempdir().unwrap());
    let names = format!("etcd://{}/in a bucket", etcd.endpoints()).replace(' ', "%20");
    let url = format!("{names}?content=s3://{}/command", server.bucket());
    let said = out(&["copy", from, &url]);
    assert!(said.contains("read back and compared"), "{said}");
    assert_eq!(dump(&url), dump(from));
    out(&["copy", &url, text(back.path())]);
    assert_same(store.dir(), back.path());
    let script = back.path().join("script.js");
    let work = "indexedDB.open('new').onsuccess = () => console.log('made');";
    std::fs::write(&script, work).unwrap();
    let origin = "http://127.0.0.1:18917";
    let run = |place| ["run", "--storage", place, "--origin", origin, text(&script)];
    assert_eq!(out(&run(&*url)), "made\n");
    // Of all namespaces, also without the place of their content.
    let listed = out(&["remote", "ls", &format!("etcd://{}", etcd.endpoints())]);
    assert!(listed.contains("in a bucket: "), "{listed}");
    out(&["remote", "stat", &url]);
    out(&["remote", "gc", &url]);
    let query = format!("{}?list-type=2&prefix=command", server.bucket());
    let listed = server.request("GET", &query).unwrap();
    assert!(listed.contains("<Key>command/in%20a%20bucket/"), "{listed}");
    let elsewhere = format!("{names}?content=s3://{}/elsewhere", server.bucket());
    let missing = format!("{names}?content=s3://no-such-bucket");
    let remedy = format!("put ?content=s3://{}/command behind", server.bucket());
    for (place, secret, why) in [
        (&names, secret, &*remedy),
        (&elsewhere, secret, &remedy),
        (&missing, secret, "make the bucket"),
        (&url, "a wrong one", "check AWS_ACCESS_KEY_ID"),
    ] {
        for arguments in [&["dump", place][..], &run(&**place)] {
            let (code, _, stderr) = with_bucket(server, secret, arguments);
            assert!(matches!(code, Some(1 | 2)), "{arguments:?}: {stderr}");
            assert!(stderr.contains(why), "{arguments:?}: {stderr}");
            assert!(!stderr.contains(secret), "{arguments:?}: {stderr}");
        }
    }
}
