//! Beside raw calls of the same clients that do the same bytes, in one run on real servers: strict commits, filling, scanning; and round trips, counted.
//! `cargo bench -p larder-remote-files --features postgres,etcd,rados,s3`; `-- rados` runs one alone.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark measures time, prints it and stops on trouble"
)]

mod engines;
mod ours;
mod raw;
mod trips;

use engines::Engine;
use ours::Host;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let is_asked = |name: &str| words.iter().any(|word| word == name);
    let none_is = !engines::ALL.iter().any(|(name, _)| is_asked(name));
    let all = engines::ALL.into_iter();
    // A server is started when its turn comes.
    for (_, start) in all.filter(|(name, _)| none_is || is_asked(name)) {
        let Some(mut engine) = start() else { continue };
        let host = Host::begin(&engine);
        beside_raw_calls(&mut engine, &host);
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
