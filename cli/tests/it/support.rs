//! Running the command in tests.

use std::path::Path;
use std::process::{Command, Output};

/// Runs `larder` with these arguments.
pub(crate) fn larder<I: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = I>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_larder"))
        .args(arguments)
        .output()
        .unwrap()
}

/// Runs `larder dump --format canonical` on a store.
pub(crate) fn dump_canonical(store: &Path) -> Output {
    larder([
        "dump".as_ref(),
        store.as_os_str(),
        "--format".as_ref(),
        "canonical".as_ref(),
    ])
}

/// Standard error as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}
