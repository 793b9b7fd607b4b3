//! The host's own tests are scripts: each of `tests/scripts/*.js` runs on a host of its own, and says
//! at its end how many checks it made.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::path::Path;
use std::sync::{Arc, Mutex};

use larder_idb::{Executor, StorageOptions, SystemClock};
use larder_js_host::{Global, Host, Options, Stream};

const PRELUDE: &str = include_str!("scripts/prelude/checks.js");

/// What a worker's `importScripts` finds.
fn imported(url: &str) -> std::io::Result<String> {
    let source = match url {
        "https://example.com/lib/a.js" => {
            "var order = self.order ?? []; order.push('a'); var fromA = 1;"
        }
        "https://example.com/lib/b.js" => "order.push('b'); var fromB = fromA + 1;",
        "https://example.com/lib/throws.js" => "throw new RangeError('mine');",
        "https://example.com/lib/syntax.js" => "var = 1;",
        _ => return Err(std::io::ErrorKind::NotFound.into()),
    };
    Ok(source.to_owned())
}

#[derive(Debug, Clone, Copy)]
enum Scope {
    Window,
    Worker,
}

/// Runs a script; everything it has said on the error stream, and how many checks it made.
fn run(path: &Path, scope: Scope, executor: Executor) -> (Vec<String>, usize) {
    let mut storage = StorageOptions::in_memory(Arc::new(SystemClock));
    storage.executor = executor;
    let errors = Arc::new(Mutex::new(Vec::new()));
    let checks = Arc::new(Mutex::new(0));
    let (collected, made) = (Arc::clone(&errors), Arc::clone(&checks));
    let host = Host::new(Options {
        global: match scope {
            Scope::Window => Global::Window,
            Scope::Worker => Global::DedicatedWorker(Box::new(imported)),
        },
        origin: "https://example.com".into(),
        search: String::new(),
        storage,
        console: Box::new(move |stream, line| {
            if stream == Stream::Err {
                collected.lock().unwrap().push(line.to_owned());
            } else if let Some(count) = line.strip_prefix("checks made: ") {
                *made.lock().unwrap() = count.parse().unwrap();
            }
        }),
    })
    .unwrap();
    let source = std::fs::read_to_string(path).unwrap();
    host.run_script("checks.js", PRELUDE);
    host.run_script(&path.display().to_string(), &source);
    host.run_until_idle();
    drop(host);
    let count = *checks.lock().unwrap();
    (std::mem::take(&mut *errors.lock().unwrap()), count)
}

/// Runs all scripts of a folder, and returns how many there are.
fn run_all(folder: &str, scope: Scope, executor: Executor) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut seen = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path
            .file_name()
            .is_some_and(|name| name == "crypto_keys.js")
            && !cfg!(feature = "crypto")
        {
            continue;
        }
        if path.extension().is_some_and(|extension| extension == "js") {
            let (errors, checks) = run(&path, scope, executor);
            let name = path.file_name().unwrap().display();
            assert!(errors.is_empty(), "{name}: {}", errors.join("\n"));
            assert!(checks > 0, "{name} did not come to its end");
            seen += 1;
        }
    }
    seen
}

const DRIVEN: Executor = Executor::Driven { seed: None };

#[test]
fn every_script_holds_when_the_host_drives_the_engine() {
    assert!(run_all("tests/scripts", Scope::Window, DRIVEN) >= 4);
}

#[test]
fn every_script_holds_with_the_engine_on_threads_of_its_own() {
    assert!(run_all("tests/scripts", Scope::Window, Executor::default()) >= 4);
}

#[test]
fn every_script_holds_in_a_worker() {
    assert!(run_all("tests/scripts", Scope::Worker, DRIVEN) >= 4);
    assert!(run_all("tests/scripts/worker", Scope::Worker, DRIVEN) >= 1);
}

#[test]
fn nothing_runs_in_a_worker_that_has_closed_itself() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let source = b"
        setTimeout(() => console.log('checks made: 1'));
        indexedDB.open('x').onsuccess = () => console.log('checks made: 2');
        Promise.resolve().then(() => console.log('checks made: 3'));
        close();";
    std::io::Write::write_all(&mut file, source).unwrap();
    for executor in [DRIVEN, Executor::default()] {
        let (errors, last) = run(file.path(), Scope::Worker, executor);
        assert_eq!((errors.len(), last), (0, 3), "{errors:?}");
    }
}

#[test]
fn a_failed_check_is_reported() {
    let folder = std::env::temp_dir();
    let file = tempfile::NamedTempFile::new_in(folder).unwrap();
    std::fs::File::options()
        .write(true)
        .open(file.path())
        .and_then(|mut file| {
            std::io::Write::write_all(&mut file, b"test('no', () => check(false, 'not so'));")
        })
        .unwrap();
    let (errors, _) = run(file.path(), Scope::Window, DRIVEN);
    assert!(
        errors.iter().any(|line| line.contains("not so")),
        "{errors:?}"
    );
}
