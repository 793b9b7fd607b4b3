//! `larder run` as a process: arguments, standard input, exit status.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A folder with these files in it.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Runs the command in a folder with these bytes on standard input.
fn run(folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_larder"))
        .arg("run")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A script that has ended reads no more.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// Status, standard output and standard error.
fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Runs a script of this text.
fn script(text: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let folder = folder(&[("script.js", text)]);
    let arguments = [&["script.js"], arguments].concat();
    said(&run(folder.path(), &arguments, b""))
}

#[test]
fn what_stands_behind_the_script_is_the_scripts() {
    let text = "console.log(JSON.stringify(larder.args), Object.isFrozen(larder.args));";
    let arguments = ["a", "--memory", "-q", "--", "--module", "", "ü"];
    let (status, out, err) = script(text, &arguments);
    let expected = "[\"a\",\"--memory\",\"-q\",\"--\",\"--module\",\"\",\"ü\"] true\n";
    assert_eq!((status, &*out, &*err), (Some(0), expected, ""));
    assert_eq!(script(text, &[]).1, "[] true\n");
    let folder = folder(&[("script.js", text)]);
    let wrong = run(folder.path(), &["--no-such-option", "script.js"], b"");
    assert_eq!(wrong.status.code(), Some(2));
    assert_eq!(run(folder.path(), &[], b"").status.code(), Some(2));
}

/// Meant as the option, it would lose what the script writes.
#[test]
fn storage_behind_the_script_is_remarked_upon() {
    let noted = |arguments: &[&str]| {
        let (status, out, err) = script("console.log(larder.args.length)", arguments);
        assert_eq!((status, out), (Some(0), format!("{}\n", arguments.len())));
        let note = err.starts_with("larder: note: --storage behind the script is the script's");
        assert!(note && err.lines().count() == 1 || err.is_empty(), "{err}");
        note
    };
    assert!(noted(&["--storage", "folder"]) && noted(&["a", "--storage=folder"]));
    assert!(!noted(&["--storages", "storage"]) && !noted(&["--", "--storage"]));
}

#[test]
fn scripts_that_are_to_run_first_do() {
    let files = [
        ("a.js", "var order = ['a', larder.args[0]];"),
        ("b.mjs", "order.push('b');"),
        ("c.js", "order.push('c'); console.log(order.join());"),
    ];
    let arguments = [
        "--preload",
        "a.js",
        "--preload",
        "b.mjs",
        "c.js",
        "--preload",
    ];
    let output = run(folder(&files).path(), &arguments, b"");
    assert_eq!(
        said(&output),
        (Some(0), "a,--preload,b,c\n".into(), String::new())
    );
}

#[test]
fn a_dash_is_a_script_on_standard_input() {
    let files = [("beside.mjs", "export default 'beside';")];
    let folder = folder(&files);
    let text = b"\xef\xbb\xbf#!/usr/bin/env larder\nimport x from './beside.mjs'; console.log(x, larder.args.join(), await larder.stdin.text() === '');";
    let output = run(folder.path(), &["--module", "-", "a", "-"], text);
    assert_eq!(
        said(&output),
        (Some(0), "beside a,- true\n".into(), String::new())
    );
    let classic = run(folder.path(), &["-"], b"console.log(this === window);");
    assert_eq!(said(&classic).1, "true\n");
    let (status, _, err) = said(&run(folder.path(), &["-"], b"'\xff'"));
    assert_eq!(status, Some(2));
    assert!(
        err.starts_with("larder: -: ") && err.contains("UTF-8"),
        "{err}"
    );
}

/// A shell gives a script so: `larder run <(command)`.
#[test]
#[cfg(target_os = "linux")]
fn a_script_can_come_through_a_pipe() {
    let output = run(
        &std::env::temp_dir(),
        &["/dev/stdin", "a"],
        b"console.log(larder.args[0]);",
    );
    assert_eq!(said(&output), (Some(0), "a\n".into(), String::new()));
}

#[test]
fn standard_input_is_read_as_text_bytes_and_lines() {
    let text = "
      (async () => {
        const lines = larder.stdin.lines();
        console.log(JSON.stringify((await lines.next()).value), JSON.stringify((await lines.next()).value));
        for await (const line of larder.stdin.lines()) { console.log(line.length); if (line === 'stop') break; }
        console.log(JSON.stringify([...(await larder.stdin.bytes())]), await larder.stdin.text() === '', (await larder.stdin.lines().next()).done);
      })();";
    let folder = folder(&[("script.js", text)]);
    let long = "é".repeat(70_000);
    let input = format!("one\r\n\n{long}\nstop\nA\nB");
    let output = run(folder.path(), &["script.js"], input.as_bytes());
    let expected = "\"one\" \"\"\n70000\n4\n[65,10,66] true true\n";
    assert_eq!(said(&output), (Some(0), expected.into(), String::new()));
    let last = "(async () => { for await (const line of larder.stdin.lines()) console.log(`<${line}>`); })();";
    fs::write(folder.path().join("script.js"), last).unwrap();
    let of = |input: &[u8]| said(&run(folder.path(), &["script.js"], input)).1;
    assert_eq!(of(b"a\n\nb"), "<a>\n<>\n<b>\n");
    assert_eq!(of(b"a\n"), "<a>\n");
    assert_eq!(of(b""), "");
}

#[test]
fn a_script_ends_the_process_at_once_with_its_status() {
    let ends = [
        "try { larder.exit(7); } catch { console.log('no'); } finally { console.log('no'); }",
        "setTimeout(() => larder.exit(7)); setTimeout(() => console.log('no'));",
        "Promise.resolve().then(() => larder.exit(7)).finally(() => console.log('no')); queueMicrotask(() => console.log('no'));",
        "indexedDB.open('x').onsuccess = () => { larder.exit(7); console.log('no'); };",
        "addEventListener('x', () => larder.exit(7)); dispatchEvent(new Event('x')); console.log('no');",
        "Promise.reject(new Error('no')); larder.exit(7);",
        "[1].sort(); [2, 1].sort(() => larder.exit('7')); console.log('no');",
    ];
    for text in ends {
        assert_eq!(
            script(text, &[]),
            (Some(7), String::new(), String::new()),
            "{text}"
        );
    }
    assert_eq!(script("larder.exit(); console.log('no');", &[]).0, Some(0));
    let wrong = "for (const code of [256, -1, 1.5, 'x', {}]) try { larder.exit(code); } catch (error) { console.log(error.name); }";
    let (status, out, _) = script(wrong, &[]);
    assert_eq!(
        (
            status,
            out.lines().filter(|line| *line == "RangeError").count()
        ),
        (Some(0), 5)
    );
    let folder = folder(&[("a.js", "larder.exit(3);"), ("b.js", "console.log('no');")]);
    let first = run(folder.path(), &["--preload", "a.js", "b.js"], b"");
    assert_eq!(said(&first), (Some(3), String::new(), String::new()));
}

#[test]
fn what_was_not_committed_when_a_script_ends_the_process_is_not_stored() {
    let write = "
      indexedDB.open('d').onupgradeneeded = ({ target: { result: db, transaction } }) => {
        db.createObjectStore('s').put(1, 'committed');
        transaction.oncomplete = () => {
          const store = db.transaction('s', 'readwrite').objectStore('s');
          store.put(2, 'not').onsuccess = () => larder.exit(0);
        };
      };";
    let read = "
      indexedDB.open('d').onsuccess = ({ target: { result: db } }) => {
        db.transaction('s').objectStore('s').getAllKeys().onsuccess = ({ target }) => console.log(target.result.join());
      };";
    let folder = folder(&[("w.js", write), ("r.js", read)]);
    let run = |name| said(&run(folder.path(), &["--storage", "IndexedDB", name], b""));
    assert_eq!(run("w.js"), (Some(0), String::new(), String::new()));
    assert_eq!(run("r.js"), (Some(0), "committed\n".into(), String::new()));
}

#[test]
fn the_status_says_what_went_wrong() {
    let one = [
        "throw new Error('mine');",
        "Promise.reject(1);",
        "var = 1;",
        "import('./none.js');",
        "setTimeout(() => { throw 1; }); larder.args;",
    ];
    for text in one {
        let (status, _, err) = script(text, &[]);
        assert_eq!(status, Some(1), "{text}");
        assert!(err.starts_with("Uncaught "), "{err}");
    }
    let caught = "addEventListener('error', (event) => event.preventDefault()); throw 1;";
    assert_eq!(script(caught, &[]).0, Some(0));
    let folder = folder(&[
        ("a.mjs", "await new Promise(() => {});"),
        ("b.mjs", "import './none.mjs';"),
    ]);
    for name in ["a.mjs", "b.mjs"] {
        assert_eq!(run(folder.path(), &[name], b"").status.code(), Some(1));
    }
    for arguments in [
        ["none.js"].as_slice(),
        &["."],
        &["--origin", "no origin", "a.mjs"],
        &["--preload", "none.js", "a.mjs"],
    ] {
        let (status, out, err) = said(&run(folder.path(), arguments, b""));
        assert_eq!((status, &*out), (Some(2), ""), "{arguments:?}");
        assert!(err.starts_with("larder: "), "{err}");
    }
}

#[test]
fn a_damaged_store_fails_a_script_that_looks_away() {
    let write = "indexedDB.open('d').onupgradeneeded = ({ target }) => { target.result.createObjectStore('s').put('x'.repeat(100), 1); };";
    let folder = folder(&[("w.js", write), ("r.js", "indexedDB.open('d');")]);
    let of = |name: &str| said(&run(folder.path(), &["--storage", "IndexedDB", name], b""));
    assert_eq!(of("w.js").0, Some(0));
    let store = folder
        .path()
        .join("IndexedDB/https_localhost_0.indexeddb.leveldb");
    fs::write(store.join("CURRENT"), "MANIFEST-999999\n").unwrap();
    let (status, _, err) = of("r.js");
    assert_eq!(status, Some(1), "{err}");
    assert!(err.contains("999999"), "{err}");
}

/// What `fetch` gives of each URL.
const FETCH: &str = "
  const { protocol, pathname } = new URL(import.meta.url);
  const here = pathname.slice(0, pathname.lastIndexOf('/'));
  for (const url of larder.args) {
    const said = await fetch(url.replace('HERE', here)).then(
      async (response) => `${response.ok} ${(await response.blob()).type} ${await response.text()}`, (error) => `${error.name} ${error.message}`);
    console.log(said.replaceAll(here, 'HERE'));
  }";

#[test]
#[cfg(unix)]
fn fetch_reads_the_files_below_the_folder_that_is_given_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    fs::create_dir_all(here.join("data/in ner")).unwrap();
    for (name, text) in [
        ("fetch.mjs", FETCH),
        ("secret.txt", "secret"),
        ("data/a.json", "[1]"),
        ("data/in ner/b", "inner"),
        ("data/ü.TXT", "ü"),
    ] {
        fs::write(here.join(name), text).unwrap();
    }
    std::os::unix::fs::symlink("../secret.txt", here.join("data/link")).unwrap();
    std::os::unix::fs::symlink("..", here.join("data/up")).unwrap();
    std::os::unix::fs::symlink("data", here.join("linked")).unwrap();
    nix::unistd::mkfifo(&here.join("data/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let of = |files: &[&str], urls: &[&str]| {
        let output = run(&here, &[files, &["fetch.mjs"], urls].concat(), b"");
        let (status, out, err) = said(&output);
        assert_eq!((status, &*err), (Some(0), ""));
        out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let allowed = [
        ("a.json", "true application/json [1]"),
        ("/a.json?x#y", "true application/json [1]"),
        ("https://localhost/in%20ner/b", "true  inner"),
        ("../../a.json", "true application/json [1]"),
        ("file://HERE/data/a.json", "true application/json [1]"),
        ("file://HERE/data/%C3%BC.TXT#hash", "true text/plain ü"),
        (
            "file://HERE/data/in ner/../a.json",
            "true application/json [1]",
        ),
    ];
    for folder in ["data", "linked"] {
        let urls = allowed.map(|(url, _)| url);
        assert_eq!(
            of(&["--files", folder], &urls),
            allowed.map(|(_, content)| content)
        );
    }
    let outside = "only files below HERE/data may be read";
    let link = "it is a symbolic link, which is not followed";
    for (url, why) in [
        ("file://HERE/secret.txt", outside.to_owned()),
        ("file://HERE/data/../secret.txt", outside.to_owned()),
        ("file://HERE/data/%2e%2e%2fsecret.txt", outside.to_owned()),
        ("..%2fsecret.txt", outside.to_owned()),
        ("file:///etc/passwd", outside.to_owned()),
        ("link", format!("HERE/data/link: {link}")),
        ("up/secret.txt", format!("HERE/data/up: {link}")),
        (
            "file://HERE/data/up/data/a.json",
            format!("HERE/data/up: {link}"),
        ),
        ("in%20ner", "HERE/data/in ner: it is a folder".to_owned()),
        ("/", "HERE/data: it is a folder".to_owned()),
        (
            "none.json",
            "HERE/data/none.json: No such file or directory (os error 2)".to_owned(),
        ),
        (
            "https://other.example/a.json",
            "there is no network, only blobs and files".to_owned(),
        ),
        ("file://a.example/x", "the URL names no file".to_owned()),
    ] {
        let said = of(&["--files", "data"], &[url]).join("");
        assert_eq!(said, format!("TypeError Failed to fetch {url}: {why}"));
    }
    let pipe = of(&["--files", "data"], &["pipe"]).join("");
    assert!(
        pipe.starts_with("TypeError Failed to fetch pipe: HERE/data/pipe: "),
        "{pipe}"
    );
    let none = of(&[], &["a.json"]).join("");
    assert_eq!(
        none,
        "TypeError Failed to fetch a.json: no folder of files was given: larder run --files DIR"
    );
    for folder in ["none", "secret.txt"] {
        let output = run(&here, &["--files", folder, "fetch.mjs"], b"");
        assert_eq!(output.status.code(), Some(2));
    }
}
