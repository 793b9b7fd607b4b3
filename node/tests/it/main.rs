//! The package's tests in JavaScript, on the library that was built for this test.
#![cfg(unix)]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers of tests fail like tests, a test that is skipped says so, and the package's folder is a real one"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The native module: as a library beside the test, and under the name that Node loads.
fn native(folder: &Path) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.with_file_name(format!(
        "{}larder_node{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));
    let module = folder.join("larder-idb.node");
    std::fs::copy(&built, &module).unwrap();
    module
}

/// Whether there is a Node; a machine where all are required has one.
fn has_node() -> bool {
    let found = Command::new("node")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    assert!(
        found || std::env::var_os("LARDER_REQUIRE_PEERS").is_none(),
        "node is not on PATH"
    );
    if !found {
        println!("skipped: node is not on PATH");
    }
    found
}

#[test]
fn tests_in_javascript() {
    if !has_node() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut tests: Vec<PathBuf> = std::fs::read_dir(package.join("test"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".test.js"))
        .collect();
    tests.sort();
    assert!(tests.len() >= 3, "{tests:?}");
    let ran = Command::new("node")
        .arg("--test")
        .args(&tests)
        .env("LARDER_IDB_NATIVE", native(folder.path()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    println!("{said}");
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}
