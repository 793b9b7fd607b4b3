//! Workers of `larder run`: where their scripts are found, when a run ends, and what counts as gone wrong.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]
#![expect(
    clippy::disallowed_methods,
    reason = "scripts of tests are ordinary files"
)]

use std::path::Path;

use larder_js_host::{Outcome, RunOptions, run};

/// Runs `main.js` (or another) of a folder of these files, with the engine on a thread and without.
fn outcomes(main: &str, files: &[(&str, &str)]) -> Vec<Outcome> {
    let folder = tempfile::tempdir().unwrap();
    for (name, source) in files {
        std::fs::write(folder.path().join(name), source).unwrap();
    }
    [false, true]
        .map(|threads| run(&options(&folder.path().join(main), threads)).unwrap())
        .to_vec()
}

fn options(script: &Path, threads: bool) -> RunOptions {
    RunOptions {
        script: script.to_owned(),
        arguments: Vec::new(),
        preloads: Vec::new(),
        files: None,
        all_modules: false,
        storage: None,
        file_system: None,
        origin: "https://app.example".into(),
        threads,
        new_store_form: larder_idb::StoreForm::LevelDb,
        raise_data_version: false,
    }
}

/// Asserts that so many things have gone wrong in each run.
#[track_caller]
fn goes_wrong(times: u64, main: &str, files: &[(&str, &str)]) {
    for outcome in outcomes(main, files) {
        assert_eq!((outcome.uncaught, outcome.exit_code), (times, None));
    }
}

/// A script that throws unless its worker, so made, posts `yes`.
fn expects_yes(worker: &str) -> String {
    format!(
        "let said; const worker = {worker};
         worker.onmessage = ({{ data }}) => {{ said = data; worker.terminate(); if (data !== 'yes') throw new Error(data); }};
         setTimeout(() => {{ if (said === undefined) {{ worker.terminate(); throw new Error('nothing was said'); }} }}, 20000);
         worker.addEventListener('message', () => larder.exit(0));"
    )
}

/// Asserts that a worker of `main.js` says `yes`.
#[track_caller]
fn says_yes(worker: &str, files: &[(&str, &str)]) {
    let main = expects_yes(worker);
    let files = [files, &[("main.js", &main)]].concat();
    for outcome in outcomes("main.js", &files) {
        assert_eq!((outcome.uncaught, outcome.exit_code), (0, Some(0)));
    }
}

#[test]
fn a_workers_script_lies_beside_the_main_script() {
    let place =
        "if (location.href !== 'https://app.example/w.js?a#b') throw new Error(location.href);";
    let worker = format!("{place} importScripts('lib.js'); postMessage(word);");
    let files = [("w.js", worker.as_str()), ("lib.js", "var word = 'yes';")];
    says_yes("new Worker('w.js?a#b')", &files);
    says_yes("new Worker(new URL('/x/../w.js?a#b', location))", &files);
}

#[test]
fn a_worker_can_be_a_module_with_modules_of_its_own() {
    let files = [
        (
            "w.mjs",
            "import { word } from './word.mjs'; import.meta.url.endsWith('/w.mjs') && postMessage(word);",
        ),
        ("word.mjs", "export const word = await 'yes';"),
    ];
    says_yes("new Worker('w.mjs', { type: 'module' })", &files);
    let main = expects_yes("new Worker(new URL('./w.mjs', import.meta.url), { type: 'module' })");
    let files = [&files[..], &[("main.mjs", &main)]].concat();
    for outcome in outcomes("main.mjs", &files) {
        assert_eq!((outcome.uncaught, outcome.exit_code), (0, Some(0)));
    }
}

#[test]
fn a_script_that_is_not_there_is_reported_unless_the_page_listens() {
    goes_wrong(1, "main.js", &[("main.js", "new Worker('none.js');")]);
    let listens = "new Worker('none.js').onerror = ({ message }) => { if (message !== undefined) throw message; };";
    goes_wrong(0, "main.js", &[("main.js", listens)]);
}

#[cfg(unix)]
#[test]
fn no_link_is_followed_to_a_script_of_the_origins() {
    let [inside, outside] = [0, 1].map(|_| tempfile::tempdir().unwrap());
    std::fs::write(outside.path().join("w.js"), "").unwrap();
    std::os::unix::fs::symlink(outside.path().join("w.js"), inside.path().join("w.js")).unwrap();
    let main = inside.path().join("main.js");
    std::fs::write(&main, "new Worker('w.js');").unwrap();
    assert_eq!(run(&options(&main, false)).unwrap().uncaught, 1);
}

#[test]
fn a_worker_that_only_listens_does_not_keep_the_run() {
    let main = "new Worker('w.js').postMessage(0); new Worker('w.js');";
    goes_wrong(
        0,
        "main.js",
        &[("main.js", main), ("w.js", "onmessage = () => {};")],
    );
}

#[test]
fn the_run_goes_on_while_a_worker_has_a_timer_or_a_request() {
    let main = "const worker = new Worker('w.js'); worker.onmessage = () => { throw new Error('it came'); };";
    let timer = "setTimeout(() => setTimeout(() => postMessage(0), 20), 20);";
    goes_wrong(1, "main.js", &[("main.js", main), ("w.js", timer)]);
    let request = "indexedDB.open('x').onsuccess = () => new Worker('inner.js').onmessage = () => postMessage(0);";
    let inner = "indexedDB.open('y').onsuccess = () => postMessage(0);";
    let files = [("main.js", main), ("w.js", request), ("inner.js", inner)];
    goes_wrong(1, "main.js", &files);
}

#[test]
fn what_a_worker_does_not_catch_counts_once() {
    let main = "new Worker('w.js');";
    for thrown in [
        "throw new Error('mine');",
        "Promise.reject(new Error('mine'));",
        "new Worker('inner.js');",
    ] {
        let inner = ("inner.js", "throw new Error('of the inner');");
        goes_wrong(1, "main.js", &[("main.js", main), ("w.js", thrown), inner]);
    }
    let caught = "new Worker('w.js').onerror = (event) => event.preventDefault();";
    goes_wrong(
        0,
        "main.js",
        &[("main.js", caught), ("w.js", "throw new Error('mine');")],
    );
}

#[test]
fn a_module_of_a_workers_that_awaits_what_never_comes_is_reported() {
    let main = "new Worker('w.mjs', { type: 'module' });";
    goes_wrong(
        1,
        "main.js",
        &[("main.js", main), ("w.mjs", "await new Promise(() => {});")],
    );
}

#[test]
fn the_run_ends_with_its_status_whatever_its_workers_do() {
    let main = "
        const names = ['loops.js', 'calls.js', 'waits.js', 'chained.js'];
        let begun = 0;
        for (const name of names) new Worker(name).onmessage = () => { begun += 1; if (begun === names.length) { indexedDB.open('z'); larder.exit(7); } };";
    let files = [
        ("main.js", main),
        ("loops.js", "postMessage(0); for (;;);"),
        (
            "calls.js",
            "indexedDB.open('c'); postMessage(0); for (;;) structuredClone([1]);",
        ),
        (
            "waits.js",
            "indexedDB.open('w').onsuccess = () => { postMessage(0); setInterval(() => indexedDB.databases()); };",
        ),
        (
            "chained.js",
            "postMessage(0); const again = () => Promise.resolve().then(again); again();",
        ),
    ];
    for outcome in outcomes("main.js", &files) {
        assert_eq!(outcome.exit_code, Some(7));
    }
}
