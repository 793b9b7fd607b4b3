//! Larder's files in distributed engines, on real servers: beside raw calls of the same clients that do the same bytes; stores beside
//! SlateDB on the same gateway of S3 and beside the local disk; stores of 10 MB to 2 GB.
//!
//! `cargo bench -p larder-remote-files --features postgres,etcd,rados,s3` does all but the last. `-- WORD…`: `raw` or `stores` one of the
//! two; `postgres`, `etcd`, `rados` or `s3` that engine alone; `records=N` and `rounds=N` (100,000 and 3) of the stores. `-- growth` is
//! another program ([`growth`]). SlateDB is a program of its own, which is skipped with a word if it has not been built ([`slate`]).
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark measures time, prints it and stops on trouble"
)]

mod engines;
mod growth;
#[path = "../../../idb/benches/workloads/growth_plot.rs"]
mod growth_plot;
mod ours;
mod raw;
mod slate;
mod stores;
mod trips;
mod work;

use engines::Engine;
use ours::Host;
use slate::Slate;
use work::Work;

fn main() {
    let words = std::env::args().skip(1).filter(|word| word != "--bench");
    let words: Vec<String> = words.collect();
    match words.first().map(String::as_str) {
        Some(growth::CHILD) => growth::of_one(&words[1..]),
        Some(growth::GROWTH) => growth::run(&words[1..]),
        _ => beside_others(&words),
    }
}

fn beside_others(words: &[String]) {
    let is_asked = |name: &str| words.iter().any(|word| word == name);
    let number = |name: &str, usual: u64| {
        let number = words.iter().find_map(|word| word.strip_prefix(name));
        number.map_or(usual, |number| number.parse().unwrap())
    };
    let does = |part: &str| is_asked(part) || !(is_asked("raw") || is_asked("stores"));
    let none_is = !engines::ALL.iter().any(|(name, _)| is_asked(name));
    let asked = |name: &str| none_is || is_asked(name);
    let mut hosts = Vec::new();
    // A server is started when its turn comes.
    for (_, start) in engines::ALL.into_iter().filter(|(name, _)| asked(name)) {
        let Some(mut engine) = start() else { continue };
        let host = Host::begin(&engine);
        if does("raw") {
            beside_raw_calls(&mut engine, &host);
        }
        hosts.push((engine.name, host));
    }
    if does("stores") {
        let work = Work {
            strict_puts: 300,
            records: number("records=", 100_000),
            gets: 200,
        };
        let slate = if asked("s3") { Slate::find() } else { None };
        let rounds = number("rounds=", 3) as u32;
        stores::run(&hosts, slate.as_ref(), work, rounds);
    }
}

fn beside_raw_calls(engine: &mut Engine, host: &Host) {
    let fs = host.take("bench");
    raw::commits(engine, &fs);
    raw::content(engine, &fs);
    let (files, opened, _) = trips::round_trips(host, 4000, 5000, &[]);
    let (_, _, gets) = trips::round_trips(host, 6000, 4 << 20, &[7, 20, 7]);
    println!(
        "{}: a store of {files} files is taken and opened in {opened} requests; gets: {} in a table that was not opened, {} in another part of it, {} again",
        engine.name, gets[0], gets[1], gets[2]
    );
    fs.close().unwrap();
    println!("{}: {}", engine.name, engine.cluster.statistics());
}
