//! 10,000 requests at once. A test binary of its own, because the heap is measured.
//!
//! `LARDER_REQUESTS` says how many (10,000), `LARDER_PARALLEL` how many of them are open at once (400). Run by itself, with a limit of open files
//! that is twice as high as the latter: `LARDER_PARALLEL=10000 cargo test --release -p larder-view --test load -- --nocapture`.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "threads, times and output of the test's own; what fails here fails the test"
)]

#[expect(dead_code, reason = "most is for the other tests")]
mod support;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Instant;

use peak_alloc::PeakAlloc;

use support::{Asked, LONG, Served};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const CLIENTS: usize = 8;
/// What 128 connections and their questions may take, with room. The clients' own memory is in it, a few bytes for each connection.
const HEAP_MIB_MAX: f32 = 48.0;

/// What became of requests.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    answered: usize,
    refused: usize,
    /// Connections that were closed without an answer.
    closed: usize,
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// Sends `asked` on `count` connections, `parallel` of them open at once, and only then reads.
fn send_all(port: u16, asked: &Asked, count: usize, parallel: usize) -> Outcome {
    let bytes = asked.clone().with("Connection", "close").bytes();
    let mut outcome = Outcome::default();
    let mut left = count;
    while left > 0 {
        let streams = (0..parallel.min(left)).map(|_| {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            stream.set_read_timeout(Some(LONG)).unwrap();
            // A connection may be closed already.
            let _ = stream.write_all(&bytes);
            stream
        });
        let streams: Vec<TcpStream> = streams.collect();
        left -= streams.len();
        for mut stream in streams {
            let mut answer = Vec::new();
            let read = stream.read_to_end(&mut answer);
            let status = answer.strip_prefix(b"HTTP/1.1 ").unwrap_or_default();
            match (read, status) {
                (_, [b'2', ..]) => outcome.answered += 1,
                (_, [b'4', ..]) => outcome.refused += 1,
                (Err(error), _) => {
                    let waited = [std::io::ErrorKind::WouldBlock, std::io::ErrorKind::TimedOut];
                    assert!(
                        !waited.contains(&error.kind()),
                        "neither answered nor refused"
                    );
                    outcome.closed += 1;
                }
                (Ok(_), _) => outcome.closed += 1,
            }
        }
    }
    outcome
}

/// From so many threads as there are clients.
fn attack(served: &Served, asked: &Asked, parallel: usize) -> Outcome {
    let requests = number("LARDER_REQUESTS", 10_000);
    let begun = Instant::now();
    let outcomes = thread::scope(|scope| {
        let clients = (0..CLIENTS).map(|_| {
            let (count, parallel) = (requests / CLIENTS, parallel / CLIENTS);
            scope.spawn(move || send_all(served.port, asked, count, parallel))
        });
        let clients: Vec<_> = clients.collect();
        let outcomes = clients.into_iter().map(|client| client.join().unwrap());
        outcomes.collect::<Vec<_>>()
    });
    let whole = outcomes
        .iter()
        .fold(Outcome::default(), |all, one| Outcome {
            answered: all.answered + one.answered,
            refused: all.refused + one.refused,
            closed: all.closed + one.closed,
        });
    let time = begun.elapsed();
    println!(
        "{whole:?} of {requests}, {parallel} at once, in {time:?}; heap at most {:.1} MiB",
        HEAP.peak_usage_as_mb()
    );
    assert_eq!(
        whole.answered + whole.refused + whole.closed,
        requests / CLIENTS * CLIENTS
    );
    whole
}

#[test]
fn ten_thousand_requests_are_answered_or_refused_in_bounded_memory() {
    let served = Served::new();
    let all = number("LARDER_REQUESTS", 10_000) / CLIENTS * CLIENTS;
    let answered = Outcome {
        answered: all,
        ..Outcome::default()
    };
    let refused = Outcome {
        refused: all,
        ..Outcome::default()
    };
    HEAP.reset_peak_usage();
    let parallel = number("LARDER_PARALLEL", 400);
    // No connection gives way to another within this test's time: all are answered.
    let question = served.question("echo", "{}");
    assert_eq!(attack(&served, &question, parallel), answered);
    assert_eq!(attack(&served, &served.get("/"), parallel), answered);
    let without = question.clone().without("Larder-Token");
    assert_eq!(attack(&served, &without, parallel), refused);
    let rebound = served.get("/").with("Host", "evil.example");
    assert_eq!(attack(&served, &rebound, parallel), refused);
    // Clients that read late keep their places until they do: no more than there are.
    let long = served.question("long", "{}");
    assert_eq!(attack(&served, &long, parallel.min(96)), answered);
    assert!(served.played.most.load(Ordering::SeqCst) <= 8);

    // The command's own limits.
    let served = Served::within(larder_view::Limits::default(), false);
    attack(&served, &served.get("/"), parallel);
    served.check_answers();
    attack(&served, &served.question("echo", "{}"), parallel);
    served.check_answers();
    let peak = HEAP.peak_usage_as_mb();
    assert!(peak < HEAP_MIB_MAX, "{peak} MiB");
}
