//! Running the command in tests, and comparing canonical documents.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

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

/// Runs a test on a thread whose stack is deep enough to walk values that nest hundreds of levels.
pub(crate) fn with_large_stack<R: Send + 'static>(test: impl FnOnce() -> R + Send + 'static) -> R {
    let thread = std::thread::Builder::new()
        .stack_size(512 << 20)
        .spawn(test)
        .unwrap();
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// A document's databases, without the members that comparisons leave out because a store alone cannot tell them.
pub(crate) fn comparable(text: &[u8]) -> Value {
    let mut document = larder_fixtures::parse_json(text);
    let mut databases = document["databases"].take();
    leave_out(&mut databases);
    databases
}

fn leave_out(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(leave_out),
        Value::Object(members) => {
            match members.get("t").and_then(Value::as_str) {
                Some("CryptoKey") => drop(members.remove("jwk")),
                Some("ImageBitmap") => drop(members.remove("rgba")),
                Some("Error") => drop(members.remove("has_stack")),
                Some("FileSystemFileHandle" | "FileSystemDirectoryHandle") => {
                    members.remove("name");
                    members.remove("kind");
                }
                _ => {}
            }
            members.values_mut().for_each(leave_out);
        }
        _ => {}
    }
}

/// Where two documents differ first: a path and the two values, shortened. `None` if they are equal.
pub(crate) fn first_difference(ours: &Value, theirs: &Value, path: &str) -> Option<String> {
    match (ours, theirs) {
        (Value::Array(a), Value::Array(b)) => {
            let differs = a.iter().zip(b).enumerate();
            differs
                .filter_map(|(n, (a, b))| first_difference(a, b, &format!("{path}[{n}]")))
                .next()
                .or_else(|| {
                    (a.len() != b.len())
                        .then(|| format!("{path}: {} items, not {}", a.len(), b.len()))
                })
        }
        (Value::Object(a), Value::Object(b)) => {
            let names: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
            names
                .into_iter()
                .find_map(|name| match (a.get(name), b.get(name)) {
                    (Some(a), Some(b)) => first_difference(a, b, &format!("{path}.{name}")),
                    (None, _) => Some(format!("{path}.{name}: missing")),
                    (_, None) => Some(format!("{path}.{name}: too much")),
                })
        }
        (a, b) if a == b => None,
        (a, b) => {
            let short = |value: &Value| value.to_string().chars().take(200).collect::<String>();
            Some(format!("{path}: {}, not {}", short(a), short(b)))
        }
    }
}
