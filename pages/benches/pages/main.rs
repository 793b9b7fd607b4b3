//! What pages cost: splitting beside SHA-256 alone, commits, diffs and merges of pages of growing size, memory.
//!
//! `cargo bench -p larder-pages [-- SECTION]`, where SECTION is one of split, pages, memory; all without one. `... -- pages 1000000` measures
//! pages of that many entries; `... -- growth SVG` measures pages of 10,000 to 10,000,000 entries and draws the plot. Times are CPU
//! time of the process, the engine's thread included; medians. Pages are on the disk, commits strict.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that measures and prints"
)]

#[path = "../../../leveldb/benches/engine/plot.rs"]
mod plot;

use larder_fixtures::random::Random;
use larder_leveldb::storage::DiskFileSystem;
use larder_leveldb::{Db, Options};
use larder_pages::{
    Commit, Fanout, MergePolicy, ObjectType, ObjectWriter, Page, PageOptions, Piece, PieceSink,
    Priority, SplitParameters, Splitter, Timestamp, sha256_with_length,
};
use std::hint::black_box;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

fn cpu_seconds() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// The CPU time of this thread alone.
fn thread_cpu_seconds() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

fn measure(work: impl FnOnce()) -> f64 {
    let start = cpu_seconds();
    work();
    cpu_seconds() - start
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

struct Nowhere;

impl PieceSink for Nowhere {
    fn put(&mut self, piece: Piece<'_>) -> larder_pages::Result<()> {
        black_box(piece.content);
        Ok(())
    }
}

fn cuts(input: &[u8]) -> usize {
    let mut splitter = Splitter::new(SplitParameters::LEDGER);
    let (mut rest, mut count) = (input, 0);
    while let Some(cut) = splitter.next_cut(rest) {
        rest = &rest[cut.consumed..];
        count += 1;
    }
    count
}

fn split() {
    let input = Random::new(1).bytes(64 << 20);
    let (mut plain, mut hashed, mut whole, mut ratios) = (vec![], vec![], vec![], vec![]);
    let len = input.len() as f64;
    let chunk_len = input.len() / cuts(&input);
    for _ in 0..7 {
        plain.push(
            len / measure(|| {
                black_box(cuts(&input));
            }) / 1e9,
        );
        let hash = measure(|| {
            for chunk in input.chunks(chunk_len) {
                black_box(sha256_with_length(chunk));
            }
        });
        let write = measure(|| {
            let mut writer = ObjectWriter::new(Nowhere, SplitParameters::LEDGER, 0);
            for part in input.chunks(64 << 10) {
                writer.push(part).unwrap();
            }
            black_box(writer.finish(ObjectType::Blob, &[]).unwrap());
        });
        hashed.push(len / hash / 1e9);
        whole.push(len / write / 1e9);
        ratios.push(write / hash);
    }
    println!("chunks of {chunk_len} bytes in the middle");
    println!("cuts alone            {:6.2} GB/s", median(plain));
    println!("SHA-256 of the chunks {:6.2} GB/s", median(hashed));
    println!("an object's pieces    {:6.2} GB/s", median(whole));
    println!("pieces / SHA-256      {:6.2}", median(ratios));
}

fn key(i: u64) -> Vec<u8> {
    format!("entry/{i:010}").into_bytes()
}

fn open(dir: &Path, fanout: Fanout) -> Page {
    let files = Arc::new(DiskFileSystem::new());
    let options = PageOptions {
        fanout,
        ..PageOptions::default()
    };
    Page::open(files, dir, options).unwrap()
}

fn fill(page: &Page, entries: u64, value_len: usize) -> Commit {
    let mut random = Random::new(2);
    let mut head = Commit::first();
    for from in (0..entries).step_by(20_000) {
        let mut journal = page.begin_on(&head);
        for i in from..entries.min(from + 20_000) {
            journal.put(&key(i), &random.bytes(value_len)).unwrap();
        }
        head = page.commit(journal, Timestamp(from as i64)).unwrap();
    }
    head
}

/// What a page has, or commits have made.
#[derive(Clone, Copy, Debug, Default)]
struct Rows {
    pieces: u64,
    /// Bytes of the pieces.
    bytes: u64,
    /// From a piece to another, or from a commit to its root: a row each.
    references: u64,
}

impl Rows {
    /// Those of a page that is closed.
    fn of(dir: &Path) -> Rows {
        let files = Arc::new(DiskFileSystem::new());
        let db = Db::open_read_only(files, dir, Options::default()).unwrap();
        let mut rows = Rows::default();
        let mut iter = db.iter();
        iter.seek_to_first().unwrap();
        while iter.valid() {
            if iter.key().starts_with(b"objects/") {
                rows.pieces += 1;
                rows.bytes += iter.value().unwrap().len() as u64;
            }
            rows.references += u64::from(iter.key().starts_with(b"refcounts/"));
            iter.next().unwrap();
        }
        rows
    }

    fn of_each(self, count: u64) -> Rows {
        Rows {
            pieces: self.pieces / count,
            bytes: self.bytes / count,
            references: self.references / count,
        }
    }
}

impl std::ops::Sub for Rows {
    type Output = Rows;

    fn sub(self, before: Rows) -> Rows {
        Rows {
            pieces: self.pieces - before.pieces,
            bytes: self.bytes - before.bytes,
            references: self.references - before.references,
        }
    }
}

struct Costs {
    fill_us: f64,
    commit_ms: f64,
    /// So much of that in the thread that commits: the rest is the engine's.
    committing_ms: f64,
    of_100: Rows,
    of_one: Rows,
    diff_us: f64,
    merge_ms: f64,
    get_us: f64,
}

/// So many commits are measured together.
const COMMITS: u32 = 100;

/// On a page of so many entries: milliseconds of a commit of 100 changes, microseconds of a diff of 10.
fn costs(entries: u64, value_len: usize, fanout: Fanout) -> Costs {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("page");
    let page = open(&dir, fanout);
    let mut head = Commit::first();
    let fill_us = measure(|| head = fill(&page, entries, value_len)) * 1e6 / entries as f64;
    let mut random = Random::new(3);
    let change = |page: &Page, random: &mut Random, head: &Commit, count: u64| {
        let mut journal = page.begin_on(head);
        for _ in 0..count {
            let key = key(random.next() % entries);
            journal.put(&key, &random.bytes(value_len)).unwrap();
        }
        page.commit(journal, Timestamp(random.next() as i64 >> 2))
            .unwrap()
    };
    let changed = |random: &mut Random, head: &Commit, count| change(&page, random, head, count);
    let (commit_ms, committing_ms) = {
        let start = thread_cpu_seconds();
        let seconds = measure(|| {
            for _ in 0..COMMITS {
                head = changed(&mut random, &head, 100);
            }
        });
        let of_thread = thread_cpu_seconds() - start;
        [seconds, of_thread]
            .map(|seconds| seconds * 1e3 / f64::from(COMMITS))
            .into()
    };
    let diff_us = median(
        (0..50)
            .map(|_| {
                let next = changed(&mut random, &head, 10);
                let seconds = measure(|| {
                    let diff = page.tree(&head).diff(&next.root(), b"").unwrap();
                    assert!(diff.map(Result::unwrap).count() <= 10);
                });
                head = next;
                seconds * 1e6
            })
            .collect(),
    );
    let merge_ms = median(
        (0..30)
            .map(|_| {
                changed(&mut random, &head, 10);
                changed(&mut random, &head, 10);
                let seconds = measure(|| {
                    black_box(page.merge(&mut MergePolicy::LastOneWins).unwrap());
                });
                head = page.heads().pop().unwrap();
                seconds * 1e3
            })
            .collect(),
    );
    let snapshot = page.snapshot(&head, b"");
    let get_us = measure(|| {
        for _ in 0..5000 {
            black_box(snapshot.get(&key(random.next() % entries)).unwrap());
        }
    }) * 1e6
        / 5000.0;
    drop(snapshot);
    assert!(page.close().unwrap());
    let mut made = |count| {
        let before = Rows::of(&dir);
        let page = open(&dir, fanout);
        for _ in 0..COMMITS {
            head = change(&page, &mut random, &head, count);
        }
        assert!(page.close().unwrap());
        (Rows::of(&dir) - before).of_each(COMMITS.into())
    };
    let (of_100, of_one) = (made(100), made(1));
    Costs {
        fill_us,
        commit_ms,
        committing_ms,
        of_100,
        of_one,
        diff_us,
        merge_ms,
        get_us,
    }
}

fn pages(entries: u64) {
    for (value_len, fanout) in [
        (20, Fanout::Of16),
        (20, Fanout::Of256),
        (100, Fanout::Of16),
        (100, Fanout::Of256),
    ] {
        let costs = costs(entries, value_len, fanout);
        let fanout = 1 << fanout.bits();
        println!(
            "a page of {entries} entries, values of {value_len} bytes, a fan-out of {fanout}:"
        );
        println!(
            "  an entry, filling it, 20,000 a commit {:8.2} us",
            costs.fill_us
        );
        println!(
            "  a commit of 100 changes               {:8.2} ms, {:.2} of them in the thread that commits",
            costs.commit_ms, costs.committing_ms
        );
        for (what, made) in [("100 changes", costs.of_100), ("one change", costs.of_one)] {
            println!(
                "    {what}: {} pieces of {} bytes together, {} references",
                made.pieces, made.bytes, made.references
            );
        }
        println!(
            "  a diff of 10 entries                  {:8.0} us",
            costs.diff_us
        );
        println!(
            "  a merge of two heads, 10 changes each {:8.2} ms",
            costs.merge_ms
        );
        println!(
            "  a get                                 {:8.1} us",
            costs.get_us
        );
    }
}

fn growth(path: Option<&Path>) {
    let sizes = [10_000, 100_000, 1_000_000, 10_000_000];
    let names = [
        "an entry of a commit of 100 changes",
        "an entry of a diff of 10",
        "an entry of a merge of 2 x 10",
        "a get",
    ];
    let mut lines = names.map(|name| plot::Line {
        name,
        costs: Vec::new(),
        beside: Vec::new(),
    });
    println!("entries       filling, us  commit of 100, ms  diff of 10, us  merge, ms  get, us");
    for size in sizes {
        let costs = costs(size, 20, Fanout::Of16);
        println!(
            "{size:<12} {:12.2} {:18.2} {:15.0} {:10.2} {:8.1}",
            costs.fill_us, costs.commit_ms, costs.diff_us, costs.merge_ms, costs.get_us
        );
        let each = [
            costs.commit_ms * 10.0,
            costs.diff_us / 10.0,
            costs.merge_ms * 50.0,
            costs.get_us,
        ];
        lines
            .iter_mut()
            .zip(each)
            .for_each(|(line, cost)| line.costs.push(cost));
    }
    if let Some(path) = path {
        let titles = [
            "Pages of growing size: microseconds of CPU",
            "keys and values of 16 and 20 bytes, a fan-out of 16",
        ];
        plot::write(path, titles, &sizes, &lines);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a program that measures its own memory"
)]
fn peak_mib() -> f64 {
    let status = std::fs::read("/proc/self/status").unwrap();
    let status = String::from_utf8(status).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
}

/// In a process of its own: the peak of everything by then.
fn memory() {
    let folder = tempfile::tempdir().unwrap();
    let page = open(&folder.path().join("page"), Fanout::default());
    println!("peak of memory, MiB: {:.1} at the start", peak_mib());
    let mut head = fill(&page, 1_000_000, 20);
    println!(
        "  {:.1} after filling a page with 1,000,000 entries, 20,000 a commit",
        peak_mib()
    );
    let mut random = Random::new(4);
    for i in 0..50 {
        let mut journal = page.begin_on(&head);
        for _ in 0..100 {
            journal
                .put(&key(random.next() % 1_000_000), &random.bytes(100))
                .unwrap();
        }
        head = page.commit(journal, Timestamp(i)).unwrap();
    }
    println!("  {:.1} after 50 commits of 100 changes", peak_mib());
    struct Noise(Random, u64);
    impl Read for Noise {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let len = buffer.len().min(8192).min(self.1 as usize);
            buffer[..len].copy_from_slice(&self.0.bytes(len));
            self.1 -= len as u64;
            Ok(len)
        }
    }
    let mut journal = page.begin_on(&head);
    journal
        .put_stream(b"film", Noise(Random::new(5), 1 << 30), Priority::Eager)
        .unwrap();
    head = page.commit(journal, Timestamp(99)).unwrap();
    let snapshot = page.snapshot(&head, b"");
    let mut film = snapshot.open(b"film").unwrap().unwrap();
    assert_eq!(
        std::io::copy(&mut film, &mut std::io::sink()).unwrap(),
        1 << 30
    );
    println!(
        "  {:.1} after a value of 1 GiB, written and read",
        peak_mib()
    );
}

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--bench")
        .collect();
    let number = args.get(1).and_then(|n| n.parse().ok());
    match args.first().map(String::as_str) {
        Some("split") => split(),
        Some("pages") => pages(number.unwrap_or(1_000_000)),
        Some("memory") => memory(),
        Some("growth") => growth(args.get(1).map(Path::new)),
        _ => {
            memory();
            split();
            pages(1_000_000);
        }
    }
}
