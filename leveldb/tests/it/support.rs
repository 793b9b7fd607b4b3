//! Shared by the integration tests: C++ LevelDB as an oracle, a comparator, stores made by hand.

use crate::idb_like::IdbLike;
use larder_leveldb::{Db, Iter, OnDamage, Options, storage::DiskFileSystem};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

pub(crate) type Rows = Vec<(Vec<u8>, Vec<u8>)>;

pub(crate) fn options(comparator: &str, on_damage: OnDamage) -> Options {
    let mut options = match comparator {
        "idb" => Options::new(Arc::new(IdbLike)),
        _ => Options::default(),
    };
    options.on_damage = on_damage;
    options
}

pub(crate) fn open_disk(dir: &Path, options: Options) -> larder_leveldb::Result<Db> {
    Db::open_read_only(Arc::new(DiskFileSystem::new()), dir, options)
}

pub(crate) fn forward(db: &Db) -> larder_leveldb::Result<Rows> {
    let mut iter = db.snapshot().iter();
    let mut rows = Rows::new();
    iter.seek_to_first()?;
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value()?.to_vec()));
        iter.next()?;
    }
    Ok(rows)
}

pub(crate) fn backward(db: &Db) -> larder_leveldb::Result<Rows> {
    let mut iter = db.snapshot().iter();
    let mut rows = Rows::new();
    iter.seek_to_last()?;
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value()?.to_vec()));
        iter.prev()?;
    }
    Ok(rows)
}

/// Tests that would take minutes look at every so-manieth file operation; `LARDER_FAULT_STRIDE` says otherwise, and 1 is all.
pub(crate) fn fault_stride(default: usize) -> usize {
    std::env::var("LARDER_FAULT_STRIDE").map_or(default, |stride| stride.parse().unwrap())
}

pub(crate) use larder_fixtures::sampled;

/// How many rows a walk forward meets.
pub(crate) fn count(mut iter: Iter) -> usize {
    iter.seek_to_first().unwrap();
    let mut count = 0;
    while iter.valid() {
        count += 1;
        iter.next().unwrap();
    }
    count
}

/// The oracle's program, built once; `None`, with a word about it, where it cannot be.
pub(crate) fn oracle() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(build_oracle).as_deref()
}

fn build_oracle() -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/oracle.cc");
    let program =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("oracle-{}", std::process::id()));
    let built = Command::new("g++")
        .args(["-O2", "-std=c++17", "-o"])
        .arg(&program)
        .arg(&source)
        .args(["-lleveldb", "-lpthread"])
        .output();
    let why = match built {
        Ok(output) if output.status.success() => return Some(program),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!(
        "SKIPPED: no C++ LevelDB to compare with (install g++, libleveldb-dev, libsnappy-dev): {why}"
    );
    assert!(
        std::env::var_os("LARDER_REQUIRE_PEERS").is_none_or(|value| value != "1"),
        "{message}"
    );
    println!("{message}");
    None
}

pub(crate) fn run_oracle(args: &[&str]) -> Option<String> {
    let output = Command::new(oracle()?).args(args).output().unwrap();
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

fn unhex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// Rows, one a line.
fn parse_rows(text: &str) -> Rows {
    let row = |line: &str| {
        let (key, value) = line.split_once(' ').unwrap();
        (unhex(key), unhex(value))
    };
    text.lines().map(row).collect()
}

/// Rows forward and backward, as C++ LevelDB sees them. It changes the store: give it a copy.
pub(crate) fn oracle_dump(dir: &Path, comparator: &str) -> Option<(Rows, Rows)> {
    let text = run_oracle(&["dump", dir.to_str().unwrap(), comparator])?;
    let (forward, backward) = text.split_once("--\n").unwrap();
    Some((parse_rows(forward), parse_rows(backward)))
}

/// Lets C++ LevelDB repair a store; the rows that an iterator finds then.
pub(crate) fn oracle_repair(dir: &Path, comparator: &str) -> Option<Rows> {
    let text = run_oracle(&["repair", dir.to_str().unwrap(), comparator])?;
    Some(parse_rows(&text))
}

#[expect(clippy::disallowed_methods, reason = "tests copy stores")]
pub(crate) fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
