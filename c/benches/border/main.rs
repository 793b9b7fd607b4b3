//! What the way through C costs: a put and a get of 1 KiB by `larder.h` beside the same by `larder-idb`, and a put of another engine's
//! value beside an ordinary one.
//!
//! `cargo bench -p larder-c` prints nanoseconds of processor time for each, the median of the rounds (40, or the number behind `--`). The
//! storage is in memory and has no threads; a round is one transaction of requests, each waited for, with their keys and values made in
//! it.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark, of calls that are known to be good"
)]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use larder_idb::{
    Connection, Executor, Origin, Storage, StorageOptions, SystemClock, TransactionMode,
    TransactionOptions, Value,
};

/// As many operations as in `border.c`.
const OPERATIONS: u32 = 1000;
const LEN_BYTES: usize = 1024;

fn cpu_ns() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn connection() -> Connection {
    let mut options = StorageOptions::in_memory(Arc::new(SystemClock));
    options.executor = Executor::Driven { seed: None };
    let storage = Storage::new(options).unwrap();
    let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
    let opening = factory.open("db", Some(1)).unwrap();
    let opening = opening.with_upgrade(|upgrade| {
        let made = upgrade
            .transaction
            .create_object_store("s", Default::default());
        made.map(drop)
    });
    let connection = opening.wait().unwrap();
    // It is there until the program ends.
    std::mem::forget((storage, factory));
    connection
}

/// One transaction of puts, or of gets where no values are made: nanoseconds for each.
fn round(connection: &Connection, make: Option<&dyn Fn() -> Value>) -> f64 {
    let begun = cpu_ns();
    let mode = match make {
        Some(_) => TransactionMode::ReadWrite,
        None => TransactionMode::ReadOnly,
    };
    let names = ["s"];
    let transaction = connection.transaction(names, mode, TransactionOptions::default());
    let transaction = transaction.unwrap();
    let store = transaction.object_store(names[0]).unwrap();
    for i in 0..OPERATIONS {
        let key = f64::from(i);
        if let Some(make) = make {
            store.put(make(), Some(key.into())).unwrap().wait().unwrap();
        } else {
            let found = store.get(key).unwrap().wait().unwrap().unwrap();
            assert!(found.bytes().len() >= LEN_BYTES);
        }
    }
    transaction.commit().unwrap().wait().unwrap();
    (cpu_ns() - begun) / f64::from(OPERATIONS)
}

fn measure(what: &str, rounds: usize, connection: &Connection, make: Option<&dyn Fn() -> Value>) {
    let mut times: Vec<_> = (0..rounds).map(|_| round(connection, make)).collect();
    times.sort_by(f64::total_cmp);
    println!("{what}, Rust: {:.0} ns", times[rounds / 2]);
}

/// Compiles `border.c` against the library that cargo has built beside this program, and runs it.
fn in_c(rounds: usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = tempfile::tempdir().unwrap();
    let program = out.path().join("border");
    let library = std::env::current_exe().unwrap();
    let mut compile = Command::new("cc");
    compile
        .args(["-std=c11", "-O2", "-I"])
        .arg(root.join("include"))
        .arg(root.join("benches/border/border.c"))
        .arg(library.with_file_name("liblarder_c.a"))
        .args([
            "-lgcc_s",
            "-lutil",
            "-lrt",
            "-lpthread",
            "-lm",
            "-ldl",
            "-o",
        ])
        .arg(&program);
    assert!(compile.status().unwrap().success());
    let ran = Command::new(program).arg(rounds.to_string()).status();
    assert!(ran.unwrap().success());
}

fn main() {
    let rounds = std::env::args().find_map(|argument| argument.parse().ok());
    let rounds = rounds.unwrap_or(40);
    let text = "x".repeat(LEN_BYTES);
    let value = Value::serialize(&text).unwrap();
    let ordinary = || Value::from_bytes(value.bytes().to_vec());
    let foreign = || Value::foreign("engine", 1, text.as_bytes(), []).unwrap();
    let connection = connection();
    measure("put of 1 KiB", rounds, &connection, Some(&ordinary));
    measure("get of 1 KiB", rounds, &connection, None);
    measure(
        "put of another engine's 1 KiB",
        rounds,
        &connection,
        Some(&foreign),
    );
    in_c(rounds);
}
