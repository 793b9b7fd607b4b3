//! Running the command in tests.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};

use larder_fixtures::Fixture;
use larder_fixtures::canonical::{comparable, first_difference, with_large_stack};
use serde_json::Value;

/// Runs `larder` with these arguments.
pub(crate) fn larder<I: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = I>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(arguments)
        .output()
        .unwrap()
}

/// Runs a script with its databases in this folder, and returns what it prints.
pub(crate) fn run_script(storage: &Path, options: &[&str], script: &str) -> String {
    let output = try_script(storage, options, script);
    assert!(output.status.success(), "{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a script with its databases in this folder.
pub(crate) fn try_script(storage: &Path, options: &[&str], script: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("script.js");
    std::fs::write(&file, script).unwrap();
    let mut arguments = vec!["run".as_ref(), "--storage".as_ref(), storage.as_os_str()];
    arguments.extend(options.iter().map(OsStr::new));
    arguments.push(file.as_os_str());
    larder(arguments)
}

/// Runs `larder dump --format canonical --digests` on a store: the form of the expectations.
pub(crate) fn dump_canonical(store: &Path) -> Output {
    larder([
        "dump".as_ref(),
        store.as_os_str(),
        "--format".as_ref(),
        "canonical".as_ref(),
        "--digests".as_ref(),
    ])
}

/// Standard error as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Dumps a copy of a golden store and compares that with what its browser showed. `adjust` changes our dump before.
pub(crate) fn compare_with_browser(
    fixture: &Fixture,
    store: &Path,
    adjust: impl FnOnce(&mut Value),
) -> Result<(), String> {
    let output = dump_canonical(store);
    if !output.status.success() {
        let (name, status) = (&fixture.name, output.status);
        return Err(format!("{name}: {status:?}\n{}", stderr(&output)));
    }
    let (mut ours, theirs) = (comparable(&output.stdout), comparable(&fixture.expected()));
    adjust(&mut ours);
    match first_difference(&ours, &theirs, "databases") {
        Some(difference) => Err(format!("{}: {difference}", fixture.name)),
        None => Ok(()),
    }
}

/// Checks all of these stores and reports every one that fails.
#[expect(clippy::print_stdout, reason = "CI shows what was tried")]
pub(crate) fn for_every(fixtures: Vec<Fixture>, check: fn(&Fixture) -> Result<(), String>) {
    with_large_stack(move || {
        assert!(fixtures.len() >= 10);
        let failures: Vec<String> = fixtures
            .iter()
            .filter_map(|fixture| check(fixture).err())
            .collect();
        assert!(failures.is_empty(), "{}", failures.join("\n"));
        println!(
            "{} stores dumped as their browsers showed them",
            fixtures.len()
        );
    });
}
