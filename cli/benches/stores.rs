//! `larder verify`, `copy`, `export` and `import` of a whole store: MB of it for each second of CPU, and peak memory.
//!
//! ```text
//! cargo bench -p larder --bench stores             a generated store of 200 MB
//! LARDER_WHOLE=1 cargo bench -p larder --bench stores    of 2 GB
//! LARDER_BENCH_MB=500      of this size
//! LARDER_BENCH_RUNS=3      runs of each
//! LARDER_BENCH_PICTURES=1  records whose values can hardly be packed
//! ```
//!
//! Goals: 150 MB for each second of CPU for verify, export and copy, below 64 MiB.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "a benchmark prints, and stops on trouble"
)]
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "figures for people, made-up data"
)]

#[path = "support/generate.rs"]
mod generate;
#[path = "support/measure.rs"]
mod measure;

use std::path::Path;

use larder_backing_store::{OpenOptions, Store, StorePaths};
use larder_leveldb::storage::{DiskFileSystem, FileSystem};

use generate::Values;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, command @ ..] = &arguments[..]
        && first == measure::MEASURE
    {
        return measure::measure_one(command);
    }
    let number = |variable: &str, default: u64| {
        let text = std::env::var(variable).ok();
        text.and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let usual = if std::env::var_os("LARDER_WHOLE").is_some() {
        2000
    } else {
        200
    };
    let megabytes = number("LARDER_BENCH_MB", usual);
    let runs = number("LARDER_BENCH_RUNS", 3);
    let fs = DiskFileSystem::new();
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let dir = temporary.path();
    let store = dir.join("http_127.0.0.1_8000.indexeddb.leveldb");
    let generated = generate::generate(&fs, &store, megabytes << 20, Values::asked());
    let records = generated.expect("the store");
    let sizes = Sizes {
        disk: size(&fs, &store),
        rows: rows(&store),
    };
    println!(
        "{records} records: {:.1} MB on the disk, {:.1} MB of keys and values",
        sizes.disk as f64 / 1e6,
        sizes.rows as f64 / 1e6
    );
    let archive = dir.join("kept.jsonl");
    for name in [
        "verify",
        "verify --full",
        "copy",
        "export",
        "export, packed",
        "import",
    ] {
        let (mut cpu, mut peak, mut wall) = (f64::MAX, 0, f64::MAX);
        for _ in 0..runs {
            let to = dir.join("to");
            let to_file = dir.join("to.jsonl");
            let packed = dir.join("to.jsonl.zst");
            let words: Vec<&Path> = match name {
                "verify" => vec![Path::new("verify"), &store],
                "verify --full" => vec![Path::new("verify"), Path::new("--full"), &store],
                "copy" => vec![Path::new("copy"), &store, &to],
                "export" => vec![Path::new("export"), &store, &to_file],
                "export, packed" => vec![Path::new("export"), &store, &packed],
                _ => vec![Path::new("import"), &archive, &to],
            };
            let mut command = vec![
                env!("CARGO_BIN_EXE_larder").to_owned(),
                "--quiet".to_owned(),
            ];
            command.extend(words.iter().map(|word| word.display().to_string()));
            let run = measure::run(&command);
            assert!(run.ok, "{name} failed");
            cpu = cpu.min(run.cpu.as_secs_f64());
            wall = wall.min(run.wall.as_secs_f64());
            peak = peak.max(run.peak_bytes);
            if to_file.exists() {
                fs.rename(&to_file, &archive).expect("the archive");
            }
            let _ = fs.remove(&packed);
            remove(&fs, &to);
        }
        println!(
            "{name}: CPU {cpu:.2} s, wall {wall:.2} s, {:.0} MB/s of CPU on the disk, {:.0} MB/s of keys and values, peak {:.1} MiB",
            sizes.disk as f64 / 1e6 / cpu,
            sizes.rows as f64 / 1e6 / cpu,
            peak as f64 / f64::from(1 << 20)
        );
    }
}

struct Sizes {
    disk: u64,
    rows: u64,
}

fn size(fs: &DiskFileSystem, dir: &Path) -> u64 {
    let names = fs.list(dir).expect("the store");
    let files = names
        .iter()
        .filter_map(|name| fs.metadata(&dir.join(name)).ok());
    files.map(|metadata| metadata.len_bytes).sum()
}

fn rows(store: &Path) -> u64 {
    let fs = std::sync::Arc::new(DiskFileSystem::new());
    let paths = StorePaths::of_leveldb(store);
    let store = Store::open_read_only(fs, paths, OpenOptions::default()).expect("the store");
    let mut rows = store.rows();
    let mut len = 0;
    while rows.next().expect("a row") {
        len += rows.key().len() + rows.value().expect("a value").len();
    }
    len as u64
}

fn remove(fs: &DiskFileSystem, path: &Path) {
    for name in fs.list(path).unwrap_or_default() {
        let path = path.join(name);
        match fs.metadata(&path).is_ok_and(|metadata| metadata.is_dir) {
            true => remove(fs, &path),
            false => drop(fs.remove(&path)),
        }
    }
    let _ = fs.remove_dir(path);
}
